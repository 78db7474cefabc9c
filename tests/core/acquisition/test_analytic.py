"""Acquisition functions on a posterior, and their climb against SciPy's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import reference
from histories import dear
from scipy.optimize import minimize
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._jit import acquisition as jit


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """On a busy machine BLAS threads make SciPy's L-BFGS-B 100 times slower on tiny matrices."""
    with threadpool_limits(1, "blas"):
        yield


def posterior(
    sizes: tuple[int, ...] = (2, 2, 1),
    n: int = 10,
    n_pending: int = 0,
    lengthscale: float = 1.0,
    **kwargs: Any,
) -> Posterior:
    rng = np.random.default_rng(sum(sizes))
    kernel = reference.random_kernel(rng, sizes=sizes, **kwargs)
    kernel.lengthscales[:] *= lengthscale
    factor = Factor(kernel, reference.random_points(rng, kernel, n))
    factor.append(reference.random_points(rng, kernel, n_pending))
    return Posterior(factor, rng.standard_normal(n))


def make(name: str, post: Posterior) -> Analytic:
    if name == "ucb":
        return Analytic.ucb(post, 1.3)
    if name == "log_ei":
        return Analytic.log_ei(post, 0.4)
    return Analytic(post, post.kernel, jit.MI, (1.1, 0.2))


ALL = pytest.mark.parametrize("name", ["ucb", "log_ei", "mi"])


def test_ucb() -> None:
    post = posterior(n_categorical=1)
    Z = reference.random_points(np.random.default_rng(0), post.kernel, 7)
    mean, variance = post.predict(Z)
    np.testing.assert_allclose(Analytic.ucb(post, 1.3)(Z), mean + 1.3 * np.sqrt(variance))


@pytest.mark.parametrize("group", [0, 1, 2])
def test_ucb_of_a_group(group: int) -> None:
    """It sees the columns of its group only."""
    post = posterior()
    Z = np.random.default_rng(1).random((5, 5))
    acquisition = Analytic.ucb(post, 1.3, group)
    mean, variance = post.predict(Z, post.kernel.only(group))
    np.testing.assert_allclose(acquisition(Z), mean + 1.3 * np.sqrt(variance))
    elsewhere = np.full_like(Z, 0.5)
    columns = post.kernel.groups[group]
    elsewhere[:, columns] = Z[:, columns]
    np.testing.assert_allclose(acquisition(elsewhere), acquisition(Z), rtol=1e-12)


def test_log_ei_is_the_expected_improvement() -> None:
    post = posterior()
    Z = np.random.default_rng(2).random((6, 5))
    mean, variance = post.predict(Z)
    std = np.sqrt(variance)
    z = (mean - 0.4) / std
    expected = (mean - 0.4) * norm.cdf(z) + std * norm.pdf(z)
    np.testing.assert_allclose(Analytic.log_ei(post, 0.4)(Z), np.log(expected), rtol=1e-10)
    draws = mean + std * np.random.default_rng(3).standard_normal((40_000, 1))
    sampled = np.maximum(draws - 0.4, 0.0).mean(axis=0)
    np.testing.assert_allclose(sampled, expected, rtol=0.1)


@ALL
def test_batches_and_single_points_agree(name: str) -> None:
    """What is computed by matrices and what is computed by loops."""
    post = posterior(n_pending=3, n_categorical=2)
    acquisition = make(name, post)
    Z = reference.random_points(np.random.default_rng(4), post.kernel, 4)
    one_by_one = [
        jit.evaluate(
            acquisition.model,
            np.ascontiguousarray(f),
            acquisition.code,
            np.array(acquisition.p),
            np.empty((4, 13)),
            False,
            np.empty(5),
        )
        for f in post.kernel.features(Z).T
    ]
    np.testing.assert_allclose(acquisition(Z), one_by_one, rtol=1e-9)


@ALL
@pytest.mark.parametrize("n_columns", [2, 12, pytest.param(30, marks=dear)])
def test_ascend_reaches_what_scipy_reaches(name: str, n_columns: int) -> None:
    """From the same starts, within 1% of what lies between it and a typical point."""
    sizes = (n_columns,) if n_columns < 30 else (4,) * 6 + (6,)
    post = posterior(sizes, n=15, lengthscale=math.sqrt(n_columns) / 2)
    acquisition = make(name, post)
    starts = np.random.default_rng(5).random((2, n_columns))
    free = np.ones(n_columns, np.bool_)
    X, values = acquisition.ascend(starts, free, n_steps=100)
    assert np.all((X >= 0.0) & (X <= 1.0))
    np.testing.assert_allclose(values, acquisition(X), rtol=1e-9)
    h = 1e-6

    def negated(x: np.ndarray) -> tuple[float, np.ndarray]:
        steps = np.concatenate([x[None], x + h * np.eye(n_columns), x - h * np.eye(n_columns)])
        all_values = -acquisition(steps)
        forward, backward = all_values[1 : n_columns + 1], all_values[n_columns + 1 :]
        return float(all_values[0]), (forward - backward) / (2 * h)

    theirs = [
        -minimize(negated, x, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * n_columns).fun
        for x in starts
    ]
    typical = np.median(acquisition(np.random.default_rng(6).random((100, n_columns))))
    assert values.max() > max(theirs) - 0.01 * (max(theirs) - typical)


def test_ascend_moves_free_columns_of_the_kernel_only() -> None:
    post = posterior(n_columns=8, n_categorical=2)
    acquisition = Analytic.ucb(post, 1.0)
    starts = reference.random_points(np.random.default_rng(7), post.kernel, 5)
    free = ~post.kernel.categorical
    free[np.flatnonzero(free)[:2]] = False
    before = starts.copy()
    X, values = acquisition.ascend(starts, free)
    assert np.array_equal(starts, before), "the argument is left as it was"
    movable = np.isin(np.arange(8), post.kernel.columns) & free
    assert movable.any()
    assert np.array_equal(X[:, ~movable], starts[:, ~movable])
    np.testing.assert_allclose(values, acquisition(X), rtol=1e-9)
    assert np.all(values >= acquisition(starts) - 1e-12)


@pytest.mark.parametrize("group", [0, 1, 2])
def test_ascend_of_a_group(group: int) -> None:
    post = posterior()
    acquisition = Analytic.ucb(post, 2.0, group)
    starts = np.random.default_rng(8).random((10, 5))
    X, values = acquisition.ascend(starts, np.ones(5, np.bool_))
    others = np.setdiff1d(np.arange(5), post.kernel.groups[group])
    assert np.array_equal(X[:, others], starts[:, others])
    np.testing.assert_allclose(values, acquisition(X), rtol=1e-9)
    sweep = np.random.default_rng(9).random((300, 5))
    assert values.max() >= acquisition(sweep).max() - 1e-6


def test_the_optimum_on_the_bounds_is_reached_exactly() -> None:
    n_columns = 20
    rng = np.random.default_rng(10)
    weights = rng.choice([-1.0, 1.0], n_columns)
    kernel = reference.random_kernel(rng, "se", (n_columns,), noise=1e-4)
    kernel.lengthscales[:] = 6.0
    X = rng.random((40, n_columns))
    post = Posterior(Factor(kernel, X), (X - 0.5) @ weights)
    found, _ = Analytic.ucb(post, 0.1).ascend(rng.random((2, n_columns)), weights != 0.0)
    assert np.array_equal(found, np.repeat((weights[None] > 0).astype(float), 2, axis=0))
