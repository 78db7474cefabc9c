"""Imported by the process that workers are forked from: what all of them would load is here."""

from __future__ import annotations

import optuna
from exported import SAMPLERS
from workers import slope


optuna.logging.set_verbosity(optuna.logging.ERROR)
for create in SAMPLERS.values():
    optuna.create_study(sampler=create(seed=0, n_startup_trials=2)).optimize(slope, n_trials=6)
