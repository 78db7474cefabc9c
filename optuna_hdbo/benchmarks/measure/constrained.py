"""Problems with constraints: the first feasible trial, and the best feasible one in the end."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import numpy as np
import optuna

from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.measure.clock import Clock
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.suites.constrained import PROBLEMS
from optuna_hdbo.benchmarks.rivals import registry


_OF_COCO = [name for name in PROBLEMS if name.startswith("coco-")]
_OTHERS = [name for name in PROBLEMS if name not in _OF_COCO]
SUITE, COUNTS = "bbob-constrained", (1, 3, 9, 16, 24, 54)
"""Names of all problems of COCO's suite, and with -9 those with nine constraints."""

_PARTS = {f"{SUITE}-{n}": _OF_COCO[i :: len(COUNTS)] for i, n in enumerate(COUNTS)}
_SUITES = {SUITE: _OF_COCO, **_PARTS}

NAMES = f"{', '.join(_OTHERS)}, {_OF_COCO[0]} to {_OF_COCO[-1]}, {', '.join(_SUITES)}"
"""All problems with constraints, as people read them."""


def split(names: str) -> list[str]:
    """Return the names of problems in a text that separates them by commas."""
    found = [_SUITES.get(name, [name]) for name in names.split(",")]
    return [name for group in found for name in group]


def set_constraints(trial: optuna.Trial, values: FloatArray) -> None:
    """Set a trial's constraints in the way of this version of Optuna."""
    if hasattr(trial, "set_constraint"):
        for i, value in enumerate(values):
            trial.set_constraint(f"c{i}", float(value))
    else:  # before 5.0 samplers read what a constraints_func has left
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", values.tolist())


def sampler(label: str, problem: Problem, seed: int) -> optuna.samplers.BaseSampler:
    """Return a sampler that heeds constraints, if it can in this version of Optuna."""
    if label == "gp" and not hasattr(optuna.Trial, "set_constraint"):
        return optuna.samplers.GPSampler(
            seed=seed,
            n_startup_trials=registry.N_STARTUP_TRIALS,
            constraints_func=lambda trial: trial.system_attrs["constraints"],
        )
    return registry.parse(label).build(problem, seed)


def execute(name: str, label: str, seed: int, n_trials: int) -> dict[str, float]:
    """Return the first feasible trial, their number, their best regret, and CPU seconds.

    Infinite where no trial is feasible.
    """
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    constrained = PROBLEMS[name](name, seed)
    problem = constrained.problem
    study = optuna.create_study(direction=problem.direction, sampler=sampler(label, problem, seed))
    regret = np.full(n_trials, np.inf)
    clock = Clock()
    for t in range(n_trials):
        trial = study.ask()
        x = problem.suggest(trial)
        clock.pause()
        values, value = constrained.constraints(x), problem.evaluate(x)
        if np.all(values <= 0.0):
            regret[t] = problem.regret(value)
        clock.resume()
        set_constraints(trial, values)
        study.tell(trial, value)
    clock.pause()
    feasible = np.flatnonzero(np.isfinite(regret))
    return {
        "first": float(feasible[0]) if len(feasible) else np.inf,
        "feasible": float(len(feasible)),
        "regret": float(regret.min()),
        "cpu": clock.cpu,
    }


HEAD = """\
| problem | trials | seeds | sampler | found in | first feasible | feasible | regret | CPU s |
|---|---:|---:|---|---:|---:|---:|---:|---:|"""


def compare(
    names: Sequence[str], labels: Sequence[str], seeds: Sequence[int], n_trials: int
) -> str:
    """Return a Markdown table: medians over seeds, of the regret its quartiles as well.

    "Found in" counts the seeds that found anything feasible.

    Raises
    ------
    ValueError
        If a name or a setting is wrong. This is checked before any study begins.
    """
    check_integer("n_trials", n_trials, 1)
    for name in names:
        if name not in PROBLEMS:
            raise ValueError(f"problem must be one of {NAMES}, but got {name}.")
        for label in labels:
            registry.parse(label).build(PROBLEMS[name](name, 0).problem, 0)
    lines = [HEAD]
    for name in names:
        for label in labels:
            runs = [execute(name, label, seed, n_trials) for seed in seeds]
            column = {key: [run[key] for run in runs] for key in runs[0]}
            # Of an infinite and a finite number there is no mean, so no median is between two.
            low, middle, high = np.quantile(column["regret"], [0.25, 0.5, 0.75], method="higher")
            cells = [
                str(int(np.isfinite(column["first"]).sum())),
                f"{np.quantile(column['first'], 0.5, method='higher') + 1:.0f}",
                f"{np.median(column['feasible']):.0f}",
                f"{middle:.3g} ({low:.3g}, {high:.3g})",
                f"{np.median(column['cpu']):.1f}",
            ]
            lines.append(
                f"| {name} | {n_trials} | {len(seeds)} | `{label}` | " + " | ".join(cells) + " |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)
