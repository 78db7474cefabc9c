"""Train a neural network in NumPy with 12 hyperparameters; a pruner stops hopeless trials.

The network has two hidden layers and tells ten digits apart. A number on the command line is the
number of trials.
"""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import numpy as np
import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from optuna_hdbo import HDBOSampler
from optuna_hdbo import explain


N_EPOCHS = 9

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16.0, digit, test_size=0.5, random_state=0)


def loss_of(weights: list[Any], slope: float, X: Any, y: Any) -> tuple[float, list[Any]]:
    """Return the mean log loss and its gradient by the weights: a forward and a backward pass."""
    inputs = [X]
    for W, b in zip(weights[0::2], weights[1::2], strict=True):
        z = inputs[-1] @ W + b
        inputs.append(np.where(z > 0.0, z, slope * z) if W.shape[1] != 10 else z)
    z = inputs.pop()
    z -= z.max(axis=1, keepdims=True)
    share = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    loss = float(-np.log(share[rows, y] + 1e-12).mean())
    share[rows, y] -= 1.0
    flow, gradient = share / len(y), []
    for W, a in zip(weights[-2::-2], inputs[::-1], strict=True):
        gradient += [flow.sum(axis=0), a.T @ flow]
        flow = (flow @ W.T) * np.where(a > 0.0, 1.0, slope)
    return loss, gradient[::-1]


def objective(trial: optuna.Trial) -> float:
    """Return the log loss on held-out digits after some epochs."""
    rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
    fading = trial.suggest_float("fading", 0.5, 1.0)
    momentum = trial.suggest_float("momentum", 0.0, 0.99)
    decay = trial.suggest_float("decay", 1e-6, 1e-1, log=True)
    batch = trial.suggest_int("batch", 8, 256, log=True)
    widths = [64, *(trial.suggest_int(f"width{i}", 8, 128, log=True) for i in (1, 2)), 10]
    scale = trial.suggest_float("scale", 0.1, 3.0, log=True)
    slope = trial.suggest_float("slope", 0.0, 0.3)
    noise = trial.suggest_float("noise", 0.0, 0.5)
    dropout = trial.suggest_float("dropout", 0.0, 0.5)
    nesterov = trial.suggest_categorical("nesterov", [False, True])
    rng = np.random.default_rng(0)
    weights: list[Any] = []
    for n_in, n_out in itertools.pairwise(widths):
        weights += [scale * rng.standard_normal((n_in, n_out)) / math.sqrt(n_in), np.zeros(n_out)]
    speed = [np.zeros_like(w) for w in weights]
    loss = math.inf
    for epoch in range(N_EPOCHS):
        for rows in np.array_split(rng.permutation(len(X_train)), len(X_train) // batch):
            seen = X_train[rows] + noise * rng.standard_normal((len(rows), 64))
            seen *= rng.random(seen.shape) >= dropout
            at = [w + momentum * v * nesterov for w, v in zip(weights, speed, strict=True)]
            _, gradient = loss_of(at, slope, seen, y_train[rows])
            for w, v, g in zip(weights, speed, gradient, strict=True):
                v *= momentum
                v -= rate * fading**epoch * (np.clip(g, -1.0, 1.0) + decay * w)
                w += v
        with np.errstate(all="ignore"):
            loss, _ = loss_of(weights, slope, X_test, y_test)
        trial.report(loss, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def main(n_trials: int = 60) -> None:
    """Tune the network."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        sampler=HDBOSampler(seed=0), pruner=optuna.pruners.MedianPruner(n_startup_trials=8)
    )
    study.optimize(objective, n_trials=n_trials, show_progress_bar=True)
    print(f"log loss {study.best_value:.4f} with {study.best_params}")
    print(explain(study))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
