"""Studies of one sampler have random numbers of their own, which are stored with the study."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from exported import SAMPLERS
from fakes import FakeSampler

from optuna_hdbo._study.attributes import STUDY_NUMBER
from optuna_hdbo._study.attributes import read_study_number
from optuna_hdbo._study.streams import StudyStreams


def two_floats(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)


def points(study: optuna.Study) -> list[tuple[float, ...]]:
    return [tuple(trial.params.values()) for trial in study.trials]


def run(sampler: optuna.samplers.BaseSampler, n_trials: int, **where: Any) -> optuna.Study:
    study = optuna.create_study(sampler=sampler, **where)
    study.optimize(two_floats, n_trials=n_trials)
    return study


@pytest.mark.parametrize("seed", [None, 0, -3])
@pytest.mark.parametrize("name", list(SAMPLERS))
def test_studies_of_one_sampler_share_no_startup_point(name: str, seed: int | None) -> None:
    sampler = SAMPLERS[name](seed=seed, n_startup_trials=4)
    found = [point for _ in range(3) for point in points(run(sampler, 4))]
    assert len({value for point in found for value in point}) == 3 * 4 * 2


def test_methods_draw_other_points_too() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=1)
    studies = [points(run(sampler, 8)) for _ in range(2)]
    assert not set(studies[0]) & set(studies[1])


def test_the_first_study_is_that_of_a_fresh_sampler() -> None:
    assert points(run(FakeSampler(seed=1), 5)) == points(run(FakeSampler(seed=1), 5))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_the_second_study_is_reproducible_and_goes_on(copied: Callable[[Any], Any]) -> None:
    def second(n_trials: int, **where: Any) -> tuple[Any, optuna.Study]:
        sampler = FakeSampler(seed=1)
        run(sampler, 3)
        return sampler, run(sampler, n_trials, **where)

    _, whole = second(12)
    for where in ({}, {"storage": "sqlite://"}):
        sampler, study = second(4, **where)
        study.sampler = copied(sampler)
        study.optimize(two_floats, n_trials=4)
        study.sampler = FakeSampler(seed=1)  # another process, which knows the study only
        study.optimize(two_floats, n_trials=4)
        assert points(study) == points(whole)


def test_a_sampler_that_resumes_a_study_counts_it() -> None:
    sampler = FakeSampler(seed=1)
    run(sampler, 4)
    uninterrupted = run(sampler, 4)
    first = run(FakeSampler(seed=1), 2)
    first.sampler = FakeSampler(seed=1)
    first.optimize(two_floats, n_trials=2)
    assert points(run(first.sampler, 4)) == points(uninterrupted)


def test_two_studies_in_turns() -> None:
    sampler = FakeSampler(seed=1)
    studies = [optuna.create_study(sampler=sampler) for _ in range(2)]
    for _ in range(5):
        for study in studies:
            study.optimize(two_floats, n_trials=1)
    assert [read_study_number(study) for study in studies] == [0, 1]
    again = FakeSampler(seed=1)
    assert [points(study) for study in studies] == [points(run(again, 5)) for _ in range(2)]


@pytest.mark.parametrize("stored", [True, "1", -1, 2**31, 1.0, None, [1]])
def test_a_number_that_makes_no_sense_is_replaced(stored: Any) -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=1))
    study._storage.set_study_system_attr(study._study_id, STUDY_NUMBER, stored)
    study.optimize(two_floats, n_trials=3)
    assert read_study_number(study) == 0
    assert points(study) == points(run(FakeSampler(seed=1), 3))


def test_workers_that_begin_a_study_at_once_agree_from_the_next_trial_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = optuna.create_study()
    workers = [StudyStreams(0), StudyStreams(0)]
    workers[1].of(optuna.create_study(), 0)  # so its next study has number 1
    with monkeypatch.context() as blind:  # neither sees what the other one writes
        blind.setattr("optuna_hdbo._study.streams.read_study_number", lambda study: None)
        numbers = [worker.of(study, trial).study for trial, worker in enumerate(workers)]
    assert numbers == [0, 1]
    assert [worker.of(study, 2 + i).study for i, worker in enumerate(workers)] == [1, 1]


def test_a_trial_has_one_number_and_a_study_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = read_study_number

    def counted(study: optuna.Study) -> int | None:
        reads.append(len(study.trials))
        return read(study)

    monkeypatch.setattr("optuna_hdbo._study.streams.read_study_number", counted)
    run(FakeSampler(seed=1), 6)
    assert reads == [1, 2]
