"""Tune gradient boosting in a minute, and see what was learned about its hyperparameters.

Run it twice: the second run goes on where the first one stopped. A number on the command line is
the number of trials.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import optuna
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight

from optuna_hdbo import HDBOSampler
from optuna_hdbo import explain
from optuna_hdbo import visualization


STORAGE = "sqlite:///quickstart.db"
FIGURES = Path("quickstart.html")
N_TREES = (10, 20, 40, 80)
"""After each of these numbers of trees, the pruner may stop a trial."""

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, digit % 2, test_size=0.5, random_state=0)


def objective(trial: optuna.Trial) -> float:
    """Return the log loss of telling odd from even digits, with 13 hyperparameters."""
    settings = {
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 1.0, log=True),
        "subsample": trial.suggest_float("subsample", 0.3, 1.0),
        "max_features": trial.suggest_float("max_features", 0.05, 0.5),
        "max_depth": trial.suggest_int("max_depth", 1, 8),
        "max_leaf_nodes": trial.suggest_int("max_leaf_nodes", 2, 64, log=True),
        "min_samples_split": trial.suggest_int("min_samples_split", 2, 64, log=True),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 64, log=True),
        "min_weight_fraction_leaf": trial.suggest_float("min_weight_fraction_leaf", 0.0, 0.3),
        "min_impurity_decrease": trial.suggest_float("min_impurity_decrease", 1e-6, 1, log=True),
        "ccp_alpha": trial.suggest_float("ccp_alpha", 1e-6, 0.1, log=True),
        "loss": trial.suggest_categorical("loss", ["log_loss", "exponential"]),
        "init": trial.suggest_categorical("init", [None, "zero"]),
    }
    balanced = trial.suggest_categorical("balanced", [False, True])
    weight = compute_sample_weight("balanced" if balanced else None, y_train)
    model = GradientBoostingClassifier(**settings, warm_start=True, random_state=0)
    loss = math.inf
    for n_trees in N_TREES:
        model.set_params(n_estimators=n_trees).fit(X_train, y_train, weight)
        loss = float(log_loss(y_test, model.predict_proba(X_test)))
        trial.report(loss, n_trees)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def tune(name: str, sampler: optuna.samplers.BaseSampler, n_trials: int) -> optuna.Study:
    """Create or resume a study and run some trials."""
    study = optuna.create_study(
        storage=STORAGE,
        study_name=name,
        sampler=sampler,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=10),
        load_if_exists=True,
    )
    print(f"\nStudy '{name}': {len(study.trials)} trials so far, {n_trials} more.")
    study.optimize(objective, n_trials=n_trials, show_progress_bar=True)
    return study


def draw(study: optuna.Study, baseline: optuna.Study) -> None:
    """Write a page with figures, which a browser shows without a network."""
    figures = [
        optuna.visualization.plot_optimization_history([study, baseline]),
        visualization.plot_importances(study),
    ]
    if any("hdbo:expert" in trial.user_attrs for trial in study.trials):  # after the startup
        figures.append(visualization.plot_experts(study))
    parts = [
        f.to_html(full_html=False, include_plotlyjs=f is figures[0], default_height=500)
        for f in figures
    ]
    FIGURES.write_text(f"<html><body>{''.join(parts)}</body></html>", encoding="utf-8")


def main(n_trials: int = 80) -> None:
    """Tune with HDBOSampler, and at random for comparison."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = tune("hdbo", HDBOSampler(seed=0), n_trials)
    baseline = tune("random", optuna.samplers.RandomSampler(seed=0), n_trials)

    print(f"\nLog loss, best of {len(study.trials)} trials (lower is better):")
    print(f"  HDBOSampler    {study.best_value:.4f}")
    print(f"  RandomSampler  {baseline.best_value:.4f}")
    print("\nBest hyperparameters:")
    for name, value in study.best_params.items():
        print(f"  {name:25} {value:.4g}" if isinstance(value, float) else f"  {name:25} {value}")
    print(f"\n{explain(study)}")
    draw(study, baseline)
    print(f"\nFigures are in {FIGURES}. To browse both studies:")
    print(f"  pip install optuna-dashboard && optuna-dashboard {STORAGE}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
