"""Cells of the partition tree: boxes of the unit cube, their points and their longest sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit.compile import compiled_in_order


_NARROW = 1e-12


class Columns(NamedTuple):
    """The columns of a domain: ``values[starts[i]:starts[i + 1]]`` are those of column i.

    Value j + 1 of a column begins at ``borders[starts[i] + j]`` of the unit interval.
    """

    values: np.ndarray
    borders: np.ndarray
    starts: np.ndarray


@compiled_in_order
def index_at(columns, i, u):
    """Return the index of the value of discrete column i that owns u."""
    first, last = columns.starts[i], columns.starts[i + 1] - 1
    index = 0
    while first + index < last and columns.borders[first + index] < u:
        index += 1
    return index


@compiled_in_order
def centre(columns, low, high, x):
    """Write the point of a cell (D,) to ``x (D,)``."""
    for i in range(len(x)):
        x[i] = 0.5 * (low[i] + high[i])
        if columns.starts[i + 1] > columns.starts[i]:
            x[i] = columns.values[columns.starts[i] + index_at(columns, i, x[i])]


@compiled_in_order
def longest(columns, low, high):
    """Return the longest side of a cell that can be split, the first of equals, or -1."""
    best, width = -1, 0.0
    for i in range(len(low)):
        side = high[i] - low[i]
        if columns.starts[i + 1] > columns.starts[i]:
            inner = index_at(columns, i, high[i] - _NARROW)
            if index_at(columns, i, low[i] + _NARROW) == inner:
                continue  # one value
        if side > width * (1.0 + 1e-9) and side > 4.0 * _NARROW:
            best, width = i, side
    return best
