"""Instances where few parameters matter, most of them as in Shen & Kingsford (2023).

copies
    F(x) = f(x_1) + 0.1 f(x_2) + 0.01 f(x_3) over three blocks of parameters and inert ones:
    important, unimportant, nearly and wholly irrelevant parameters. Positions and directions are
    drawn as for the embedded instances; ``groups`` are the three blocks, the important one first.
    Branin's box is [-5, 10] x [0, 10] there, as in the paper's appendix D.
rotated
    A function of the first coordinates of a rotated [-1, 1]^D, the rotation drawn uniformly: no
    parameter is without effect, and no subset of them will do.
rover
    The trajectory of Wang et al. (2018, "Batched Large-scale Bayesian Optimization in
    High-dimensional Spaces"): parameters are the way points of a spline in the unit square; the
    path pays 0.05 per unit length, 20 inside an obstacle, and 10 per unit for missing its start
    and goal. Where the obstacles are is drawn.
lasso
    A penalty for every coefficient of a linear model of few active features; the objective is the
    cross-validated error.
svm
    Lengthscales of every feature, penalty and tolerance of a support vector regression of the
    breast cancer data that comes with scikit-learn; the objective is the error on held-out data.

The last three have no known optimum: regrets are distances to a bound that nothing can pass.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np
from scipy.interpolate import make_interp_spline

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.functions import Function
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import names


WEIGHTS = (1.0, 0.1, 0.01)
START, GOAL = np.array([0.05, 0.05]), np.array([0.95, 0.95])
N_OBSTACLES = 15
SIDE = 0.1
"""Side of an obstacle, a square."""


def copies(function: Function, dim: int) -> Build:
    """Build instances of F(x) = f(x_1) + 0.1 f(x_2) + 0.01 f(x_3) among inert parameters."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        d = len(function.box)
        order = rng.permutation(dim)
        blocks = order[: 3 * d].reshape(3, d)
        reversed_ = rng.random((3, d)) < 0.5
        low, high = function.box.T
        unit = (function.argmin - low) / (high - low)
        argopt = np.full(dim, 0.5)
        argopt[blocks] = np.where(reversed_, 1.0 - unit, unit)

        def objective(x: FloatArray) -> float:
            U = np.where(reversed_, 1.0 - x[blocks], x[blocks])
            values = [function.evaluate(low + (high - low) * u) for u in U]
            return sum(w * value for w, value in zip(WEIGHTS, values, strict=True))

        return Problem(
            name=name,
            seed=seed,
            direction="minimize",
            bounds=np.tile([0.0, 1.0], (dim, 1)),
            evaluate=objective,
            optimum=sum(WEIGHTS) * function.minimum,
            argopt=argopt,
            groups=tuple(names(block) for block in blocks.tolist()),
            inert=names(sorted(order[3 * d :].tolist())),
        )

    return build


def rotated(function: Function, dim: int) -> Build:
    """Build instances of a function of the first rows of a random rotation."""

    def build(name: str, seed: int) -> Problem:
        # The orthogonal factor of a Gaussian matrix, with a positive diagonal, is uniform.
        G = generator(name, seed).standard_normal((dim, len(function.box)))
        Q, R = np.linalg.qr(G)
        A = (Q * np.sign(np.diag(R))).T
        return Problem(
            name=name,
            seed=seed,
            direction="minimize",
            bounds=np.tile([-1.0, 1.0], (dim, 1)),
            evaluate=lambda x: function.evaluate(A @ x),
            optimum=function.minimum,
            argopt=A.T @ function.argmin,
        )

    return build


