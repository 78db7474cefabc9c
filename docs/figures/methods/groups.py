"""Which parameters AddGPUCBSampler found to interact."""

from __future__ import annotations

from pathlib import Path

import browser
import optuna
import tasks

from optuna_hdbo import AddGPUCBSampler
from optuna_hdbo import visualization


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    sampler = AddGPUCBSampler(
        seed=0, update="all_groups", max_group_size=2, n_startup_trials=4 if quick else 40
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(tasks.network, n_trials=5 if quick else 120)
    return browser.save_plotly(visualization.plot_groups(study), path, height=360)
