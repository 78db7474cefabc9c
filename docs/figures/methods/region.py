"""How TuRBOSampler's trust region moves and shrinks, on Rosenbrock's valley."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import style
from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm

from optuna_hdbo import TuRBOSampler


def valley(x: Any, y: Any) -> Any:
    """Return Rosenbrock's function."""
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def objective(trial: optuna.Trial) -> float:
    """Return the height of a point of the valley."""
    x, y = trial.suggest_float("x", -2.0, 2.0), trial.suggest_float("y", -1.0, 3.0)
    return float(valley(x, y))


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    study = optuna.create_study(sampler=TuRBOSampler(seed=2, n_startup_trials=4 if quick else 8))
    study.optimize(objective, n_trials=8 if quick else 80)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.9), width_ratios=(1.1, 1.0))
    x, y = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-1, 3, 200))
    levels = np.logspace(-1, 3.4, 12)
    left.contour(x, y, valley(x, y), levels, norm=LogNorm(), cmap="Greys", linewidths=0.8)
    X = np.array([[t.params["x"], t.params["y"]] for t in study.trials])
    points = left.scatter(*X.T, c=np.arange(len(X)), cmap="viridis_r", s=26, zorder=3)
    left.plot(1, 1, "+", color=style.VERMILION, markersize=12, markeredgewidth=2, zorder=4)
    left.set(title="trials in the valley", xlabel="x", ylabel="y")
    left.grid(visible=False)
    figure.colorbar(points, ax=left, label="trial")
    lengths = {t.number: t.user_attrs.get("hdbo:region_length") for t in study.trials}
    known = {number: length for number, length in lengths.items() if length is not None}
    right.step(list(known), list(known.values()), where="post", color=style.BLUE, linewidth=2)
    right.set(title="side of the trust region", xlabel="trial", ylabel="share of the range")
    right.set_yscale("log", base=2)
    figure.tight_layout()
    return style.save(figure, path)
