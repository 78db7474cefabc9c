"""Information gained from the chosen points: gamma of GP-MI, from the observations alone."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.gp.posterior import Posterior


def gained(posterior: Posterior, group: int | None = None) -> float:
    """Return the sum of s_t^2(x_t) over the posterior's points, in order, in units of the prior's.

    s_t^2(x_t) is the variance at a point before it was observed. It is a pivot of the Cholesky
    factor minus the noise, so nothing has to be stored, and a new fit changes past terms, too.
    Pending points are points of the factor and count as chosen. With a ``group``, the variance is
    that of its component.
    """
    kernel = posterior.kernel.only(group)
    if group is None or len(posterior.kernel.groups) == 1:
        variances = posterior.pivots() - kernel.noise
    else:
        n = len(posterior.X)
        # Rows a < t of the triangular factor read only entries b <= a < t of column t.
        V = posterior.linv[:n, :n] @ kernel.gram(posterior.X)
        variances = kernel.variance - np.einsum("at,at->t", np.triu(V, 1), V)
    return float(np.maximum(variances, 0.0).sum()) / kernel.variance
