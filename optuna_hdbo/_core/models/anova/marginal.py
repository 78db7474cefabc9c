"""The evidence for features beside a Gaussian process, with variances averaged over."""

from __future__ import annotations

import math

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.lazy import cached_property


VARIANCES = np.exp(np.linspace(math.log(1e-4), math.log(2.0), 21))
"""Variances of a term over which its evidence is averaged; those of the values are 1."""

NOISES = np.exp(np.linspace(math.log(1e-5), 0.0, 11))
"""Variances of the noise over which evidence is averaged."""


class Marginal:
    """Marginal likelihoods of values (n,) under covariances K (n, n) and features added to them.

    One eigendecomposition serves every level of the noise. It is made when it is first needed.
    """

    def __init__(self, K: FloatArray, y: FloatArray) -> None:
        self._given = K, y

    @cached_property
    def _decomposed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Eigenvalues (n,) and eigenvectors (n, n) of K, and y in their basis."""
        values, Q = np.linalg.eigh(self._given[0])
        return np.maximum(values, 0.0), Q, Q.T @ self._given[1]

    @cached_property
    def _apart(self) -> FloatArray:
        return np.array([self.value(noise) for noise in NOISES.tolist()])

    def value(self, noise: float) -> float:
        """Return the log likelihood without further features, less a constant."""
        values, _, y = self._decomposed
        d = values + noise
        return float(-0.5 * np.log(d).sum() - 0.5 * (y**2 / d).sum())

    def rotated(self, F: FloatArray) -> FloatArray:
        """Return features (n, m) in the basis of the eigenvectors."""
        return np.asarray(self._decomposed[1].T @ F, np.float64)

    def gains(self, G: FloatArray, noise: float | FloatArray) -> FloatArray:
        """Return what terms add to the log likelihood, for each of :data:`VARIANCES`.

        Parameters
        ----------
        G : FloatArray, shape (t, n, m)
            Rotated features of t terms.
        noise : float or FloatArray, shape (t,)

        Returns
        -------
        FloatArray, shape (t, len(VARIANCES))
        """
        d, _, y = self._decomposed
        root = np.sqrt(d[:, None] + noise).T.reshape(-1, len(y), 1)
        H = G / root
        z, transposed = y[:, None] / root, np.swapaxes(H, 1, 2)
        if G.shape[2] <= len(y):
            values, V = np.linalg.eigh(transposed @ H)
            values = np.maximum(values, 0.0)
            squares = ((np.swapaxes(V, 1, 2) @ (transposed @ z))[:, :, 0]) ** 2
        else:  # the smaller of the two matrices that have the same positive eigenvalues
            values, V = np.linalg.eigh(H @ transposed)
            values = np.maximum(values, 0.0)
            squares = values * (np.swapaxes(V, 1, 2) @ z)[:, :, 0] ** 2
        values, squares, s = values[:, None, :], squares[:, None, :], VARIANCES[None, :, None]
        explained = s * squares / (1.0 + s * values) - np.log1p(s * values)
        return np.asarray(0.5 * explained.sum(axis=2), np.float64)

    def evidence(self, F: FloatArray) -> tuple[float, FloatArray]:
        """Return the log evidence for features (n, m), and the posterior of their variance.

        The posterior has one weight for each of :data:`VARIANCES`; they add up to 1.
        """
        G = np.broadcast_to(self.rotated(F), (len(NOISES), *F.shape))
        gains, apart = self.gains(G, NOISES), self._apart
        joint = log_mean(apart[:, None] + gains, axis=0)
        weights = np.exp(joint - joint.max())
        return float(log_mean(joint, 0) - log_mean(apart, 0)), weights / weights.sum()


def log_mean(values: FloatArray, axis: int) -> FloatArray:
    """Return the logarithm of the mean of exponentials along an axis."""
    most = values.max(axis=axis, keepdims=True)
    return np.asarray(
        most.squeeze(axis) + np.log(np.exp(values - most).mean(axis=axis)), np.float64
    )


def limit(weights: FloatArray) -> FloatArray:
    """Return the variance that is not exceeded with 95 % under weights (..., len(VARIANCES))."""
    cumulative = np.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
    return np.asarray(VARIANCES[np.minimum((cumulative < 0.95).sum(axis=-1), len(VARIANCES) - 1)])
