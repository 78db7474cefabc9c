"""Which expert of HDBOSampler suggested which trial, and what that brought."""

from __future__ import annotations

from pathlib import Path

import browser
import optuna
import tasks

from optuna_hdbo import HDBOSampler
from optuna_hdbo import visualization


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    study = optuna.create_study(sampler=HDBOSampler(seed=1, n_startup_trials=3 if quick else 10))
    study.optimize(tasks.network, n_trials=6 if quick else 120)
    return browser.save_plotly(visualization.plot_experts(study), path, height=560)
