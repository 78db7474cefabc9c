"""Acquisition functions, their gradients and the climb, against slow twins and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference
from compiled import entry
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._jit import acquisition as jit
from optuna_hdbo._jit import ascent


two_loop = entry(ascent.two_loop)


P = {
    jit.UCB: (1.5, 0.0),
    jit.LOG_EI: (0.7, 0.0),
    jit.MI: (1.2, 0.3),
    jit.VARIANCE: (2.0, 0.0),
    jit.LOG_FEASIBLE: (-0.4, 0.0),
    jit.EXCESS: (0.5, -3.0),
}
NAMES = ["UCB", "LOG_EI", "MI", "VARIANCE", "LOG_FEASIBLE", "EXCESS"]
CODES = pytest.mark.parametrize("code", P, ids=NAMES)
KINDS = pytest.mark.parametrize("kind", ["se", "matern32", "matern52"])


def posterior(
    kind: str = "matern52", sizes: tuple[int, ...] = (2, 2, 1), n: int = 8, **kwargs: Any
) -> Posterior:
    rng = np.random.default_rng(n + len(sizes))
    kernel = reference.random_kernel(rng, kind, sizes, **kwargs)
    return Posterior(
        Factor(kernel, reference.random_points(rng, kernel, n)), rng.standard_normal(n)
    )


def model(post: Posterior, kernel: Kernel | None = None) -> jit.Model:
    """What compiled functions take."""
    kernel = post.kernel if kernel is None else kernel
    return jit.Model(kernel.covariance, kernel.features(post.X), post.linv, post.alpha)


def ascend(
    post: Posterior, code: int, x: np.ndarray, free: np.ndarray, n_steps: int = 60
) -> np.ndarray:
    root = post.kernel.root
    return ascent.ascend(
        (model(post), root, code, np.array(P[code])),
        None,
        post.kernel.covariance.inverse,
        free,
        x,
        n_steps,
        1e-6,
    )


def slow(post: Posterior, kernel: Kernel | None = None) -> tuple[Any, ...]:
    """What their slow twins take."""
    kernel = post.kernel if kernel is None else kernel
    return *reference.loops(kernel, post.X), post.linv, post.alpha


@CODES
@given(mean=st.floats(-5.0, 5.0), log_var=st.floats(-8.0, 3.0))
def test_utility(code: int, mean: float, log_var: float) -> None:
    got = jit.utility(code, np.array(P[code]), mean, math.exp(log_var))
    expected = reference.utility(code, P[code], mean, math.exp(log_var))
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "z", [50.0, 5.0, 0.0, -1.0, -5.0, -15.0, -19.99, -20.0, -20.01, -40.0, -1e3, -1e5]
)
def test_log_ei_in_the_far_tail(z: float) -> None:
    var = 0.25
    got = jit.utility(jit.LOG_EI, np.array([1.0, 0.0]), 1.0 + 0.5 * z, var)
    expected = reference.utility(jit.LOG_EI, [1.0, 0.0], 1.0 + 0.5 * z, var)
    np.testing.assert_allclose(got, expected, rtol=2e-7, atol=1e-12)


@pytest.mark.parametrize("z", [8.0, 19.99, 20.0, 40.0, 1e3])
def test_log_feasibility_in_the_far_tail(z: float) -> None:
    got = jit.utility(jit.LOG_FEASIBLE, np.array([1.0, 0.0]), 1.0 + 0.5 * z, 0.25)
    assert got[0] == pytest.approx(norm.logcdf(-z), rel=1e-8)
    h = 1e-4 * z
    ends = [norm.logcdf(-z - 2 * h), norm.logcdf(-z + 2 * h)]
    assert got[1] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-3)


def test_log_ei_rises_across_the_change_of_formula() -> None:
    p = np.array([0.0, 0.0])
    values = [jit.utility(jit.LOG_EI, p, z, 1.0)[0] for z in np.linspace(-20.001, -19.999, 101)]
    assert np.all(np.diff(values) > 0)


def test_mutual_information_without_variance_is_the_mean() -> None:
    value, by_mean, by_var = jit.utility(jit.MI, np.array([2.0, 0.5]), 0.3, 0.0)
    assert (value, by_mean, by_var) == (pytest.approx(0.3), 1.0, pytest.approx(1 / math.sqrt(0.5)))


def test_utilities() -> None:
    rng = np.random.default_rng(0)
    mean, var = rng.standard_normal(5), rng.random(5)
    for code, p in P.items():
        out = np.empty(5)
        jit.utilities(code, np.array(p), mean, var, out)
        expected = [reference.utility(code, p, m, v)[0] for m, v in zip(mean, var, strict=True)]
        np.testing.assert_allclose(out, expected, rtol=1e-10)


@CODES
@KINDS
@pytest.mark.parametrize("sizes", [(2, 2, 1), (11,)], ids=["groups", "one group"])
def test_evaluate_and_its_gradient(sizes: tuple[int, ...], kind: str, code: int) -> None:
    post = posterior(kind, sizes, n_categorical=2)
    args = slow(post)
    rng = np.random.default_rng(1)
    work, grad = np.empty((4, len(post.X))), np.empty(sum(sizes))
    numerical = post.kernel.hamming == 0.0
    for z in reference.random_points(rng, post.kernel, 3):
        f = z[post.kernel.columns] * post.kernel.inverse
        expected = reference.evaluate(*args, f, code, P[code])
        slope = reference.gradient(lambda v: reference.evaluate(*args, v, code, P[code]), f)
        for with_gradient in (False, True):
            grad[:] = np.nan
            value = jit.evaluate(
                model(post), f, code, np.array(P[code]), work, with_gradient, grad
            )
            assert value == pytest.approx(expected, rel=1e-10)
            assert with_gradient or np.isnan(grad).all()
        np.testing.assert_allclose(grad[numerical], slope[numerical], rtol=1e-5, atol=1e-7)
        assert np.all(grad[~numerical] == 0.0)


@CODES
def test_evaluate_of_one_group(code: int) -> None:
    post = posterior()
    only = post.kernel.only(1)
    args = slow(post, only)
    f = np.random.default_rng(2).random(2)
    grad = np.empty(2)
    work, p = np.empty((4, len(post.X))), np.array(P[code])
    value = jit.evaluate(model(post, only), f, code, p, work, True, grad)
    assert value == pytest.approx(reference.evaluate(*args, f, code, P[code]))
    slope = reference.gradient(lambda v: reference.evaluate(*args, v, code, P[code]), f)
    np.testing.assert_allclose(grad, slope, rtol=1e-5, atol=1e-7)


def test_without_observations_the_prior_is_left() -> None:
    post = posterior(n=0)
    grad = np.empty(5)
    value = jit.evaluate(
        model(post), np.zeros(5), jit.UCB, np.array([2.0, 0.0]), np.empty((4, 0)), True, grad
    )
    assert value == pytest.approx(2.0 * math.sqrt(post.kernel.variance))
    assert np.all(grad == 0.0)


@CODES
def test_variance_at_its_floor(code: int) -> None:
    """On a duplicated, nearly noiseless observation only the mean has a slope."""
    rng = np.random.default_rng(3)
    kernel = reference.random_kernel(rng, sizes=(2,), noise=1e-13)
    x = rng.random((1, 2))
    post = Posterior(Factor(kernel, np.concatenate([x, x])), np.array([1.0, 1.0]))
    f, grad = post.features[:, 0] + 1e-7, np.empty(2)
    p = np.array(P[code])
    value = jit.evaluate(model(post), f, code, p, np.empty((4, 2)), True, grad)
    floor = 1e-10 * kernel.variance
    utility, by_mean, _ = jit.utility(code, p, 1.0, floor)
    assert value == pytest.approx(utility, rel=1e-3)
    of_mean = np.empty(2)
    jit.evaluate(model(post), f, jit.VARIANCE, np.zeros(2), np.empty((4, 2)), True, of_mean)
    np.testing.assert_allclose(grad, by_mean * of_mean, rtol=1e-3, atol=1e-12)


@pytest.mark.parametrize("stored", [1, 3, 8, 11])
def test_two_loop_is_the_inverse_hessian(stored: int) -> None:
    rng = np.random.default_rng(stored)
    A = rng.standard_normal((5, 5))
    A = A @ A.T + np.eye(5)
    ds, dg, rho = np.empty((8, 5)), np.empty((8, 5)), np.empty(8)
    pairs = []
    for i in range(stored):
        s = rng.standard_normal(5)
        pairs.append((s, A @ s))
        ds[i % 8], dg[i % 8], rho[i % 8] = s, A @ s, 1.0 / (s @ A @ s)
    grad = rng.standard_normal(5)
    step = grad.copy()
    free = np.ones(5, np.bool_)
    gained = two_loop(ds, dg, rho, np.empty(8), stored, grad, np.full(5, 0.5), free, step)
    expected = reference.two_loop(pairs[-8:], grad)
    np.testing.assert_allclose(step, expected, rtol=1e-8)
    assert gained == pytest.approx(expected @ grad)


def test_two_loop_holds_what_is_stuck_or_not_free() -> None:
    ds, dg = np.eye(4)[:1] + 0.1, np.eye(4)[:1] + 0.1
    grad = np.array([1.0, -1.0, 1.0, 1.0])
    step = grad.copy()
    free = np.array([True, True, True, False])
    here = np.array([1.0, 0.0, 0.5, 0.5])
    rho, gain = 1.0 / np.sum(ds * dg, axis=1), np.empty(1)
    two_loop(ds, dg, rho, gain, 1, grad, here, free, step)
    assert np.array_equal(step != 0.0, [False, False, True, False])


@CODES
def test_ascend_climbs_within_the_cube(code: int) -> None:
    post = posterior(n=10)
    starts = np.random.default_rng(4).random((3, 5))
    x = starts.copy()
    values = ascend(post, code, x, np.ones(5, np.bool_))
    assert np.all((x >= 0.0) & (x <= 1.0))
    for i in range(3):
        before, after = (
            reference.evaluate(*slow(post), z * post.kernel.inverse, code, P[code])
            for z in (starts[i], x[i])
        )
        assert values[i] == pytest.approx(after, rel=1e-9)
        assert after > before


def test_ascend_mixes_columns() -> None:
    """With a root that mixes nothing it is the same climb."""
    post = posterior(n=10)
    plain, mixed = np.random.default_rng(4).random((2, 3, 5))
    mixed[:] = plain
    free, p, root = np.ones(5, np.bool_), np.array(P[jit.UCB]), np.diag(post.kernel.inverse)
    ascend(post, jit.UCB, plain, free)
    ascent.ascend(
        (model(post), root, jit.UCB, p),
        None,
        post.kernel.covariance.inverse,
        free,
        mixed,
        60,
        1e-6,
    )
    np.testing.assert_allclose(mixed, plain, atol=1e-6)


def test_ascend_reaches_bounds_exactly() -> None:
    rng = np.random.default_rng(5)
    kernel = Kernel(
        "se", (np.arange(4),), np.full(4, 5.0), np.ones(1), 1e-4, np.zeros(4, np.bool_)
    )
    X = rng.random((12, 4))
    post = Posterior(Factor(kernel, X), X @ np.array([1.0, -1.0, 2.0, -2.0]))
    x = rng.random((2, 4))
    ascend(post, jit.UCB, x, np.ones(4, np.bool_))
    assert np.array_equal(x, [[1.0, 0.0, 1.0, 0.0]] * 2)


def test_ascend_leaves_columns_that_are_not_free() -> None:
    """Also those that hold the number of a choice, which lies outside the unit cube."""
    post = posterior(sizes=(3, 2), n=10, n_categorical=2)
    categorical = post.kernel.categorical[post.kernel.columns]
    free = ~categorical
    free[np.flatnonzero(free)[0]] = False
    starts = np.random.default_rng(6).random((4, 5))
    starts[:, categorical] = 2.0
    x = starts.copy()
    values = ascend(post, jit.UCB, x, free)
    assert np.array_equal(x[:, ~free], starts[:, ~free])
    assert np.all(np.any(x[:, free] != starts[:, free], axis=1))
    for i in range(4):
        after = reference.evaluate(*slow(post), x[i] * post.kernel.inverse, jit.UCB, P[jit.UCB])
        assert values[i] == pytest.approx(after, rel=1e-9)


def test_ascend_from_a_stationary_point_stays() -> None:
    post = posterior(n=0)
    x = np.full((1, 5), 0.25)
    values = ascend(post, jit.UCB, x, np.ones(5, np.bool_))
    assert np.all(x == 0.25)
    assert values[0] == pytest.approx(1.5 * math.sqrt(post.kernel.variance))


def test_ascend_of_nan_returns() -> None:
    post = posterior()
    post.alpha[:] = np.nan
    x = np.full((1, 5), 0.5)
    values = ascend(post, jit.UCB, x, np.ones(5, np.bool_))
    assert np.isnan(values[0])
    assert np.all(x == 0.5)
