"""Which parameters VSBOSampler selected when: five of forty matter."""

from __future__ import annotations

from pathlib import Path

import browser
import optuna
import tasks

from optuna_hdbo import VSBOSampler
from optuna_hdbo import visualization


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    sampler = VSBOSampler(seed=0, n_startup_trials=4 if quick else 10, n_vs=2 if quick else 20)
    study = optuna.create_study(sampler=sampler)
    study.optimize(tasks.few_of_many, n_trials=9 if quick else 200)
    return browser.save_plotly(visualization.plot_selections(study), path, height=420)
