"""Trials that end before they have asked for all parameters, and points that others chose."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from histories import affordable
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from optuna_hdbo import BaMSOOSampler
from optuna_hdbo import HDBOSampler
from optuna_hdbo import MSUCBSampler
from optuna_hdbo import TuRBOSampler
from optuna_hdbo import VSBOSampler
from optuna_hdbo import get_believed_best
from optuna_hdbo._study import independent
from optuna_hdbo._study.attributes import read_suggestion
from optuna_hdbo._study.ranges import _joined
from optuna_hdbo._study.values import MOST_STEPS
from optuna_hdbo._study.values import Reports


N_TRIALS = affordable(40, 16)


def fails(trial: optuna.Trial) -> float:
    return math.nan


def is_pruned(trial: optuna.Trial) -> float:
    raise optuna.TrialPruned


def is_pruned_with_a_report(trial: optuna.Trial) -> float:
    trial.report(5.0, 0)
    raise optuna.TrialPruned


def checked_first(end: Callable[[optuna.Trial], float]) -> Callable[[optuna.Trial], float]:
    """Two of six parameters decide whether a trial goes on to the others."""

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(2)]
        if sum(x) > 1.2:
            return end(trial)
        x += [trial.suggest_float(f"x{i}", 0, 1) for i in range(2, 6)]
        trial.report(6.0 * sum((v - 0.5) ** 2 for v in x), 0)
        return sum((v - 0.5) ** 2 for v in x)

    return objective


def params(sampler: Any, objective: Any, n_trials: int = N_TRIALS) -> list[dict[str, Any]]:
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.NopPruner())
    study.optimize(objective, n_trials=n_trials)
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize("name", ["HDBOSampler", "GPUCBSampler", "TuRBOSampler", "BaMSOOSampler"])
def test_to_be_pruned_early_is_to_fail_early(name: str) -> None:
    asked = [params(SAMPLERS[name](seed=0), checked_first(end)) for end in (fails, is_pruned)]
    assert asked[0] == asked[1]


@pytest.mark.parametrize("name", ["HDBOSampler", "BaMSOOSampler"])
def test_a_trial_pruned_early_with_a_report_has_the_point_that_was_suggested(name: str) -> None:
    study = optuna.create_study(sampler=SAMPLERS[name](seed=0))
    study.optimize(checked_first(is_pruned_with_a_report), n_trials=16)
    pruned = [t for t in study.trials if t.state == TrialState.PRUNED]
    assert 0 < len(pruned) < 14
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert list(space) == [f"x{i}" for i in range(6)]
    frozen = study._storage.get_trial(study.ask()._trial_id)
    study.sampler.sample_relative(study, frozen, space)
    seen = study.sampler._history._last  # type: ignore[attr-defined]
    assert seen.numbers.tolist() == list(range(17))[: len(seen.numbers)]
    for trial in pruned:
        suggestion = read_suggestion(trial)
        assert suggestion is not None
        row = seen.X[seen.row_of[trial.number]]
        assert row.tolist() == pytest.approx([suggestion.params[name] for name in space])


def test_a_configuration_that_was_pruned_early_is_not_asked_for_again() -> None:
    def objective(trial: optuna.Trial) -> float:
        a = trial.suggest_categorical("a", "pqrs")
        if a in "rs":
            raise optuna.TrialPruned
        return trial.suggest_int("b", 0, 2) + trial.suggest_int("c", 0, 2) + (a == "p")

    study = optuna.create_study(sampler=HDBOSampler(seed=0))
    study.optimize(objective, n_trials=30)
    suggestions = [s for trial in study.trials if (s := read_suggestion(trial)) is not None]
    asked = [str(s.params) for s in suggestions if s.method is not None]
    assert len(asked) > 5
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("sampler", [HDBOSampler, BaMSOOSampler])
def test_a_trial_that_was_added_with_another_scale_costs_one_trial_at_most(sampler: Any) -> None:
    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("rate", 1e-4, 1, log=True) + trial.suggest_float("x", 0, 1)

    study = optuna.create_study(sampler=sampler(seed=0))
    study.optimize(objective, n_trials=14)
    linear = FloatDistribution(0, 1)
    study.add_trial(
        optuna.create_trial(
            value=0.5,
            params={"rate": 0.3, "x": 0.2},
            distributions={"rate": linear, "x": linear},
        )
    )
    study.optimize(objective, n_trials=12, catch=ValueError)
    assert sum(trial.state == TrialState.FAIL for trial in study.trials) <= 1
    assert study.sampler.infer_relative_search_space(study, study.trials[-1]).keys() >= {"x"}


def test_filters_of_warnings_are_those_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter holds for the whole process. Threads would restore each other's."""
    filters: list[Any] = []

    class Looks(optuna.samplers.TPESampler):
        def sample_independent(self, *args: Any) -> Any:
            filters.append(list(warnings.filters))
            return super().sample_independent(*args)

    monkeypatch.setattr(independent, "TPESampler", Looks)
    study = optuna.create_study(sampler=BaMSOOSampler(seed=0))
    study.optimize(lambda t: t.suggest_float(t.suggest_categorical("k", "ab"), 0, 1), n_trials=16)
    assert filters
    assert all(found == list(warnings.filters) for found in filters)


