"""Noise: what observations are ranked by where equal points do not have equal values.

Gains on the best value decide which expert suggests the next point, whether a search has converged
and where a box is. Under noise the best observed value is a lucky one. Hardly any later value is a
gain on it, and a box around its point is in the wrong place. So observations are ranked by their
posterior means there, under the newest fit of the global expert.

A rugged objective looks noisy to a model of the whole domain, too. Points that are close together
tell the two apart: if there is no noise, they have nearly equal values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ENSEMBLE
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import finite
from optuna_hdbo.portfolio.searches import restart


FIT = f"{ENSEMBLE}:{FEW_MATTER.key}"
"""Key under which the global expert keeps its fit."""

LEAST_OBSERVATIONS = 20
"""A fit to fewer observations does not tell noise from structure."""

LEAST_SHARE, LEAST_UNTOLD_SHARE = 0.01, 0.1
"""Least share of the variance that is noise under the fit. Below it every value is believed. The
second one holds where nobody has told that the objective is noisy."""

NEAR = 0.01
"""Largest root mean square distance of two points that are close together, in shares of the
ranges. With .03, values of Rastrigin's function, with ten waves per column, seemed noisy."""

FEWEST_PAIRS, MOST_PAIRS = 8, 20
"""How many such pairs say how noisy values are. Of more of them, the closest ones count."""

LATEST = 150
"""Only so many observations are compared with each other, the latest ones: the closer a search is
to its end, the closer together are its points."""

CONFIRMED, REFUTED = 0.5, 0.25
"""The noise of close pairs, divided by that of the fit, from which on it confirms the fit, and
below which it refutes it. If the fit is right, that of 20 independent pairs is below .5 in a tenth
of all cases, and below .25 in a hundredth."""

MEDIAN_OF_SQUARE = 0.4549
"""Median of the square of a standard normal variable."""


class Ranking:
    """What observations are ranked by.

    Parameters
    ----------
    deterministic : bool or None
        Whether the objective is deterministic. If it is not, the fit is believed unless close
        pairs refute it. If that is unknown, they have to confirm it.
    """

    def __init__(self, deterministic: bool | None) -> None:
        self._deterministic = deterministic
        self._cache = FactorCache()

    def of(self, domain: Domain, seen: Observations) -> Observations:
        """Return the observations with posterior means to rank them by, if values are noisy."""
        if self._deterministic or domain.gates or len(seen.y) < LEAST_OBSERVATIONS:
            return seen
        records = [record for record in seen.records if restart.KEY not in record.data]
        groups = FEW_MATTER.groups(domain)
        fitted = recall_fit(Memory(records), FIT, domain, groups)
        if fitted is None or not self._is_noisy(fitted, seen):
            return seen
        posterior = self._cache.posterior(fitted, seen.X, seen.y, seen.pending[:0])
        ranks = posterior.fitted_values() if posterior.rows is None else posterior.mean(seen.X)
        return replace(seen, ranks=ranks)

    def _is_noisy(self, fitted: Fitted, seen: Observations) -> bool:
        is_told = self._deterministic is False
        noise = fitted.kernel.noise
        share = noise / (noise + fitted.kernel.variance)
        if share < (LEAST_SHARE if is_told else LEAST_UNTOLD_SHARE):
            return False
        # Not y: in long studies that is clipped.
        of_pairs = noise_of_close_pairs(seen.X, finite(seen.values) / seen.scale)
        if of_pairs is None:
            return is_told
        return of_pairs >= noise * (REFUTED if is_told else CONFIRMED)


def noise_of_close_pairs(X: FloatArray, y: FloatArray) -> float | None:
    """Return the variance of the noise by the closest pairs of points, None if none are close.

    Parameters
    ----------
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
    """
    X, y = X[-LATEST:], y[-LATEST:]
    squares = (X**2).sum(axis=1)
    first, second = np.triu_indices(len(X), 1)
    distances = (squares[:, None] + squares - 2.0 * X @ X.T)[first, second] / X.shape[1]
    close = np.flatnonzero(distances <= NEAR**2)
    if len(close) < FEWEST_PAIRS:
        return None
    close = close[np.argsort(distances[close], kind="stable")[:MOST_PAIRS]]
    halves = (y[first[close]] - y[second[close]]) ** 2 / 2.0
    # The median: two points on both sides of a cliff say nothing about noise.
    return float(np.median(halves)) / MEDIAN_OF_SQUARE
