"""Workers that ask at the same moment: both read before either publishes, every time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from fakes import FakeMethod
from optuna.distributions import BaseDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import optuna_hdbo
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.streams import Streams
from optuna_hdbo._study import attributes
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.samplers.base import MAX_ROUNDS
from optuna_hdbo.samplers.base import MethodSampler


SPACE: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(0, 1) for i in range(3)}


class Step:
    """Workers wait here for each other, until one of them comes no more."""

    def __init__(self, n_workers: int) -> None:
        self._barrier = threading.Barrier(n_workers)

    def wait(self) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            self._barrier.wait(1.0)


class InStep:
    """Ask another method, and answer when every worker has read the study and has an answer."""

    def __init__(self, method: Method, step: Step, n_rounds: int) -> None:
        self.name = method.name
        self.validate = method.validate
        self.method, self.step, self.n_rounds = method, step, n_rounds
        self.n_calls = 0

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        self.n_calls += 1
        suggestion = self.method.suggest(domain, seen, streams)
        if self.n_calls <= self.n_rounds:
            self.step.wait()
        return suggestion


class Corners(FakeMethod):
    """Answer the first corner that nobody has: the same one for all who know the same."""

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        known = {tuple(row) for row in np.concatenate([seen.X, seen.pending]).tolist()}
        for x in ([1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]):
            if tuple(x) not in known:
                return Suggestion(np.array(x), record={"long": "x" * 5000})
        return Suggestion(np.ones(3))


class Ones(FakeMethod):
    """Answer one corner whatever happens."""

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        return Suggestion(np.ones(len(domain)))


@pytest.fixture
def url(tmp_path: Path) -> str:
    path = str(tmp_path / "journal.log")
    study = optuna.create_study(study_name="s", storage=open_storage(path))
    rng = np.random.default_rng(0)
    for _ in range(8):
        params = {name: float(rng.random()) for name in SPACE}
        value = -sum(params.values())  # minimised: the best corner is (1, 1, 1)
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=value))
    return path


def open_storage(path: str) -> optuna.storages.BaseStorage:
    return JournalStorage(JournalFileBackend(path))


def ask_in_step(
    url: str, methods: list[Method], n_rounds: int = 1, *, look_in_step: bool = False
) -> list[dict[str, Any]]:
    """Let workers with a connection and a sampler each, all of one seed, ask at once.

    Optionally they also look again only when all of them have published.
    """
    step, look = Step(len(methods)), Step(len(methods))
    studies = []
    for method in methods:
        sampler = MethodSampler(InStep(method, step, n_rounds), seed=0, n_startup_trials=1)
        if look_in_step:
            wait_before_reading(sampler, look)
        studies.append(
            optuna.load_study(study_name="s", storage=open_storage(url), sampler=sampler)
        )

    def ask(study: optuna.Study) -> dict[str, Any]:
        return study.ask(SPACE).params

    with ThreadPoolExecutor(len(methods)) as pool:
        return list(pool.map(ask, studies))


def wait_before_reading(sampler: MethodSampler, step: Step) -> None:
    read = sampler._history.read

    def wait_and_read(*args: Any) -> Observations:
        step.wait()
        return read(*args)

    sampler._history.read = wait_and_read  # type: ignore[method-assign]


def n_distinct(points: list[dict[str, Any]]) -> int:
    return len({tuple(p.values()) for p in points})


@pytest.mark.parametrize("n", [2, 4])
def test_equal_points_are_given_up_for_what_the_method_says_next(url: str, n: int) -> None:
    points = ask_in_step(url, [Corners() for _ in range(n)])
    assert n_distinct(points) == n
    trials = optuna.load_study(study_name="s", storage=open_storage(url)).trials[8:]
    for trial in trials:
        suggestion = attributes.read_suggestion(trial)
        assert suggestion is not None
        assert suggestion.params == trial.params
        assert suggestion.record in (None, {"long": "x" * 5000})


@pytest.mark.parametrize("n_rounds", [1, MAX_ROUNDS])
@pytest.mark.parametrize("look_in_step", [False, True])
def test_workers_in_lockstep_come_apart(url: str, n_rounds: int, look_in_step: bool) -> None:
    """Even if they collide in every round, as they would not in an age."""
    points = ask_in_step(url, [Corners(), Corners()], n_rounds, look_in_step=look_in_step)
    assert n_distinct(points) == 2


def test_a_method_that_has_only_one_answer(url: str) -> None:
    points = ask_in_step(url, [Ones() for _ in range(4)])
    assert n_distinct(points) == 4
    assert all(0.0 <= value <= 1.0 for p in points for value in p.values())


def test_without_the_second_look_they_would_collide(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the tests above would show nothing."""
    monkeypatch.setattr(MethodSampler, "_is_taken", lambda *_: False)
    assert n_distinct(ask_in_step(url, [Corners() for _ in range(3)])) == 1


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_samplers_that_ask_at_once(url: str, name: str) -> None:
    create: Callable[..., MethodSampler] = getattr(optuna_hdbo, name)
    for _ in range(3):
        points = ask_in_step(url, [create(seed=0)._method for _ in range(3)])
        study = optuna.load_study(study_name="s", storage=open_storage(url))
        assert n_distinct([t.params for t in study.trials]) == len(study.trials)
        for trial, point in zip(study.trials[-3:], points, strict=True):
            assert set(point) == set(trial.params)
            study.tell(trial.number, -sum(trial.params.values()))


