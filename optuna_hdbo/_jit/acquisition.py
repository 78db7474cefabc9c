"""Acquisition functions as a code and numbers, at a point and with their gradient.

A *model* is what the loops need of a posterior, in this order: ``kind, F, hamming, starts,
scales, linv, alpha`` (see :mod:`optuna_hdbo._jit.kernels`); the posterior at features ``f`` is
``mean = k . alpha`` and ``var = sum(scales) - |linv k|^2``.
"""

from __future__ import annotations

import math

import numpy as np

from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.kernels import covariances
from optuna_hdbo._jit.kernels import distances
from optuna_hdbo._jit.kernels import slopes


UCB, LOG_EI, MI, VARIANCE, LOG_FEASIBLE, EXCESS = 0, 1, 2, 3, 4, 5

PENALTY = 100.0
"""Of a squared excess; a bound of standardised values is of order 1."""

FIRST_STEP = 0.2
"""Lengthscales that a climb's first step is long."""

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


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
    log_density = -0.5 * z * z - _LOG_SQRT_2PI
    if code == LOG_FEASIBLE:
        if z < 20.0:
            log_tail = math.log(0.5 * math.erfc(z / math.sqrt(2.0)))
        else:  # tail = density / z (1 - 1/z^2 + 3/z^4 - ...)
            q = 1.0 / (z * z)
            log_tail = log_density - math.log(z) + math.log(1.0 - q + 3.0 * q * q)
        ratio = math.exp(log_density - log_tail)
        return log_tail, -ratio / std, 0.5 * ratio * z / var
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


@compiled
def evaluate(kind, F, hamming, starts, scales, linv, alpha, f, code, p, work, with_gradient, grad):
    """Return the acquisition at features ``f (C,)``; write d/df to ``grad (C,)`` if asked to.

    ``work (4, n)`` is work space.
    """
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
    for j in range(len(scales)):
        lo, hi = starts[j], starts[j + 1]
        distances(F, f, hamming, lo, hi, n, r2)
        slopes(kind, r2, n)
        for b in range(n):
            r2[b] *= scales[j] * w[b]
        for c in range(lo, hi):
            total = 0.0
            if hamming[c] == 0.0:
                for b in range(n):
                    total += r2[b] * (F[c, b] - f[c])
            grad[c] = total
    return value