def rover(dim: int) -> Build:
    """Build rover trajectories of dim / 2 way points."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        centres = np.empty((0, 2))
        while len(centres) < N_OBSTACLES:  # nothing may cover the start or the goal
            drawn = rng.random((1, 2))
            if min(np.abs(drawn - START).max(), np.abs(drawn - GOAL).max()) > SIDE:
                centres = np.concatenate([centres, drawn])
        times = np.linspace(0.0, 1.0, dim // 2)
        # The spline is linear in its way points: one matrix samples every path.
        sampler = make_interp_spline(times, np.eye(dim // 2), k=3)(np.linspace(0.0, 1.0, 500))

        def objective(x: FloatArray) -> float:
            points = x.reshape(-1, 2)
            path = sampler @ points
            inside = (np.abs(path[:, None] - centres).max(axis=2) < SIDE / 2).any(axis=1)
            price = 0.05 + 20.0 * inside
            lengths = np.sqrt((np.diff(path, axis=0) ** 2).sum(axis=1))
            cost = float(((price[1:] + price[:-1]) / 2.0) @ lengths)
            missed = np.abs(points[0] - START).sum() + np.abs(points[-1] - GOAL).sum()
            return 5.0 - cost - 10.0 * float(missed)

        return Problem(
            name=name,
            seed=seed,
            direction="maximize",
            bounds=np.tile([0.0, 1.0], (dim, 1)),
            evaluate=objective,
            optimum=5.0 - 0.05 * float(np.linalg.norm(GOAL - START)),
            argopt=None,
        )

    return build


def lasso(dim: int, n_active: int, n_samples: int) -> Build:
    """Build weighted Lasso problems; the smallest penalties are a hundredth of the largest."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        X = rng.standard_normal((n_samples, dim))
        active = rng.permutation(dim)[:n_active]
        coefficients = np.zeros(dim)
        coefficients[active] = rng.choice([-1.0, 1.0], n_active)
        signal = X @ coefficients
        y = signal + 0.3 * signal.std() * rng.standard_normal(n_samples)
        y = y / y.std()
        largest = float(np.abs(X.T @ y).max()) / n_samples
        fold = np.arange(n_samples) % 5
        linear_model = importlib.import_module("sklearn.linear_model")

        def objective(x: FloatArray) -> float:
            Z = X / (largest * 10.0 ** (2.0 * x - 2.0))
            model = linear_model.Lasso(alpha=1.0, fit_intercept=False, tol=1e-3, max_iter=300)
            errors = []
            for k in range(5):
                with warnings.catch_warnings():  # of penalties too small to converge under
                    warnings.simplefilter("ignore")
                    model.fit(Z[fold != k], y[fold != k])
                errors.append(np.mean((y[fold == k] - Z[fold == k] @ model.coef_) ** 2))
            return float(np.mean(errors))

        return Problem(
            name=name,
            seed=seed,
            direction="minimize",
            bounds=np.tile([0.0, 1.0], (dim, 1)),
            evaluate=objective,
            optimum=0.0,
            argopt=None,
            groups=(names(sorted(active.tolist())),),
        )

    return build


def svm(name: str, seed: int) -> Problem:
    """Build the tuning of a support vector regression with 30 lengthscales."""
    rng = generator(name, seed)
    datasets = importlib.import_module("sklearn.datasets")
    machines = importlib.import_module("sklearn.svm")
    X, target = datasets.load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = 2.0 * target - 1.0
    order = rng.permutation(len(y))
    train, held_out = order[:200], order[200:]

    def objective(x: FloatArray) -> float:
        Z = X / 10.0 ** (2.0 * x[:-2])  # lengthscales from 1 to 100
        model = machines.SVR(
            gamma=1.0, C=10.0 ** (4.0 * x[-2] - 2.0), epsilon=10.0 ** (2.0 * x[-1] - 2.0)
        )
        residuals = model.fit(Z[train], y[train]).predict(Z[held_out]) - y[held_out]
        return float(np.sqrt(np.mean(residuals**2)))

    return Problem(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=np.tile([0.0, 1.0], (X.shape[1] + 2, 1)),
        evaluate=objective,
        optimum=0.0,
        argopt=None,
    )