def test_a_failed_point_is_not_asked_for_again() -> None:
    """A trial that fails teaches the model nothing, so that the same point would come for ever."""
    study = optuna.create_study(sampler=MethodSampler(Ones(), seed=0, n_startup_trials=1))
    study.optimize(lambda t: sum(t.suggest_float(name, 0, 1) for name in SPACE), n_trials=1)
    for _ in range(6):
        study.tell(study.ask(SPACE), state=optuna.trial.TrialState.FAIL)
    interrupted = study.ask()
    assert interrupted.relative_params  # computed and published, but no parameter was asked for
    study.tell(interrupted, state=optuna.trial.TrialState.FAIL)
    study.ask(SPACE)
    points = [t.params for t in study.trials if t.params]
    assert points[1] == dict.fromkeys(SPACE, 1.0)
    assert n_distinct([*points, interrupted.relative_params]) == len(points) + 1


def test_a_grid_repeats_itself_once_all_of_it_is_taken() -> None:
    grid: dict[str, BaseDistribution] = {"k": IntDistribution(0, 3)}
    study = optuna.create_study(sampler=MethodSampler(Ones(), seed=0, n_startup_trials=1))
    study.tell(study.ask(grid), 1.0)
    values = [study.ask(grid).params["k"] for _ in range(6)]
    assert {study.trials[0].params["k"], *values[:3]} == {0, 1, 2, 3}
    assert values[3:] == [3, 3, 3]


def test_half_written_suggestions_are_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads while a second text replaces a first sees one of them, or nothing."""
    study = optuna.create_study()
    trial = study.ask()
    storage = study._storage
    texts = [
        attributes.StoredSuggestion({"x": x}, "m", {"long": letter * 6000}).to_text()
        for x, letter in ((0.1, "a"), (0.9, "b"))
    ]
    seen = []
    write = storage.set_trial_system_attr

    def spy(trial_id: int, key: str, value: Any) -> None:
        write(trial_id, key, value)
        seen.append(attributes.read_suggestion(study.trials[0]))

    frozen = study.trials[0]
    attributes.write_suggestion(study, frozen, texts[0])
    monkeypatch.setattr(storage, "set_trial_system_attr", spy)
    attributes.write_suggestion(study, frozen, texts[1], replaces=True)
    assert seen[-1] is not None
    assert seen[-1].params == {"x": 0.9}
    assert seen[:-1] == [None] * (len(seen) - 1)
    assert trial.number == 0
