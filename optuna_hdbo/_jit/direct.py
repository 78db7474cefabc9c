"""DIRECT (Jones, Perttunen & Stuckman 1993): divide the cube where the best may be.

A rectangle is known by its centre and by how often each of its sides was cut into thirds. Its
size is half its diagonal. Sides that cannot be cut any more, those of discrete columns that are
no longer than one grid value's share, count as points: their length is 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit.acquisition import evaluate
from optuna_hdbo._jit.compile import compiled_in_order
from optuna_hdbo._jit.compile import inlined
from optuna_hdbo._jit.compile import internal_in_order


MAX_CUTS = 20  # a side of 3e-10


class Grids(NamedTuple):
    """The values of columns: ``values[starts[c]:starts[c + 1]]``, or all of [0, 1] if none.

    The values of a column have equal shares of [0, 1].
    """

    values: np.ndarray
    starts: np.ndarray


@internal_in_order
def half_diagonal(cuts, most):
    """Return the size of a rectangle whose sides were cut ``cuts (C,)`` of ``most (C,)`` times.

    Only longest sides are cut, so there are at most two lengths, one thrice the other. Counting
    them makes the sizes of alike rectangles equal to the last bit.
    """
    fewest = MAX_CUTS
    for c in range(len(cuts)):
        if cuts[c] < most[c]:
            fewest = min(fewest, cuts[c])
    total = 0.0
    shorter = 0
    for c in range(len(cuts)):
        if cuts[c] < most[c]:
            if cuts[c] == fewest:
                total += 1.0
            else:
                shorter += 1
    return 0.5 * math.sqrt(total + shorter / 9.0) * (1.0 / 3.0) ** fewest


@compiled_in_order
def potentially_optimal(values, sizes, best, epsilon, chosen):
    """Write to ``chosen`` which of n rectangles to divide next; return how many they are.

    They form the upper convex hull of (size, value), from the largest size to where the hull
    promises less than ``epsilon |best|`` above the best value (section 4). Of rectangles
    that are equal in both the first one stands for all. Those of size 0 are done.
    """
    n = len(values)
    current = -1
    for i in range(n):
        if sizes[i] > 0.0 and (
            current < 0
            or sizes[i] > sizes[current]
            or (sizes[i] == sizes[current] and values[i] > values[current])
        ):
            current = i
    n_chosen = 0
    wanted = best + epsilon * abs(best)
    while current >= 0:
        chosen[n_chosen] = current
        n_chosen += 1
        following = -1
        steepest = 0.0
        for i in range(n):
            if 0.0 < sizes[i] < sizes[current] and values[i] > values[current]:
                slope = (values[i] - values[current]) / (sizes[current] - sizes[i])
                if slope > steepest or (slope == steepest and sizes[i] > sizes[following]):
                    following = i
                    steepest = slope
        if following >= 0 and not values[following] + steepest * sizes[following] >= wanted:
            following = -1
        current = following
    return n_chosen


@compiled_in_order
def direct(model, grids, code, p, n_evaluations, epsilon, best_x):
    """Maximise an acquisition over the columns of a model; return the best value.

    At most ``n_evaluations`` (at least 1) points are evaluated; fewer once no side of any
    rectangle can be cut. ``best_x (C,)`` receives the best point in columns. NaN counts as -inf.
    """
    inverse, grid_values, grid_starts = model.kernel.inverse, grids.values, grids.starts
    n_columns = len(inverse)
    budget = max(n_evaluations, 1)
    centres = np.empty((budget, n_columns))
    cuts = np.zeros((budget, n_columns), np.int64)
    values, sizes = np.empty(budget), np.empty(budget)
    chosen = np.empty(budget, np.int64)
    most, children = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    x, f, unused = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    full = np.bool_(False)  # a literal argument would compile the callee once more
    work = np.empty((4, len(model.alpha)))
    for c in range(n_columns):
        centres[0, c] = 0.5
        children[c] = -1
        most[c] = cuts_of_grid(grid_starts[c + 1] - grid_starts[c])
    best = -np.inf
    n_evaluated, n = 0, 1
    parent, turn, n_chosen = 0, 0, 0
    while True:
        for i in range(n_evaluated, n):
            for c in range(n_columns):
                x[c] = centres[i, c]
                k = grid_starts[c + 1] - grid_starts[c]
                if k > 0:
                    x[c] = grid_values[grid_starts[c] + min(int(x[c] * k), k - 1)]
                f[c] = x[c] * inverse[c]
            value = evaluate(model, f, code, p, work, full, unused)
            values[i] = value if value > -np.inf else -np.inf
            if i == 0 or value > best:
                best = values[i]
                for c in range(n_columns):
                    best_x[c] = x[c]
        n_evaluated = n
        if n == budget:
            return best
        divide(parent, children, values, cuts, most, sizes)
        if turn == n_chosen:
            turn = 0
            n_chosen = potentially_optimal(values[:n], sizes[:n], best, epsilon, chosen)
            if n_chosen == 0:
                return best
        parent = chosen[turn]
        turn += 1
        n = add_children(parent, children, n, cuts, most, centres)


@inlined
def cuts_of_grid(k):
    """Return how often a side with k grid values can be cut; 0 stands for an interval."""
    if k == 0:
        return MAX_CUTS
    most = 0
    share = 1
    while share < k:
        most += 1
        share *= 3
    return most


@inlined
def divide(parent, children, values, cuts, most, sizes):
    """Cut the parent along the sides that were sampled, the one with the best value first.

    ``children[c]`` is the first of the parent's two points along column c, or -1.
    """
    n_columns = len(children)
    while True:
        side = -1
        highest = -np.inf
        for c in range(n_columns):
            if children[c] >= 0:
                better = max(values[children[c]], values[children[c] + 1])
                if side < 0 or better > highest:
                    side = c
                    highest = better
        if side < 0:
            break
        cuts[parent, side] += 1
        for i in range(children[side], children[side] + 2):
            for c in range(n_columns):
                cuts[i, c] = cuts[parent, c]
            sizes[i] = half_diagonal(cuts[i], most)
        children[side] = -1
    sizes[parent] = half_diagonal(cuts[parent], most)


@inlined
def add_children(parent, children, n, cuts, most, centres):
    """Choose two points along each longest side of the parent; return how many points exist."""
    budget, n_columns = centres.shape
    fewest = MAX_CUTS
    for c in range(n_columns):
        if cuts[parent, c] < most[c]:
            fewest = min(fewest, cuts[parent, c])
    third = (1.0 / 3.0) ** (fewest + 1)
    for c in range(n_columns):
        if cuts[parent, c] == fewest and fewest < most[c]:
            children[c] = n
            for i in range(n, min(n + 2, budget)):
                for e in range(n_columns):
                    centres[i, e] = centres[parent, e]
                centres[i, c] += third if i == n else -third
            n = min(n + 2, budget)
    return n
