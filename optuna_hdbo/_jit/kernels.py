"""Covariances of additive kernels, their gradients, and the factor that grows by rows.

A kernel is a sum over groups of columns, ``k(x, x') = sum_j scales[j] k(r_j)``, where r_j is the
distance within group j of columns that are divided by their lengthscales.

Symbols, here and in the other compiled modules:

============== ================================================================================
C, M, n        numbers of columns in all groups, of groups, of points
a, b, c, j     indices of two points, of a column, of a group
``F, G (C,n)`` features: a row per column of the groups, end to end, divided by its lengthscale;
               the long axis is the last one, so that inner loops use vector registers
``f (C,)``     features of one point
``lo:hi``      rows of a group, ``starts[j]:starts[j + 1]``
``s``          signal variance of a group, ``scales[j]``
``r2``         squared distances within a group
``t, p, q``    a kernel is k = p(t) exp(-t), see :mod:`optuna_hdbo._jit.radial`
``linv``       inverse Cholesky factor of the noisy covariances, lower triangular
``alpha (n,)`` weights of the posterior mean, which is ``k . alpha``
============== ================================================================================
"""

# ruff: noqa: E741

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.compile import inlined
from optuna_hdbo._jit.compile import internal
from optuna_hdbo._jit.radial import MATERN32
from optuna_hdbo._jit.radial import MATERN52
from optuna_hdbo._jit.radial import SE
from optuna_hdbo._jit.radial import SQRT3
from optuna_hdbo._jit.radial import SQRT5
from optuna_hdbo._jit.radial import exp
from optuna_hdbo._jit.radial import polynomial32
from optuna_hdbo._jit.radial import polynomial52
from optuna_hdbo._jit.radial import radial


class Covariance(NamedTuple):
    """A kernel as compiled loops read it.

    Parameters
    ----------
    kind : int
        SE, MATERN32 or MATERN52.
    hamming : FloatArray, shape (C,)
        Squared distance of two unequal values where a column is categorical, 0 where it is
        numerical.
    starts : IntArray, shape (M + 1,)
    scales : FloatArray, shape (M,)
    inverse : FloatArray, shape (C,)
        Inverse lengthscales.
    """

    kind: int
    hamming: np.ndarray
    starts: np.ndarray
    scales: np.ndarray
    inverse: np.ndarray


@inlined
def are_four_numerical(hamming, c, hi):
    """Tell whether the columns c to c + 3 come before ``hi`` and are numerical.

    Loops take four such columns at once, so that ``r2`` is read and written less often.
    """
    return c + 4 <= hi and max(hamming[c], hamming[c + 1], hamming[c + 2], hamming[c + 3]) == 0.0


@internal
def distances(F, f, hamming, lo, hi, m, r2):
    """Write to ``r2[:m]`` the squared distances of ``f`` to the first m points in rows lo:hi."""
    for b in range(m):
        r2[b] = 0.0
    c = lo
    while c < hi:
        if are_four_numerical(hamming, c, hi):
            x0, x1, x2, x3 = f[c], f[c + 1], f[c + 2], f[c + 3]
            for b in range(m):
                r2[b] += (
                    (F[c, b] - x0) ** 2
                    + (F[c + 1, b] - x1) ** 2
                    + (F[c + 2, b] - x2) ** 2
                    + (F[c + 3, b] - x3) ** 2
                )
            c += 4
            continue
        x = f[c]
        w = hamming[c]
        if w > 0.0:
            for b in range(m):
                r2[b] += w if F[c, b] != x else 0.0
        else:
            for b in range(m):
                r2[b] += (F[c, b] - x) ** 2
        c += 1


@internal
def add_group(kind, F, f, hamming, lo, hi, s, m, r2, out):
    """Add to ``out[:m]`` the covariances s k(r) of the group in rows lo:hi; r2 is work space."""
    distances(F, f, hamming, lo, hi, m, r2)
    for b in range(m):
        e, p, _ = radial(kind, r2[b])
        out[b] += s * p * e


@internal
def covariances(kind, F, f, hamming, starts, scales, m, r2, out):
    """Write to ``out[:m]`` the covariances of ``f`` with the first m points; r2 is work space."""
    for b in range(m):
        out[b] = 0.0
    for j in range(len(scales)):
        add_group(kind, F, f, hamming, starts[j], starts[j + 1], scales[j], m, r2, out)


@internal
def powers(kernel, F, falling, rising):
    """Write exp(-t) and exp(t) of the features F, of columns that are groups: (C, n) each.

    With them exp(-|a - b|) is the smaller of two products. That costs a seventh of an
    exponential, and exponentials are most of the cost of a sum over columns. Both are 0 in
    columns where they would overflow, of SE kernels and in categorical columns.
    """
    factor = SQRT3 if kernel.kind == MATERN32 else SQRT5
    hamming = kernel.hamming
    for c in range(len(falling)):
        largest = 0.0
        for b in range(F.shape[1]):
            largest = max(largest, abs(F[c, b]))
        usable = kernel.kind != SE and hamming[c] == 0.0 and factor * largest < 600.0  # 1e260
        for b in range(F.shape[1]):
            falling[c, b] = exp(-factor * F[c, b]) if usable else 0.0
            rising[c, b] = 1.0 / falling[c, b] if usable else 0.0


