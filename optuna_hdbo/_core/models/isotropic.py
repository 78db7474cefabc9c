"""A Gaussian process with one lengthscale for all columns, for thousands of them.

Its likelihood depends on the points only through their distances, which are computed once per fit.
So a step of the fit costs the same in any dimension, and the record has the same size.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_lengthscale
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import recall_or_refit
from optuna_hdbo._core.gp.kernel import correlation
from optuna_hdbo._core.gp.likelihood import log_density
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.gp.prior import PriorName
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
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
    kind: str,
    r2: FloatArray,
    y: FloatArray,
    prior: Prior,
    bounds: Bounds,
    starts: Sequence[FloatArray],
    n_steps: int = 40,
) -> tuple[FloatArray, float]:
    """Return the best (log lengthscale, log scale, log noise) of climbs from ``starts``."""
    return best_of_climbs(
        lambda theta: log_posterior(theta, kind, r2, y, prior), len(y), bounds, starts, n_steps
    )


def best_of_climbs(
    density: Callable[[FloatArray], tuple[float, FloatArray]],
    n: int,
    bounds: Bounds,
    starts: Sequence[FloatArray],
    n_steps: int = 40,
) -> tuple[FloatArray, float]:
    """Return where a log posterior of n observations is highest, and its value there."""
    box = np.log([bounds.lengthscale, bounds.scale, bounds.noise])

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = density(theta)
        return (-value / n, -gradient / n) if np.isfinite(value) else (1e10, np.zeros(3))

    best, best_value = starts[0], np.inf
    for start in starts:
        found = minimize(
            objective,
            np.clip(start, box[:, 0], box[:, 1]),
            jac=True,
            method="L-BFGS-B",
            bounds=box,
            options={"maxiter": n_steps, "maxfun": int(1.5 * n_steps), "ftol": 1e-7, "gtol": 1e-4},
        )
        if found.fun < best_value:
            best, best_value = found.x, float(found.fun)
    return best, -best_value * n


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
    bounds : Bounds
    """

    kind: str
    prior: PriorName = "dimension-scaled"
    n_cyc: int | None = None
    bounds: Bounds = field(default_factory=Bounds)
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
        starts = [
            np.log([kernel.lengthscales[0], kernel.scales[0], kernel.noise])
            for kernel in (cold, *(() if warm is None else (warm.kernel,)))
        ]
        rows = modelled_rows(seen.y)
        X, y = (seen.X, seen.y) if rows is None else (seen.X[rows], seen.y[rows])
        theta, value = fit_isotropic(
            self.kind,
            squared_distances(domain, X),
            y,
            Prior(self.prior, domain.breadth, scale=informed, noise=informed),
            self.bounds,
            starts,
        )
        lengthscale, scale, noise = np.exp(theta).tolist()
        kernel = replace(
            cold,
            lengthscales=np.full(len(domain), lengthscale),
            scales=np.array([scale]),
            noise=noise,
        )
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, value, isotropic=True).rounded(domain)
