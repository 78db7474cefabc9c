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


def test_the_suite_stands_for_all_of_its_problems() -> None:
    assert constrained.split("ackley-10,spring-3") == ["ackley-10", "spring-3"]
    names = constrained.split("islands-2,bbob-constrained")
    assert names == ["islands-2", *(f"coco-f{number}-10" for number in range(1, 55))]


@pytest.mark.parametrize(
    ("n", "name"), [(1, "coco-f7-10"), (9, "coco-f9-10"), (54, "coco-f12-10")]
)
def test_a_part_of_the_suite_has_so_many_constraints(n: int, name: str) -> None:
    names = constrained.split(f"bbob-constrained-{n}")
    assert names[1] == name
    assert len(names) == 9
    pytest.importorskip("cocoex", reason="the extra [benchmarks] is not installed")
    for problem in (constrained.PROBLEMS[name](name, 0) for name in names):
        assert len(problem.constraints(problem.problem.argopt)) == n


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
