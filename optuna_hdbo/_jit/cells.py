"""Cells of the partition tree: boxes, how they are split, and where their points are.

The bounds of a cell are numbers of the unit interval in a continuous column. In a column of
finitely many values they count values: a cell from 2 to 5 holds the values number 2, 3 and 4. So
no value is ever in two cells that do not contain each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit.compile import compiled_in_order
from optuna_hdbo._jit.compile import internal_in_order


NARROW = 4e-12
"""A side of a cell that is shorter is not split."""

TIE = 1e-9
"""Lengths are equal up to this share."""


class Columns(NamedTuple):
    """The columns of a domain.

    ``sizes (D,)`` is the number of values, 0 where a column is continuous. The values of a listed
    column are ``values[starts[i]:starts[i + 1]]``, and value j + 1 begins at
    ``borders[starts[i] + j]`` of the unit interval. Values that are not listed are evenly spaced,
    or so in the logarithm where ``log_starts (D,)`` is positive.
    """

    sizes: np.ndarray
    log_starts: np.ndarray
    values: np.ndarray
    borders: np.ndarray
    starts: np.ndarray


@internal_in_order
def spaced(columns, i, at):
    """Return where a place among unlisted values, in values, is on the unit interval."""
    n, start = columns.sizes[i], columns.log_starts[i]
    return math.log1p(at / start) / math.log1p(n / start) if start > 0.0 else at / n


@internal_in_order
def edge(columns, i, bound):
    """Return where a bound of a cell is on the unit interval."""
    n = columns.sizes[i]
    if n == 0.0:
        return bound
    if bound <= 0.0:
        return 0.0
    if bound >= n:
        return 1.0
    if columns.starts[i + 1] > columns.starts[i]:
        return columns.borders[columns.starts[i] + int(bound) - 1]
    return spaced(columns, i, bound)


@internal_in_order
def last_before(columns, i, low, high, u):
    """Return the value from ``low`` on, before ``high``, that owns ``u`` of the unit interval."""
    while high - low > 1.0:
        middle = np.floor(0.5 * (low + high))
        if middle <= low or middle >= high:  # beyond 2^53 not every integer is a float
            break
        if edge(columns, i, middle) < u:
            low = middle
        else:
            high = middle
    return low


@internal_in_order
def middle_of(columns, i, low, high):
    """Return the coordinate of a cell's point: its centre, or the value that owns the centre."""
    if columns.sizes[i] == 0.0:
        return 0.5 * (low + high)
    # Of two values beside the centre it is the lower one, whatever rounding says.
    first, last = edge(columns, i, low), edge(columns, i, high)
    return last_before(columns, i, low, high, first + (0.5 - TIE) * (last - first))


@compiled_in_order
def place(columns, at, x):
    """Write the row (D,) of the point with coordinates ``at (D,)`` to ``x (D,)``."""
    for i in range(len(x)):
        if columns.sizes[i] == 0.0:
            x[i] = at[i]
        elif columns.starts[i + 1] > columns.starts[i]:
            x[i] = columns.values[columns.starts[i] + int(at[i])]
        else:
            x[i] = spaced(columns, i, at[i] + 0.5)


@internal_in_order
def longest(columns, low, high):
    """Return the longest side of a cell that can be split, the first of equals, or -1."""
    best, width = -1, 0.0
    for i in range(len(low)):
        if columns.sizes[i] > 0.0 and high[i] - low[i] <= 1.0:
            continue  # one value
        side = edge(columns, i, high[i]) - edge(columns, i, low[i])
        if side > width * (1.0 + TIE) and side > NARROW:
            best, width = i, side
    return best


@internal_in_order
def divide(columns, i, low, high, k, ends):
    """Split a side in ``k``, or in as many as it has values; return how many.

    Part j is from ``ends[j]`` to ``ends[j + 1]``; ``ends (k + 1,)``.
    """
    n = columns.sizes[i]
    if n > 0.0 and high - low < k:
        k = int(high - low)
    ends[0], ends[k] = low, high
    first, last = edge(columns, i, low), edge(columns, i, high)
    for j in range(1, k):
        end = first + j * (last - first) / k
        if n > 0.0:
            u = end
            end = last_before(columns, i, low, high, u)
            if edge(columns, i, end + 1.0) - u <= (1.0 + TIE) * (u - edge(columns, i, end)):
                end += 1.0
            # Each part has a value.
            if end < ends[j - 1] + 1.0:
                end = ends[j - 1] + 1.0
            if end > high - (k - j):
                end = high - (k - j)
        ends[j] = end
    return k
