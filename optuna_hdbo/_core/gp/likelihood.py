"""The log marginal likelihood of a kernel, and its gradient."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._jit import kernels


_LOG_2PI = float(np.log(2.0 * np.pi))


def log_density(K: FloatArray, y: FloatArray) -> tuple[float, FloatArray, FloatArray] | None:
    """Return log N(y; 0, K), K^-1 y and the Cholesky factor of K; ``None`` if it has none.

    Parameters
    ----------
    K : FloatArray, shape (n, n)
        Covariances with noise, in C order; overwritten. The upper triangle is not read.
    y : FloatArray, shape (n,)

    Returns
    -------
    value : float
    alpha : FloatArray, shape (n,)
    U : FloatArray, shape (n, n)
        Upper triangular in Fortran order, with U^T U = K.
    """
    U, info = lapack.dpotrf(K.T, lower=0, clean=1, overwrite_a=1)
    if info != 0:
        return None
    half_log_determinant = float(np.log(U.diagonal()).sum())
    if not math.isfinite(half_log_determinant):  # LAPACK lets NaN and inf pass
        return None
    alpha = lapack.dpotrs(U, y, lower=0)[0]
    value = -0.5 * float(y @ alpha) - half_log_determinant - 0.5 * len(y) * _LOG_2PI
    return value, alpha, U


def log_likelihood(
    kernel: Kernel, X: FloatArray, y: FloatArray
) -> tuple[float, FloatArray, FloatArray, float]:
    """Return the log marginal likelihood of y (n,) at points X (n, D), and its gradient.

    Returns
    -------
    value : float
        -inf where the covariance matrix has no Cholesky factor.
    by_lengthscale : FloatArray, shape (C,)
        Derivatives by the log lengthscales of ``kernel.columns``.
    by_scale : FloatArray, shape (M,)
        Derivatives by the log scales.
    by_noise : float
        Derivative by the log noise.
    """
    return log_likelihood_at(kernel, kernel.features(X), y)


def log_likelihood_at(
    kernel: Kernel, F: FloatArray, y: FloatArray, work: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray, float]:
    """Return :func:`log_likelihood` at points with features F (C, n).

    ``work (n, n)`` is memory for successive calls: allocating costs as much as computing.
    """
    by_lengthscale = np.zeros(len(kernel.columns))
    by_scale = np.zeros(len(kernel.scales))
    found = log_density(_noisy(kernel, F, work), y)
    if found is None:
        return -np.inf, by_lengthscale, by_scale, 0.0
    value, alpha, U = found
    inverse = lapack.dpotri(U, lower=0, overwrite_c=1)[0].T
    trace = kernels.gram_gradient(kernel.covariance, F, alpha, inverse, by_lengthscale, by_scale)
    return value, by_lengthscale, by_scale, 0.5 * kernel.noise * trace


def likelihood(kernel: Kernel, X: FloatArray, y: FloatArray) -> float:
    """Return the value of :func:`log_likelihood` alone, at a third of the cost."""
    found = log_density(_noisy(kernel, kernel.features(X)), y)
    return -np.inf if found is None else found[0]


def _noisy(kernel: Kernel, F: FloatArray, work: FloatArray | None = None) -> FloatArray:
    """Return covariances with noise at features F (C, n), as :func:`log_density` reads them."""
    n = F.shape[1]
    K = np.empty((n, n)) if work is None else work
    kernels.fill(kernel.covariance, F, F, True, K)
    K.ravel()[:: n + 1] += kernel.noise
    return K
