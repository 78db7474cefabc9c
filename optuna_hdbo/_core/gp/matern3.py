"""The Matern kernel of smoothness 3, in SciPy: for hyperparameters that are known.

k(t) = t^3 K_3(t) / 8 with t = sqrt(6) r, where K_3 is a modified Bessel function (Rasmussen &
Williams 2006, eq. 4.14). The recurrence K_{i+1} = K_{i-1} + (2 i / t) K_i turns it into
(t + t^3 / 8) K_1(t) + (t^2 / 2) K_0(t). Compiled loops have no Bessel functions, so nothing here
is compiled, and no fit uses this kernel.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import k0
from scipy.special import k1

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import Kernel


KIND = "matern3"

SMALLEST, LARGEST = 1e-8, 600.0
"""Range of t. Below, k rounds to 1. Above, K_1 is no number of full precision, and k is 0."""


class Matern3(Kernel):
    """A kernel of one group of columns, with the smoothness 3."""

    is_compiled: ClassVar[bool] = False

    def gram(self, X: FloatArray) -> FloatArray:
        """Return the covariance matrix of points (n, D) without noise, shape (n, n)."""
        return self.cross(X, X)

    def cross_of(self, F: FloatArray, G: FloatArray) -> FloatArray:
        """Return the covariances of points whose features are G (C, m) and F (C, n), (m, n)."""
        t = self._distances(F, G)
        return np.asarray(self.scales[0] * ((t + t**3 / 8.0) * k1(t) + 0.5 * t**2 * k0(t)))

    def pull_back(self, F: FloatArray, G: FloatArray, W: FloatArray) -> FloatArray:
        """Return the derivative by G (C, m) of :meth:`cross_of`, times W (m, n); shape (m, C)."""
        t = self._distances(F, G)
        # -2 dk / d(r^2) = (3 / 4) t^2 K_2(t)
        slopes = self.scales[0] * W * 0.75 * (t**2 * k0(t) + 2.0 * t * k1(t))
        by_feature = slopes @ F.T - slopes.sum(axis=1)[:, None] * G.T
        by_feature[:, self.hamming > 0.0] = 0.0
        return np.asarray(by_feature, np.float64)

    def _distances(self, F: FloatArray, G: FloatArray) -> FloatArray:
        """Return t = sqrt(6) r of all pairs, shape (m, n)."""
        r2 = np.zeros((G.shape[1], F.shape[1]))
        for f, g, unequal in zip(F, G, self.hamming, strict=True):
            gaps = np.subtract.outer(g, f)
            r2 += unequal * (gaps != 0.0) if unequal > 0.0 else gaps**2
        return np.asarray(np.clip(np.sqrt(6.0 * r2), SMALLEST, LARGEST), np.float64)
