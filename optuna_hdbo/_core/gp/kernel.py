"""Covariance functions: sums over groups of columns of scaled stationary kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from typing import ClassVar

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._jit import acquisition
from optuna_hdbo._jit import kernels
from optuna_hdbo._jit import radial


_NO_ROOT = np.empty((0, 0))

KINDS = {"se": radial.SE, "matern32": radial.MATERN32, "matern52": radial.MATERN52}


def correlation(kind: str, r2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return k and -2 dk/d(r^2) at scaled squared distances, shapes like ``r2``."""
    if kind == "se":
        k = np.exp(-0.5 * r2)
        return k, k
    if kind == "matern32":
        r = np.sqrt(3.0 * r2)
        e = np.exp(-r)
        return (1.0 + r) * e, 3.0 * e
    r = np.sqrt(5.0 * r2)
    e = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * e, (5.0 / 3.0) * (1.0 + r) * e


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

    is_compiled: ClassVar[bool] = True
    """Whether compiled loops know the kind."""

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

    @cached_property
    def covariance(self) -> kernels.Covariance:
        """The kernel as compiled loops read it."""
        return kernels.Covariance(self.code, self.hamming, self.starts, self.scales, self.inverse)

    @property
    def root(self) -> FloatArray:
        """What features are of all columns, (D, C); empty where each is of one column."""
        return _NO_ROOT

    @property
    def variance(self) -> float:
        """Prior variance at any point."""
        return float(self.scales.sum())

    def valued(self, lengthscales: FloatArray, scales: FloatArray, noise: float) -> Kernel:
        """Return the kernel with these hyperparameters: (D,), (M,) and one.

        What does not depend on them is kept: a fit makes thousands of kernels.
        """
        kind, groups, categorical = self.kind, self.groups, self.categorical
        other = type(self)(kind, groups, lengthscales, scales, noise, categorical)
        vars(other).update(columns=self.columns, starts=self.starts)
        if not categorical.any():  # all 0
            vars(other).update(hamming=self.hamming)
        return other

    def features(self, X: FloatArray) -> FloatArray:
        """Return the rows that compiled loops read, shape (C, n), for points (n, D)."""
        return np.ascontiguousarray(X.T[self.columns] * self.inverse[:, None])

    def by_columns(self, by_feature: FloatArray) -> FloatArray:
        """Return the derivatives by the columns (m, D), for those by the features (m, C)."""
        out = np.zeros((len(by_feature), len(self.lengthscales)))
        out[:, self.columns] = by_feature * self.inverse
        return out

    def stretched(self, widths: FloatArray) -> Kernel:
        """Return the same covariances as a function of columns that are divided by widths (D,)."""
        return replace(self, lengthscales=self.lengthscales / widths)

    def gram(self, X: FloatArray) -> FloatArray:
        """Return the covariance matrix of points (n, D) without noise, shape (n, n)."""
        F = self.features(X)
        lower = np.zeros((len(X), len(X)))
        kernels.fill(self.covariance, F, F, True, lower)
        out = lower + lower.T
        out.ravel()[:: len(X) + 1] *= 0.5
        return out

    def cross(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return the covariances of points Z (m, D) with points X (n, D), shape (m, n)."""
        return self.cross_of(self.features(X), self.features(Z))

    def cross_of(self, F: FloatArray, G: FloatArray) -> FloatArray:
        """Return :meth:`cross` of points whose features are G (C, m) and F (C, n)."""
        out = np.empty((G.shape[1], F.shape[1]))
        kernels.fill(self.covariance, F, G, False, out)
        return out

    def pull_back(self, F: FloatArray, G: FloatArray, W: FloatArray) -> FloatArray:
        """Return the derivative by G (C, m) of :meth:`cross_of`, times W (m, n); shape (m, C)."""
        out = np.empty((len(W), len(self.columns)))
        acquisition.pull_back_all(self.covariance, F, G, W, out)
        return out

    def only(self, group: int | None) -> Kernel:
        """Return the kernel of one group's component f_j, or the whole one for ``None``."""
        if group is None:
            return self
        return replace(
            self, groups=self.groups[group : group + 1], scales=self.scales[group : group + 1]
        )


def join(groups: Sequence[Sequence[int]]) -> tuple[IntArray, ...]:
    """Return groups in the form that :class:`Kernel` takes: sorted arrays, by first column."""
    return tuple(
        np.array(g, dtype=np.int64) for g in sorted(sorted(int(i) for i in g) for g in groups)
    )
