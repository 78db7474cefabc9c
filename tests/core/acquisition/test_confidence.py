"""Confidence schedules against their formulas, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference_mi
from histories import DOMAINS
from histories import make_domain
from histories import make_kernel

from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import gained
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior


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


# gamma of GP-MI, against Algorithm 1, run point by point.


@pytest.mark.parametrize("name", ["continuous", "mixed"])
@pytest.mark.parametrize("kind", ["se", "matern52"])
@pytest.mark.parametrize("noise", [1e-3, 0.2])
def test_gamma_is_a_function_of_the_observations(name: str, kind: str, noise: float) -> None:
    domain = DOMAINS[name]
    kernel = make_kernel(domain, kind=kind, noise=noise)
    kernel = replace(kernel, scales=2.5 * kernel.scales)
    X = domain.sample(np.random.default_rng(0), 12)
    at_once = gained(Posterior(Factor(kernel, X), np.zeros(12)))
    factor = Factor(kernel, X[:5])
    factor.append(X[5:])
    grown = gained(Posterior(factor, np.zeros(12)))
    expected = reference_mi.gamma(kernel, X)
    assert at_once == pytest.approx(expected, rel=1e-10)
    assert grown == pytest.approx(expected, rel=1e-10)


def test_gamma_of_each_group() -> None:
    domain = make_domain(None, None, "3", None)
    kernel = make_kernel(domain, [[0, 2], [1], [3]], noise=0.01)
    X = domain.sample(np.random.default_rng(1), 10)
    posterior = Posterior(Factor(kernel, X), np.zeros(10))
    for j in range(3):
        expected = reference_mi.gamma(kernel, X, kernel.only(j))
        assert gained(posterior, j) == pytest.approx(expected, rel=1e-9)
    assert gained(posterior) == pytest.approx(reference_mi.gamma(kernel, X), rel=1e-10)


def test_pending_points_count_as_chosen() -> None:
    domain = DOMAINS["continuous"]
    kernel = make_kernel(domain)
    X = domain.sample(np.random.default_rng(2), 9)
    some = gained(Posterior(Factor(kernel, X[:6]), np.zeros(6)))
    pending = gained(Posterior(Factor(kernel, X), np.zeros(6)))
    assert pending == gained(Posterior(Factor(kernel, X), np.zeros(9)))
    assert pending > some


def test_units_do_not_matter() -> None:
    domain = DOMAINS["continuous"]
    kernel = make_kernel(domain)
    larger = replace(kernel, scales=100.0 * kernel.scales, noise=100.0 * kernel.noise)
    X = domain.sample(np.random.default_rng(3), 9)
    one, other = (gained(Posterior(Factor(k, X), np.zeros(9))) for k in (kernel, larger))
    assert one == pytest.approx(other, rel=1e-12)


def test_a_repeated_point_tells_next_to_nothing() -> None:
    domain = DOMAINS["continuous"]
    kernel = make_kernel(domain, noise=1e-6)
    x = domain.sample(np.random.default_rng(4), 1)
    once = gained(Posterior(Factor(kernel, x), np.zeros(1)))
    often = gained(Posterior(Factor(kernel, np.repeat(x, 5, axis=0)), np.zeros(5)))
    assert once == pytest.approx(1.0, rel=1e-12)
    assert 0.0 <= often - once < 1e-5
