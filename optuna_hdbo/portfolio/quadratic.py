"""The expert for smooth valleys: a quadratic model around the best point, along any direction.

The quadratic function is a Gaussian process, see :mod:`optuna_hdbo._core.gp.taylor`. So few points
are enough to begin with, and the model says how sure it is. It is asked only while it explains the
values that it has not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import n_settled
from optuna_hdbo._core.gp.posterior import IllConditionedError
from optuna_hdbo._core.gp.posterior import explained
from optuna_hdbo._core.gp.taylor import Pairs
from optuna_hdbo._core.gp.taylor import TaylorKernel
from optuna_hdbo._core.gp.taylor import TaylorPosterior
from optuna_hdbo._core.outputs import finite
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.gp_ucb import GPUCB


LEAST_EXPLAINED = 0.7
"""Share of the variance of left-out values below which the model is not used."""

LEAST_PER_COLUMN = 2
"""Points per column, beside the best one, below which there is no model."""

CAUTIONS = (1.0, 0.3, 0.0)
"""Standard deviations that a query takes off the mean, drawn for each: a trust region that is as
wide as the model is sure."""

MOST_POINTS = 400
"""Points that the model knows at most, the nearest ones."""

N_BEST, N_NEAR = 4, 3
"""Starts of a query at the best points and near the best one."""


@dataclass(frozen=True, eq=False)
class _Model:
    """The expansion about the best point.

    Parameters
    ----------
    centre : FloatArray, shape (D,)
    value : float
        The value there.
    unit : float
        Changes of the value are multiples of it.
    posterior : TaylorPosterior
    explained : float
        Share of the variance of the nearer half of the values that the others explain.
    """

    centre: FloatArray
    value: float
    unit: float
    posterior: TaylorPosterior
    explained: float


class Quadratic(Method):
    """Queries where a quadratic model around the best point is best."""

    name = "quadratic"

    def __init__(self) -> None:
        self._otherwise = GPUCB()
        self._fitted: tuple[bytes, TaylorKernel] | None = None
        self._built: tuple[Observations, _Model | None] | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_fitted": None, "_built": None}  # large, and made again

    def is_ready(self, domain: Domain, seen: Observations) -> bool:
        """Tell whether there is a model, and whether it explains what it has not seen."""
        model = self._model(domain, seen)
        return model is not None and model.explained >= LEAST_EXPLAINED

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the best point of the model, or GP-UCB's where there is no model."""
        model = self._model(domain, seen)
        if model is None:
            return self._otherwise.suggest(domain, seen, streams)
        rng = streams.generator(self.name, seen.step)
        caution = CAUTIONS[int(rng.integers(len(CAUTIONS)))]
        if len(seen.pending):  # away from what others evaluate, and not to the same point
            caution = -caution
        size = radius(len(domain))
        best = seen.X[np.argsort(-seen.y, kind="stable")[:N_BEST]]
        starts = np.concatenate(
            [(best - model.centre) / size, 0.1 * rng.normal(size=(N_NEAR, len(domain)))]
        )
        starts[0] += 1e-3 * rng.normal(size=len(domain))  # the centre itself has no gradient
        low, high = (0.0 - model.centre) / size, (1.0 - model.centre) / size
        u = model.posterior.maximum(low, high, starts, caution)
        x = domain.snap(np.clip(model.centre + size * u, 0.0, 1.0)[None])[0]
        x = unknown_near(domain, x, seen.known, rng)
        mean, std, _, _ = model.posterior.predict((x - model.centre) / size)
        std = math.hypot(std, math.sqrt(model.posterior.kernel.noise))
        report = {
            "predicted": seen.sign * (model.value + model.unit * mean),
            "std": model.unit * std,
        }
        return Suggestion(x, None, report)

    def _model(self, domain: Domain, seen: Observations) -> _Model | None:
        if self._built is None or self._built[0] is not seen:
            self._built = seen, self._build(domain, seen)
        return self._built[1]

    def _build(self, domain: Domain, seen: Observations) -> _Model | None:
        D = len(domain)
        if domain.categorical.any() or domain.gates or (seen.constraints > 0.0).any():
            return None
        values = finite(seen.values)
        U, changes, unit, best = expansion(seen.X, values)
        if len(changes) < LEAST_PER_COLUMN * D or unit == 0.0:
            return None
        kernel = self._kernel(seen.X, values)
        pending = (seen.pending - seen.X[best]) / radius(D)
        pending = pending[np.abs(pending).max(axis=1, initial=0.0) > 0.0]
        try:
            posterior = TaylorPosterior(kernel, np.concatenate([U, pending]), changes)
        except IllConditionedError:
            return None
        near = slice(0, max(D + 1, len(changes) // 2))
        share = explained(posterior.left_out()[near], changes[near])
        return _Model(seen.X[best], float(values[best]), unit, posterior, share)

    def _kernel(self, X: FloatArray, values: FloatArray) -> TaylorKernel:
        """Return hyperparameters fitted to the first observations, a function of these alone.

        So nothing has to be kept with the study, and a fresh process has the same ones.
        """
        n = n_settled(len(values))
        key = X[:n].tobytes() + values[:n].tobytes()
        if self._fitted is None or self._fitted[0] != key:
            U, changes, _, _ = expansion(X[:n], values[:n])
            self._fitted = key, Pairs(U).fit(changes)
        return self._fitted[1]


def n_coefficients(n_columns: int) -> int:
    """Return how many coefficients a quadratic function has."""
    return (n_columns + 1) * (n_columns + 2) // 2


def radius(n_columns: int) -> float:
    """Return the distance that counts as 1: less than that of two random points."""
    return 0.5 * math.sqrt(n_columns)


def expansion(X: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Return the displacements and changes of the nearest points, their unit, and the best row.

    Parameters
    ----------
    X : FloatArray, shape (n, D)
    values : FloatArray, shape (n,)
        Finite; larger is better.

    Returns
    -------
    U : FloatArray, shape (m, D)
        The nearest first, none of them 0. There are at most twice as many as a quadratic function
        has coefficients.
    changes : FloatArray, shape (m,)
    unit : float
        ``changes * unit`` is in the units of the values.
    best : int
    """
    D = X.shape[1]
    best = int(np.argmax(values))
    U = (X - X[best]) / radius(D)
    squares = np.einsum("ij,ij->i", U, U)
    most = min(2 * n_coefficients(D), MOST_POINTS)
    rows = np.argsort(squares, kind="stable")
    rows = rows[squares[rows] > 0.0][:most]
    changes = values[rows] - values[best]
    largest = float(np.abs(changes).max(initial=0.0))
    if largest > 0.0:
        changes = changes / largest
        size = float(np.sqrt(changes @ changes / len(changes)))
        return np.ascontiguousarray(U[rows]), changes / size, largest * size, best
    return np.ascontiguousarray(U[rows]), changes, 0.0, best
