"""Ctrl-C at any moment loses nothing: what was taken in halfway is taken in anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest
from ctrl_c import interrupted
from exported import SAMPLERS
from fakes import FakeSampler
from fakes import create_sqlite
from fakes import mixed_objective
from histories import THOROUGH
from histories import affordable

from optuna_hdbo.samplers.base import MethodSampler


SETTINGS: dict[str, Any] = {
    "seed": 3,
    "n_startup_trials": 4,
    "warn_independent_sampling": False,
}


def objective(trial: optuna.Trial) -> float:
    value = mixed_objective(trial)
    trial.report(value + 1.0, 1)
    if trial.number % 5 == 3:
        raise optuna.TrialPruned
    if trial.number % 7 == 5:
        raise RuntimeError
    return value


def branching(trial: optuna.Trial) -> float:
    """Have parameters that only trials of one kind have, and others that only one trial has."""
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    names = [f"{kind}{i}" for i in range(4)]
    if trial.number > 9:
        names.append(f"only{trial.number}")
    return sum(trial.suggest_float(name, 0, 1) for name in names)


def trials_of(
    create: Callable[..., MethodSampler],
    n: int,
    objective: Callable[[optuna.Trial], float] = objective,
) -> list[optuna.trial.FrozenTrial]:
    study = optuna.create_study(sampler=create(**SETTINGS))
    study.optimize(objective, n_trials=n, catch=(RuntimeError,))
    return study.trials


def ask(study: optuna.Study, sampler: MethodSampler, number: int) -> dict[str, Any]:
    trial = study.get_trials(deepcopy=False)[number]
    return sampler.sample_relative(study, trial, sampler.infer_relative_search_space(study, trial))


def interrupt(
    trials: list[optuna.trial.FrozenTrial], create: Callable[..., MethodSampler], moment: int
) -> int:
    """Interrupt an ask, compare the next ask with that of a fresh sampler; return the lines."""
    study, sampler = optuna.create_study(), create(**SETTINGS)
    study.add_trials(trials[:-4])
    n = len(study.trials)
    study._storage.create_new_trial(study._study_id)
    assert ask(study, sampler, n)
    study.add_trials(trials[-4:])
    study._storage.create_new_trial(study._study_id)
    counted = [0]
    with interrupted(moment, counted):
        ask(study, sampler, n + 5)
    study._storage.create_new_trial(study._study_id)
    again = ask(study, sampler, n + 6)
    assert again
    assert again == ask(study, create(**SETTINGS), n + 6)
    return counted[0]


@pytest.mark.parametrize("asked", [objective, branching])
def test_an_interrupt_at_any_moment_loses_nothing(asked: Callable[[optuna.Trial], float]) -> None:
    """Lines of reading and writing, evenly spread; every one of them with ``HDBO_THOROUGH``."""
    trials = trials_of(FakeSampler, 14, asked)
    n_lines = interrupt(trials, FakeSampler, 10**9)
    assert n_lines > 300
    for moment in range(1, n_lines + 1, 1 if THOROUGH else max(13, n_lines // 30)):
        interrupt(trials, FakeSampler, moment)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_an_interrupted_method_keeps_nothing_that_is_half_done(name: str) -> None:
    trials = trials_of(SAMPLERS[name], 14)
    n_lines = interrupt(trials, SAMPLERS[name], 10**9)
    n = affordable(4, 1)
    for i in range(n):
        interrupt(trials, SAMPLERS[name], 1 + (2 * i + 1) * n_lines // (2 * n))


def test_a_study_made_again_under_its_name_is_another_one() -> None:
    """SQLite gives the number of a deleted study to the next one."""
    storage = create_sqlite()
    sampler = FakeSampler(**SETTINGS)
    for n in (12, 5, 12):
        study = optuna.create_study(storage=storage, study_name="again", sampler=sampler)
        study.add_trials(trials_of(FakeSampler, n + 3)[-n:])
        running = study.ask()
        found = ask(study, sampler, running.number)
        assert found == ask(study, FakeSampler(**SETTINGS), running.number)
        optuna.delete_study(study_name="again", storage=storage)
