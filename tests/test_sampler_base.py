"""The lifecycle that all samplers share, seen through methods whose answers are obvious."""

from __future__ import annotations

import ast
import copy
import logging
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from fakes import STORAGES
from fakes import FakeMethod
from fakes import FakeSampler
from fakes import create_sqlite
from fakes import mixed_objective
from histories import PATIENCE
from optuna.distributions import BaseDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import TrialState

import optuna_hdbo
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.streams import Streams
from optuna_hdbo._study.attributes import LONGEST_TEXT
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo.importance import GradISImportanceEvaluator
from optuna_hdbo.methods import Loop
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.gp_ucb import GPUCB
from optuna_hdbo.samplers.base import MethodSampler


def points(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def two_floats(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)


class FailingMethod(FakeMethod):
    """Fail as told, otherwise answer the centre."""

    def __init__(self, answer: Callable[[int], Suggestion]) -> None:
        super().__init__()
        self.answer = answer

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        super().suggest(domain, seen, streams)
        return self.answer(seen.step)


# Arguments.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"n_startup_trials": -1},
            r"n_startup_trials must be an integer of at least 0, but got -1",
        ),
        ({"n_startup_trials": 1.5}, r"n_startup_trials must be .*, but got 1\.5"),
        ({"n_startup_trials": True}, r"n_startup_trials must be .*, but got True"),
        ({"seed": "a"}, r"seed must be an integer or None, but got 'a'"),
        (
            {"seed": np.array([1, 2])},
            r"seed must be an integer or None, but got array\(\[1, 2\]\)",
        ),
        ({"independent_sampler": 3}, r"independent_sampler must be a sampler .*, but got 3"),
    ],
)
def test_wrong_arguments_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FakeSampler(**settings)


def test_numpy_integers_are_integers() -> None:
    study = optuna.create_study(
        sampler=FakeSampler(seed=np.int64(3), n_startup_trials=np.int32(2))
    )
    study.optimize(mixed_objective, n_trials=4)
    same = optuna.create_study(sampler=FakeSampler(seed=3, n_startup_trials=2))
    same.optimize(mixed_objective, n_trials=4)
    assert points(study) == points(same)


# Phases.


def test_the_method_is_asked_after_startup() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(sampler=sampler)
    study.optimize(mixed_objective, n_trials=3)
    assert sampler.method.seen == []
    study.optimize(mixed_objective, n_trials=3)
    assert [seen.step for seen in sampler.method.seen] == [3, 4, 5]
    assert [len(seen.y) for seen in sampler.method.seen] == [3, 4, 5]
    assert [len(seen.records) for seen in sampler.method.seen] == [0, 1, 2]
    assert sampler.method.domains[0].names == ("depth", "kind", "rate", "shift", "width", "x")


def test_without_startup_the_first_trial_is_drawn_and_the_second_asked() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(mixed_objective, n_trials=2)
    assert [seen.step for seen in sampler.method.seen] == [1]


def test_failed_trials_do_not_end_the_startup() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: mixed_objective(trial) * math.nan, n_trials=5)
    assert sampler.method.seen == []
    study.optimize(mixed_objective, n_trials=3)
    assert [seen.step for seen in sampler.method.seen] == [7]


def prune_at_once(trial: optuna.Trial) -> float:
    trial.report(two_floats(trial), 0)
    raise optuna.TrialPruned


def test_pruned_trials_end_the_startup_if_used() -> None:
    for consider_pruned_trials, n_asked in ((True, 3), (False, 0)):
        sampler = FakeSampler(
            seed=0, n_startup_trials=2, consider_pruned_trials=consider_pruned_trials
        )
        study = optuna.create_study(sampler=sampler)
        study.optimize(prune_at_once, n_trials=5)
        assert len(sampler.method.seen) == n_asked


def test_values_are_plain_and_admissible(storage: optuna.storages.BaseStorage) -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=2), storage=storage)
    study.optimize(mixed_objective, n_trials=8)  # the method moves every parameter once
    for trial in study.trials:
        for name, value in trial.params.items():
            distribution = trial.distributions[name]
            assert type(value) in (int, float, str, bool, type(None))
            assert distribution._contains(distribution.to_internal_repr(value))


def test_every_relative_value_is_taken_by_optuna() -> None:
    """A value one ulp out of range is replaced by an independent draw, without a word."""
    sampler = FakeSampler(seed=0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler)
    for _ in range(30):
        trial = study.ask()
        value = mixed_objective(trial)
        assert trial.relative_params == ({} if trial.number == 0 else trial.params)
        study.tell(trial, value)


