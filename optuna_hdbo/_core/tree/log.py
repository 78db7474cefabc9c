"""Which trials of a history carry which node of a tree, and the fits that came with them."""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from collections.abc import Sequence

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.tree.nodes import ALPHABET
from optuna_hdbo._core.tree.surrogate import Surrogate


KEY = "node"
"""Where a record has its path."""

_DIGITS = frozenset(ALPHABET)


def signature(domain: Domain, branching: int) -> int:
    """Return what tells trees of different columns or branchings apart."""
    sizes = [0 if grid is None else len(grid) for grid in domain.grids]
    text = repr((branching, domain.names, sizes, domain.categorical.tolist()))
    return zlib.crc32(text.encode())


def _path(record: Record, tree: int) -> str | None:
    node = record.data.get(KEY)
    if not isinstance(node, dict) or node.get("tree") != tree:
        return None
    path = node.get("path")
    return path if isinstance(path, str) and _DIGITS.issuperset(path) else None


class PathLog:
    """The paths and fits in a history's records.

    Records of finished trials at the beginning are read once; those from the first running trial
    on are read each time.
    """

    def __init__(self, domain: Domain, tree: int, guide: Surrogate | None) -> None:
        self._domain, self.tree, self._guide = domain, tree, guide
        self._n = 0
        self._last: Record | None = None
        self._owners: dict[str, Record] = {}
        self._recent: dict[str, Record] = {}
        self._numbers = np.empty(64, dtype=np.int64)
        self._n_numbers = 0
        self._fits: dict[Hashable, Fitted] = {}
        self.ticks: IntArray = self._numbers[:0]
        self.fits: dict[Hashable, Fitted] = {}
        self.running: set[int] = set()
        self.repeated: set[str] = set()

    def goes_on_in(self, records: Sequence[Record]) -> bool:
        """Tell whether these records begin with those that have been read."""
        return self._n == 0 or (self._n <= len(records) and records[self._n - 1] is self._last)

    def read(self, records: Sequence[Record]) -> bool:
        """Take in the records; tell whether nothing that was said before is taken back."""
        consistent = True
        # No copy: as long as there is no new fit, it is the same object.
        self._recent, recent, self.fits = {}, [], self._fits
        self.running = set()
        for record in records[self._n :]:
            if record.state == "running":
                self.running.add(record.number)
            path = _path(record, self.tree)
            fitted = None if self._guide is None else self._guide.read(record, self._domain)
            if fitted is not None:
                self.fits = _with(self.fits, fitted)
            if not self.running:
                self._n, self._last = self._n + 1, record
                if fitted is not None:
                    self._fits = _with(self._fits, fitted)
                if path is not None:
                    self._keep_number(record.number)
                    consistent &= self._own(self._owners, path, record)
            elif path is not None:
                recent.append(record.number)
                self._own(self._recent, path, record)
        self.ticks = self._numbers[: self._n_numbers]
        if recent:
            self.ticks = np.concatenate([self.ticks, recent])
        return consistent

    def _keep_number(self, number: int) -> None:
        if self._n_numbers == len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.empty_like(self._numbers)])
        self._numbers[self._n_numbers] = number
        self._n_numbers += 1

    def _own(self, owners: dict[str, Record], path: str, record: Record) -> bool:
        """Let a record answer for a path, unless another one does better."""
        other = owners.get(path)
        if other is not None:
            self.repeated.add(path)
        if other is None:
            owners[path] = record
        elif _rank(record) > _rank(other):
            owners[path] = record
            return False
        return True

    def owner(self, path: str) -> Record | None:
        """Return the record that answers for a path."""
        early, late = self._owners.get(path), self._recent.get(path)
        if early is None or late is None:
            return late if early is None else early
        return max(early, late, key=_rank)


def _with(fits: dict[Hashable, Fitted], fitted: Fitted) -> dict[Hashable, Fitted]:
    return fits if fitted.identity in fits else {**fits, fitted.identity: fitted}


def _rank(record: Record) -> int:
    return {"failed": 0, "running": 1}.get(record.state, 2)
