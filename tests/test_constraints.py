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
from optuna.trial import TrialState

import optuna_hdbo
from optuna_hdbo._study.attributes import read_suggestion
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


def rarely_feasible(trial: optuna.Trial) -> float:
    """One of six trials has a value, the others say by how much they violate the constraint."""
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(3)]
    set_constraint(trial, sum(x) - 1.0)
    if sum(x) > 1.0:
        raise optuna.TrialPruned if trial.number % 2 else RuntimeError
    return -sum(x)


@pytest.mark.parametrize("name", ["HDBOSampler", "GPUCBSampler"])
def test_the_startup_ends_with_trials_that_told_why_they_failed(name: str) -> None:
    study = optuna.create_study(sampler=SAMPLERS[name](seed=1, n_startup_trials=8))
    study.enqueue_trial({f"x{i}": 0.9 for i in range(3)})
    study.enqueue_trial({f"x{i}": 0.1 for i in range(3)})
    study.optimize(rarely_feasible, n_trials=affordable(25, 14), catch=RuntimeError)
    asked = []
    for trial in study.trials:
        suggestion = read_suggestion(trial)
        asked.append(suggestion is not None and suggestion.method is not None)
    told = [trial.state == TrialState.COMPLETE for trial in study.trials]
    # All of them count from the first value on, which is that of trial 1.
    assert asked == [number >= 8 for number in range(len(asked))]
    assert sum(told[8:]) > len(told[8:]) / 3


@every_sampler
def test_a_constraint_that_never_held_is_looked_for_in_the_middle_as_well(name: str) -> None:
    """It tells only whether it holds. A model of equal values asks for corners alone."""
    study = optuna.create_study(sampler=SAMPLERS[name](seed=2, n_startup_trials=5))

    def middle(trial: optuna.Trial) -> float:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(2)]
        holds = max(abs(v - 0.4) for v in x) < 0.15
        if holds:
            study.stop()
        set_constraint(trial, -1.0 if holds else 1.0)
        return sum(x)

    study.optimize(middle, n_trials=40)
    assert 5 < len(study.trials) < 40
