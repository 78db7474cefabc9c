"""The upper confidence bound under a kernel of all groups of d columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.acquisition.sum import climbed_from
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.orders import OrderPosterior


@dataclass(frozen=True, eq=False)
class OrderBound:
    """mean + sqrt(beta) std of an :class:`OrderPosterior`, as maximisers see it."""

    posterior: OrderPosterior
    root_beta: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""
        mean, variance = self.posterior.predict(X)
        return np.asarray(mean + self.root_beta * np.sqrt(variance), np.float64)

    def slope(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at a point (D,) and its gradient, shape (D,)."""
        mean, variance, of_mean, of_variance = self.posterior.slopes(x)
        std = variance**0.5
        return mean + self.root_beta * std, of_mean + 0.5 * self.root_beta / std * of_variance

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D) along the columns marked ``free (D,)``."""
        return climbed_from(self.slope, X, self(X), free, n_steps, tol)
