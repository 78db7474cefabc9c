"""Exact Gaussian processes given observations: factors that grow, means, variances, gradients."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._jit import kernels


JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)


class IllConditionedError(ArithmeticError):
    """A covariance matrix has no Cholesky factor, even with the largest jitter."""


def factorise(K: FloatArray) -> tuple[FloatArray, float]:
    """Return U, upper triangular in Fortran order, with U^T U = K (n, n), and the jitter it took.

    Jitter escalates relative to the diagonal; :class:`IllConditionedError` beyond the last.
    """
    for jitter in JITTERS:
        A = K if jitter == 0.0 else K + np.diag(jitter * np.diag(K))
        U, info = lapack.dpotrf(A.T, lower=0, clean=1)
        if info == 0 and np.isfinite(np.diag(U)).all():  # LAPACK lets NaN and inf pass
            return U, jitter
    raise IllConditionedError(
        f"The covariance matrix of {len(K)} points has no Cholesky factor, even with "
        f"{JITTERS[-1]:g} of its diagonal added."
    )


def explained(errors: FloatArray, values: FloatArray) -> float:
    """Return the share of the variance of ``values`` that predictions with these errors explain.

    Both have shape (n,). It is negative where the mean of the values would be a better prediction.
    """
    spread = values - values.mean()
    return 1.0 - float(errors @ errors) / max(float(spread @ spread), 1e-300)


class Factor:
    """The inverse Cholesky factor of noisy covariances, growing with the data.

    Parameters
    ----------
    kernel : Kernel
    X : FloatArray, shape (n, D)
        Factorised at once by LAPACK in O(n^3); later points are appended in O(n^2) each.
    """

    def __init__(self, kernel: Kernel, X: FloatArray) -> None:
        self.kernel = kernel
        self.X = X
        n = len(X)
        K = kernel.gram(X)
        np.fill_diagonal(K, kernel.variance + kernel.noise)
        U, jitter = factorise(K) if n else (K, 0.0)
        self.diagonal = (kernel.variance + kernel.noise) * (1.0 + jitter)
        inverse = lapack.dtrtri(U, lower=0)[0] if n else U
        self.linv = np.zeros((n + 32, n + 32))
        self.linv[:n, :n] = np.tril(inverse.T)
        self.features = kernel.features(X)

    def __len__(self) -> int:
        return len(self.X)

    def append(self, X: FloatArray) -> None:
        """Append points (m, D)."""
        n, m = len(self), len(X)
        if m == 0:
            return
        if n + m > len(self.linv):
            grown = np.zeros((n + m + n // 4 + 32,) * 2)
            grown[:n, :n] = self.linv[:n, :n]
            self.linv = grown
        self.X = np.concatenate([self.X, X])
        G = self.kernel.features(X)
        self.features = np.concatenate([self.features, G], axis=1)
        K = self.kernel.cross_of(self.features, G)
        kernels.append_rows(self.linv, K, n, self.diagonal)

    def likeliest(self, y: FloatArray) -> tuple[float, float]:
        """Return the likeliest mean of the values y (n,), and the factor of all variances for it.

        Both have closed forms, given the kernel's correlations. The factor is the unbiased one.
        """
        n = len(y)
        linv = self.linv[:n, :n]
        ones, whitened = linv.sum(axis=1), linv @ y
        mean = float(ones @ whitened) / float(ones @ ones)
        residual = whitened - mean * ones
        return mean, float(residual @ residual) / max(n - 1, 1)

    def truncate(self, n: int) -> None:
        """Drop all but the first ``n`` points."""
        if n < len(self):
            self.X = self.X[:n]
            self.features = np.ascontiguousarray(self.features[:, :n])


class Posterior:
    """A Gaussian process given observations, with pending points in its variance.

    Parameters
    ----------
    factor : Factor
        Its points are the observed ones, followed by the pending ones.
    y : FloatArray, shape (n,)
        Values of the first n points of the factor. The pending points are hallucinated at their
        posterior mean, which shrinks the variance and does not change the mean.
    rows : IntArray, shape (n,), or None
        The rows of the study's observations that the first n points are; ``None`` for all.
    """

    def __init__(self, factor: Factor, y: FloatArray, rows: IntArray | None = None) -> None:
        n, total = len(y), len(factor)
        self.kernel = factor.kernel
        self.y = y
        self.rows = rows
        self._nugget = factor.diagonal - factor.kernel.variance
        self.X = factor.X
        self.linv = factor.linv
        # Contiguous: with older BLAS, the last bits depend on how far apart rows are in memory, so
        # they would differ between a factor that has grown and a fresh one of the same points.
        observed = np.ascontiguousarray(factor.linv[:n, :n])
        self.alpha = np.zeros(total)
        self.alpha[:n] = observed.T @ (observed @ y)
        self.features = factor.features

    def log_predictive(self) -> float:
        """Return the mean log density of an observed value given all the others."""
        residual, inverse = self.left_out()
        log_density = 0.5 * (np.log(inverse) - residual**2 * inverse)
        return float(log_density.mean()) - 0.5 * float(np.log(2.0 * np.pi))

    def explained(self, rows: BoolArray) -> float:
        """Return the share of the variance of some values that means given all others explain.

        It is negative where these means are worse than the mean of the values of ``rows (n,)``.
        """
        return explained(self.left_out()[0][rows], self.y[rows])

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Return each value's error, and its inverse variance, given all others; shapes (n,)."""
        n = len(self.y)
        inverse = np.einsum("ij,ij->j", self.linv[:n, :n], self.linv[:n, :n])
        return self.alpha[:n] / inverse, inverse

    def fitted_values(self) -> FloatArray:
        """Return the mean at the observed points, shape (n,): their values without the noise."""
        return self.y - self._nugget * self.alpha[: len(self.y)]

    def pivots(self) -> FloatArray:
        """Return the variance of each point's value given its predecessors, noise included."""
        return 1.0 / np.diag(self.linv)[: len(self.X)] ** 2

    def mean(self, Z: FloatArray) -> FloatArray:
        """Return the mean at points (m, D), shape (m,)."""
        return np.asarray(self.kernel.cross(self.X, Z) @ self.alpha, np.float64)

    def predict(
        self, Z: FloatArray, kernel: Kernel | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance at points (m, D), shapes (m,).

        With ``kernel`` = :meth:`Kernel.only` of a group, those of its component: eq. (5) of
        Kandasamy et al. (2015), one factor for all groups.
        """
        at = PosteriorAt(self, Z, kernel)
        return at.mean, at.variance


class PosteriorAt:
    """The mean and the variance (m,) of a posterior, or of a component of it, at points Z (m, D).

    The ``kernel`` of a component is :meth:`Kernel.only` of its group.
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
