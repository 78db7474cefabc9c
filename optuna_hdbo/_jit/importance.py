"""How a posterior mean changes with each column, at many points at once: the elementwise part.

Distances between all pairs, derivatives and standard deviations are products of large matrices,
which BLAS computes; what is between them is here.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.radial import radial


@compiled
def add_covariances(kind, r2, s, alpha, K, W):
    """Add s k(r) to ``K (m, n)`` and write its slope -2 s dk/d(r^2) times alpha to ``W (m, n)``.

    ``r2 (m, n)`` are squared distances within a group of scale s, less than 0 where they were
    rounded.
    """
    for a in range(len(r2)):
        for b in range(len(alpha)):
            e, p, q = radial(kind, max(r2[a, b], 0.0))
            K[a, b] += p * (s * e)
            W[a, b] = alpha[b] * q * (s * e)


@compiled
def differences(kind, r2, f, g, h, hamming, s, alpha, out):
    """Write to ``out (m,)`` the change of the mean when one feature alone goes from g to h (m,).

    ``f (n,)`` is that feature of the observed points, ``hamming`` as in the kernels, and
    ``r2 (m, n)`` are squared distances of the whole group.
    """
    here, there = np.empty(len(alpha)), np.empty(len(alpha))
    for a in range(len(g)):
        for b in range(len(alpha)):
            here[b] = max(r2[a, b], 0.0)
            if hamming > 0.0:
                change = hamming * ((f[b] != h[a]) - 1.0 * (f[b] != g[a]))
            else:
                change = (f[b] - h[a]) ** 2 - (f[b] - g[a]) ** 2
            there[b] = max(here[b] + change, 0.0)
        out[a] = s * (weighted(kind, there, alpha) - weighted(kind, here, alpha))


@compiled
def weighted(kind, r2, alpha):
    """Return the sum of unscaled covariances at squared distances ``r2 (n,)`` times alpha."""
    total = 0.0
    for b in range(len(r2)):
        e, p, _ = radial(kind, r2[b])
        total += alpha[b] * p * e
    return total
