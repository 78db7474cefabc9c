"""Which row of a matrix is a given point, however many rows there are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from optuna_hdbo._core.domain import FloatArray


SAME = 1e-11
"""Points are equal up to this; a value's way to a parameter and back may cost some ulps."""

_CELLS = 731058578.6300049
"""Cells per unit of the index: no round number, or centres of a tree would lie on borders."""

_MOST_BORDERS = 6


def find_row(X: FloatArray, x: FloatArray) -> int:
    """Return the first row of X (n, D) that is x (D,), or -1."""
    if len(X) == 0:
        return -1
    near = np.flatnonzero(np.abs(X[:, 0] - x[0]) <= SAME)
    if len(near):
        near = near[(np.abs(X[near] - x) <= SAME).all(axis=1)]
    return int(near[0]) if len(near) else -1


class RowIndex:
    """Finds rows as :func:`find_row` does, in a time that does not grow with their number."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], int | list[int]] = {}  # nearly always one in a cell
        self._X: FloatArray = np.empty((0, 0))

    def follow(self, X: FloatArray) -> None:
        """Take in the rows of X (n, D); those of the last call are often its first ones."""
        old, n = self._X, len(self._X)
        if len(X) < n or not (_is_extended(old, X) or np.array_equal(old, X[:n])):
            self._rows, n = {}, 0
        for i, row in enumerate(X[n:].tolist(), n):
            cell = tuple([_cell(x) for x in row])
            others = self._rows.setdefault(cell, i)
            if others is not i:
                self._rows[cell] = [*([others] if isinstance(others, int) else others), i]
        self._X = X

    def find(self, x: FloatArray, n: int) -> int:
        """Return the first row that is x (D,) among the first ``n``, or -1."""
        point = x.tolist()
        low = [_cell(u - SAME) for u in point]
        high = [_cell(u + SAME) for u in point]
        if low == high:
            found = self._in_cell(tuple(low))
        elif sum(a != b for a, b in zip(low, high, strict=True)) > _MOST_BORDERS:
            return find_row(self._X[:n], x)
        else:
            cells = itertools.product(*[{a, b} for a, b in zip(low, high, strict=True)])
            found = sorted(i for cell in cells for i in self._in_cell(cell))
        for i in found:
            if i >= n:
                break
            if are_near(self._X[i].tolist(), point, SAME):
                return i
        return -1

    def _in_cell(self, cell: tuple[int, ...]) -> Sequence[int]:
        rows = self._rows.get(cell, ())
        return (rows,) if isinstance(rows, int) else rows


def are_near(a: Sequence[float], b: Sequence[float], tol: float) -> bool:
    """Tell whether no two numbers at the same place differ by more than ``tol``."""
    # Of few numbers, quicker than with arrays.
    return all(abs(u - v) <= tol for u, v in zip(a, b, strict=True))


def _cell(u: float) -> int:
    return math.floor(u * _CELLS + 0.5)


def _is_extended(old: FloatArray, new: FloatArray) -> bool:
    """Tell whether both look at the same memory, in which rows are only ever appended."""
    return old.base is not None and old.base is new.base