# Randomness.


@pytest.mark.parametrize("n_first", [1, 3, 12])
def test_resuming_is_going_on(n_first: int) -> None:
    whole = optuna.create_study(sampler=FakeSampler(seed=7))
    whole.optimize(mixed_objective, n_trials=14)
    for create in STORAGES.values():
        study = optuna.create_study(sampler=FakeSampler(seed=7), storage=create())
        study.optimize(mixed_objective, n_trials=n_first)
        study.sampler = FakeSampler(seed=7)
        study.optimize(mixed_objective, n_trials=14 - n_first)
        assert points(study) == points(whole)


def test_a_hundred_trials_at_once_or_in_two_halves() -> None:
    whole = optuna.create_study(sampler=FakeSampler(seed=1))
    whole.optimize(two_floats, n_trials=100)
    halves = optuna.create_study(sampler=FakeSampler(seed=1))
    halves.optimize(two_floats, n_trials=50)
    halves.sampler = FakeSampler(seed=1)
    halves.optimize(two_floats, n_trials=50)
    assert points(whole) == points(halves)
    assert len({tuple(p.values()) for p in points(whole)}) == 100


def test_no_seed_is_another_seed_every_time() -> None:
    values = set()
    for _ in range(3):
        study = optuna.create_study(sampler=FakeSampler())
        study.optimize(two_floats, n_trials=2)
        values |= {tuple(p.values()) for p in points(study)}
    assert len(values) == 6


def test_two_workers_with_one_seed_do_not_collide() -> None:
    storage = create_sqlite()
    for _ in range(2):
        optuna.create_study(
            storage=storage, study_name="s", load_if_exists=True
        )  # both scripts begin alike
    workers = [
        optuna.load_study(storage=storage, study_name="s", sampler=FakeSampler(seed=5))
        for _ in range(2)
    ]
    for _ in range(10):
        trials = [worker.ask() for worker in workers]
        values = [two_floats(trial) for trial in trials]
        for worker, trial, value in zip(workers, trials, values, strict=True):
            worker.tell(trial, value)
    assert len({tuple(p.values()) for p in points(workers[0])}) == 20


def test_reseeding_keeps_the_study_reproducible() -> None:
    studies = []
    for reseed in (False, True):
        sampler = FakeSampler(seed=0)
        studies.append(optuna.create_study(sampler=sampler))
        for _ in range(15):
            if reseed:
                sampler.reseed_rng()
            studies[-1].optimize(two_floats, n_trials=1)
    assert points(studies[0]) == points(studies[1])


def test_startup_draws_follow_the_scale_of_a_parameter() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("width", 1, 1000, log=True)
        return trial.suggest_float("rate", 1e-4, 1, log=True)

    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=200))
    study.optimize(objective, n_trials=200)
    assert 0.4 < np.mean([p["rate"] < 1e-2 for p in points(study)]) < 0.6
    assert 0.4 < np.mean([p["width"] < 22 for p in points(study)]) < 0.6


# Other workers.


def test_running_trials_are_pending_for_others(storage: optuna.storages.BaseStorage) -> None:
    sampler, other = (FakeSampler(seed=0, n_startup_trials=2) for _ in range(2))
    study = optuna.create_study(sampler=sampler, storage=storage)
    study.optimize(two_floats, n_trials=2)
    running = study.ask()
    assert running.relative_params is not None  # computed, but no parameter is suggested yet
    view = optuna.load_study(storage=storage, study_name=study.study_name, sampler=other)
    view.optimize(two_floats, n_trials=1)
    seen = other.method.seen[-1]
    space = SearchSpace({name: FloatDistribution(0, 1) for name in ("x", "y")})
    assert running.params == {}
    assert np.array_equal(seen.pending, [space.encode(running.relative_params)])
    assert [record.state for record in seen.records] == ["running"]


def test_points_of_the_startup_are_pending_too() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(two_floats, n_trials=1)
    running = study.ask()
    assert len(running.relative_params) == 2
    study.optimize(two_floats, n_trials=2)
    assert len(sampler.method.seen[-1].pending) == 1


