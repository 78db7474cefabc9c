"""``python -m optuna_hdbo warmup`` compiles everything now, so that no study has to wait."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial

import optuna

import optuna_hdbo
from optuna_hdbo._jit import kernels


N_TRIALS = 14
"""Trials with every sampler: enough for each to ask its models, with constraints and without."""


def mixed(trial: optuna.Trial) -> float:
    """Return a value that depends on a parameter of every kind."""
    x = [trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(3)]
    k = trial.suggest_int("k", 0, 5)
    return sum(x) + k + len(trial.suggest_categorical("c", ["a", "bc"]))


def several(trial: optuna.Trial, n_objectives: int) -> list[float]:
    """Return values, under a constraint where Optuna has them; several contradict each other."""
    value = mixed(trial)
    if hasattr(trial, "set_constraint"):
        trial.set_constraint("c", trial.params["x1"] - 0.7)
    return [(-1.0) ** i * value + i * float(trial.params["x0"]) for i in range(n_objectives)]


def warm_up() -> None:
    """Run a short study with every sampler, as it comes and as published."""
    classes = [
        getattr(optuna_hdbo, name) for name in optuna_hdbo.__all__ if name.endswith("Sampler")
    ]
    published = [cls.as_published for cls in classes if hasattr(cls, "as_published")]
    for create in [*classes, *published]:
        study = optuna.create_study(sampler=create(seed=0, n_startup_trials=4))
        study.optimize(mixed, n_trials=N_TRIALS)
    # One makes a sum with its constraints, two a volume, and four go in random directions.
    for n_objectives in (1, 2, 4):
        sampler = optuna_hdbo.GPUCBSampler(seed=0, n_startup_trials=4)
        fronts = optuna.create_study(directions=["minimize"] * n_objectives, sampler=sampler)
        fronts.optimize(partial(several, n_objectives=n_objectives), n_trials=N_TRIALS)
    evaluator = optuna_hdbo.GradISImportanceEvaluator(n_points=100)
    optuna.importance.get_param_importances(study, evaluator=evaluator)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        "python -m optuna_hdbo", description="Make studies start fast."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("warmup", help="compile everything now, for container images and CI")
    parser.parse_args(arguments)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print("Compiling. That takes up to a minute.", flush=True)
    start = time.perf_counter()
    warm_up()
    print(f"Compiled or loaded everything in {time.perf_counter() - start:.1f} s.")
    folder = getattr(getattr(kernels.fill, "stats", None), "cache_path", None)
    if folder is None:
        print("Nothing is cached. Set NUMBA_CACHE_DIR to a folder that can be written to.")
    else:
        print(f"The compiled code is cached in {folder}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
