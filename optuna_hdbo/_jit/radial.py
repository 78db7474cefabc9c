"""The scalar formulas of the stationary kernels, and the exponential that they share.

A kernel is ``k = p(t) exp(-t)`` with the slope ``-2 dk/d(r^2) = q(t) exp(-t)``, where t is
``r^2 / 2`` (SE), ``sqrt(3) r`` (Matern-3/2) or ``sqrt(5) r`` (Matern-5/2). The last functions say
how a posterior mean changes with a column, from distances and products that BLAS computes.
"""

from __future__ import annotations

import math

import numpy as np

from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.compile import inlined
from optuna_hdbo._jit.compile import internal
from optuna_hdbo._jit.compile import internal_in_order


SE, MATERN32, MATERN52 = 0, 1, 2

SQRT3 = math.sqrt(3.0)
SQRT5 = math.sqrt(5.0)
_LOG2E = math.log2(math.e)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest integer in the low bits


@internal_in_order
def exp(x):
    """Return exp(x) for x <= 0, in plain arithmetic: loops over it use vector registers."""
    x = max(x, -700.0)
    shifted = np.float64(x * _LOG2E + _ROUND)
    n = shifted - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = r * (1.0 / 479001600.0) + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = shifted.view(np.int64)
    return p * np.int64((bits + 1023) << 52).view(np.float64)


@inlined
def polynomial32(t):
    """Return p(t) of Matern-3/2."""
    return 1.0 + t


@inlined
def polynomial52(t):
    """Return p(t) of Matern-5/2; with a product, because a division takes several times longer."""
    return 1.0 + t + t * t * (1.0 / 3.0)


@inlined
def radial(kind, r2):
    """Return exp(-t), p and q at a squared distance (Rasmussen & Williams 2006, eq. 4.9, 4.17).

    The compiler takes the choice of the kind out of the loops that this stands in.
    """
    if kind == SE:
        return exp(-0.5 * r2), 1.0, 1.0
    if kind == MATERN32:
        t = SQRT3 * math.sqrt(r2)
        return exp(-t), polynomial32(t), 3.0
    t = SQRT5 * math.sqrt(r2)
    return exp(-t), polynomial52(t), (5.0 / 3.0) * (1.0 + t)


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


@internal
def weighted(kind, r2, alpha):
    """Return the sum of unscaled covariances at squared distances ``r2 (n,)`` times alpha."""
    total = 0.0
    for b in range(len(r2)):
        e, p, _ = radial(kind, r2[b])
        total += alpha[b] * p * e
    return total
