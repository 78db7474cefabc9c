"""Many choices and many discrete parameters: every configuration once, until all are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import optuna
import pytest
from histories import affordable

from optuna_hdbo import GPUCBSampler
from optuna_hdbo import HDBOSampler
from optuna_hdbo.samplers.base import MethodSampler


def categoricals(trial: optuna.Trial) -> float:
    choices = [list("abcde")[: 2 + i % 4] for i in range(affordable(300, 40))]
    return sum(trial.suggest_categorical(f"c{i}", c) != "b" for i, c in enumerate(choices))


def choices(trial: optuna.Trial) -> float:
    names = [f"choice {i}" for i in range(1000)]
    index = [names.index(trial.suggest_categorical(f"c{i}", names)) for i in range(2)]
    return abs(index[0] - 700.0) + abs(index[1] - 3.0)


def booleans(trial: optuna.Trial) -> float:
    return sum(
        trial.suggest_categorical(f"b{i}", [False, True]) for i in range(affordable(1000, 100))
    )


def integers(trial: optuna.Trial) -> float:
    values = [trial.suggest_int(f"n{i}", 1, 2**53, log=i % 2 == 0) for i in range(4)]
    assert all(isinstance(v, int) and 1 <= v <= 2**53 for v in values)
    return float(sum(abs(v / 2**53 - 0.3) for v in values))


def pair(trial: optuna.Trial) -> float:
    """Have 24 configurations, so that two trials have to repeat some."""
    return float(trial.suggest_int("n", 1, 8) * (1 + trial.suggest_categorical("c", [0, 1, 2])))


N_CONFIGURATIONS = {"pair": 24}


@pytest.mark.parametrize("sampler", [HDBOSampler, GPUCBSampler])
@pytest.mark.parametrize(
    ("objective", "n_trials"),
    [(categoricals, 11), (choices, 14), (booleans, 10), (integers, 16), (pair, 26)],
)
def test_no_configuration_comes_twice(
    sampler: type[MethodSampler], objective: Callable[[optuna.Trial], float], n_trials: int
) -> None:
    """Unless all are known."""
    study = optuna.create_study(sampler=sampler(n_startup_trials=8, seed=0))
    study.optimize(objective, n_trials=n_trials)
    asked = [repr(trial.params) for trial in study.trials]
    for k in range(1, n_trials):
        known = set(asked[:k])
        assert asked[k] not in known or len(known) == N_CONFIGURATIONS.get(objective.__name__)
    assert objective is not pair or len(set(asked)) == 24


@pytest.mark.parametrize("fails", [False, True])
def test_a_startup_as_long_as_the_space_has_every_configuration(fails: bool) -> None:
    """Chance alone seldom finds the last ones, whether or not the trials have values."""
    study = optuna.create_study(sampler=GPUCBSampler(n_startup_trials=24, seed=0))
    study.optimize(lambda t: pair(t) * (math.nan if fails and t.number else 1.0), n_trials=24)
    assert len({repr(trial.params) for trial in study.trials}) == 24
