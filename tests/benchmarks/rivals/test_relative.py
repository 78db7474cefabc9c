"""Samplers of other libraries are asked after the startup, for the parameters of every trial."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial

from optuna_hdbo.benchmarks.rivals.relative import RelativeSampler
from optuna_hdbo.benchmarks.rivals.relative import numerical
from optuna_hdbo.benchmarks.rivals.relative import suggested
from optuna_hdbo.benchmarks.rivals.relative import told


class Counting(RelativeSampler):
    def suggest(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
        trials: list[FrozenTrial],
    ) -> dict[str, Any]:
        return dict.fromkeys(search_space, len(trials) / 100)


def test_the_library_is_asked_after_the_startup_with_the_completed_trials() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number > 5:
            trial.suggest_float("late", 2, 3)
        return trial.suggest_float("x", 0, 1)

    def points() -> list[dict[str, Any]]:
        study = optuna.create_study(sampler=Counting(seed=1, n_startup_trials=3))
        study.optimize(objective, n_trials=8)
        return [trial.params for trial in study.trials]

    found = points()
    assert [params["x"] for params in found[4:]] == [0.03, 0.04, 0.05, 0.06]
    assert len({params["x"] for params in (found[0], *found[2:4])}) == 3
    assert all(2 <= params["late"] <= 3 for params in found[6:])
    assert found == points()


def test_libraries_are_told_indices_of_categories_and_answer_them() -> None:
    choices = CategoricalDistribution(["a", None, 3])
    for i, choice in enumerate(choices.choices):
        assert told(choices, choice) == i
        assert suggested(choices, float(i)) == choice


def test_numbers_stay_within_their_range() -> None:
    integers, numbers = IntDistribution(1, 9), FloatDistribution(1e-3, 1.0, log=True)
    assert (told(integers, 4), told(numbers, 0.5)) == (4, 0.5)
    assert isinstance(suggested(integers, 4.0), int)
    assert [suggested(numbers, x) for x in (0.0009999, 0.5, 1.0000001)] == [1e-3, 0.5, 1.0]


def test_steps_are_refused() -> None:
    assert numerical(IntDistribution(0, 4)) == IntDistribution(0, 4)
    for stepped in (IntDistribution(0, 4, step=2), FloatDistribution(0, 1, step=0.25)):
        with pytest.raises(ValueError, match="a step other than 1 is not supported"):
            numerical(stepped)
