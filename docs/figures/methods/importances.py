"""How much every parameter matters, in a study of random search."""

from __future__ import annotations

from pathlib import Path

import browser
import optuna
import tasks

from optuna_hdbo import visualization


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(tasks.network, n_trials=15 if quick else 150)
    return browser.save_plotly(visualization.plot_importances(study), path, height=420)
