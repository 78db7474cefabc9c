"""The posterior of single terms, against the joint normal distribution of everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.models.anova.components import Components
from optuna_hdbo._core.models.anova.features import DEGREE_OF_MANY
from optuna_hdbo._core.models.anova.features import MANY_COLUMNS
from optuna_hdbo._core.models.anova.features import Conditional
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.features import Term
from optuna_hdbo._core.models.anova.interactions import Search
from optuna_hdbo._core.models.anova.model import CONSTANT
from optuna_hdbo._core.models.anova.model import Fit
from optuna_hdbo._core.models.anova.model import Model
from optuna_hdbo._core.models.anova.model import start
from optuna_hdbo._core.outputs import standardise


Array = NDArray[np.float64]

DOMAIN = Domain(
    ("x", "y", "kind"), (None, None, np.arange(3.0)), np.array([False, False, True]), {}
)
TERMS: tuple[Term, ...] = ((0,), (1,), (2,), (0, 1), (0, 2))
FIT = Fit(TERMS, np.array([0.3, -0.5, 0.0]), np.log([0.4, 0.2, 0.3, 0.5, 0.1]), -2.0, -1.5)
N = 14


@pytest.fixture
def data() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((N, 2)), rng.integers(0, 3, N).astype(float)])
    return X, rng.standard_normal(N)


def gram_of(fit: Fit, points: Array) -> Array:
    """The prior covariances of values at points, less the variance of the constant."""
    gram = Model(Features(DOMAIN, points), np.zeros(len(points)), fit.terms).gram(fit)
    return np.asarray(gram - CONSTANT)


@pytest.mark.parametrize("terms", [((0,),), ((2,),), ((0,), (1,), (0, 1)), ((0,), (2,), (0, 2))])
def test_terms_have_their_conditional_distribution(
    terms: tuple[Term, ...], data: tuple[Array, Array]
) -> None:
    X, y = data
    rng = np.random.default_rng(1)
    Z = np.column_stack([rng.random((6, 2)), np.arange(6.0) % 3])
    mean, variance = Components(DOMAIN, X, y, FIT).of(terms, Z)
    C = gram_of(FIT, X) + CONSTANT + np.exp(FIT.log_noise) * np.eye(N)
    part = gram_of(FIT.without(set(TERMS) - set(terms)), np.vstack([X, Z]))
    solved = np.linalg.solve(C, part[:N, N:])
    np.testing.assert_allclose(mean, solved.T @ y, atol=1e-9)
    np.testing.assert_allclose(variance, np.diag(part[N:, N:] - part[N:, :N] @ solved), atol=1e-9)


def test_what_is_left_out_is_predicted_from_the_others(data: tuple[Array, Array]) -> None:
    X, y = data
    mean, variance = Components(DOMAIN, X, y, FIT).left_out()
    C = gram_of(FIT, X) + CONSTANT + np.exp(FIT.log_noise) * np.eye(N)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        weights = np.linalg.solve(C[np.ix_(rest, rest)], C[rest, i])
        assert mean[i] == pytest.approx(weights @ y[rest])
        assert variance[i] == pytest.approx(C[i, i] - weights @ C[rest, i])


def test_terms_and_residuals_add_up_to_the_values(data: tuple[Array, Array]) -> None:
    X, y = data
    fit = replace(FIT, log_noise=np.log(0.05))
    components = Components(DOMAIN, X, y, fit)
    total = components.of(TERMS, X)[0] + components.residuals
    np.testing.assert_allclose(total - total.mean(), y - y.mean(), atol=1e-9)


def test_new_points_are_described_as_those_with_values_are() -> None:
    """Which of many choices are told apart depends on the points with values alone."""
    m, n, rng = 40, 30, np.random.default_rng(0)
    grids = (np.arange(float(m)), np.arange(float(m)))
    domain = Domain(("a", "b"), grids, np.array([True, True]))
    X, y = domain.sample(rng, n), rng.standard_normal(n)
    terms: tuple[Term, ...] = ((0,), (1,), (0, 1))
    fit = Fit(terms, np.zeros(2), np.log([0.4, 0.3, 0.5]), -3.0, -1.5)
    components = Components(domain, X, y, fit)
    everywhere = components.of(terms, X)[0]
    for i in (0, n - 1):  # a point by itself has no other frequencies
        assert components.of(terms, X[[i]])[0] == pytest.approx(everywhere[[i]], abs=1e-10)
    total = everywhere + components.residuals
    np.testing.assert_allclose(total - total.mean(), y - y.mean(), atol=1e-9)


def test_conditional_columns_count_for_the_degrees_of_new_points() -> None:
    """Together there are many columns, but not without the conditional ones."""
    n, D, rng = 12, MANY_COLUMNS, np.random.default_rng(0)
    X, y, Z = rng.random((n, D)), rng.standard_normal(n), rng.random((3, D))
    beside = Conditional(Domain.continuous(1), rng.random((n, 1)), rng.random((n, 1)) < 0.5)
    components = Components(Domain.continuous(D), X, y, start(D + 1), beside)
    mean, variance = components.of([(0,), (1,)], np.vstack([X, Z]))
    np.testing.assert_allclose(components.of([(0,), (1,)], Z), (mean[n:], variance[n:]))
    prior = Features(Domain.continuous(D), Z, like=Features(Domain.continuous(D), X, beside))
    assert prior.values[0].shape == (3, DEGREE_OF_MANY)


@pytest.mark.parametrize("share", [1e-4, 0.3])
def test_variances_of_terms_have_their_rough_parts(
    share: float, data: tuple[Array, Array]
) -> None:
    """The mean over the cube of the squared mean and of the variance of each term."""
    X, y = data
    components = Components(DOMAIN, X, y, replace(FIT, log_roughness=np.log(share)))
    Z = DOMAIN.sample(np.random.default_rng(5), 4000)
    for term, variance in components.parts().items():
        mean, spread = components.of([term], Z)
        assert variance == pytest.approx((mean**2 + spread).mean(), rel=0.1)


def test_steps_are_as_large_as_they_are() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((80, 2))
    f = (X[:, 0] > 0.4) * (X[:, 1] > 0.5) + 0.3 * X[:, 1]
    search = Search(Domain.continuous(2), X, standardise(f)[0])
    found = search.run()
    assert np.exp(search.fit.log_roughness) > 0.1
    # Their true shares, by integrals.
    p, q = 0.6, 0.5
    joint = p * (1 - p) * q * (1 - q)
    first = q**2 * p * (1 - p)
    second = p**2 * q * (1 - q) + 2 * p * 0.3 * q * (1 - q) / 2 + 0.3**2 / 12
    total = joint + first + second
    expected = np.array([first, second, joint]) / total
    shares = np.array([found.parts[t] for t in ((0,), (1,), (0, 1))]) / found.variance
    np.testing.assert_allclose(shares, expected, atol=0.03)
