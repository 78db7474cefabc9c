"""Expected improvements for several objectives with independent normal distributions.

What a new point adds to the dominated volume is the part of it that lies in boxes which no known
point dominates. With independent objectives the expectation of a box is a product of differences
of expected improvements, one factor per objective (Yang, Emmerich, Deutz & Bäck 2019). With many
objectives there are too many boxes. Then volume is measured along one random direction.
"""

from __future__ import annotations

import math

import numpy as np

from optuna_hdbo._jit.acquisition import upper_tail
from optuna_hdbo._jit.compile import compiled


LEAST = 1e-290
"""Expected improvements below this count as none, because their products underflow."""

TAIL = 25.0
"""Integrals end where the integrand has fallen by this many powers of e."""

_SQRT_2PI = math.sqrt(2.0 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@compiled
def hypervolume(levels, starts, low, high, means, variances, values, by_mean, by_var):
    """Write the log of the expected hypervolume improvement of points, and its derivatives.

    Parameters
    ----------
    levels : FloatArray, shape (L,)
        The coordinates of all corners, objective by objective.
    starts : IntArray, shape (k + 1,)
        Objective j owns ``levels[starts[j]:starts[j + 1]]``.
    low, high : IntArray, shape (B, k)
        The levels at which each box begins and ends; L stands for infinity.
    means, variances : FloatArray, shape (m, k)
        The distributions of the points' values.
    values : FloatArray, shape (m,)
        Receives the logarithms, at least that of :data:`LEAST`.
    by_mean, by_var : FloatArray, shape (m, k)
        Receive the derivatives of the logarithm; zeros where the improvement is below
        :data:`LEAST`.
    """
    n_boxes, n_objectives = low.shape
    last = len(levels)
    excess, tail, density = np.zeros(last + 1), np.zeros(last + 1), np.zeros(last + 1)
    for m in range(len(values)):
        for j in range(n_objectives):
            mean, std = means[m, j], math.sqrt(variances[m, j])
            for i in range(starts[j], starts[j + 1]):
                z = (mean - levels[i]) / std
                phi = math.exp(-0.5 * z * z) / _SQRT_2PI
                tail[i] = 0.5 * math.erfc(-z / math.sqrt(2.0))
                if z > -20.0:
                    excess[i] = std * max(phi + z * tail[i], 0.0)
                else:  # the terms above would cancel
                    q = 1.0 / (z * z)
                    excess[i] = std * phi * q * (1.0 - 3.0 * q + 15.0 * q * q)
                density[i] = 0.5 * phi / std
            by_mean[m, j] = 0.0
            by_var[m, j] = 0.0
        total = 0.0
        for b in range(n_boxes):
            volume = 1.0
            for j in range(n_objectives):
                volume *= excess[low[b, j]] - excess[high[b, j]]
                others = 1.0
                for i in range(n_objectives):
                    if i != j:
                        others *= excess[low[b, i]] - excess[high[b, i]]
                by_mean[m, j] += others * (tail[low[b, j]] - tail[high[b, j]])
                by_var[m, j] += others * (density[low[b, j]] - density[high[b, j]])
            total += volume
        scale = 1.0 / total if total > LEAST else 0.0
        values[m] = math.log(max(total, LEAST))
        for j in range(n_objectives):
            by_mean[m, j] *= scale
            by_var[m, j] *= scale


@compiled
def scalarised(reference, direction, best, means, variances, values, by_mean, by_var):
    """Write the log of the expected improvement along one direction, and its derivatives.

    The improvement is that of min_j (y_j - reference_j) / direction_j on ``best``. Its expectation
    is the integral, from best to infinity, of the probability that the minimum is larger, which is
    a product over the objectives.

    Parameters
    ----------
    reference, direction : FloatArray, shape (k,)
    best : float
    means, variances, values, by_mean, by_var
        As for :func:`hypervolume`.
    """
    n_objectives = len(reference)
    centre, width = np.empty(n_objectives), np.empty(n_objectives)
    breaks = np.empty(3 * n_objectives + 4)
    for m in range(len(values)):
        for j in range(n_objectives):
            centre[j] = (means[m, j] - reference[j]) / direction[j]
            width[j] = math.sqrt(variances[m, j]) / direction[j]
        first, rate = 0.0, 0.0
        end, safe = np.inf, np.inf
        for j in range(n_objectives):
            log_tail, hazard = upper_tail((best - centre[j]) / width[j])
            first += log_tail
            rate += hazard / width[j]
            end = min(end, centre[j] + 7.0 * width[j])
            safe = min(safe, centre[j] + 2.0 * width[j])
        # The integrand is log-concave: it falls at least as fast as at its beginning.
        end = min(end, best + TAIL / rate) if best < safe else best + TAIL / rate
        breaks[0] = best
        breaks[1] = min(best + 2.0 / rate, end)
        breaks[2] = min(best + 8.0 / rate, end)
        breaks[3] = end
        for j in range(n_objectives):
            for i in range(3):
                at = centre[j] + 4.0 * (i - 1.0) * width[j]
                breaks[4 + 3 * j + i] = min(max(at, best), end)
            by_mean[m, j] = 0.0
            by_var[m, j] = 0.0
        for i in range(1, len(breaks)):  # there are few, and sort() takes seconds to compile
            at, j = breaks[i], i
            while j > 0 and breaks[j - 1] > at:
                breaks[j] = breaks[j - 1]
                j -= 1
            breaks[j] = at
        total = 0.0
        for piece in range(len(breaks) - 1):
            half = 0.5 * (breaks[piece + 1] - breaks[piece])
            if half <= 0.0:
                continue
            for node in range(len(_NODES)):
                s = breaks[piece] + half * (1.0 + _NODES[node])
                log_height = -first
                for j in range(n_objectives):
                    log_height += upper_tail((s - centre[j]) / width[j])[0]
                height = half * _WEIGHTS[node] * math.exp(log_height)
                total += height
                for j in range(n_objectives):
                    z = (s - centre[j]) / width[j]
                    slope = height * upper_tail(z)[1] / (width[j] * direction[j])
                    by_mean[m, j] += slope
                    by_var[m, j] += 0.5 * slope * z / (width[j] * direction[j])
        values[m] = first + math.log(total)
        for j in range(n_objectives):
            by_mean[m, j] /= total
            by_var[m, j] /= total


@compiled
def count_dominating(Y, counts, out):
    """Write to ``out (n,)`` how many rows of Y (n, k) dominate each; larger values are better.

    Only the rows marked ``counts (n,)`` count as dominating.
    """
    n, n_objectives = Y.shape
    for i in range(n):
        found = 0
        for other in range(n):
            if not counts[other]:
                continue
            better = False
            worse = False
            for j in range(n_objectives):
                if Y[other, j] < Y[i, j]:
                    worse = True
                    break
                if Y[other, j] > Y[i, j]:
                    better = True
            if better and not worse:
                found += 1
        out[i] = found
