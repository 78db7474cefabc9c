"""Combinatorial problems against brute force and plain Python."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import optuna
import pytest
from instances import instance

from optuna_hdbo.benchmarks.problems import combinatorial
from optuna_hdbo.benchmarks.problems.combinatorial import FAMILY
from optuna_hdbo.benchmarks.problems.combinatorial import Choices
from optuna_hdbo.benchmarks.problems.combinatorial import best_of_chain


made = partial(instance, Choices)


def drawn(problem: Choices, n: int) -> np.ndarray:
    highs = problem.bounds[:, 1].astype(int)
    rng = np.random.default_rng(0)
    return rng.integers(0, highs + 1, (n, problem.dim)).astype(np.float64)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_better_than_the_optimum(name: str, seed: int) -> None:
    problem = made(name, seed)
    if problem.argopt is None:
        X = drawn(problem, 50)
    else:
        assert problem.evaluate(problem.argopt) == pytest.approx(problem.optimum)
        near = np.repeat(problem.argopt[None], problem.dim, axis=0)
        near[np.diag_indices(problem.dim)] = np.where(problem.argopt == 0.0, 1.0, 0.0)
        X = np.concatenate([near, drawn(problem, 50)])
    sign = 1.0 if problem.direction == "minimize" else -1.0
    assert all(sign * (problem.evaluate(x) - problem.optimum) >= -1e-12 for x in X)


@pytest.mark.parametrize(("q", "w", "m"), [(2, 3, 5), (3, 2, 4), (2, 5, 4), (4, 2, 1)])
def test_the_best_of_a_chain_is_that_of_all_points(q: int, w: int, m: int) -> None:
    tables = np.random.default_rng(0).normal(size=(m, *(q,) * w))
    least, x = best_of_chain(tables)
    points = itertools.product(range(q), repeat=m + w - 1)
    sums = {p: sum(tables[(i, *p[i : i + w])] for i in range(m)) for p in points}
    best = min(sums, key=lambda p: sums[p])
    assert least == pytest.approx(sums[best])
    assert tuple(x.tolist()) == best


def test_the_best_knapsack_is_that_of_all_sets() -> None:
    problem = combinatorial._knapsack(10)("knapsack-10", 0)
    values = [problem.evaluate(np.array(x)) for x in itertools.product([0.0, 1.0], repeat=10)]
    assert max(values) == problem.optimum
    assert min(values) < 0.0  # sets that are too heavy


def test_clauses_that_are_not_satisfied_have_a_weight() -> None:
    problem = combinatorial._maxsat(6)("maxsat-6", 0)
    assert problem.argopt is not None
    values = [problem.evaluate(np.array(x)) for x in itertools.product([0.0, 1.0], repeat=6)]
    assert min(values) == 0.0
    # An assignment leaves a clause of three drawn literals with a chance of an eighth.
    assert np.mean(values) == pytest.approx(1.0 / 8.0)


def test_the_energy_of_a_sequence_is_that_of_its_autocorrelations() -> None:
    problem = made("labs-50", 1)
    for x in drawn(problem, 5):
        signs = combinatorial.generator("labs-50", 1).choice([-1, 1], 50) * (2 * x - 1)
        correlations = np.correlate(signs, signs, "full")[50:]
        assert problem.evaluate(x) == pytest.approx((correlations**2).sum())


def test_instances_differ_by_seed() -> None:
    for name in FAMILY:
        x = drawn(made(name, 0), 1)[0]
        values = [made(name, seed).evaluate(x) for seed in (0, 0, 1)]
        assert values[0] == values[1] != values[2]


def test_all_parameters_are_categorical() -> None:
    for name, n_choices in (("nk-40", 2), ("potts-20", 8)):
        problem = made(name, 0)
        trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).ask()
        x = problem.suggest(trial)
        kinds = trial.distributions.values()
        assert all(isinstance(d, optuna.distributions.CategoricalDistribution) for d in kinds)
        assert {len(d.choices) for d in kinds} == {n_choices}
        pairs = zip(kinds, trial.params.values(), strict=True)
        assert [d.choices.index(v) for d, v in pairs] == x.tolist()
