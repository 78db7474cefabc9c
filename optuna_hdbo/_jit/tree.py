"""The partition tree of SOO and BaMSOO: the sweep that opens leaves, and the tests of children.

All of this is compiled before the first node is asked for, and so it is written in what compiles
quickly: loops instead of assignments to slices (whose error message alone takes a second),
comparisons instead of ``min`` and ``max``, and ``NONE`` where a literal would make a function
be compiled once more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit import nodes
from optuna_hdbo._jit.cells import edge
from optuna_hdbo._jit.cells import place
from optuna_hdbo._jit.compile import compiled_in_order
from optuna_hdbo._jit.compile import internal
from optuna_hdbo._jit.compile import internal_in_order
from optuna_hdbo._jit.kernels import Covariance
from optuna_hdbo._jit.kernels import covariances


# What advance() stopped for.
REQUEST, EXHAUSTED, FULL = 0, 1, 2

EARLY = 40
"""Requests until exploration becomes half as frequent."""

_ROOT = -2  # nodes.EXPANDING, until the root is resolved


class Rule(NamedTuple):
    """The numbers of the algorithm.

    Without a process ``branching``, ``exponent``, ``fixed_limit`` and ``slope`` matter.

    A child is evaluated if ``mean + width s >= best``, where ``width`` <= 0 stands for
    B_N = sqrt(2 log(pi^2 N^2 / (6 eta))), as it does at every ``explore``-th request if that is
    positive (half as often after :data:`EARLY` requests); the child has else the score
    ``mean - penalty s``, where ``penalty`` < 0 stands for the same width. With ``renew`` that
    score is taken from the process as it is when the node is about to be opened, else it stays
    as it was given first.

    ``exponent`` limits the depth to ``n ** exponent``. A negative one, which only a tree's
    creator sees, stands for 1 on a finite space and for 0.5 elsewhere. With ``fixed_limit`` the
    depth at which a sweep ends is decided when it begins. Else it grows with the expansions.

    With ``slope`` > 0 there are no sweeps: the leaf of the largest score plus ``slope`` times half
    its cell's diagonal is opened, which is DOO (Munos 2011).
    """

    branching: int
    exponent: float
    eta: float = 1.0
    width: float = 1.0
    penalty: float = 0.0
    patience: int = 0
    renew: bool = False
    explore: int = 0
    fixed_limit: bool = False
    slope: float = 0.0


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


@internal
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


@internal_in_order
def bound_width(rule, state):
    """Return B_N, or the fixed width where it is not the turn of exploration."""
    period = rule.explore if state[nodes.ASKED] < EARLY else 2 * rule.explore
    turn = period > 0 and state[nodes.ASKED] % period == period - 1
    if rule.width > 0.0 and not turn:
        return rule.width
    square = 2.0 * math.log(math.pi**2 * float(state[nodes.TESTS]) ** 2 / (6.0 * rule.eta))
    return math.sqrt(square) if square > 0.0 else 0.0


@internal_in_order
def bound(rule, tree, model, node, x, f, r2, k):
    """Give a node at x (D,) its lower bound; return the upper one."""
    mean, variance = predict(model, x, f, r2, k)
    s = math.sqrt(variance)
    width = bound_width(rule, tree.state)
    penalty = width if rule.penalty < 0.0 else rule.penalty
    low = model.shift + model.scale * (mean - penalty * s)
    if low < nodes.LOWEST:
        low = nodes.LOWEST
    elif low > -nodes.LOWEST:
        low = -nodes.LOWEST
    tree.score[node] = low
    tree.links[node, nodes.SCORED_AT] = model.n
    return model.shift + model.scale * (mean + width * s)


@internal_in_order
def is_promising(rule, tree, model, node, x, f, r2, k):
    """Give a node its lower bound and tell whether its upper bound reaches the best value."""
    tree.state[nodes.TESTS] += 1
    if model.n < 0:
        return True
    high = bound(rule, tree, model, node, x, f, r2, k)
    return high >= model.best or tree.state[nodes.SINCE] >= rule.patience


@internal_in_order
def resolve(rule, columns, tree, model, x, f, r2, k):
    """Resolve the children of the open node; tell whether one of them must be asked for."""
    state, links = tree.state, tree.links
    parent = state[nodes.EXPANDING]
    first = 0 if parent == _ROOT else links[parent, nodes.FIRST]
    n_children = 1 if parent == _ROOT else links[parent, nodes.CHILDREN]
    while state[nodes.CHILD] < n_children:
        node = first + state[nodes.CHILD]
        if links[node, nodes.STATUS] == nodes.UNRESOLVED:
            # What was turned down once may look better now; what is known stays known.
            if links[node, nodes.INHERITS] == 1 and links[parent, nodes.STATUS] != nodes.REJECTED:
                tree.score[node] = tree.score[parent]
                links[node, nodes.STATUS] = links[parent, nodes.STATUS]
            else:
                place(columns, tree.at[node], x)
                promising = is_promising(rule, tree, model, node, x, f, r2, k)
                if promising or parent == _ROOT:
                    return True
                links[node, nodes.STATUS] = nodes.REJECTED
                state[nodes.SINCE] += 1
                state[nodes.N_REJECTED] += 1
        state[nodes.CHILD] += 1
    return False


@internal_in_order
def close(tree):
    """Make the children of the open node leaves, and go on with the sweep."""
    state = tree.state
    parent = state[nodes.EXPANDING]
    if parent == _ROOT:
        if tree.links[0, nodes.SPLIT] >= 0:
            nodes.push(tree, nodes.ZERO)
    else:
        first = tree.links[parent, nodes.FIRST]
        for node in range(first, first + tree.links[parent, nodes.CHILDREN]):
            if tree.links[node, nodes.SPLIT] >= 0:
                nodes.push(tree, node)
        tree.limit[0] = tree.score[parent]
        state[nodes.EXPANSIONS] += 1
        state[nodes.LEVEL] += 1
    state[nodes.EXPANDING] = -1


@internal_in_order
def most_optimistic(rule, columns, tree):
    """Remove and return the leaf that may hold the largest value, or -1 if there is none.

    The leaves of a depth have cells of one size, or nearly so where columns are discrete. So only
    the best leaf of every depth is looked at.
    """
    best, highest = nodes.NONE, -np.inf
    for depth in range(tree.state[nodes.DEEPEST] + 1):
        leaf = tree.heaps[depth]
        if leaf < 0:
            continue
        square = 0.0
        for i in range(tree.low.shape[1]):
            low, high = tree.low[leaf, i], tree.high[leaf, i]
            if columns.sizes[i] == 0.0 or high - low > 1.0:  # else a single value
                square += (edge(columns, i, high) - edge(columns, i, low)) ** 2
        bound = tree.score[leaf] + rule.slope * 0.5 * math.sqrt(square)
        if best < 0 or bound > highest:
            best, highest = depth, bound
    if best < 0:
        return -1
    return nodes.pop(tree, best)


@internal_in_order
def select(rule, columns, tree, model, x, f, r2, k):
    """Go on with the sweep to the next leaf to open; return it, or -1 if there is none."""
    state = tree.state
    if rule.slope > 0.0:
        return most_optimistic(rule, columns, tree)
    shallowest = 0
    while shallowest <= state[nodes.DEEPEST] and tree.heaps[shallowest] < 0:
        shallowest += 1
    if shallowest > state[nodes.DEEPEST]:
        return -1
    # The bound may fall below every leaf (7 expansions in two, h_max = 2): then it gives way.
    deepest = float(state[nodes.EXPANSIONS]) ** rule.exponent
    if deepest < shallowest:
        deepest = float(shallowest)
    if deepest > state[nodes.DEEPEST]:
        deepest = float(state[nodes.DEEPEST])
    while True:
        last = float(state[nodes.LAST_LEVEL]) if rule.fixed_limit else deepest
        if state[nodes.LEVEL] > last:
            state[nodes.LEVEL] = 0
            state[nodes.LAST_LEVEL] = int(deepest)
            tree.limit[0] = -np.inf
        leaf = tree.heaps[state[nodes.LEVEL]]
        if leaf < 0 or tree.score[leaf] <= tree.limit[0]:
            state[nodes.LEVEL] += 1
            continue
        nodes.pop(tree, state[nodes.LEVEL])
        rejected = tree.links[leaf, nodes.STATUS] == nodes.REJECTED
        if not (rule.renew and rejected and tree.links[leaf, nodes.SCORED_AT] != model.n):
            return leaf
        place(columns, tree.at[leaf], x)
        bound(rule, tree, model, leaf, x, f, r2, k)
        nodes.push(tree, leaf)


@compiled_in_order
def rescore(rule, columns, tree, model):
    """Give every rejected leaf a new bound, and order the leaves by it."""
    state = tree.state
    x, f = np.empty(tree.low.shape[1]), np.empty(len(model.columns))
    r2, k = np.empty(model.n), np.empty(model.n)
    for depth in range(len(tree.heaps)):
        tree.heaps[depth] = -1
    parent = state[nodes.EXPANDING]
    for node in range(state[nodes.COUNT]):
        opening = tree.links[node, nodes.PARENT] == parent or parent == _ROOT
        if tree.links[node, nodes.FIRST] >= 0 or opening:
            continue
        if tree.links[node, nodes.STATUS] == nodes.REJECTED:
            place(columns, tree.at[node], x)
            bound(rule, tree, model, node, x, f, r2, k)
        if tree.links[node, nodes.SPLIT] >= 0:
            nodes.push(tree, node)


@compiled_in_order
def advance(rule, columns, tree, model):
    """Run Algorithm 2 or 3 until a value is needed.

    Returns
    -------
    code : int
        REQUEST: child CHILD of the node EXPANDING, or the root, needs a value; give it a score
        and a status and call again. EXHAUSTED: no cell is left to split. FULL: the arrays are
        too short; copy them to longer ones and call again.
    """
    state = tree.state
    n_columns = tree.low.shape[1]
    x, f, ends = np.empty(n_columns), np.empty(len(model.columns)), np.empty(rule.branching + 1)
    r2, k = np.empty(len(model.alpha)), np.empty(len(model.alpha))
    if state[nodes.COUNT] == 0:
        state[nodes.EXPANDING], state[nodes.CHILD] = _ROOT, 0
        nodes.create(tree, columns, nodes.NONE, nodes.ZERO, 0.0, 1.0, rule.branching)
    while True:
        if state[nodes.EXPANDING] != -1:
            if resolve(rule, columns, tree, model, x, f, r2, k):
                return REQUEST
            close(tree)
        full = state[nodes.COUNT] + rule.branching > len(tree.score)
        if full or state[nodes.DEEPEST] + 2 > len(tree.heaps):
            return FULL
        leaf = select(rule, columns, tree, model, x, f, r2, k)
        if leaf < 0:
            return EXHAUSTED
        nodes.open_leaf(tree, columns, leaf, rule.branching, ends)
        state[nodes.EXPANDING], state[nodes.CHILD] = leaf, 0
