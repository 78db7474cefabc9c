"""Information gained from the chosen points: gamma of GP-MI, from the observations alone."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior


def gained(posterior: Posterior, group: int | None = None) -> float:
    """Return the sum of s_t^2(x_t) over the posterior's points, in order, in units of the prior's.

    s_t^2(x_t) is the variance at a point before it was observed. It is a pivot of the Cholesky
    factor minus the noise, so nothing has to be stored, and a new fit changes past terms, too.
    Pending points are points of the factor and count as chosen.

    Parameters
    ----------
    posterior : Posterior
    group : int or None
        For the variance of this group's component instead of that of the sum.
    """
    kernel = posterior.kernel if group is None else posterior.kernel.only(group)
    if group is None or len(posterior.kernel.groups) == 1:
        variances = posterior.pivots() - kernel.noise
    else:
        variances = kernel.variance - _explained(posterior, kernel.gram(posterior.X))
    return float(np.maximum(variances, 0.0).sum()) / kernel.variance


def _explained(posterior: Posterior, K: FloatArray) -> FloatArray:
    """Return the variance of a component that each point's predecessors explain, shape (n,).

    ``K (n, n)`` are the component's covariances.
    """
    n = len(K)
    # Rows a < t of the triangular factor read only entries b <= a < t of column t.
    V = posterior.linv[:n, :n] @ K
    explained: FloatArray = np.einsum("at,at->t", np.triu(V, 1), V)
    return explained
