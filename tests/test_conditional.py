"""Studies whose trials do not all have the same parameters."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import optuna
import pytest
from fakes import FakeSampler
from fuzz import compare
from histories import affordable
from optuna.trial import TrialState

import optuna_hdbo
from optuna_hdbo._study.attributes import read_suggestion


MODELLING = ("AddGPUCB", "GPMI", "GPUCB", "HDBO", "MSUCB", "TuRBO", "VSBO")


def create(name: str, **settings: Any) -> Any:
    return getattr(optuna_hdbo, f"{name}Sampler")(
        **{"seed": 0, "n_startup_trials": 6, "warn_independent_sampling": False} | settings
    )


def tree(trial: optuna.Trial) -> float:
    """A choice, a parameter per choice, a nested choice, and widths of some layers."""
    shared = trial.suggest_float("shared", 0, 1)
    kind = trial.suggest_categorical("kind", ["linear", "forest", "net"])
    if kind == "linear":
        return (trial.suggest_float("penalty", 1e-4, 1, log=True) - 0.1) ** 2 + shared + 0.2
    if kind == "forest":
        depth = trial.suggest_int("depth", 1, 12)
        if trial.suggest_categorical("bootstrap", [True, False]):
            return abs(trial.suggest_float("share", 0.1, 1.0) - 0.6) + shared**2 + depth / 50
        return 0.4 + shared + abs(depth - 6) / 10
    n = trial.suggest_int("layers", 1, 3)
    widths = [trial.suggest_int(f"width{i}", 1, 64, log=True) for i in range(n)]
    return 0.1 * n + sum((w - 20) ** 2 for w in widths) / 5000 + (shared - 0.5) ** 2


@pytest.fixture(scope="module")
def begun() -> optuna.Study:
    """A study that another sampler began."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(tree, n_trials=30)
    return study


def copied(study: optuna.Study, sampler: Any) -> optuna.Study:
    other = optuna.create_study(sampler=sampler, direction=study.direction)
    other.add_trials(study.trials)
    return other


def test_every_parameter_is_a_column(begun: optuna.Study) -> None:
    sampler = FakeSampler(seed=0)
    study = copied(begun, sampler)
    study.optimize(tree, n_trials=2)
    domain, seen = sampler.method.domains[-1], sampler.method.seen[-1]
    names = sorted({name for trial in begun.trials for name in trial.params})
    assert domain.names == tuple(names)
    assert len(seen.X) == 31
    assert np.array_equal(domain.canonical(seen.X), seen.X)
    active = domain.active(seen.X)
    for row, trial in zip(active, study.trials, strict=False):
        assert {domain.names[c] for c in np.flatnonzero(row)} == set(trial.params)


@pytest.mark.parametrize("name", MODELLING)
def test_a_trial_gets_the_parameters_of_its_branch_and_no_others(
    name: str, begun: optuna.Study
) -> None:
    """A fresh sampler asks for the same as one that has been there all the time."""
    study = copied(begun, create(name))
    for _ in range(affordable(8, 2)):
        trial = study.ask()
        expected = dict(trial.relative_params)
        compare(study, trial, create(name))
        study.tell(trial, tree(trial))
        assert trial.params == expected


@pytest.mark.parametrize("name", ["HDBO", "GPUCB"])
def test_a_study_that_another_sampler_began_is_learned_from(
    name: str, begun: optuna.Study
) -> None:
    study = copied(begun, create(name))
    study.optimize(tree, n_trials=affordable(25, 3))
    if affordable(True, False):
        assert study.best_value < begun.best_value - 0.02
        better = sum(t.value < begun.best_value for t in study.trials[30:])  # type: ignore[operator]
        assert better >= 5


def test_running_trials_of_another_branch_are_pending_points(begun: optuna.Study) -> None:
    sampler = FakeSampler(seed=0)
    study = copied(begun, sampler)
    running = study.ask()
    assert running.relative_params
    study.ask().suggest_float("shared", 0, 1)
    domain, seen = sampler.method.domains[-1], sampler.method.seen[-1]
    assert len(seen.pending) == 1
    active = domain.active(seen.pending)[0]
    assert {domain.names[c] for c in np.flatnonzero(active)} == set(running.relative_params)


