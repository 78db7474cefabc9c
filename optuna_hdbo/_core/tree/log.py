"""What the records of a history say: which trials have which node of a tree, and their fits."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Hashable
from collections.abc import Sequence
from typing import NamedTuple

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.tree.nodes import ALPHABET
from optuna_hdbo._core.tree.surrogate import Surrogate


KEY = "node"
"""The key of a record under which its path is."""

_DIGITS = frozenset(ALPHABET)


class Entry(NamedTuple):
    """What one record brings.

    Parameters
    ----------
    number : int
        Number of the trial.
    path : str or None
        Path of the trial's node.
    fit : hashable
        Identity of the trial's fit, ``None`` where it has none.
    """

    number: int
    path: str | None
    fit: Hashable


def signature(domain: Domain, branching: int) -> int:
    """Return what tells trees of different columns or branchings apart."""
    sizes = [0 if grid is None else len(grid) for grid in domain.grids]
    text = repr((branching, domain.names, sizes, domain.categorical.tolist()))
    if domain.steps or domain.discrete.any():  # cells that count values came later
        text += repr([(i, s.n, s.log_start) for i, s in sorted(domain.steps.items())])
    return zlib.crc32(text.encode())


def _path(record: Record, tree: int) -> str | None:
    node = record.data.get(KEY)
    if not isinstance(node, dict) or node.get("tree") != tree:
        return None
    path = node.get("path")
    return path if isinstance(path, str) and _DIGITS.issuperset(path) else None


class TreeLog:
    """The paths and fits in the records of a history.

    Records of finished trials at the beginning are read once; those from the first running trial
    on are read each time.

    Attributes
    ----------
    tree : int
        The signature of the tree whose nodes are read.
    ticks : list of int
        Numbers of the trials with a path, ascending.
    running : set of int
        Numbers of running trials with a record.
    latest : int
        The largest number of a trial with a record, -1 for none.
    """

    def __init__(self, domain: Domain, branching: int, surrogate: Surrogate | None) -> None:
        self.tree = signature(domain, branching)
        self._domain, self._surrogate = domain, surrogate
        self._n = 0  # records that are not read again
        self._last: Record | None = None
        self._final_ticks: list[int] = []
        self._final: dict[str, list[Record]] = {}
        self._recent: dict[str, list[Record]] = {}
        self._final_fits: list[tuple[int, Fitted]] = []
        self._recent_fits: list[tuple[int, Fitted]] = []
        self._recent_entries: list[Entry] = []
        self.ticks: list[int] = []
        self.running: set[int] = set()
        self.latest = -1

    def goes_on_in(self, records: Sequence[Record]) -> bool:
        """Tell whether these records begin with those that are not read again."""
        return self._n == 0 or (self._n <= len(records) and records[self._n - 1] is self._last)

    def read(
        self, records: Sequence[Record], promised: Entry | None
    ) -> tuple[float, frozenset[str]]:
        """Take in the records, which begin with what was read before: see :meth:`goes_on_in`.

        ``promised`` is the entry that the trial of the last suggestion should have.

        Returns
        -------
        number : float
            Entries of trials of smaller number are as they were, or as promised; ``inf`` if
            there are no others.
        paths : frozenset of str
            Those of the entries that are new.
        """
        expected = self._recent_entries if promised is None else [*self._recent_entries, promised]
        self._recent, self._recent_fits, self._recent_entries = {}, [], []
        self.running = set()
        found: list[Entry] = []
        recent: list[int] = []
        for record in records[self._n :]:
            if record.state == "running":
                self.running.add(record.number)
            path, fitted = _path(record, self.tree), self._fit(record)
            final = not self.running
            if final:
                self._n, self._last = self._n + 1, record
            if fitted is not None:
                fits = self._final_fits if final else self._recent_fits
                fits.append((record.number, fitted))
            if path is not None:
                (self._final if final else self._recent).setdefault(path, []).append(record)
                (self._final_ticks if final else recent).append(record.number)
            if path is not None or fitted is not None:
                entry = Entry(record.number, path, None if fitted is None else fitted.identity)
                found.append(entry)
                if not final:
                    self._recent_entries.append(entry)
        self.ticks = [*self._final_ticks, *recent] if recent else self._final_ticks
        if len(records):
            self.latest = records[-1].number
        if found == expected:  # as nearly always with one worker
            return math.inf, frozenset()
        new = set(found).difference(expected)
        return _first_difference(expected, found), frozenset(
            entry.path for entry in new if entry.path is not None
        )

    def _fit(self, record: Record) -> Fitted | None:
        return None if self._surrogate is None else self._surrogate.read(record, self._domain)

    def records(self, path: str, last: float) -> list[Record]:
        """Return the records of a path, by ascending number up to ``last``."""
        found = [*self._final.get(path, ()), *self._recent.get(path, ())]
        if not found or found[-1].number <= last:
            return found
        return [record for record in found if record.number <= last]

    def fit(self, n: int, last: float) -> Fitted | None:
        """Return the fit to most observations among those to at most ``n``, the first of equals.

        Only those of trials whose number is at most ``last`` count.
        """
        best: Fitted | None = None
        for number, fitted in itertools.chain(self._final_fits, self._recent_fits):
            if number > last:
                break
            if fitted.n <= n and (best is None or fitted.n > best.n):
                best = fitted
        return best


def _first_difference(expected: Sequence[Entry], found: Sequence[Entry]) -> float:
    for a, b in itertools.zip_longest(expected, found):
        if a != b:
            return min(entry.number for entry in (a, b) if entry is not None)
    return math.inf
