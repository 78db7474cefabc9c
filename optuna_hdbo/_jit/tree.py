"""The partition tree of SOO and BaMSOO: cells, leaves by depth, and the sweep that opens them.

A node is a row of the arrays of :class:`Nodes`; its cell is a box of the unit cube, its point the
cell's centre, moved to an admissible value where a column is discrete. The leaves of each depth
form a pairing heap, ordered by their score g, the older node first among equals.

All of this is compiled before the first node is asked for, and so it is written in what compiles
quickly: loops instead of assignments to slices (whose error message alone takes a second),
comparisons instead of ``min`` and ``max``, and ``NONE`` where a literal would make a function
be compiled once more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit.cells import centre
from optuna_hdbo._jit.cells import longest
from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.compile import compiled_in_order
from optuna_hdbo._jit.kernels import Covariance
from optuna_hdbo._jit.kernels import covariances


# What advance() stopped for.
REQUEST, EXHAUSTED, FULL = 0, 1, 2

# What a node's score is: nothing yet, a value, or a bound.
UNRESOLVED, EVALUATED, REJECTED, CLOSED = 0, 1, 2, 3

# Columns of Nodes.links.
PARENT, DIGIT, DEPTH, FIRST, SPLIT, STATUS, HEAP_CHILD, HEAP_SIBLING, SCORED_AT = range(9)
N_LINKS = 9

# Entries of Nodes.state.
COUNT, DEEPEST, LEVEL, EXPANSIONS, TESTS, EXPANDING, CHILD, SINCE, N_REJECTED, ASKED = range(10)
N_STATE = 10

LOWEST = -1.7976931348623157e308
"""The score of what is worse than any value, and yet opened when nothing else is left."""

EARLY = 40
"""Requests until exploration becomes half as frequent."""

NONE, ZERO = np.int64(-1), np.int64(0)

_ROOT = -2  # EXPANDING, until the root is resolved


class Nodes(NamedTuple):
    """The tree and where its sweep is.

    ``low, high (N, D)`` are cells, ``score (N,)`` is g, ``heaps (H,)`` the best leaf of each
    depth or -1, ``limit (1,)`` is nu_max.
    """

    low: np.ndarray
    high: np.ndarray
    score: np.ndarray
    links: np.ndarray
    heaps: np.ndarray
    state: np.ndarray
    limit: np.ndarray


class Rule(NamedTuple):
    """The numbers of the algorithm.

    A child is evaluated if ``mean + width s >= best``, where ``width`` <= 0 stands for
    B_N = sqrt(2 log(pi^2 N^2 / (6 eta))), as it does at every ``explore``-th request if that is
    positive (half as often after :data:`EARLY` requests); the child has else the score
    ``mean - penalty s``, where ``penalty`` < 0 stands for the same width. With ``renew`` that
    score is taken from the process as it is when the node is about to be opened, else it stays
    as it was given first.
    """

    branching: int
    exponent: float
    eta: float
    width: float
    penalty: float
    patience: int
    renew: bool
    explore: int


class Model(NamedTuple):
    """A posterior, in the terms of :mod:`optuna_hdbo._jit.kernels`; ``n`` = -1 is none."""

    kernel: Covariance
    features: np.ndarray
    columns: np.ndarray
    linv: np.ndarray
    alpha: np.ndarray
    n: int
    shift: float
    scale: float
    best: float


@compiled_in_order
def before(nodes, a, b):
    """Tell whether leaf a is to be opened before leaf b."""
    return nodes.score[a] > nodes.score[b] or (nodes.score[a] == nodes.score[b] and a < b)


@compiled_in_order
def meld(nodes, a, b):
    """Return the root of two heaps made one; -1 is the empty heap."""
    if a < 0:
        return b
    if b < 0:
        return a
    if before(nodes, b, a):
        a, b = b, a
    nodes.links[b, HEAP_SIBLING] = nodes.links[a, HEAP_CHILD]
    nodes.links[a, HEAP_CHILD] = b
    return a


@compiled_in_order
def push(nodes, leaf):
    """Add a leaf to the heap of its depth."""
    nodes.links[leaf, HEAP_CHILD] = nodes.links[leaf, HEAP_SIBLING] = -1
    depth = nodes.links[leaf, DEPTH]
    nodes.heaps[depth] = meld(nodes, nodes.heaps[depth], leaf)
    if depth > nodes.state[DEEPEST]:
        nodes.state[DEEPEST] = depth


@compiled_in_order
def pop(nodes, depth):
    """Remove the best leaf of a depth and return it."""
    top = nodes.heaps[depth]
    a = nodes.links[top, HEAP_CHILD]
    paired = NONE  # a stack of pairs, linked by HEAP_SIBLING
    while a >= 0:
        b = nodes.links[a, HEAP_SIBLING]
        following = nodes.links[b, HEAP_SIBLING] if b >= 0 else -1
        nodes.links[a, HEAP_SIBLING] = -1
        if b >= 0:
            nodes.links[b, HEAP_SIBLING] = -1
        pair = meld(nodes, a, b)
        nodes.links[pair, HEAP_SIBLING] = paired
        paired = pair
        a = following
    root = NONE
    while paired >= 0:
        following = nodes.links[paired, HEAP_SIBLING]
        nodes.links[paired, HEAP_SIBLING] = -1
        root = meld(nodes, root, paired)
        paired = following
    nodes.heaps[depth] = root
    return top


@compiled_in_order
def create(nodes, columns, parent, digit, k):
    """Append a node: a share of its parent's cell along that cell's split, or the whole cube."""
    node = nodes.state[COUNT]
    nodes.state[COUNT] += 1
    links, low, high = nodes.links, nodes.low[node], nodes.high[node]
    links[node, PARENT], links[node, DIGIT], links[node, DEPTH] = parent, digit, 0
    links[node, FIRST], links[node, STATUS], links[node, SCORED_AT] = -1, UNRESOLVED, -1
    links[node, HEAP_CHILD], links[node, HEAP_SIBLING] = -1, -1
    nodes.score[node] = LOWEST
    if parent < 0:
        for i in range(len(low)):
            low[i], high[i] = 0.0, 1.0
    else:
        links[node, DEPTH] = links[parent, DEPTH] + 1
        for i in range(len(low)):
            low[i], high[i] = nodes.low[parent, i], nodes.high[parent, i]
        i = links[parent, SPLIT]
        start, end = low[i], high[i]
        if digit > 0:
            low[i] = start + digit * (end - start) / k
        if digit < k - 1:
            high[i] = start + (digit + 1) * (end - start) / k
    links[node, SPLIT] = longest(columns, low, high)


@compiled
def predict(model, x, f, r2, k):
    """Return mean and variance at x (D,); f, r2 and k are work space."""
    kernel = model.kernel
    for c in range(len(f)):
        f[c] = x[model.columns[c]] * kernel.inverse[c]
    starts, scales = kernel.starts, kernel.scales
    covariances(kernel.kind, model.features, f, kernel.hamming, starts, scales, model.n, r2, k)
    prior = 0.0
    for j in range(len(scales)):
        prior += scales[j]
    mean, explained = 0.0, 0.0
    for a in range(model.n):
        mean += k[a] * model.alpha[a]
        row = model.linv[a]
        v = 0.0
        for b in range(a + 1):
            v += row[b] * k[b]
        explained += v * v
    variance = prior - explained
    return mean, variance if variance > 1e-14 * prior else 1e-14 * prior


@compiled_in_order
def bound_width(rule, state):
    """Return B_N, or the fixed width where it is not the turn of exploration."""
    period = rule.explore if state[ASKED] < EARLY else 2 * rule.explore
    turn = period > 0 and state[ASKED] % period == period - 1
    if rule.width > 0.0 and not turn:
        return rule.width
    square = 2.0 * math.log(math.pi**2 * float(state[TESTS]) ** 2 / (6.0 * rule.eta))
    return math.sqrt(square) if square > 0.0 else 0.0


@compiled_in_order
def bound(rule, nodes, model, node, x, f, r2, k):
    """Give a node at x (D,) its lower bound; return the upper one."""
    mean, variance = predict(model, x, f, r2, k)
    s = math.sqrt(variance)
    width = bound_width(rule, nodes.state)
    penalty = width if rule.penalty < 0.0 else rule.penalty
    low = model.shift + model.scale * (mean - penalty * s)
    if low < LOWEST:
        low = LOWEST
    elif low > -LOWEST:
        low = -LOWEST
    nodes.score[node] = low
    nodes.links[node, SCORED_AT] = model.n
    return model.shift + model.scale * (mean + width * s)


@compiled_in_order
def is_promising(rule, nodes, model, node, x, f, r2, k):
    """Give a node its lower bound and tell whether its upper bound reaches the best value."""
    nodes.state[TESTS] += 1
    if model.n < 0:
        return True
    high = bound(rule, nodes, model, node, x, f, r2, k)
    return high >= model.best or nodes.state[SINCE] >= rule.patience


@compiled_in_order
def resolve(rule, columns, nodes, model, x, y, f, r2, k):
    """Resolve the children of the open node; tell whether one of them must be asked for."""
    state = nodes.state
    parent = state[EXPANDING]
    first = 0 if parent == _ROOT else nodes.links[parent, FIRST]
    n_children = 1 if parent == _ROOT else rule.branching
    if parent != _ROOT:
        centre(columns, nodes.low[parent], nodes.high[parent], y)
    while state[CHILD] < n_children:
        node = first + state[CHILD]
        if nodes.links[node, STATUS] == UNRESOLVED:
            centre(columns, nodes.low[node], nodes.high[node], x)
            # What was turned down once may look better now; what is known stays known.
            same = parent != _ROOT and nodes.links[parent, STATUS] != REJECTED
            if not (rule.branching == 3 and state[CHILD] == 1):
                for i in range(len(x)):
                    same = same and x[i] == y[i]
            if same:  # the middle child, or another cell of the same configuration
                nodes.score[node] = nodes.score[parent]
                nodes.links[node, STATUS] = nodes.links[parent, STATUS]
            else:
                promising = is_promising(rule, nodes, model, node, x, f, r2, k)
                if promising or parent == _ROOT:
                    return True
                nodes.links[node, STATUS] = REJECTED
                state[SINCE] += 1
                state[N_REJECTED] += 1
        state[CHILD] += 1
    return False


@compiled_in_order
def close(rule, nodes):
    """Make the children of the open node leaves, and go on with the sweep."""
    state = nodes.state
    parent = state[EXPANDING]
    if parent == _ROOT:
        if nodes.links[0, SPLIT] >= 0:
            push(nodes, ZERO)
    else:
        first = nodes.links[parent, FIRST]
        for node in range(first, first + rule.branching):
            if nodes.links[node, SPLIT] >= 0:
                push(nodes, node)
        nodes.limit[0] = nodes.score[parent]
        state[EXPANSIONS] += 1
        state[LEVEL] += 1
    state[EXPANDING] = -1


@compiled_in_order
def select(rule, columns, nodes, model, x, f, r2, k):
    """Go on with the sweep to the next leaf to open; return it, or -1 if there is none."""
    state = nodes.state
    shallowest = 0
    while shallowest <= state[DEEPEST] and nodes.heaps[shallowest] < 0:
        shallowest += 1
    if shallowest > state[DEEPEST]:
        return -1
    # The bound may fall below every leaf (7 expansions in two, h_max = 2): then it gives way.
    deepest = float(state[EXPANSIONS]) ** rule.exponent
    if deepest < shallowest:
        deepest = float(shallowest)
    if deepest > state[DEEPEST]:
        deepest = float(state[DEEPEST])
    while True:
        if state[LEVEL] > deepest:
            state[LEVEL] = 0
            nodes.limit[0] = -np.inf
        leaf = nodes.heaps[state[LEVEL]]
        if leaf < 0 or nodes.score[leaf] <= nodes.limit[0]:
            state[LEVEL] += 1
            continue
        pop(nodes, state[LEVEL])
        old = nodes.links[leaf, STATUS] == REJECTED and nodes.links[leaf, SCORED_AT] != model.n
        if not (old and rule.renew):
            return leaf
        centre(columns, nodes.low[leaf], nodes.high[leaf], x)
        bound(rule, nodes, model, leaf, x, f, r2, k)
        push(nodes, leaf)


@compiled_in_order
def rescore(rule, columns, nodes, model):
    """Give every rejected leaf a new bound, and order the leaves by it."""
    state = nodes.state
    x, f = np.empty(nodes.low.shape[1]), np.empty(len(model.columns))
    r2, k = np.empty(model.n), np.empty(model.n)
    for depth in range(len(nodes.heaps)):
        nodes.heaps[depth] = -1
    for node in range(state[COUNT]):
        opening = nodes.links[node, PARENT] == state[EXPANDING] or state[EXPANDING] == _ROOT
        if nodes.links[node, FIRST] >= 0 or opening:
            continue
        if nodes.links[node, STATUS] == REJECTED:
            centre(columns, nodes.low[node], nodes.high[node], x)
            bound(rule, nodes, model, node, x, f, r2, k)
        if nodes.links[node, SPLIT] >= 0:
            push(nodes, node)


@compiled_in_order
def advance(rule, columns, nodes, model):
    """Run Algorithm 2 or 3 until a value is needed.

    Returns
    -------
    code : int
        REQUEST: node ``first child of EXPANDING + CHILD`` (or the root) wants a value; give it
        a score and a status and call again. EXHAUSTED: no cell is left to split. FULL: the
        arrays are too short; copy them to longer ones and call again.
    """
    state = nodes.state
    n_columns = nodes.low.shape[1]
    x, y, f = np.empty(n_columns), np.empty(n_columns), np.empty(len(model.columns))
    r2, k = np.empty(len(model.alpha)), np.empty(len(model.alpha))
    if state[COUNT] == 0:
        state[EXPANDING], state[CHILD] = _ROOT, 0
        create(nodes, columns, NONE, ZERO, rule.branching)
    while True:
        if state[EXPANDING] != -1:
            if resolve(rule, columns, nodes, model, x, y, f, r2, k):
                return REQUEST
            close(rule, nodes)
        full = state[COUNT] + rule.branching > len(nodes.score)
        if full or state[DEEPEST] + 2 > len(nodes.heaps):
            return FULL
        leaf = select(rule, columns, nodes, model, x, f, r2, k)
        if leaf < 0:
            return EXHAUSTED
        nodes.links[leaf, FIRST] = state[COUNT]
        state[EXPANDING], state[CHILD] = leaf, 0
        for digit in range(rule.branching):
            create(nodes, columns, leaf, digit, rule.branching)
