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
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.isotropic import fit_isotropic
from optuna_hdbo._core.models.isotropic import log_posterior_of
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled


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
        gaps = np.subtract.outer(Z[:, i], X[:, i])
        r2 = (gaps != 0.0 if categorical[i] else gaps**2) / lengthscale**2
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
        X, y = modelled(seen.X, seen.y)
        prior = Prior("inverse-square" if self.priors else "flat", order, self.priors, self.priors)

        def density(theta: FloatArray) -> tuple[float, FloatArray]:
            lengthscale = float(np.exp(theta[0]))
            k, slope = correlations(X, X, lengthscale, order, domain.categorical)
            return log_posterior_of(theta, k, slope, y, prior)

        def refit(warm: Fitted | None) -> Fitted:
            cold = cold_start(domain, "se", [np.arange(len(domain))], 0.5, 1e-3)
            kernel, value = fit_isotropic(density, cold, warm, len(y))
            cycle = 0 if warm is None else warm.cycle + 1
            return Fitted(kernel, len(seen.y), cycle, value, isotropic=True).rounded(domain)

        fitted = recall_or_refit(
            memory, f"order:{order}", domain, len(seen.y), refit, n_cyc=self.n_cyc
        )
        return OrderPosterior(fitted, order, X, y, seen.pending)
