"""A kernel whose lengthscales are along rotated axes, and how these axes are learned.

A kernel with a lengthscale per column sees a narrow valley only where it is along a column. Along
the directions in which a function changes most, and in which it changes least, it sees any
valley. They are the eigenvectors of the average of g g^T, where g is the gradient of the function
(Constantine, Dow & Wang 2014, "Active subspace methods in theory and practice"). The mean of a
model that knows the axes only half gives gradients that are good enough to find better ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.posterior import PosteriorAt
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.observations import modelled
from optuna_hdbo._jit import kernels


N_TURNS, N_STEPS = 2, 8
"""Turns of finding directions and fitting lengthscales along them, and steps of each fit."""

SHARE, LEAST_POINTS = 0.5, 20
"""Share of the points, the better ones, at which the function's changes count, and how many do at
least. Poor points say little about the valley."""


@dataclass(frozen=True, eq=False)
class Rotated(Kernel):
    """A kernel of one group of all columns, with lengthscales along other directions (D, D).

    Each column of these is a direction, with the lengthscale of the same number.
    """

    directions: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, directions: FloatArray) -> Rotated:
        """Return the kernel with its lengthscales along these directions."""
        k = kernel
        return cls(k.kind, k.groups, k.lengthscales, k.scales, k.noise, k.categorical, directions)

    @classmethod
    def from_rows(cls, kernel: Kernel, rows: Any) -> Rotated:
        """Return the kernel that has these :attr:`rows`; ``ValueError`` if they are none."""
        given, columns = np.array(rows, dtype=np.float64), kernel.columns
        if len(kernel.groups) != 1 or given.shape != (len(kernel.lengthscales),) * 2:
            raise ValueError("Directions are of all columns together.")
        if not (np.abs(given) < 1.001).all() or not (given**2).sum(axis=1).min() > 0.5:
            raise ValueError("Directions are orthogonal and have the length 1.")
        directions = np.empty(given.shape)
        directions[np.ix_(columns, columns)] = given
        return cls.of(kernel, directions)

    @property
    def rows(self) -> list[list[float]]:
        """The directions in the order of :attr:`columns`, kept to six digits, for JSON."""
        rows = self.directions[np.ix_(self.columns, self.columns)]
        return [[float(f"{x:.6g}") for x in row] for row in rows.tolist()]

    @cached_property
    def root(self) -> FloatArray:
        """What features are of all columns, shape (D, D)."""
        return np.ascontiguousarray(self.directions[:, self.columns] * self.inverse)

    @cached_property
    def units(self) -> FloatArray:
        """How far each column has to move for the function to change, shape (D,)."""
        return np.asarray(1.0 / np.sqrt((self.root**2).sum(axis=1)), np.float64)

    @cached_property
    def covariance(self) -> kernels.Covariance:
        """The kernel as compiled loops read it. Climbs move columns in their units."""
        hamming = np.zeros(len(self.columns))
        return kernels.Covariance(self.code, hamming, self.starts, self.scales, 1.0 / self.units)

    def features(self, X: FloatArray) -> FloatArray:
        """Return the rows that compiled loops read, shape (D, n), for points (n, D)."""
        # Column by column: the last bits of a product of BLAS depend on how many points there are,
        # so they would differ between a factor that has grown and a fresh one of the same points.
        out = np.zeros((len(self.root), len(X)))
        for along, x in zip(self.root, X.T, strict=True):
            out += along[:, None] * x
        return out

    def by_columns(self, by_feature: FloatArray) -> FloatArray:
        """Return the derivatives by the columns (m, D), for those by the features (m, D)."""
        return np.asarray(by_feature @ self.root.T, np.float64)

    def stretched(self, widths: FloatArray) -> Rotated:
        """Return the same covariances as a function of columns that are divided by widths (D,)."""
        return replace(self, directions=self.directions * widths[:, None])


def fit_rotated(
    start: Kernel, X: FloatArray, y: FloatArray, prior: Prior, bounds: Bounds, side: float = 1.0
) -> tuple[Rotated, float]:
    """Return a kernel with learned directions, and its log posterior given y (n,) at X (n, D).

    Parameters
    ----------
    start : Kernel
        A fit with a lengthscale for each column, or an earlier one with directions. Its gradients
        give the first directions.
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
    prior : Prior
    bounds : Bounds
    side : float
        The prior is that of a cube with this side.
    """
    X, y = modelled(X, y)
    k = start
    for _ in range(N_TURNS):
        directions = steepest(k, X, y)
        lengthscales = _along(k, directions) / side
        axes = Kernel(k.kind, k.groups, lengthscales, k.scales, k.noise, k.categorical)
        Z = np.ascontiguousarray(X @ directions / side)
        axes, value = fit(
            axes, Z, y, prior=prior, bounds=bounds, scales="all", starts=[axes], n_steps=N_STEPS
        )
        k = Rotated.of(replace(axes, lengthscales=axes.lengthscales * side), directions)
    assert isinstance(k, Rotated)
    return k, value


def steepest(kernel: Kernel, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return orthogonal directions (D, D), those in which the mean changes most at the end.

    Parameters
    ----------
    kernel : Kernel
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
        Changes at the better points count.
    """
    posterior = Posterior(Factor(kernel, X), y)
    n_best = max(int(SHARE * len(y)), LEAST_POINTS)
    best = np.argsort(-y, kind="stable")[:n_best]
    here = PosteriorAt(posterior, X[best])
    G = here.gradients(np.ones(len(best)), np.zeros(len(best)))
    return np.asarray(np.linalg.eigh(G.T @ G)[1], np.float64)


def _along(kernel: Kernel, directions: FloatArray) -> FloatArray:
    """Return the lengthscales of a kernel along some directions, shape (D,)."""
    root = kernel.by_columns(np.eye(len(kernel.columns))).T  # (D, C)
    return np.asarray(1.0 / np.sqrt(((directions.T @ root) ** 2).sum(axis=1)), np.float64)
