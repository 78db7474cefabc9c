"""Expected improvements where noise is a part of the objective: jumps that have no trend.

A Gaussian process takes for noise what it cannot explain. Where equal points have equal values,
that part of the objective is unknown far from known points, and known close to them.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._jit import acquisition as jit


REACH = 0.15
"""Distance from a known point at which 63 % of the noise's variance is unknown."""


def unknown_share(Z: FloatArray, known: FloatArray) -> FloatArray:
    """Return which share of the noise's variance is unknown at points (m, D), shape (m,).

    It is 1 - exp(-(d / REACH)^2) at the distance d to the nearest of the points ``known (n, D)``.
    """
    if not len(known):
        return np.ones(len(Z))
    squares = (Z**2).sum(axis=1)[:, None] + (known**2).sum(axis=1) - 2.0 * (Z @ known.T)
    nearest = np.maximum(squares.min(axis=1), 0.0)
    return np.asarray(-np.expm1(-nearest / REACH**2), np.float64)


def log_jump_improvement(
    posterior: Posterior, incumbent: float, Z: FloatArray, known: FloatArray
) -> FloatArray:
    """Return log E[max(y - incumbent, 0)] at points Z (m, D), shape (m,), unknown jumps included.

    The ``incumbent`` is the best observed value, in the units of the posterior. ``known (n, D)``
    are all points whose values are known or pending.
    """
    mean, variance = posterior.predict(Z)
    variance += posterior.kernel.noise * unknown_share(Z, known)
    values = np.empty(len(Z))
    jit.utilities(jit.LOG_EI, np.array((incumbent, 0.0)), mean, variance, values)
    return values