def test_a_point_is_not_evaluated_twice_at_a_time() -> None:
    class Stubborn(FakeMethod):
        def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
            return Suggestion(np.full(len(domain), 0.25))

    for distribution, first in ((FloatDistribution(0, 1), 0.25), (IntDistribution(0, 4), 1)):
        distributions: dict[str, BaseDistribution] = {"x": distribution}
        study = optuna.create_study(sampler=MethodSampler(Stubborn(), seed=0, n_startup_trials=1))
        study.tell(study.ask(distributions), 1.0)
        values = [study.ask(distributions).params["x"] for _ in range(4)]
        assert len(set(values)) == 4
        assert values[0] == first


def test_threads_share_a_sampler() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=5)
    study = optuna.create_study(sampler=sampler)
    barrier = threading.Barrier(4, timeout=PATIENCE)

    def objective(trial: optuna.Trial) -> float:
        value = two_floats(trial)
        if trial.number < 4:
            barrier.wait()
        return value

    study.optimize(objective, n_trials=40, n_jobs=4)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len({tuple(p.values()) for p in points(study)}) == 40
    turns = [
        record.data["turn"]
        for record in max(sampler.method.seen, key=lambda seen: seen.step).records
    ]
    assert sorted(turns) == list(range(len(turns)))  # nobody decided without seeing the others


# Enqueued, added, fixed, conditional, changing.


def test_enqueued_and_added_trials_are_learned_from() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(sampler=sampler)
    study.add_trial(
        optuna.create_trial(
            params={"x": 0.5, "y": 0.5},
            distributions={"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)},
            value=1.0,
        )
    )
    study.enqueue_trial({"x": 0.125, "y": 0.25})
    study.enqueue_trial({"x": 0.75})
    study.optimize(two_floats, n_trials=3)
    assert study.trials[1].params == {"x": 0.125, "y": 0.25}
    assert study.trials[2].params["x"] == 0.75
    assert sampler.method.seen[0].X[:2].tolist() == [[0.5, 0.5], [0.125, 0.25]]


def test_partial_fixed_sampler() -> None:
    base = FakeSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=base)
    study.optimize(two_floats, n_trials=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler({"y": 0.5}, base)
    study.optimize(two_floats, n_trials=3)
    assert [p["y"] for p in points(study)[3:]] == [0.5] * 3
    assert base.method.domains[-1].names == ("x",)
    assert base.method.seen[-1].X.shape == (5, 1)
    # Settings may go on naming a parameter that is fixed for a while.
    assert all(set(domain.names) == {"x", "y"} for domain in base.method.validated)


def conditional(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("branch", ["a", "b"]) == "a":
        return trial.suggest_float("only_a", 0, 1)
    return trial.suggest_float("only_b", 1, 2)


class CommonSampler(FakeSampler):
    """A sampler whose method needs every parameter in every trial."""

    models_conditional = False


def test_parameters_outside_of_the_model_are_sampled_independently_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=CommonSampler(seed=0, n_startup_trials=4))
    with caplog.at_level(logging.WARNING):
        study.optimize(conditional, n_trials=12)
    assert len({p.get("only_a", p.get("only_b")) for p in points(study)}) == 12
    assert study.sampler.method.domains[-1].names == ("branch",)
    assert len(caplog.messages) == 2
    for name in ("only_a", "only_b"):
        first = next(t.number for t in study.trials if t.number >= 4 and name in t.params)
        (message,) = (m for m in caplog.messages if f"'{name}'" in m)
        assert f"'{name}' of trial {first} is sampled by TPESampler" in message
        assert "the model of CommonSampler" in message
    assert "HDBOSampler" in caplog.messages[0]
    assert "warn_independent_sampling=False" in caplog.messages[0]


def test_conditional_parameters_of_the_model_are_not_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=4))
    with caplog.at_level(logging.WARNING):
        study.optimize(conditional, n_trials=12)
    assert study.sampler.method.domains[-1].names == ("branch", "only_a", "only_b")
    assert caplog.messages == []


def test_a_space_that_is_always_new_does_not_flood_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=CommonSampler(seed=0, n_startup_trials=1))
    with caplog.at_level(logging.WARNING):
        study.optimize(lambda t: t.suggest_float(f"x{t.number}", 0, 1), n_trials=30)
    assert len(caplog.messages) == 10
    assert sum("If that is intended" in message for message in caplog.messages) == 1
    assert caplog.messages[-1].endswith("Further ones are not named.")


