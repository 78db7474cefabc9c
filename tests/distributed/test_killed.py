"""Workers that are killed in the middle of a trial: they take nothing with them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

import optuna
import pytest
import workers
from exported import ACROSS_PROCESSES
from histories import INTERPRETED
from histories import PATIENCE
from histories import THOROUGH
from histories import thorough
from optuna.trial import TrialState

import optuna_hdbo
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.samplers.base import MethodSampler


pytestmark = [
    pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning"),
    pytest.mark.skipif(INTERPRETED, reason="is about processes, which compiled code shares"),
    pytest.mark.filterwarnings("ignore:Heartbeat of storage"),  # said of study.ask
]

N_KILLED = 3 if THOROUGH else 2
N_BEFORE = 5


class Watched:
    """A sampler's method, and how many points were pending at each of its calls."""

    def __init__(self, sampler: MethodSampler) -> None:
        self.pending: list[int] = []
        suggest = sampler._method.suggest

        def watch(domain: object, seen: Observations, streams: object) -> object:
            self.pending.append(len(seen.pending))
            return suggest(domain, seen, streams)  # type: ignore[arg-type]

        sampler._method.suggest = watch  # type: ignore[method-assign, assignment]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=thorough)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        found = request.getfixturevalue("postgres_url")
        assert isinstance(found, str)
        return found
    return f"sqlite:///{tmp_path / 'study'}"


def running(study: optuna.Study) -> Sequence[optuna.trial.FrozenTrial]:
    trials = study.get_trials(states=(TrialState.RUNNING,))
    return [t for t in trials if len(t.params) == len(workers.PARAMETERS)]


def kill_workers(database: str, studies: Sequence[optuna.Study], samplers: Sequence[str]) -> None:
    """Start workers on every study, and kill them all once each is inside a trial."""
    arguments = [
        (database, study.study_name, sampler)
        for study, sampler in zip(studies, samplers, strict=True)
        for _ in range(N_KILLED)
    ]
    with workers.started(workers.hang, arguments) as processes:
        deadline = time.monotonic() + PATIENCE
        while any(len(running(study)) < N_KILLED for study in studies):
            assert time.monotonic() < deadline
            assert all(process.is_alive() for process in processes)
            time.sleep(0.2)
        for process in processes:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)


def until_stale(study: optuna.Study) -> None:
    deadline = time.monotonic() + PATIENCE
    while study.get_trials(states=(TrialState.RUNNING,)):
        assert time.monotonic() < deadline
        optuna.storages.fail_stale_trials(study)
        time.sleep(0.3)


def test_killed_workers(database: str, create_name: Callable[[], str]) -> None:
    """Their points are pending until the storage gives them up; then others do them again."""
    renamed = hasattr(optuna.storages, "RetryHeartbeatStaleTrialCallback")
    name = "RetryHeartbeatStaleTrialCallback" if renamed else "RetryFailedTrialCallback"
    retry = getattr(optuna.storages, name)()
    storage = workers.heartbeat_storage(database, retry)
    studies = [
        optuna.create_study(study_name=create_name(), storage=storage) for _ in ACROSS_PROCESSES
    ]
    watched = []
    for study, name in zip(studies, ACROSS_PROCESSES, strict=True):
        study.sampler = getattr(optuna_hdbo, name)(seed=0, n_startup_trials=4)
        watched.append(Watched(study.sampler))
        study.optimize(workers.slope, n_trials=N_BEFORE)
    kill_workers(database, studies, ACROSS_PROCESSES)
    for study, watch in zip(studies, watched, strict=True):
        # Nobody knows yet that they are dead, and nobody waits for them.
        waiting = study.ask(
            dict.fromkeys(workers.PARAMETERS, optuna.distributions.FloatDistribution(0, 1))
        )
        study.tell(waiting, workers.slope(waiting))
        assert watch.pending[-1] == N_KILLED
        lost = [t.params for t in running(study)]
        assert len(lost) == N_KILLED
        until_stale(study)
        study.optimize(workers.slope, n_trials=N_KILLED + 2)
        assert watch.pending[-1] == 0
        states = [t.state for t in study.trials]
        assert states.count(TrialState.FAIL) == N_KILLED
        assert states.count(TrialState.COMPLETE) == N_BEFORE + 1 + N_KILLED + 2
        done = [t.params for t in study.get_trials(states=(TrialState.COMPLETE,))]
        assert all(point in done for point in lost)
        assert len({tuple(point.values()) for point in done}) == len(done)


def test_trials_of_the_dead_without_heartbeats_stay_pending_and_harm_nobody() -> None:
    """Nothing ever marks them, so that nobody asks for their points again."""
    for name in ACROSS_PROCESSES:
        study = optuna.create_study(sampler=getattr(optuna_hdbo, name)(seed=0, n_startup_trials=4))
        study.optimize(workers.slope, n_trials=6)
        for _ in range(10):
            assert study.ask().relative_params is not None  # published, and then no more
        study.optimize(workers.slope, n_trials=4)
        points = [t.params for t in study.trials if t.state == TrialState.COMPLETE]
        assert len({tuple(point.values()) for point in points}) == len(points) == 10
        assert len(study.get_trials(states=(TrialState.RUNNING,))) == 10
