"""gamma of GP-MI against Algorithm 1, run point by point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference_mi
from histories import DOMAINS
from histories import make_domain
from histories import make_kernel

from optuna_hdbo._core.acquisition.information import gained
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior


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
