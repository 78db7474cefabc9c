"""What is reported of samplers under noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import optuna
import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import noisy
from optuna_hdbo.benchmarks.problems import catalogue


def test_the_spread_is_that_of_random_values() -> None:
    problem = replace(catalogue.make("levy-20", 0), evaluate=lambda x: 3.0 * x[0], optimum=-30.0)
    low, high = problem.bounds[0]
    assert noisy.spread(problem) == pytest.approx(1.5 * (high - low), rel=0.05)


def test_without_noise_the_best_trial_is_the_best_point() -> None:
    found = noisy.execute("hartmann6-6", "random", seed=0, n_trials=20, level=0.0)
    more = noisy.execute("hartmann6-6", "random", seed=0, n_trials=40, level=0.0)
    assert 0.0 < more["best"] <= found["best"] < 3.4
    assert found["believed"] >= found["best"]
    assert found["cpu"] > 0.0


def test_regrets_are_without_noise() -> None:
    clean, loud = (
        noisy.execute("hartmann6-6", "random", seed=0, n_trials=20, level=level)
        for level in (0.0, 1e3)
    )
    assert clean["best"] < loud["best"] < 3.4


def test_the_noise_has_the_level_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    tell = optuna.Study.tell

    def listen(study: optuna.Study, trial: optuna.Trial, value: float) -> None:
        told.append(value)
        tell(study, trial, value)

    monkeypatch.setattr(optuna.Study, "tell", listen)
    for level in (0.0, 0.5):
        noisy.execute("hartmann6-6", "random", seed=0, n_trials=400, level=level)
    clean, loud = np.split(np.array(told), 2)
    expected = 0.5 * noisy.spread(catalogue.make("hartmann6-6", 0))
    assert (loud - clean).std() == pytest.approx(expected, rel=0.1)
    assert abs((loud - clean).mean()) < 0.2 * expected


def test_the_command_makes_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rivals", "random,SOOSampler", "--seeds", "0-1", "--trials", "12"]
    assert cli.main(["noise", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 2
    assert lines[2].startswith("| hartmann6-6 | 0.3 | 12 | 2 | `random` | ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "-1"], "level must be a finite number of at least 0, but got -1.0."),
        (["--level", "nan"], "level must be a finite number"),
        (["--problems", "jenatton"], "problem must have nothing but real parameters"),
        (["--problems", "zdt1"], "problem must have one objective, but got zdt1."),
        (["--problems", "levi-20"], "problem must be one of"),
        (["--trials", "0"], "n_trials must be"),
        (["--rivals", "nobody"], "nobody"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_run(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["noise", "--rivals", "random", "--seeds", "0", *arguments]
    assert cli.main(given) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], "3 (2, 4)"),
        ([1.0, 2.0, 3.0, np.inf, np.inf], "3 (2, inf)"),
        ([1.0, 2.0, 3.0, np.inf], "2.5 (1.75, inf)"),
        ([np.inf], "inf (inf, inf)"),
    ],
)
def test_studies_without_a_completed_trial_are_worse_than_all_others(
    values: list[float], expected: str
) -> None:
    assert noisy.quartiles(values) == expected
