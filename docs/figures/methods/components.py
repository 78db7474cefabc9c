"""What every group of hyperparameters does to the loss of a made-up network."""

from __future__ import annotations

from pathlib import Path

import browser
import numpy as np
import optuna
import tasks

from optuna_hdbo import visualization


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    rng = np.random.default_rng(0)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda trial: tasks.network(trial) + 0.05 * rng.standard_normal(),
        n_trials=5 if quick else 200,
    )
    figure = visualization.plot_components(study)
    return browser.save_plotly(figure, path, height=int(figure.layout.height))
