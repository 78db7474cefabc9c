"""Error rates of classifiers: their values, and that they repeat."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from instances import instance

from optuna_hdbo.benchmarks.problems.suites import errors
from optuna_hdbo.benchmarks.problems.suites.mixed import Mixed


pytest.importorskip("sklearn")

NAMES = [*errors.FAMILY, *errors.TUNED]


made = partial(instance, Mixed)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_shares_of_the_samples_that_are_held_out(name: str) -> None:
    problem = made(name)
    data = {"rule": "breast_cancer"}.get(name.split("-")[0], "digits")
    held_out = errors._split(name, problem.seed, "wine" if name.endswith("-tune") else data)[3]
    low, high = problem.bounds.T
    rng = np.random.default_rng(0)
    X = low + (high - low) * rng.random((6, problem.dim))
    X[:, : problem.n_integers] = np.round(X[:, : problem.n_integers])
    values = np.array([problem.evaluate(x) for x in X])
    assert ((values >= 0.0) & (values <= 1.0)).all()
    np.testing.assert_allclose(values * len(held_out), np.round(values * len(held_out)), atol=1e-9)
    assert values.std() > 0.0
    np.testing.assert_array_equal(values, [made(name).evaluate(x) for x in X])
    assert values.tolist() != [made(name, 1).evaluate(x) for x in X]


def test_no_weight_at_all_is_worse_than_equal_weights() -> None:
    problem = made("neighbours-65")
    assert problem.evaluate(np.ones(65)) < 0.2 < problem.evaluate(np.array([1.0, *np.zeros(64)]))


def test_a_rule_that_is_turned_round_is_wrong_where_it_was_right() -> None:
    problem = made("rule-31")
    x = np.random.default_rng(0).uniform(-1.0, 1.0, 31)
    assert problem.evaluate(x) + problem.evaluate(-x) == pytest.approx(1.0)
