"""Samplers of other libraries are asked after the startup, for the parameters of every trial."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from optuna_hdbo.benchmarks.rivals.relative import RelativeSampler


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