def test_points_of_the_startup_are_pending_in_their_branch() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=30)
    study = optuna.create_study(sampler=sampler)
    study.optimize(tree, n_trials=29)
    open_trial = study.ask()
    assert len(open_trial.relative_params) == 10
    study.optimize(tree, n_trials=1)
    study.ask().suggest_float("shared", 0, 1)
    domain, seen = sampler.method.domains[-1], sampler.method.seen[-1]
    assert len(seen.pending) == 1
    assert np.array_equal(domain.canonical(seen.pending), seen.pending)


@pytest.mark.parametrize("name", ["SOO", "BaMSOO"])
def test_trees_keep_what_all_trials_have_and_say_so(
    name: str, begun: optuna.Study, caplog: pytest.LogCaptureFixture
) -> None:
    study = copied(begun, create(name, warn_independent_sampling=True))
    with caplog.at_level(logging.WARNING):
        for _ in range(8):
            trial = study.ask()
            assert set(trial.relative_params) == {"kind", "shared"}
            study.tell(trial, tree(trial))
    assert "HDBOSampler" in caplog.messages[0]


def test_the_rest_is_left_to_a_sampler_that_learns(begun: optuna.Study) -> None:
    """To TPE, with the same values again for the same trial."""
    drawn = []
    for _ in range(2):
        study = copied(begun, create("SOO"))
        study.optimize(lambda t: tree(t) + (t.suggest_float("new", 0, 1) - 0.8) ** 2, n_trials=60)
        drawn.append([t.params["new"] for t in study.trials[30:]])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 60
    assert np.abs(np.array(drawn[0][-20:]) - 0.8).mean() < 0.2  # .28 of uniform draws


def test_the_users_independent_sampler_wins(begun: optuna.Study) -> None:
    class Quarter(optuna.samplers.RandomSampler):
        def sample_independent(self, *_: Any) -> Any:
            return 0.25

    study = copied(begun, create("HDBO", independent_sampler=Quarter()))
    study.optimize(lambda t: tree(t) + t.suggest_float("new", 0, 1), n_trials=1)
    assert study.trials[-1].params["new"] == 0.25


def test_a_parameter_that_appears_late_is_searched(begun: optuna.Study) -> None:
    study = copied(begun, create("GPUCB"))
    study.optimize(lambda t: tree(t) + 5 * (t.suggest_float("new", 0, 1) - 0.8) ** 2, n_trials=6)
    trial = study.ask()
    assert "new" in trial.relative_params


def test_a_parameter_that_is_gone_for_no_known_reason_is_given_up() -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=2))

    def sometimes(trial: optuna.Trial) -> float:
        has = trial.number < 10 and trial.number % 2 == 0
        return trial.suggest_float("x", 0, 1) + (trial.suggest_float("old", 0, 1) if has else 0)

    study.optimize(sometimes, n_trials=28)
    assert set(study.ask().relative_params) == {"old", "x"}
    study.optimize(sometimes, n_trials=1)
    assert set(study.ask().relative_params) == {"x"}


def changed(trial: optuna.Trial) -> float:
    """Three parameters are gone from trial 20 on: a choice, one that it decides about, a float."""
    total = abs(trial.suggest_int("n", 0, 9) - 3) + abs(trial.suggest_int("m", 0, 9) - 6)
    if trial.number < 20:
        total += 20 * abs(trial.suggest_float("old", 0, 1) - 0.7)
        if trial.suggest_categorical("kind", ["plain", "own"]) == "own":
            total += 1 + trial.suggest_float("part", 0, 1)
    return total


def test_a_parameter_that_all_trials_had_is_given_up_at_once() -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=2))
    study.optimize(changed, n_trials=22)
    assert set(study.ask().relative_params) >= {"kind", "old", "m", "n"}
    study.optimize(changed, n_trials=1)
    assert set(study.ask().relative_params) == {"m", "n"}