def test_studies_that_share_a_sampler_have_their_own_branches() -> None:
    def branching(swapped: bool) -> Callable[[optuna.Trial], float]:
        def objective(trial: optuna.Trial) -> float:
            k = trial.suggest_categorical("k", ["u", "v"])
            name = {"u": "v", "v": "u"}[k] if swapped else k
            return trial.suggest_float("x", 0, 1) + trial.suggest_float(name, 0, 1)

        return objective

    sampler = HDBOSampler(seed=0)
    studies = [optuna.create_study(sampler=sampler) for _ in range(2)]
    for study, swapped in zip(studies, (False, True), strict=True):
        study.optimize(branching(swapped), n_trials=16)
    frozen = [study._storage.get_trial(study.ask()._trial_id) for study in studies]
    space = sampler.infer_relative_search_space(studies[0], frozen[0])
    sampler.infer_relative_search_space(studies[1], frozen[1])  # as another thread may
    asked = sampler.sample_relative(studies[0], frozen[0], space)
    assert asked.keys() == {"k", "x", asked["k"]}


def test_settings_are_checked_against_complete_trials() -> None:
    """A pruned one may lack what they name."""
    asked = params(
        VSBOSampler(seed=0, important=["x0", "x5"], n_startup_trials=4),
        checked_first(is_pruned),
        n_trials=8,
    )
    assert any("x5" in trial for trial in asked)


def test_a_point_that_was_enqueued_in_part_is_no_query() -> None:
    study = optuna.create_study(sampler=TuRBOSampler(seed=0))
    for x in np.random.default_rng(5).random((40, 6)):
        study.enqueue_trial({f"x{i}": float(v) for i, v in enumerate(x[:5])})
    study.optimize(
        lambda t: sum((t.suggest_float(f"x{i}", 0, 1) - 0.3) ** 2 for i in range(6)), n_trials=41
    )
    first = inspect.signature(TuRBOSampler).parameters["length"].default
    assert study.trials[-1].user_attrs["hdbo:region_length"] == first


def test_a_startup_trial_does_not_repeat_one_that_was_added() -> None:
    def objective(trial: optuna.Trial) -> float:
        return sum(trial.suggest_float(f"x{i}", 0, 1) for i in range(3))

    first = optuna.create_study(sampler=HDBOSampler(seed=0))
    first.optimize(objective, n_trials=9)
    second = optuna.create_study(sampler=HDBOSampler(seed=0))
    second.add_trials(first.trials[3:9])
    second.optimize(objective, n_trials=4)
    known = [trial.params for trial in first.trials]
    assert not any(trial.params in known for trial in second.trials[6:])


def test_a_trial_beyond_its_range_may_be_believed_best() -> None:
    def objective(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0, 1) + 0.2) ** 2 + trial.suggest_float("y", 0, 1) ** 2

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial({"x": -0.2, "y": 0.0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(objective, n_trials=20)
    assert study.best_trial.number == get_believed_best(study).number == 0


def test_choices_that_are_all_equal_are_one() -> None:
    asked = params(
        MSUCBSampler(seed=0, n_startup_trials=2),
        lambda t: t.suggest_float("x", 0, 1) + t.suggest_categorical("c", [1, True]),
        n_trials=6,
    )
    assert len({trial["x"] for trial in asked}) == 6


@pytest.mark.parametrize("n_steps", [MOST_STEPS, MOST_STEPS + 1, 1000])
def test_reports_at_many_steps_share_columns(n_steps: int) -> None:
    reports, numbers = Reports(), np.arange(n_steps)
    for number in numbers.tolist():  # each is pruned at a step of its own
        reports.add(number, {0: -1.0, 10 * number + 5: float(number)}, 10 * number + 5)
    matrix = reports.matrix(numbers)
    assert matrix.shape == (n_steps, MOST_STEPS)
    last = [row[~np.isnan(row)][-1] for row in matrix]
    assert last == numbers.tolist()
    places = [int(np.flatnonzero(~np.isnan(row))[-1]) for row in matrix]
    assert places == sorted(places)
    assert set(places) == set(range(MOST_STEPS))


def test_reports_of_ended_trials_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a trial is pruned at a step that changes which steps are told apart."""
    made, rows_of = [], Reports._made
    monkeypatch.setattr(
        Reports, "_made", lambda self, numbers: made.append(numbers) or rows_of(self, numbers)
    )
    rng, told, reports = np.random.default_rng(0), [], Reports()
    for number in range(3 * MOST_STEPS):
        n, is_pruned = int(rng.integers(1, 2 * MOST_STEPS)), number % 2 == 1
        values = dict(zip(rng.permutation(n).tolist(), rng.normal(size=n).tolist(), strict=True))
        told.append((number, values, n - 1 if is_pruned else None))
    grown = []
    for trial in told:
        reports.add(*trial)
        grown.append(reports.matrix(np.arange(trial[0] + 1)))
    for n, matrix in enumerate(grown, 1):
        fresh = Reports()
        for trial in told[:n][::-1]:
            fresh.add(*trial)
        np.testing.assert_array_equal(fresh.matrix(np.arange(n)), matrix)
    made.clear()
    assert np.isnan(reports.matrix(np.array([5, 10**6]))[1]).all()
    assert made == []
    reports.add(10**6, {0: 1.0, 3: 2.0}, None)
    assert reports.matrix(np.array([5, 10**6]))[1, 0] == 1.0
    assert made == [[10**6]]
    reports.add(10**6 + 1, {10**5: 3.0}, 10**5)
    assert reports.matrix(np.array([10**6 + 1])).tolist()[0][-1] == 3.0
    assert [len(numbers) for numbers in made] == [1, len(told) + 2]


def test_joined_ranges_with_steps_keep_both_ends() -> None:
    joined = _joined(
        FloatDistribution(0.6000000000000001, 1.0, step=0.1), FloatDistribution(0.7, 1.2, step=0.1)
    )
    assert joined == FloatDistribution(0.6, 1.2, step=0.1)
