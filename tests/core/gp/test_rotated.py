"""Kernels along learned directions: what they are, and that narrow valleys are found."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from histories import affordable
from histories import make_domain
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.climb import climb_together
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.fit import Objective
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.gp.rotated import Rotated
from optuna_hdbo._core.gp.rotated import fit_rotated
from optuna_hdbo._core.gp.rotated import steepest


D = 5
PRIOR = Prior("dimension-scaled", D)


def plain(lengthscales: np.ndarray, noise: float = 1e-4) -> Kernel:
    columns = np.arange(len(lengthscales))
    categorical = np.zeros(len(lengthscales), np.bool_)
    return Kernel("matern52", (columns,), lengthscales, np.array([1.3]), noise, categorical)


def rotation(seed: int, d: int = D) -> np.ndarray:
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0])


def valley(X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """A quadratic function that is a thousand times as steep along the last direction."""
    y = -(((X - 0.5) @ R * np.logspace(0.0, 1.5, X.shape[1])) ** 2).sum(axis=1)
    return np.asarray((y - y.mean()) / y.std())


@given(st.integers(0, 1000), st.lists(st.floats(0.05, 20.0), min_size=D, max_size=D))
def test_it_is_the_kernel_of_the_rotated_points(seed: int, lengthscales: list[float]) -> None:
    R, rng = rotation(seed), np.random.default_rng(seed)
    axes = plain(np.array(lengthscales))
    kernel = Rotated.of(axes, R)
    X, Z = rng.random((7, D)), rng.random((4, D))
    np.testing.assert_allclose(kernel.gram(X), axes.gram(X @ R), atol=1e-11)
    np.testing.assert_allclose(kernel.cross(X, Z), axes.cross(X @ R, Z @ R), atol=1e-11)
    widths = rng.uniform(0.1, 2.0, D)
    np.testing.assert_allclose(
        kernel.stretched(widths).gram(X / widths), kernel.gram(X), atol=1e-11
    )
    along_columns = Rotated.of(axes, np.eye(D))
    np.testing.assert_allclose(along_columns.gram(X), axes.gram(X), atol=1e-11)
    np.testing.assert_allclose(along_columns.units, axes.lengthscales, rtol=1e-12)


@given(st.integers(0, 1000), st.integers(2, 25), st.integers(1, 59))
def test_features_do_not_depend_on_the_other_points(seed: int, d: int, first: int) -> None:
    """Not even in the last bit, so that a factor that has grown is like a fresh one."""
    rng = np.random.default_rng(seed)
    kernel = Rotated.of(plain(np.exp(rng.standard_normal(d))), rotation(seed, d))
    X = rng.random((60, d))
    parts = [kernel.features(X[:first]), kernel.features(X[first:])]
    np.testing.assert_array_equal(kernel.features(X), np.concatenate(parts, axis=1))


def rotated_posterior(seed: int) -> Posterior:
    rng = np.random.default_rng(seed)
    X, R = rng.random((20, D)), rotation(seed)
    kernel = Rotated.of(plain(np.array([0.4, 0.6, 1.0, 2.0, 3.0])), R)
    return Posterior(Factor(kernel, X), valley(X, R))


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_those_of_finite_differences(seed: int) -> None:
    posterior, rng = rotated_posterior(seed), np.random.default_rng(seed)
    bound = Analytic.ucb(posterior, 1.5)
    x, step = rng.random(D), 1e-6 * np.eye(D)
    expected = (bound(x + step) - bound(x - step)) / 2e-6
    value, gradient = bound.slope(x)
    np.testing.assert_allclose(value, bound(x[None])[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
    values, gradients = bound.slopes(x[None])
    np.testing.assert_allclose(values[0], value, rtol=1e-12)
    np.testing.assert_allclose(gradients[0], gradient, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_climbs_end_where_nothing_is_left_to_gain(seed: int) -> None:
    posterior, rng = rotated_posterior(seed), np.random.default_rng(seed)
    assert isinstance(posterior.kernel, Rotated)
    bound, starts = Analytic.ucb(posterior, 1.5), rng.random((6, D))
    free = np.array([True, True, True, True, False])
    ends, heights = bound.ascend(starts, free, 200)
    np.testing.assert_allclose(heights, bound(ends), rtol=1e-9)
    assert (heights >= bound(starts)).all()
    np.testing.assert_array_equal(ends[:, 4], starts[:, 4])
    assert ((ends >= 0.0) & (ends <= 1.0)).all()
    _, gradients = bound.slopes(ends)
    outward = ((ends <= 0.0) & (gradients < 0.0)) | ((ends >= 1.0) & (gradients > 0.0))
    assert np.abs(np.where(outward | ~free, 0.0, gradients)).max() < 0.02
    # The climb in NumPy ends as high, from the best of the starts.
    _, slow = climb_together(bound.slopes, starts, free, posterior.kernel.units, 200, 1e-5)
    np.testing.assert_allclose(heights.max(), slow.max(), rtol=1e-3)


@pytest.mark.parametrize("seed", range(affordable(3, 1)))
def test_the_directions_of_a_valley_are_found(seed: int) -> None:
    R, X = rotation(seed), np.random.default_rng(seed).random((80, D))
    y = valley(X, R)
    start = plain(np.ones(D))
    along_columns, without = fit(
        start, X, y, prior=PRIOR, bounds=Bounds(), scales="all", starts=[start], n_steps=40
    )
    # The model knows columns only, but its gradients show the steepest direction.
    assert abs(steepest(along_columns, X, y)[:, -1] @ R[:, -1]) > 0.95
    kernel, value = fit_rotated(along_columns, X, y, PRIOR, Bounds())
    assert value > without + 10.0
    assert abs(kernel.directions[:, -1] @ R[:, -1]) > 0.99
    assert kernel.lengthscales[-1] < 0.1 * kernel.lengthscales[0]
    np.testing.assert_allclose(kernel.directions.T @ kernel.directions, np.eye(D), atol=1e-9)
    unseen = np.random.default_rng(seed + 100).random((200, D))
    errors = [
        np.abs(Posterior(Factor(k, X), y).mean(unseen) - _like(unseen, X, R)).mean()
        for k in (kernel, along_columns)
    ]
    assert errors[0] < 0.5 * errors[1]


def _like(Z: np.ndarray, X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return the valley at other points, in the units of its values at points X."""
    both = -(((np.concatenate([X, Z]) - 0.5) @ R * np.logspace(0.0, 1.5, D)) ** 2).sum(axis=1)
    known = both[: len(X)]
    return np.asarray((both[len(X) :] - known.mean()) / known.std())


