"""Problems whose parameters depend on the values of others.

jenatton
    The tree of Jenatton et al. (2017): three binary choices lead to one of four leaves, each with
    one parameter of its own and one that it shares with its neighbour.
pipeline
    One of three models with six parameters each, and four parameters for all of them.
network
    One to six layers, as an integer says, each with a width, and three parameters for all.
models
    A choice of four models for data that comes with scikit-learn, each with its own parameters.

Those for tuning have other constants, or other data.
"""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from types import MappingProxyType
from typing import Any

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import TUNING
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Names
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import imported


Ask = Callable[[optuna.Trial], float]


@dataclass(frozen=True, eq=False)
class Conditional(Problem):
    """An instance whose value is computed while a trial suggests parameters.

    Parameters
    ----------
    ask : callable
        A trial to the objective's value.
    answer : Mapping of str to object
        Parameters that have the optimum; empty where they are not known.
    """

    ask: Ask = lambda trial: math.nan
    answer: Mapping[str, Any] = field(default_factory=dict)

    def suggest(self, trial: optuna.Trial) -> FloatArray:
        """Suggest the parameters of a trial's branch; return the value, shape (1,)."""
        return np.array([self.ask(trial)])


def instance(
    name: str,
    seed: int,
    n_columns: int,
    ask: Ask,
    optimum: float,
    answer: Mapping[str, Any] = MappingProxyType({}),
) -> Problem:
    """Return a problem that asks for its parameters itself, to be minimised."""
    return Conditional(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=np.tile([0.0, 1.0], (n_columns, 1)),
        evaluate=lambda x: float(x[0]),
        optimum=optimum,
        argopt=None,
        ask=ask,
        answer=answer,
    )


def _jenatton(name: str, seed: int) -> Problem:
    offsets, centres = np.array([0.1, 0.2, 0.3, 0.4]), np.zeros(4)
    if name.endswith(TUNING):
        rng = generator(name, seed)
        offsets, centres = rng.permutation(offsets), rng.uniform(-0.7, 0.7, 4)

    def ask(trial: optuna.Trial) -> float:
        right = trial.suggest_categorical("x1", [0, 1])
        shared = trial.suggest_float("r9" if right else "r8", 0.0, 1.0)
        leaf = 2 * right + trial.suggest_categorical("x3" if right else "x2", [0, 1])
        x = trial.suggest_float(f"x{4 + leaf}", -1.0, 1.0)
        return float((x - centres[leaf]) ** 2 + offsets[leaf] + shared)

    return instance(name, seed, 9, ask, float(offsets.min()))


MODELS: Names = ("linear", "forest", "boosting")


def _pipeline(name: str, seed: int) -> Problem:
    rng = generator(name, seed)
    offsets = rng.permutation([0.0, 0.1, 0.2])
    own = rng.uniform(0.2, 0.8, (3, 6))
    # What is best for one model is nearly so for another.
    shared = 0.7 * rng.uniform(0.2, 0.8, 4) + 0.3 * rng.uniform(0.2, 0.8, (3, 4))
    power = 1.5 if name.endswith(TUNING) else 2.0

    def ask(trial: optuna.Trial) -> float:
        k = MODELS.index(trial.suggest_categorical("model", MODELS))
        x = [trial.suggest_float(f"{MODELS[k]}{i}", 0.0, 1.0) for i in range(6)]
        z = [trial.suggest_float(f"shared{i}", 0.0, 1.0) for i in range(4)]
        gaps = np.concatenate([x - own[k], z - shared[k]])
        return float(offsets[k] + (np.abs(gaps) ** power).sum())

    return instance(name, seed, 23, ask, 0.0)


MOST_LAYERS = 6
WIDTHS = np.arange(4, 513)


