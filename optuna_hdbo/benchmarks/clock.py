"""Wall and CPU seconds of a sampler, the objective left out."""

from __future__ import annotations

import time

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
    clock = Clock()
    trial = study.ask()
    x = problem.suggest(trial)
    clock.pause()
    value = problem.evaluate(x)
    clock.resume()
    study.tell(trial, value)
    clock.pause()
    return value, clock
