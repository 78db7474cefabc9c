"""What the worker processes of these tests do: the same script, the same seed, one study."""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from typing import Any

import optuna
from histories import PATIENCE
from servers import open_storage

import optuna_hdbo


PARAMETERS = [f"x{i}" for i in range(4)]


def slope(trial: optuna.Trial) -> float:
    """Return a sum, which is best in one corner: there every worker wants to go."""
    return sum(trial.suggest_float(name, 0.0, 1.0) for name in PARAMETERS)


def optimise(url: str, names: list[tuple[str, str]], n_trials: int) -> None:
    """Run trials in studies named with their samplers, all with seed 0 and the defaults."""
    faulthandler.register(signal.SIGUSR1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problems: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: problems.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("optuna.optuna_hdbo").addHandler(handler)
    storage = open_storage(url)
    for study_name, sampler in names:
        study = optuna.load_study(
            study_name=study_name,
            storage=storage,
            sampler=getattr(optuna_hdbo, sampler)(seed=0, n_startup_trials=8),
        )
        study.optimize(slope, n_trials=n_trials)
    if problems:
        sys.exit(f"unexpected warnings: {problems}")


def hang(url: str, study_name: str, sampler: str) -> None:
    """Work with heartbeats, on trials that do not end; the process does not, either.

    It never takes another worker for dead: on a busy machine a heartbeat can be late.
    """
    storage = heartbeat_storage(url, grace=int(2 * PATIENCE))
    study = optuna.load_study(
        study_name=study_name,
        storage=storage,
        sampler=getattr(optuna_hdbo, sampler)(seed=0, n_startup_trials=4),
    )

    def objective(trial: optuna.Trial) -> float:
        value = slope(trial)
        time.sleep(2 * PATIENCE)
        return value

    study.optimize(objective, n_trials=1)


def heartbeat_storage(
    url: str, callback: Any = None, grace: int = 2
) -> optuna.storages.RDBStorage:
    parameters = inspect.signature(optuna.storages.RDBStorage).parameters
    name = "heartbeat_stale_trial_callback"
    callbacks = {name if name in parameters else "failed_trial_callback": callback}
    return optuna.storages.RDBStorage(
        url,
        heartbeat_interval=1,
        grace_period=grace,
        **callbacks,
        engine_kwargs={"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {},
    )


@contextlib.contextmanager
def started(target: Any, arguments: list[tuple[Any, ...]]) -> Iterator[list[BaseProcess]]:
    """Start a process per tuple of arguments; whatever still runs at the end is killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["preloaded"])
    processes: list[BaseProcess] = [context.Process(target=target, args=a) for a in arguments]
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            if process.is_alive() and process.pid is not None:
                # One that has just been killed seems alive until its server has said more.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            process.join()


def join(processes: list[BaseProcess]) -> None:
    """Wait until all have done their work; those that do not say where they are."""
    deadline = time.monotonic() + PATIENCE
    for process in processes:
        process.join(max(deadline - time.monotonic(), 0.0))
    for process in processes:
        if process.exitcode is None and process.pid is not None:
            os.kill(process.pid, signal.SIGUSR1)
            process.join(1.0)
    codes = [process.exitcode for process in processes]
    assert codes == [0] * len(processes), codes
