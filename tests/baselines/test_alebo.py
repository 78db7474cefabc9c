"""ALEBO: its map, its polytope, its kernel, and its searches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.embeddings.inside import KEY
from optuna_hdbo._core.embeddings.mahalanobis import Mahalanobis
from optuna_hdbo._core.embeddings.mahalanobis import fit
from optuna_hdbo._core.embeddings.mahalanobis import log_posterior
from optuna_hdbo._core.embeddings.polytope import climb
from optuna_hdbo._core.embeddings.polytope import spherical
from optuna_hdbo._core.embeddings.polytope import walk
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.likelihood import likelihood
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.streams import Streams
from optuna_hdbo.methods.baselines.alebo import ALEBO
from optuna_hdbo.methods.baselines.alebo import FIT


EMBEDDING = spherical(Domain.continuous(30), 3, key=4)
RNG = np.random.default_rng(0)
Y = walk(EMBEDDING, np.zeros((14, 3)), np.random.default_rng(1))
VALUES = np.sin(Y[:, 0]) - 0.5 * Y[:, 1]
ROOT = np.triu(np.random.default_rng(2).uniform(0.2, 0.9, (3, 3)))


def test_the_map_inverts_projections_on_the_sphere() -> None:
    """x = B^+ y, every column of B uniform on the unit sphere."""
    B = np.linalg.pinv(EMBEDDING.matrix)
    np.testing.assert_allclose(np.linalg.norm(B, axis=0), 1.0)
    assert np.abs(B.mean(axis=1)).max() < 0.35
    np.testing.assert_allclose(EMBEDDING.unclipped(EMBEDDING.units(Y)) @ B.T, Y, atol=1e-9)


def test_random_points_are_inside_and_everywhere() -> None:
    points = walk(EMBEDDING, np.zeros((affordable(2000, 300), 3)), RNG)
    assert np.abs(points @ EMBEDDING.matrix.T).max() <= 1.0 + 1e-9
    shares = np.abs(points).max(axis=0) / EMBEDDING.half
    assert (shares <= 1.0 + 1e-9).all()
    assert (shares > 0.75).all()
    np.testing.assert_allclose(points.mean(axis=0) / EMBEDDING.half, 0.0, atol=0.1)


def test_the_box_of_one_coordinate_is_exact() -> None:
    line = spherical(Domain.continuous(5), 1, key=0)
    assert line.half[0] == pytest.approx(1.0 / np.abs(line.matrix).max())


def test_with_a_diagonal_root_the_likelihood_is_that_of_lengthscales() -> None:
    lengthscales = np.array([0.5, 2.0, 1.3])
    theta = np.concatenate([np.diag(1.0 / lengthscales)[np.triu_indices(3)], np.log([0.7, 0.05])])
    value, _ = log_posterior(theta, Y, VALUES, Prior("flat", scale=False, noise=False))
    plain = np.zeros(3, np.bool_)
    kernel = Kernel("se", (np.arange(3),), lengthscales, np.array([0.7]), 0.05, plain)
    assert value == pytest.approx(likelihood(kernel, Y, VALUES))


def test_the_gradient_is_that_of_differences() -> None:
    theta = np.concatenate([ROOT[np.triu_indices(3)], np.log([0.7, 0.05])])
    prior = Prior("flat")
    _, gradient = log_posterior(theta, Y, VALUES, prior)
    for i, step in enumerate(1e-6 * np.eye(len(theta))):
        above, below = (log_posterior(theta + s, Y, VALUES, prior)[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-5)


def test_the_posterior_is_that_of_the_mahalanobis_kernel() -> None:
    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        gaps = A[:, None] - B[None]
        return 0.7 * np.exp(-0.5 * np.einsum("ijk,kl,ijl->ij", gaps, ROOT.T @ ROOT, gaps))

    posterior = Mahalanobis(ROOT, 0.7, 0.05, 14).posterior(Y[:12], VALUES[:12], Y[:0])
    mean, variance = posterior.predict(Y[12:] @ ROOT.T)
    K = kernel(Y[:12], Y[:12]) + 0.05 * np.eye(12)
    k = kernel(Y[12:], Y[:12])
    np.testing.assert_allclose(mean, k @ np.linalg.solve(K, VALUES[:12]), atol=1e-9)
    explained = np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    np.testing.assert_allclose(variance, 0.7 - explained, atol=1e-9)


def height(model: Mahalanobis, values: np.ndarray = VALUES) -> float:
    return log_posterior(model.theta, Y, values, Prior("flat"))[0]


def test_a_fit_is_likelier_than_its_start_and_survives_its_record() -> None:
    start = Mahalanobis.cold(EMBEDDING.half)
    fitted = fit([start], Y, VALUES)
    assert height(fitted) > height(start) + 5.0
    again = Mahalanobis.from_json(fitted.to_json(), 3)
    assert again is not None
    np.testing.assert_array_equal(again.root, fitted.root)
    assert Mahalanobis.from_json(fitted.to_json(), 2) is None


def test_a_fit_that_has_lost_directions_finds_them_again() -> None:
    """Where rows of U are 0, so are their slopes. A climb from there stays there."""
    lost = Mahalanobis(np.triu(ROOT * [[1.0], [0.0], [0.0]]), 1.0, 1e-3, 14)
    shares = Y / EMBEDDING.half
    smooth = shares @ [1.0, -2.0, 0.5] + shares[:, 1] ** 2
    alone = fit([lost], Y, smooth)
    assert not alone.root[1:].any()
    both = fit([Mahalanobis.cold(EMBEDDING.half), lost], Y, smooth)
    assert height(both, smooth) > height(alone, smooth) + 1.0


def test_the_next_fit_does_not_start_from_a_lost_one_alone() -> None:
    ledger = Ledger.started(Domain.continuous(30), 1, lambda x: float(np.sin(5 * x[0]) - x[1]))
    method = ALEBO(d=3, n_init=4, n_cyc=1)
    ledger.run(method, 8)
    record = ledger.records[-1]
    lost = Mahalanobis(np.triu(ROOT * [[1.0], [0.0], [0.0]]), 1.0, 1e-3, 4)
    ledger.records[-1] = replace(record, data={**record.data, FIT: lost.to_json()})
    suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(0))
    fitted = Mahalanobis.from_json((suggestion.record or {})[FIT], 3)
    assert fitted is not None
    assert np.linalg.norm(fitted.root, axis=1).min() > 0.0


GOOD: dict[str, Any] = {"root": [1.0] * 6, "scale": 1.0, "noise": 0.1, "n": 3}


@pytest.mark.parametrize(
    "changes",
    [
        {"root": "x"},
        {"root": [1.0] * 5},
        {"root": [float("nan")] * 6},
        {"root": [1e9] * 6},
        {"scale": 0.0},
        {"noise": float("inf")},
        {"n": -1},
        {"n": 1.5},
        {"n": True},
    ],
)
def test_records_that_are_no_fit_are_refused(changes: dict[str, Any]) -> None:
    assert Mahalanobis.from_json(GOOD, 3) is not None
    assert Mahalanobis.from_json({**GOOD, **changes}, 3) is None
    assert Mahalanobis.from_json(None, 3) is None


def test_climbs_stay_inside_and_go_up() -> None:
    fitted = Mahalanobis(ROOT, 1.0, 0.01, 14)
    improvement = Analytic.log_ei(fitted.posterior(Y, VALUES, Y[:0]), 0.5)
    grid = walk(EMBEDDING, np.zeros((affordable(4000, 400), 3)), RNG)
    best = float(improvement(grid @ ROOT.T).max())
    found = [climb(EMBEDDING, improvement, ROOT, y, RNG) for y in Y[:4]]
    for (y, value), start in zip(found, Y[:4], strict=True):
        assert np.abs(EMBEDDING.matrix @ y).max() <= 1.0 + 1e-9
        assert value >= improvement((ROOT @ start)[None])[0]
    assert max(value for _, value in found) > best - 0.1


def test_nothing_is_clipped() -> None:
    ledger = Ledger.started(Domain.continuous(30), 1, lambda x: float(x[0] - x[1]))
    method = ALEBO(d=4, n_init=3)
    ledger.run(method, affordable(10, 5))
    embedding = spherical(ledger.domain, 4, ledger.records[0].data[KEY]["key"])
    U = np.array([record.data[KEY]["u"] for record in ledger.records])
    assert np.abs(embedding.unclipped(U)).max() <= 1.0 + 1e-6


def test_an_optimum_of_few_of_many_columns_is_found() -> None:
    ledger = Ledger.started(
        Domain.continuous(30), 1, lambda x: -float((x[3] - 0.6) ** 2 + (x[11] - 0.4) ** 2)
    )
    ledger.run(ALEBO(d=4), affordable(25, 6))
    assert max(ledger.values) > affordable(-0.01, -0.5)
