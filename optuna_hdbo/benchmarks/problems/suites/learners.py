"""Choices of a learner for a table, with all of its hyperparameters, by cross-validation.

A trial chooses one of six learners of scikit-learn, one of four scalers and one of three ways to
reduce the columns. That makes 31 parameters, of which it has four to twelve.

informative-loss, informative-rate
    Two classes, about which 6 of 20 columns know something.
wine-loss
    scikit-learn's wines.
friedman-rmse
    Friedman's first function of ten columns, with noise.
diabetes-rmse
    scikit-learn's diabetes data.

What is minimised is the logarithmic loss, the error rate or the root mean square error. There are
160 samples. The seed draws them, and the folds. Problems for tuning have other data. 0 is only a
bound of the values.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import TUNING
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import imported
from optuna_hdbo.benchmarks.problems.suites.conditional import instance


N_SAMPLES = 160
N_FOLDS = 3
N_PARAMETERS = 31

LEAST_CHANCE = 1e-3
"""Probabilities count as at least this, so that no single sample decides about a loss."""

LARGEST_VALUE = 1e9
"""Predictions count as at most this, in case that a network diverges."""


def _sklearn(module: str) -> Any:
    return imported(f"sklearn.{module}", "of learners", "scikit-learn")


def _scaler(trial: optuna.Trial) -> list[Any]:
    preprocessing = _sklearn("preprocessing")
    kind = trial.suggest_categorical("scaler", ["none", "standard", "range", "quantile"])
    if kind == "quantile":
        n = trial.suggest_int("n_quantiles", 5, 80, log=True)
        return [preprocessing.QuantileTransformer(n_quantiles=n, random_state=0)]
    scalers = {"standard": preprocessing.StandardScaler, "range": preprocessing.MinMaxScaler}
    return [scalers[kind]()] if kind in scalers else []


def _reduction(trial: optuna.Trial, n_columns: int, *, classes: bool) -> list[Any]:
    kind = trial.suggest_categorical("reduction", ["none", "components", "selection"])
    if kind == "none":
        return []
    n = max(1, round(trial.suggest_float(f"{kind}_share", 0.1, 1.0) * n_columns))
    if kind == "components":
        return [_sklearn("decomposition").PCA(n, random_state=0)]
    selection = _sklearn("feature_selection")
    return [selection.SelectKBest(selection.f_classif if classes else selection.f_regression, k=n)]


def _last(penalty: float, *, classes: bool) -> Any:
    """Return a linear model."""
    linear = _sklearn("linear_model")
    return linear.LogisticRegression(C=1.0 / penalty) if classes else linear.Ridge(alpha=penalty)


def _linear(trial: optuna.Trial, *, classes: bool) -> list[Any]:
    return [_last(trial.suggest_float("penalty", 1e-4, 1e4, log=True), classes=classes)]


def _kernel(trial: optuna.Trial, *, classes: bool) -> list[Any]:
    kind = trial.suggest_categorical("kernel", ["rbf", "poly", "laplacian"])
    features = _sklearn("kernel_approximation").Nystroem(
        kernel=kind,
        gamma=trial.suggest_float("gamma", 1e-4, 1e1, log=True),
        degree=trial.suggest_int("degree", 2, 4) if kind == "poly" else None,
        n_components=trial.suggest_int("n_landmarks", 5, 80, log=True),
        random_state=0,
    )
    penalty = trial.suggest_float("kernel_penalty", 1e-4, 1e4, log=True)
    return [features, _last(penalty, classes=classes)]


def _neighbours(trial: optuna.Trial, *, classes: bool) -> list[Any]:
    neighbors = _sklearn("neighbors")
    make = neighbors.KNeighborsClassifier if classes else neighbors.KNeighborsRegressor
    model = make(
        n_neighbors=trial.suggest_int("n_neighbours", 1, 40, log=True),
        weights=trial.suggest_categorical("weights", ["uniform", "distance"]),
        p=trial.suggest_float("p", 1.0, 4.0),
    )
    return [model]


def _forest(trial: optuna.Trial, *, classes: bool) -> list[Any]:
    ensemble = _sklearn("ensemble")
    make = ensemble.ExtraTreesClassifier if classes else ensemble.ExtraTreesRegressor
    model = make(
        n_estimators=10,
        max_depth=trial.suggest_int("forest_depth", 1, 16),
        max_features=trial.suggest_float("forest_columns", 0.05, 1.0),
        min_samples_leaf=trial.suggest_int("forest_leaf", 1, 20, log=True),
        bootstrap=trial.suggest_categorical("bootstrap", [False, True]),
        random_state=0,
    )
    return [model]


def _boosting(trial: optuna.Trial, *, classes: bool) -> list[Any]:
    ensemble = _sklearn("ensemble")
    make = ensemble.GradientBoostingClassifier if classes else ensemble.GradientBoostingRegressor
    model = make(
        n_estimators=trial.suggest_int("n_steps", 5, 40, log=True),
        learning_rate=trial.suggest_float("step", 0.01, 1.0, log=True),
        max_depth=trial.suggest_int("boosting_depth", 1, 6),
        subsample=trial.suggest_float("subsample", 0.3, 1.0),
        max_features=trial.suggest_float("boosting_columns", 0.1, 1.0),
        random_state=0,
    )
    return [model]


def _network(trial: optuna.Trial, *, classes: bool) -> list[Any]:
    networks = _sklearn("neural_network")
    n_layers = trial.suggest_int("n_layers", 1, 3)
    widths = [trial.suggest_int(f"width{i}", 2, 32, log=True) for i in range(n_layers)]
    model = (networks.MLPClassifier if classes else networks.MLPRegressor)(
        hidden_layer_sizes=widths,
        activation=trial.suggest_categorical("activation", ["relu", "tanh"]),
        alpha=trial.suggest_float("decay", 1e-5, 1e1, log=True),
        learning_rate_init=trial.suggest_float("rate", 1e-4, 1e-1, log=True),
        max_iter=40,
        random_state=0,
    )
    return [model]


LEARNERS: Mapping[str, Callable[..., list[Any]]] = MappingProxyType(
    {
        "linear": _linear,
        "kernel": _kernel,
        "neighbours": _neighbours,
        "forest": _forest,
        "boosting": _boosting,
        "network": _network,
    }
)

Table = tuple[FloatArray, Any]


def _bundled(data: str) -> Callable[[np.random.Generator, int], Table]:
    def load(rng: np.random.Generator, state: int) -> Table:
        X, y = getattr(_sklearn("datasets"), f"load_{data}")(return_X_y=True)
        rows = rng.permutation(len(y))[:N_SAMPLES]
        return X[rows], y[rows]

    return load


def _generated(kind: str, **settings: Any) -> Callable[[np.random.Generator, int], Table]:
    def make(rng: np.random.Generator, state: int) -> Table:
        made = getattr(_sklearn("datasets"), f"make_{kind}")
        return made(n_samples=N_SAMPLES, random_state=state, **settings)  # type: ignore[no-any-return]

    return make


def _circles(rng: np.random.Generator, state: int) -> Table:
    X, y = _generated("circles", noise=0.2, factor=0.5)(rng, state)
    return np.hstack([X, rng.standard_normal((N_SAMPLES, 4))]), y


TABLES: Mapping[str, Callable[[np.random.Generator, int], Table]] = MappingProxyType(
    {
        "informative": _generated(
            "classification", n_features=20, n_informative=6, n_redundant=4, flip_y=0.05
        ),
        "wine": _bundled("wine"),
        "friedman": _generated("friedman1", noise=1.0),
        "diabetes": _bundled("diabetes"),
        "quantiles": _generated("gaussian_quantiles", n_features=5, n_classes=2),
        "circles": _circles,
        "circuit": _generated("friedman2", noise=100.0),
        "phase": _generated("friedman3", noise=0.1),
        "breast_cancer": _bundled("breast_cancer"),
    }
)


@functools.cache
def _table(name: str, seed: int) -> Table:
    rng = generator(name, seed)
    return TABLES[name.split("-")[0]](rng, int(rng.integers(2**31)))


def loss(predicted: FloatArray, y: Any) -> float:
    """Return the logarithmic loss of chances (n, k) of classes 0 to k - 1."""
    chances = np.maximum(predicted[np.arange(len(y)), y], LEAST_CHANCE)
    return float(-np.log(chances).mean())


def rate(predicted: Any, y: Any) -> float:
    """Return the share of wrong predictions (n,)."""
    return float((predicted != y).mean())


def rmse(predicted: FloatArray, y: FloatArray) -> float:
    """Return the root mean square error of predictions (n,)."""
    gaps = np.clip(predicted, -LARGEST_VALUE, LARGEST_VALUE) - y
    return float(np.sqrt((gaps**2).mean()))


MEASURES: Mapping[str, Callable[[Any, Any], float]] = MappingProxyType(
    {"loss": loss, "rate": rate, "rmse": rmse}
)


def _chosen(name: str, seed: int) -> Problem:
    measure = name.split("-")[1]
    classes = measure != "rmse"

    def ask(trial: optuna.Trial) -> float:
        X, y = _table(name, seed)
        learner = LEARNERS[trial.suggest_categorical("learner", list(LEARNERS))]
        steps = [
            *_scaler(trial),
            *_reduction(trial, X.shape[1], classes=classes),
            *learner(trial, classes=classes),
        ]
        selection = _sklearn("model_selection")
        folds = selection.StratifiedKFold if classes else selection.KFold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a solver that did not converge
            predicted = selection.cross_val_predict(
                _sklearn("pipeline").make_pipeline(*steps),
                X,
                y,
                cv=folds(N_FOLDS, shuffle=True, random_state=seed),
                method="predict_proba" if measure == "loss" else "predict",
            )
        return MEASURES[measure](predicted, y)

    return instance(name, seed, N_PARAMETERS, ask, 0.0)


FAMILY: dict[str, Build] = dict.fromkeys(
    ("informative-loss", "informative-rate", "wine-loss", "friedman-rmse", "diabetes-rmse"),
    _chosen,
)
"""The problems that are reported."""

TUNED: dict[str, Build] = dict.fromkeys(
    (
        f"{name}{TUNING}"
        for name in (
            *("quantiles-loss", "circles-loss", "circles-rate", "breast_cancer-loss"),
            *("circuit-rmse", "phase-rmse"),
        )
    ),
    _chosen,
)
"""The same with other data, for tuning."""
