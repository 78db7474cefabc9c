"""Tune 20 parameters with the sampler of OptunaHub."""

from __future__ import annotations

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """Return the distance from a point, squared."""
    x = [trial.suggest_float(f"x{i}", -5, 5) for i in range(20)]
    return sum((v - 1) ** 2 for v in x)


if __name__ == "__main__":
    module = optunahub.load_module("samplers/hdbo")
    study = optuna.create_study(sampler=module.HDBOSampler(seed=0))
    study.optimize(objective, n_trials=100)
    print(study.best_trial.value, study.best_trial.params)
