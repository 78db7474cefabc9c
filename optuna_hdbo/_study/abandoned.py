"""Running trials whose worker seems to be gone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from datetime import timedelta

from optuna.trial import FrozenTrial


SHORT = timedelta(minutes=1)
"""A trial that runs for less than this may still have its worker."""


class Abandoned:
    """Counts the trials that run for longer than any finished one took."""

    def __init__(self) -> None:
        self._longest = SHORT

    def settle(self, trial: FrozenTrial) -> None:
        """Take in how long a finished trial took."""
        self._longest = max(self._longest, trial.duration or SHORT)

    def count(self, running: Sequence[FrozenTrial], n_trials: int) -> int:
        """Return their number, and 0 where they are not more than half of all trials."""
        if 2 * len(running) <= n_trials:
            return 0
        since = datetime.now() - self._longest
        n = sum(t.datetime_start is not None and t.datetime_start < since for t in running)
        return n if 2 * n > n_trials else 0
