"""Grad-IS against finite differences of the posterior, and what a score means."""

from __future__ import annotations

import numpy as np
import pytest
from histories import affordable
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from work import counted

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.variables import grad_is as importance
from optuna_hdbo._core.variables.grad_is import grad_is


def by_differences(posterior: Posterior, points: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Return the mean of |d mean / d x_i| / std, by central differences of predictions."""
    std = np.sqrt(posterior.predict(points)[1])
    scores = []
    for i in range(points.shape[1]):
        above, below = points.copy(), points.copy()
        above[:, i] += h
        below[:, i] -= h
        rise = posterior.predict(above)[0] - posterior.predict(below)[0]
        scores.append(np.mean(np.abs(rise) / (2 * h) / std))
    return np.array(scores)


@pytest.mark.parametrize("kind", ["se", "matern32", "matern52"])
@pytest.mark.parametrize("groups", [None, [[0, 3], [1]]])
def test_scores_are_mean_slopes_in_standard_deviations(kind: str, groups: None) -> None:
    domain = Domain.continuous(4)
    posterior, _, _ = make_posterior(domain, make_kernel(domain, groups, kind), n=15)
    m = affordable(300, 40)
    scores = grad_is(posterior, domain, m, np.random.default_rng(7))
    points = domain.sample(np.random.default_rng(7), m)
    assert scores == pytest.approx(by_differences(posterior, points), rel=1e-3, abs=1e-6)
    if groups is not None:
        assert scores[2] == 0.0  # in no group


def test_points_in_several_pieces_are_points_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = make_domain(None, "3", 5, None)
    posterior, _, _ = make_posterior(domain, make_kernel(domain), n=10)
    whole = grad_is(posterior, domain, 50, np.random.default_rng(0))
    monkeypatch.setattr(importance, "N_AT_ONCE", 7)
    pieces = grad_is(posterior, domain, 50, np.random.default_rng(0))
    assert pieces == pytest.approx(whole, rel=1e-12)


def test_discrete_scores_are_mean_differences_by_brute_force() -> None:
    """All pairs of different values, at every point, instead of one pair drawn."""
    domain = make_domain(None, "3", 5)
    posterior, _, _ = make_posterior(domain, make_kernel(domain, seed=5), n=15)
    m = affordable(4000, 150)
    scores = grad_is(posterior, domain, m, np.random.default_rng(1))
    points = domain.sample(np.random.default_rng(2), affordable(1000, 40))
    std = np.sqrt(posterior.predict(points)[1])
    for c in (1, 2):
        grid = domain.grids[c]
        assert grid is not None
        changes, distances = [], []
        for p in grid:
            for q in grid[grid != p]:
                here, there = points.copy(), points.copy()
                here[:, c], there[:, c] = p, q
                own = np.sqrt(posterior.predict(here)[1])
                change = np.abs(posterior.predict(there)[0] - posterior.predict(here)[0])
                changes.append(np.mean(change / own))
                distances.append(1.0 if c == 1 else abs(p - q) / (grid[-1] - grid[0]))
        expected = np.mean(changes) / np.mean(distances)
        assert scores[c] == pytest.approx(expected, rel=affordable(1, 4) * 0.08)
    assert std.min() > 0.0


def test_pending_points_shrink_the_standard_deviation_only() -> None:
    domain = Domain.continuous(2)
    kernel = make_kernel(domain)
    rng = np.random.default_rng(0)
    X, P = rng.random((8, 2)), rng.random((30, 2))
    y = X[:, 0] - X[:, 1]
    alone = Posterior(Factor(kernel, X), y)
    joined = Posterior(Factor(kernel, np.concatenate([X, P])), y)
    without, with_pending = (
        grad_is(p, domain, 100, np.random.default_rng(0)) for p in (alone, joined)
    )
    assert (with_pending > without).all()
    assert with_pending[0] / with_pending[1] == pytest.approx(without[0] / without[1], rel=0.5)


def test_many_points_are_few_products_of_matrices() -> None:
    """No loop over points in Python, and no more points in memory than are taken at once."""
    domain = Domain.continuous(affordable(50, 5))
    n, n_points = affordable(200, 10), affordable(10_000, 2_000)
    posterior, _, _ = make_posterior(domain, make_kernel(domain), n=n)
    with counted() as work:
        grad_is(posterior, domain, n_points, np.random.default_rng(0))
    assert work.calls == n_points // importance.N_AT_ONCE
    assert work.largest == importance.N_AT_ONCE * n
