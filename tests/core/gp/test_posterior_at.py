"""A posterior at several points: its moments are those of single points, its gradients theirs."""

from __future__ import annotations

import numpy as np
import pytest
from histories import make_domain
from histories import make_kernel
from histories import make_posterior

from optuna_hdbo._core.gp.posterior import PosteriorAt


@pytest.mark.parametrize("columns", [(None, None, None), (None, "3", 5)])
def test_moments_and_gradients(columns: tuple[int | str | None, ...]) -> None:
    domain = make_domain(*columns)
    posterior, _, _ = make_posterior(domain, make_kernel(domain), n=9)
    Z = domain.sample(np.random.default_rng(1), 4)
    at = PosteriorAt(posterior, Z)
    mean, variance = posterior.predict(Z)
    np.testing.assert_allclose(at.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(at.variance, variance, rtol=1e-9)
    by_mean, by_variance = np.array([1.0, 0.0, 2.0, -1.0]), np.array([0.0, 1.0, -0.5, 3.0])
    gradients = at.gradients(by_mean, by_variance)
    for c in range(len(domain)):
        if domain.categorical[c]:
            assert not gradients[:, c].any()
            continue
        ends = []
        for h in (1e-5, -1e-5):
            moved = Z.copy()
            moved[:, c] += h
            mean, variance = posterior.predict(moved)
            ends.append(by_mean * mean + by_variance * variance)
        numeric = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(gradients[:, c], numeric, rtol=1e-4, atol=1e-6)


def test_variances_at_their_floor_have_no_slope() -> None:
    domain = make_domain(None, None)
    posterior, X, _ = make_posterior(domain, make_kernel(domain, noise=1e-14), n=6)
    at = PosteriorAt(posterior, X)
    floored = at.variance <= 1e-10 * posterior.kernel.variance
    assert floored.any()
    assert not at.gradients(np.zeros(6), np.ones(6))[floored].any()


def test_components_of_one_group() -> None:
    domain = make_domain(None, None, None)
    posterior, _, _ = make_posterior(domain, make_kernel(domain, groups=[[0, 2], [1]]), n=9)
    Z = domain.sample(np.random.default_rng(1), 4)
    kernel = posterior.kernel.only(0)
    at = PosteriorAt(posterior, Z, kernel)
    mean, variance = posterior.predict(Z, kernel)
    np.testing.assert_allclose(at.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(at.variance, variance, rtol=1e-9)
    gradients = at.gradients(np.ones(4), np.zeros(4))
    assert not gradients[:, 1].any()
    ends = [posterior.predict(Z + np.array([h, 0.0, 0.0]), kernel)[0] for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(gradients[:, 0], (ends[0] - ends[1]) / 2e-5, rtol=1e-4)
