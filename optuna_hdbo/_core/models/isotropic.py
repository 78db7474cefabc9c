"""A Gaussian process with one lengthscale for all columns, for thousands of them.

Its likelihood depends on the points only through their distances, which are computed once per fit.
So a step of the fit costs the same in any dimension, and the record has the same size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fit import lowest
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_lengthscale
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import recall_or_refit
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import correlation
from optuna_hdbo._core.gp.likelihood import log_density
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.gp.prior import PriorName
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled
from optuna_hdbo._jit import subspace as jit


def squared_distances(domain: Domain, X: FloatArray) -> FloatArray:
    """Return the squared distances of points (n, D), 0/1 in categorical columns; shape (n, n)."""
    F = np.ascontiguousarray(X.T)
    out = np.empty((len(X), len(X)))
    nothing = np.zeros((len(X), X.shape[1]), np.bool_)
    jit.outside_distances(F, domain.categorical.astype(np.float64), F, nothing, out)
    return out


def log_posterior(
    theta: FloatArray, kind: str, r2: FloatArray, y: FloatArray, prior: Prior
) -> tuple[float, FloatArray]:
    """Return the log posterior of (log lengthscale, log scale, log noise) and its gradient."""
    scaled = r2 / np.exp(theta)[0] ** 2
    k, slope = correlation(kind, scaled)
    return log_posterior_of(theta, k, slope * scaled, y, prior)


def log_posterior_of(
    theta: FloatArray, k: FloatArray, by_lengthscale: FloatArray, y: FloatArray, prior: Prior
) -> tuple[float, FloatArray]:
    """Return the log posterior and its gradient under correlations k (n, n).

    ``by_lengthscale (n, n)`` is the derivative of k by the log lengthscale.
    """
    _, scale, noise = np.exp(theta)
    K = scale * k
    K.flat[:: len(y) + 1] += noise
    found = log_density(K, y)
    if found is None:
        return -np.inf, np.zeros(3)
    value, alpha, U = found
    inverse = lapack.dtrtri(U, lower=0)[0]
    W = np.outer(alpha, alpha) - inverse @ inverse.T
    density_u, slope_u = prior.of_lengthscales(theta[:1])
    density_v, slope_v = prior.of_scales(theta[1:2])
    density_w, slope_w = prior.of_noise(float(theta[2]))
    gradient = np.array(
        [
            0.5 * scale * float(np.vdot(W, by_lengthscale)) + slope_u[0],
            0.5 * scale * float(np.vdot(W, k)) + slope_v[0],
            0.5 * noise * float(np.trace(W)) + slope_w,
        ]
    )
    return value + density_u + density_v + density_w, gradient


def fit_isotropic(
    density: Callable[[FloatArray], tuple[float, FloatArray]],
    cold: Kernel,
    warm: Fitted | None,
    n: int,
) -> tuple[Kernel, float]:
    """Return the kernel with one lengthscale where a log posterior is highest, and its value.

    Parameters
    ----------
    density : callable
        Returns the log posterior of (log lengthscale, log scale, log noise), and its gradient.
    cold : Kernel
        Where the first climb starts; another one starts from the fit ``warm``, if there is one.
    n : int
        Observations.
    """
    kernels = [cold] if warm is None else [cold, warm.kernel]
    starts = [np.log([k.lengthscales[0], k.scales[0], k.noise]) for k in kernels]

    def falling(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = density(theta)
        return (-value / n, -gradient / n) if np.isfinite(value) else (1e10, np.zeros(3))

    bounds = Bounds()
    box = np.log([bounds.lengthscale, bounds.scale, bounds.noise])
    theta, value = lowest(falling, starts, box, 40)
    lengthscale, scale, noise = np.exp(theta).tolist()
    lengthscales = np.full(len(cold.lengthscales), lengthscale)
    fitted = replace(cold, lengthscales=lengthscales, scales=np.array([scale]), noise=noise)
    return fitted, -value * n


@dataclass(frozen=True, eq=False)
class IsotropicModel:
    """The counterpart of ``Ensemble`` with one belief and one lengthscale.

    Parameters
    ----------
    kind : str
        Kernel.
    prior : str
        Prior of the lengthscale. With "flat", scale and noise have no priors either.
    n_cyc : int or None
        See :func:`is_due`.
    """

    kind: str
    prior: PriorName = "dimension-scaled"
    n_cyc: int | None = None
    _cache: FactorCache = field(default_factory=FactorCache, init=False)

    def posterior(self, domain: Domain, seen: Observations, memory: Memory) -> Posterior:
        """Return the posterior, fitted anew if that is due."""
        fitted = recall_or_refit(
            memory,
            f"isotropic:{self.prior}",
            domain,
            len(seen.y),
            lambda last: self._fit(domain, seen, last),
            n_cyc=self.n_cyc,
        )
        return self._cache.posterior(fitted, seen.X, seen.y, seen.pending)

    def _fit(self, domain: Domain, seen: Observations, warm: Fitted | None) -> Fitted:
        informed = self.prior != "flat"
        cold = cold_start(
            domain, self.kind, [np.arange(len(domain))], cold_lengthscale(domain.breadth), 1e-3
        )
        X, y = modelled(seen.X, seen.y)
        prior = Prior(self.prior, domain.breadth, scale=informed, noise=informed)
        r2 = squared_distances(domain, X)

        def density(theta: FloatArray) -> tuple[float, FloatArray]:
            return log_posterior(theta, self.kind, r2, y, prior)

        kernel, value = fit_isotropic(density, cold, warm, len(y))
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, value, isotropic=True).rounded(domain)
