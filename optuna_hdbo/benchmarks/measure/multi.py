"""Runs on problems with several objectives: hypervolume after every trial."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import optuna

from optuna_hdbo import __version__
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.fronts import MOST_DECOMPOSED
from optuna_hdbo._core.fronts import n_dominating
from optuna_hdbo._core.fronts import volume
from optuna_hdbo.benchmarks.measure import constrained
from optuna_hdbo.benchmarks.measure.clock import Clock
from optuna_hdbo.benchmarks.problems.instances import imported
from optuna_hdbo.benchmarks.problems.suites import multi
from optuna_hdbo.benchmarks.rivals import registry


EVERY = 10
"""The hypervolume is filed after so many trials each, and at the end of a shorter study."""


def volume_below(values: FloatArray, reference: FloatArray) -> float:
    """Return the hypervolume of values (n, k), smaller ones being better, up to a reference (k,).

    For more than three objectives it is computed by pymoo.
    """
    if len(reference) <= MOST_DECOMPOSED:
        return volume(-values, -reference)
    below = values[(values < reference).all(axis=1)]
    if not len(below):
        return 0.0
    indicators = imported("pymoo.indicators.hv", "with four or more objectives", "pymoo")
    return float(indicators.HV(ref_point=reference)(below))


def execute(name: str, label: str, seed: int, n_trials: int) -> dict[str, Any]:
    """Carry out one run and return its result, ready for JSON.

    Seconds are those of ``ask``, every ``suggest`` and ``tell``, not of the objectives. Only
    feasible trials count.
    """
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    problem = multi.make(name)
    first = problem.first(seed)
    if problem.constraints is None:
        sampler = registry.parse(label).build(first, seed)
    else:
        sampler = constrained.sampler(label, first, seed)
    study = optuna.create_study(directions=["minimize"] * len(problem.reference), sampler=sampler)
    values: FloatArray = np.empty((n_trials, len(problem.reference)))
    feasible = np.ones(n_trials, np.bool_)
    clock = Clock()
    for t in range(n_trials):
        trial = study.ask()
        x = problem.suggest(trial)
        clock.pause()
        values[t] = problem.evaluate(x)
        if problem.constraints is not None:
            violations = problem.constraints(x)
            feasible[t] = np.all(violations <= 0.0)
            constrained.set_constraints(trial, violations)
        clock.resume()
        study.tell(trial, values[t].tolist())
    clock.pause()
    filed = range(min(EVERY, n_trials), n_trials + 1, EVERY)
    volumes = [volume_below(values[:t][feasible[:t]], problem.reference) for t in filed]
    front = values[feasible & (n_dominating(-values, feasible) == 0)]
    return {
        "problem": name,
        "rival": label,
        "seed": seed,
        "n_trials": n_trials,
        "purpose": problem.purpose,
        "feasible": int(feasible.sum()),
        "hypervolume": [float(f"{v:.7g}") for v in volumes],
        "front": [[float(f"{v:.4g}") for v in row] for row in front.tolist()],
        "cpu": {"total": round(clock.cpu, 3)},
        "wall": {"total": round(clock.wall, 3)},
        "versions": {
            "optuna": optuna.__version__,
            "optuna_hdbo": __version__,
            "numpy": np.__version__,
        },
    }
