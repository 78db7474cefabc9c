"""Compiled searches over subspaces against slow twins and the acquisition itself."""

from __future__ import annotations

import numpy as np
import pytest
import reference_mi
from histories import DOMAINS
from histories import make_kernel
from histories import make_posterior

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._jit import subspace as jit


def arrays(
    domain: Domain, d: int, seed: int = 0
) -> tuple[Analytic, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    posterior, _, _ = make_posterior(domain, make_kernel(domain), 9, seed)
    anchors = domain.sample(rng, 4)
    columns = np.array([np.sort(rng.choice(len(domain), d, replace=False)) for _ in range(4)])
    free = np.zeros(anchors.shape, np.bool_)
    np.put_along_axis(free, columns.astype(np.int64), True, axis=1)
    return Analytic.ucb(posterior, 1.3), anchors, columns.astype(np.int64), free


@pytest.mark.parametrize("name", ["continuous", "mixed"])
@pytest.mark.parametrize("d", [0, 2, 5])
def test_outside_distances(name: str, d: int) -> None:
    acquisition, anchors, _, free = arrays(DOMAINS[name], d)
    F, kernel = acquisition.posterior.features, acquisition.kernel
    G = kernel.features(anchors)
    out = np.full((4, F.shape[1]), np.nan)
    jit.outside_distances(F, kernel.hamming, G, free, out)
    expected = reference_mi.outside_distances(F, kernel.hamming, G, free)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["continuous", "mixed"])
@pytest.mark.parametrize("d", [0, 1, 3, 5])
def test_scores_are_those_of_whole_points(name: str, d: int) -> None:
    """What is computed from d columns and one distance is the acquisition of the D columns."""
    domain = DOMAINS[name]
    acquisition, anchors, columns, free = arrays(domain, d)
    kernel, posterior = acquisition.kernel, acquisition.posterior
    outside = np.empty((4, len(posterior.X)))
    jit.outside_distances(
        posterior.features, kernel.hamming, kernel.features(anchors), free, outside
    )
    rng = np.random.default_rng(1)
    points = np.stack(
        [np.where(f, domain.sample(rng, 3), a) for f, a in zip(free, anchors, strict=True)]
    )
    candidates = np.stack([p[:, c] for p, c in zip(points, columns, strict=True)])
    scores = np.empty((4, 3))
    jit.score(
        acquisition.model,
        outside,
        columns,
        candidates * kernel.inverse[columns][:, None, :],
        acquisition.code,
        np.array(acquisition.p),
        scores,
    )
    expected = acquisition(points.reshape(-1, len(domain))).reshape(4, 3)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
