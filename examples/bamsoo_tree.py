"""Draw the trees of SOO and BaMSOO on one parameter, without Optuna: Figure 2 of the paper.

A loop asks each method for points and tells it their values. Both trees spend 20 evaluations,
or as many as the command line says. Cells that the Gaussian process rules out cost BaMSOO no
evaluation.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib


matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from optuna_hdbo.methods import Domain
from optuna_hdbo.methods import Loop
from optuna_hdbo.methods.bamsoo import BaMSOO
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.soo import SOO


def f(x: float) -> float:
    """Return the paper's function, to be maximised on [0, 1]."""
    return float(0.5 * np.sin(15.0 * x) * np.sin(27.0 * x))


def search(method: Method, n: int) -> list[tuple[str, float]]:
    """Let a method evaluate ``n`` nodes; return their paths from the root, and their points."""
    loop = Loop(method, Domain.continuous(1), n_init=0)
    loop.run(lambda x: f(x[0]), n)
    return [(trial.record["node"]["path"], float(trial.x[0])) for trial in loop.trials]


def centre(path: str) -> float:
    """Return the centre of a cell."""
    low, width = 0.0, 1.0
    for digit in path:
        width /= 2.0
        low += width * int(digit)
    return low + width / 2.0


def draw(axis: Any, nodes: list[tuple[str, float]], title: str) -> None:
    """Draw a tree above its function: dots are evaluations."""
    lines = {path[:i] for path, _ in nodes for i in range(1, len(path) + 1)}
    for path in lines:
        above = path[:-1]
        axis.plot(
            [centre(above), centre(path)], [-len(above), -len(path)], color="0.7", linewidth=0.8
        )
    axis.plot([x for _, x in nodes], [-len(path) for path, _ in nodes], "o", markersize=4)
    deepest = max(len(path) for path, _ in nodes)
    x = np.linspace(0.0, 1.0, 500)
    axis.plot(x, [2.0 * f(u) - deepest - 2.0 for u in x], color="C3", linewidth=1.0)
    axis.set(title=title, ylabel="depth", xlim=(0.0, 1.0))
    axis.set_yticks([-h for h in range(deepest + 1)], [str(h) for h in range(deepest + 1)])


def main(n: int = 20, *, path: str = "bamsoo_tree.png") -> None:
    """Draw both trees into an image."""
    known = {"lengthscale": 0.08, "noise": 1e-6}
    bamsoo = BaMSOO(
        branching=2, width=None, explore=None, eta=0.05, penalty=None, kernel_params=known
    )
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.0, 7.0), sharex=True)
    for axis, name, method in ((above, "SOO", SOO(branching=2)), (below, "BaMSOO", bamsoo)):
        nodes = search(method, n)
        best = max(f(x) for _, x in nodes)
        print(f"{name:7} best of {n} evaluations: {best:.5f}")
        draw(axis, nodes, f"{name}: {n} evaluations, best {best:.4f}")
    below.set_xlabel("x")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
