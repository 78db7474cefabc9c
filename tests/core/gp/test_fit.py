"""Hyperparameters: every gradient by differences, priors by their densities, fits by rivals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference
from histories import make_kernel
from scipy import stats
from scipy.optimize import minimize_scalar
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk
from threadpoolctl import threadpool_limits

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.fit import Objective
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fit import lowest
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.likelihood import likelihood
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior


LAYOUTS = {"plain": ((3,), 0), "additive": ((2, 1, 1), 0), "mixed": ((1, 2, 2), 3)}
ALL_KINDS = pytest.mark.parametrize("kind", KINDS)
ALL_LAYOUTS = pytest.mark.parametrize("layout", LAYOUTS)
PRIORS = ["flat", "inverse-square", "dimension-scaled", "sparse"]
FLAT = Prior("flat", scale=False, noise=False)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """On a busy machine BLAS threads make SciPy's L-BFGS-B 100 times slower on tiny matrices."""
    with threadpool_limits(1, "blas"):
        yield


def setting(
    kind: str, layout: str, n: int = 10, **kwargs: Any
) -> tuple[Kernel, np.ndarray, np.ndarray]:
    sizes, n_categorical = LAYOUTS[layout]
    rng = np.random.default_rng(n)
    kernel = reference.random_kernel(rng, kind, sizes, n_categorical=n_categorical, **kwargs)
    return kernel, reference.random_points(rng, kernel, n), rng.standard_normal(n)


def plain(kind: str, n_columns: int, lengthscale: float, noise: float = 1e-2) -> Kernel:
    return Kernel(
        kind,
        (np.arange(n_columns),),
        np.full(n_columns, lengthscale),
        np.ones(1),
        noise,
        np.zeros(n_columns, np.bool_),
    )


