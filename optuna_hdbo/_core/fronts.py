"""Several objectives: which points are not dominated, and the boxes that nothing dominates.

Larger values are better everywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._jit import hypervolume as jit


MOST_DECOMPOSED = 3
"""Objectives up to which the region that nothing dominates is cut into boxes."""


def n_dominating(Y: FloatArray, counts: BoolArray) -> IntArray:
    """Return how many of the rows of Y (n, k) that are marked dominate each row, shape (n,)."""
    found = np.empty(len(Y), np.int64)
    jit.count_dominating(np.ascontiguousarray(Y), counts, found)
    return found


@dataclass(frozen=True, eq=False)
class Boxes:
    """Disjoint boxes of objective values above a reference point that no known point dominates.

    Parameters
    ----------
    levels : FloatArray, shape (L,)
        Coordinates of the corners, objective by objective.
    starts : IntArray, shape (k + 1,)
        Objective j owns ``levels[starts[j]:starts[j + 1]]``.
    low, high : IntArray, shape (B, k)
        Numbers of the levels at which each box begins and ends; L stands for infinity.
    """

    levels: FloatArray
    starts: IntArray
    low: IntArray
    high: IntArray

    @classmethod
    def above(cls, Y: FloatArray, reference: FloatArray) -> Boxes:
        """Return the boxes above a reference point (k,) that no row of Y (n, k) dominates.

        Raises
        ------
        ValueError
            For more than :data:`MOST_DECOMPOSED` objectives.
        """
        corners = np.array(_corners(Y[(reference < Y).all(axis=1)], reference))
        parts, low, high = [], [], []
        n_levels = 0
        for j in range(len(reference)):
            lower, upper = corners[:, 0, j], corners[:, 1, j]
            levels = np.unique(lower)
            parts.append(levels)
            low.append(n_levels + levels.searchsorted(lower))
            high.append(np.where(np.isinf(upper), -1, n_levels + levels.searchsorted(upper)))
            n_levels += len(levels)
        ends = np.stack(high, axis=1)
        return cls(
            np.concatenate(parts),
            np.cumsum([0, *map(len, parts)]).astype(np.int64),
            np.stack(low, axis=1).astype(np.int64),
            np.where(ends < 0, n_levels, ends).astype(np.int64),
        )


def volume(Y: FloatArray, reference: FloatArray) -> float:
    """Return the hypervolume that the rows of Y (n, k) dominate above a reference point (k,)."""
    inside = Y[(reference < Y).all(axis=1)]
    if not len(inside):
        return 0.0
    boxes, top = Boxes.above(inside, reference), inside.max(axis=0)
    levels = np.append(boxes.levels, np.inf)
    sides = np.minimum(levels[boxes.high], top) - levels[boxes.low]
    free = np.maximum(sides, 0.0).prod(axis=1).sum()
    return float((top - reference).prod() - free)


Corners = list[list[tuple[float, ...]]]


def _corners(Y: FloatArray, reference: FloatArray) -> Corners:
    """Return the lower and the upper corner of each box; all rows are above the reference."""
    n_objectives = len(reference)
    if n_objectives > MOST_DECOMPOSED:
        raise ValueError(
            f"At most {MOST_DECOMPOSED} objectives can be decomposed, but got {n_objectives}."
        )
    if n_objectives == 1:
        return [[(float(max([*Y[:, 0], reference[0]])),), (np.inf,)]]
    strips = _Strips(float(reference[0]), float(reference[1]))
    if n_objectives == 2:
        for x, y in Y.tolist():
            strips.insert(x, y, 0.0)
        return [[(left, floor), (right, np.inf)] for left, right, floor, _ in strips]
    boxes: Corners = []
    for x, y, z in Y[np.argsort(-Y[:, 2], kind="stable")].tolist():
        boxes += _closed(strips.insert(x, y, z), z)
    return boxes + _closed(list(strips), float(reference[2]))


Strip = tuple[float, float, float, float]


def _closed(strips: list[Strip], z: float) -> Corners:
    """Return the boxes that strips have become on the way down to ``z``."""
    return [
        [(left, floor, z), (right, np.inf, top)] for left, right, floor, top in strips if z < top
    ]


class _Strips:
    """The plane above a staircase, as strips side by side that are unbounded upwards.

    A sweep along a third objective, from large to small values, inserts points. Each strip
    remembers at which value of the sweep it began. The reference point is (x, y).
    """

    def __init__(self, x: float, y: float) -> None:
        self._first = x
        self._rights = [np.inf]
        self._drops = [-y]  # minus the floors, so that both lists ascend
        self._tops = [np.inf]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._strips(0, len(self._rights)))

    def _strips(self, first: int, stop: int) -> list[Strip]:
        return [
            (
                self._rights[i - 1] if i else self._first,
                self._rights[i],
                -self._drops[i],
                self._tops[i],
            )
            for i in range(first, stop)
        ]

    def insert(self, x: float, y: float, top: float) -> list[Strip]:
        """Add a point, and return the strips, or parts of strips, that it dominates."""
        first = bisect_right(self._drops, -y)  # the first strip with a lower floor
        last = bisect_left(self._rights, x)  # the strip in which the point is
        if last < first:
            return []
        removed = self._strips(first, last + 1)
        if removed[0][0] >= x:
            return []
        left, right, floor, began = removed[-1]
        removed[-1] = left, x, floor, began
        stays = right > x
        self._rights[first : last + 1] = [x, right] if stays else [x]
        self._drops[first : last + 1] = [-y, -floor] if stays else [-y]
        self._tops[first : last + 1] = [top, began] if stays else [top]
        return removed
