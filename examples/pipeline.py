"""Tune all steps of a scikit-learn pipeline together.

The pipeline scales, reduces and classifies. A number on the command line is the number of trials.
"""

from __future__ import annotations

import sys

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PowerTransformer
from sklearn.preprocessing import QuantileTransformer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_hdbo import HDBOSampler


X, y = load_breast_cancer(return_X_y=True)

SCALERS = {
    "standard": StandardScaler(),
    "power": PowerTransformer(),
    "quantile": QuantileTransformer(n_quantiles=100, output_distribution="normal"),
}


def build(trial: optuna.Trial) -> Pipeline:
    """Return a pipeline with nine hyperparameters; every trial has all of them."""
    k = trial.suggest_int("n_features", 5, 30)
    share = trial.suggest_float("components", 0.1, 1.0)
    whiten = trial.suggest_categorical("whiten", [False, True])
    return Pipeline(
        [
            ("scale", SCALERS[trial.suggest_categorical("scaler", list(SCALERS))]),
            ("select", SelectKBest(k=k)),
            ("reduce", PCA(max(1, round(share * k)), whiten=whiten)),
            (
                "classify",
                SVC(
                    C=trial.suggest_float("C", 1e-2, 1e3, log=True),
                    gamma=trial.suggest_float("gamma", 1e-5, 1.0, log=True),
                    kernel=trial.suggest_categorical("kernel", ["rbf", "sigmoid"]),
                    shrinking=trial.suggest_categorical("shrinking", [False, True]),
                    tol=trial.suggest_float("tol", 1e-5, 1e-1, log=True),
                ),
            ),
        ]
    )


def objective(trial: optuna.Trial) -> float:
    """Return the error rate in cross-validation."""
    return 1.0 - float(cross_val_score(build(trial), X, y, cv=5).mean())


def main(n_trials: int = 60) -> None:
    """Tune the pipeline."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=HDBOSampler(seed=0))
    study.optimize(objective, n_trials=n_trials, show_progress_bar=True)
    print(f"error {study.best_value:.2%} with {study.best_params}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
