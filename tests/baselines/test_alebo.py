"""ALEBO: its map, its polytope, its kernel, and its searches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from scipy.optimize import linprog
from scipy.stats import norm

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.embeddings.inside import KEY
from optuna_hdbo._core.embeddings.mahalanobis import PRIOR
from optuna_hdbo._core.embeddings.mahalanobis import SMALLEST_CURVATURE
from optuna_hdbo._core.embeddings.mahalanobis import Averaged
from optuna_hdbo._core.embeddings.mahalanobis import Mahalanobis
from optuna_hdbo._core.embeddings.mahalanobis import curvatures
from optuna_hdbo._core.embeddings.mahalanobis import draws
from optuna_hdbo._core.embeddings.mahalanobis import fit
from optuna_hdbo._core.embeddings.mahalanobis import log_posterior
from optuna_hdbo._core.embeddings.polytope import climb
from optuna_hdbo._core.embeddings.polytope import spherical
from optuna_hdbo._core.embeddings.polytope import walk
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.likelihood import likelihood
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.streams import Streams
from optuna_hdbo.methods.baselines import alebo
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
    return log_posterior(model.theta, Y, values, PRIOR)[0]


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


def test_the_next_fit_does_not_start_from_a_lost_one_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = Ledger.started(Domain.continuous(30), 1, lambda x: float(np.sin(5 * x[0]) - x[1]))
    method = ALEBO(d=3, n_init=4, n_cyc=1, n_restarts=2)
    ledger.run(method, 6)
    record = ledger.records[-1]
    lost = Mahalanobis(np.triu(ROOT * [[1.0], [0.0], [0.0]]), 1.0, 1e-3, 4)
    ledger.records[-1] = replace(record, data={**record.data, FIT: lost.to_json()})
    starts: list[Mahalanobis] = []

    def spy(given: list[Mahalanobis], *rest: Any) -> Mahalanobis:
        starts.extend(given)
        return fit(given, *rest)

    monkeypatch.setattr(alebo, "fit", spy)
    method.suggest(ledger.domain, ledger.seen(), Streams(0))
    ranks = [np.linalg.matrix_rank(start.root) for start in starts]
    assert ranks == [3, 3, 3, 1]


def test_random_starts_are_those_of_random_subspaces() -> None:
    """Gamma = (T A)^T T A, T of orthonormal rows, is at most A^T A; over many T, d / D of it."""
    A = EMBEDDING.matrix
    gammas = [start.root.T @ start.root for start in starts_at_random(affordable(400, 100))]
    for gamma in gammas[:5]:
        assert np.linalg.eigvalsh(A.T @ A - gamma).min() > -1e-9
    np.testing.assert_allclose(np.mean(gammas, axis=0), A.T @ A * 3 / 30, rtol=0.2, atol=0.03)


def starts_at_random(n: int) -> list[Mahalanobis]:
    rng = np.random.default_rng(8)
    return [Mahalanobis.random(EMBEDDING, rng) for _ in range(n)]


@pytest.mark.parametrize("start", [Mahalanobis.cold(EMBEDDING.half), *starts_at_random(1)])
def test_numbers_of_a_fit_are_read_back(start: Mahalanobis) -> None:
    again = Mahalanobis.of(start.theta, start.n)
    np.testing.assert_array_equal(again.root, start.root)
    assert (again.scale, again.noise) == (start.scale, pytest.approx(start.noise))


def test_more_starts_find_likelier_fits() -> None:
    cold = Mahalanobis.cold(EMBEDDING.half)
    wavy = np.sin(6.0 * (Y @ EMBEDDING.matrix[3])) + 0.1 * VALUES
    alone = fit([cold], Y, wavy, noise=1e-7)
    many = fit([cold, *starts_at_random(8)], Y, wavy, noise=1e-7)
    assert height(many, wavy) > height(alone, wavy) + 0.1


def test_a_known_noise_is_kept() -> None:
    assert fit([Mahalanobis.cold(EMBEDDING.half)], Y, VALUES, noise=0.02).noise == 0.02


FITTED = Mahalanobis(ROOT, 1.0, 0.01, 14)


def test_curvatures_are_second_differences_of_the_log_posterior() -> None:
    theta = FITTED.theta
    at = log_posterior(theta, Y, VALUES, PRIOR)[0]
    for i, found in enumerate(curvatures(FITTED, Y, VALUES)):
        step = 1e-3 * np.eye(len(theta))[i]
        above, below = (log_posterior(theta + s, Y, VALUES, PRIOR)[0] for s in (step, -step))
        assert found == pytest.approx((2.0 * at - above - below) / 1e-6, rel=1e-2, abs=1e-3)


def test_draws_are_normal_around_the_fit() -> None:
    """The first is the fit, and the others have the variances 1 / curvature."""
    upper = np.triu_indices(3)
    models = draws(FITTED, Y, VALUES, affordable(4000, 1000), np.random.default_rng(3))
    assert models[0].root.tolist() == ROOT.tolist()
    roots = np.array([model.root for model in models[1:]])
    assert not np.tril(roots, -1).any()
    assert {(model.scale, model.noise) for model in models} == {(1.0, 0.01)}
    spread = np.maximum(curvatures(FITTED, Y, VALUES), 0.0) + SMALLEST_CURVATURE
    entries = roots[:, upper[0], upper[1]]
    np.testing.assert_allclose(entries.var(axis=0) * spread, 1.0, atol=0.15)
    shares = (entries.mean(axis=0) - ROOT[upper]) * np.sqrt(spread)
    np.testing.assert_allclose(shares, 0.0, atol=0.15)
    assert draws(FITTED, Y, VALUES, 1, RNG) == [FITTED]


def test_moments_are_those_of_the_mixture() -> None:
    """Monte Carlo: a kernel is drawn, then a value from its posterior."""
    models = [FITTED, replace(FITTED, root=2.0 * ROOT), replace(FITTED, root=0.2 * ROOT)]
    mean, variance = Averaged(models, Y[:9], VALUES[:9], Y[:0]).predict(Y[9:12])
    rng = np.random.default_rng(5)
    sampled = []
    for model in models:
        m, v = model.posterior(Y[:9], VALUES[:9], Y[:0]).predict(Y[9:12] @ model.root.T)
        sampled.append(m + np.sqrt(v) * rng.standard_normal((40000, 3)))
    mixture = np.concatenate(sampled)
    np.testing.assert_allclose(mean, mixture.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(variance, mixture.var(axis=0), rtol=0.03)


def test_improvements_are_those_of_the_moments() -> None:
    models = [FITTED, replace(FITTED, root=1.5 * ROOT)]
    model = Averaged(models, Y[:9], VALUES[:9], Y[:0])
    mean, variance = model.predict(Y[9:])
    std = np.sqrt(variance)
    z = (mean - model.incumbent) / std
    expected = std * (norm.pdf(z) + z * norm.cdf(z))
    np.testing.assert_allclose(model.log_ei(Y[9:]), np.log(expected), rtol=1e-6)
    assert model.incumbent == pytest.approx(model.predict(Y[:9])[0].max())
    for y in Y[9:12]:
        value, gradient = model.slope(y)
        assert value == pytest.approx(float(model.log_ei(y[None])[0]))
        for i, step in enumerate(1e-5 * np.eye(3)):
            above, below = (model.slope(y + s)[0] for s in (step, -step))
            assert gradient[i] == pytest.approx((above - below) / 2e-5, rel=1e-3, abs=1e-5)


def test_an_improvement_expected_at_a_pending_point_counts_as_made() -> None:
    alone = Averaged([FITTED], Y[:9], -np.ones(9), Y[:0])
    aware = Averaged([FITTED], Y[:9], -np.ones(9), Y[9:10])
    assert aware.incumbent == pytest.approx(float(alone.predict(Y[9:10])[0][0]))
    assert aware.incumbent > alone.incumbent


def test_pending_points_are_not_asked_for_again() -> None:
    alone = Averaged([FITTED, FITTED], Y[:9], VALUES[:9], Y[:0])
    aware = Averaged([FITTED, FITTED], Y[:9], VALUES[:9], Y[9:10])
    assert aware.log_ei(Y[9:10])[0] < alone.log_ei(Y[9:10])[0] - 0.1
    np.testing.assert_allclose(aware.predict(Y[9:])[0], alone.predict(Y[9:])[0], atol=1e-9)


@pytest.mark.parametrize(
    ("setting", "value"), [("n_restarts", -1), ("n_draws", 0), ("noise", 0.0), ("noise", 2.0)]
)
def test_wrong_settings_are_named(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{setting} must be .* but got {value}"):
        ALEBO(**{setting: value})


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


def test_climbs_end_at_the_best_point_of_the_polytope() -> None:
    """A linear objective is largest at a corner, which a linear program finds."""
    direction = np.array([0.3, -1.0, 0.7])
    corner = linprog(
        -direction,
        A_ub=np.concatenate([EMBEDDING.matrix, -EMBEDDING.matrix]),
        b_ub=np.ones(60),
        bounds=(None, None),
    )
    y, value = climb(EMBEDDING, lambda y: (float(direction @ y), direction), Y[0])
    assert value == pytest.approx(-corner.fun, rel=1e-5)
    assert np.abs(EMBEDDING.matrix @ y).max() <= 1.0 + 1e-9


def test_climbs_beat_many_random_points() -> None:
    model = Averaged([FITTED, replace(FITTED, root=1.3 * ROOT)], Y, VALUES, Y[:0])
    grid = walk(EMBEDDING, np.zeros((affordable(4000, 400), 3)), RNG)
    values = model.log_ei(grid)
    starts = grid[np.argsort(-values)[:3]]
    found = [climb(EMBEDDING, model.slope, y) for y in starts]
    assert max(value for _, value in found) > values.max() + 1e-3
    for y, value in found:
        assert np.abs(EMBEDDING.matrix @ y).max() <= 1.0 + 1e-9
        assert value == pytest.approx(float(model.log_ei(y[None])[0]))


def test_a_climb_without_a_better_point_stays() -> None:
    """The gradient promises more everywhere, and no other point has it."""

    def slope(y: np.ndarray) -> tuple[float, np.ndarray]:
        return (0.0 if (y == Y[0]).all() else -1.0), np.ones(3)

    y, value = climb(EMBEDDING, slope, Y[0])
    np.testing.assert_array_equal(y, Y[0])
    assert value == 0.0


def test_nothing_is_clipped() -> None:
    ledger = Ledger.started(Domain.continuous(30), 1, lambda x: float(x[0] - x[1]))
    method = ALEBO(d=4, n_init=3)
    ledger.run(method, affordable(10, 5))
    embedding = spherical(ledger.domain, 4, ledger.records[0].data[KEY]["key"])
    U = np.array([record.data[KEY]["u"] for record in ledger.records])
    assert np.abs(embedding.unclipped(U)).max() <= 1.0 + 1e-6


def test_what_is_asked_instead_of_a_known_point_is_not_clipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = Ledger.started(Domain.continuous(30), 1, lambda x: float(x[0] - x[1]))
    method = ALEBO(d=4, n_init=3)
    ledger.run(method, 3)
    first = ledger.records[0].data[KEY]
    embedding = spherical(ledger.domain, 4, first["key"])
    known = embedding.coordinates(np.array([first["u"]]))[0]
    monkeypatch.setattr(ALEBO, "_improve", lambda *_: known)
    ledger.run(method, 2)
    assert len(np.unique(ledger.X, axis=0)) == 6
    U = np.array([record.data[KEY]["u"] for record in ledger.records])
    assert np.abs(embedding.unclipped(U)).max() <= 1.0 + 1e-6


def test_an_optimum_of_few_of_many_columns_is_found() -> None:
    ledger = Ledger.started(
        Domain.continuous(30), 1, lambda x: -float((x[3] - 0.6) ** 2 + (x[11] - 0.4) ** 2)
    )
    ledger.run(ALEBO(d=4), affordable(25, 6), goal=affordable(-0.01, -0.5))
    assert max(ledger.values) > affordable(-0.01, -0.5)