def test_a_parameter_that_was_not_expected_is_warned_about_once_it_is_known(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not where it is new: it is in the model from the next trial on."""

    def objective(trial: optuna.Trial) -> float:
        other = "only_a" if trial.suggest_categorical("branch", ["a", "b"]) == "b" else "only_b"
        low = float(other == "only_b")
        return conditional(trial) + trial.suggest_float(other, low, low + 1) + new(trial)

    def new(trial: optuna.Trial) -> float:
        return trial.suggest_float("new", 0, 1)

    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=4))
    with caplog.at_level(logging.WARNING):
        study.optimize(conditional, n_trials=9)
        study.optimize(objective, n_trials=3)
    (message,) = caplog.messages
    assert "of trial 9 is sampled by TPESampler" in message
    assert "no earlier trial with the same choices had it in this range" in message
    assert "'new'" not in message


@pytest.mark.parametrize("n_startup_trials", [0, 3])
def test_the_first_trial_does_not_warn(
    n_startup_trials: int, caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=n_startup_trials))
    with caplog.at_level(logging.WARNING):
        study.optimize(mixed_objective, n_trials=5)
        study.sampler = FakeSampler(n_startup_trials=0, warn_independent_sampling=False)
        study.optimize(lambda trial: trial.suggest_float("new", 0, 1), n_trials=2)
    assert caplog.messages == []


def test_changing_ranges_go_on() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=2, warn_independent_sampling=False)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1 if trial.number < 6 else 2)
        return x + trial.suggest_float("y", 0, 1)

    study.optimize(objective, n_trials=10)
    assert {domain.names for domain in sampler.method.domains} == {("x", "y")}
    assert [len(seen.X) for seen in sampler.method.seen] == list(range(2, 10))


def test_single_valued_parameters_are_no_columns() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        assert trial.suggest_int("one", 3, 3) == 3
        return two_floats(trial)

    study.optimize(objective, n_trials=4)
    assert sampler.method.domains[-1].names == ("x", "y")


def test_one_sampler_for_two_studies() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=2)
    for objective in (two_floats, mixed_objective, two_floats):
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=4)
        assert len(sampler.method.seen[-1].y) == 3
        assert set(sampler.method.domains[-1].names) == set(study.trials[-1].params)


def test_hyperband() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(
        sampler=sampler, pruner=optuna.pruners.HyperbandPruner(max_resource=9)
    )

    def objective(trial: optuna.Trial) -> float:
        value = two_floats(trial)
        for step in range(9):
            trial.report(value + 9 - step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=40)
    assert all(trial.state.is_finished() for trial in study.trials)
    seen = sampler.method.seen[-1]
    assert len(seen.y) == 39
    assert 0 < seen.pruned.sum() < 39
    assert seen.y[seen.pruned].max() <= seen.y[~seen.pruned].max()


# The user's independent sampler.


class SpySampler(optuna.samplers.RandomSampler):
    def __init__(self) -> None:
        super().__init__(seed=0)
        self.calls: list[str] = []

    def reseed_rng(self) -> None:
        self.calls.append("reseed")

    def before_trial(self, *args: Any) -> None:
        self.calls.append("before")

    def after_trial(self, *args: Any) -> None:
        self.calls.append("after")

    def sample_independent(self, study: Any, trial: Any, name: str, distribution: Any) -> Any:
        self.calls.append(name)
        return super().sample_independent(study, trial, name, distribution)


def test_the_independent_sampler_does_the_startup(caplog: pytest.LogCaptureFixture) -> None:
    spy = SpySampler()
    sampler = FakeSampler(seed=0, n_startup_trials=2, independent_sampler=spy)
    study = optuna.create_study(sampler=sampler)
    with caplog.at_level(logging.WARNING):
        study.optimize(two_floats, n_trials=3)
    assert spy.calls == ["before", "x", "y", "after"] * 2 + ["before", "after"]
    assert caplog.messages == []
    sampler.reseed_rng()
    assert spy.calls[-1] == "reseed"
    study.optimize(lambda trial: trial.suggest_float("new", 0, 1), n_trials=1)
    assert "new" in spy.calls
    assert caplog.messages == []  # it is in the model from the next trial on
    study.sampler = CommonSampler(n_startup_trials=2, independent_sampler=spy)
    study.optimize(lambda trial: trial.suggest_float("new", 0, 1), n_trials=1)
    assert "by SpySampler" in caplog.messages[0]


# What is left with the trial.


def test_attributes() -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=2))
    study.optimize(mixed_objective, n_trials=3)
    first, second, third = study.trials
    assert first.system_attrs == first.user_attrs == second.user_attrs == {}
    assert list(second.system_attrs) == list(third.system_attrs) == ["hdbo:suggestion:0"]
    assert list(third.user_attrs) == ["hdbo:best", "hdbo:said"]  # NaN is no number to sort by
    assert third.user_attrs["hdbo:said"] == ("so " * 100)[:LONGEST_TEXT]
    assert type(third.user_attrs["hdbo:best"]) is float
    assert '"record":{"turn":0}' in third.system_attrs["hdbo:suggestion:0"]


# Failures.


def singular(step: int) -> Suggestion:
    raise np.linalg.LinAlgError("not positive definite")


def overflow(step: int) -> Suggestion:
    raise FloatingPointError("overflow")


def divide(step: int) -> Suggestion:
    return Suggestion(np.array([1 / 0]))


def mistake(step: int) -> Suggestion:
    raise TypeError("a bug")


def exhaust(step: int) -> Suggestion:
    raise MemoryError("Unable to allocate 2.3 MiB")


Answer = Callable[[int], Suggestion]

NUMERICAL: dict[str, Answer] = {
    "singular": singular,
    "overflow": overflow,
    "division by zero": divide,
    "memory": exhaust,
    "point not finite": lambda step: Suggestion(np.array([0.5, math.nan])),
}
BUGS: dict[str, Answer] = {
    "exception": mistake,
    "shapes": lambda step: Suggestion(np.ones(2) + np.ones(3)),
    "shape of the point": lambda step: Suggestion(np.array([0.5])),
    "no JSON": lambda step: Suggestion(np.array([0.5, 0.5]), record={"a": math.inf}),
    "no JSON type": lambda step: Suggestion(np.array([0.5, 0.5]), record={"a": np.ones(1)}),
}


def fail(answer: Answer) -> optuna.Study:
    """Return a study of two random trials, and two more for which the method fails."""
    sampler = MethodSampler(FailingMethod(answer), seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(two_floats, n_trials=4)
    return study


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("answer", [*NUMERICAL.values(), *BUGS.values()], ids=[*NUMERICAL, *BUGS])
def test_where_the_method_fails_the_startup_goes_on(answer: Answer) -> None:
    study = fail(answer)
    assert len({tuple(p.values()) for p in points(study)}) == 4
    startup = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=4))
    startup.optimize(two_floats, n_trials=4)
    assert points(study) == points(startup)


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("answer", list(NUMERICAL.values()), ids=list(NUMERICAL))
def test_a_numerical_failure_is_a_line_in_the_log(
    answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    fail(answer)
    assert [r.levelname for r in caplog.records] == ["WARNING"] * 2
    assert "Trial 3 is drawn at random because MethodSampler could not" in caplog.messages[1]
    assert all(r.exc_info is None for r in caplog.records)


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("answer", list(BUGS.values()), ids=list(BUGS))
def test_a_bug_is_logged_with_its_traceback_once(
    answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    fail(answer)
    assert [r.levelname for r in caplog.records] == ["ERROR"] * 2
    first, second = caplog.records
    message = "Trial 2 is drawn at random because of an unexpected error in MethodSampler: "
    assert first.getMessage().startswith(message)
    assert first.exc_info
    assert "Traceback" in caplog.text
    assert not second.exc_info


@pytest.mark.parametrize("answer", [*NUMERICAL.values(), *BUGS.values()], ids=[*NUMERICAL, *BUGS])
def test_strict_mode_raises_everything(answer: Answer) -> None:
    with pytest.raises(
        (ArithmeticError, MemoryError, np.linalg.LinAlgError, TypeError, ValueError)
    ):
        fail(answer)


class TimeLimitError(Exception):
    """What a user's own handler may raise."""


def time_is_up(*_: object) -> None:
    raise RuntimeError("time is up")


def limit(step: int) -> Suggestion:
    raise TimeLimitError


def builtin_limit(step: int) -> Suggestion:
    raise TimeoutError


def handled(step: int) -> Suggestion:
    signal.raise_signal(signal.SIGTERM)
    return Suggestion(np.array([0.5, 0.5]))


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("answer", [limit, builtin_limit, handled])
def test_what_interrupts_a_method_reaches_the_user(answer: Answer) -> None:
    before = signal.signal(signal.SIGTERM, time_is_up)
    try:
        with pytest.raises((TimeLimitError, TimeoutError, RuntimeError)):
            fail(answer)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_settings_that_do_not_fit_are_refused_where_all_trials_are_pruned() -> None:
    def pruned(trial: optuna.Trial) -> float:
        trial.report(two_floats(trial), 0)
        raise optuna.TrialPruned

    class Picky(FakeMethod):
        def validate(self, domain: Domain) -> None:
            raise ValueError("decomposition names 'z', which is not a parameter")

    study = optuna.create_study(sampler=MethodSampler(Picky(), seed=0, n_startup_trials=3))
    with pytest.raises(ValueError, match="'z'"):
        study.optimize(pruned, n_trials=6)
    assert len(study.trials) == 4


def test_settings_that_do_not_fit_the_space_are_refused_at_once() -> None:
    class Picky(FakeMethod):
        def validate(self, domain: Domain) -> None:
            if "z" not in domain.names:
                raise ValueError("decomposition names 'z', which is not a parameter")

    sampler = MethodSampler(Picky(), seed=0, n_startup_trials=10)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(ValueError, match="'z'"):
        study.optimize(two_floats, n_trials=20)
    assert len(study.trials) == 2
    assert study.trials[1].params == {}


def test_validation_happens_once_per_set_of_parameters() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(two_floats, n_trials=6)
    assert [domain.names for domain in sampler.method.validated] == [("x", "y")]


def test_constraints_are_announced_as_unused_once(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=1))
    study.add_trial(
        optuna.create_trial(
            params={"x": 0.5},
            distributions={"x": FloatDistribution(0, 1)},
            value=1.0,
            system_attrs={"constraints": [1.0]},
        )
    )
    with caplog.at_level(logging.WARNING):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert caplog.messages == ["FakeSampler does not use the constraints of the trials."]


