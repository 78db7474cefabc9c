"""Which parameters of a random search interact."""

from __future__ import annotations

from pathlib import Path

import browser
import optuna
import tasks

from optuna_hdbo import visualization


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(tasks.network, n_trials=5 if quick else 200)
    figure = visualization.plot_interactions(study)
    return browser.save_plotly(figure, path, height=int(figure.layout.height))
