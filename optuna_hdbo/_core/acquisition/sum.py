"""Acquisition functions as maximisers see them, and sums of several."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.climb import climb_together
from optuna_hdbo._core.acquisition.climb import units_of
from optuna_hdbo._core.descent import descended
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray


class Acquisition(Protocol):
    """A function that can be maximised."""

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D); return the ends (S, D) and their values (S,)."""


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of acquisitions, each on a posterior of its own."""

    terms: Sequence[Analytic]

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""
        return np.asarray(np.sum([term(X) for term in self.terms], axis=0), np.float64)

    def slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values at points (m, D), shape (m,), and their gradients (m, D)."""
        values, gradients = np.zeros(len(X)), np.zeros(X.shape)
        for term in self.terms:
            height, by_column = term.slopes(X)
            values += height
            gradients += by_column
        return values, gradients

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D) along the columns marked ``free (D,)``."""
        units = units_of([term.kernel for term in self.terms])
        return climb_together(self.slopes, X, free, units, n_steps, tol)


def climbed_from(
    slope: Callable[[FloatArray], tuple[float, FloatArray]],
    X: FloatArray,
    values: FloatArray,
    free: BoolArray,
    n_steps: int,
    tol: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of climbs from points X (S, D) with their values (S,), and the values there.

    ``slope`` returns the value at a point (D,) and the gradient, shape (D,).
    """
    climbed, box = X.copy(), np.tile([0.0, 1.0], (int(free.sum()), 1))
    for i, start in enumerate(X):
        x = start.copy()

        def falling(part: FloatArray, x: FloatArray = x) -> tuple[float, FloatArray]:
            x[free] = part
            value, gradient = slope(x)
            return -value, -gradient[free]

        end, lowest = descended(
            falling, start[free], box, maxiter=n_steps, maxfun=2 * n_steps, gtol=tol
        )
        if -lowest > values[i]:
            climbed[i, free], values[i] = end, -lowest
    return climbed, values


def terms(acquisition: Acquisition) -> Sequence[Analytic]:
    """Return the terms of a sum, or the acquisition itself."""
    if isinstance(acquisition, Sum):
        return acquisition.terms
    assert isinstance(acquisition, Analytic)
    return [acquisition]