def test_multi_objective_studies_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=FakeSampler())
    trial = study._storage.get_trial(study.ask()._trial_id)
    x = FloatDistribution(0, 1)
    message = "FakeSampler needs a study with a single objective, but got one with 2"
    with pytest.raises(ValueError, match=message):
        study.sampler.sample_independent(study, trial, "x", x)
    with pytest.raises(ValueError, match=message):
        study.sampler.infer_relative_search_space(study, trial)
    with pytest.raises(ValueError, match=message):
        study.sampler.sample_relative(study, trial, {})
    with pytest.raises(ValueError, match=message):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 0), n_trials=1)


# Copies.


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("seed", [0, None])
def test_copies_go_on_alike(
    duplicate: Callable[[FakeSampler], FakeSampler], seed: int | None
) -> None:
    sampler = FakeSampler(seed=seed, n_startup_trials=3)
    twins = [duplicate(sampler), sampler]
    studies = [optuna.create_study(sampler=twin) for twin in twins]
    for study in studies:
        study.optimize(mixed_objective, n_trials=6)
    assert points(studies[0]) == points(studies[1])
    for study in studies[:1]:
        study.sampler = duplicate(study.sampler)  # type: ignore[arg-type]
    for study in studies:
        study.optimize(mixed_objective, n_trials=6)
    assert points(studies[0]) == points(studies[1])


