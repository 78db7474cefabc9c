"""Exact Gaussian processes against scikit-learn's, and the factor that grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo._core.gp.posterior import JITTERS
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import IllConditionedError
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.posterior import factorise


LAYOUTS = {"plain": ((4,), 0), "additive": ((2, 1, 2), 0), "mixed": ((1, 3, 2), 3)}
ALL_KINDS = pytest.mark.parametrize("kind", KINDS)
ALL_LAYOUTS = pytest.mark.parametrize("layout", LAYOUTS)


class Slice(sk.Kernel):
    """A scikit-learn kernel on some of the columns."""

    def __init__(self, kernel: sk.Kernel, columns: Sequence[int]) -> None:
        self.kernel = kernel
        self.columns = columns

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        assert not eval_gradient
        return self.kernel(X[:, self.columns], None if Y is None else Y[:, self.columns])

    def diag(self, X: Any) -> Any:
        return self.kernel.diag(X[:, self.columns])

    def is_stationary(self) -> bool:
        return True


def encoded(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Append three columns per categorical one, whose squared distances are 0 or 1."""
    one_hot = [
        (X[:, [c]] == np.arange(3)) / math.sqrt(2) for c in np.flatnonzero(kernel.categorical)
    ]
    return np.concatenate([X, *one_hot], axis=1)


def theirs(kernel: Kernel) -> sk.Kernel:
    total = None
    first = len(kernel.categorical)
    place = {c: first + 3 * i for i, c in enumerate(np.flatnonzero(kernel.categorical))}
    for group, scale in zip(kernel.groups, kernel.scales, strict=True):
        columns, lengthscales = [], []
        for c in group.tolist():
            own = range(place[c], place[c] + 3) if c in place else [c]
            columns += own
            lengthscales += [kernel.lengthscales[c]] * len(own)
        base = {
            "se": sk.RBF(lengthscales),
            "matern32": sk.Matern(lengthscales, nu=1.5),
            "matern52": sk.Matern(lengthscales, nu=2.5),
        }[kernel.kind]
        part = sk.ConstantKernel(scale) * Slice(base, columns)
        total = part if total is None else total + part
    return total


def setting(
    kind: str, layout: str, n: int = 12, seed: int = 0, **kwargs: Any
) -> tuple[Kernel, np.ndarray, np.ndarray, np.ndarray]:
    sizes, n_categorical = LAYOUTS[layout]
    rng = np.random.default_rng(seed)
    kernel = reference.random_kernel(rng, kind, sizes, n_categorical=n_categorical, **kwargs)
    X = reference.random_points(rng, kernel, n)
    Z = reference.random_points(rng, kernel, 6)
    return kernel, X, rng.standard_normal(n), Z


@ALL_LAYOUTS
@ALL_KINDS
def test_agrees_with_scikit_learn(kind: str, layout: str) -> None:
    kernel, X, y, Z = setting(kind, layout)
    gpr = GaussianProcessRegressor(theirs(kernel), alpha=kernel.noise, optimizer=None)
    gpr.fit(encoded(kernel, X), y)
    mean, std = gpr.predict(encoded(kernel, Z), return_std=True)
    our_mean, our_variance = Posterior(Factor(kernel, X), y).predict(Z)
    np.testing.assert_allclose(our_mean, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.sqrt(our_variance), std, rtol=1e-8)
    value = log_likelihood(kernel, X, y)[0]
    assert value == pytest.approx(gpr.log_marginal_likelihood_value_, rel=1e-10)


@ALL_LAYOUTS
@ALL_KINDS
@pytest.mark.parametrize("parts", [(1, 39), (20, 1, 1, 18), (0, 40), (38, 2)])
def test_appended_equals_at_once(kind: str, layout: str, parts: tuple[int, ...]) -> None:
    kernel, X, y, Z = setting(kind, layout, n=40)
    at_once = Factor(kernel, X)
    first, *rest = np.split(X, np.cumsum(parts)[:-1])
    grown = Factor(kernel, first)
    for part in rest:
        grown.append(part)
    assert len(grown) == 40
    assert np.array_equal(grown.X, X)
    np.testing.assert_allclose(grown.linv[:40, :40], at_once.linv[:40, :40], rtol=1e-8, atol=1e-8)
    for got, expected in zip(
        Posterior(grown, y).predict(Z), Posterior(at_once, y).predict(Z), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8)


def test_appending_does_not_depend_on_the_steps() -> None:
    """To the last bit, also when the array had to grow: caches must not change a suggestion."""
    kernel, X, y, Z = setting("matern52", "additive", n=90)
    one, many = Factor(kernel, X[:10]), Factor(kernel, X[:10])
    many.append(X[10:])
    for x in X[10:]:
        one.append(x[None])
    assert one.linv.shape != many.linv.shape
    assert np.array_equal(one.linv[:90, :90], many.linv[:90, :90])
    for got, expected in zip(
        Posterior(one, y).predict(Z), Posterior(many, y).predict(Z), strict=True
    ):
        assert np.array_equal(got, expected)