@internal
def covariances_by_column(kind, F, f, hamming, scales, falling, rising, down, up, m, r2, out):
    """Write covariances under groups of one column each; ``down`` and ``up`` are f's powers."""
    for b in range(m):
        out[b] = 0.0
    for c in range(len(scales)):
        s, x, f_up, f_down = scales[c], f[c], up[c], down[c]
        if f_up == 0.0 or (m > 0 and rising[c, 0] == 0.0):
            add_group(kind, F, f, hamming, c, c + 1, s, m, r2, out)
        elif kind == MATERN32:
            for b in range(m):
                t = SQRT3 * abs(F[c, b] - x)
                out[b] += s * polynomial32(t) * min(rising[c, b] * f_down, falling[c, b] * f_up)
        else:
            for b in range(m):
                t = SQRT5 * abs(F[c, b] - x)
                out[b] += s * polynomial52(t) * min(rising[c, b] * f_down, falling[c, b] * f_up)


@internal
def slopes(kind, r2, m):
    """Replace squared distances by -2 dk/d(r^2), in place."""
    for b in range(m):
        e, _, q = radial(kind, r2[b])
        r2[b] = q * e


@compiled
def fill(kernel, F, G, symmetric, out):
    """Write the covariances of G (C, m) with F (C, n); where G is F, the lower triangle of them.

    It is not called from compiled code: each call there would be another copy of this function.
    """
    kind, hamming, starts, scales, _ = kernel
    n_rows, n, m = F.shape[0], F.shape[1], G.shape[1]
    f, down, up, r2 = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows), np.empty(n)
    n_powers = n_rows if len(scales) == n_rows else 0
    falling, rising = np.empty((n_powers, n)), np.empty((n_powers, n))
    falling_of_G, rising_of_G = np.empty((n_powers, m)), np.empty((n_powers, m))
    powers(kernel, F, falling, rising)
    powers(kernel, G, falling_of_G, rising_of_G)
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


@compiled
def gram_gradient(kernel, F, alpha, inverse, by_lengthscale, by_scale):
    """Write tr(W dK/dtheta) / 2 for the logarithms of lengthscales (C,) and scales (M,).

    W = alpha alpha^T - inverse; of ``inverse (n, n)`` only the diagonal and the lower triangle are
    read. Return tr(W).
    """
    kind, hamming, starts, scales, _ = kernel
    n = F.shape[1]
    f, r2, w = np.empty(F.shape[0]), np.empty(n), np.empty(n)
    n_powers = len(f) if len(scales) == len(f) else 0
    falling, rising = np.empty((n_powers, n)), np.empty((n_powers, n))
    powers(kernel, F, falling, rising)
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
            lo, hi, s = starts[j], starts[j + 1], scales[j]
            if n_powers > 0 and rising[j, 0] > 0.0:
                total, slope = 0.0, 0.0
                x, up, down = f[j], rising[j, a], falling[j, a]
                if kind == MATERN32:
                    for b in range(a):
                        t = SQRT3 * abs(F[j, b] - x)
                        g = w[b] * min(rising[j, b] * down, falling[j, b] * up)
                        total += polynomial32(t) * g
                        slope += t * t * g
                else:
                    for b in range(a):
                        t = SQRT5 * abs(F[j, b] - x)
                        g = w[b] * min(rising[j, b] * down, falling[j, b] * up)
                        total += polynomial52(t) * g
                        slope += (1.0 + t) * t * t * (1.0 / 3.0) * g
                by_scale[j] += s * total
                by_lengthscale[j] += s * slope
                continue
            distances(F, f, hamming, lo, hi, a, r2)
            by_scale[j] += weighted_slopes(kind, s, w, a, r2)
            add_weighted_distances(F, f, hamming, lo, hi, r2, a, by_lengthscale)
    return trace


@inlined
def add_weighted_distances(F, f, hamming, lo, hi, w, m, out):
    """Add to ``out[lo:hi]`` the columns' squared distances of ``f`` to m points, weighted by w."""
    c = lo
    while c < hi:
        if are_four_numerical(hamming, c, hi):
            x0, x1, x2, x3 = f[c], f[c + 1], f[c + 2], f[c + 3]
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for b in range(m):
                t0 += w[b] * (F[c, b] - x0) ** 2
                t1 += w[b] * (F[c + 1, b] - x1) ** 2
                t2 += w[b] * (F[c + 2, b] - x2) ** 2
                t3 += w[b] * (F[c + 3, b] - x3) ** 2
            out[c] += t0
            out[c + 1] += t1
            out[c + 2] += t2
            out[c + 3] += t3
            c += 4
            continue
        total = 0.0
        x = f[c]
        if hamming[c] > 0.0:
            for b in range(m):
                total += w[b] if F[c, b] != x else 0.0
            total *= hamming[c]
        else:
            for b in range(m):
                total += w[b] * (F[c, b] - x) ** 2
        out[c] += total
        c += 1


@inlined
def weighted_slopes(kind, s, w, m, r2):
    """Return the sum of ``w[:m]`` times s k(r); replace ``r2[:m]`` by w times s times the slope.

    One exponential serves the covariance and its slope. The kind is chosen here, because the
    compiler does not take the choice out of a loop in so large a function.
    """
    if kind == SE:
        return weighted_slopes_of(SE, s, w, m, r2)
    if kind == MATERN32:
        return weighted_slopes_of(MATERN32, s, w, m, r2)
    return weighted_slopes_of(MATERN52, s, w, m, r2)


@inlined
def weighted_slopes_of(kind, s, w, m, r2):
    """Do this for one kind, which is a constant."""
    total = 0.0
    for b in range(m):
        e, p, q = radial(kind, r2[b])
        g = s * w[b] * e
        total += p * g
        r2[b] = q * g
    return total


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
