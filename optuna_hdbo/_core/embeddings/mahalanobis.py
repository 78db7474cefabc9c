"""A Gaussian process with a Mahalanobis kernel: s^2 exp(-(y - y')^T Gamma (y - y') / 2).

With Gamma = U^T U it is the squared exponential kernel of the coordinates z = U y. U is upper
triangular, and its entries, the scale and the noise maximise the posterior density.

Predictions are averaged over the posterior of U's entries (Letham et al. 2020). It is taken for a
normal one around its mode, with the diagonal of the Hessian there (Laplace). Draws from it have a
Gaussian process each. Their predictions become one normal distribution with the mean and the
variance of the mixture (moment matching).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.gp.fit import lowest
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.likelihood import log_density
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.posterior import PosteriorAt
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.observations import modelled
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._jit import acquisition as jit


LARGEST = 1e3
"""Largest entry of U."""

PRIOR = Prior("flat", scale=False, noise=False)
"""The paper has no priors: a fit maximises the likelihood."""

SMALLEST_CURVATURE = 1e-3
"""Added to all curvatures, so that entries without any influence have a variance."""


@dataclass(frozen=True, eq=False)
class Mahalanobis:
    """A fit.

    Parameters
    ----------
    root : FloatArray, shape (d, d)
        U.
    scale, noise : float
    n : int
        Observations that it was fitted to.
    """

    root: FloatArray
    scale: float
    noise: float
    n: int

    @classmethod
    def cold(cls, half: FloatArray) -> Mahalanobis:
        """Return the start of a first fit: lengthscales of half the box's sides."""
        return cls(np.diag(1.0 / half), 1.0, 1e-3, 0)

    @classmethod
    def random(cls, embedding: Embedding, rng: np.random.Generator) -> Mahalanobis:
        """Return a random start of a fit: the objective depends on d random directions.

        If f(x) is g(T x) with unit lengthscales, T (d, D) of orthonormal rows, then f(A y) has
        the kernel with Gamma = (T A)^T T A.
        """
        T = np.linalg.qr(rng.standard_normal(embedding.matrix.shape))[0].T
        return cls(np.linalg.qr(T @ embedding.matrix)[1], 1.0, 1e-3, 0)

    @classmethod
    def of(cls, theta: FloatArray, n: int) -> Mahalanobis:
        """Return the fit that has these numbers as its :attr:`theta`."""
        scale, noise = np.exp(theta[-2:]).tolist()
        return cls(_upper(theta[:-2]), scale, noise, n)

    @property
    def theta(self) -> FloatArray:
        """The entries of U, and the logarithms of scale and noise: what is fitted."""
        entries = self.root[np.triu_indices(len(self.root))]
        return np.concatenate([entries, np.log([self.scale, self.noise])])

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; numbers are kept to six digits."""
        entries = self.root[np.triu_indices(len(self.root))]
        numbers = [float(f"{v:.6g}") for v in [*entries, self.scale, self.noise]]
        return {"n": self.n, "root": numbers[:-2], "scale": numbers[-2], "noise": numbers[-1]}

    @classmethod
    def from_json(cls, data: Any, d: int) -> Mahalanobis | None:
        """Return the fit that an object describes, or None if it is not one of d coordinates."""
        try:
            entries = np.array(data["root"], np.float64)
            scale, noise, n = float(data["scale"]), float(data["noise"]), data["n"]
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            return None
        if entries.shape != (d * (d + 1) // 2,) or not (np.abs(entries) <= LARGEST).all():
            return None
        if not (0.0 < scale < 1e12 and 0.0 < noise < 1e12) or type(n) is not int or n < 0:
            return None
        return cls(_upper(entries), scale, noise, n)

    def posterior(self, Y: FloatArray, values: FloatArray, pending: FloatArray) -> Posterior:
        """Return the posterior over z, given points y (n, d), their values, and pending points."""
        d = len(self.root)
        kernel = Kernel(
            "se",
            (np.arange(d),),
            np.ones(d),
            np.array([self.scale]),
            self.noise,
            np.zeros(d, np.bool_),
        )
        rows = modelled_rows(values)
        if rows is not None:
            Y, values = Y[rows], values[rows]
        factor = Factor(kernel, Y @ self.root.T)
        factor.append(pending @ self.root.T)
        return Posterior(factor, values, rows)


def _upper(entries: FloatArray) -> FloatArray:
    """Return the upper triangular matrix (d, d) of d (d + 1) / 2 entries, row by row."""
    d = int(np.sqrt(2.0 * len(entries)))
    root = np.zeros((d, d))
    root[np.triu_indices(d)] = entries
    return root


def log_posterior(
    theta: FloatArray, Y: FloatArray, y: FloatArray, prior: Prior
) -> tuple[float, FloatArray]:
    """Return the log posterior of (entries of U, log scale, log noise) and its gradient."""
    U = _upper(theta[:-2])
    scale, noise = np.exp(theta[-2:])
    Z = Y @ U.T
    squares = (Z**2).sum(axis=1)
    k = scale * np.exp(-0.5 * np.maximum(squares[:, None] + squares - 2.0 * Z @ Z.T, 0.0))
    K = k.copy()
    K.flat[:: len(y) + 1] += noise
    found = log_density(K, y)
    if found is None:
        return -np.inf, np.zeros_like(theta)
    value, alpha, factor = found
    inverse = lapack.dtrtri(factor, lower=0)[0]
    W = np.outer(alpha, alpha) - inverse @ inverse.T
    M = W * k
    by_root = -U @ (Y.T @ ((np.diag(M.sum(axis=1)) - M) @ Y))
    density_s, slope_s = prior.of_scales(theta[-2:-1])
    density_w, slope_w = prior.of_noise(float(theta[-1]))
    by_scale = 0.5 * float(M.sum()) + float(slope_s[0])
    by_noise = 0.5 * noise * float(np.trace(W)) + slope_w
    gradient = np.concatenate([by_root[np.triu_indices(len(U))], [by_scale, by_noise]])
    return value + density_s + density_w, gradient


def fit(
    starts: Sequence[Mahalanobis],
    Y: FloatArray,
    y: FloatArray,
    noise: float | None = None,
    n_steps: int = 60,
) -> Mahalanobis:
    """Return the likeliest fit to points y (n, d) and their values that climbs end at.

    A climb needs a start of full rank as well as the last fit: where a row of U is 0, so is its
    slope, and climbs from there never leave the other directions. ``noise`` is a variance in units
    of the values; ``None`` fits it.
    """
    n, d = len(y), len(starts[0].root)
    Y, y = modelled(Y, y)
    noises = Bounds().noise if noise is None else (noise, noise)
    entries = [(-LARGEST, LARGEST)] * (d * (d + 1) // 2)
    box = np.concatenate([entries, np.log([Bounds().scale, noises])])

    def falling(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = log_posterior(theta, Y, y, PRIOR)
        if not np.isfinite(value):
            return 1e10, np.zeros_like(theta)
        return -value / len(y), -gradient / len(y)

    best, _ = lowest(falling, [start.theta for start in starts], box, n_steps)
    fitted = Mahalanobis.from_json(Mahalanobis.of(best, n).to_json(), d)
    assert fitted is not None
    return fitted


def curvatures(fitted: Mahalanobis, Y: FloatArray, y: FloatArray) -> FloatArray:
    """Return minus the second derivatives of the log posterior by U's entries, at a fit.

    They are differences of gradients, shape (d (d + 1) / 2,). Rows of points (n, d) that models
    leave out do not count.
    """
    Y, y = modelled(Y, y)
    theta = fitted.theta
    found = np.empty(len(theta) - 2)
    for i in range(len(found)):
        step = np.zeros_like(theta)
        step[i] = 1e-4 + 1e-3 * abs(theta[i])
        above, below = (log_posterior(t, Y, y, PRIOR)[1][i] for t in (theta + step, theta - step))
        found[i] = (below - above) / (2.0 * step[i])
    return found


def draws(
    fitted: Mahalanobis, Y: FloatArray, y: FloatArray, n: int, rng: np.random.Generator
) -> list[Mahalanobis]:
    """Return n kernels: the fit, and n - 1 draws from the Laplace approximation around it.

    Only U differs between them. Where the log posterior is not concave, the fit is not at its
    mode, and its curvature counts as 0.
    """
    if n == 1:
        return [fitted]
    curvature = np.maximum(curvatures(fitted, Y, y), 0.0) + SMALLEST_CURVATURE
    upper = np.triu_indices(len(fitted.root))
    roots = np.repeat(fitted.root[None], n, axis=0)
    noise = rng.standard_normal((n - 1, len(curvature))) / np.sqrt(curvature)
    roots[1:, upper[0], upper[1]] += noise
    return [replace(fitted, root=root) for root in roots]


class Averaged:
    """The mixture of Gaussian processes with several kernels, by its mean and variance.

    Parameters
    ----------
    models : sequence of Mahalanobis
        The kernels, of equal weights.
    Y : FloatArray, shape (n, d)
        Observed points.
    values : FloatArray, shape (n,)
    pending : FloatArray, shape (m, d)

    Attributes
    ----------
    incumbent : float
        The largest expected value of an observed or a pending point.
    """

    def __init__(
        self,
        models: Sequence[Mahalanobis],
        Y: FloatArray,
        values: FloatArray,
        pending: FloatArray,
    ) -> None:
        self._parts: list[tuple[FloatArray, Posterior]] = [
            (model.root, model.posterior(Y, values, pending)) for model in models
        ]
        self.incumbent = float(self.predict(np.concatenate([Y, pending]))[0].max())

    def predict(self, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance at points (m, d), shapes (m,)."""
        parts = [posterior.predict(Y @ root.T) for root, posterior in self._parts]
        means, variances = np.array(parts).transpose(1, 0, 2)
        return means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)

    def log_ei(self, Y: FloatArray) -> FloatArray:
        """Return the log expected improvements at points (m, d), shape (m,)."""
        mean, variance = self.predict(Y)
        out = np.empty(len(Y))
        jit.utilities(jit.LOG_EI, np.array([self.incumbent, 0.0]), mean, variance, out)
        return out

    def slope(self, y: FloatArray) -> tuple[float, FloatArray]:
        """Return the log expected improvement at a point (d,) and its gradient (d,)."""
        at = [(root, PosteriorAt(posterior, (root @ y)[None])) for root, posterior in self._parts]
        means = np.array([here.mean for _, here in at])
        mean = means.mean(axis=0)
        variance = np.array([here.variance for _, here in at]).mean(axis=0) + means.var(axis=0)
        p = np.array([self.incumbent, 0.0])
        value, by_mean, by_variance = jit.utility(jit.LOG_EI, p, mean[0], variance[0])
        gradient = np.zeros_like(y)
        for root, here in at:
            by_part = by_mean + 2.0 * (here.mean - mean) * by_variance
            gradient += here.gradients(by_part / len(at), by_variance / len(at))[0] @ root
        return float(value), gradient
