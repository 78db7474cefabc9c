"""Climbs down a function whose gradient is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.optimize import rosen
from scipy.optimize import rosen_der

from optuna_hdbo._core.descent import ValueAndSlope
from optuna_hdbo._core.descent import descended


CENTRE = np.array([0.3, -2.0, 5.0])

STEEPNESS = np.array([1.0, 10.0, 0.1])


def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the value and the gradient of a quadratic function."""
    return float(STEEPNESS @ (x - CENTRE) ** 2), 2.0 * STEEPNESS * (x - CENTRE)


def test_value_and_slope_are_those_of_one_point() -> None:
    split, here, there = ValueAndSlope(bowl), np.zeros(3), np.ones(3)
    assert split.value(here) == bowl(here)[0]
    np.testing.assert_array_equal(split.slope(here), bowl(here)[1])
    np.testing.assert_array_equal(split.slope(there), bowl(there)[1])  # without the value


def test_a_climb_computes_every_point_once() -> None:
    seen = []

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(x.tobytes())
        return bowl(x)

    descended(counted, np.zeros(3), np.array([[-9.0, 9.0]] * 3))
    assert len(seen) == len(set(seen)) > 2


def test_a_climb_ends_at_the_minimum_within_the_box() -> None:
    """The minimum of a separable bowl within a box is its centre, clipped."""
    box = np.array([[-1.0, 1.0], [-1.0, 1.0], [2.0, 9.0]])
    end, value = descended(bowl, np.full(3, 99.0), box, gtol=1e-9)
    np.testing.assert_allclose(end, [0.3, -1.0, 5.0], atol=1e-6)
    assert value == pytest.approx(10.0)


@pytest.mark.parametrize(
    "options", [{}, {"maxiter": 5}, {"maxfun": 7}, {"ftol": 1e-3}, {"gtol": 1.0}]
)
def test_options_are_those_of_scipy(options: dict[str, float]) -> None:
    start, box = np.array([-1.2, 1.0, 0.5]), np.array([[-2.0, 2.0]] * 3)
    end, value = descended(lambda x: (rosen(x), rosen_der(x)), start, box, **options)  # type: ignore[arg-type]
    expected = minimize(
        rosen, start, jac=rosen_der, method="L-BFGS-B", bounds=box, options=options
    )
    np.testing.assert_array_equal(end, expected.x)
    assert value == expected.fun


def test_fixed_numbers_do_not_shorten_the_steps_of_others() -> None:
    """A fixed number with an enormous gradient changes nothing."""
    box = np.array([[-9.0, 9.0], [1.0, 1.0], [-9.0, 9.0]])
    seen: list[np.ndarray] = []

    def steep(x: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(x.copy())
        value, slope = bowl(x)
        return value, slope + np.array([0.0, 1e9 * x[0], 0.0])

    end, _ = descended(steep, np.zeros(3), box)
    np.testing.assert_allclose(end, [0.3, 1.0, 5.0], atol=1e-4)
    assert len(seen) < 15
    assert all(x[1] == 1.0 for x in seen)
