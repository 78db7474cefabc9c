"""Error rates of classifiers on held-out samples: few values, which many settings share.

neighbours-65
    The number of neighbours of a nearest-neighbours classifier, and a weight for each of the 64
    columns of 600 of scikit-learn's digits.
forest-6
    Six hyperparameters of extremely randomised trees on 600 of these digits.
rule-31
    The 31 coefficients of a linear rule for two classes.

The seed draws which samples there are, and which of them are held out. Problems for tuning have
other data. 0 is only a bound of the values.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import TUNING
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import imported
from optuna_hdbo.benchmarks.problems.suites.mixed import minimised


TRAINED = 0.6
"""Share of the samples that a classifier is trained on."""

MOST_SAMPLES = 600


@functools.cache
def _split(name: str, seed: int, data: str) -> tuple[FloatArray, Any, FloatArray, Any]:
    """Return standardised columns and classes to train on, and those that are held out."""
    datasets = imported("sklearn.datasets", name, "scikit-learn")
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    rows = generator(name, seed).permutation(len(y))[:MOST_SAMPLES]
    X, y = X[rows], y[rows]
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    n = int(TRAINED * len(y))
    return X[:n], y[:n], X[n:], y[n:]


def _neighbours(data: str, n_columns: int) -> Build:
    def build(name: str, seed: int) -> Problem:
        def evaluate(x: FloatArray) -> float:
            neighbors = importlib.import_module("sklearn.neighbors")
            X, y, Z, true = _split(name, seed, data)
            model = neighbors.KNeighborsClassifier(int(x[0])).fit(X * x[1:], y)
            return 1.0 - float(model.score(Z * x[1:], true))

        bounds = np.array([[1.0, 15.0], *[[0.0, 1.0]] * n_columns])
        return minimised(name, seed, bounds, 1, evaluate)

    return build


def _forest(data: str) -> Build:
    bounds = [[5.0, 40.0], [1.0, 16.0], [1.0, 20.0], [2.0, 20.0], [0.05, 1.0], [-5.0, -1.0]]

    def build(name: str, seed: int) -> Problem:
        def evaluate(x: FloatArray) -> float:
            ensemble = importlib.import_module("sklearn.ensemble")
            X, y, Z, true = _split(name, seed, data)
            model = ensemble.ExtraTreesClassifier(
                n_estimators=int(x[0]),
                max_depth=int(x[1]),
                min_samples_leaf=int(x[2]),
                min_samples_split=int(x[3]),
                max_features=float(x[4]),
                ccp_alpha=10.0 ** float(x[5]),
                random_state=0,
            )
            return 1.0 - float(model.fit(X, y).score(Z, true))

        return minimised(name, seed, np.array(bounds), 4, evaluate)

    return build


def _rule(data: str, n_columns: int) -> Build:
    def build(name: str, seed: int) -> Problem:
        def evaluate(x: FloatArray) -> float:
            _, _, Z, true = _split(name, seed, data)
            return float(((Z @ x[1:] + x[0] > 0.0) != (true > 0)).mean())

        return minimised(name, seed, np.tile([-1.0, 1.0], (n_columns + 1, 1)), 0, evaluate)

    return build


FAMILY: dict[str, Build] = {
    "neighbours-65": _neighbours("digits", 64),
    "forest-6": _forest("digits"),
    "rule-31": _rule("breast_cancer", 30),
}
"""The problems that are reported."""

TUNED: dict[str, Build] = {
    f"neighbours-14{TUNING}": _neighbours("wine", 13),
    f"forest-6{TUNING}": _forest("wine"),
    f"rule-14{TUNING}": _rule("wine", 13),
}
"""The same with other data, for tuning."""
