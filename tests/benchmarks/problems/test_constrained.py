"""Problems with constraints: their optima, and how much is feasible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from optuna_hdbo.benchmarks.problems.suites.constrained import PROBLEMS
from optuna_hdbo.benchmarks.problems.suites.constrained import Constrained


OF_COCO = [name for name in PROBLEMS if name.startswith("coco")]


def built(name: str) -> Constrained:
    if name in OF_COCO:
        pytest.importorskip("cocoex", reason="the extra [benchmarks] is not installed")
    return PROBLEMS[name](name, 0)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_optimum_is_the_best_feasible_point(name: str) -> None:
    instance = built(name)
    problem, constraints = instance.problem, instance.constraints
    exact = name in ("islands-2", "ackley-10")
    assert np.all(constraints(problem.argopt) <= (1e-12 if exact else 1e-9))
    assert problem.evaluate(problem.argopt) == pytest.approx(problem.optimum, abs=1e-12)
    rng = np.random.default_rng(0)
    low, high = problem.bounds.T
    near = problem.argopt + 0.01 * (high - low) * rng.standard_normal((2000, len(low)))
    for x in np.clip(
        np.concatenate([near, rng.uniform(low, high, (20_000, len(low)))]), low, high
    ):
        if np.all(constraints(x) <= 0.0):
            assert problem.evaluate(x) >= problem.optimum - 1e-9


@pytest.mark.parametrize("name", ["spring-3", "vessel-4", "beam-4", "reducer-7"])
def test_no_descent_from_the_optimum_of_a_design_goes_further(name: str) -> None:
    instance = built(name)
    problem, (low, high) = instance.problem, instance.problem.bounds.T

    def whole(u: np.ndarray) -> np.ndarray:
        return np.asarray(low + u * (high - low))

    unit = abs(problem.optimum)
    found = minimize(
        lambda u: problem.evaluate(whole(u)) / unit,
        (problem.argopt - low) / (high - low),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(low),
        constraints=[{"type": "ineq", "fun": lambda u: -instance.constraints(whole(u))}],
    )
    assert found.fun >= problem.optimum / unit - 1e-8


def test_published_optima() -> None:
    # Of the references that the module names, to the digits that they give.
    optima = {
        "spring-3": 0.0126652,
        "vessel-4": 5885.333,
        "beam-4": 1.724852,
        "reducer-7": 2994.471,
    }
    for name, optimum in optima.items():
        assert built(name).problem.optimum == pytest.approx(optimum, rel=1e-6, abs=5e-8)


def test_islands_are_small() -> None:
    constraints = built("islands-2").constraints
    U = np.random.default_rng(0).uniform(0, 6, (20_000, 2))
    share = np.mean([np.all(constraints(x) <= 0.0) for x in U])
    assert 0.01 < share < 0.02


def test_seeds_of_coco_are_instances() -> None:
    built("coco-f8-10")
    first, second = (PROBLEMS["coco-f8-10"]("coco-f8-10", seed) for seed in (0, 1))
    assert first.problem.optimum != second.problem.optimum
    assert len(first.constraints(first.problem.argopt)) == 3
