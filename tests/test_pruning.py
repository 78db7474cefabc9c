"""Studies that prune most of their trials still learn from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from histories import INTERPRETED
from optuna.trial import TrialState

import optuna_hdbo


PRUNERS: dict[str, Callable[[], optuna.pruners.BasePruner]] = {
    "halving": lambda: optuna.pruners.SuccessiveHalvingPruner(1, 3),
    "hyperband": lambda: optuna.pruners.HyperbandPruner(1, 9, 3),
}


def curve(trial: optuna.Trial) -> float:
    """Approach a value slowly; how slowly depends on the parameters, too."""
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(4)]
    final = sum((v - 0.3) ** 2 for v in x)
    for step in range(1, 10):
        trial.report(final + (1 + x[0]) / step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return final


@pytest.mark.parametrize("name", list(SAMPLERS))
@pytest.mark.parametrize("pruner", list(PRUNERS))
def test_pruners(name: str, pruner: str, caplog: pytest.LogCaptureFixture) -> None:
    n = 14
    study = optuna.create_study(
        sampler=SAMPLERS[name](seed=0, n_startup_trials=4),
        pruner=PRUNERS[pruner](),
        study_name=pruner,
    )
    study.optimize(curve, n_trials=n)
    states = [t.state for t in study.trials]
    assert set(states) == {TrialState.COMPLETE, TrialState.PRUNED}
    assert not [message for message in caplog.messages if "at random" in message]


def slow_curve(trial: optuna.Trial) -> float:
    """Approach a value of ten parameters slowly; how slowly depends on one of them, too."""
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(10)]
    final = sum((v - 0.3) ** 2 for v in x)
    for n_trees in (5, 20, 80):
        trial.report(final + (1 + x[0]) * 5 / n_trees, n_trees)
        if trial.should_prune():
            raise optuna.TrialPruned
    return final


def tune(
    sampler: optuna.samplers.BaseSampler, n_trees: int, goal: float = -np.inf
) -> optuna.Study:
    """Tune until so many trees are built, and stop most trials early.

    A study that is below the goal ends after a quarter of them.
    """
    study = optuna.create_study(
        sampler=sampler, pruner=optuna.pruners.SuccessiveHalvingPruner(5, 4)
    )
    built = 0
    while built < n_trees:
        study.optimize(slow_curve, n_trials=1)
        built += study.trials[-1].last_step or 0
        if built > n_trees / 4 and study.best_value < goal:
            break
    return study


@pytest.mark.skipif(INTERPRETED, reason="needs more trials than plain Python can pay for")
def test_most_trials_pruned_is_still_better_than_random() -> None:
    """The same pruner, and the same number of trees in total."""
    random = [tune(optuna.samplers.RandomSampler(seed=seed), 1600) for seed in range(3)]
    goal = 0.5 * float(np.median([study.best_value for study in random]))
    ours: list[optuna.Study] = []
    while len(ours) < 3 and sum(study.best_value < goal for study in ours) < 2:
        ours.append(tune(optuna_hdbo.GPUCBSampler(seed=len(ours)), 1600, goal))
    assert sum(study.best_value < goal for study in ours) == 2
    pruned = [[t.state == TrialState.PRUNED for t in study.trials] for study in ours]
    assert np.mean([np.mean(states) for states in pruned]) > 0.6
