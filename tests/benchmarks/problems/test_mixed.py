"""Problems with many discrete parameters: their optimum, what they ask for, what they need."""

from __future__ import annotations

import importlib.util
from functools import partial

import numpy as np
import optuna
import pytest
from instances import instance

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.suites import mixed


made = partial(instance, mixed.Mixed)


def drawn(problem: mixed.Mixed, rng: np.random.Generator) -> np.ndarray:
    low, high = problem.bounds.T
    x = low + (high - low) * rng.random(problem.dim)
    x[: problem.n_integers] = np.round(x[: problem.n_integers])
    return x


@pytest.mark.parametrize("name", ["ackley-53", "levy-53-tune", "rosenbrock-53-tune"])
def test_every_change_of_the_best_point_is_a_loss(name: str) -> None:
    problem = made(name, 2)
    assert problem.argopt is not None
    assert problem.evaluate(problem.argopt) == pytest.approx(problem.optimum, abs=1e-12)
    assert 5 < problem.argopt[:50].sum() < 45
    for j in range(problem.dim):
        x = problem.argopt.copy()
        x[j] = 1.0 - x[j] if j < problem.n_integers else x[j] + 0.1
        assert problem.evaluate(x) > problem.optimum + 1e-4


def test_features_that_carry_the_data_are_worth_their_price() -> None:
    pytest.importorskip("sklearn")
    problem = made("features-100-tune", 0)
    X, y = mixed._columns(problem.name, problem.seed)
    # Columns that differ between the classes, by the ratio of the variances of their means.
    means = np.array([X[y == k].mean(axis=0) for k in np.unique(y)])
    useful = np.zeros(100)
    useful[np.argsort(-means.var(axis=0))[:8]] = 1.0
    noise = 1.0 - useful
    assert problem.evaluate(useful) < 0.1 < problem.evaluate(noise)
    assert problem.evaluate(np.zeros(100)) == 1.0
    expected = problem.evaluate(useful) + mixed.PRICE
    one_more = useful.copy()
    one_more[int(np.argmin(means.var(axis=0)))] = 1.0
    assert problem.evaluate(one_more) == pytest.approx(expected, abs=0.05)


def test_instances_differ_by_seed() -> None:
    first, again, other = made("ackley-53", 0), made("ackley-53", 0), made("ackley-53", 1)
    np.testing.assert_array_equal(first.argopt, again.argopt)
    assert not np.array_equal(first.argopt, other.argopt)


def test_integers_are_asked_for_as_integers() -> None:
    problem = made("ackley-53", 0)
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).ask()
    problem.suggest(trial)
    kinds = [type(d).__name__ for d in trial.distributions.values()]
    assert kinds == ["IntDistribution"] * 50 + ["FloatDistribution"] * 3


def test_the_package_of_coco_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match="pip install coco-experiment"):
        catalogue.make("mixint-f8-20", 0)


@pytest.mark.skipif(importlib.util.find_spec("cocoex") is None, reason="needs coco-experiment")
@pytest.mark.parametrize("number", mixed.COCO)
def test_nothing_is_below_the_optimum_of_coco(number: int) -> None:
    problem, rng = made(f"mixint-f{number}-20", 1), np.random.default_rng(number)
    values = [problem.evaluate(drawn(problem, rng)) for _ in range(50)]
    assert min(values) > problem.optimum
    assert problem.n_integers == 16
