"""The compiled sensitivities against finite differences of a textbook posterior mean."""

from __future__ import annotations

import numpy as np
import pytest
import reference as slow
from compiled import entry
from histories import make_domain
from histories import make_kernel

from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.variables.grad_is import sensitivities
from optuna_hdbo._jit import radial as jit


weighted = entry(jit.weighted)


DOMAIN = make_domain(None, 4, "3", None, "2", 7)


def mean(kernel: Kernel, F: np.ndarray, f: np.ndarray, alpha: np.ndarray) -> float:
    k = slow.covariances(kernel.code, F, f, kernel.hamming, kernel.starts, kernel.scales)
    return float(k @ alpha)


@pytest.mark.parametrize("kind", ["se", "matern32", "matern52"])
@pytest.mark.parametrize("groups", [[[0, 1, 2, 3, 4, 5]], [[2, 0], [5, 3, 4]], [[1]]])
def test_sensitivities(kind: str, groups: list[list[int]]) -> None:
    kernel = make_kernel(DOMAIN, groups, kind, seed=2)
    rng = np.random.default_rng(1)
    n, m = 12, 5
    F = kernel.features(DOMAIN.sample(rng, n))
    G = kernel.features(DOMAIN.sample(rng, m))
    H = kernel.features(DOMAIN.sample(rng, m))
    alpha = rng.standard_normal(n)
    differs = DOMAIN.discrete[kernel.columns]
    K, out = sensitivities(kernel, F, G, H, differs, alpha)
    for a in range(m):
        f = G[:, a]
        k = slow.covariances(kernel.code, F, f, kernel.hamming, kernel.starts, kernel.scales)
        assert K[a] == pytest.approx(k, rel=1e-10)
        for c in range(len(f)):
            above, below = f.copy(), f.copy()
            if differs[c]:
                above[c] = H[c, a]
                expected = mean(kernel, F, above, alpha) - mean(kernel, F, f, alpha)
                assert out[c, a] == pytest.approx(expected, rel=1e-8, abs=1e-10)
            else:
                above[c] += 1e-5
                below[c] -= 1e-5
                rise = mean(kernel, F, above, alpha) - mean(kernel, F, below, alpha)
                assert out[c, a] == pytest.approx(rise / 2e-5, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", ["se", "matern32", "matern52"])
def test_weighted_covariances(kind: str) -> None:
    rng = np.random.default_rng(0)
    r2, alpha = rng.uniform(0, 9, 20), rng.standard_normal(20)
    code = make_kernel(DOMAIN, kind=kind).code
    expected = slow.radial(code, r2) @ alpha
    assert weighted(code, r2, alpha) == pytest.approx(expected, rel=1e-10)
