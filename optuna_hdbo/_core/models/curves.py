"""What pruned trials would have come to, from what other trials reported later.

Between two steps, a line predicts later reports from earlier ones. A Gaussian process of all final
values, which knows how far predicted ones may be off, then takes out some of their errors.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg import cho_solve

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import n_settled
from optuna_hdbo._core.gp.kernel import correlation
from optuna_hdbo._core.models.isotropic import squared_distances
from optuna_hdbo._core.outputs import without_penalties


FEWEST, MOST = 4, 500
"""Trials that a slope needs, and latest trials that the Gaussian process knows."""

MOST_OF_LINE = 1000
"""Latest trials that a line is fitted to."""

SAME_UNITS = (0.1, 1.5)
"""Deviation of later values over that of reports: outside of this they are in other units."""

LENGTHSCALE = 0.2
"""In the unit cube, times the root of the number of columns."""

NOISE = 1e-3
"""Variance of known final values, where all of them have 1."""


def line(reports: FloatArray, finals: FloatArray) -> tuple[float, float, float]:
    """Return slope and intercept of final values (n,) over reports (n,), and the deviation.

    The slope is that of least squares and of three more trials with a slope of 1, or with the
    ratio of deviations where the two are in other units.
    """
    n, slope, gaps = len(reports), 1.0, reports - reports.mean()
    spread = gaps @ gaps
    if n >= FEWEST and spread > 0.0:
        ratio = finals.std() / math.sqrt(spread / n)
        unit = 1.0 if SAME_UNITS[0] <= ratio <= SAME_UNITS[1] else ratio
        slope = (n * (gaps @ finals) / spread + 3.0 * unit) / (n + 3.0)
        slope = min(max(slope, 0.0), 1.5 * unit)
    rest = finals - slope * reports
    intercept = np.median(rest)
    return slope, intercept, 1.4826 * np.median(np.abs(rest - intercept))


def floor(values: FloatArray) -> float:
    """Return what only values (n,) that are far worse than most others are below."""
    if len(values) < FEWEST:
        return -np.inf
    poor = np.quantile(values, 0.25, method="higher")
    return float(poor - 3.0 * (values.max() - poor))


def _pairs(told: FloatArray, there: BoolArray, step: int) -> tuple[FloatArray, int]:
    """Return reports at a step and at the next one, shape (k, 2), and the index of the latter.

    It is the first step at which :data:`FEWEST` of these trials reported, or else most of them.
    The steps are the rows of ``told``, and of ``there``, which tells where reports are.
    """
    best, to = np.empty(0, np.int64), step + 1
    for after in range(step + 1, len(told)):
        trials = np.flatnonzero(there[step] & there[after])
        if len(trials) > len(best):
            best, to = trials, after
        if len(best) >= FEWEST:
            break
    best = best[-MOST_OF_LINE:]
    return np.column_stack([told[step, best], told[to, best]]), to


def smoothed(
    domain: Domain, X: FloatArray, values: FloatArray, variances: FloatArray
) -> FloatArray:
    """Return the posterior means of values (n,) with errors of these variances (n,)."""
    centre, scale = np.median(values), values.std()
    if not 0.0 < scale < np.inf:
        return values
    r2 = squared_distances(domain, X) / (LENGTHSCALE**2 * domain.breadth)
    K = correlation("matern52", r2)[0]
    noise = np.minimum(variances / scale**2, 1e12) + NOISE
    factor = cho_factor(K + np.diag(noise))
    return np.asarray(centre + K @ cho_solve(factor, values - centre))


def _expected(
    domain: Domain, X: FloatArray, values: FloatArray, pruned: BoolArray, reports: FloatArray
) -> FloatArray:
    known = ~pruned & np.isfinite(values)
    if not known.any():
        return values.copy()
    usual, told = without_penalties(values[known]), np.where(np.isinf(reports), np.nan, reports)
    told = np.vstack([told.T, np.where(known, values, np.nan)])
    there = ~np.isnan(told)
    out, variances = values.copy(), np.zeros(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        n_steps, spread = reports.shape[1], usual.var()
        last = np.where(pruned, n_steps - 1 - np.argmax(there[-2::-1], axis=0), -1)
        ends = [(1.0, 0.0, 0.0)] * (n_steps + 1)  # lines from each step to the final values
        for step in reversed(range(n_steps)):
            pairs, to = _pairs(told, there, step)
            slope, intercept, variance = 1.0, 0.0, spread
            if len(pairs):
                slope, intercept, error = line(*pairs[pairs[:, 1] >= floor(pairs[:, 1])].T)
                variance = error * error if len(pairs) >= FEWEST else variance
            a, b, more = ends[to]
            ends[step] = a * slope, a * intercept + b, a * a * variance + more
            here = last == step
            out[here] = ends[step][0] * values[here] + ends[step][1]
            variances[here] = ends[step][2]
        out = np.where(np.isfinite(out), out, values)
        out[pruned] = out[pruned].clip(max=usual.max())
        least, use = floor(usual), np.flatnonzero(pruned | (out >= usual.min()))[-MOST:]
        if known.sum() >= FEWEST and np.isfinite(variances).all() and np.isfinite(least):
            means = smoothed(domain, X[use], out[use].clip(least, usual.max()), variances[use])
            here = pruned[use] & (out[use] >= least)
            out[use[here]] = means[here].clip(max=usual.max())
    return out


def final_values(
    domain: Domain, X: FloatArray, values: FloatArray, pruned: BoolArray, reports: FloatArray
) -> FloatArray:
    """Return values (n,), those of pruned trials as if they had been completed.

    None is better than the best completed trial. Without any, last reports count. Trials that are
    far worse than most others do not count for others.

    Parameters
    ----------
    X : FloatArray, shape (n, D)
    values : FloatArray, shape (n,)
        Larger is better; last reports of pruned trials.
    pruned : BoolArray, shape (n,)
    reports : FloatArray, shape (n, S)
        At the steps at which trials were pruned, ascending. NaN where there is none.
    """
    out = _expected(domain, X, values, pruned, reports)
    # Most values stay for a while, and with them what is fitted to them.
    n = n_settled(len(values))
    out[:n] = _expected(domain, X[:n], values[:n], pruned[:n], reports[:n])
    return out
