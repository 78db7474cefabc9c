"""Confidence schedules against their formulas, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta


@pytest.mark.parametrize(("t", "d"), [(1, 1), (10, 3), (200, 40)])
def test_the_practical_schedule(t: int, d: int) -> None:
    assert root_beta("practical", t, d, 50, 7) ** 2 == pytest.approx(0.2 * d * math.log(2 * t))


@pytest.mark.parametrize(("t", "d", "n_columns", "n_groups"), [(1, 1, 1, 1), (30, 3, 10, 4)])
def test_the_theorem(t: int, d: int, n_columns: int, n_groups: int) -> None:
    expected = 2 * math.log(n_groups * math.pi**2 * t**2 / 0.2)
    expected += 2 * d * math.log(n_columns * t**3)
    assert root_beta("theory", t, d, n_columns, n_groups) ** 2 == pytest.approx(expected)
    rarely = root_beta("theory", t, d, n_columns, n_groups, delta=1e-6) ** 2
    assert rarely - expected == pytest.approx(2 * math.log(0.1 / 1e-6))
    assert math.isfinite(root_beta("theory", t, d, n_columns, n_groups, delta=1e-320))


def test_numbers_and_callables() -> None:
    assert root_beta(4, 1, 1, 1) == 2.0
    assert root_beta(0.0, 1, 1, 1) == 0.0
    assert root_beta(lambda t: float(t), 9, 1, 1) == 3.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
def test_a_callable_that_returns_nonsense_is_named(value: float) -> None:
    with pytest.raises(ArithmeticError, match=r"^beta must return .* returned .* at t = 7\.$"):
        root_beta(lambda t: value, 7, 1, 1)


@pytest.mark.parametrize("beta", [0, 0.0, 3, 1e6, "practical", "theory", lambda t: 1.0])
def test_accepted(beta: Any) -> None:
    check_beta(beta)


def test_numpy_numbers_are_numbers() -> None:
    for beta in (np.float64(2.0), np.float32(2.0), np.int64(2), np.int8(0)):
        check_beta(beta)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "beta", [-1, -1e-9, math.nan, math.inf, -math.inf, "x", "", True, None, [1.0]]
)
def test_refused(beta: Any) -> None:
    with pytest.raises(ValueError, match=r"^beta must be .* but got ") as error:
        check_beta(beta)
    assert repr(beta) in str(error.value)


def test_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^beta must be"):
        check_beta(np.array([1.0, 2.0]))  # type: ignore[arg-type]
