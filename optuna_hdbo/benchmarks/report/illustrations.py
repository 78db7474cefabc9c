"""Pictures for pages that need no results: a posterior in one dimension, and functions of two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo.benchmarks.problems import catalogue


OBSERVED = ((0.1, -0.5), (0.35, 0.6), (0.6, -0.2), (0.85, 0.9))
"""Points and values of the picture of inference."""


def inference(path: Path) -> None:
    """Draw the mean and the deviation of a process given four observations."""
    X, y = np.array(OBSERVED).T
    kernel = Kernel(
        "se", (np.array([0]),), np.array([0.12]), np.array([1.0]), 1e-6, np.zeros(1, np.bool_)
    )
    grid = np.linspace(0.0, 1.0, 201)
    mean, variance = Posterior(Factor(kernel, X[:, None].copy()), y).predict(grid[:, None].copy())
    std = np.sqrt(variance)
    plt, figure, axes = panels(1)
    axes[0].fill_between(grid, mean - std, mean + std, color="0.85")
    axes[0].plot(grid, mean, color="C0")
    axes[0].plot(X, y, "x", color="C0")
    axes[0].set(xlabel="x", ylabel="value")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def surfaces(names: Sequence[str], path: Path, seed: int = 0) -> None:
    """Draw problems of two parameters as shades: the better, the brighter."""
    plt, figure, axes = panels(len(names))
    for axis, name in zip(axes, names, strict=True):
        problem = catalogue.make(name, seed)
        (left, right), (low, high) = problem.bounds
        across, up = np.linspace(left, right, 41), np.linspace(low, high, 41)
        values = [[problem.evaluate(np.array([u, v])) for u in across] for v in up]
        shades = np.log1p(np.abs(np.array(values) - problem.optimum))  # ranges of 10^6 are usual
        axis.pcolormesh(across, up, -shades, shading="nearest")
        axis.plot(*problem.argopt, "*", color="white")  # type: ignore[misc]
        axis.set_title(name)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def panels(n: int) -> tuple[Any, Any, Any]:
    """Return pyplot, a figure, and its n axes in a row."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, n, figsize=(4.5 * n, 3.2), layout="constrained", squeeze=False)
    return plt, figure, axes[0]
