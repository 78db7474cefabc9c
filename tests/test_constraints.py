"""Studies with constraints: what is feasible is found, and it is good."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from histories import INTERPRETED
from histories import affordable

import optuna_hdbo
from optuna_hdbo.samplers.base import MethodSampler


every_sampler = pytest.mark.parametrize(
    "name", [name for name, create in SAMPLERS.items() if create(seed=0).supports_constraints]
)


def islands(trial: optuna.Trial) -> float:
    """Gardner et al. (2014): small feasible islands, the best value 0.2532."""
    x, y = trial.suggest_float("x", 0, 6), trial.suggest_float("y", 0, 6)
    set_constraint(trial, float(np.sin(x) * np.sin(y) + 0.95))
    return float(np.sin(x) + y)


def set_constraint(trial: optuna.Trial, value: float) -> None:
    if hasattr(trial, "set_constraint"):
        trial.set_constraint("c", value)
    else:  # Optuna before 5.0 reads what a sampler's constraints_func has left
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [value])


def feasible_values(study: optuna.Study) -> list[float]:
    values = []
    for trial in study.trials:
        x, y = trial.params["x"], trial.params["y"]
        if np.sin(x) * np.sin(y) + 0.95 <= 0:
            assert trial.value is not None
            values.append(trial.value)
    return values


def run(
    name: str, n_trials: int, seed: int = 3, enough: Any = None, **settings: Any
) -> list[float]:
    """Return the feasible values of at most so many trials; no more once they are enough."""

    def end(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if enough is not None and enough(feasible_values(study)):
            study.stop()

    study = optuna.create_study(sampler=SAMPLERS[name](seed=seed, **settings))
    study.optimize(islands, n_trials=n_trials, callbacks=[end])
    return feasible_values(study)


@every_sampler
def test_no_warning_and_no_fallback(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        run(name, affordable(14, 12))
    assert caplog.messages == []


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
@every_sampler
def test_the_feasible_islands_are_found_and_searched(name: str) -> None:
    """Less than 2 % of the square is feasible, and no startup trial is.

    A tree has no model of the constraint: it follows violations only until one point is feasible.
    A trust region stays on the island that it has found.
    """
    if "SOO" in name or "TuRBO" in name:
        assert run(name, 60, enough=len)
        return

    def enough(values: list[float]) -> bool:
        return len(values) >= 3 and min(values) < 1.0

    n_good = 0
    for seed in (3, 4, 5):
        values = run(name, 40, seed, enough, n_startup_trials=5)
        assert len(values) >= 3
        n_good += min(values) < 1.0
        if n_good == 2:
            break
    assert n_good == 2  # One run in a dozen has not left its first island after 40 trials.


def test_who_does_not_use_constraints_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    sampler: MethodSampler = optuna_hdbo.AddGPUCBSampler.as_published(seed=0)
    study = optuna.create_study(sampler=sampler)
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        study.optimize(islands, n_trials=13)
    assert len([m for m in caplog.messages if "does not use the constraints" in m]) == 1
