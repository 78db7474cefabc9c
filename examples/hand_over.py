"""Hand a study over: random search begins, TPESampler goes on, and HDBOSampler ends it.

The study is stored in a file, as if each part were another day. A sampler learns from all trials
that there are, no matter which sampler suggested them. A number on the command line is
the number of trials that each sampler gets.
"""

from __future__ import annotations

import sys

import optuna
from optuna.samplers import RandomSampler
from optuna.samplers import TPESampler

from optuna_hdbo import HDBOSampler


STORAGE = "sqlite:///hand_over.db"


def objective(trial: optuna.Trial) -> float:
    """Return Rosenbrock's function of eight parameters: a curved valley."""
    x = [trial.suggest_float(f"x{i}", -2.0, 2.0) for i in range(8)]
    pairs = zip(x[1:], x[:-1], strict=True)
    return sum(100.0 * (after - before**2) ** 2 + (1.0 - before) ** 2 for after, before in pairs)


def main(n_trials: int = 40) -> None:
    """Let three samplers work on one study, one after the other."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for sampler in (RandomSampler(seed=0), TPESampler(seed=0), HDBOSampler(seed=0)):
        study = optuna.create_study(
            storage=STORAGE, study_name="handed over", sampler=sampler, load_if_exists=True
        )
        study.optimize(objective, n_trials=n_trials)
        name = type(sampler).__name__
        print(f"{name:14} best of {len(study.trials):3} trials: {study.best_value:.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