def test_pickles_stay_small() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=1000)
    size = len(pickle.dumps(sampler))
    study = optuna.create_study(sampler=sampler)
    study.optimize(mixed_objective, n_trials=50)
    sampler.method.validated.clear()
    assert len(pickle.dumps(sampler)) <= size


@pytest.mark.parametrize("name", sorted(SAMPLERS))
def test_models_are_not_pickled(name: str) -> None:
    """They are read from the study again, and threads may be changing them."""
    study = optuna.create_study(sampler=SAMPLERS[name](seed=0, n_startup_trials=3))
    study.optimize(lambda t: sum(t.suggest_float(f"x{i}", 0, i) for i in range(1, 7)), n_trials=12)
    assert len(pickle.dumps(study.sampler)) < 10_000


# The package.


def test_importing_the_package_is_light() -> None:
    code = """
import sys
import optuna
before = set(sys.modules)
import optuna_hdbo
new = set(sys.modules) - before
assert optuna_hdbo.__version__
assert set(optuna_hdbo.__all__) <= set(dir(optuna_hdbo))
heavy = {"numba", "scipy", "matplotlib", "plotly", "optuna_hdbo.samplers"} & set(sys.modules)
assert not heavy, heavy
assert new == {"optuna_hdbo"}, new
optuna_hdbo.AddGPUCBSampler
assert "numba" not in sys.modules
try:
    optuna_hdbo.nonsense
except AttributeError as error:
    assert "nonsense" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_every_public_name_exists() -> None:
    assert all(hasattr(optuna_hdbo, name) for name in optuna_hdbo.__all__)


def test_type_checkers_find_public_names_where_they_are_loaded_from() -> None:
    package = Path(optuna_hdbo.__file__)
    (block,) = (n for n in ast.parse(package.read_text("utf-8")).body if isinstance(n, ast.If))
    found = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "without an alias the name is private to mypy"
            found[alias.name] = node.module
    loaded = {name: f"optuna_hdbo.{module}" for name, module in optuna_hdbo._MODULES.items()}
    assert found == {**loaded, **dict.fromkeys(optuna_hdbo._SUBMODULES, "optuna_hdbo")}
    assert set(optuna_hdbo.__all__) == {*loaded, "__version__"}


def test_values_outside_of_the_model_can_be_copied_to_another_study(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps that are finer than rounding: Optuna refuses some values of its own TPESampler."""
    monkeypatch.setattr(optuna.samplers.TPESampler, "sample_independent", lambda *_: 536820.06)
    fine = FloatDistribution(0, 1e6, step=1e-3)
    sampler = FakeSampler(seed=0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler)
    study.optimize(two_floats, n_trials=2)
    trial = study._storage.get_trial(study.ask()._trial_id)
    value = sampler.sample_independent(study, trial, "fine", fine)
    assert value == pytest.approx(536820.06, abs=0.002)
    optuna.create_trial(value=0.0, params={"fine": value}, distributions={"fine": fine})


