"""Algorithms 2 and 3 of Wang et al. (2014) in plain Python, as the page has them.

Cells are tuples of fractions, leaves a list that is searched from end to end, and the Gaussian
process is solved for every child. Nothing here is shared with the package. Columns of
finitely many values are ours: a cell is a range of them, which is split at the nearest border.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import linalg


Cell = tuple[tuple[Fraction, Fraction], ...]
Function = Callable[[np.ndarray], float]
Sizes = tuple[int, ...]  # how many values a column has, 0 for the unit interval


@dataclass(eq=False)
class Node:
    """A cell and its point; in a column of n values, bounds are from 0 to n, points numbers."""

    path: str
    cell: Cell
    at: tuple[Fraction, ...]
    sizes: Sizes
    inherits: bool = False
    g: float = math.nan
    known: bool = True
    expanded: bool = False

    @property
    def x(self) -> np.ndarray:
        pairs = zip(self.at, self.sizes, strict=True)
        return np.array([float((at + Fraction(1, 2)) / n if n else at) for at, n in pairs])

    @functools.cached_property
    def can_be_split(self) -> bool:
        return max(lengths_of(self)) > 0


def root_of(sizes: Sizes) -> Node:
    cell = tuple((Fraction(0), Fraction(n or 1)) for n in sizes)
    return Node(
        "", cell, tuple(middle(*part, n) for part, n in zip(cell, sizes, strict=True)), sizes
    )


def middle(low: Fraction, high: Fraction, n: int) -> Fraction:
    """Return the centre, or the value that owns it: the lower one of two."""
    centre = (low + high) / 2
    return Fraction(math.ceil(centre) - 1) if n else centre


def lengths_of(node: Node) -> list[Fraction]:
    """Return the sides as shares of the columns, 0 for a single value."""
    pairs = zip(node.cell, node.sizes, strict=True)
    sides = [(high - low, n) for (low, high), n in pairs]
    return [Fraction(0) if n and side <= 1 else side / (n or 1) for side, n in sides]


def children_of(node: Node, k: int) -> list[Node]:
    """Split the longest side, the first of equals."""
    lengths = lengths_of(node)
    i = lengths.index(max(lengths))
    (low, high), n = node.cell[i], node.sizes[i]
    if n:
        k = min(k, int(high - low))
    ends = [low + j * (high - low) / k for j in range(k + 1)]
    if n:  # at the nearest border, the upper one of two
        ends = [Fraction(math.floor(end + Fraction(1, 2))) for end in ends]
    children = []
    for j in range(k):
        part = ends[j], ends[j + 1]
        inherits = part[0] <= node.at[i] < part[1] if n else k == 3 and j == 1
        at = node.at[i] if n and inherits else middle(*part, n)
        cell = (*node.cell[:i], part, *node.cell[i + 1 :])
        point = (*node.at[:i], at, *node.at[i + 1 :])
        children.append(Node(node.path + str(j), cell, point, node.sizes, inherits))
    return children


def sweeps(
    root: Node, k: int, power: float, resolve: Callable[[Node, Node], None], fixed: bool = False
) -> None:
    """Lines 5-28 of Algorithm 3, for ever; ``resolve`` gives a child its g.

    With ``fixed``, min{depth(T), h_max(n)} is that at the beginning of a sweep.
    """
    tree = [root]
    n = 1
    while True:
        nu_max = -math.inf
        h = 0
        while True:
            leaves = [node for node in tree if not node.expanded and node.can_be_split]
            if not leaves:
                return
            depth = max(len(node.path) for node in leaves)
            # Where h_max(n) is above every leaf, the sweep would be empty for ever.
            h_max = max(n**power, min(len(node.path) for node in leaves))
            if h == 0 or not fixed:
                last = min(depth, h_max)
            if h > last:
                break
            here = [node for node in leaves if len(node.path) == h]
            if here:
                best = max(here, key=lambda node: node.g)  # the first of equals
                if best.g > nu_max:
                    for child in children_of(best, k):
                        if child.inherits and best.known:
                            child.g = best.g  # the parent's point
                        else:
                            resolve(best, child)
                        tree.append(child)
                    best.expanded = True
                    nu_max = best.g
                    n += 1
            h += 1


class OutOfBudgetError(Exception):
    pass


def soo(
    f: Function, k: int, power: float, sizes: Sizes, budget: int, fixed: bool = False
) -> list[str]:
    """Return the paths in the order of evaluation, to the end where there is one."""
    paths: list[str] = []

    def evaluate(_: Node | None, node: Node) -> None:
        if len(paths) == budget:
            raise OutOfBudgetError
        paths.append(node.path)
        node.g = f(node.x)

    root = root_of(sizes)
    try:
        evaluate(None, root)
        sweeps(root, k, power, evaluate, fixed)
    except OutOfBudgetError:
        pass
    return paths


def se(A: np.ndarray, B: np.ndarray, lengthscale: float) -> np.ndarray:
    squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-0.5 * squares / lengthscale**2)


def matern52(A: np.ndarray, B: np.ndarray, lengthscale: float) -> np.ndarray:
    r = np.sqrt(5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)) / lengthscale
    return (1 + r + r**2 / 3) * np.exp(-r)


def bamsoo(
    f: Function,
    k: int,
    power: float,
    dim: int,
    budget: int,
    *,
    eta: float,
    lengthscale: float,
    noise: float,
    first: np.ndarray,
) -> tuple[list[str], list[str], list[float]]:
    """Return the evaluated paths, the rejected ones, and the bounds of the latter.

    The point ``first`` is evaluated before the tree begins, as in the paper's experiments; values
    are standardised whenever the process is asked.
    """
    paths: list[str] = []
    rejected: list[str] = []
    bounds: list[float] = []
    X, y = [first], [f(first)]
    n_tests = 1  # line 4

    def evaluate(node: Node) -> None:
        if len(paths) == budget:
            raise OutOfBudgetError
        paths.append(node.path)
        node.g, node.known = f(node.x), True
        X.append(node.x)
        y.append(node.g)
        factor.cache_clear()

    @functools.cache
    def factor() -> Any:
        K = matern52(np.array(X), np.array(X), lengthscale) + noise * np.eye(len(X))
        return linalg.lu_factor(K)

    def resolve(_: Node, child: Node) -> None:
        nonlocal n_tests
        n_tests += 1  # line 11
        values = np.array(y)
        shift, scale = values.mean(), values.std() or 1.0
        kx = matern52(child.x[None], np.array(X), lengthscale)[0]
        right = np.stack([(values - shift) / scale, kx], axis=1)
        solved = linalg.lu_solve(factor(), right)
        mean = float(kx @ solved[:, 0])
        s = math.sqrt(max(1.0 - float(kx @ solved[:, 1]), 0.0))
        width = math.sqrt(2 * math.log(math.pi**2 * n_tests**2 / (6 * eta)))
        if shift + scale * (mean + width * s) >= max(y):  # line 12
            evaluate(child)
        else:
            child.g, child.known = float(shift + scale * (mean - width * s)), False  # line 17
            rejected.append(child.path)
            bounds.append(child.g)

    root = root_of((0,) * dim)
    try:
        evaluate(root)
        sweeps(root, k, power, resolve)
    except OutOfBudgetError:
        pass
    return paths, rejected, bounds