@ALL_LAYOUTS
def test_the_factor_inverts(layout: str) -> None:
    kernel, X, _, _ = setting("se", layout)
    factor = Factor(kernel, X[:9])
    factor.append(X[9:])
    linv = factor.linv[:12, :12]
    noisy = kernel.gram(X) + kernel.noise * np.eye(12)
    assert np.array_equal(linv, np.tril(linv))
    np.testing.assert_allclose(linv @ noisy @ linv.T, np.eye(12), atol=1e-9)


@ALL_KINDS
def test_pivots_are_conditional_variances(kind: str) -> None:
    """And so their product is the determinant: the chain rule of entropy."""
    kernel, X, y, _ = setting(kind, "mixed")
    factor = Factor(kernel, X[:7])
    factor.append(X[7:])
    pivots = Posterior(factor, y).pivots()
    assert pivots.shape == (12,)
    for t in range(12):
        before = Posterior(Factor(kernel, X[:t]), y[:t])
        variance = before.predict(X[t : t + 1])[1][0] + kernel.noise
        assert pivots[t] == pytest.approx(variance, rel=1e-8)
    _, logdet = np.linalg.slogdet(kernel.gram(X) + kernel.noise * np.eye(12))
    assert np.log(pivots).sum() == pytest.approx(logdet)


@pytest.mark.parametrize("noise", [1e-6, 0.1, 1.0])
def test_fitted_values_are_the_mean_at_the_observed_points(noise: float) -> None:
    kernel, X, y, Z = setting("matern52", next(iter(LAYOUTS)))
    kernel = replace(kernel, noise=noise)
    factor = Factor(kernel, X)
    factor.append(Z[:1])  # a pending point does not change the mean
    posterior = Posterior(factor, y)
    np.testing.assert_allclose(posterior.fitted_values(), posterior.mean(X), atol=1e-8)


@ALL_LAYOUTS
def test_likeliest_mean_and_scale(layout: str) -> None:
    kernel, X, y, _ = setting("matern52", layout)
    K = kernel.gram(X) + kernel.noise * np.eye(len(X))
    y = 3.0 + 0.1 * y

    def misfit(mean: float) -> float:
        return float((y - mean) @ np.linalg.solve(K, y - mean))

    mean, scale = Factor(kernel, X).likeliest(y)
    assert mean == pytest.approx(minimize_scalar(misfit).x, abs=1e-6)
    assert scale == pytest.approx(misfit(mean) / (len(y) - 1))


def test_the_likeliest_mean_of_one_value_is_that_value() -> None:
    kernel, X, _, _ = setting("matern52", "plain")
    mean, scale = Factor(kernel, X[:1]).likeliest(np.array([2.5]))
    assert mean == pytest.approx(2.5)
    assert scale == pytest.approx(0.0, abs=1e-20)


def test_truncate_forgets() -> None:
    kernel, X, y, Z = setting("matern32", "additive")
    factor = Factor(kernel, X[:8])
    factor.append(X[8:] * 0.5)
    factor.truncate(8)
    assert len(factor) == len(Posterior(factor, y[:8]).pivots()) == 8
    factor.append(X[8:])
    expected = Posterior(Factor(kernel, X), y)
    np.testing.assert_allclose(
        Posterior(factor, y).predict(Z), expected.predict(Z), rtol=1e-8, atol=1e-8
    )


def test_appending_nothing() -> None:
    kernel, X, _, _ = setting("se", "plain")
    factor = Factor(kernel, X)
    before = factor.linv.copy()
    factor.append(X[:0])
    assert len(factor) == 12
    assert np.array_equal(factor.linv, before)


