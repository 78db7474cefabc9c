"""How a posterior mean changes with each column, at many points at once.

A *model* is what :mod:`optuna_hdbo._jit.acquisition` calls one, less the factor: the posterior's
standard deviation is a product of large matrices, which BLAS computes from the covariances that
are written here.
"""

from __future__ import annotations

import math

import numpy as np

from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.kernels import MATERN32
from optuna_hdbo._jit.kernels import SE
from optuna_hdbo._jit.kernels import covariances
from optuna_hdbo._jit.kernels import distances
from optuna_hdbo._jit.kernels import exp
from optuna_hdbo._jit.kernels import slopes


_SQRT3 = math.sqrt(3.0)
_SQRT5 = math.sqrt(5.0)


@compiled
def sensitivities(kind, F, G, H, hamming, differs, starts, scales, alpha, K, out):
    """Write how the mean at G (C, m) changes with each row of features to ``out (C, m)``.

    That is the derivative by the feature or, in rows marked ``differs (C,)``, the change of the
    mean when the feature alone becomes that of H (C, m). ``F (C, n)`` are the observed points;
    their covariances with G are written to ``K (m, n)``.
    """
    n = F.shape[1]
    f = np.empty(F.shape[0])
    r2, w, other = np.empty(n), np.empty(n), np.empty(n)
    for a in range(G.shape[1]):
        for c in range(len(f)):
            f[c] = G[c, a]
        covariances(kind, F, f, hamming, starts, scales, n, r2, K[a])
        for j in range(len(scales)):
            lo, hi = starts[j], starts[j + 1]
            distances(F, f, hamming, lo, hi, n, r2)
            for b in range(n):
                w[b] = r2[b]
            slopes(kind, w, n)
            for b in range(n):
                w[b] *= scales[j] * alpha[b]
            here = 0.0
            for c in range(lo, hi):
                if differs[c]:
                    here = weighted(kind, r2, alpha)
                    break
            for c in range(lo, hi):
                if differs[c]:
                    h = hamming[c]
                    for b in range(n):
                        if h > 0.0:
                            change = h * ((F[c, b] != H[c, a]) - 1.0 * (F[c, b] != f[c]))
                        else:
                            change = (F[c, b] - H[c, a]) ** 2 - (F[c, b] - f[c]) ** 2
                        other[b] = max(r2[b] + change, 0.0)
                    out[c, a] = scales[j] * (weighted(kind, other, alpha) - here)
                else:
                    total = 0.0
                    for b in range(n):
                        total += w[b] * (F[c, b] - f[c])
                    out[c, a] = total


@compiled
def weighted(kind, r2, alpha):
    """Return the sum of unscaled covariances at squared distances ``r2 (n,)`` times alpha."""
    total = 0.0
    if kind == SE:
        for b in range(len(r2)):
            total += alpha[b] * exp(-0.5 * r2[b])
    elif kind == MATERN32:
        for b in range(len(r2)):
            r = _SQRT3 * math.sqrt(r2[b])
            total += alpha[b] * (1.0 + r) * exp(-r)
    else:
        for b in range(len(r2)):
            r = _SQRT5 * math.sqrt(r2[b])
            total += alpha[b] * (1.0 + r + r * r / 3.0) * exp(-r)
    return total
