"""The Gaussian process of a Taylor expansion, against its formula and dense linear algebra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process.kernels import Matern

from optuna_hdbo._core.gp.taylor import BOUNDS
from optuna_hdbo._core.gp.taylor import JITTER
from optuna_hdbo._core.gp.taylor import PRIOR_MEAN
from optuna_hdbo._core.gp.taylor import PRIOR_STD
from optuna_hdbo._core.gp.taylor import Pairs
from optuna_hdbo._core.gp.taylor import TaylorKernel
from optuna_hdbo._core.gp.taylor import TaylorPosterior


KERNEL = TaylorKernel(1.3, 0.7, 0.4, 0.9, 0.02)


def between(u: np.ndarray, v: np.ndarray, kernel: TaylorKernel) -> float:
    """Return the covariance of the changes at two displacements, without their own noise."""
    matern = Matern(kernel.lengthscale, nu=2.5)(u[None], v[None])[0, 0]
    cubes = np.linalg.norm(u) ** 3 * np.linalg.norm(v) ** 3
    return float(
        kernel.slope * (u @ v)
        + kernel.curvature * (u @ v) ** 2
        + kernel.remainder * cubes * matern
        + kernel.noise
    )


def dense(U: np.ndarray, kernel: TaylorKernel) -> np.ndarray:
    K = np.array([[between(u, v, kernel) for v in U] for u in U])
    return K + np.diag(JITTER * np.diag(K) + kernel.noise)


def some(n: int, D: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 0.6 * rng.normal(size=(n, D)), rng.normal(size=n)


def test_covariances_are_those_of_the_formula() -> None:
    U, _ = some(9, 3)
    lower = Pairs(U).covariances(KERNEL)
    np.testing.assert_allclose(lower, np.tril(dense(U, KERNEL)), rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_the_posterior_of_hyperparameters(seed: int) -> None:
    U, y = some(14, 3, seed)
    theta = PRIOR_MEAN + 0.3 * PRIOR_STD * np.random.default_rng(seed).normal(size=5)
    pairs = Pairs(U)
    _, gradient = pairs.log_posterior(theta, y)
    numerical = approx_fprime(theta, lambda t: pairs.log_posterior(t, y)[0], 1e-6)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-3, atol=1e-3)


def test_a_fit_improves_on_where_it_begins() -> None:
    U, y = some(30, 3)
    y = -((U @ np.array([1.0, 2.0, 0.5])) ** 2) + 0.01 * y
    pairs = Pairs(U)
    theta = np.log(pairs.fit(y))
    assert pairs.log_posterior(theta, y)[0] > pairs.log_posterior(PRIOR_MEAN, y)[0] + 5.0
    assert np.all((theta >= BOUNDS[:, 0] - 1e-9) & (theta <= BOUNDS[:, 1] + 1e-9))


def test_means_and_deviations_are_those_of_dense_formulas() -> None:
    U, y = some(12, 3)
    n = 9  # the last three are pending
    posterior = TaylorPosterior(KERNEL, U, y[:n])
    K = dense(U, KERNEL)
    for u in some(5, 3, seed=1)[0]:
        k = np.array([between(u, v, KERNEL) for v in U])
        mean, std, _, _ = posterior.predict(u)
        assert mean == pytest.approx(k[:n] @ np.linalg.solve(K[:n, :n], y[:n]), rel=1e-8)
        variance = between(u, u, KERNEL) - k @ np.linalg.solve(K, k)
        assert std == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_gradients_of_mean_and_deviation() -> None:
    U, y = some(12, 4)
    posterior = TaylorPosterior(KERNEL, U, y)
    for u in some(5, 4, seed=2)[0]:
        _, _, by_mean, by_std = posterior.predict(u)
        for found, i in ((by_mean, 0), (by_std, 1)):
            numerical = approx_fprime(u, lambda v, i=i: posterior.predict(v)[i], 1e-7)
            np.testing.assert_allclose(found, numerical, rtol=1e-4, atol=1e-5)


def test_left_out_values_are_predicted_by_the_others() -> None:
    U, y = some(10, 3)
    K = dense(U, KERNEL)
    expected = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        expected.append(
            y[i] - K[i, others] @ np.linalg.solve(K[np.ix_(others, others)], y[others])
        )
    np.testing.assert_allclose(TaylorPosterior(KERNEL, U, y).left_out(), expected, rtol=1e-7)


def test_a_quadratic_function_is_known_from_few_points() -> None:
    D = 4
    rng = np.random.default_rng(3)
    A = rng.normal(size=(D, D))

    def f(u: np.ndarray) -> float:
        return float(-((A @ (u - 0.3)) ** 2).sum() + ((A @ np.full(D, 0.3)) ** 2).sum())

    U = 0.6 * rng.normal(size=((D + 1) * (D + 2), D))  # twice as many as it has coefficients
    y = np.array([f(u) for u in U])
    size = np.sqrt((y**2).mean())
    posterior = TaylorPosterior(Pairs(U).fit(y / size), U, y / size)
    for u in some(6, D, seed=4)[0]:
        mean, std, _, _ = posterior.predict(u)
        assert mean == pytest.approx(f(u) / size, abs=1e-2)
        assert std < 0.1


def test_the_maximum_is_that_of_a_fine_grid() -> None:
    U, y = some(12, 2)
    posterior = TaylorPosterior(KERNEL, U, y)
    low, high = np.array([-0.5, -0.4]), np.array([0.6, 0.7])
    axes = [np.linspace(a, b, 60) for a, b in zip(low, high, strict=True)]
    grid = np.array(list(itertools.product(*axes)))
    predictions = [posterior.predict(u)[:2] for u in grid]
    for caution in (1.0, 0.0, -0.5):
        values = [mean - caution * std for mean, std in predictions]
        u = posterior.maximum(low, high, grid[::500], caution)
        assert np.all((u >= low) & (u <= high))
        mean, std, _, _ = posterior.predict(u)
        assert max(values) - 1e-9 <= mean - caution * std <= max(values) + 0.01
