"""Imported by the process that workers are forked from: what all of them would load is here."""

from __future__ import annotations

import optuna
from workers import slope

import optuna_hdbo


optuna.logging.set_verbosity(optuna.logging.ERROR)
for name in optuna_hdbo.__all__:
    if name.endswith("Sampler"):
        study = optuna.create_study(sampler=getattr(optuna_hdbo, name)(seed=0, n_startup_trials=2))
        study.optimize(slope, n_trials=6)
