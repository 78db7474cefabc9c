"""Samplers on an objective that fails in a region: they learn where that is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from histories import INTERPRETED
from histories import affordable
from optuna.trial import TrialState

from optuna_hdbo._core import points
from optuna_hdbo._study import values as study_values
from optuna_hdbo._study.values import not_measured


BEST = 0.08
"""The best value that the objective has. Where it fails, its formula would go down to 0."""

WITHOUT_A_MODEL = "SOOSampler"
"""Its cells in which trials fail are opened late, whatever the points of other failures."""


def bowl(trial: optuna.Trial, fail: Callable[[], float]) -> float:
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(4)]
    return fail() if x[0] + x[1] > 1.0 else sum((v - 0.7) ** 2 for v in x)


def is_nan() -> float:
    return math.nan


def is_raised() -> float:
    raise MemoryError


def is_pruned() -> float:
    raise optuna.TrialPruned


def run(study: optuna.Study, fail: Callable[[], float], n_trials: int) -> optuna.Study:
    study.optimize(lambda trial: bowl(trial, fail), n_trials, catch=MemoryError)
    return study


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
@pytest.mark.parametrize("name", sorted(SAMPLERS.keys() - {WITHOUT_A_MODEL}))
def test_the_best_point_beside_a_region_of_failures_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def regret() -> float:
        study = optuna.create_study(sampler=SAMPLERS[name](seed=3))
        return run(study, is_nan, 60).best_value - BEST

    found = regret()
    # Without this, nearly all queries are where the formula is best, and fail.
    monkeypatch.setattr(points, "are_elsewhere", lambda *args: False)
    assert found < 0.5 * regret()


def test_however_a_trial_fails_it_counts_alike() -> None:
    studies = []
    for fail in (is_nan, is_raised, is_pruned):
        study = optuna.create_study(sampler=SAMPLERS["HDBOSampler"](seed=2))
        # The parameters are known from the first trial on, whatever becomes of the others.
        study.enqueue_trial({f"x{i}": 0.3 for i in range(4)})
        studies.append(run(study, fail, affordable(30, 14)))
    one, *others = studies
    params = [trial.params for trial in one.trials]
    assert sum(trial.value is None for trial in one.trials) > 3
    for other in others:
        assert [trial.params for trial in other.trials] == params


def test_failures_of_several_objectives_are_learned() -> None:
    n_failed = []
    for learns in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not learns:
                patch.setattr(points, "are_elsewhere", lambda *args: False)
            sampler = SAMPLERS["HDBOSampler"](seed=2)
            study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)

            def both(trial: optuna.Trial) -> tuple[float, float]:
                value = bowl(trial, is_nan)
                return value, value + trial.params["x2"]

            study.optimize(both, affordable(40, 16))
            n_failed.append(sum(trial.values is None for trial in study.trials))
    assert n_failed[0] < n_failed[1] or INTERPRETED


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
@pytest.mark.parametrize("values", [(1e6, 0.0), (math.inf, -1.0), (2.0, 0.0)])
def test_failures_are_not_asked_for_again_because_they_take_no_time(
    values: tuple[float, float],
) -> None:
    def loss_and_time(trial: optuna.Trial) -> tuple[float, float]:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(4)]
        return values if x[0] + x[1] > 1.0 else (sum((v - 0.2) ** 2 for v in x), 1.0 + x[2])

    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=SAMPLERS["HDBOSampler"](seed=1000)
    )
    study.optimize(loss_and_time, 30)
    failed = [tuple(trial.values) == values for trial in study.trials]
    assert sum(failed[:10]) == 3
    assert sum(failed[10:]) <= 3


def test_equal_values_that_end_the_front_are_no_measurements() -> None:
    failed, dominated, equal, ends = (-1e6, 1.0), (-1e6, 0.1), (0.3, 0.7), (-1e6, 0.8)
    others = [(0.1 * i, 0.8 - 0.1 * i) for i in range(5)]
    for values, expected in ((failed, 3), (dominated, 0), (equal, 0), (ends, 0)):
        Y = np.array([*others, *[values] * 3, (-1e6, 0.8)])
        marks = not_measured(Y, np.zeros(len(Y), np.bool_))
        assert marks.tolist() == [False] * 5 + [expected > 0] * 3 + [False]
    assert not not_measured(np.array([*others, *[failed] * 2]), np.zeros(7, np.bool_)).any()
    assert not not_measured(np.array([*others[:2], *[failed] * 5]), np.zeros(7, np.bool_)).any()
    assert not_measured(np.zeros((0, 2)), np.zeros(0, np.bool_)).shape == (0,)


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
@pytest.mark.parametrize("name", ["HDBOSampler", "BaMSOOSampler"])
@pytest.mark.parametrize("penalty", [1e6, math.inf])
def test_a_study_goes_on_alike_once_penalties_count_as_chance(
    name: str, penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def by_chance(*args: Any) -> Any:
        found.append(points.by_chance(*args))
        return found[-1]

    monkeypatch.setattr(study_values, "by_chance", by_chance)

    def objective(trial: optuna.Trial) -> float:
        value = bowl(trial, lambda: 0.5)
        return penalty if trial.number % 5 == 3 else value

    kept, resumed = (
        optuna.create_study(study_name="one", sampler=SAMPLERS[name](seed=2)) for _ in range(2)
    )
    kept.optimize(objective, 50)
    assert {bool(marks.any()) for marks in found} == {True, False}
    for _ in range(50):
        resumed.sampler = SAMPLERS[name](seed=2)
        resumed.optimize(objective, 1)
    assert [t.params for t in resumed.trials] == [t.params for t in kept.trials]


def branching(trial: optuna.Trial) -> float:
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    k = trial.suggest_int(f"k{kind}", 1, 25)
    return math.nan if kind == "a" and k >= 8 else {"a": 1, "b": 5, "c": 4}[kind] + k / 100


def test_failed_trials_are_in_their_branch() -> None:
    """Points of the startup have values in all columns, and their trials asked for some."""
    sampler = SAMPLERS["HDBOSampler"](seed=1, n_startup_trials=12)
    study = optuna.create_study(sampler=sampler)
    study.optimize(branching, n_trials=affordable(34, 16))
    space = sampler._space_of(sampler.infer_relative_search_space(study, study.ask()))
    seen = sampler._history.read(study, study.trials[-1], space)
    assert seen.failures is not None
    np.testing.assert_array_equal(seen.failures.X, space.domain.canonical(seen.failures.X))
    failed = [trial for trial in study.trials if trial.state == TrialState.FAIL]
    assert len({trial.params["ka"] for trial in failed}) == len(failed)
    for trial in failed:
        row = space.encode(trial.params)
        assert row is not None
        assert sampler._history.is_taken(row)