def smooth(n: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of the first two columns, a little noise, standardised."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_columns))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


# the marginal likelihood -------------------------------------------------------------------------


@ALL_LAYOUTS
@ALL_KINDS
def test_log_likelihood_is_the_normal_density(kind: str, layout: str) -> None:
    kernel, X, y = setting(kind, layout)
    covariance = reference.gram(*reference.loops(kernel, X)) + kernel.noise * np.eye(10)
    expected = stats.multivariate_normal(np.zeros(10), covariance).logpdf(y)
    assert log_likelihood(kernel, X, y)[0] == pytest.approx(expected, rel=1e-9)


@ALL_LAYOUTS
@ALL_KINDS
def test_gradient_of_the_log_likelihood(kind: str, layout: str) -> None:
    kernel, X, y = setting(kind, layout)
    X[4] = X[3]
    _, by_lengthscale, by_scale, by_noise = log_likelihood(kernel, X, y)
    n_lengthscales, n_scales = len(kernel.columns), len(kernel.scales)

    def value(theta: np.ndarray) -> float:
        lengthscales = kernel.lengthscales.copy()
        lengthscales[kernel.columns] *= np.exp(theta[:n_lengthscales])
        moved = replace(
            kernel,
            lengthscales=lengthscales,
            scales=kernel.scales * np.exp(theta[n_lengthscales:-1]),
            noise=kernel.noise * math.exp(theta[-1]),
        )
        return log_likelihood(moved, X, y)[0]

    expected = reference.gradient(value, np.zeros(n_lengthscales + n_scales + 1), h=1e-3)
    got = np.concatenate([by_lengthscale, by_scale, [by_noise]])
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@ALL_LAYOUTS
def test_a_kernel_with_other_hyperparameters_is_as_good_as_a_new_one(layout: str) -> None:
    kernel, X, y = setting("matern52", layout)
    values = (1.3 * kernel.lengthscales, 0.7 * kernel.scales, 2.0 * kernel.noise)
    new = replace(kernel, **dict(zip(("lengthscales", "scales", "noise"), values, strict=True)))
    for found in (kernel.valued(*values), kernel.valued(*values).valued(*values)):
        assert type(found) is Kernel
        assert np.array_equal(found.columns, new.columns)
        assert np.array_equal(found.hamming, new.hamming)
        for one, other in zip(log_likelihood(found, X, y), log_likelihood(new, X, y), strict=True):
            assert np.array_equal(one, other)


def test_one_observation() -> None:
    kernel = plain("se", 2, 0.5)
    value, by_lengthscale, by_scale, by_noise = log_likelihood(
        kernel, np.full((1, 2), 0.3), np.array([0.7])
    )
    variance = 1.0 + kernel.noise
    assert value == pytest.approx(stats.norm(0, math.sqrt(variance)).logpdf(0.7))
    assert np.all(by_lengthscale == 0.0)
    slope = 0.5 * (0.49 / variance**2 - 1 / variance)
    assert by_scale == pytest.approx(slope)
    assert by_noise == pytest.approx(slope * kernel.noise)


def test_no_factor_no_likelihood() -> None:
    kernel = plain("matern52", 2, 0.5, noise=0.0)
    X = np.full((3, 2), 0.5)
    value, by_lengthscale, by_scale, by_noise = log_likelihood(kernel, X, np.zeros(3))
    assert value == -np.inf
    assert np.all(by_lengthscale == 0.0)
    assert np.all(by_scale == 0.0)
    assert by_noise == 0.0


@ALL_KINDS
@pytest.mark.parametrize("lengthscale", [1e-6, 1e6])
def test_extreme_lengthscales_have_finite_gradients(kind: str, lengthscale: float) -> None:
    X, y = smooth(8, 2, 0)
    value, *gradients = log_likelihood(plain(kind, 2, lengthscale), X, y)
    assert np.isfinite(value)
    assert all(np.all(np.isfinite(gradient)) for gradient in gradients)


# priors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [math.inf, 0.3])
@pytest.mark.parametrize("name", PRIORS)
def test_slopes_of_the_priors(name: Any, spread: float) -> None:
    prior = Prior(name, dimension=20, spread=spread)
    for u in np.random.default_rng(0).uniform(-2.0, 4.0, (5, 3)):
        expected = reference.gradient(lambda v: prior.of_lengthscales(v)[0], u, h=1e-3)
        np.testing.assert_allclose(prior.of_lengthscales(u)[1], expected, rtol=1e-7, atol=1e-8)
        expected = reference.gradient(lambda v: prior.of_scales(v)[0], u, h=1e-3)
        np.testing.assert_allclose(prior.of_scales(u)[1], expected, rtol=1e-7, atol=1e-8)
        expected = reference.gradient(lambda w: prior.of_noise(float(w[0]))[0], u[:1], h=1e-3)
        assert prior.of_noise(float(u[0]))[1] == pytest.approx(expected[0], rel=1e-7)


@pytest.mark.parametrize("dimension", [1, 10, 300])
def test_priors_are_their_densities(dimension: int) -> None:
    """Up to a constant, which differences remove."""
    x = np.geomspace(0.05, 20.0, 9)
    scipys = {
        "dimension-scaled": stats.lognorm(
            math.sqrt(3.0), scale=math.exp(math.sqrt(2.0)) * math.sqrt(dimension)
        ).logpdf(x),
        "sparse": stats.halfcauchy(scale=0.1).logpdf(x**-2),
        "inverse-square": -(0.1 * x**2 + 0.1 / x**2),
        "flat": np.zeros(9),
    }
    for name in PRIORS:
        prior = Prior(name, dimension)
        values = np.array([prior.of_lengthscales(np.log([v]))[0] for v in x])
        np.testing.assert_allclose(np.diff(values), np.diff(scipys[name]), rtol=1e-9, atol=1e-12)
    gamma = stats.gamma(2.0, scale=1.0 / dimension)
    values = np.array([prior.of_scales(np.full(dimension, math.log(v)))[0] for v in x])
    np.testing.assert_allclose(np.diff(values), dimension * np.diff(gamma.logpdf(x)), rtol=1e-9)
    gamma = stats.gamma(1.1, scale=1.0 / 30.0)
    values = np.array([prior.of_noise(math.log(v))[0] for v in x])
    np.testing.assert_allclose(np.diff(values), np.diff(gamma.logpdf(x)), rtol=1e-9)


@pytest.mark.parametrize("name", PRIORS)
def test_pooled_lengthscales_are_normal_around_their_mean(name: Any) -> None:
    """In the log, and up to a constant."""
    u = np.random.default_rng(1).uniform(-2.0, 4.0, (5, 3))
    pooled, free = (
        np.array([Prior(name, 3, spread=spread).of_lengthscales(v)[0] for v in u])
        for spread in (0.7, math.inf)
    )
    normal = stats.norm(0.0, 0.7).logpdf(u - u.mean(axis=1, keepdims=True)).sum(axis=1)
    np.testing.assert_allclose(np.diff(pooled - free), np.diff(normal), rtol=1e-9)
    alone = Prior(name, 3, spread=0.7).of_lengthscales(u[0, :1])
    assert alone == Prior(name, 3).of_lengthscales(u[0, :1])


@pytest.mark.parametrize("dimension", [1, 20, 500])
def test_the_mode_of_the_dimension_scaled_prior(dimension: int) -> None:
    """It is that of a density of l, exp(mu - sigma^2), not that of a density of log l."""
    prior = Prior("dimension-scaled", dimension)
    found = minimize_scalar(
        lambda u: -prior.of_lengthscales(np.array([u]))[0], bracket=(-5.0, 5.0)
    )
    mu = math.sqrt(2.0) + math.log(dimension) / 2
    assert math.exp(found.x) == pytest.approx(math.exp(mu - 3.0), rel=1e-6)
    assert prior.of_lengthscales(np.array([mu - 3.0]))[1] == pytest.approx(0.0, abs=1e-12)


def test_priors_that_are_switched_off() -> None:
    assert FLAT.of_lengthscales(np.ones(3))[0] == 0.0
    assert FLAT.of_scales(np.ones(3)) == (0.0, pytest.approx(np.zeros(3)))
    assert FLAT.of_noise(1.0) == (0.0, 0.0)


# the objective -----------------------------------------------------------------------------------

TIES = [
    ("column", "group"),
    ("group", "group"),
    ("all", "all"),
    ("group", "all"),
    ("all", "group"),
]


def objective(
    kernel: Kernel, X: np.ndarray, y: np.ndarray, *ties: Any, **kwargs: Any
) -> Objective:
    prior = kwargs.get("prior", FLAT)
    return Objective(kernel, X, y, prior, Bounds(noise=(1e-6, 10.0)), *ties)


@pytest.mark.parametrize("ties", TIES, ids="-".join)
@pytest.mark.parametrize("name", PRIORS)
def test_gradient_of_the_objective(name: Any, ties: tuple[Any, Any]) -> None:
    kernel, X, y = setting("matern52", "mixed")
    prior = Prior(name, dimension=5, scale=name != "flat", noise=name != "flat")
    target = objective(kernel, X, y, *ties, prior=prior)
    theta = target.pack(kernel) + 0.1
    expected = reference.gradient(lambda t: target(t)[0], theta, h=1e-3)
    np.testing.assert_allclose(target(theta)[1], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("ties", TIES, ids="-".join)
def test_tying_sums_gradients(ties: tuple[Any, Any]) -> None:
    kernel, X, y = setting("se", "mixed")
    tied = objective(kernel, X, y, *ties)
    theta = tied.pack(kernel)
    common = tied.unpack(theta)
    value, by_lengthscale, by_scale, by_noise = log_likelihood(common, X, y)
    ends = common.starts
    expected = {
        "column": by_lengthscale,
        "group": [by_lengthscale[ends[j] : ends[j + 1]].sum() for j in range(3)],
        "all": [by_lengthscale.sum()],
    }[ties[0]]
    scales = [by_scale.sum()] if ties[1] == "all" else by_scale
    got, gradient = tied(theta)
    assert got == pytest.approx(-value / 10)
    np.testing.assert_allclose(gradient, -np.concatenate([expected, scales, [by_noise]]) / 10)
    assert len(theta) == len(tied.box) == len(expected) + len(scales) + 1


@pytest.mark.parametrize("ties", TIES, ids="-".join)
def test_pack_and_unpack(ties: tuple[Any, Any]) -> None:
    kernel, X, y = setting("se", "additive")
    target = objective(kernel, X, y, *ties)
    theta = target.pack(kernel)
    np.testing.assert_allclose(target.pack(target.unpack(theta)), theta, rtol=1e-12, atol=1e-12)
    again = target.unpack(theta)
    assert again.noise == pytest.approx(kernel.noise)
    # Tied values are averaged in the log.
    logs = np.log(kernel.lengthscales[kernel.columns])
    assert np.log(again.lengthscales[again.columns]).mean() == pytest.approx(logs.mean())
    if ties == ("column", "group"):
        np.testing.assert_allclose(again.lengthscales, kernel.lengthscales)
        np.testing.assert_allclose(again.scales, kernel.scales)
    if ties == ("all", "all"):
        assert len(set(again.lengthscales.tolist())) == 1
        np.testing.assert_allclose(again.scales, stats.gmean(kernel.scales))


def test_climbs_begin_within_the_bounds() -> None:
    kernel, X, y = setting("se", "plain", noise=0.0)
    kernel = replace(kernel, lengthscales=np.array([1e-9, 1.0, 1e9]))
    target = objective(kernel, X, y, "column", "group")
    tried = []

    def recording(theta: np.ndarray) -> tuple[float, np.ndarray]:
        tried.append(theta.copy())
        return target(theta)

    lowest(recording, [target.pack(kernel)], target.box, 3)
    assert np.all((tried >= target.box[:, 0]) & (tried <= target.box[:, 1]))
    assert tried[0][-1] == pytest.approx(math.log(1e-6))


def test_columns_in_no_group_keep_their_lengthscales() -> None:
    rng = np.random.default_rng(0)
    kernel = reference.random_kernel(rng, sizes=(2,), n_columns=4)
    target = objective(kernel, rng.random((5, 4)), rng.random(5), "all", "all")
    other = np.setdiff1d(np.arange(4), kernel.columns)
    moved = target.unpack(target.pack(kernel) + 1.0)
    assert np.array_equal(moved.lengthscales[other], kernel.lengthscales[other])


def test_a_failed_factorisation_is_a_wall() -> None:
    kernel = plain("se", 1, 1.0)
    X, y = np.full((4, 1), 0.5), np.zeros(4)
    target = Objective(kernel, X, y, FLAT, Bounds(noise=(1e-300, 1.0)), "all", "all")
    value, gradient = target(np.array([0.0, 0.0, math.log(1e-300)]))
    assert value == 1e10
    assert np.all(gradient == 0.0)


# fits --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@ALL_KINDS
@pytest.mark.parametrize("seed", [0, 1])
def test_at_least_the_likelihood_of_scikit_learn(kind: str, seed: int) -> None:
    """From the same start, in the same box, without priors."""
    X, y = smooth(18, 3, seed)
    bounds = Bounds(lengthscale=(1e-2, 1e2), scale=(1e-2, 1e2), noise=(1e-5, 1.0))
    base = {
        "se": sk.RBF([0.5] * 3, bounds.lengthscale),
        "matern32": sk.Matern([0.5] * 3, bounds.lengthscale, nu=1.5),
        "matern52": sk.Matern([0.5] * 3, bounds.lengthscale, nu=2.5),
    }[kind]
    start = plain(kind, 3, 0.5)
    model = sk.ConstantKernel(1.0, bounds.scale) * base + sk.WhiteKernel(start.noise, bounds.noise)
    gpr = GaussianProcessRegressor(model, alpha=0.0).fit(X, y)
    found, value = fit(start, X, y, prior=FLAT, bounds=bounds, starts=[start], n_steps=100)
    assert value > gpr.log_marginal_likelihood_value_ - 1e-3
    assert value == pytest.approx(log_likelihood(found, X, y)[0])


def test_not_the_degenerate_optimum() -> None:
    """Lengthscales so small that every point is on its own explain anything, but not well."""
    X, y = smooth(20, 3, 2)
    cold, degenerate = plain("matern52", 3, 1.0), plain("matern52", 3, 5e-3)
    options: dict[str, Any] = {"prior": FLAT, "bounds": Bounds(), "n_steps": 40}
    stuck, low = fit(cold, X, y, starts=[degenerate], **options)
    assert stuck.lengthscales.max() < 0.05, "otherwise this test shows nothing"
    alone, high = fit(cold, X, y, starts=[cold], **options)
    for starts in ([degenerate, cold], [cold, degenerate]):
        found, value = fit(cold, X, y, starts=starts, **options)
        assert value == pytest.approx(high)
        assert value > low + 5.0
        np.testing.assert_allclose(found.lengthscales, alone.lengthscales)


@pytest.mark.parametrize("name", PRIORS)
def test_fit_is_a_maximum_of_the_log_posterior(name: Any) -> None:
    X, y = smooth(15, 3, 3)
    prior = Prior(name, dimension=3)
    start = plain("matern52", 3, 0.5)
    found, value = fit(start, X, y, prior=prior, bounds=Bounds(), starts=[start], n_steps=60)
    target = Objective(start, X, y, prior, Bounds(), "column", "group")
    theta = target.pack(found)
    assert value == pytest.approx(-15 * target(theta)[0])
    assert value > -15 * target(target.pack(start))[0]
    rng = np.random.default_rng(0)
    for step in 0.1 * rng.standard_normal((20, len(theta))):
        near = np.clip(theta + step, target.box[:, 0], target.box[:, 1])
        assert -15 * target(near)[0] < value + 1e-3


def test_fit_finds_which_columns_matter() -> None:
    X, y = smooth(25, 4, 4)
    start = plain("se", 4, 0.5)
    found, _ = fit(start, X, y, prior=FLAT, bounds=Bounds(), starts=[start])
    assert found.lengthscales[:2].max() < found.lengthscales[2:].min()


def test_the_less_spread_the_closer_are_lengthscales() -> None:
    X, y = smooth(25, 4, 4)
    start = plain("se", 4, 0.5)
    options: dict[str, Any] = {"bounds": Bounds(), "starts": [start], "n_steps": 200}
    one, value = fit(start, X, y, prior=FLAT, lengthscales="all", **options)
    pooled = [fit(start, X, y, prior=replace(FLAT, spread=s), **options)[0] for s in (0.02, 0.5)]
    np.testing.assert_allclose(pooled[0].lengthscales, one.lengthscales, rtol=0.05)
    free, highest = fit(start, X, y, prior=FLAT, **options)
    assert highest > value + 1.0
    spreads = [np.log(kernel.lengthscales).std() for kernel in (*pooled, free)]
    assert spreads == sorted(spreads)


def test_bounds_hold_and_equal_ones_fix() -> None:
    X, y = smooth(12, 3, 5)
    bounds = Bounds(lengthscale=(0.4, 0.6), scale=(1.0, 1.0), noise=(1e-3, 1e-3))
    start = plain("se", 3, 5.0)
    found, _ = fit(start, X, y, prior=Prior(), bounds=bounds, starts=[start])
    assert np.all((found.lengthscales >= 0.4 - 1e-12) & (found.lengthscales <= 0.6 + 1e-12))
    assert found.scales == pytest.approx(1.0)
    assert found.noise == pytest.approx(1e-3)


@pytest.mark.parametrize("y", [np.zeros(6), np.full(6, 3.0), np.array([0, 0, 0, 0, 0, 1e3])])
def test_hard_data(y: np.ndarray) -> None:
    """Constant values, and one that is far off; two rows are the same."""
    X = np.random.default_rng(6).random((6, 2))
    X[1] = X[0]
    start = plain("matern52", 2, 0.5)
    for n in (1, 2, 6):
        found, value = fit(start, X[:n], y[:n], prior=Prior(), bounds=Bounds(), starts=[start])
        numbers = [*found.lengthscales, *found.scales, found.noise, value]
        assert np.all(np.isfinite(numbers))


def test_categorical_columns_are_fitted() -> None:
    rng = np.random.default_rng(7)
    X = rng.random((24, 3))
    X[:, :2] = rng.integers(3, size=(24, 2))
    y = np.where(X[:, 0] == 1.0, 2.0, -1.0) + 0.05 * rng.standard_normal(24)
    start = replace(plain("matern52", 3, 1.0), categorical=np.array([True, True, False]))
    found, value = fit(start, X, y, prior=FLAT, bounds=Bounds(), starts=[start])
    assert value > log_likelihood(start, X, y)[0] + 5.0
    assert found.lengthscales[0] < found.lengthscales[1:].min()


@pytest.mark.parametrize("groups", [[[0, 1, 2]], [[0], [2, 1]]])
def test_the_likelihood_alone_is_that_with_a_gradient(groups: list[list[int]]) -> None:
    domain = Domain.continuous(3)
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 3)), rng.standard_normal(12)
    kernel = make_kernel(domain, groups)
    expected = log_likelihood(kernel, X, y)[0]
    assert likelihood(kernel, X, y) == pytest.approx(expected, rel=1e-12)
    assert likelihood(replace(kernel, noise=-1.0), X, y) == -np.inf
