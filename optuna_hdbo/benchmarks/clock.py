"""Trials, and the wall and CPU seconds that a sampler takes for them, the objective left out."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import optuna

from optuna_hdbo.benchmarks.instances import Problem


class Clock:
    """Adds up wall seconds, and CPU seconds of all threads of the process; starts running."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.resume()

    def resume(self) -> None:
        """Start to count."""
        self._start = time.perf_counter(), time.process_time()

    def pause(self) -> None:
        """Stop counting."""
        self.wall += time.perf_counter() - self._start[0]
        self.cpu += time.process_time() - self._start[1]


def timed_trial(study: optuna.Study, problem: Problem) -> tuple[float, Clock]:
    """Carry out one trial; return its value and the time of ask, every suggest, and tell."""
    return next(timed_trials(study, problem, 1))


def timed_trials(
    study: optuna.Study, problem: Problem, n_trials: int, n_workers: int = 1, seed: int = 0
) -> Iterator[tuple[float, Clock]]:
    """Carry out trials; yield their values and times as they end.

    With several workers so many trials are under way whenever a point is asked for, and which of
    them ends next is drawn: what many machines do, on one.
    """
    rng = np.random.default_rng(seed)
    under_way: list[tuple[optuna.Trial, float, Clock]] = []
    for i in range(n_trials + n_workers - 1):
        if i < n_trials:
            clock = Clock()
            trial = study.ask()
            x = problem.suggest(trial)
            clock.pause()
            under_way.append((trial, problem.evaluate(x), clock))
        if len(under_way) == n_workers or (under_way and i >= n_trials):
            trial, value, clock = under_way.pop(int(rng.integers(len(under_way))))
            clock.resume()
            study.tell(trial, value)
            clock.pause()
            yield value, clock
