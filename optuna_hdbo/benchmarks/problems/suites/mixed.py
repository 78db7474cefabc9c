"""Problems with many discrete parameters beside real ones.

ackley-53
    Ackley's function of 50 binary parameters and three real ones on [-1, 1], as in Wan et al.
    (2021, "Think Global and Act Local"). There the optimum is where all are 0; here it is drawn.
features-100
    Which of 100 columns a nearest-neighbours classifier shall see, as 100 binary parameters. The
    columns are those of a dataset that comes with scikit-learn and columns of noise. The objective
    is the cross-validated error plus a price for every column, so that 0 is only a bound.
mixint-f8-20
    Function 8 of COCO's suite ``bbob-mixint`` (Tusar et al. 2019) through ``coco-experiment``, in
    20 dimensions: four parameters each of 2, 4, 8 and 16 integers, and four real ones. One
    function of each of the five groups is here. Seed s is instance s + 1 of the 15 there are.

Problems for tuning have another function, other data; none are of COCO.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems import functions
from optuna_hdbo.benchmarks.problems.functions import Function
from optuna_hdbo.benchmarks.problems.instances import TUNING
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import imported
from optuna_hdbo.benchmarks.problems.suites.coco import OfCoco


N_BINARY = 50
N_FEATURES = 100
PRICE = 0.001
"""Of a column, in units of the error rate."""
N_NEIGHBOURS = 5
COCO = (3, 8, 10, 15, 21)
"""Separable, moderately conditioned, ill-conditioned, multimodal, weakly structured."""
COCO_DIMENSION = 20


@dataclass(frozen=True, eq=False)
class Mixed(Problem):
    """An instance whose first parameters are integers.

    Parameters
    ----------
    n_integers : int
        How many of them there are; the others are real.
    """

    n_integers: int = 0

    def suggest(self, trial: optuna.Trial) -> FloatArray:
        """Ask a trial for every parameter, in order; shape (D,)."""
        x = np.empty(self.dim)
        for j, (name, (low, high)) in enumerate(zip(self.names, self.bounds, strict=True)):
            if j < self.n_integers:
                x[j] = trial.suggest_int(name, int(low), int(high))
            else:
                x[j] = trial.suggest_float(name, low, high)
        return x


def minimised(
    name: str,
    seed: int,
    bounds: FloatArray,
    n_integers: int,
    evaluate: Callable[[FloatArray], float],
    optimum: float = 0.0,
    argopt: FloatArray | None = None,
) -> Mixed:
    """Return an instance that is minimised. Without ``argopt``, the optimum is only a bound."""
    return Mixed(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=bounds,
        evaluate=evaluate,
        optimum=optimum,
        argopt=argopt,
        n_integers=n_integers,
    )


def _binary(function: Function) -> Build:
    """Build instances of a function of 50 binary and some real parameters."""
    n_real = len(function.box) - N_BINARY
    bounds = np.vstack([np.tile([0.0, 1.0], (N_BINARY, 1)), np.tile([-1.0, 1.0], (n_real, 1))])

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        best = rng.integers(0, 2, N_BINARY)
        shift = rng.uniform(-0.6, 0.6, n_real)

        def evaluate(x: FloatArray) -> float:
            gap = np.concatenate([x[:N_BINARY] != best, x[N_BINARY:] - shift])
            return function.evaluate(function.argmin + gap)

        argopt = np.concatenate([best, shift])
        return minimised(name, seed, bounds, N_BINARY, evaluate, function.minimum, argopt)

    return build


@functools.cache
def _columns(name: str, seed: int) -> tuple[FloatArray, Any]:
    """Return standardised columns, those of the data among those of noise, and the classes."""
    datasets = imported("sklearn.datasets", name, "scikit-learn")
    load = datasets.load_wine if name.endswith(TUNING) else datasets.load_breast_cancer
    X, y = load(return_X_y=True)
    rng = generator(name, seed)
    noise = rng.standard_normal((len(X), N_FEATURES - X.shape[1]))
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), noise])
    return X[:, rng.permutation(N_FEATURES)], y


def _features(name: str, seed: int) -> Problem:
    def evaluate(x: FloatArray) -> float:
        chosen = x == 1.0
        if not chosen.any():
            return 1.0
        selection = importlib.import_module("sklearn.model_selection")
        neighbors = importlib.import_module("sklearn.neighbors")
        X, y = _columns(name, seed)
        model = neighbors.KNeighborsClassifier(N_NEIGHBOURS)
        folds = selection.StratifiedKFold(3, shuffle=True, random_state=seed)
        accuracy = selection.cross_val_score(model, X[:, chosen], y, cv=folds).mean()
        return float(1.0 - accuracy + PRICE * chosen.sum())

    return minimised(name, seed, np.tile([0.0, 1.0], (N_FEATURES, 1)), N_FEATURES, evaluate)


def _coco(number: int) -> Build:
    def build(name: str, seed: int) -> Problem:
        of = OfCoco.instance("bbob-mixint", number, COCO_DIMENSION, name, seed)
        n_integers = of.problem.number_of_integer_variables
        return minimised(name, seed, of.bounds, n_integers, of.evaluate, of.optimum)

    return build


FAMILY: dict[str, Build] = {
    "ackley-53": _binary(functions.ackley(N_BINARY + 3)),
    "features-100": _features,
    **{f"mixint-f{number}-{COCO_DIMENSION}": _coco(number) for number in COCO},
}
"""The problems that are reported."""

TUNED: dict[str, Build] = {
    f"levy-53{TUNING}": _binary(functions.levy(N_BINARY + 3)),
    f"rosenbrock-53{TUNING}": _binary(functions.rosenbrock(N_BINARY + 3)),
    f"features-100{TUNING}": _features,
}
"""Others, for tuning."""
