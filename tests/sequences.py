"""Record what every sampler asks for, to show that a change leaves all trials as they were.

``python tests/sequences.py before.json``, then, with the change,
``python tests/sequences.py after.json --against before.json``. Numbers are compared bit for bit,
so both must be recorded on one machine with the same releases of NumPy, SciPy and Numba.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import optuna

import optuna_hdbo


N_TRIALS = 60

SAMPLERS = (
    "AddGPUCBSampler",
    "BaMSOOSampler",
    "GPMISampler",
    "GPUCBSampler",
    "HDBOSampler",
    "MSUCBSampler",
    "SOOSampler",
    "VSBOSampler",
)


def continuous(n_columns: int) -> Callable[[optuna.Trial], float]:
    """Return a function with interactions, whose optimum is off the centre."""

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_float(f"x{i}", -5.0, 5.0) for i in range(n_columns)]
        z = [v - 0.7 * (-1) ** i for i, v in enumerate(x)]
        pairs = sum(100.0 * (b - a * a / 5.0) ** 2 for a, b in itertools.pairwise(z))
        return pairs / 100.0 + sum(v * v for v in z)

    return objective


def mixed(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 1e-4, 1.0, log=True)
    n = trial.suggest_int("n", 1, 40)
    s = trial.suggest_float("s", 0.0, 2.0, step=0.25)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    y = trial.suggest_float("y", -1.0, 1.0)
    return (x - 0.01) ** 2 + (n - 17) ** 2 / 100.0 + (s - y) ** 2 + 0.3 * (kind != "b")


def constrained(trial: optuna.Trial) -> float:
    x = [trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(4)]
    limit = x[0] + x[1] - 1.0
    if hasattr(trial, "set_constraint"):
        trial.set_constraint("limit", limit)
    return -sum(x) + (x[2] - x[3]) ** 2


PROBLEMS = {
    "continuous-2": continuous(2),
    "continuous-6": continuous(6),
    "continuous-20": continuous(20),
    "mixed": mixed,
    "constrained": constrained,
}


def record(n_trials: int) -> dict[str, list[list[str]]]:
    """Return, for every sampler and problem, the parameters and the value of every trial."""
    found = {}
    for name in SAMPLERS:
        cls = getattr(optuna_hdbo, name)
        builds = {name: cls}
        if hasattr(cls, "as_published"):  # a portfolio has no paper
            builds[f"{name}.as_published"] = cls.as_published
        for label, build in builds.items():
            for problem, objective in PROBLEMS.items():
                start = time.process_time()
                study = optuna.create_study(sampler=build(seed=7))
                study.optimize(objective, n_trials=n_trials)
                found[f"{label} {problem}"] = [
                    [repr(t.value), *(f"{k}={t.params[k]!r}" for k in sorted(t.params))]
                    for t in study.trials
                ]
                print(f"{label} {problem} {time.process_time() - start:.1f} s", file=sys.stderr)
    return found


def main() -> int:
    """Record, and compare where there is something to compare with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--n-trials", type=int, default=N_TRIALS)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = record(args.n_trials)
    args.out.write_text(json.dumps(found, indent=0), encoding="utf-8")
    if args.against is None:
        return 0
    before = json.loads(args.against.read_text(encoding="utf-8"))
    different = [key for key in found if found[key] != before.get(key)]
    for key in different:
        pairs = zip(found[key], before.get(key, []), strict=False)
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), -1)
        print(f"{key}: differs from trial {first} on")
    print(f"{len(found) - len(different)} of {len(found)} sequences are the same")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