def _network(name: str, seed: int) -> Problem:
    rng = generator(name, seed)
    tuning = name.endswith(TUNING)
    best = int(rng.integers(2, MOST_LAYERS))
    widths, rate = rng.uniform(0.2, 0.8, MOST_LAYERS), 10.0 ** rng.uniform(-4.0, -2.0)
    dropout = 0.2 if tuning else 0.3
    weight = 0.5 if tuning else 0.3

    def too_deep(n: int) -> float:
        return 0.1 * (n - best) ** 2 / (1 + abs(n - best))

    def gap(i: int, width: Any) -> Any:
        return (np.log2(width / 4.0) / 7.0 - widths[i]) ** 2

    def ask(trial: optuna.Trial) -> float:
        n = trial.suggest_int("n_layers", 1, MOST_LAYERS)
        lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
        drop = trial.suggest_float("dropout", 0.0, 0.8)
        units = [trial.suggest_int(f"units{i}", 4, 512, log=True) for i in range(n)]
        total = too_deep(n) + weight * sum(gap(i, units[i]) for i in range(n))
        total += (1.0 + 0.1 * n) * (math.log10(lr / rate) / 4.0) ** 2
        size = sum(math.log2(w / 4.0) / 7.0 for w in units) / n
        return float(total + (0.5 + size) * (drop - dropout) ** 2)

    each = [float(gap(i, WIDTHS).min()) for i in range(MOST_LAYERS)]
    optimum = min(too_deep(n) + weight * sum(each[:n]) for n in range(1, MOST_LAYERS + 1))
    return instance(name, seed, 3 + MOST_LAYERS, ask, optimum)


MOST_STEPS = 1000
"""Steps of a solver. Without a limit, some settings take minutes on values that are not scaled."""


@functools.cache
def _data(name: str) -> tuple[Any, Any]:
    datasets = imported("sklearn.datasets", name, "scikit-learn")
    if name.endswith(TUNING):
        return datasets.load_wine(return_X_y=True)  # type: ignore[no-any-return]
    return datasets.load_breast_cancer(return_X_y=True)  # type: ignore[no-any-return]


def _estimator(trial: optuna.Trial) -> Any:
    """Return the model that a trial's parameters describe."""
    kind = trial.suggest_categorical("kind", ["svm", "forest", "neighbours", "logistic"])
    if kind == "svm":
        kernel = trial.suggest_categorical("kernel", ["linear", "rbf", "poly"])
        settings: dict[str, Any] = {"C": trial.suggest_float("C", 1e-3, 1e3, log=True)}
        if kernel != "linear":
            settings["gamma"] = trial.suggest_float("gamma", 1e-5, 1e1, log=True)
        if kernel == "poly":
            settings["degree"] = trial.suggest_int("degree", 2, 4)
        svm = importlib.import_module("sklearn.svm")
        return svm.SVC(kernel=kernel, max_iter=MOST_STEPS, **settings)
    if kind == "forest":
        ensemble = importlib.import_module("sklearn.ensemble")
        return ensemble.ExtraTreesClassifier(
            n_estimators=10,
            max_depth=trial.suggest_int("max_depth", 1, 16),
            max_features=trial.suggest_float("max_features", 0.05, 1.0),
            min_samples_leaf=trial.suggest_int("min_samples_leaf", 1, 20, log=True),
            random_state=0,
        )
    if kind == "neighbours":
        neighbors = importlib.import_module("sklearn.neighbors")
        return neighbors.KNeighborsClassifier(
            n_neighbors=trial.suggest_int("n_neighbors", 1, 40, log=True),
            weights=trial.suggest_categorical("weights", ["uniform", "distance"]),
            p=trial.suggest_float("p", 1.0, 4.0),
        )
    linear = importlib.import_module("sklearn.linear_model")
    return linear.RidgeClassifier(alpha=trial.suggest_float("alpha", 1e-4, 1e4, log=True))


def _models(name: str, seed: int) -> Problem:
    def ask(trial: optuna.Trial) -> float:
        pipeline = importlib.import_module("sklearn.pipeline")
        preprocessing = importlib.import_module("sklearn.preprocessing")
        selection = importlib.import_module("sklearn.model_selection")
        scale = trial.suggest_categorical("scale", ["none", "standard", "range"])
        steps = {
            "none": [],
            "standard": [preprocessing.StandardScaler()],
            "range": [preprocessing.MinMaxScaler()],
        }[scale]
        X, y = _data(name)
        folds = selection.StratifiedKFold(3, shuffle=True, random_state=seed)
        model = pipeline.make_pipeline(*steps, _estimator(trial))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a solver that did not converge
            return 1.0 - float(selection.cross_val_score(model, X, y, cv=folds).mean())

    return instance(name, seed, 13, ask, 0.0)


FAMILY: dict[str, Build] = {
    "jenatton": _jenatton,
    "pipeline": _pipeline,
    "network": _network,
    "models": _models,
}
"""The problems that are reported."""

TUNED: dict[str, Build] = {f"{name}{TUNING}": build for name, build in FAMILY.items()}
"""The same with other constants or data, for tuning."""
