"""What HDBOSampler expected of every trial, and what came."""

from __future__ import annotations

from pathlib import Path

import browser
import numpy as np
import optuna
import tasks

from optuna_hdbo import HDBOSampler
from optuna_hdbo import visualization


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    rng = np.random.default_rng(0)
    sampler = HDBOSampler(seed=0, n_startup_trials=3 if quick else 10)
    study = optuna.create_study(sampler=sampler)
    study.optimize(
        lambda trial: tasks.network(trial) + 0.05 * rng.standard_normal(),
        n_trials=6 if quick else 120,
    )
    figure = visualization.plot_calibration(study)
    return browser.save_plotly(figure, path, height=int(figure.layout.height))
