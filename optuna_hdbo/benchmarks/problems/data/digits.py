"""The output layer of a small neural network for scikit-learn's digits: MS-UCB's learning task.

The paper's network has one hidden layer. Adam trains everything but the weights between the
hidden layer and the ten outputs, and the sampler searches these. Here the hidden layer is trained
once, beforehand, so that a trial costs a matrix product. Digits replace MNIST. With a
small penalty on the squared weights the loss is strictly convex, so its minimum is known.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
from scipy.optimize import minimize

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


BOX = 3.0
"""Weights range over [-3, 3]."""

PENALTY = 3e-3
"""Penalty on the squared weights, which keeps the minimum inside of the box."""


def _loss(w: FloatArray, H: FloatArray, labels: FloatArray) -> tuple[float, FloatArray]:
    """Return the cross-entropy of weights (h * 10,) on hidden activations (n, h); its gradient."""
    Z = H @ w.reshape(H.shape[1], 10)
    Z = Z - Z.max(axis=1, keepdims=True)
    P = np.exp(Z)
    P /= P.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -float(np.mean(np.log(P[rows, labels] + 1e-300))) + PENALTY * float(w @ w)
    P[rows, labels] -= 1.0
    return loss, (H.T @ P / len(labels)).ravel() + 2.0 * PENALTY * w


@functools.cache
def _hidden(n_hidden: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the activations (n, h) and labels (n,) of held-out digits."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    half = len(y) // 2
    network = MLPClassifier(
        (n_hidden,), activation="tanh", learning_rate_init=0.01, max_iter=60, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is not our concern
        network.fit(X[:half], y[:half])
    return np.tanh(X[half:] @ network.coefs_[0] + network.intercepts_[0]), y[half:]


def output_layer(n_hidden: int) -> Build:
    """Build the loss of the output weights of a network with so many hidden nodes."""

    @functools.cache
    def build(name: str, seed: int) -> Problem:
        drawn = int(generator(name, seed).integers(2**31))
        H, labels = _hidden(n_hidden, drawn)
        box = np.tile([-BOX, BOX], (10 * n_hidden, 1))
        found = minimize(
            _loss,
            np.zeros(len(box)),
            (H, labels),
            jac=True,
            method="L-BFGS-B",
            bounds=box,
            options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-9},
        )
        return Problem(
            name=name,
            seed=seed,
            direction="minimize",
            bounds=box,
            evaluate=lambda w: _loss(w, H, labels)[0],
            optimum=float(found.fun),
            argopt=found.x,
        )

    return build
