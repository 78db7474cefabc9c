"""Outliers: values that are far too poor, as where a training diverges for some seeds.

A few of them spoil a model, which takes them for noise or short lengthscales. They are found by a
robust fit, which leaves out what is far below a smooth fit, and takes back what it explains. If
the likelihood without them is much larger, they count as failed trials. So no model sees them, and
if they are elsewhere than the others, as behind a cliff, models avoid that place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fit import Tie
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import has_passed
from optuna_hdbo._core.gp.fitted import until_due
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.memory import is_count
from optuna_hdbo._core.models.ensemble import plain_model
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import N_FIRST
from optuna_hdbo._core.outputs import normalised
from optuna_hdbo.portfolio.experts import MOST_MODELLED_COLUMNS
from optuna_hdbo.portfolio.steps import LEAST_REPEATED
from optuna_hdbo.portfolio.steps import repeated


KEY = "outliers"
"""Key under which a record keeps the outliers."""

GROWTH, GROWTH_WITH_SOME = 0.08, 0.03
"""Share of new observations after which outliers are searched for again, if there were none, and
if there were some."""

LEAST_OBSERVATIONS, MOST_SEARCHED = 25, 200
"""Fewer observations do not tell an outlier from a function. Only so many are searched, the last
ones. Earlier outliers stay such."""

SMOOTH_NOISE = 0.1
"""Least noise of the smooth fit, which has one lengthscale, for values of deviation 1."""

SUSPECT = 2.2
"""How many deviations a value has to be below the smooth fit, given all others, for a search."""

BELOW, MOST_BELOW = 1.0, 0.4
"""The robust fit begins without values that are so far below the smooth one, but with at most this
share left out."""

KEPT, TAKEN_BACK = 3.5, 2.5
"""From how far below the robust fit on a value is left out, and up to where it is taken back."""

FIRST_STEPS, STEPS, N_FITS = 15, 8, 4
"""Steps of the first robust fit and of later ones, and how many there are at most."""

DEFAULT_BOUNDS = Bounds()

EXPECTED = 0.05
"""Share of outliers that is expected beforehand."""

GAIN = 8.0
"""By how much the log likelihood has to be larger without the outliers."""


def without_outliers(domain: Domain, seen: Observations, memory: Memory) -> Observations:
    """Return the observations in which outliers count as failed trials.

    Only values that are worse than the best of the first ones, of random points, may be outliers,
    and not those of pruned trials. Between two searches they are recalled. There are none where
    columns are too many to be modelled, or where values repeat: they jump from point to point
    then.
    """
    n = len(seen.values)
    if n < LEAST_OBSERVATIONS or len(domain) > MOST_MODELLED_COLUMNS:
        return seen
    if repeated(seen) >= LEAST_REPEATED:
        return seen
    n_searched, numbers = memory.recall(KEY, parsed) or (0, [])
    growth = GROWTH_WITH_SOME if numbers else GROWTH
    if has_passed(n_searched, n, until_due(n_searched, growth)):
        late = seen.at(np.arange(max(0, n - MOST_SEARCHED), n))
        numbers = [number for number in numbers if number < late.numbers[0]]
        poor = late.values < seen.values[:N_FIRST].max()
        numbers += late.numbers[outliers(domain, late, poor & ~late.pruned)].tolist()
        memory.keep(KEY, {"n": n, "numbers": numbers})
    lost = np.isin(seen.numbers, numbers)
    # A record may say that all values are outliers.
    return seen.with_failures(domain, {}, lost) if 0.0 < lost.mean() <= MOST_BELOW else seen


def parsed(data: Any) -> tuple[int, list[int]] | None:
    """Return how many observations a record's search had, and the numbers of the outliers."""
    if not isinstance(data, Mapping) or not isinstance(data.get("numbers"), list):
        return None
    counts = [data.get("n"), *data["numbers"]]
    return (data["n"], data["numbers"]) if all(map(is_count, counts)) else None


def outliers(domain: Domain, seen: Observations, poor: BoolArray) -> BoolArray:
    """Mark the outliers among the ``poor (n,)`` values, shape (n,)."""
    y = normalised(seen.modelled_values, skewed=seen.skewed)
    return _Robust(domain, seen.X, y, poor).left_out()


class _Robust:
    """A fit to points X (n, D) and values y (n,) that may leave out the ``poor (n,)``."""

    def __init__(self, domain: Domain, X: FloatArray, y: FloatArray, poor: BoolArray) -> None:
        self.X, self.y, self.poor = X, y, poor
        self.cold, self.prior = plain_model(domain, SMOOTH_NOISE)

    def left_out(self) -> BoolArray:
        """Mark what the likeliest robust fit leaves out, nothing if all values are likelier."""
        every = np.ones(len(self.y), np.bool_)
        smooth, _ = self._fitted(
            every, self.cold, STEPS, "all", replace(DEFAULT_BOUNDS, noise=(SMOOTH_NOISE, 1.0))
        )
        below = self._below(every, smooth)
        if below.max() < SUSPECT:
            return ~every
        least = np.quantile(below, 1.0 - MOST_BELOW)
        kept = below <= max(BELOW, float(least))
        best, best_score, kernel = every, -math.inf, self.cold
        for i in range(N_FITS):
            kernel, likelihood = self._fitted(kept, kernel, STEPS if i else FIRST_STEPS)
            score = likelihood + self._of_others(~kept)
            if score > best_score:
                best, best_score = kept, score
            before, below = kept, self._below(kept, kernel)
            kept = below < np.where(kept, KEPT, TAKEN_BACK)
            if np.array_equal(kept, before) or kept.mean() < 1.0 - MOST_BELOW:
                break
        if best.all():
            return ~every
        for start in (self.cold, kernel):
            if best_score < self._fitted(every, start, FIRST_STEPS)[1] + GAIN:
                return ~every
        return ~best

    def _fitted(
        self,
        kept: BoolArray,
        start: Kernel,
        n_steps: int,
        lengthscales: Tie = "column",
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> tuple[Kernel, float]:
        return fit(
            self.cold,
            np.ascontiguousarray(self.X[kept]),
            self.y[kept],
            prior=self.prior,
            bounds=bounds,
            lengthscales=lengthscales,
            scales="all",
            starts=[start],
            n_steps=n_steps,
        )

    def _below(self, kept: BoolArray, kernel: Kernel) -> FloatArray:
        """Return how many deviations values are below the fit to all others that are kept."""
        posterior = Posterior(Factor(kernel, np.ascontiguousarray(self.X[kept])), self.y[kept])
        errors, inverse = posterior.left_out()
        below = np.empty(len(self.y))
        below[kept] = -errors * np.sqrt(inverse)
        if not kept.all():
            mean, variance = posterior.predict(np.ascontiguousarray(self.X[~kept]))
            below[~kept] = (mean - self.y[~kept]) / np.sqrt(variance + kernel.noise)
        return np.where(self.poor, below, 0.0)

    def _of_others(self, others: BoolArray) -> float:
        """Return the log likelihood of values (m,) left out, and of having picked them.

        They are normal, as all values are. Their share has a Beta(1, 1 / EXPECTED - 1) prior.
        """
        y, n, b = self.y[others], len(others), 1.0 / EXPECTED - 1.0
        m = len(y)
        picked = math.lgamma(m + 1) + math.lgamma(n - m + b) - math.lgamma(n + 1 + b)
        picked -= math.lgamma(b) - math.lgamma(1 + b)
        return picked - 0.5 * (float(y @ y) + m * math.log(2.0 * math.pi))
