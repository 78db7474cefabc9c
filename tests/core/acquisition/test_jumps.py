"""Improvements where noise is a part of the objective: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from scipy.stats import norm

from optuna_hdbo._core.acquisition.analytic import REACH
from optuna_hdbo._core.acquisition.analytic import log_jump_improvement
from optuna_hdbo._core.acquisition.analytic import unknown_share


DOMAIN = make_domain(None, None, "3")


def test_the_nearest_known_point_says_what_is_unknown() -> None:
    rng = np.random.default_rng(0)
    Z, known = DOMAIN.sample(rng, 7), DOMAIN.sample(rng, 5)
    expected = [
        1.0 - np.exp(-(min(np.linalg.norm(z - x) for x in known) ** 2) / REACH**2) for z in Z
    ]
    np.testing.assert_allclose(unknown_share(Z, known), expected, rtol=1e-9)
    np.testing.assert_allclose(unknown_share(known, known), 0.0, atol=1e-12)
    np.testing.assert_array_equal(unknown_share(Z, known[:0]), 1.0)


@pytest.mark.parametrize("noise", [1e-3, 0.4])
def test_unknown_jumps_are_a_part_of_the_improvement(noise: float) -> None:
    posterior, X, _ = make_posterior(DOMAIN, make_kernel(DOMAIN, noise=noise))
    Z = np.concatenate([DOMAIN.sample(np.random.default_rng(1), 6), X[:2]])
    mean, variance = posterior.predict(Z)
    std = np.sqrt(variance + noise * unknown_share(Z, X))
    gap = mean - 0.4
    expected = gap * norm.cdf(gap / std) + std * norm.pdf(gap / std)
    found = log_jump_improvement(posterior, 0.4, Z, X)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-6, atol=1e-12)
