"""A space with branches: each kind of model has hyperparameters of its own."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import optuna
import style
from matplotlib import pyplot as plt

from optuna_hdbo import HDBOSampler


COLOURS = {"boosting": style.VERMILION, "svm": style.BLUE, "network": style.GREEN}


def objective(trial: optuna.Trial) -> float:
    """Return an error rate that depends on the model and on the model's own parameters."""
    scaled = 0.02 * trial.suggest_float("noise", 0.0, 1.0)
    model = trial.suggest_categorical("model", list(COLOURS))
    if model == "svm":
        c = math.log10(trial.suggest_float("svm_c", 1e-3, 1e3, log=True))
        gamma = math.log10(trial.suggest_float("svm_gamma", 1e-5, 1e1, log=True))
        return scaled + 0.14 + 0.02 * (c - 1.0) ** 2 + 0.02 * (gamma + 2.0 + 0.5 * c) ** 2
    if model == "network":
        rate = math.log10(trial.suggest_float("network_rate", 1e-5, 1.0, log=True))
        width = math.log2(trial.suggest_int("network_width", 8, 512, log=True))
        dropout = trial.suggest_float("network_dropout", 0.0, 0.8)
        bowl = 0.02 * (rate + 3.0) ** 2 + 0.01 * (width - 7.0) ** 2 + 0.2 * (dropout - 0.2) ** 2
        return scaled + 0.08 + bowl
    rate = math.log10(trial.suggest_float("boosting_rate", 1e-3, 1.0, log=True))
    depth = trial.suggest_int("boosting_depth", 1, 12)
    share = trial.suggest_float("boosting_subsample", 0.2, 1.0)
    bowl = 0.05 * (rate + 1.3) ** 2 + 0.004 * (depth - 5) ** 2 + 0.1 * (share - 0.8) ** 2
    return scaled + 0.05 + bowl


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure."""
    sampler = HDBOSampler(
        seed=0, n_startup_trials=4 if quick else 12, warn_independent_sampling=False
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=6 if quick else 100)
    models = np.array([trial.params["model"] for trial in study.trials])
    values = np.array([trial.values[0] for trial in study.trials])
    figure, axis = plt.subplots(figsize=(9.0, 3.6))
    for model, colour in COLOURS.items():
        mine = models == model
        label = f"{model}: {mine.sum()} trials"
        axis.plot(np.flatnonzero(mine), values[mine], "o", color=colour, markersize=5, label=label)
    best = np.minimum.accumulate(values)
    axis.step(np.arange(len(best)), best, where="post", color=style.INK, linewidth=1.5, zorder=1)
    axis.set(title="error of every trial, and the best so far", xlabel="trial", yscale="log")
    axis.set_yticks([0.05, 0.1, 0.2, 0.4], ["5 %", "10 %", "20 %", "40 %"])
    axis.minorticks_off()
    axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    figure.tight_layout()
    return style.save(figure, path)
