"""Problems with constraints: their optima, and what is reported of samplers."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import constrained
from optuna_hdbo.benchmarks.measure.constrained import PROBLEMS


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_optimum_is_the_best_feasible_point(name: str) -> None:
    problem, constraints = PROBLEMS[name].problem, PROBLEMS[name].constraints
    assert np.all(constraints(problem.argopt) <= 1e-12)
    assert problem.evaluate(problem.argopt) == pytest.approx(problem.optimum, abs=1e-12)
    rng = np.random.default_rng(0)
    low, high = problem.bounds.T
    near = problem.argopt + 0.05 * rng.standard_normal((2000, len(low)))
    for x in np.clip(
        np.concatenate([near, rng.uniform(low, high, (20_000, len(low)))]), low, high
    ):
        if np.all(constraints(x) <= 0.0):
            assert problem.evaluate(x) >= problem.optimum - 1e-9


def test_islands_are_small() -> None:
    U = np.random.default_rng(0).uniform(0, 6, (20_000, 2))
    share = np.mean([np.all(PROBLEMS["islands-2"].constraints(x) <= 0.0) for x in U])
    assert 0.01 < share < 0.02


def test_only_feasible_trials_count() -> None:
    found = constrained.execute("islands-2", "random", seed=0, n_trials=150)
    assert 0 < found["feasible"] < 10
    assert found["first"] < 150
    assert 0.0 <= found["regret"] < 6.0
    nothing = constrained.execute("ackley-10", "random", seed=0, n_trials=20)
    assert nothing["feasible"] == 0
    assert nothing["first"] == nothing["regret"] == np.inf


def test_the_command_makes_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rivals", "random,SOOSampler", "--seeds", "0-1", "--trials", "12"]
    assert cli.main(["constraints", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 2 * len(PROBLEMS)
    assert lines[2].startswith("| islands-2 | 12 | 2 | `random` | ")
    assert cli.main(["constraints", *arguments, "--problems", "levy-20"]) == 2
    assert "problem must be one of islands-2, ackley-10" in capsys.readouterr().err
