"""The kernel of all groups of d columns: brute force over groups, derivatives by differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from histories import DOMAINS
from histories import Ledger
from histories import make_domain
from scipy.optimize import approx_fprime
from scipy.optimize import check_grad

from optuna_hdbo._core.acquisition.confidence import OrderBound
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.isotropic import log_posterior_of
from optuna_hdbo._core.models.orders import OrderModel
from optuna_hdbo._core.models.orders import OrderPosterior
from optuna_hdbo._core.models.orders import correlations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.baselines.all_groups import AllGroupsUCB


RNG = np.random.default_rng(0)
X, Z = RNG.random((7, 5)), RNG.random((4, 5))
CATEGORICAL = np.array([False, True, False, False, False])
X[:, 1], Z[:, 1] = RNG.integers(0, 3, 7), RNG.integers(0, 3, 4)


def brute_force(x: np.ndarray, z: np.ndarray, lengthscale: float, order: int) -> float:
    """The mean over all groups of the squared exponential kernel of their columns."""
    total = []
    for group in itertools.combinations(range(5), order):
        r2 = sum(float(x[i] != z[i]) if CATEGORICAL[i] else (x[i] - z[i]) ** 2 for i in group)
        total.append(math.exp(-0.5 * r2 / lengthscale**2))
    return sum(total) / len(total)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_the_recursion_sums_over_all_groups(order: int) -> None:
    found, slope = correlations(X, Z, 0.4, order, CATEGORICAL)
    expected = [[brute_force(x, z, 0.4, order) for x in X] for z in Z]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    above, below = (correlations(X, Z, 0.4 * s, order, CATEGORICAL)[0] for s in (1.0001, 0.9999))
    np.testing.assert_allclose(slope, (above - below) / math.log(1.0001 / 0.9999), rtol=1e-5)


def make_posterior(order: int, n_pending: int = 0) -> OrderPosterior:
    domain = make_domain(None, "3", None, None, None)
    kernel = cold_start(domain, "se", [np.arange(5)], 0.4, 0.05)
    kernel.scales[:] = 1.7
    y = np.sin(np.arange(7.0 - n_pending))
    rows = 7 - n_pending
    return OrderPosterior(Fitted(kernel, rows, 0, 0.0), order, X[:rows], y, X[rows:])


def test_mean_and_variance_are_those_of_the_process() -> None:
    posterior = make_posterior(2, n_pending=2)
    K = 1.7 * correlations(X, X, 0.4, 2, posterior.kernel.categorical)[0] + 0.05 * np.eye(7)
    k = 1.7 * correlations(X, Z, 0.4, 2, posterior.kernel.categorical)[0]
    mean, variance = posterior.predict(Z)
    np.testing.assert_allclose(
        mean, k[:, :5] @ np.linalg.solve(K[:5, :5], np.sin(np.arange(5.0))), rtol=1e-9
    )
    np.testing.assert_allclose(variance, 1.7 - np.diag(k @ np.linalg.solve(K, k.T)), rtol=1e-9)


@pytest.mark.parametrize("order", [1, 3])
def test_the_bound_and_its_gradient(order: int) -> None:
    bound = OrderBound(make_posterior(order), 1.5)
    continuous = ~bound.posterior.kernel.categorical
    for z in Z:
        value, gradient = bound.slope(z)
        assert value == pytest.approx(bound(z[None])[0], rel=1e-10)
        expected = approx_fprime(z, lambda x: bound(x[None])[0], 1e-7)
        np.testing.assert_allclose(gradient[continuous], expected[continuous], atol=2e-5)


def test_the_gradient_of_the_likelihood() -> None:
    y, prior = np.sin(np.arange(7.0)), Prior("inverse-square", 2)

    def density(theta: np.ndarray) -> tuple[float, np.ndarray]:
        k, slope = correlations(X, X, float(np.exp(theta[0])), 2, CATEGORICAL)
        return log_posterior_of(theta, k, slope, y, prior)

    theta = np.log([0.5, 1.2, 0.03])
    assert check_grad(lambda t: density(t)[0], lambda t: density(t)[1], theta) < 1e-4


@pytest.mark.parametrize("name", ["continuous", "mixed"])
def test_a_query_maximises_the_bound(name: str) -> None:
    domain = DOMAINS[name]
    ledger = Ledger.started(domain, 8)
    method = AllGroupsUCB(d=2, beta=4.0)
    x = method.suggest(domain, ledger.seen(), Streams(0)).x
    seen = ledger.seen()
    bound = OrderBound(OrderModel(2, True, None).posterior(domain, seen, Memory()), 2.0)
    others = domain.sample(np.random.default_rng(1), 500)
    assert bound(x[None])[0] >= bound(others).max() - 1e-6


def test_sums_of_pairs_are_learned_from_few_points() -> None:
    """Of such a function, the process of pairs predicts more than one of all columns."""
    domain = make_domain(*[None] * 6)
    ledger = Ledger.started(domain, 80, lambda x: float(np.sin(4 * x[:-1]) @ np.cos(3 * x[1:])))
    others = domain.sample(np.random.default_rng(2), 200)
    truth = np.array([np.sin(4 * x[:-1]) @ np.cos(3 * x[1:]) for x in others])
    errors = []
    for order in (2, 6):
        seen = ledger.seen()
        mean, _ = OrderModel(order, True, None).posterior(domain, seen, Memory()).predict(others)
        errors.append(np.mean((mean * seen.scale + seen.shift - truth) ** 2))
    assert errors[0] < 0.5 * errors[1]