def test_trials_that_had_it_inform_the_model() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=2)
    sampler.method.looks_outside = True  # type: ignore[attr-defined]
    study = optuna.create_study(sampler=sampler)
    study.optimize(changed, n_trials=25)
    domain, seen = sampler.method.domains[-1], sampler.method.seen[-1]
    assert domain.names == ("kind", "m", "n", "old", "part")
    assert not domain.gates
    assert [len(domain.grid(c)) for c in (0, 1, 2, 3, 4)] == [1, 10, 10, 1, 1]
    assert seen.outside.tolist() == [True] * 20 + [False] * (len(seen.X) - 20)
    assert (seen.X[20:, [0, 3, 4]] == [2.0, 0.5, 0.5]).all()
    assert len(np.unique(seen.X[:20, 3])) > 1
    study.enqueue_trial({"old": 0.25})
    trial = study.ask()
    trial.suggest_float("old", 0, 1)
    study.tell(trial, 1.0)
    assert "old" in study.ask().relative_params  # it has come back


@pytest.mark.parametrize("name", ["AddGPUCB", "GPUCB", "HDBO", "TuRBO"])
def test_no_trial_is_repeated_once_it_is_given_up(name: str) -> None:
    study = optuna.create_study(sampler=create(name, n_startup_trials=12))
    study.optimize(changed, n_trials=affordable(40, 26))
    late = [tuple(trial.params.items()) for trial in study.trials[23:]]
    assert len(set(late)) == len(late)
    assert not set(late) & {tuple(trial.params.items()) for trial in study.trials[20:23]}


def without_rule(trial: optuna.Trial) -> float:
    """Return a value with a parameter that depends on one of two conditions."""
    total = abs(trial.suggest_int("n", 1, 8) - 4) + abs(trial.suggest_int("m", 1, 8) - 6)
    kind, warm = trial.suggest_categorical("kind", [0, 1, 2]), trial.suggest_int("warm", 0, 1)
    if kind == 0 or warm:
        total += 1 + trial.suggest_float("part", 0, 1)
    return total + kind / 4 + warm / 8


@pytest.mark.parametrize("name", MODELLING)
def test_no_trial_is_repeated_where_no_rule_is_known(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Points would differ in a parameter that a trial with these values does not ask for."""
    study = optuna.create_study(sampler=create(name, n_startup_trials=10))
    with caplog.at_level(logging.WARNING):
        study.optimize(without_rule, n_trials=affordable(40, 17))
    assert not caplog.messages
    assert "part" not in study.sampler._parameters.rules()
    late = [tuple(trial.params.items()) for trial in study.trials[10:]]
    assert len(set(late)) == len(late)
    assert not set(late) & {tuple(trial.params.items()) for trial in study.trials[:10]}


def test_failed_trials_do_not_matter() -> None:
    """They may have stopped before they asked for anything."""
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=2))
    study.add_trial(optuna.create_trial(state=TrialState.FAIL))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=4)
    assert not study.sampler.method.domains[-1].gates
    assert study.sampler._parameters._branches is None


PARTS = [["shared", "penalty"], ["kind", "depth", "bootstrap"], ["share"], ["layers"]]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("AddGPUCB", {"decomposition": PARTS, "ungrouped": "single"}),
        ("VSBO", {"important": ["shared", "penalty", "depth"]}),
    ],
)
def test_settings_may_name_parameters_of_a_branch_to_come(
    name: str, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=create(name, **settings))
    for kind in ["linear"] * 8 + ["forest"] * 4:
        study.enqueue_trial({"kind": kind})
    with caplog.at_level(logging.WARNING):
        study.optimize(tree, n_trials=16)
    (setting,) = (key for key in settings if key != "ungrouped")
    (message,) = (m for m in caplog.messages if "typing error" in m)
    assert message.startswith(f"{setting} must name parameters of the study, but got [")
    assert "'depth'" in message


def test_the_groups_of_a_late_branch_are_used() -> None:
    settings = {"decomposition": PARTS, "ungrouped": "single", "update": "all_groups"}
    study = optuna.create_study(sampler=create("AddGPUCB", **settings))
    for kind in ["linear"] * 8 + ["forest"] * 4:
        study.enqueue_trial({"kind": kind})
    study.optimize(tree, n_trials=15)
    found = [read_suggestion(trial) for trial in study.trials[13:]]
    records = [suggestion.record or {} for suggestion in found if suggestion is not None]
    groups = next(record["additive"]["groups"] for record in records if "additive" in record)
    assert ["penalty", "shared"] in [sorted(group) for group in groups]
    assert {"kind", "depth", "bootstrap"} in [set(group) for group in groups]
