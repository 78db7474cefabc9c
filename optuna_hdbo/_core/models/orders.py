"""A Gaussian process that is a sum over all groups of d columns (Duvenaud et al. 2011).

Its kernel is s e_d(z_1, ..., z_D) / C(D, d): the elementary symmetric polynomial of order d of the
columns' correlations z_i = exp(-r_i^2 / 2), where r_i is the distance in column i divided by the
one lengthscale h. It has C(D, d) terms, and a recursion over the columns gives it in O(D d).

Symbols: m, n are numbers of points; ``E[k]`` is the polynomial of order k of the columns so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import recall_or_refit
from optuna_hdbo._core.gp.posterior import factorise
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.isotropic import best_of_climbs
from optuna_hdbo._core.models.isotropic import log_posterior_of
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows


def squared_gaps(X: FloatArray, Z: FloatArray, categorical: bool) -> FloatArray:
    """Return squared distances of values X (n,) to Z (m,) of one column, 0/1 if categorical."""
    gaps = np.subtract.outer(Z, X)
    return np.asarray(gaps != 0.0 if categorical else gaps**2, np.float64)


def correlations(
    X: FloatArray, Z: FloatArray, lengthscale: float, order: int, categorical: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return e_d / C(D, d) of points Z (m, D) with X (n, D), shape (m, n).

    The second array is its derivative by the logarithm of the lengthscale.
    """
    E = np.zeros((order + 1, len(Z), len(X)))
    slope = np.zeros_like(E)
    E[0] = 1.0
    for i in range(X.shape[1]):
        r2 = squared_gaps(X[:, i], Z[:, i], bool(categorical[i])) / lengthscale**2
        z = np.exp(-0.5 * r2)
        for k in range(order, 0, -1):
            slope[k] += z * (r2 * E[k - 1] + slope[k - 1])
            E[k] += z * E[k - 1]
    n_groups = math.comb(X.shape[1], order)
    return E[order] / n_groups, slope[order] / n_groups


class OrderPosterior:
    """The process given observations, with pending points in its variance.

    Parameters
    ----------
    fitted : Fitted
        Its kernel has the lengthscale, the scale and the noise.
    order : int
        d.
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
    pending : FloatArray, shape (m, D)
    """

    def __init__(
        self, fitted: Fitted, order: int, X: FloatArray, y: FloatArray, pending: FloatArray
    ) -> None:
        kernel = fitted.kernel
        self.kernel, self.order = kernel, order
        self.scale, self.lengthscale = float(kernel.scales[0]), float(kernel.lengthscales[0])
        self.X = np.concatenate([X, pending])
        K = self.cross(self.X)
        K.flat[:: len(K) + 1] += kernel.noise
        self._U = factorise(K)[0]
        self.alpha = np.zeros(len(self.X))
        self.alpha[: len(y)] = cho_solve((factorise(K[: len(y), : len(y)])[0], False), y)

    def cross(self, Z: FloatArray) -> FloatArray:
        """Return the covariances of points Z (m, D) with the observed ones, shape (m, n)."""
        k, _ = correlations(self.X, Z, self.lengthscale, self.order, self.kernel.categorical)
        return self.scale * k

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance at points (m, D), shapes (m,)."""
        k = self.cross(Z)
        variance = self.scale - np.einsum("mn,nm->m", k, cho_solve((self._U, False), k.T))
        return k @ self.alpha, np.maximum(variance, 1e-12 * self.scale)

    def slopes(self, x: FloatArray) -> tuple[float, float, FloatArray, FloatArray]:
        """Return mean and variance at a point (D,), and their gradients, shapes (D,).

        A derivative by x_i has the polynomial of order d - 1 of the other columns, which is a sum
        of products of those of the columns before i and after it.
        """
        D, d = len(x), self.order
        gaps = x - self.X
        r2 = np.where(self.kernel.categorical, gaps != 0.0, gaps**2) / self.lengthscale**2
        z = np.exp(-0.5 * r2).T
        before, after = np.zeros((2, D + 1, d + 1, len(self.X)))
        before[0, 0] = after[D, 0] = 1.0
        for i in range(D):
            before[i + 1] = before[i]
            before[i + 1, 1:] += z[i] * before[i, :-1]
            j = D - 1 - i
            after[j] = after[j + 1]
            after[j, 1:] += z[j] * after[j + 1, :-1]
        unit = self.scale / math.comb(D, d)
        others = sum(before[:-1, a] * after[1:, d - 1 - a] for a in range(d))
        by_column = -unit * others * z * gaps.T / self.lengthscale**2
        by_column[self.kernel.categorical] = 0.0
        k = unit * before[D, d]
        weights = cho_solve((self._U, False), k)
        variance = max(self.scale - float(k @ weights), 1e-12 * self.scale)
        return float(k @ self.alpha), variance, by_column @ self.alpha, -2.0 * by_column @ weights


@dataclass(frozen=True)
class OrderModel:
    """How the process is fitted: by maximum likelihood, or with the priors of other models.

    Parameters
    ----------
    order : int
        d; all columns where there are fewer.
    priors : bool
    n_cyc : int or None
        See :func:`is_due`.
    """

    order: int
    priors: bool
    n_cyc: int | None

    def posterior(self, domain: Domain, seen: Observations, memory: Memory) -> OrderPosterior:
        """Return the posterior, fitted anew if that is due."""
        order = min(self.order, len(domain))
        rows = modelled_rows(seen.y)
        X, y = (seen.X, seen.y) if rows is None else (seen.X[rows], seen.y[rows])

        def refit(warm: Fitted | None) -> Fitted:
            return self._fit(domain, X, y, order, len(seen.y), warm)

        fitted = recall_or_refit(
            memory, f"order:{order}", domain, len(seen.y), refit, n_cyc=self.n_cyc
        )
        return OrderPosterior(fitted, order, X, y, seen.pending)

    def _fit(
        self,
        domain: Domain,
        X: FloatArray,
        y: FloatArray,
        order: int,
        n: int,
        warm: Fitted | None,
    ) -> Fitted:
        cold = cold_start(domain, "se", [np.arange(len(domain))], 0.5, 1e-3)
        prior = Prior("inverse-square" if self.priors else "flat", order, self.priors, self.priors)

        def density(theta: FloatArray) -> tuple[float, FloatArray]:
            lengthscale = float(np.exp(theta[0]))
            k, slope = correlations(X, X, lengthscale, order, domain.categorical)
            return log_posterior_of(theta, k, slope, y, prior)

        kernels = [cold] if warm is None else [cold, warm.kernel]
        starts = [np.log([k.lengthscales[0], k.scales[0], k.noise]) for k in kernels]
        theta, value = best_of_climbs(density, len(y), Bounds(), starts)
        cold.lengthscales[:], cold.scales[:], noise = np.exp(theta)
        kernel = type(cold)(
            cold.kind, cold.groups, cold.lengthscales, cold.scales, float(noise), cold.categorical
        )
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, n, cycle, value, isotropic=True).rounded(domain)
