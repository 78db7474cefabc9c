"""Workers of a study that were forked, and trials that are under way or whose worker is gone."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from optuna.trial import FrozenTrial


SHORT = 60.0
"""A trial that runs for fewer seconds may still have its worker."""


class Unsettled:
    """Lists trials of a study once more as long as they may change.

    Attributes
    ----------
    n_listed : int
        Trials of smaller number have been listed.
    open : set of int
        Those of them that may still change.
    """

    def __init__(self) -> None:
        self.n_listed = 0
        self.open: set[int] = set()

    def among(self, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        """Return the trials that are new, or that were not finished when last listed."""
        old = [trials[number] for number in sorted(self.open) if number < len(trials)]
        new = trials[self.n_listed :]  # once: others may be appending
        n_listed = self.n_listed + len(new)
        if new and new[-1].number != n_listed - 1:
            raise ValueError("the trials of a study must be numbered without gaps.")
        self.n_listed = n_listed
        found = [*old, *new]
        for trial in found:
            (self.open.discard if trial.state.is_finished() else self.open.add)(trial.number)
        return found


class Abandoned:
    """Counts the trials that run for longer than any finished one took."""

    def __init__(self) -> None:
        self._longest = SHORT

    def settle(self, trial: FrozenTrial) -> None:
        """Take in how long a finished trial took."""
        start, end = _seconds(trial.datetime_start), _seconds(trial.datetime_complete)
        if start is not None and end is not None:
            self._longest = max(self._longest, end - start)

    def count(self, running: Sequence[FrozenTrial], n_trials: int) -> int:
        """Return their number, and 0 where they are not more than half of all trials."""
        if 2 * len(running) <= n_trials:
            return 0
        since = time.time() - self._longest
        started = [_seconds(trial.datetime_start) for trial in running]
        n = sum(start is not None and start < since for start in started)
        return n if 2 * n > n_trials else 0


def _seconds(moment: datetime | None) -> float | None:
    """Return seconds since 1970, where there are some. Those with and without a zone compare."""
    try:
        return None if moment is None else moment.timestamp()
    except (OverflowError, OSError, ValueError):  # far from 1970
        return None


class Forgetful(Protocol):
    """What has caches, and locks that guard them."""

    def _forget(self) -> None: ...


_ALIVE: weakref.WeakSet[Forgetful] = weakref.WeakSet()


def forget_after_fork(owner: Forgetful) -> None:
    """Have an object empty its caches and make its locks anew in every child process.

    When a process is forked, another thread may hold a lock or be writing to a cache. The child
    has no such thread, and would wait for ever.
    """
    _ALIVE.add(owner)


def _after_fork() -> None:
    for owner in list(_ALIVE):
        owner._forget()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
