"""Acquisition functions as a code and numbers, at a point and with their gradient.

The posterior at features ``f`` is ``mean = k . alpha`` and ``var = sum(scales) - |linv k|^2``. The
symbols are those of :mod:`optuna_hdbo._jit.kernels`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.compile import inlined
from optuna_hdbo._jit.compile import internal
from optuna_hdbo._jit.kernels import Covariance
from optuna_hdbo._jit.kernels import are_four_numerical
from optuna_hdbo._jit.kernels import covariances
from optuna_hdbo._jit.kernels import distances
from optuna_hdbo._jit.kernels import slopes


UCB, LOG_EI, MI, VARIANCE, LOG_FEASIBLE, EXCESS = 0, 1, 2, 3, 4, 5

PENALTY = 100.0
"""Factor of a squared excess; a bound of standardised values is of order 1."""

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


class Model(NamedTuple):
    """A posterior as compiled loops read it.

    Parameters
    ----------
    kernel : Covariance
    F : FloatArray, shape (C, n)
        Features of the observed and pending points.
    linv : FloatArray, shape (N, N)
        At least n rows.
    alpha : FloatArray, shape (n,)
    """

    kernel: Covariance
    F: np.ndarray
    linv: np.ndarray
    alpha: np.ndarray


class Terms(NamedTuple):
    """Several acquisitions, whose sum compiled loops climb.

    Arrays have a row for each term. Where a term has less than another one, zeros fill its row.

    Parameters
    ----------
    shapes : IntArray, shape (T, 6)
        The number of points n, of features C and of groups M, whether the features are mixtures
        of all columns, the kernel's kind, and the acquisition's code.
    columns : IntArray, shape (T, C)
        The column of each feature.
    starts : IntArray, shape (T, M + 1)
    p : FloatArray, shape (T, 2 or 3)
    scales, hamming, inverse, alpha : FloatArray, shapes (T, M), (T, C), (T, C) and (T, n)
    F, linv : FloatArray, shapes (T, C, n) and (T, n, n)
    root : FloatArray, shape (T, C, C)
        What features are of all columns, where they are mixtures.
    """

    shapes: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    p: np.ndarray
    scales: np.ndarray
    hamming: np.ndarray
    inverse: np.ndarray
    alpha: np.ndarray
    F: np.ndarray
    linv: np.ndarray
    root: np.ndarray


@inlined
def upper_tail(z):
    """Return the log probability that a standard normal exceeds z, and the density over it."""
    log_density = -0.5 * z * z - _LOG_SQRT_2PI
    if z < 20.0:
        log_tail = math.log(0.5 * math.erfc(z / math.sqrt(2.0)))
    else:  # tail = density / z (1 - 1/z^2 + 3/z^4 - ...)
        q = 1.0 / (z * z)
        log_tail = log_density - math.log(z) + math.log(1.0 - q + 3.0 * q * q)
    return log_tail, math.exp(log_density - log_tail)


@compiled
def utility(code, p, mean, var):
    """Return the acquisition value and its derivatives with respect to mean and variance.

    ``p`` by code: UCB (square root of beta, -); LOG_EI (incumbent, -); MI (square root of alpha,
    gamma, and perhaps the least number of standard deviations to add); VARIANCE (factor of the
    variance, -). Of a constraint's posterior: LOG_FEASIBLE (largest admissible value, -), the log
    probability that it holds; EXCESS (square root of beta, largest admissible value), a penalty
    where even the lower bound exceeds it.
    """
    if code == VARIANCE:
        return mean + p[0] * var, 1.0, p[0]
    std = math.sqrt(var)
    if code == MI:
        root = math.sqrt(var + p[1])
        added = p[0] * var / (root + math.sqrt(p[1]))  # no difference of nearly equal roots
        if len(p) > 2 and p[2] * std > added:
            return mean + p[2] * std, 1.0, 0.5 * p[2] / std
        return mean + added, 1.0, 0.5 * p[0] / root
    if code == UCB:
        return mean + p[0] * std, 1.0, 0.5 * p[0] / std
    if code == EXCESS:
        excess = max(mean - p[0] * std - p[1], 0.0)
        slope = -2.0 * PENALTY * excess
        return 0.5 * slope * excess, slope, -0.5 * slope * p[0] / std
    z = (mean - p[0]) / std
    if code == LOG_FEASIBLE:
        log_tail, ratio = upper_tail(z)
        return log_tail, -ratio / std, 0.5 * ratio * z / var
    log_density = -0.5 * z * z - _LOG_SQRT_2PI
    if z > -20.0:
        tail = 0.5 * math.erfc(-z / math.sqrt(2.0))
        density = math.exp(log_density)
        h = density + z * tail
        log_h = math.log(h)
        tail_ratio, density_ratio = tail / h, density / h
    else:  # h = density / z^2 (1 - 3/z^2 + 15/z^4 - ...): the terms above would cancel
        q = 1.0 / (z * z)
        series = 1.0 - 3.0 * q + 15.0 * q * q - 105.0 * q * q * q
        log_h = log_density + math.log(q * series)
        density_ratio = 1.0 / (q * series)
        tail_ratio = (1.0 - density_ratio) / z
    return log_h + math.log(std), tail_ratio / std, 0.5 * density_ratio / var


@inlined
def pull_back(kernel, F, f, w, n, r2, grad):
    """Write the derivative by f of the covariances with F (C, n), times w (n,), to ``grad (C,)``.

    ``r2 (n,)`` is work space.
    """
    kind, hamming, starts, scales = kernel.kind, kernel.hamming, kernel.starts, kernel.scales
    for j in range(len(scales)):
        lo, hi = starts[j], starts[j + 1]
        distances(F, f, hamming, lo, hi, n, r2)
        slopes(kind, r2, n)
        for b in range(n):
            r2[b] *= scales[j] * w[b]
        c = lo
        while c < hi:
            if are_four_numerical(hamming, c, hi):
                x0, x1, x2, x3 = f[c], f[c + 1], f[c + 2], f[c + 3]
                t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
                for b in range(n):
                    t0 += r2[b] * (F[c, b] - x0)
                    t1 += r2[b] * (F[c + 1, b] - x1)
                    t2 += r2[b] * (F[c + 2, b] - x2)
                    t3 += r2[b] * (F[c + 3, b] - x3)
                grad[c], grad[c + 1], grad[c + 2], grad[c + 3] = t0, t1, t2, t3
                c += 4
                continue
            total = 0.0
            if hamming[c] == 0.0:
                for b in range(n):
                    total += r2[b] * (F[c, b] - f[c])
            grad[c] = total
            c += 1


@compiled
def evaluate(model, f, code, p, work, with_gradient, grad):
    """Return the acquisition at features ``f (C,)``; write d/df to ``grad (C,)`` if asked to.

    ``work (4, n)`` is work space.
    """
    F, linv, alpha, kernel = model.F, model.linv, model.alpha, model.kernel
    kind, hamming, starts, scales = kernel.kind, kernel.hamming, kernel.starts, kernel.scales
    n = len(alpha)
    k, r2, v, w = work[0], work[1], work[2], work[3]
    covariances(kind, F, f, hamming, starts, scales, n, r2, k)
    mean = 0.0
    prior = 0.0
    explained = 0.0
    for j in range(len(scales)):
        prior += scales[j]
    for b in range(n):
        mean += k[b] * alpha[b]
    for a in range(n):
        s = 0.0
        row = linv[a]
        for b in range(a + 1):
            s += row[b] * k[b]
        v[a] = s
        explained += s * s
    floor = 1e-10 * prior
    var = max(prior - explained, floor)
    value, by_mean, by_var = utility(code, p, mean, var)
    if not with_gradient:
        return value
    if prior - explained < floor:
        by_var = 0.0
    for b in range(n):
        w[b] = by_mean * alpha[b]
    for a in range(n):
        s = 2.0 * by_var * v[a]
        row = linv[a]
        for b in range(a + 1):
            w[b] -= s * row[b]
    pull_back(kernel, F, f, w, n, r2, grad)
    return value


@internal
def mix(root, x, f):
    """Write the features ``f (C,)`` of a point, root^T x."""
    for c in range(len(f)):
        f[c] = 0.0
    for d in range(len(x)):
        for c in range(len(f)):
            f[c] += root[d, c] * x[d]


@internal
def evaluate_sum(terms, x, units, work, f, part, grad):
    """Return a sum of acquisitions at a point; write its gradient by the columns to ``grad (D,)``.

    ``x (D,)`` is the point and ``units (D,)`` are the inverse units of the gradient. ``work (4,
    n)``, ``f (D,)`` and ``part (D,)`` are work space.
    """
    full = np.bool_(True)  # a literal argument would compile the callee once more
    total = 0.0
    for c in range(len(grad)):
        grad[c] = 0.0
    for t in range(len(terms.shapes)):
        shape, columns = terms.shapes[t], terms.columns[t]
        inverse, root = terms.inverse[t], terms.root[t]
        scales, alpha = terms.scales[t, : shape[2]], terms.alpha[t, : shape[0]]
        kernel = Covariance(shape[4], terms.hamming[t], terms.starts[t], scales, inverse)
        mixes = shape[3] > 0
        if mixes:
            mix(root, x, f)
        else:
            for c in range(shape[1]):
                f[c] = x[columns[c]] * inverse[c]
        model = Model(kernel, terms.F[t], terms.linv[t], alpha)
        total += evaluate(model, f, shape[5], terms.p[t], work, full, part)
        for c in range(shape[1]):
            if mixes:
                for d in range(len(x)):
                    grad[d] += root[d, c] * part[c] / units[d]
            else:
                grad[columns[c]] += inverse[c] * part[c] / units[columns[c]]
    return total


@compiled
def evaluate_sums(terms, X, units, out, grad):
    """Write :func:`evaluate_sum` at points ``X (m, D)`` to ``out (m,)`` and ``grad (m, D)``."""
    work = np.empty((4, terms.alpha.shape[1]))
    f, part = np.empty(len(units)), np.empty(len(units))
    for i in range(len(out)):
        out[i] = evaluate_sum(terms, X[i], units, work, f, part, grad[i])


@compiled
def utilities(code, p, mean, var, out):
    """Write the acquisition values of posterior means and variances (m,) to ``out (m,)``."""
    for i in range(len(mean)):
        out[i] = utility(code, p, mean[i], var[i])[0]


@compiled
def pull_back_all(kernel, F, G, W, out):
    """Write :func:`pull_back` at features ``G (C, m)`` with weights ``W (m, n)`` to ``(m, C)``."""
    n = F.shape[1]
    f, r2 = np.empty(F.shape[0]), np.empty(n)
    for i in range(len(out)):
        for c in range(len(f)):
            f[c] = G[c, i]
        pull_back(kernel, F, f, W[i], n, r2, out[i])
