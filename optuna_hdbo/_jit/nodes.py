"""Nodes of the partition tree, and heaps of its leaves.

A node is a row of the arrays of :class:`Nodes`. The leaves of each depth form a pairing heap,
ordered by their score g, the older node first among equals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit.cells import divide
from optuna_hdbo._jit.cells import longest
from optuna_hdbo._jit.cells import middle_of
from optuna_hdbo._jit.compile import internal_in_order


# What a node's score is: nothing yet, a value, a bound, or a bound for good.
UNRESOLVED, EVALUATED, REJECTED, CLOSED = 0, 1, 2, 3

# Columns of Nodes.links. A node INHERITS that has its parent's point.
PARENT, DIGIT, DEPTH, FIRST, CHILDREN, SPLIT, STATUS, INHERITS = range(8)
HEAP_CHILD, HEAP_SIBLING, SCORED_AT = 8, 9, 10
N_LINKS = 11

# Entries of Nodes.state.
COUNT, DEEPEST, LEVEL, EXPANSIONS, TESTS, EXPANDING, CHILD, SINCE, N_REJECTED, ASKED = range(10)
LAST_LEVEL = 10  # where the sweep ends, if that is decided when it begins
N_STATE = 11

LOWEST = -1.7976931348623157e308
"""The score of what is worse than any value, and yet opened when nothing else is left."""

NONE, ZERO = np.int64(-1), np.int64(0)


class Nodes(NamedTuple):
    """The tree and where its sweep is.

    ``low, high (N, D)`` are cells and ``at (N, D)`` their points, in the units of
    :mod:`optuna_hdbo._jit.cells`; ``score (N,)`` is g, ``heaps (H,)`` the best leaf of each depth
    or -1, ``limit (1,)`` is nu_max.
    """

    low: np.ndarray
    high: np.ndarray
    at: np.ndarray
    score: np.ndarray
    links: np.ndarray
    heaps: np.ndarray
    state: np.ndarray
    limit: np.ndarray


@internal_in_order
def before(tree, a, b):
    """Tell whether leaf a is to be opened before leaf b."""
    return tree.score[a] > tree.score[b] or (tree.score[a] == tree.score[b] and a < b)


@internal_in_order
def meld(tree, a, b):
    """Return the root of two heaps made one; -1 is the empty heap."""
    if a < 0:
        return b
    if b < 0:
        return a
    if before(tree, b, a):
        a, b = b, a
    tree.links[b, HEAP_SIBLING] = tree.links[a, HEAP_CHILD]
    tree.links[a, HEAP_CHILD] = b
    return a


@internal_in_order
def push(tree, leaf):
    """Add a leaf to the heap of its depth."""
    tree.links[leaf, HEAP_CHILD] = tree.links[leaf, HEAP_SIBLING] = -1
    depth = tree.links[leaf, DEPTH]
    tree.heaps[depth] = meld(tree, tree.heaps[depth], leaf)
    if depth > tree.state[DEEPEST]:
        tree.state[DEEPEST] = depth


@internal_in_order
def pop(tree, depth):
    """Remove the best leaf of a depth and return it."""
    top = tree.heaps[depth]
    a = tree.links[top, HEAP_CHILD]
    paired = NONE  # a stack of pairs, linked by HEAP_SIBLING
    while a >= 0:
        b = tree.links[a, HEAP_SIBLING]
        following = tree.links[b, HEAP_SIBLING] if b >= 0 else -1
        tree.links[a, HEAP_SIBLING] = -1
        if b >= 0:
            tree.links[b, HEAP_SIBLING] = -1
        pair = meld(tree, a, b)
        tree.links[pair, HEAP_SIBLING] = paired
        paired = pair
        a = following
    root = NONE
    while paired >= 0:
        following = tree.links[paired, HEAP_SIBLING]
        tree.links[paired, HEAP_SIBLING] = -1
        root = meld(tree, root, paired)
        paired = following
    tree.heaps[depth] = root
    return top


@internal_in_order
def create(tree, columns, parent, digit, start, end, k):
    """Append a node: the share from ``start`` to ``end`` of a cell's split, or the whole cube."""
    node = tree.state[COUNT]
    tree.state[COUNT] += 1
    links, low, high, at = tree.links, tree.low[node], tree.high[node], tree.at[node]
    links[node, PARENT], links[node, DIGIT], links[node, DEPTH] = parent, digit, 0
    links[node, FIRST], links[node, STATUS], links[node, SCORED_AT] = -1, UNRESOLVED, -1
    links[node, HEAP_CHILD], links[node, HEAP_SIBLING] = -1, -1
    links[node, CHILDREN], links[node, INHERITS] = 0, 0
    tree.score[node] = LOWEST
    if parent < 0:
        for i in range(len(low)):
            low[i], high[i] = 0.0, columns.sizes[i] if columns.sizes[i] > 0.0 else 1.0
            at[i] = middle_of(columns, i, low[i], high[i])
    else:
        links[node, DEPTH] = links[parent, DEPTH] + 1
        for i in range(len(low)):
            low[i], high[i] = tree.low[parent, i], tree.high[parent, i]
            at[i] = tree.at[parent, i]
        i = links[parent, SPLIT]
        low[i], high[i] = start, end
        if columns.sizes[i] == 0.0:
            links[node, INHERITS] = int(k == 3 and digit == 1)
            at[i] = middle_of(columns, i, start, end)
        elif start <= at[i] < end:
            links[node, INHERITS] = 1
        else:
            at[i] = middle_of(columns, i, start, end)
    links[node, SPLIT] = longest(columns, low, high)


@internal_in_order
def open_leaf(tree, columns, leaf, k, ends):
    """Append the children of a leaf, at most ``k``; ``ends (k + 1,)`` is work space."""
    i = tree.links[leaf, SPLIT]
    tree.links[leaf, FIRST] = tree.state[COUNT]
    n = divide(columns, i, tree.low[leaf, i], tree.high[leaf, i], k, ends)
    tree.links[leaf, CHILDREN] = n
    for digit in range(n):
        create(tree, columns, leaf, digit, ends[digit], ends[digit + 1], k)
