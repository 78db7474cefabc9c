"""A Gaussian process of a function's Taylor expansion about a point.

With the displacement u = (x - c) / radius, the change f(x) - f(c) is the sum of a linear part, a
quadratic part, and a remainder that grows with the cube of the distance, as Taylor's theorem has
it. Each is a Gaussian process, and so is the sum:

    k(u, v) = a (u . v) + b (u . v)^2 + r |u|^3 |v|^3 m(|u - v| / l) + noise,

where m is the Matern-5/2 correlation. The quadratic part knows products of all columns, so that
valleys in any direction cost no more than those along an axis. Points far away count little where
the function is no quadratic one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from optuna_hdbo._core.descent import descended
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import correlation
from optuna_hdbo._core.gp.likelihood import log_density
from optuna_hdbo._core.gp.posterior import factorise


JITTER = 1e-9
"""Share of each variance that is added to it. A share, because variances near c are tiny."""

BOUNDS = np.array([(-16.0, 8.0), (-16.0, 8.0), (-16.0, 6.0), (-1.5, 2.0), (-30.0, 0.0)])
"""Bounds of the logarithms of a kernel's hyperparameters, in their order."""

PRIOR_MEAN = np.array([0.0, 0.0, -2.0, 0.0, -12.0])
PRIOR_STD = np.array([5.0, 5.0, 4.0, 1.0, 6.0])
"""Normal prior of the same logarithms: wide, to keep a fit to few points off the bounds."""


FIT_STEPS, CLIMB_STEPS = 15, 40
"""Most steps of a fit, and of a climb of the prediction."""


class TaylorKernel(NamedTuple):
    """Hyperparameters of the expansion, for values with a root mean square of 1.

    Parameters
    ----------
    slope, curvature : float
        Factors a and b of the linear and the quadratic part.
    remainder, lengthscale : float
        Factor r and lengthscale l of the remainder.
    noise : float
        Variance of the noise, of each value and of the value at the centre.
    """

    slope: float
    curvature: float
    remainder: float
    lengthscale: float
    noise: float