@pytest.mark.parametrize("side", [1.0, 0.2])
def test_the_value_is_the_log_posterior_of_the_kernel(side: float) -> None:
    R, X = rotation(7), np.random.default_rng(7).random((30, D))
    y = valley(X, R)
    kernel, value = fit_rotated(plain(np.ones(D)), X, y, PRIOR, Bounds(), side)
    axes = replace(plain(kernel.lengthscales, kernel.noise), scales=kernel.scales)
    Z = X @ kernel.directions
    shrunk = axes.stretched(np.full(D, side))
    objective = Objective(shrunk, Z / side, y, PRIOR, Bounds(), "column", "all")
    falling, _ = objective(objective.pack(shrunk))
    np.testing.assert_allclose(-falling * len(y), value, rtol=1e-6)


def test_a_fit_goes_on_from_an_earlier_one() -> None:
    R, X = rotation(3), np.random.default_rng(3).random((40, D))
    y = valley(X, R)
    kernel: Kernel = plain(np.ones(D))
    values = []
    for _ in range(4):
        kernel, value = fit_rotated(kernel, X, y, PRIOR, Bounds())
        values.append(value)
    assert values[-1] > values[0] + 1.0


def test_flat_values_have_no_direction() -> None:
    X = np.random.default_rng(0).random((12, D))
    kernel, value = fit_rotated(plain(np.ones(D)), X, np.zeros(12), PRIOR, Bounds())
    assert np.isfinite(value)
    assert np.isfinite(kernel.gram(X)).all()


# what travels ------------------------------------------------------------------------------------


def recorded(seed: int = 0) -> tuple[Domain, Fitted]:
    domain = make_domain(*[None] * D)
    kernel = Rotated.of(plain(np.array([0.5, 1.0, 2.0, 3.0, 4.0])), rotation(seed))
    return domain, Fitted(kernel, 30, 2, -3.5).rounded(domain)


def test_what_is_written_is_what_is_read() -> None:
    domain, fitted = recorded()
    text = json.dumps(fitted.to_json(domain.names), allow_nan=False)
    again = Fitted.from_json(json.loads(text), domain)
    assert again is not None
    assert again.identity == fitted.identity
    assert isinstance(again.kernel, Rotated)
    np.testing.assert_allclose(again.kernel.directions, rotation(0), atol=1e-5)
    _, other = recorded(seed=1)
    assert other.identity != fitted.identity


def test_columns_are_known_by_name() -> None:
    domain, fitted = recorded()
    swapped = Domain(domain.names[::-1], domain.grids[::-1], domain.categorical[::-1])
    again = Fitted.from_json(fitted.to_json(domain.names), swapped)
    assert again is not None
    X = np.random.default_rng(0).random((6, D))
    np.testing.assert_allclose(again.kernel.gram(X[:, ::-1]), fitted.kernel.gram(X), atol=1e-12)


@pytest.mark.parametrize(
    "rows",
    [
        None,
        3.0,
        "text",
        [],
        [[1.0]],
        np.zeros((D, D)).tolist(),
        np.full((D, D), 2.0).tolist(),
        np.full((D, D), np.nan).tolist(),
        np.eye(D)[:4].tolist(),
        [[1.0], [1.0, 2.0]],
        [["a"] * D] * D,
        [[10**400] * D] * D,
    ],
)
def test_other_directions_are_not_read(rows: object) -> None:
    domain, fitted = recorded()
    data = {**fitted.to_json(domain.names), "directions": rows}
    assert Fitted.from_json(data, domain) is None
