"""Trials under a constraint: the feasible islands are 1.7 % of the square."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import style
from matplotlib import pyplot as plt

from optuna_hdbo import HDBOSampler


def objective(trial: optuna.Trial) -> float:
    """Return the function of Gardner et al. (2014); a constraint of at most 0 is feasible."""
    x, y = trial.suggest_float("x", 0.0, 6.0), trial.suggest_float("y", 0.0, 6.0)
    trial.set_constraint("between_islands", float(np.sin(x) * np.sin(y) + 0.95))
    return float(np.sin(x) + y)


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    study = optuna.create_study(sampler=HDBOSampler(seed=3, n_startup_trials=4 if quick else 10))
    study.optimize(objective, n_trials=7 if quick else 60)
    X = np.array([[t.params["x"], t.params["y"]] for t in study.trials])
    feasible = np.sin(X).prod(axis=1) + 0.95 <= 0.0
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.1), width_ratios=(1.0, 1.1))
    x, y = np.meshgrid(np.linspace(0, 6, 300), np.linspace(0, 6, 300))
    left.contour(x, y, np.sin(x) + y, 14, colors=style.LIGHT, linewidths=1)
    left.contourf(x, y, np.sin(x) * np.sin(y), [-2, -0.95], colors=[style.GREEN], alpha=0.35)
    left.plot(*X[~feasible].T, "o", color=style.GREY, markersize=4.5, label="infeasible trial")
    left.plot(*X[feasible].T, "o", color=style.VERMILION, markersize=4.5, label="feasible trial")
    left.plot([], [], "s", color=style.GREEN, alpha=0.35, markersize=9, label="feasible region")
    left.set(title="trials", xlabel="x", ylabel="y", aspect="equal")
    left.grid(visible=False)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, columnspacing=1.0)
    values = np.where(feasible, np.sin(X[:, 0]) + X[:, 1], np.inf)
    best = np.minimum.accumulate(values)
    right.step(np.arange(len(X)), best, where="post", color=style.VERMILION, linewidth=2)
    right.axhline(np.arcsin(0.95) - 1.0, color=style.GREY, linestyle=":")
    right.set(title="best feasible value (dotted: the optimum)", xlabel="trial", xlim=(0, None))
    figure.tight_layout()
    return style.save(figure, path)