def test_trials_that_were_listed_long_ago_are_listed_anew() -> None:
    """Between two threads' questions for parameters and for a point, others may come and go."""
    sampler = FakeSampler(seed=0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler)
    study.optimize(two_floats, n_trials=2)
    waiting = study._storage.get_trial(study.ask()._trial_id)
    space = sampler.infer_relative_search_space(study, waiting)
    study.optimize(two_floats, n_trials=3)
    sampler.sample_relative(study, waiting, space)
    assert sampler.method.seen[-1].numbers.tolist() == [0, 1, 3, 4, 5]
    study.optimize(two_floats, n_trials=1)
    assert sampler.method.seen[-1].numbers.tolist() == [0, 1, 3, 4, 5]
    assert len(sampler.method.seen[-1].pending) == 1


def test_trials_that_were_listed_are_those_of_the_same_study() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=1)
    studies = [optuna.create_study(sampler=sampler) for _ in range(2)]
    for study, n in zip(studies, (2, 2), strict=True):
        study.optimize(two_floats, n_trials=n)
    frozen = [study._storage.get_trial(study.ask()._trial_id) for study in studies]
    assert frozen[0]._trial_id == frozen[1]._trial_id
    space = sampler.infer_relative_search_space(studies[0], frozen[0])
    sampler.sample_relative(studies[1], frozen[1], space)
    values = [sampler.method.seen[-1].in_units(y) for y in sampler.method.seen[-1].y]
    assert values == pytest.approx([t.value for t in studies[1].trials[:2]])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_sampler_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    """Another thread may be computing a point, and hold the lock, when a process is forked."""
    sampler = FakeSampler(seed=0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler)
    study.optimize(two_floats, n_trials=2)
    with sampler._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            study.optimize(two_floats, n_trials=2)
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0


def test_pruned_trials_without_values_do_not_end_the_startup(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def pruned(trial: optuna.Trial) -> float:
        trial.suggest_float("x", 0, 1)
        raise optuna.TrialPruned

    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=4))
    with caplog.at_level(logging.WARNING):
        study.optimize(pruned, n_trials=8)
    assert caplog.messages == []


@pytest.mark.parametrize("seed", [1.5, "a", True, [1]])
def test_seeds_that_are_no_integers_are_refused_everywhere(seed: Any) -> None:
    for build in (
        lambda: FakeSampler(seed=seed),
        lambda: GradISImportanceEvaluator(seed=seed),
        lambda: Loop(GPUCB(), Domain.continuous(1), seed=seed),
    ):
        with pytest.raises(ValueError, match=r"^seed must be an integer or None, but got "):
            build()
