"""The evidence for a grouping of columns, comparable between groupings.

A grouping is scored by the marginal likelihood of its additive kernel, under hyperparameters that
do not favour the grouping at hand:

- the variance of the values is integrated out, under an inverse gamma prior;
- the noise is averaged over a small and a large share of it (:data:`NOISES`);
- each column has the same share of the variance, so that a group has as many shares as columns;
- lengthscales are those of the last fit, within :data:`LENGTHSCALES`. A fit gives a long
  lengthscale to a column in the wrong group, which would then fit in no other.

The prior of a grouping loses :attr:`Evidence.price` = log(D (D - 1) / 2) nats for every join, of
which a group of m columns has m - 1. That expects one of all D (D - 1) / 2 pairs of columns to
interact, like :func:`optuna_hdbo._core.models.anova.interactions.log_odds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import blas
from scipy.linalg import lapack

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.lazy import cached_property


Group = tuple[int, ...]
"""Columns, ascending."""

NOISES = (0.003, 0.1)
"""Variances of the noise, as shares of that of the function, over which evidence is averaged."""

LENGTHSCALES = (0.2, 1.5)
"""Range of the lengthscales at which groupings are compared."""


def listed(kernel: Kernel) -> list[Group]:
    """Return the groups of a kernel."""
    return [tuple(group.tolist()) for group in kernel.groups]


def price_of_join(n_columns: int) -> float:
    """Return what every join of a grouping costs, in nats."""
    return math.log(max(n_columns * (n_columns - 1) / 2.0, 2.0))


class Evidence:
    """Scores of groupings of all columns of some points.

    Parameters
    ----------
    kernel : Kernel
        Gives the kind of the kernel and the lengthscales of the last fit.
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
        Standardised.
    noises : tuple of float
        Variances of the noise, as shares of that of the function.
    """

    def __init__(
        self, kernel: Kernel, X: FloatArray, y: FloatArray, noises: tuple[float, ...] = NOISES
    ) -> None:
        lengthscales = np.clip(kernel.lengthscales, *LENGTHSCALES)
        self._kernel = replace(kernel, lengthscales=lengthscales)
        self._X, self._y, self._noises = X, y, noises
        self.n_columns = X.shape[1]
        self.price = price_of_join(self.n_columns)
        self.n_scored = 0
        self._correlations: dict[Group, FloatArray] = {}
        self._posteriors: dict[frozenset[Group], float] = {}
        self._kept: tuple[tuple[Group, ...], FloatArray] = (), np.empty((0, 0))
        self._triangle = np.flatnonzero(np.triu(np.ones((len(y), len(y)))))

    def correlations(self, group: Group) -> FloatArray:
        """Return the correlations (n, n) of a group's component at the points."""
        if group not in self._correlations:
            if len(self._correlations) > 4 * self.n_columns:  # to bound the memory
                for other in [g for g in self._correlations if len(g) > 1]:
                    del self._correlations[other]
            columns = (np.array(group, np.int64),)
            one = replace(self._kernel, groups=columns, scales=np.ones(1))
            self._correlations[group] = one.gram(self._X)
        return self._correlations[group]

    def triangles(self, groups: Sequence[Group]) -> FloatArray:
        """Return the upper triangles of the correlations of groups, (len(groups), n (n + 1) / 2).

        All matrices are symmetric.
        """
        rows = np.empty((len(groups), len(self._triangle)))
        for row, group in zip(rows, groups, strict=True):
            np.take(self.correlations(group), self._triangle, out=row)
        return rows

    @cached_property
    def alone(self) -> FloatArray:
        """The triangles of all single columns, as by :meth:`triangles`."""
        return self.triangles([(c,) for c in range(self.n_columns)])

    def weights_of_triangle(self, W: FloatArray) -> FloatArray:
        """Return the weights of a triangle's entries in the sum over all entries of W * K."""
        doubled = 2.0 * W
        doubled.flat[:: len(W) + 1] *= 0.5
        return np.take(doubled, self._triangle)

    def covariances(self, groups: Iterable[Group]) -> FloatArray:
        """Return the covariances (n, n) of the sum over some groups, of variance 1 over all."""
        K = np.zeros((len(self._y), len(self._y)))
        for group in groups:
            blas.daxpy(self.correlations(group).ravel(), K.ravel(), a=len(group) / self.n_columns)
        return K

    def log_prior(self, groups: Sequence[Group]) -> float:
        """Return the log prior probability of groups, less a constant."""
        return -self.price * sum(len(group) - 1 for group in groups)

    def log_posterior(self, groups: Sequence[Group], near: Sequence[Group] = ()) -> float:
        """Return the log posterior of a grouping, less a constant; it is computed once.

        It costs less ``near`` a grouping, with whose covariances it shares most groups.
        """
        key = frozenset(groups)
        if key not in self._posteriors:
            self._posteriors[key] = self.of(self._near(groups, near)) + self.log_prior(groups)
        return self._posteriors[key]

    def close(self, groups: Sequence[Group], nats: float, most: int) -> list[list[Group]]:
        """Return scored groupings that lose by fewer nats than these to ``groups``.

        The best ones come first, and at most ``most`` are returned.
        """
        least, key = self.log_posterior(groups) - nats, frozenset(groups)
        found = [other for other, value in self._posteriors.items() if value > least]
        found.sort(key=lambda other: -self._posteriors[other])
        return [sorted(other) for other in found if other != key][:most]

    def _near(self, groups: Sequence[Group], near: Sequence[Group]) -> FloatArray:
        """Return the covariances of groups, by those of a grouping and what differs."""
        if not near:
            return self.covariances(groups)
        if self._kept[0] != (key := tuple(near)):
            self._kept = key, self.covariances(near)
        K = self._kept[1].copy()
        for sign, some, others in ((-1.0, near, groups), (1.0, groups, near)):
            for group in some:
                if group not in others:
                    weight = sign * len(group) / self.n_columns
                    blas.daxpy(self.correlations(group).ravel(), K.ravel(), a=weight)
        return K

    def of(self, K: FloatArray) -> float:
        """Return the log evidence for a sum with the covariances K (n, n), less a constant."""
        self.n_scored += 1
        values = np.array([self._at(K, noise)[0] for noise in self._noises])
        most = float(values.max())
        return most + math.log(np.exp(values - most).mean()) if most > -np.inf else most

    def slopes(self, K: FloatArray) -> FloatArray | None:
        """Return twice the derivatives of the log evidence by all entries of K (n, n).

        They are those at the likeliest noise; ``None`` where K has no Cholesky factor.
        """
        found = max((self._at(K, noise) for noise in self._noises), key=lambda at: at[0])
        if found[1] is None:
            return None
        inverse = lapack.dpotri(found[1], lower=0)[0]
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        alpha = inverse @ self._y
        weight = (len(alpha) + 2.0) / (1.0 + float(self._y @ alpha))
        return np.asarray(weight * np.outer(alpha, alpha) - inverse, np.float64)

    def _at(self, K: FloatArray, noise: float) -> tuple[float, FloatArray | None]:
        """Return the log evidence at a noise, and the Cholesky factor, ``None`` without one.

        With y ~ N(0, t (K + noise I)) and t ~ InvGamma(1, 1/2), the log density of y is
        -log det(K + noise I) / 2 - (n / 2 + 1) log(1 + y' (K + noise I)^-1 y), less a constant.
        """
        n = len(self._y)
        A = K.copy()
        A.flat[:: n + 1] += noise
        U, info = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
        diagonal = np.diag(U)
        if info != 0 or not np.isfinite(diagonal).all():
            return -np.inf, None
        z = lapack.dtrtrs(U, self._y, lower=0, trans=1)[0]
        fit = -(0.5 * n + 1.0) * math.log1p(float(z @ z))
        return fit - float(np.log(diagonal).sum()), U
