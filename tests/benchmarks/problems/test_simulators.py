"""Simulators: known answers, and what the seed draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.suites import simulators


FITS = ("wave-6", "predators-6", "epidemic-10")
DRAWN = (*FITS, "antenna-20", "windfarm-24", "heating-18", "landing-10", "landing-20")
OF_DATA = {"irises-12": "iris", "wines-39": "wine"}


def made(name: str, seed: int = 0) -> Problem:
    if name in OF_DATA:
        pytest.importorskip("sklearn")
    return catalogue.make(name, seed)


@pytest.mark.parametrize("name", simulators.FAMILY)
def test_values_are_finite_differ_and_are_above_the_bound(name: str) -> None:
    problem = made(name)
    corners = [np.zeros(problem.dim), np.ones(problem.dim), np.full(problem.dim, 0.5)]
    X = [*corners, *np.random.default_rng(0).random((10, problem.dim))]
    values = np.array([problem.evaluate(x) for x in X])
    assert np.isfinite(values).all()
    assert (values > problem.optimum).all()
    assert len(set(values[3:])) == 10
    again = made(name, 1)
    same = [again.evaluate(x) for x in X] == values.tolist()
    assert same == (name not in DRAWN)


@pytest.mark.parametrize("name", FITS)
def test_a_fit_of_the_true_parameters_is_perfect(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = np.full(catalogue.make(name, 0).dim, 0.45)

    class Drawn:
        """Draws what the true parameters stand for."""

        def uniform(self, low: object, high: object, size: int | None = None) -> np.ndarray:
            return true if size else -6.4 + 12.75 * true

    monkeypatch.setattr(simulators, "generator", lambda name, seed: Drawn())
    problem = simulators.FAMILY[name](name, 0)
    assert problem.evaluate(true) == pytest.approx(0.0, abs=1e-20)
    assert problem.evaluate(true + 0.01) > 1e-6


def test_systems_are_integrated_as_by_scipy() -> None:
    def slope(y: np.ndarray) -> np.ndarray:
        return np.array([y[0] - 0.5 * y[0] * y[1], 0.4 * y[0] * y[1] - y[1]])

    start = np.array([2.0, 1.0])
    states = simulators._integrated(slope, start, 0.1, 100)
    times = 0.1 * np.arange(101)
    known = solve_ivp(lambda t, y: slope(y), (0.0, 10.0), start, t_eval=times, rtol=1e-9)
    np.testing.assert_allclose(states, known.y.T, rtol=1e-3)


def test_six_atoms_of_least_energy_are_an_octahedron() -> None:
    def energy(side: float) -> float:
        pairs = np.array([side] * 12 + [2.0**0.5 * side] * 3) ** -6.0
        return float((pairs**2 - 2.0 * pairs).sum())

    side = float(minimize(lambda s: energy(s[0]), [1.0]).x[0])
    square = side * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    tops = side * np.array([[0.5, 0.5, z] for z in (0.5**0.5, -(0.5**0.5))])
    free = np.concatenate([square[2, :2], square[3], *tops]) / 3.0 + 0.5
    problem = made("atoms-12")
    found = problem.evaluate(np.concatenate([[side / 2.5], free]))
    assert found == pytest.approx(energy(side), abs=1e-9)
    assert found == pytest.approx(problem.optimum, abs=1e-5)


def test_twelve_charges_of_least_energy_are_an_icosahedron() -> None:
    golden = (1.0 + 5.0**0.5) / 2.0
    corners = [[0.0, a, b * golden] for a, b in itertools.product((1.0, -1.0), repeat=2)]
    P = np.concatenate([np.roll(corners, k, axis=1) for k in range(3)])
    P = P / np.sqrt(1.0 + golden**2)
    x = np.empty(24)
    x[::2], x[1::2] = (1.0 - P[:, 2]) / 2.0, np.arctan2(P[:, 1], P[:, 0]) / (2.0 * np.pi) % 1.0
    problem = made("charges-24")
    assert problem.evaluate(x) == pytest.approx(problem.optimum, abs=1e-8)


@pytest.mark.parametrize("name", ["atoms-18", "charges-16"])
def test_climbs_end_at_the_known_least_energy(name: str) -> None:
    problem = made(name)
    rng = np.random.default_rng(0)
    ends = [
        minimize(problem.evaluate, rng.random(problem.dim), bounds=problem.bounds).fun
        for _ in range(3)
    ]
    assert min(ends) == pytest.approx(problem.optimum, abs=1e-4)


def test_the_widest_packing_of_eight_points() -> None:
    a = (3.0**0.5 - 1.0) / 2.0
    sides = [[0.5, 0.5 - a], [0.5, 0.5 + a], [0.5 - a, 0.5], [0.5 + a, 0.5]]
    corners = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    problem = made("packing-16")
    x = np.array(corners + sides).ravel()
    assert problem.evaluate(x) == pytest.approx(problem.optimum)


def test_a_radar_s_code_is_what_the_sums_of_the_competition_say() -> None:
    x = np.random.default_rng(1).random(16)
    angles, n = 2.0 * np.pi * x, 16
    sums = []
    for i in range(1, n + 1):
        first = [angles[abs(2 * i - j - 1) : j].sum() for j in range(i, n + 1)]
        sums.append(float(np.cos(first).sum()))
        if i < n:
            second = [angles[abs(2 * i - j) : j].sum() for j in range(i + 1, n + 1)]
            sums.append(0.5 + float(np.cos(second).sum()))
    assert made("radar-16").evaluate(x) == pytest.approx(max(map(abs, sums)))


def test_a_truss_of_the_known_best_areas_holds() -> None:
    # Haftka & Guerdal 1992, table of the ten-bar truss with limits of stress and displacement.
    areas = [30.52, 0.1, 23.2, 15.22, 0.1, 0.551, 7.457, 21.04, 21.53, 0.1]
    weight = made("truss-10").evaluate((np.array(areas) - 0.1) / 34.0)
    assert weight == pytest.approx(5060.9, rel=2e-3)


def test_lone_turbines_lose_nothing() -> None:
    lost = simulators._windfarm(np.random.default_rng(0))
    assert lost(np.array([0.5, 0.5])) == pytest.approx(0.0)
    assert lost(np.array([0.5, 0.5, 0.5, 0.5])) == pytest.approx(1.0)  # too close, no wake
    near = max(lost(np.array([0.5, 0.5, 0.5 + x, 0.5 + y])) for x, y in np.eye(2) * 0.15)
    assert 0.0 < near < 1.0


def test_the_heaters_that_fit_best_fit_better_than_none() -> None:
    error = simulators._heating(np.random.default_rng(0))
    assert error(np.full(18, 0.2)) < error(np.zeros(18)) < error(np.ones(18))


@pytest.mark.parametrize("thrust", [0.0, 9.8 / 25.0])
def test_a_rocket_that_stays_upright_falls_as_newton_says(thrust: float) -> None:
    land = simulators._landing(np.random.default_rng(0))
    rng = np.random.default_rng(0)
    across, drift = rng.uniform(-30.0, 30.0), rng.uniform(-5.0, 5.0)
    k = np.arange(1, 81)
    speed = -10.0 + 0.2 * k * (25.0 * thrust - 9.8)
    n = int(k[100.0 + 0.2 * np.cumsum(speed) <= 0.0][0])
    missed = 0.3 * abs(across + 0.2 * n * drift) + abs(drift) + abs(speed[n - 1])
    fuel = 0.3 * 0.2 * n * thrust
    assert land(np.repeat([thrust, 0.5], 5)) == pytest.approx(missed + fuel)


def test_a_pole_that_nothing_moves_hangs() -> None:
    assert made("pole-24").evaluate(np.full(24, 0.5)) == pytest.approx(2.0)


@pytest.mark.parametrize("name", OF_DATA)
def test_centres_of_clusters_are_those_of_scikit_learn(name: str) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    problem = made(name)
    found = cluster.KMeans(3, n_init=5, random_state=0).fit(simulators._scaled(OF_DATA[name]))
    assert problem.evaluate(found.cluster_centers_.ravel()) == pytest.approx(found.inertia_)
