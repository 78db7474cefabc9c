"""Tune LightGBM with early stopping, and with a pruner that compares rounds of boosting.

    pip install "optuna-hdbo[examples]" lightgbm

Early stopping ends a model that does not get better; the pruner ends a trial that is worse than
others were. A number on the command line is the number of trials.
"""

from __future__ import annotations

import sys
from typing import Any

import lightgbm
import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from optuna_hdbo import HDBOSampler


N_ROUNDS = 200

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, digit % 2, test_size=0.5, random_state=0)


def reporter(trial: optuna.Trial) -> Any:
    """Return a callback that reports every tenth round, and ends the trial where it is pruned."""

    def report(state: Any) -> None:
        if state.iteration % 10 == 9:
            trial.report(state.evaluation_result_list[0][2], state.iteration)
            if trial.should_prune():
                raise optuna.TrialPruned

    return report


def objective(trial: optuna.Trial) -> float:
    """Return the log loss on held-out digits, with 12 hyperparameters."""
    settings = {
        "objective": "binary",
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.5, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 128, log=True),
        "max_depth": trial.suggest_int("max_depth", 2, 12),
        "min_data_in_leaf": trial.suggest_int("min_data_in_leaf", 2, 80, log=True),
        "feature_fraction": trial.suggest_float("feature_fraction", 0.1, 1.0),
        "bagging_fraction": trial.suggest_float("bagging_fraction", 0.3, 1.0),
        "bagging_freq": trial.suggest_int("bagging_freq", 1, 7),
        "lambda_l1": trial.suggest_float("lambda_l1", 1e-6, 10.0, log=True),
        "lambda_l2": trial.suggest_float("lambda_l2", 1e-6, 10.0, log=True),
        "min_gain_to_split": trial.suggest_float("min_gain_to_split", 1e-6, 1.0, log=True),
        "path_smooth": trial.suggest_float("path_smooth", 1e-3, 10.0, log=True),
        "extra_trees": trial.suggest_categorical("extra_trees", [False, True]),
        "num_threads": 1,
        "seed": 0,
        "verbose": -1,
    }
    train = lightgbm.Dataset(X_train, y_train)
    model = lightgbm.train(
        settings,
        train,
        N_ROUNDS,
        valid_sets=[lightgbm.Dataset(X_test, y_test, reference=train)],
        callbacks=[lightgbm.early_stopping(20, verbose=False), reporter(trial)],
    )
    trial.set_user_attr("rounds", model.best_iteration)
    return float(model.best_score["valid_0"]["binary_logloss"])


def main(n_trials: int = 60) -> optuna.Study:
    """Tune the model."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        sampler=HDBOSampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=8, n_warmup_steps=20),
    )
    study.optimize(objective, n_trials=n_trials)
    states = [trial.state.name for trial in study.trials]
    print(f"log loss {study.best_value:.4f}; {states.count('PRUNED')} of {len(states)} pruned")
    print(study.best_params)
    return study


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
