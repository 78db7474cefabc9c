"""Problems with noise: how good the best trial is, and the one that a model believes best."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import optuna

from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.believed import get_believed_best
from optuna_hdbo.benchmarks.measure.clock import timed_trials
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.rivals import registry


N_RANDOM = 1000
"""Random points whose values say how far good values are from ordinary ones."""


VAST = 1e200
"""Infinite values count as this, since a quantile may be between two of them."""


def spread(problem: Problem) -> float:
    """Return the distance from the median to the best value of :data:`N_RANDOM` random points."""
    rng = np.random.default_rng([0, problem.seed])
    low, high = problem.bounds.T
    points = rng.uniform(low, high, (N_RANDOM, len(low)))
    regret = np.array([problem.regret(problem.evaluate(x)) for x in points])
    return float(np.median(regret) - regret.min())


def execute(name: str, label: str, seed: int, n_trials: int, level: float) -> dict[str, float]:
    """Return regrets without noise, of the best and of the believed best trial, and CPU seconds.

    The noise is normal. Its standard deviation is ``level`` times the :func:`spread`. Seconds are
    those of ``ask``, every ``suggest`` and ``tell``, not of the objective.
    """
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    problem = catalogue.make(name, seed)
    rival = registry.parse(label)
    study = optuna.create_study(direction=problem.direction, sampler=rival.build(problem, seed))
    noise = level * spread(problem) * np.random.default_rng([1, seed]).standard_normal(n_trials)
    regret: list[float] = []

    def evaluate(x: FloatArray) -> float:
        value = problem.evaluate(x)
        regret.append(problem.regret(value))
        return value + float(noise[len(regret) - 1])

    noisy = replace(problem, evaluate=evaluate)
    trials = timed_trials(study, noisy, n_trials, rival.n_workers, seed)
    cpu = sum(clock.cpu for _, clock in trials)
    return {
        "best": regret[study.best_trial.number],
        "believed": regret[get_believed_best(study).number],
        "cpu": cpu,
    }


def check(
    names: Sequence[str],
    labels: Sequence[str],
    seeds: Sequence[int],
    n_trials: int,
    kinds: tuple[type[Problem], ...] = (Problem,),
    must: str = "have nothing but real parameters",
) -> None:
    """Raise a ``ValueError`` if studies cannot be run, or if a problem is of none of these kinds.

    ``must`` says for people what the problems of these kinds have in common.
    """
    check_integer("n_trials", n_trials, 1)
    for name in names:
        for seed in seeds:
            catalogue.check_seed(name, seed)
        problem = catalogue.make(name, seeds[0])
        if type(problem) not in kinds:
            raise ValueError(f"problem must {must}, but got {name}.")
        for label in labels:
            registry.parse(label).build(problem, seeds[0])


HEAD = """\
| problem | noise | trials | seeds | sampler | best trial | believed best | CPU s |
|---|---:|---:|---:|---|---:|---:|---:|"""


def compare(
    names: Sequence[str],
    labels: Sequence[str],
    seeds: Sequence[int],
    n_trials: int,
    level: float,
) -> str:
    """Return a Markdown table: medians and quartiles over seeds of the regrets without noise.

    Raises
    ------
    ValueError
        If a name or a setting is wrong. This is checked before any study begins.
    """
    if not 0.0 <= level < np.inf:
        raise ValueError(f"level must be a finite number of at least 0, but got {level}.")
    check(names, labels, seeds, n_trials)
    lines = [HEAD]
    for name in names:
        for label in labels:
            runs = [execute(name, label, seed, n_trials, level) for seed in seeds]
            cells = [
                *(quartiles([run[key] for run in runs]) for key in ("best", "believed")),
                f"{np.median([run['cpu'] for run in runs]):.1f}",
            ]
            lines.append(
                f"| {name} | {level:g} | {n_trials} | {len(seeds)} | `{label}` | "
                + " | ".join(cells)
                + " |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def quartiles(values: Sequence[float]) -> str:
    """Return the median, and the quartiles in brackets. Values may be infinite."""
    found = np.quantile(np.minimum(values, VAST), [0.25, 0.5, 0.75])
    low, middle, high = np.where(found < VAST / 100.0, found, np.inf)
    return f"{middle:.3g} ({low:.3g}, {high:.3g})"
