"""Covariances of additive kernels, their gradients, and the factor that grows by rows.

A kernel is a sum over groups of columns, ``sum_j scales[j] k(r_j)``, where r_j is the scaled
distance within group j. Points come as *features*, ``F (C, n)``: a row per column of the groups,
end to end, divided by its lengthscale; group j owns rows ``starts[j]:starts[j + 1]``. The long
axis is the last one, so that every inner loop runs over points and uses vector registers.
``hamming (C,)`` is the squared distance of two unequal values where a column is categorical,
and 0 where it is numerical.
"""

# ruff: noqa: E741

from __future__ import annotations

import math

import numpy as np

from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.compile import compiled_in_order


SE, MATERN32, MATERN52 = 0, 1, 2

_SQRT3 = math.sqrt(3.0)
_SQRT5 = math.sqrt(5.0)
_LOG2E = math.log2(math.e)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest integer in the low bits


@compiled_in_order
def exp(x):
    """Return exp(x) for x <= 0, in plain arithmetic: loops over it use vector registers."""
    x = max(x, -700.0)
    shifted = np.float64(x * _LOG2E + _ROUND)
    n = shifted - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = r / 479001600.0 + 1.0 / 39916800.0
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


@compiled
def distances(F, f, hamming, lo, hi, m, r2):
    """Write to ``r2[:m]`` the squared distances of ``f`` to the first m points in rows lo:hi."""
    for b in range(m):
        r2[b] = 0.0
    for c in range(lo, hi):
        x = f[c]
        w = hamming[c]
        if w > 0.0:
            for b in range(m):
                r2[b] += w if F[c, b] != x else 0.0
        else:
            for b in range(m):
                r2[b] += (F[c, b] - x) ** 2


@compiled
def add_group(kind, F, f, hamming, lo, hi, s, m, r2, out):
    """Add to ``out[:m]`` the covariances s k(r) of the group in rows lo:hi; r2 is work space."""
    distances(F, f, hamming, lo, hi, m, r2)
    if kind == SE:
        for b in range(m):
            out[b] += s * exp(-0.5 * r2[b])
    elif kind == MATERN32:
        for b in range(m):
            r = _SQRT3 * math.sqrt(r2[b])
            out[b] += s * (1.0 + r) * exp(-r)
    else:
        for b in range(m):
            r = _SQRT5 * math.sqrt(r2[b])
            out[b] += s * (1.0 + r + r * r / 3.0) * exp(-r)


@compiled
def covariances(kind, F, f, hamming, starts, scales, m, r2, out):
    """Write to ``out[:m]`` the covariances of ``f`` with the first m points; r2 is work space."""
    for b in range(m):
        out[b] = 0.0
    for j in range(len(scales)):
        add_group(kind, F, f, hamming, starts[j], starts[j + 1], scales[j], m, r2, out)


@compiled
def powers(kind, F, hamming, falling, rising):
    """Write exp(-F) and exp(F), F in the kernel's units, of columns that are groups: (C, n) each.

    Of these, exp(-|a - b|) is the smaller of two products: a seventh of the cost of an
    exponential, which is what a sum over columns is made of. Both are 0 where it cannot be had.
    """
    root = _SQRT3 if kind == MATERN32 else _SQRT5
    for c in range(len(falling)):
        largest = 0.0
        for b in range(F.shape[1]):
            largest = max(largest, abs(F[c, b]))
        usable = kind != SE and hamming[c] == 0.0 and root * largest < 600.0  # 1e260
        for b in range(F.shape[1]):
            falling[c, b] = exp(-root * F[c, b]) if usable else 0.0
            rising[c, b] = 1.0 / falling[c, b] if usable else 0.0


@compiled
def covariances_by_column(kind, F, f, hamming, scales, falling, rising, down, up, m, r2, out):
    """Write covariances under groups of one column each; ``down`` and ``up`` are f's powers."""
    for b in range(m):
        out[b] = 0.0
    for c in range(len(scales)):
        s, x, p, q = scales[c], f[c], up[c], down[c]
        if p == 0.0 or (m > 0 and rising[c, 0] == 0.0):
            add_group(kind, F, f, hamming, c, c + 1, s, m, r2, out)
        elif kind == MATERN32:
            for b in range(m):
                r = _SQRT3 * abs(F[c, b] - x)
                out[b] += s * (1.0 + r) * min(rising[c, b] * q, falling[c, b] * p)
        else:
            for b in range(m):
                r = _SQRT5 * abs(F[c, b] - x)
                out[b] += s * (1.0 + r + r * r / 3.0) * min(rising[c, b] * q, falling[c, b] * p)


@compiled
def slopes(kind, r2, m):
    """Replace squared distances by -2 dk/d(r^2), in place."""
    if kind == SE:
        for b in range(m):
            r2[b] = exp(-0.5 * r2[b])
    elif kind == MATERN32:
        for b in range(m):
            r2[b] = 3.0 * exp(-_SQRT3 * math.sqrt(r2[b]))
    else:
        for b in range(m):
            r = _SQRT5 * math.sqrt(r2[b])
            r2[b] = (5.0 / 3.0) * (1.0 + r) * exp(-r)


def cross(kind, F, G, hamming, starts, scales, out):
    """Write the covariances of G (C, m) with F (C, n) to ``out (m, n)``."""
    fill(kind, F, G, hamming, starts, scales, False, out)


def gram(kind, F, hamming, starts, scales, out):
    """Write the covariances of F (C, n) with itself to ``out (n, n)``."""
    fill(kind, F, F, hamming, starts, scales, True, out)


