"""A posterior at several points at once, with gradients."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior


class PosteriorAt:
    """The mean and the variance of a posterior at some points.

    Parameters
    ----------
    posterior : Posterior
    Z : FloatArray, shape (m, D)

    Attributes
    ----------
    mean, variance : FloatArray, shape (m,)
    """

    def __init__(self, posterior: Posterior, Z: FloatArray) -> None:
        kernel, n = posterior.kernel, len(posterior.X)
        self._posterior = posterior
        self._features = kernel.features(Z)
        self._linv = posterior.linv[:n, :n]
        K = kernel.cross_of(posterior.features, self._features)
        self._V = K @ self._linv.T
        variance = kernel.variance - np.einsum("ij,ij->i", self._V, self._V)
        floor = 1e-10 * kernel.variance
        self._floored = variance < floor
        self.mean: FloatArray = K @ posterior.alpha
        self.variance: FloatArray = np.maximum(variance, floor)

    def gradients(self, by_mean: FloatArray, by_variance: FloatArray) -> FloatArray:
        """Return the gradients (m, D) of a function with these derivatives (m,)."""
        kernel = self._posterior.kernel
        by_variance = np.where(self._floored, 0.0, by_variance)
        W = np.outer(by_mean, self._posterior.alpha)
        W -= (2.0 * by_variance[:, None] * self._V) @ self._linv
        by_feature = kernel.pull_back(self._posterior.features, self._features, W)
        return kernel.by_columns(by_feature)
