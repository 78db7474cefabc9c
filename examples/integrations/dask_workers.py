"""Let four Dask workers share one study.

    pip install "optuna-hdbo[dask]"

The storage lives with Dask's scheduler, so no database is needed. On a cluster, give ``Client``
the scheduler's address. A number on the command line is the number of trials.
"""

from __future__ import annotations

import sys

import optuna
from distributed import Client
from distributed import LocalCluster
from distributed import wait
from optuna_integration import DaskStorage

from optuna_hdbo import HDBOSampler


N_WORKERS = 4


def objective(trial: optuna.Trial) -> float:
    """Return a function of twelve parameters: your training goes here."""
    x = [trial.suggest_float(f"x{i}", -5.0, 5.0) for i in range(12)]
    return sum((i + 1) * (v - 1.0) ** 2 for i, v in enumerate(x)) + x[0] * x[1]


def main(n_trials: int = 80, *, processes: bool = True) -> optuna.Study:
    """Run the study on one machine."""
    with (
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            processes=processes,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        study = optuna.create_study(storage=DaskStorage(), sampler=HDBOSampler(seed=0))
        share = n_trials // N_WORKERS
        jobs = [
            client.submit(study.optimize, objective, n_trials=share, pure=False)
            for _ in range(N_WORKERS)
        ]
        wait(jobs)
        for job in jobs:
            job.result()  # raises what a worker raised
        print(f"best of {len(study.trials)} trials: {study.best_value:.4f}")
        return _copied(study)


def _copied(study: optuna.Study) -> optuna.Study:
    """Return a copy in memory, because the scheduler's storage ends with the cluster."""
    copy = optuna.create_study()
    copy.add_trials(study.trials)
    return copy


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
