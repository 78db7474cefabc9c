"""What is reported of samplers with pruners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import optuna
import pytest
from optuna.trial import FixedTrial
from optuna.trial import TrialState

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import noisy
from optuna_hdbo.benchmarks.measure import pruning
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.suites.training import Training


def test_curves_fall_to_nothing() -> None:
    problem = catalogue.make("hartmann6-6", 3)
    spread = noisy.spread(problem)
    gaps = pruning.curves(problem, spread)
    rng = np.random.default_rng(0)
    at = np.array([gaps(x) for x in rng.uniform(*problem.bounds.T, (400, 6))])
    assert at.shape == (400, 27)
    assert (np.diff(at, axis=1) < 0.0).all()
    assert (at[:, -1] == 0.0).all()
    # How high a curve begins differs, and so does how fast it falls.
    first = at[:, 0] / spread
    assert 0.2 < first.std() < 1.0
    assert (at[:, 8] / at[:, 0]).std() > 0.1


def test_all_steps_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    studies: list[optuna.Study] = []
    create = optuna.create_study

    def remember(**kwargs: object) -> optuna.Study:
        studies.append(create(**kwargs))  # type: ignore[arg-type]
        return studies[-1]

    monkeypatch.setattr(optuna, "create_study", remember)
    third, whole = pruning.execute("hartmann6-6", "random", "halving", seed=0, n_trials=12)
    (study,) = studies
    steps = [len(trial.intermediate_values) for trial in study.trials]
    assert 12 * 27 <= sum(steps) < 13 * 27
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
    problem = catalogue.make("hartmann6-6", 0)

    def regret(n: int) -> float:
        ended = np.cumsum(steps) <= n
        return min(
            problem.regret(problem.evaluate(np.array(list(trial.params.values()))))
            for trial, early in zip(study.trials, ended, strict=True)
            if early and trial.state == TrialState.COMPLETE
        )

    assert whole == regret(12 * 27) <= third == regret(4 * 27)


def test_training_ends_where_a_trial_is_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    trained = catalogue.make("quantiles-kernel", 0)
    assert isinstance(trained, Training)
    studies: set[optuna.Study] = set()
    n_steps = 0

    def counted(trial: optuna.Trial) -> Iterator[float]:
        nonlocal n_steps
        studies.add(trial.study)
        for loss in trained.losses(trial):
            n_steps += 1
            yield loss

    counting = replace(trained, losses=counted)
    monkeypatch.setattr(catalogue, "make", lambda name, seed: counting)
    third, whole = pruning.execute("quantiles-kernel", "random", "halving", seed=0, n_trials=6)
    (study,) = studies
    reported = [list(trial.intermediate_values.values()) for trial in study.trials]
    assert n_steps == sum(map(len, reported)) >= 6 * 27
    assert min(map(len, reported)) < 27
    assert whole == study.best_value <= third
    for trial, losses in zip(study.trials, reported, strict=True):
        whole_again = trained.losses(FixedTrial(trial.params))  # type: ignore[arg-type]
        assert losses == list(islice(whole_again, len(losses)))


def test_the_command_makes_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rivals", "random,SOOSampler", "--seeds", "0-1", "--trials", "12"]
    assert cli.main(["pruning", *arguments, "--pruners", "median,halving"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 2 * 2
    assert lines[2].startswith("| hartmann6-6 | median | 12 | 2 | `random` | ")


def test_a_problem_without_steps(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rivals", "random", "--seeds", "0", "--problems", "jenatton"]
    assert cli.main(["pruning", *arguments]) == 2
    assert (
        "problem must be trained step by step or have nothing but real parameters, "
        "but got jenatton"
    ) in capsys.readouterr().err


def test_an_unknown_pruner(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rivals", "random", "--seeds", "0", "--pruners", "none"]
    assert cli.main(["pruning", *arguments]) == 2
    assert "pruner must be one of median, halving, hyperband, but got none" in (
        capsys.readouterr().err
    )
