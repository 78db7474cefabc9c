"""Many processes, one script, one seed: every storage that Optuna offers for that."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
import workers
from exported import ACROSS_PROCESSES
from histories import INTERPRETED
from histories import THOROUGH

import optuna_hdbo


N_THREADS = 8
N_PROCESSES = 8 if THOROUGH else 3


def test_eight_threads() -> None:
    for name in ACROSS_PROCESSES:
        sampler = getattr(optuna_hdbo, name)(seed=0, n_startup_trials=8)
        study = optuna.create_study(sampler=sampler)
        study.optimize(workers.slope, n_trials=4 * N_THREADS, n_jobs=N_THREADS)
        points = [t.params for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
        assert len({tuple(point.values()) for point in points}) == 4 * N_THREADS


@pytest.mark.skipif(INTERPRETED, reason="is about processes, which compiled code shares")
def test_processes(create_study: Callable[[], optuna.Study], url: str) -> None:
    """Every trial is done, no two share a point, nothing is drawn for want of a suggestion."""
    studies = {name: create_study() for name in ACROSS_PROCESSES}
    names = [(study.study_name, name) for name, study in studies.items()]
    n_each = 3 if THOROUGH else 5
    with workers.started(workers.optimise, [(url, names, n_each)] * N_PROCESSES) as processes:
        workers.join(processes)
    for study in studies.values():
        trials = study.trials
        assert [t.number for t in trials] == list(range(N_PROCESSES * n_each))
        assert all(t.state == optuna.trial.TrialState.COMPLETE for t in trials)
        assert len({tuple(t.params.values()) for t in trials}) == len(trials)
        assert all(len(t.params) == len(workers.PARAMETERS) for t in trials)
