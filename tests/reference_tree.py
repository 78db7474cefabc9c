"""Algorithms 2 and 3 of Wang et al. (2014) in plain Python, as the page has them.

Cells are tuples of fractions, leaves a list that is searched from end to end, and the Gaussian
process is solved anew for every child. Nothing here is shared with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


Cell = tuple[tuple[Fraction, Fraction], ...]
Function = Callable[[np.ndarray], float]


@dataclass(eq=False)
class Node:
    path: str
    cell: Cell
    g: float = math.nan
    known: bool = True
    expanded: bool = False

    @property
    def x(self) -> np.ndarray:
        return np.array([float((low + high) / 2) for low, high in self.cell])


def children_of(node: Node, k: int) -> list[Node]:
    """Split the longest side, the first of equals."""
    sides = [high - low for low, high in node.cell]
    i = sides.index(max(sides))
    low, high = node.cell[i]
    step = (high - low) / k
    parts = [(low + j * step, low + (j + 1) * step) for j in range(k)]
    cells = [(*node.cell[:i], part, *node.cell[i + 1 :]) for part in parts]
    return [Node(node.path + str(j), cell) for j, cell in enumerate(cells)]


def sweeps(root: Node, k: int, power: float, resolve: Callable[[Node, Node], None]) -> None:
    """Lines 5-28 of Algorithm 3, for ever; ``resolve`` gives a child its g."""
    tree = [root]
    n = 1
    while True:
        nu_max = -math.inf
        h = 0
        while True:
            leaves = [node for node in tree if not node.expanded]
            depth = max(len(node.path) for node in leaves)
            # Where h_max(n) is above every leaf, the sweep would be empty for ever.
            h_max = max(n**power, min(len(node.path) for node in leaves))
            if h > min(depth, h_max):
                break
            here = [node for node in leaves if len(node.path) == h]
            if here:
                best = max(here, key=lambda node: node.g)  # the first of equals
                if best.g > nu_max:
                    for j, child in enumerate(children_of(best, k)):
                        if k == 3 and j == 1 and best.known:
                            child.g = best.g  # the parent's centre
                        else:
                            resolve(best, child)
                        tree.append(child)
                    best.expanded = True
                    nu_max = best.g
                    n += 1
            h += 1


class OutOfBudgetError(Exception):
    pass


def soo(f: Function, k: int, power: float, dim: int, budget: int) -> list[str]:
    """Return the paths in the order of evaluation."""
    paths: list[str] = []

    def evaluate(_: Node | None, node: Node) -> None:
        if len(paths) == budget:
            raise OutOfBudgetError
        paths.append(node.path)
        node.g = f(node.x)

    root = Node("", ((Fraction(0), Fraction(1)),) * dim)
    try:
        evaluate(None, root)
        sweeps(root, k, power, evaluate)
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

    def resolve(_: Node, child: Node) -> None:
        nonlocal n_tests
        n_tests += 1  # line 11
        values = np.array(y)
        shift, scale = values.mean(), values.std() or 1.0
        K = matern52(np.array(X), np.array(X), lengthscale) + noise * np.eye(len(X))
        kx = matern52(child.x[None], np.array(X), lengthscale)[0]
        solved = np.linalg.solve(K, np.stack([(values - shift) / scale, kx], axis=1))
        mean = float(kx @ solved[:, 0])
        s = math.sqrt(max(1.0 - float(kx @ solved[:, 1]), 0.0))
        width = math.sqrt(2 * math.log(math.pi**2 * n_tests**2 / (6 * eta)))
        if shift + scale * (mean + width * s) >= max(y):  # line 12
            evaluate(child)
        else:
            child.g, child.known = float(shift + scale * (mean - width * s)), False  # line 17
            rejected.append(child.path)
            bounds.append(child.g)

    root = Node("", ((Fraction(0), Fraction(1)),) * dim)
    try:
        evaluate(root)
        sweeps(root, k, power, resolve)
    except OutOfBudgetError:
        pass
    return paths, rejected, bounds
