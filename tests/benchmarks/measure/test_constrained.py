"""What is reported of samplers under constraints."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import constrained


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
    assert len(lines) == 2 + 2 * 2
    assert lines[2].startswith("| islands-2 | 12 | 2 | `random` | ")
    assert cli.main(["constraints", *arguments, "--problems", "levy-20"]) == 2
    assert "problem must be one of islands-2, ackley-10, spring-3" in capsys.readouterr().err
    assert cli.main(["constraints", *arguments, "--trials", "0"]) == 2
    assert "n_trials must be" in capsys.readouterr().err
