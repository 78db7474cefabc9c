"""Climbs that go on together: each finds the top that it would find by itself."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from optuna_hdbo._core.acquisition.climb import climb_together


TOP, CURVATURE = np.array([0.3, 0.7, 1.4, 0.5]), np.array([1.0, 50.0, 4.0, 200.0])


def bowl(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A concave function whose top is outside of the cube in the third column."""
    Z = X - TOP
    coupled = 0.3 * Z[:, :1] * Z[:, 1:2]
    values = -(CURVATURE * Z**2).sum(axis=1) - coupled[:, 0]
    gradients = -2.0 * CURVATURE * Z
    gradients[:, 0] -= 0.3 * Z[:, 1]
    gradients[:, 1] -= 0.3 * Z[:, 0]
    return values, gradients


def waves(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Many tops."""
    return np.sin(9.0 * X).sum(axis=1), 9.0 * np.cos(9.0 * X)


def starts(m: int = 7) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.0, 1.0, (m, 4))


def everything() -> np.ndarray:
    return np.ones(4, np.bool_)


def test_the_top_of_a_bowl_is_reached_at_the_exact_bound() -> None:
    X, values = climb_together(bowl, starts(), everything(), np.full(4, 0.5), 60, 1e-6)
    assert (X[:, 2] == 1.0).all()
    best = minimize(lambda x: -bowl(x[None])[0][0], np.full(4, 0.5), bounds=[(0.0, 1.0)] * 4)
    np.testing.assert_allclose(values, -best.fun, atol=1e-4)
    np.testing.assert_allclose(values, bowl(X)[0])


def test_climbs_do_not_depend_on_each_other() -> None:
    X, values = climb_together(waves, starts(), everything(), np.full(4, 0.1), 40, 1e-6)
    assert (values > waves(starts())[0]).all()
    for i, start in enumerate(starts()):
        alone, value = climb_together(waves, start[None], everything(), np.full(4, 0.1), 40, 1e-6)
        np.testing.assert_allclose(alone[0], X[i], atol=1e-9)
        np.testing.assert_allclose(value[0], values[i])
    inner = (X > 0.0) & (X < 1.0)
    assert np.abs(waves(X)[1][inner]).max() < 1e-2


def test_only_free_columns_move() -> None:
    free = np.array([True, False, True, False])
    X, _ = climb_together(bowl, starts(), free, np.full(4, 0.5), 60, 1e-6)
    np.testing.assert_array_equal(X[:, ~free], starts()[:, ~free])
    assert (X[:, 0] != starts()[:, 0]).all()


def test_a_flat_function_and_nan_leave_starts_where_they_are() -> None:
    def flat(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(X)), np.zeros(X.shape)

    def broken(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = bowl(X)
        same = (X[:, None] == starts()).all(axis=2).any(axis=1)
        return np.where(same, values, np.nan), gradients

    for function in (flat, broken):
        X, _ = climb_together(function, starts(), everything(), np.full(4, 0.5), 20, 1e-6)
        np.testing.assert_array_equal(X, starts())


def test_no_more_evaluations_than_steps_and_lengths() -> None:
    seen = []

    def counted(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(len(X))
        return waves(X)

    climb_together(counted, starts(), everything(), np.full(4, 0.1), 30, 1e-6)
    assert len(seen) < 90
    assert seen[-1] <= 7
