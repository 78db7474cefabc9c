"""Run trials and measure their wall and CPU seconds, without those of the objective."""

from __future__ import annotations

import time
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo.benchmarks.problems.instances import Problem


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


class Metered(BaseSampler):
    """Forwards every call to a sampler, and adds up the CPU seconds that the calls take.

    This is what the sampler costs by itself: without Optuna's part of ask, suggest and tell.
    """

    def __init__(self, sampler: BaseSampler) -> None:
        self._sampler = sampler
        self.cpu = 0.0

    @contextmanager
    def _running(self) -> Iterator[BaseSampler]:
        start = time.process_time()
        try:
            yield self._sampler
        finally:
            self.cpu += time.process_time() - start

    def reseed_rng(self) -> None:
        """Forward, not counted."""
        self._sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Forward and count."""
        with self._running() as sampler:
            sampler.before_trial(study, trial)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Forward and count."""
        with self._running() as sampler:
            return sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Forward and count."""
        with self._running() as sampler:
            return sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: Any
    ) -> Any:
        """Forward and count."""
        with self._running() as sampler:
            return sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Forward and count."""
        with self._running() as sampler:
            sampler.after_trial(study, trial, state, values)


def timed_trial(study: optuna.Study, problem: Problem) -> tuple[float, Clock]:
    """Run one trial; return its value and the time of ask, every suggest, and tell."""
    return next(timed_trials(study, problem, 1))


def timed_trials(
    study: optuna.Study, problem: Problem, n_trials: int, n_workers: int = 1, seed: int = 0
) -> Iterator[tuple[float, Clock]]:
    """Run trials; yield their values and times as they end.

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
