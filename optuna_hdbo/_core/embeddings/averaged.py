"""Predictions averaged over the posterior of a Mahalanobis kernel (Letham et al. 2020).

The posterior of U's entries is taken for a normal one, around its mode, with the diagonal of the
Hessian there (Laplace). Draws from it have a Gaussian process each. Their predictions become one
normal distribution with the mean and the variance of the mixture (moment matching).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.mahalanobis import PRIOR
from optuna_hdbo._core.embeddings.mahalanobis import Mahalanobis
from optuna_hdbo._core.embeddings.mahalanobis import log_posterior
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.posterior import PosteriorAt
from optuna_hdbo._core.observations import modelled
from optuna_hdbo._jit import acquisition as jit


SMALLEST_CURVATURE = 1e-3
"""Added to all curvatures, so that entries without any influence have a variance."""


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
        The largest expected value of an observed point.
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
        self.incumbent = float(self.predict(Y)[0].max())

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
        value, by_mean, by_variance = np.empty((3, 1))
        jit.slopes_of_utilities(
            jit.LOG_EI,
            np.array([self.incumbent, 0.0]),
            mean,
            variance,
            value,
            by_mean,
            by_variance,
        )
        gradient = np.zeros_like(y)
        for root, here in at:
            by_part = by_mean + 2.0 * (here.mean - mean) * by_variance
            gradient += here.gradients(by_part / len(at), by_variance / len(at))[0] @ root
        return float(value[0]), gradient
