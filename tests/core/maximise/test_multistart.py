"""The maximiser against dense grids, brute force and SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from histories import DOMAINS
from histories import affordable
from histories import is_admissible
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from scipy.optimize import minimize

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.direct import direct
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.multistart import along_axes
from optuna_hdbo._core.maximise.multistart import candidates
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.points import MAX_ENUMERATED
from optuna_hdbo._core.points import unknown_near


SMALL: dict[str, Domain] = {
    "line": make_domain(None),
    "square": make_domain(None, None),
    "grid": make_domain(40, 9),
    "choices": make_domain("5", "40"),
    "half": make_domain(None, 25),
    "choice": make_domain("4", None),
}

small = pytest.mark.parametrize("domain", list(SMALL.values()), ids=list(SMALL))


def lattice(domain: Domain, n: int) -> np.ndarray:
    """Return every configuration, with n values in place of an interval."""
    axes = [np.linspace(0.0, 1.0, n) if grid is None else grid for grid in domain.grids]
    return np.array(list(itertools.product(*axes)))


def problem(domain: Domain, seed: int, n: int = 12) -> tuple[Posterior, np.ndarray, np.ndarray]:
    kernel = make_kernel(domain, seed=seed)
    kernel.lengthscales[:] *= 0.4
    posterior, X, y = make_posterior(domain, kernel, n, seed)
    return posterior, X, X[np.argsort(-y)[:5]]


@small
@pytest.mark.parametrize("seed", range(affordable(4, 1)))
@pytest.mark.parametrize("kind", ["ucb", "log-ei"])
def test_nothing_on_a_dense_grid_is_better(domain: Domain, seed: int, kind: str) -> None:
    posterior, X, best = problem(domain, seed)
    if kind == "ucb":
        acquisition = Analytic.ucb(posterior, 1.5)
    else:
        acquisition = Analytic.log_ei(posterior, float(posterior.predict(X)[0].max()))
    effort = Effort(n_uniform=400, n_starts=8)
    rng = np.random.default_rng(seed)
    x = maximise(acquisition, domain, best, X[:0], rng, effort=effort)
    assert is_admissible(domain, x)
    values = acquisition(lattice(domain, affordable(301, 31)))
    assert acquisition(x[None])[0] >= values.max() - (1e-2 if kind == "log-ei" else 1e-3)


@small
@pytest.mark.parametrize("seed", range(affordable(4, 1)))
def test_direct_finds_what_a_dense_grid_finds(domain: Domain, seed: int) -> None:
    posterior, _, _ = problem(domain, seed)
    acquisition = Analytic.ucb(posterior, 1.5)
    x = direct(acquisition, domain, 1000)
    assert is_admissible(domain, x)
    values = acquisition(lattice(domain, affordable(301, 21)))
    assert acquisition(x[None])[0] >= values.max() - 1e-3


@pytest.mark.parametrize("domain", list(DOMAINS.values()), ids=list(DOMAINS))
def test_candidates_are_admissible(domain: Domain) -> None:
    rng = np.random.default_rng(0)
    best = domain.sample(rng, 7)
    free = np.ones(len(domain), np.bool_)
    for x in candidates(domain, best, free, Effort(), rng):
        assert is_admissible(domain, x)
    assert len(candidates(domain, best, free, Effort(n_uniform=0, n_perturbed=3), rng)) == 3


def test_perturbed_candidates_move_few_columns_of_many() -> None:
    domain = make_domain(*[None] * 200)
    rng = np.random.default_rng(0)
    best = domain.sample(rng, 1)
    pool = candidates(domain, best, np.ones(200, np.bool_), Effort(n_uniform=0), rng)
    far = pool[len(pool) // 2 :]
    moved = (far != best).sum(axis=1)
    assert moved.min() >= 1
    assert 10 <= moved.mean() <= 30


@pytest.mark.parametrize("name", ["mixed", "continuous", "discrete"])
def test_only_free_columns_move(name: str) -> None:
    domain = DOMAINS[name]
    posterior, X, best = problem(domain, 0)
    acquisition = Analytic.ucb(posterior, 2.0)
    for columns in ([0], [1, 2], [len(domain) - 1]):
        free = np.zeros(len(domain), np.bool_)
        free[columns] = True
        rng = np.random.default_rng(1)
        found = maximise(acquisition, domain, best, X, rng, free=free)
        for x in (found, *candidates(domain, best, free, Effort(), rng)):
            assert is_admissible(domain, x)
            assert np.array_equal(x[~free], best[0][~free])


def test_an_exhausted_part_stays_within_itself() -> None:
    domain = make_domain(3, 4, None)
    posterior, _, best = problem(domain, 0)
    free = np.array([True, False, False])
    everything = np.repeat(best[:1], 3, axis=0)
    everything[:, 0] = domain.grids[0]
    acquisition = Analytic.ucb(posterior, 1.0)
    rng = np.random.default_rng(0)
    x = maximise(acquisition, domain, best, everything, rng, free=free)
    assert np.array_equal(x[1:], best[0][1:])


def test_a_known_point_is_not_returned() -> None:
    for domain in SMALL.values():
        posterior, _, best = problem(domain, 1)
        acquisition = Analytic.ucb(posterior, 1.0)
        known = np.empty((0, len(domain)))
        for _ in range(affordable(6, 2)):
            x = maximise(acquisition, domain, best, known, np.random.default_rng(0))
            assert not (known == x).all(axis=1).any()
            known = np.concatenate([known, x[None]])


def test_the_last_unknown_configuration_is_found() -> None:
    domain = make_domain(7, "11", 13)
    everything = lattice(domain, 0)
    free = np.ones(3, np.bool_)
    for i in (0, 500, 1000):
        known = np.delete(everything, i, axis=0)
        x = unknown_near(domain, known[3], known, np.random.default_rng(0), free)
        assert np.array_equal(x, everything[i])
    x = unknown_near(domain, everything[3], everything, np.random.default_rng(0), free)
    assert np.array_equal(x, everything[3])


class _Counting:
    """A quadratic function that counts where it is evaluated, and where climbs begin."""

    def __init__(self) -> None:
        self.n_points = 0
        self.n_starts: list[int] = []

    def __call__(self, X: np.ndarray) -> np.ndarray:
        self.n_points += len(X)
        return np.asarray(-((X - 0.5) ** 2).sum(axis=1))

    def ascend(
        self, X: np.ndarray, free: np.ndarray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[np.ndarray, np.ndarray]:
        self.n_starts.append(len(X))
        return X, self(X)


def test_thousands_of_columns_get_fewer_candidates() -> None:
    """Up to a thousand columns there are as many as ever, whatever the effort."""
    effort, found = Effort().at(1), {}
    for n_columns in (2, 1000, 10_000):
        domain, counting = make_domain(*[None] * n_columns), _Counting()
        best = np.full((1, n_columns), 0.5)
        rng = np.random.default_rng(0)
        maximise(counting, domain, best, best, rng, effort=effort)  # type: ignore[arg-type]
        found[n_columns] = counting.n_starts, counting.n_points
    assert found[2] == found[1000]
    assert found[1000][0] == [48, 6]
    assert found[10_000][0] == [10, 2]
    assert found[10_000][1] < 0.3 * found[1000][1]


@pytest.mark.parametrize("n_columns", [1000, 4000])
def test_points_along_axes_do_not_fill_the_memory(n_columns: int) -> None:
    domain, counting = make_domain(*[None] * n_columns), _Counting()
    centre, known = np.full(n_columns, 0.25), np.empty((0, n_columns))
    x = along_axes(domain, centre, counting, np.random.default_rng(0), known)  # type: ignore[arg-type]
    assert (x != centre).sum() == 1
    assert abs(x[x != centre][0] - 0.5) < 0.1
    n_points = counting.n_points - sum(counting.n_starts)
    assert n_points == min(8 * n_columns, 16_000_000 // n_columns)


def test_large_grids_are_not_enumerated() -> None:
    domain = make_domain(10_000, "3")
    posterior, X, best = problem(domain, 0)
    acquisition = Analytic.ucb(posterior, 1.0)
    moved = maximise(acquisition, domain, best, X, np.random.default_rng(0))
    assert is_admissible(domain, moved)
    assert MAX_ENUMERATED < 100


def test_bounds_are_reached_exactly() -> None:
    domain = make_domain(None, None, None)
    kernel = make_kernel(domain)
    kernel.lengthscales[:] = 2.0
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 0.8, (20, 3))
    y = X @ np.array([1.0, -1.0, 0.0])
    posterior = Posterior(Factor(kernel, X), (y - y.mean()) / y.std())
    acquisition = Analytic.ucb(posterior, 0.0)
    x = maximise(acquisition, domain, X[np.argsort(-y)[:5]], X, rng)
    assert x[0] == 1.0
    assert x[1] == 0.0


@pytest.mark.parametrize("kind", ["ucb", "log-ei"])
@pytest.mark.parametrize("seed", range(affordable(3, 1)))
def test_a_hundred_columns_against_scipy(kind: str, seed: int) -> None:
    """Not more than 1 % below the best of 20 climbs of L-BFGS-B from random points."""
    n_columns = affordable(100, 8)
    domain = make_domain(*[None] * n_columns)
    kernel = make_kernel(domain, seed=seed)
    kernel.lengthscales[:] *= np.sqrt(n_columns)
    posterior, X, y = make_posterior(domain, kernel, affordable(150, 20), seed)
    if kind == "ucb":
        acquisition = Analytic.ucb(posterior, 0.5)
    else:
        acquisition = Analytic.log_ei(posterior, float(y.max()))
    rng = np.random.default_rng(seed)
    good = X[np.argsort(-y)[:7]]
    x = maximise(acquisition, domain, good, X, rng)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        h = 1e-6
        shifted = np.concatenate([x[None], x + h * np.eye(n_columns)])
        values = acquisition(shifted)
        return -values[0], -(values[1:] - values[0]) / h

    best = -np.inf
    for start in rng.random((affordable(20, 2), n_columns)):
        found = minimize(
            objective, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * n_columns
        )
        best = max(best, -found.fun)
    # log-EI is a logarithm: 1 % of the improvement itself
    margin = 0.01 if kind == "log-ei" else 0.01 * abs(best)
    assert acquisition(x[None])[0] >= best - margin


@pytest.mark.parametrize("domain", list(DOMAINS.values()), ids=list(DOMAINS))
@pytest.mark.parametrize("seed", range(affordable(3, 1)))
def test_along_axes_one_column_moves_and_none_promises_more(domain: Domain, seed: int) -> None:
    posterior, X, best = problem(domain, seed)
    acquisition = Analytic.ucb(posterior, 2.0)
    x = along_axes(domain, best[0], acquisition, np.random.default_rng(seed), X)
    assert is_admissible(domain, x)
    assert (x != best[0]).sum() == 1
    every = []
    for c, grid in enumerate(domain.grids):
        values = np.linspace(0.0, 1.0, 101) if grid is None else grid
        moved = np.repeat(best[:1], len(values), axis=0)
        moved[:, c] = values
        every.append(moved)
    pool = np.concatenate(every)
    taken = {row.tobytes() for row in X}
    pool = np.array([row for row in pool if row.tobytes() not in taken])
    # Points are drawn, not enumerated, and a climb follows the best of them only.
    assert acquisition(x[None])[0] >= np.quantile(acquisition(pool), 0.97) - 1e-9


def test_along_axes_of_an_exhausted_line_another_column_moves() -> None:
    domain = make_domain(3, 4)
    posterior, _, best = problem(domain, 0)
    known = np.array([row for row in lattice(domain, 2) if (row != best[0]).sum() <= 1])
    acquisition = Analytic.ucb(posterior, 1.0)
    x = along_axes(domain, best[0], acquisition, np.random.default_rng(0), known)
    assert is_admissible(domain, x)
    assert not (known == x).all(axis=1).any()
