"""What the README's comparison says of Optuna's samplers holds for the installed release."""

from __future__ import annotations

import inspect
from typing import Any

import optuna
import pytest
from documented import ROOT
from optuna.trial import TrialState


optuna_samplers = {
    "TPESampler": optuna.samplers.TPESampler,
    "GPSampler": optuna.samplers.GPSampler,
    "CmaEsSampler": optuna.samplers.CmaEsSampler,
}
NEEDS = {"TPESampler": None, "GPSampler": "torch", "CmaEsSampler": "cmaes"}


def told(row: str) -> dict[str, str]:
    """Return the cells of a row of the comparison by sampler."""
    text = (ROOT / "README.md").read_text("utf-8")
    table = text[text.index("| | `HDBOSampler` |") :].split("\n\n")[0].splitlines()
    lines = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table]
    (found,) = (cells for cells in lines if row in cells[0])
    return dict(zip(lines[0][1:], found[1:], strict=True))


def made(name: str, **settings: Any) -> optuna.samplers.BaseSampler:
    if NEEDS[name] is not None:
        pytest.importorskip(NEEDS[name])
    sampler: optuna.samplers.BaseSampler = optuna_samplers[name](seed=0, **settings)
    return sampler


def branching(trial: optuna.Trial) -> float:
    kind = trial.suggest_categorical("kind", ["a", "b"])
    own = trial.suggest_float("only_a", 0, 1) if kind == "a" else 0.0
    return own + trial.suggest_float("x", 0, 1)


@pytest.mark.parametrize("name", list(NEEDS))
def test_categories_and_conditional_parameters(name: str) -> None:
    """What is not in the space that a sampler searches as a whole is drawn at random."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(branching, n_trials=10)
    searched = made(name).infer_relative_search_space(study, study.trials[-1])
    by_itself = name == "TPESampler"  # which models every parameter in a space of its own
    assert (told("categories")[name] == "yes") == ("kind" in searched or by_itself)
    assert ("by itself" in told("conditional")[name]) == by_itself
    assert ("at random" in told("conditional")[name]) == (not by_itself)
    assert "only_a" not in searched


@pytest.mark.parametrize("name", list(NEEDS))
def test_constraints_and_several_objectives(name: str) -> None:
    settings = inspect.signature(optuna_samplers[name]).parameters
    assert (told("constraints")[name] == "yes") == ("constraints_func" in settings)
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=made(name, n_startup_trials=1)
    )
    try:
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=3)
        allowed = True
    except ValueError:
        allowed = False
    assert (told("several objectives")[name] == "yes") == allowed


def test_pending_and_pruned_trials() -> None:
    tpe, cma = (
        inspect.signature(optuna_samplers[name]).parameters
        for name in ("TPESampler", "CmaEsSampler")
    )
    assert "pending points count" in told("several workers")["TPESampler"]
    assert "if asked to" in told("pruned")["CmaEsSampler"]
    assert cma["consider_pruned_trials"].default is False
    if int(optuna.__version__.split(".")[0]) >= 5:
        assert tpe["constant_liar"].default is True


@pytest.mark.parametrize("name", ["TPESampler", "GPSampler"])
def test_pruned_trials_count_for_one_and_not_for_the_other(name: str) -> None:
    """Suggestions differ if the pruned trials had reported other values."""
    points = []
    for sign in (1.0, -1.0):
        study = optuna.create_study(sampler=made(name, n_startup_trials=1))
        study.add_trial(trial_at(0.5, state=TrialState.COMPLETE, value=0.0))
        for i in range(20):
            reports = {0: sign * i}
            study.add_trial(trial_at(i / 20, state=TrialState.PRUNED, intermediate_values=reports))
        points.append(study.ask().suggest_float("x", 0, 1))
    assert (told("pruned")[name] == "yes") == (points[0] != points[1])


@pytest.mark.parametrize("name", list(NEEDS))
def test_failed_trials_do_not_count(name: str) -> None:
    """Suggestions are the same wherever they are."""
    points = []
    for failed in (0.0, 0.8):
        study = optuna.create_study(sampler=made(name, n_startup_trials=1))
        for i in range(12):
            study.add_trial(trial_at(i / 12, state=TrialState.COMPLETE, value=-i / 12))
        for i in range(20):
            study.add_trial(trial_at(failed + i / 100, state=TrialState.FAIL))
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        points.append(trial.params["x"])
    assert (told("fail")[name] == "yes") == (points[0] != points[1])


def trial_at(x: float, **others: Any) -> optuna.trial.FrozenTrial:
    ranges = {"x": optuna.distributions.FloatDistribution(0, 1)}
    return optuna.create_trial(params={"x": x}, distributions=ranges, **others)


def test_what_they_need() -> None:
    for name, package in NEEDS.items():
        assert told("needs")[name] == (package or "nothing")
    assert told("needs")["HDBOSampler"] == "Numba"
    assert '"numba>=' in (ROOT / "pyproject.toml").read_text("utf-8")
