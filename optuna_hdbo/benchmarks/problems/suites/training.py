"""Models that scikit-learn trains step by step, with the loss of other samples after every step.

digits-network, classes-network
    A network with one or two hidden layers, for images of digits and for two generated classes
    of 20 columns: 27 epochs. Nine parameters.
quantiles-kernel
    A linear model of random Fourier features, for three shells of a normal distribution in six
    dimensions: 27 epochs of stochastic gradient descent. Nine parameters.
friedman-boosting
    Boosted trees, for Friedman's first function among 20 columns, with noise: 27 times four trees.
    Eight parameters.

What is minimised is the logarithmic loss or the root mean square error after the last step. Half
of the samples are for training. The seed draws the samples, and what is random in training.
0 is only a bound of the values.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import imported
from optuna_hdbo.benchmarks.problems.suites import learners
from optuna_hdbo.benchmarks.problems.suites.conditional import Conditional
from optuna_hdbo.benchmarks.problems.suites.conditional import instance


N_STEPS = 27
N_TREES = 4
"""In a step of boosting."""

Losses = Callable[[optuna.Trial], Iterator[float]]


@dataclass(frozen=True, eq=False)
class Training(Conditional):
    """An instance whose trials are trained step by step.

    Parameters
    ----------
    losses : callable
        A trial to its losses after every step. The last one is the objective's value.
    """

    losses: Losses = lambda trial: iter(())


@dataclass(frozen=True, eq=False)
class Table:
    """Scaled samples for training and for the loss, with their targets."""

    X: FloatArray
    y: Any
    X_test: FloatArray
    y_test: Any


def _digits(datasets: Any, state: int) -> tuple[FloatArray, Any]:
    X, y = datasets.load_digits(return_X_y=True)
    rows = np.random.default_rng(state).permutation(len(y))[:900]
    return X[rows], y[rows]


_MAKERS: Mapping[str, Callable[[Any, int], tuple[FloatArray, Any]]] = MappingProxyType(
    {
        "digits": _digits,
        "classes": lambda datasets, state: datasets.make_classification(
            600,
            n_features=20,
            n_informative=8,
            n_redundant=4,
            n_clusters_per_class=3,
            flip_y=0.02,
            random_state=state,
        ),
        "quantiles": lambda datasets, state: datasets.make_gaussian_quantiles(
            n_samples=600, n_features=6, n_classes=3, random_state=state
        ),
        "friedman": lambda datasets, state: datasets.make_friedman1(
            600, n_features=20, noise=1.0, random_state=state
        ),
    }
)


@functools.cache
def table(name: str, seed: int) -> Table:
    """Return the samples of a problem."""
    datasets = imported("sklearn.datasets", name, "scikit-learn")
    X, y = _MAKERS[name.split("-")[0]](datasets, _state(name, seed))
    half = len(y) // 2
    mean, deviation = X[:half].mean(axis=0), X[:half].std(axis=0)
    Z = (X - mean) / np.where(deviation > 0.0, deviation, 1.0)
    return Table(Z[:half], y[:half], Z[half:], y[half:])


def _state(name: str, seed: int) -> int:
    return int(generator(name, seed).integers(2**31))


def _network(trial: optuna.Trial, data: Table, state: int) -> Iterator[float]:
    width, second = trial.suggest_int("width", 4, 64, log=True), trial.suggest_int("second", 0, 32)
    model = importlib.import_module("sklearn.neural_network").MLPClassifier(
        hidden_layer_sizes=(width,) if second < 4 else (width, second),
        solver=trial.suggest_categorical("solver", ["adam", "sgd"]),
        activation=trial.suggest_categorical("activation", ["relu", "tanh", "logistic"]),
        learning_rate_init=trial.suggest_float("rate", 1e-4, 1.0, log=True),
        alpha=trial.suggest_float("decay", 1e-6, 10.0, log=True),
        batch_size=trial.suggest_int("batch", 8, 128, log=True),
        momentum=trial.suggest_float("momentum", 0.0, 0.99),
        beta_1=trial.suggest_float("beta_1", 0.5, 0.99),
        random_state=state,
    )
    return _epochs(model, data)


def _kernel(trial: optuna.Trial, data: Table, state: int) -> Iterator[float]:
    gamma = trial.suggest_float("gamma", 1e-3, 1.0, log=True)
    n_features = trial.suggest_int("n_features", 16, 256, log=True)
    approximation = importlib.import_module("sklearn.kernel_approximation")
    features = approximation.RBFSampler(gamma=gamma, n_components=n_features, random_state=state)
    X = math.sqrt(n_features) * features.fit_transform(data.X)
    model = importlib.import_module("sklearn.linear_model").SGDClassifier(
        loss="log_loss",
        penalty=trial.suggest_categorical("penalty", ["l2", "l1", "elasticnet"]),
        alpha=trial.suggest_float("decay", 1e-7, 1.0, log=True),
        l1_ratio=trial.suggest_float("l1_ratio", 0.0, 1.0),
        learning_rate=trial.suggest_categorical("schedule", ["constant", "invscaling"]),
        eta0=trial.suggest_float("rate", 1e-5, 1.0, log=True),
        power_t=trial.suggest_float("power", 0.0, 1.0),
        average=trial.suggest_categorical("average", [False, True]),
        random_state=state,
    )
    X_test = math.sqrt(n_features) * features.transform(data.X_test)
    return _epochs(model, Table(X, data.y, X_test, data.y_test))


def _boosting(trial: optuna.Trial, data: Table, state: int) -> Iterator[float]:
    model = importlib.import_module("sklearn.ensemble").GradientBoostingRegressor(
        loss=trial.suggest_categorical("loss", ["squared_error", "huber"]),
        alpha=trial.suggest_float("quantile", 0.5, 0.99),
        learning_rate=trial.suggest_float("rate", 1e-3, 1.0, log=True),
        max_depth=trial.suggest_int("depth", 1, 8),
        min_samples_leaf=trial.suggest_int("leaf", 1, 50, log=True),
        subsample=trial.suggest_float("subsample", 0.2, 1.0),
        max_features=trial.suggest_float("columns", 0.05, 1.0),
        min_impurity_decrease=trial.suggest_float("impurity", 1e-6, 1.0, log=True),
        warm_start=True,
        random_state=state,
    )
    for step in range(1, N_STEPS + 1):
        model.set_params(n_estimators=N_TREES * step).fit(data.X, data.y)
        yield learners.rmse(model.predict(data.X_test), data.y_test)


def _epochs(model: Any, data: Table) -> Iterator[float]:
    """Yield the loss after every epoch; that of the least chances once training has diverged."""
    classes, diverged = np.unique(data.y), False
    for _ in range(N_STEPS):
        chances = np.zeros((len(data.y_test), len(classes)))
        if not diverged:
            try:
                with np.errstate(all="ignore"):
                    model.partial_fit(data.X, data.y, classes=classes)
                    chances = model.predict_proba(data.X_test)
            except ValueError:  # weights that are not finite
                diverged = True
        yield loss(chances, data.y_test)


def loss(chances: FloatArray, y: Any) -> float:
    """Return the logarithmic loss of chances (n, k), in which NaN is no chance."""
    return learners.loss(np.nan_to_num(chances, nan=0.0), y)


_TRAINED: Mapping[str, tuple[Callable[..., Iterator[float]], int]] = MappingProxyType(
    {"network": (_network, 9), "kernel": (_kernel, 9), "boosting": (_boosting, 8)}
)
"""How each kind of model is trained, and how many parameters it has."""


def _trained(name: str, seed: int) -> Problem:
    train, n_parameters = _TRAINED[name.split("-")[1]]
    data, state = table(name, seed), _state(name, seed)

    def losses(trial: optuna.Trial) -> Iterator[float]:
        return train(trial, data, state)

    def ask(trial: optuna.Trial) -> float:
        *_, last = losses(trial)
        return last

    problem = instance(name, seed, n_parameters, ask, 0.0)
    return Training(**vars(problem), losses=losses)


FAMILY: dict[str, Build] = dict.fromkeys(
    ("digits-network", "classes-network", "quantiles-kernel", "friedman-boosting"), _trained
)
"""The problems, which are only reported."""
