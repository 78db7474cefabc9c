"""A Gaussian process with a Mahalanobis kernel: s^2 exp(-(y - y')^T Gamma (y - y') / 2).

With Gamma = U^T U it is the squared exponential kernel of the coordinates z = U y. U is upper
triangular, and its entries, the scale and the noise maximise the posterior density.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.observations import modelled
from optuna_hdbo._core.observations import modelled_rows


LARGEST = 1e3
"""Largest entry of U."""

PRIOR = Prior("flat", scale=False, noise=False)
"""The paper has no priors: a fit maximises the likelihood."""


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
