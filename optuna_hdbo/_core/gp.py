"""Exact Gaussian processes over groups of columns; one group of all columns is the plain one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._jit import kernels


KINDS = {"se": kernels.SE, "matern32": kernels.MATERN32, "matern52": kernels.MATERN52}
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)


class IllConditionedError(ArithmeticError):
    """A covariance matrix has no Cholesky factor, even with the largest jitter."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A sum over groups of columns of scaled stationary kernels, plus observation noise.

    Parameters
    ----------
    kind : {"se", "matern32", "matern52"}
    groups : tuple of IntArray
        Columns of each group, disjoint; a column in no group has no influence.
    lengthscales : FloatArray, shape (D,)
    scales : FloatArray, shape (M,)
        Signal variance of each group.
    noise : float
        Variance of the observation noise, in units of y^2.
    categorical : BoolArray, shape (D,)
        Columns with the distance 0/1.
    """

    kind: str
    groups: tuple[IntArray, ...]
    lengthscales: FloatArray
    scales: FloatArray
    noise: float
    categorical: BoolArray

    @cached_property
    def code(self) -> int:
        """The number by which compiled loops know the kind."""
        return KINDS[self.kind]

    @cached_property
    def columns(self) -> IntArray:
        """Columns of all groups, end to end, shape (C,)."""
        return np.concatenate([np.empty(0, np.int64), *self.groups]).astype(np.int64)

    @cached_property
    def starts(self) -> IntArray:
        """Offset of each group in :attr:`columns`, shape (M + 1,)."""
        return np.cumsum([0, *[len(g) for g in self.groups]]).astype(np.int64)

    @cached_property
    def inverse(self) -> FloatArray:
        """Inverse lengthscales of :attr:`columns`, shape (C,)."""
        return 1.0 / self.lengthscales[self.columns]

    @cached_property
    def hamming(self) -> FloatArray:
        """Squared distance of unequal values of categorical columns, 0 elsewhere; shape (C,)."""
        return np.where(self.categorical[self.columns], self.inverse**2, 0.0)

    @property
    def variance(self) -> float:
        """Prior variance at any point."""
        return float(self.scales.sum())

    def features(self, X: FloatArray) -> FloatArray:
        """Return the rows that compiled loops read, shape (C, n), for points (n, D)."""
        return np.ascontiguousarray(X.T[self.columns] * self.inverse[:, None])

    def gram(self, X: FloatArray) -> FloatArray:
        """Return the covariance matrix of points (n, D) without noise, shape (n, n)."""
        out = np.empty((len(X), len(X)))
        kernels.gram(self.code, self.features(X), self.hamming, self.starts, self.scales, out)
        return out

    def cross(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return the covariances of points Z (m, D) with points X (n, D), shape (m, n)."""
        return self.cross_of(self.features(X), self.features(Z))

    def cross_of(self, F: FloatArray, G: FloatArray) -> FloatArray:
        """Return :meth:`cross` of points whose features are G (C, m) and F (C, n)."""
        out = np.empty((G.shape[1], F.shape[1]))
        kernels.cross(self.code, F, G, self.hamming, self.starts, self.scales, out)
        return out

    def only(self, group: int) -> Kernel:
        """Return the kernel of one group's component f_j."""
        return replace(
            self, groups=self.groups[group : group + 1], scales=self.scales[group : group + 1]
        )


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
        """Take in points (m, D) behind those that are there."""
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

    def truncate(self, n: int) -> None:
        """Forget all but the first ``n`` points."""
        if n < len(self):
            self.X = self.X[:n]
            self.features = np.ascontiguousarray(self.features[:, :n])

    def pivots(self) -> FloatArray:
        """Return L_tt^2, the variance of y_t given its predecessors, shape (n,)."""
        return 1.0 / np.diag(self.linv)[: len(self)] ** 2


class Posterior:
    """A Gaussian process given observations, with pending points in its variance.

    Parameters
    ----------
    factor : Factor
        Of the observed points, then the pending ones.
    y : FloatArray, shape (n,)
        Values of the first n points of the factor. The remaining ones are hallucinated at their
        posterior mean, which shrinks the variance and leaves the mean as it is.
    """

    def __init__(self, factor: Factor, y: FloatArray) -> None:
        n, total = len(y), len(factor)
        self.kernel = factor.kernel
        self.y = y
        self.X = factor.X
        self.linv = factor.linv
        observed = factor.linv[:n, :n]
        self.alpha = np.zeros(total)
        self.alpha[:n] = observed.T @ (observed @ y)
        self.features = factor.features

    def log_predictive(self) -> float:
        """Return the mean log density of an observed value given all the others."""
        n = len(self.y)
        inverse = np.einsum("ij,ij->j", self.linv[:n, :n], self.linv[:n, :n])
        residual = self.alpha[:n] / inverse
        log_density = 0.5 * (np.log(inverse) - residual**2 * inverse)
        return float(log_density.mean()) - 0.5 * float(np.log(2.0 * np.pi))

    def pivots(self) -> FloatArray:
        """Return the variance of each point's value given its predecessors, noise included."""
        return 1.0 / np.diag(self.linv)[: len(self.X)] ** 2

    def predict(
        self, Z: FloatArray, kernel: Kernel | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance at points (m, D), shapes (m,).

        With ``kernel`` = :meth:`Kernel.only` of a group, those of its component: eq. (5) of
        Kandasamy et al. (2015), one factor for all groups.
        """
        kernel = self.kernel if kernel is None else kernel
        n = len(self.X)
        K = kernel.cross(self.X, Z)
        V = K @ self.linv[:n, :n].T
        variance = kernel.variance - np.einsum("ij,ij->i", V, V)
        return K @ self.alpha, np.maximum(variance, 1e-10 * kernel.variance)


def join(groups: Sequence[Sequence[int]]) -> tuple[IntArray, ...]:
    """Return groups in the form that :class:`Kernel` takes: sorted arrays, by first column."""
    return tuple(
        np.array(g, dtype=np.int64) for g in sorted(sorted(int(i) for i in g) for g in groups)
    )