class Pairs:
    """What covariances between displacements U (n, D) depend on, whatever the hyperparameters."""

    def __init__(self, U: FloatArray) -> None:
        squares = np.einsum("ij,ij->i", U, U)
        self.cubes = squares**1.5
        # All of it is of the lower triangle alone, row by row: (m,) with m = n (n + 1) / 2.
        self._shape = len(U), len(U)
        self._rows, self._columns = np.tril_indices(len(U))
        self._at = self._rows * len(U) + self._columns
        self._on_diagonal = np.flatnonzero(self._rows == self._columns)
        self._products = (U @ U.T).take(self._at)
        self._squared_products = self._products**2
        self._outer = self.cubes[self._rows] * self.cubes[self._columns]
        apart = squares[self._rows] + squares[self._columns] - 2.0 * self._products
        self._r2 = np.maximum(apart, 0.0)

    def covariances(self, kernel: TaylorKernel) -> FloatArray:
        """Return the covariances of the values, noise included, shape (n, n).

        Above the diagonal they are 0.
        """
        return self._covariances(kernel, correlation("matern52", self._scaled(kernel))[0])

    def _covariances(self, kernel: TaylorKernel, correlations: FloatArray) -> FloatArray:
        k = correlations * self._outer
        k *= kernel.remainder
        k += kernel.slope * self._products
        k += kernel.curvature * self._squared_products
        k += kernel.noise  # that of the centre's value is in all
        k[self._on_diagonal] *= 1.0 + JITTER
        k[self._on_diagonal] += kernel.noise
        K = np.zeros(self._shape)
        K.put(self._at, k)
        return K

    def _scaled(self, kernel: TaylorKernel) -> FloatArray:
        return np.asarray(self._r2 / kernel.lengthscale**2, np.float64)

    def log_posterior(self, theta: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
        """Return the log posterior of log hyperparameters (5,) given changes y, and its gradient.

        It is -inf where the covariances have no Cholesky factor.
        """
        kernel = TaylorKernel(*np.exp(theta).tolist())
        scaled = self._scaled(kernel)
        correlations, by_r2 = correlation("matern52", scaled)
        found = log_density(self._covariances(kernel, correlations), y)
        if found is None:
            return -np.inf, np.zeros(5)
        value, alpha, U = found
        inverse = lapack.dpotri(U, lower=0, overwrite_c=1)[0].T
        W = alpha[self._rows] * alpha[self._columns] - inverse.take(self._at)
        trace = float(W[self._on_diagonal].sum())
        W[self._on_diagonal] *= 0.5  # all others stand for those above the diagonal, too
        rest = W * self._outer
        slopes = [
            kernel.slope * float(W @ self._products),
            kernel.curvature * float(W @ self._squared_products),
            kernel.remainder * float(rest @ correlations),
            kernel.remainder * float(rest @ (by_r2 * scaled)),
            kernel.noise * (float(W.sum()) + 0.5 * trace),
        ]
        z = (theta - PRIOR_MEAN) / PRIOR_STD
        return value - 0.5 * float(z @ z), np.array(slopes) - z / PRIOR_STD

    def fit(self, y: FloatArray) -> TaylorKernel:
        """Return the hyperparameters that a climb of the log posterior ends at."""

        def negative(theta: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.log_posterior(theta, y)
            return (-value, -gradient) if math.isfinite(value) else (1e10, gradient)

        theta, _ = descended(negative, PRIOR_MEAN, BOUNDS, maxiter=FIT_STEPS)
        return TaylorKernel(*np.exp(theta).tolist())


class TaylorPosterior:
    """The Gaussian process of the change, given changes at some displacements.

    Parameters
    ----------
    kernel : TaylorKernel
    U : FloatArray, shape (n + m, D)
        Displacements, none of them 0. Those after the first n have no value yet. They lower the
        variance and leave the mean as it is.
    y : FloatArray, shape (n,)
        Changes, divided by their root mean square.

    Raises
    ------
    IllConditionedError
        The covariances have no Cholesky factor.
    """

    def __init__(self, kernel: TaylorKernel, U: FloatArray, y: FloatArray) -> None:
        pairs = Pairs(U)
        factor = factorise(pairs.covariances(kernel))[0]
        self.kernel, self.y = kernel, y
        self._U, self._cubes = U, pairs.cubes
        self._linv = np.ascontiguousarray(lapack.dtrtri(factor, lower=0)[0].T)
        observed = self._linv[: len(y), : len(y)]
        self._alpha = np.zeros(len(U))
        self._alpha[: len(y)] = observed.T @ (observed @ y)

    def left_out(self) -> FloatArray:
        """Return every change less what the others predict for it, shape (n,)."""
        n = len(self.y)
        observed = self._linv[:n, :n]
        return np.asarray(self._alpha[:n] / np.einsum("ij,ij->j", observed, observed), np.float64)

    def predict(self, u: FloatArray) -> tuple[float, float, FloatArray, FloatArray]:
        """Return mean and standard deviation at a displacement u (D,), and their gradients."""
        k = self.kernel
        products, square = self._U @ u, float(u @ u)
        cube = square**1.5
        apart = self._U - u
        r2 = np.einsum("ij,ij->i", apart, apart) / k.lengthscale**2
        correlations, slopes = correlation("matern52", r2)
        rest = k.remainder * self._cubes
        covariances = (
            k.noise + k.slope * products + k.curvature * products**2 + cube * (rest * correlations)
        )
        whitened = self._linv @ covariances
        prior = k.noise + k.slope * square + k.curvature * square**2 + k.remainder * cube**2
        variance = max(prior - float(whitened @ whitened), 1e-12 * prior)
        by_prior = 2.0 * k.slope + 4.0 * k.curvature * square + 6.0 * k.remainder * square**2

        along = k.slope + 2.0 * k.curvature * products
        nearer = rest * slopes * (cube / k.lengthscale**2)
        outward = 3.0 * math.sqrt(square) * (rest * correlations)

        def pulled_back(w: FloatArray) -> FloatArray:
            """Return the gradient of w . covariances."""
            inward = float(w @ outward) - float(w @ nearer)
            return np.asarray((w * (along + nearer)) @ self._U + inward * u, np.float64)

        std = math.sqrt(variance)
        explained = pulled_back(whitened @ self._linv)
        by_std = (by_prior * u - 2.0 * explained) / (2.0 * std)
        return float(covariances @ self._alpha), std, pulled_back(self._alpha), by_std

    def maximum(
        self,
        low: FloatArray,
        high: FloatArray,
        starts: FloatArray,
        caution: float,
    ) -> FloatArray:
        """Return the displacement with the largest mean less ``caution`` standard deviations.

        It is between ``low`` and ``high (D,)``. Climbs begin at ``starts (m, D)``.
        """

        def negative(u: FloatArray) -> tuple[float, FloatArray]:
            mean, std, by_mean, by_std = self.predict(u)
            return caution * std - mean, caution * by_std - by_mean

        box = np.stack([low, high], axis=1)
        ends = [descended(negative, x, box, maxiter=CLIMB_STEPS) for x in starts]
        return min(ends, key=lambda end: end[1])[0]