@ALL_LAYOUTS
@ALL_KINDS
def test_pending_points(kind: str, layout: str) -> None:
    """The mean stays, the variance shrinks, as if each had turned out as its own mean."""
    kernel, X, y, Z = setting(kind, layout)
    rng = np.random.default_rng(1)
    P = np.concatenate([reference.random_points(rng, kernel, 3), X[:1]])
    alone = Posterior(Factor(kernel, X), y)
    factor = Factor(kernel, X)
    factor.append(P)
    mean, variance = Posterior(factor, y).predict(Z)
    without, larger = alone.predict(Z)
    np.testing.assert_allclose(mean, without, rtol=0, atol=1e-10)
    assert np.all(variance < larger)
    hallucinated = np.concatenate([y, alone.predict(P)[0]])
    told = Posterior(Factor(kernel, np.concatenate([X, P])), hallucinated)
    np.testing.assert_allclose(mean, told.predict(Z)[0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(variance, told.predict(Z)[1], rtol=1e-7)
    at_pending = Posterior(factor, y).predict(P)[1]
    assert np.all(at_pending < kernel.noise)


@pytest.mark.parametrize("layout", ["additive", "mixed"])
@ALL_KINDS
def test_components_of_the_groups(kind: str, layout: str) -> None:
    kernel, X, y, Z = setting(kind, layout)
    posterior = Posterior(Factor(kernel, X), y)
    noisy = kernel.gram(X) + kernel.noise * np.eye(12)
    total = np.zeros(6)
    for j, scale in enumerate(kernel.scales):
        only = kernel.only(j)
        mean, variance = posterior.predict(Z, only)
        k = only.cross(X, Z)
        np.testing.assert_allclose(mean, k @ np.linalg.solve(noisy, y), rtol=1e-7, atol=1e-9)
        explained = np.einsum("ij,ji->i", k, np.linalg.solve(noisy, k.T))
        np.testing.assert_allclose(variance, scale - explained, rtol=1e-7, atol=1e-10)
        total += mean
    np.testing.assert_allclose(total, posterior.predict(Z)[0], rtol=0, atol=1e-10)


def test_only_has_the_prior_of_its_group() -> None:
    kernel, X, _, _ = setting("matern52", "additive")
    parts = [kernel.only(j) for j in range(3)]
    assert [part.variance for part in parts] == kernel.scales.tolist()
    np.testing.assert_allclose(sum(part.gram(X) for part in parts), kernel.gram(X), rtol=1e-13)


def test_without_observations() -> None:
    kernel, X, y, Z = setting("matern52", "mixed")
    mean, variance = Posterior(Factor(kernel, X[:0]), y[:0]).predict(Z)
    assert np.all(mean == 0.0)
    np.testing.assert_allclose(variance, kernel.variance)


@ALL_KINDS
def test_one_observation(kind: str) -> None:
    kernel, X, y, Z = setting(kind, "mixed", n=1)
    k = kernel.cross(X, Z)[:, 0]
    mean, variance = Posterior(Factor(kernel, X), y).predict(Z)
    np.testing.assert_allclose(mean, k * y[0] / (kernel.variance + kernel.noise))
    np.testing.assert_allclose(variance, kernel.variance - k**2 / (kernel.variance + kernel.noise))


@pytest.mark.parametrize("noise", [1e-2, 1e-6, 1e-12])
def test_duplicated_rows(noise: float) -> None:
    kernel, X, y, Z = setting("se", "additive", noise=noise)
    twice = np.concatenate([X, X])
    for factor in (Factor(kernel, twice), Factor(kernel, X)):
        factor.append(twice[len(factor) :])
        mean, variance = Posterior(factor, np.concatenate([y, y])).predict(twice)
        assert np.all(np.isfinite(mean))
        assert np.all((variance > 0.0) & (variance <= kernel.variance))
        assert np.all(np.isfinite(Posterior(factor, np.concatenate([y, y])).predict(Z)[0]))
    if noise == 1e-2:  # two observations of one value are one with half the noise
        halved = Posterior(Factor(replace(kernel, noise=noise / 2), X), y)
        doubled = Posterior(Factor(kernel, twice), np.concatenate([y, y]))
        np.testing.assert_allclose(doubled.predict(Z), halved.predict(Z), rtol=1e-7, atol=1e-9)


@ALL_KINDS
def test_a_constant(kind: str) -> None:
    kernel, X, _, Z = setting(kind, "plain")
    assert np.all(Posterior(Factor(kernel, X), np.zeros(12)).predict(Z)[0] == 0.0)
    near = Posterior(Factor(kernel, X), np.ones(12)).predict(X)[0]
    np.testing.assert_allclose(near, 1.0, atol=0.05)


@ALL_KINDS
def test_tiny_lengthscales_leave_the_prior(kind: str) -> None:
    kernel, X, y, Z = setting(kind, "plain")
    kernel = replace(kernel, lengthscales=np.full(4, 1e-5))
    posterior = Posterior(Factor(kernel, X), y)
    np.testing.assert_allclose(posterior.predict(Z)[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(posterior.predict(Z)[1], kernel.variance)
    shrunk = kernel.variance / (kernel.variance + kernel.noise)
    np.testing.assert_allclose(posterior.predict(X)[0], y * shrunk)


@ALL_KINDS
def test_huge_lengthscales_leave_the_average(kind: str) -> None:
    kernel, X, y, Z = setting(kind, "plain")
    kernel = replace(kernel, lengthscales=np.full(4, 1e5))
    mean, variance = Posterior(Factor(kernel, X), y).predict(Z)
    ratio = 12 * kernel.variance / (12 * kernel.variance + kernel.noise)
    np.testing.assert_allclose(mean, y.mean() * ratio, rtol=1e-6)
    np.testing.assert_allclose(variance, kernel.variance * (1 - ratio), rtol=1e-5)


def test_the_variance_has_a_floor() -> None:
    kernel, X, y, _ = setting("se", "plain", noise=1e-15)
    kernel = replace(kernel, lengthscales=np.full(4, 50.0))
    variance = Posterior(Factor(kernel, X), y).predict(X)[1]
    assert np.all(variance >= 1e-10 * kernel.variance)


def test_factorise_repairs_with_the_least_jitter() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 5))
    K = A @ A.T + np.eye(5)
    U, jitter = factorise(K)
    assert jitter == 0.0
    np.testing.assert_allclose(U.T @ U, K, rtol=1e-12)
    assert np.array_equal(U, np.triu(U))
    K = np.ones((3, 3)) - np.diag([0.0, 0.0, 1e-7])
    original = K.copy()
    U, jitter = factorise(K)
    assert jitter == 1e-6
    assert jitter in JITTERS
    np.testing.assert_allclose(U.T @ U, K * (1 + 1e-6 * np.eye(3)), atol=1e-12)
    assert np.array_equal(K, original), "the argument is left as it was"


def test_later_points_get_the_same_jitter() -> None:
    kernel, X, _, _ = setting("se", "plain", noise=0.0)
    factor = Factor(kernel, np.concatenate([X[:1], X[:1]]))
    assert factor.diagonal == kernel.variance * (1.0 + JITTERS[1])
    pivots = Posterior(factor, np.zeros(2)).pivots()
    np.testing.assert_allclose(pivots / kernel.variance, [1.0, 2e-10], rtol=1e-4)
    factor.append(X)
    expected = kernel.gram(factor.X) + JITTERS[1] * kernel.variance * np.eye(14)
    linv = factor.linv[:14, :14]
    np.testing.assert_allclose(linv @ expected @ linv.T, np.eye(14), atol=1e-4)


@pytest.mark.parametrize(
    "K",
    [
        -np.eye(3),
        np.zeros((2, 2)),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.full((3, 3), np.nan),
        np.diag([1.0, np.nan, 1.0]),
        np.diag([1.0, np.inf]),
    ],
    ids=["negative", "zero", "indefinite", "nan", "one-nan", "inf"],
)
def test_what_cannot_be_repaired(K: np.ndarray) -> None:
    with pytest.raises(IllConditionedError, match=f"of {len(K)} points"):
        factorise(K)


def test_an_unusable_kernel_raises() -> None:
    kernel, X, _, _ = setting("se", "plain")
    with pytest.raises(IllConditionedError):
        Factor(replace(kernel, noise=math.nan), X)


def test_join() -> None:
    groups = join([[5, 2], [0], (4, 1, 3)])
    assert [g.tolist() for g in groups] == [[0], [1, 3, 4], [2, 5]]
    assert all(g.dtype == np.int64 for g in groups)


def test_log_predictive_is_that_of_every_value_left_out() -> None:
    domain = make_domain(None, "3", None)
    kernel = make_kernel(domain, noise=0.05)
    posterior, X, y = make_posterior(domain, kernel, 9)
    expected = 0.0
    for i in range(9):
        others = np.delete(np.arange(9), i)
        rest = Posterior(Factor(kernel, X[others]), y[others])
        mean, variance = rest.predict(X[i : i + 1])
        expected += norm.logpdf(y[i], mean[0], np.sqrt(variance[0] + kernel.noise))
    assert posterior.log_predictive() == pytest.approx(expected / 9, rel=1e-9)


def test_explained_is_the_share_of_variance_that_left_out_values_lose() -> None:
    domain = make_domain(None, "3", None)
    kernel = make_kernel(domain, noise=0.05)
    posterior, X, y = make_posterior(domain, kernel, 9)
    for rows in (np.ones(9, np.bool_), y >= np.median(y)):
        errors = []
        for i in np.flatnonzero(rows):
            others = np.delete(np.arange(9), i)
            rest = Posterior(Factor(kernel, X[others]), y[others])
            errors.append(y[i] - rest.mean(X[i : i + 1])[0])
        expected = 1.0 - np.mean(np.square(errors)) / np.var(y[rows])
        assert posterior.explained(rows) == pytest.approx(expected, rel=1e-9)
    equal = Posterior(Factor(kernel, X), np.ones(9))
    assert equal.explained(np.ones(9, np.bool_)) < 0.0
