"""The Matern kernel of smoothness 3: its values, its slopes, and climbs that use it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from histories import make_domain
from histories import make_kernel
from scipy.special import kv
from sklearn.gaussian_process import kernels as sk

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import Sum
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.known import Matern3
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.posterior import PosteriorAt


def smooth(domain: Domain) -> Matern3:
    k = make_kernel(domain)
    return Matern3("matern3", k.groups, k.lengthscales, k.scales, k.noise, k.categorical)


def posterior_of(domain: Domain, n: int = 9) -> Posterior:
    rng = np.random.default_rng(3)
    return Posterior(Factor(smooth(domain), domain.sample(rng, n)), rng.standard_normal(n))


def test_agrees_with_scikit_learn() -> None:
    domain = make_domain(None, None, None)
    kernel, rng = smooth(domain), np.random.default_rng(0)
    X, Z = domain.sample(rng, 12), domain.sample(rng, 5)
    theirs = kernel.variance * sk.Matern(kernel.lengthscales, nu=3.0)
    np.testing.assert_allclose(kernel.gram(X), theirs(X), rtol=1e-10)
    np.testing.assert_allclose(kernel.cross(X, Z), theirs(Z, X), rtol=1e-10)


def test_unequal_choices_have_the_distance_one() -> None:
    domain = make_domain("3")
    kernel = smooth(domain)
    choices = domain.sample(np.random.default_rng(0), 9)
    equal = choices == choices.T
    t = math.sqrt(6.0) / kernel.lengthscales[0]
    correlation = 2.0**-2 / math.gamma(3.0) * t**3 * kv(3, t)  # Rasmussen & Williams, eq. 4.14
    expected = np.where(equal, 1.0, correlation) * kernel.variance
    assert not equal.all()
    np.testing.assert_allclose(kernel.gram(choices), expected, rtol=1e-12)


def test_far_points_are_independent_and_equal_ones_are_the_same() -> None:
    kernel = smooth(make_domain(None))
    X = np.array([[0.0], [0.0], [1e-9], [1e9]])
    K = kernel.gram(X) / kernel.variance
    np.testing.assert_allclose(K[:3, :3], 1.0, rtol=1e-12)
    np.testing.assert_allclose(K[3], [0.0, 0.0, 0.0, 1.0], atol=1e-200)


@pytest.mark.parametrize("columns", [(None, None, None), (None, "3", 5)])
def test_gradients(columns: tuple[int | str | None, ...]) -> None:
    domain = make_domain(*columns)
    posterior = posterior_of(domain)
    bound = Analytic.mi(posterior, 2.0, 0.7)
    Z = domain.sample(np.random.default_rng(1), 4)
    values, gradients = bound.slopes(Z)
    np.testing.assert_allclose(values, bound(Z), rtol=1e-10)
    np.testing.assert_allclose(PosteriorAt(posterior, Z).mean, posterior.mean(Z), rtol=1e-10)
    for c in range(len(domain)):
        if domain.categorical[c]:
            assert not gradients[:, c].any()
            continue
        step = np.eye(len(domain))[c] * 1e-5
        numeric = (bound(Z + step) - bound(Z - step)) / 2e-5
        np.testing.assert_allclose(gradients[:, c], numeric, rtol=1e-4, atol=1e-6)
    value, gradient = bound.slope(Z[2])
    assert value == pytest.approx(values[2])
    np.testing.assert_allclose(gradient, gradients[2])


def test_climbs_end_where_the_slope_does() -> None:
    domain = make_domain(None, None)
    bound = Analytic.mi(posterior_of(domain), 2.0, 0.7)
    starts = domain.sample(np.random.default_rng(2), 6)
    free = np.ones(2, np.bool_)
    for function in (bound, Sum([bound])):
        ends, heights = function.ascend(starts, free)
        np.testing.assert_allclose(heights, bound(ends), rtol=1e-10)
        assert np.all(heights >= bound(starts) - 1e-12)
        _, gradients = bound.slopes(ends)
        inward = np.where((ends <= 0.0) & (gradients < 0.0), 0.0, gradients)
        inward = np.where((ends >= 1.0) & (gradients > 0.0), 0.0, inward)
        assert np.abs(inward).max() < 1e-2
