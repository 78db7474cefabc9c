"""A posterior at several points at once, with gradients."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Posterior


class PosteriorAt:
    """The mean and the variance of a posterior, or of a component of it, at some points.

    Parameters
    ----------
    posterior : Posterior
    Z : FloatArray, shape (m, D)
    kernel : Kernel or None
        :meth:`Kernel.only` of a group, for its component.

    Attributes
    ----------
    mean, variance : FloatArray, shape (m,)
    """

    def __init__(self, posterior: Posterior, Z: FloatArray, kernel: Kernel | None = None) -> None:
        n = len(posterior.X)
        if kernel is None or kernel is posterior.kernel:
            kernel, self._known = posterior.kernel, posterior.features
        else:
            self._known = kernel.features(posterior.X)
        self._kernel = kernel
        self._features = kernel.features(Z)
        self._linv, self._alpha = posterior.linv[:n, :n], posterior.alpha
        K = kernel.cross_of(self._known, self._features)
        self._V = K @ self._linv.T
        variance = kernel.variance - np.einsum("ij,ij->i", self._V, self._V)
        floor = 1e-10 * kernel.variance
        self._floored = variance < floor
        self.mean: FloatArray = K @ self._alpha
        self.variance: FloatArray = np.maximum(variance, floor)

    def gradients(self, by_mean: FloatArray, by_variance: FloatArray) -> FloatArray:
        """Return the gradients (m, D) of a function with these derivatives (m,)."""
        by_variance = np.where(self._floored, 0.0, by_variance)
        W = np.outer(by_mean, self._alpha)
        W -= (2.0 * by_variance[:, None] * self._V) @ self._linv
        by_feature = self._kernel.pull_back(self._known, self._features, W)
        return self._kernel.by_columns(by_feature)
