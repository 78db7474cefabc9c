"""Problems where few parameters matter: what their papers say of them."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems import selection
from optuna_hdbo.benchmarks.problems.instances import Problem


BOUNDED = [("rover-60", 1), ("rover-30", 1001), ("lasso-60", 1001), ("svm-32", 1)]


def make(name: str, seed: int) -> Problem:
    if name.startswith(("lasso", "svm")):
        pytest.importorskip("sklearn")
    return catalogue.make(name, seed)


@pytest.mark.parametrize(
    ("name", "best", "sizes"),
    [
        ("fbranin-50", 0.4417, [2, 2, 2]),
        ("fhm6-50", -3.688, [6, 6, 6]),
        ("fst4-50", -173.9, [4, 4, 4]),
    ],
)
def test_copies_weigh_less_and_less(name: str, best: float, sizes: list[int]) -> None:
    """The optima are those of the authors' runs, up to the sign."""
    problem = catalogue.make(name, 0)
    assert problem.optimum == pytest.approx(best, rel=5e-4)
    assert problem.groups is not None
    assert [len(group) for group in problem.groups] == sizes
    assert len(problem.inert) == 50 - sum(sizes)
    rng = np.random.default_rng(0)
    columns = [[int(n[1:]) for n in group] for group in problem.groups]
    changes = []
    for block in columns:
        x = rng.random((200, 50))
        moved = x.copy()
        moved[:, block] = np.roll(x[:, block], 1, axis=0)
        values = [problem.evaluate(a) - problem.evaluate(b) for a, b in zip(x, moved, strict=True)]
        changes.append(np.std(values))
    assert changes[1] / changes[0] == pytest.approx(0.1, rel=0.5)
    assert changes[2] / changes[0] == pytest.approx(0.01, rel=0.5)


def test_a_rotation_keeps_the_length_of_what_it_maps() -> None:
    problem = catalogue.make("rotatedhm6-100", 3)
    x = problem.argopt
    assert x is not None
    assert np.abs(x).max() < 1.0
    argmin = [0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053]
    assert np.linalg.norm(x) == pytest.approx(np.linalg.norm(argmin))


@pytest.mark.parametrize(("name", "seed"), BOUNDED)
def test_bounds_hold_and_seeds_draw_instances(name: str, seed: int) -> None:
    problem, again, other = (make(name, s) for s in (seed, seed, seed + 1))
    assert problem.dim == int(name.split("-")[1])
    assert problem.argopt is None
    sign = 1.0 if problem.direction == "maximize" else -1.0
    X = np.random.default_rng(0).random((10, problem.dim))
    values = np.array([problem.evaluate(x) for x in X])
    assert np.isfinite(values).all()
    assert (sign * values < sign * problem.optimum).all()
    assert np.array_equal(values, [again.evaluate(x) for x in X])
    assert not np.array_equal(values, [other.evaluate(x) for x in X])


def way(points: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(points).ravel()


def test_the_rover_pays_for_length_obstacles_and_missing_its_goal() -> None:
    straight = way(np.linspace(selection.START, selection.GOAL, 30))
    values = [catalogue.make("rover-60", seed).evaluate(straight) for seed in range(30)]
    bound = catalogue.make("rover-60", 0).optimum
    assert bound == pytest.approx(5.0 - 0.05 * 0.9 * 2**0.5)
    # Without obstacles on the way the bound is reached; each one costs 20 per length inside.
    assert max(values) == pytest.approx(bound, abs=1e-9)
    assert min(values) < bound - 20 * 0.05
    problem = catalogue.make("rover-60", int(np.argmax(values)))
    shifted = straight.copy()
    shifted[-1] -= 0.02
    assert problem.evaluate(shifted) == pytest.approx(bound - 10 * 0.02, abs=0.01)


def test_small_penalties_of_active_features_help_the_lasso() -> None:
    problem = make("lasso-60", 1001)
    assert problem.groups is not None
    active = [int(n[1:]) for n in problem.groups[0]]
    assert len(active) == 3
    base = np.full(60, 0.9)
    good, bad = base.copy(), base.copy()
    good[active] = 0.1
    bad[[i for i in range(60) if i not in active][:3]] = 0.1
    assert problem.evaluate(good) < problem.evaluate(base) < problem.evaluate(bad)