@compiled
def fill(kind, F, G, hamming, starts, scales, symmetric, out):
    """Write the covariances of G (C, m) with F (C, n); where G is F, half of them are mirrored.

    Its two uses are not compiled: each would be another copy of this function, and a literal
    ``symmetric`` from compiled code one more.
    """
    n_rows, n, m = F.shape[0], F.shape[1], G.shape[1]
    f, down, up, r2 = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows), np.empty(n)
    n_powers = n_rows if len(scales) == n_rows else 0
    falling, rising = np.empty((n_powers, n)), np.empty((n_powers, n))
    falling_of_G, rising_of_G = np.empty((n_powers, m)), np.empty((n_powers, m))
    powers(kind, F, hamming, falling, rising)
    powers(kind, G, hamming, falling_of_G, rising_of_G)
    for a in range(m):
        for c in range(n_rows):
            f[c] = G[c, a]
        most = a if symmetric else n
        if n_powers == 0:
            covariances(kind, F, f, hamming, starts, scales, most, r2, out[a])
            continue
        for c in range(n_powers):
            down[c] = falling_of_G[c, a]
            up[c] = rising_of_G[c, a]
        covariances_by_column(
            kind, F, f, hamming, scales, falling, rising, down, up, most, r2, out[a]
        )
    if symmetric:
        prior = 0.0
        for j in range(len(scales)):
            prior += scales[j]
        for a in range(n):
            out[a, a] = prior
            for b in range(a):
                out[b, a] = out[a, b]


@compiled
def gram_gradient(kind, F, hamming, starts, scales, alpha, inverse, by_lengthscale, by_scale):
    """Write tr(W dK/dtheta) / 2 for the logarithms of lengthscales (C,) and scales (M,).

    W = alpha alpha^T - inverse; of ``inverse (n, n)`` only the diagonal and the lower triangle are
    read. Return tr(W).
    """
    n = F.shape[1]
    f = np.empty(F.shape[0])
    r2 = np.empty(n)
    w = np.empty(n)
    n_powers = len(f) if len(scales) == len(f) else 0
    falling, rising = np.empty((n_powers, n)), np.empty((n_powers, n))
    powers(kind, F, hamming, falling, rising)
    trace = 0.0
    for a in range(n):
        trace += alpha[a] * alpha[a] - inverse[a, a]
    for c in range(len(f)):
        by_lengthscale[c] = 0.0
    for j in range(len(scales)):
        by_scale[j] = 0.5 * trace * scales[j]
    for a in range(n):
        for c in range(len(f)):
            f[c] = F[c, a]
        for b in range(a):
            w[b] = alpha[a] * alpha[b] - inverse[a, b]
        for j in range(len(scales)):
            lo, hi = starts[j], starts[j + 1]
            s = scales[j]
            total = 0.0
            if n_powers > 0 and rising[j, 0] > 0.0:
                slope = 0.0
                x, p, q = f[j], rising[j, a], falling[j, a]
                if kind == MATERN32:
                    for b in range(a):
                        r = _SQRT3 * abs(F[j, b] - x)
                        e = w[b] * min(rising[j, b] * q, falling[j, b] * p)
                        total += (1.0 + r) * e
                        slope += r * r * e
                else:
                    for b in range(a):
                        r = _SQRT5 * abs(F[j, b] - x)
                        e = w[b] * min(rising[j, b] * q, falling[j, b] * p)
                        total += (1.0 + r + r * r / 3.0) * e
                        slope += (1.0 + r) * r * r / 3.0 * e
                by_scale[j] += s * total
                by_lengthscale[j] += s * slope
                continue
            distances(F, f, hamming, lo, hi, a, r2)
            # One exponential serves the covariance and its slope, which replaces r2.
            if kind == SE:
                for b in range(a):
                    e = s * w[b] * exp(-0.5 * r2[b])
                    total += e
                    r2[b] = e
            elif kind == MATERN32:
                for b in range(a):
                    r = _SQRT3 * math.sqrt(r2[b])
                    e = s * w[b] * exp(-r)
                    total += (1.0 + r) * e
                    r2[b] = 3.0 * e
            else:
                for b in range(a):
                    r = _SQRT5 * math.sqrt(r2[b])
                    e = s * w[b] * exp(-r)
                    total += (1.0 + r + r * r / 3.0) * e
                    r2[b] = (5.0 / 3.0) * (1.0 + r) * e
            by_scale[j] += total
            for c in range(lo, hi):
                total = 0.0
                x = f[c]
                if hamming[c] > 0.0:
                    for b in range(a):
                        total += r2[b] if F[c, b] != x else 0.0
                    total *= hamming[c]
                else:
                    for b in range(a):
                        total += r2[b] * (F[c, b] - x) ** 2
                by_lengthscale[c] += total
    return trace


@compiled
def append_rows(linv, k, n, diagonal):
    """Grow an inverse Cholesky factor by rows n, n + 1, ..., each in O(n^2).

    ``linv (N, N)`` holds the factor of the first n points; ``k (m, n + m)`` the covariances of
    the new points with all points; ``diagonal`` is their prior variance plus noise. A pivot never
    falls below 1e-10 of the diagonal, so that duplicates are legal.
    """
    l = np.empty(n + k.shape[0])
    for i in range(k.shape[0]):
        t = n + i
        pivot = diagonal
        for a in range(t):
            s = 0.0
            for b in range(a + 1):
                s += linv[a, b] * k[i, b]
            l[a] = s
            pivot -= s * s
        root = math.sqrt(max(pivot, 1e-10 * diagonal))
        row = linv[t]
        for b in range(len(row)):
            row[b] = 0.0
        for a in range(t):
            s = l[a] / root
            for b in range(a + 1):
                row[b] -= s * linv[a, b]
        row[t] = 1.0 / root
