"""Long studies, here short ones: what is measured of them."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import endurance
from optuna_hdbo.benchmarks.measure.endurance import Endurance


def test_what_is_measured() -> None:
    found = endurance.measure("SOOSampler", "ackley-20", 0, 30)
    assert len(found.cpu) == len(found.regret) == len(found.memory) == 30
    assert np.all(found.cpu > 0)
    assert np.all(np.diff(found.regret) <= 0)
    assert np.all(np.isnan(found.memory) | (found.memory > 10))


def test_the_slope_leaves_the_first_third_out() -> None:
    memory = np.concatenate([np.linspace(0, 900, 100), 1000 + 0.02 * np.arange(200)])
    found = Endurance(np.ones(300), np.arange(300, 0, -1.0), memory)
    assert found.slope() == pytest.approx(20.0)
    line = endurance.row("x", "p", found)
    assert line == "| p | `x` | " + ", ".join(["1e+03"] * 6) + " | 1004 | 20 | 201 | 101 | 1 |"


def test_the_command_makes_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rivals", "random", "--problems", "ackley-20", "--trials", "12"]
    assert cli.main(["endurance", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("| ackley-20 | `random` | ")
    assert cli.main(["endurance", *arguments, "--seed", "1000"]) == 2


def test_several_objectives_are_refused_before_anything_is_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problems = ["--problems", "ackley-10,spheres-10", "--seed", "1000"]
    assert cli.main(["endurance", "--rivals", "random", "--trials", "12", *problems]) == 2
    assert capsys.readouterr().err == "problem must have one objective, but got spheres-10.\n"