@compiled
def ascend(kind, F, hamming, starts, scales, linv, alpha, inverse, free, code, p, x, n_steps, tol):
    """Climb from every row of ``x (S, C)``, in place, and return the values reached (S,).

    Projected L-BFGS within [0, 1]: coordinates at a bound that the gradient pushes outwards are
    held, the others follow the two-loop direction and are clipped, so that bounds are reached
    exactly. Steps and gradients are in units of the lengthscales, in which the function varies
    alike in every direction. ``inverse (C,)`` are inverse lengthscales; ``free (C,)`` marks what
    may move; a climb ends where no component of the gradient exceeds ``tol`` or a step gains less
    than a hundredth of it.
    """
    n_columns = x.shape[1]
    memory = 8
    work = np.empty((4, len(alpha)))
    f = np.empty(n_columns)
    grad, new_grad = np.empty(n_columns), np.empty(n_columns)
    here, there, step = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    ds, dg = np.empty((memory, n_columns)), np.empty((memory, n_columns))
    rho, gain = np.empty(memory), np.empty(memory)
    values = np.empty(x.shape[0])
    full = np.bool_(True)  # a literal argument would compile the callee once more
    for i in range(x.shape[0]):
        for c in range(n_columns):  # loops: numba compiles array assignment for a second
            here[c] = x[i, c]
            f[c] = here[c] * inverse[c]
        value = evaluate(
            kind, F, hamming, starts, scales, linv, alpha, f, code, p, work, full, grad
        )
        stored = np.int64(0)  # no literal, as above
        for _ in range(n_steps):
            largest = 0.0
            for c in range(n_columns):
                stuck = (here[c] <= 0.0 and grad[c] < 0.0) or (here[c] >= 1.0 and grad[c] > 0.0)
                step[c] = 0.0 if stuck or not free[c] else grad[c]
                largest = max(largest, abs(step[c]))
            if not largest > tol:
                break
            ascent = 0.0
            if stored > 0:
                ascent = two_loop(ds, dg, rho, gain, stored, grad, here, free, step)
            if not ascent > 0.0:
                stored = 0
                ascent = 0.0
                for c in range(n_columns):
                    stuck = (here[c] <= 0.0 and grad[c] < 0.0) or (
                        here[c] >= 1.0 and grad[c] > 0.0
                    )
                    step[c] = 0.0 if stuck or not free[c] else FIRST_STEP * grad[c] / largest
            length = 1.0
            improved = False
            for _ in range(20):
                moved = 0.0
                promised = 0.0
                for c in range(n_columns):
                    there[c] = here[c]
                    if free[c]:  # the others may hold the number of a choice, outside [0, 1]
                        there[c] = min(max(here[c] + length * step[c] / inverse[c], 0.0), 1.0)
                    moved = max(moved, abs(there[c] - here[c]))
                    promised += grad[c] * (there[c] - here[c]) * inverse[c]
                    f[c] = there[c] * inverse[c]
                if moved < 1e-12:
                    break
                new_value = evaluate(
                    kind, F, hamming, starts, scales, linv, alpha, f, code, p, work, full, new_grad
                )
                if new_value >= value + 1e-4 * promised and promised > 0.0:
                    improved = True
                    break
                length *= 0.3
            if not improved:
                if stored == 0:
                    break
                stored = 0
                continue
            slot = stored % memory
            curvature = 0.0
            for c in range(n_columns):
                ds[slot, c] = (there[c] - here[c]) * inverse[c]
                dg[slot, c] = grad[c] - new_grad[c]
                curvature += ds[slot, c] * dg[slot, c]
            if curvature > 1e-14:
                rho[slot] = 1.0 / curvature
                stored += 1
            else:
                stored = 0
            change = new_value - value
            value = new_value
            for c in range(n_columns):
                here[c] = there[c]
                grad[c] = new_grad[c]
            if change < 0.01 * tol * max(1.0, abs(value)):
                break
        for c in range(n_columns):
            x[i, c] = here[c]
        values[i] = value
    return values


@compiled
def two_loop(ds, dg, rho, gain, stored, grad, here, free, step):
    """Turn the projected gradient in ``step`` into the L-BFGS direction; return its ascent."""
    memory, n_columns = ds.shape
    first = max(0, stored - memory)
    for q in range(stored - 1, first - 1, -1):
        slot = q % memory
        total = 0.0
        for c in range(n_columns):
            total += ds[slot, c] * step[c]
        gain[slot] = rho[slot] * total
        for c in range(n_columns):
            step[c] -= gain[slot] * dg[slot, c]
    slot = (stored - 1) % memory
    total = 0.0
    for c in range(n_columns):
        total += dg[slot, c] ** 2
    for c in range(n_columns):
        step[c] /= rho[slot] * total
    for q in range(first, stored):
        slot = q % memory
        total = 0.0
        for c in range(n_columns):
            total += dg[slot, c] * step[c]
        for c in range(n_columns):
            step[c] += (gain[slot] - rho[slot] * total) * ds[slot, c]
    ascent = 0.0
    for c in range(n_columns):
        stuck = (here[c] <= 0.0 and grad[c] < 0.0) or (here[c] >= 1.0 and grad[c] > 0.0)
        if stuck or not free[c]:
            step[c] = 0.0
        ascent += step[c] * grad[c]
    return ascent


@compiled
def utilities(code, p, mean, var, out):
    """Write the acquisition values of posterior means and variances (m,) to ``out (m,)``."""
    for i in range(len(mean)):
        out[i] = utility(code, p, mean[i], var[i])[0]
