"""Choices of a learner: what is measured, and what a trial has."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import optuna
import pytest
from instances import instance

from optuna_hdbo.benchmarks.problems.suites import learners
from optuna_hdbo.benchmarks.problems.suites.conditional import Conditional


pytest.importorskip("sklearn")

NAMES = [*learners.FAMILY, *learners.TUNED]
LINEAR: dict[str, Any] = {
    "learner": "linear",
    "scaler": "none",
    "reduction": "none",
    "penalty": 2.0,
}


made = partial(instance, Conditional)


@pytest.mark.parametrize("name", NAMES)
def test_every_learner_has_a_finite_value_above_the_bound(name: str) -> None:
    problem = made(name)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for learner in learners.LEARNERS:
        study.enqueue_trial({"learner": learner})
    study.optimize(problem.ask, n_trials=len(learners.LEARNERS))
    values = np.array([trial.value for trial in study.trials])
    assert np.isfinite(values).all()
    assert (values > 0.0).all()
    assert len(set(values)) > 1


def test_a_linear_model_is_judged_as_by_hand() -> None:
    problem = made("diabetes-rmse")
    from sklearn.model_selection import KFold

    X, y = learners._table(problem.name, problem.seed)
    assert X.shape == (learners.N_SAMPLES, 10)
    gaps = []
    for train, test in KFold(3, shuffle=True, random_state=problem.seed).split(X):
        mean, target = X[train].mean(axis=0), y[train].mean()
        Z = X[train] - mean
        weights = np.linalg.solve(Z.T @ Z + 2.0 * np.eye(10), Z.T @ (y[train] - target))
        gaps.append(target + (X[test] - mean) @ weights - y[test])
    expected = np.sqrt(np.mean(np.concatenate(gaps) ** 2))
    value = problem.ask(optuna.trial.FixedTrial(LINEAR))  # type: ignore[arg-type]
    assert value == pytest.approx(expected, rel=1e-6)


def test_measures() -> None:
    chances = np.array([[0.9, 0.1], [0.0, 1.0]])
    assert learners.loss(chances, np.array([0, 0])) == pytest.approx(
        -(np.log(0.9) + np.log(learners.LEAST_CHANCE)) / 2
    )
    assert learners.rate(np.array([0, 1, 1, 1]), np.array([0, 1, 0, 1])) == 0.25
    assert learners.rmse(np.array([1.0, 2.0]), np.array([4.0, 6.0])) == pytest.approx(12.5**0.5)
    assert np.isfinite(learners.rmse(np.array([np.inf, 2.0]), np.array([4.0, 6.0])))


def test_the_seed_draws_the_samples_and_names_have_data_of_their_own() -> None:
    values = {
        problem.ask(optuna.trial.FixedTrial(LINEAR))  # type: ignore[arg-type]
        for problem in (
            *(made("wine-loss", further) for further in (0, 1)),
            *(made("informative-loss", further) for further in (0, 1)),
            made("informative-rate"),
            made("breast_cancer-loss-tune"),
        )
    }
    assert len(values) == 6


def test_a_trial_has_the_parameters_of_its_choices() -> None:
    problem = made("circles-rate-tune")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for settings in (
        *({"learner": learner} for learner in learners.LEARNERS),
        {"learner": "network", "n_layers": 3},
        {"learner": "kernel", "kernel": "poly"},
        {"learner": "linear", "scaler": "quantile", "reduction": "components"},
        {"learner": "linear", "scaler": "none", "reduction": "none"},
        {"learner": "linear", "reduction": "selection"},
    ):
        study.enqueue_trial(settings)
    study.optimize(problem.ask, n_trials=11)
    sizes = [len(trial.params) for trial in study.trials]
    assert min(sizes) == 4
    assert max(sizes) <= 12
    assert len({name for trial in study.trials for name in trial.params}) == problem.dim
