"""Noise: what observations are ranked by where equal points do not have equal values.

The best observed value is a lucky one then, and hardly any later one is a gain on it. So
observations are ranked by their posterior means, under the newest fit of the global expert. A
rugged objective looks noisy, too. Where nobody has told whether values are noisy, and the fit is
in doubt, the best point is repeated: a query next to it has the same value if there is no noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ENSEMBLE
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import finite
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.searches import branches
from optuna_hdbo.portfolio.searches import restart


FIT = f"{ENSEMBLE}:{FEW_MATTER.key}"
"""Key under which the global expert keeps its fit."""

REPEATED = "repeated"
"""Key under which the record of a repeat keeps the trial whose point it repeats."""

LEAST_OBSERVATIONS = 20
"""A fit to fewer observations does not tell noise from structure."""

LEAST_UNTOLD_OBSERVATIONS, MOST_UNTOLD_OBSERVATIONS = 30, 100
"""The same where nobody has told that the objective is noisy: two observations per column, but
between these. With fewer of them every fit would be in doubt."""

LEAST_SHARE = 0.01
"""Least share of the variance that is noise under the fit. Below it every value is believed."""

DOUBTFUL_SHARE = 2e-3
"""Share from which on a fit is in doubt."""

STEP = 1e-5
"""How far a repeat is at most from the point that it repeats, in shares of the ranges."""

MOST_REPEATS, WAITING = 4, 20
"""Repeats in a study, whether they have a value or not, and how many trials a repeat is waited
for: its worker may be gone."""

EQUAL = 1e-3
"""The variance of a point's values, divided by the noise of the fit, below which they are equal
after a single repeat."""

NEAR = 0.01
"""Largest root mean square distance of two points that are close together, in shares of the
ranges."""

FEWEST_PAIRS, MOST_PAIRS = 8, 20
"""How many such pairs say how noisy values are. Of more of them, the closest ones count."""

LATEST = 150
"""Only so many observations are compared with each other, the latest ones."""

REFUTED = 0.25
"""The noise of close pairs or of repeats, divided by that of the fit, below which it refutes the
fit. If the fit is right, that of 20 independent pairs is below it in a hundredth of all cases, and
that of four repeats in a tenth."""

MEDIAN_OF_SQUARE = 0.4549
"""Median of the square of a standard normal variable."""


class Ranking:
    """What observations are ranked by.

    Parameters
    ----------
    deterministic : bool or None
        Whether the objective is deterministic. If it is not, the fit is believed unless close
        pairs refute it. If that is unknown, repeats have to confirm it.
    """

    def __init__(self, deterministic: bool | None) -> None:
        self._deterministic = deterministic
        self._cache = FactorCache()

    def of(self, domain: Domain, seen: Observations) -> tuple[Observations, bool]:
        """Return the observations, and whether a repeat would tell if they are noisy.

        If they are, they have posterior means to rank them by.
        """
        is_told = self._deterministic is False
        least = LEAST_OBSERVATIONS if is_told else least_untold(len(domain))
        # Where parameters branch, repeats did not pay.
        passed_over = self._deterministic or (domain.gates and not is_told)
        if passed_over or len(seen.y) < least:
            return seen, False
        records = seen.without(restart.KEY).without(branches.BRANCH).records
        groups = FEW_MATTER.groups(domain)
        fitted = recall_fit(Memory(records), FIT, domain, groups)
        if fitted is None:
            return seen, False
        is_noisy = _by_close_pairs(fitted, seen) if is_told else _by_repeats(fitted, seen)
        if not is_noisy:
            return seen, is_noisy is None
        posterior = self._cache.posterior(fitted, seen.X, seen.y, seen.pending[:0])
        ranks = posterior.fitted_values() if posterior.rows is None else posterior.mean(seen.X)
        return replace(seen, ranks=ranks), False


def least_untold(n_columns: int) -> int:
    """Return after how many observations a point may be repeated."""
    return min(max(2 * n_columns, LEAST_UNTOLD_OBSERVATIONS), MOST_UNTOLD_OBSERVATIONS)


def _share(fitted: Fitted) -> float:
    """Return the share of the variance that is noise."""
    return fitted.kernel.noise / (fitted.kernel.noise + fitted.kernel.variance)


def _by_close_pairs(fitted: Fitted, seen: Observations) -> bool:
    """Tell whether values are noisy, where the user says so."""
    if _share(fitted) < LEAST_SHARE:
        return False
    # Not y: in long studies that may be clipped.
    of_pairs = noise_of_close_pairs(seen.X, finite(seen.values) / seen.scale)
    return of_pairs is None or of_pairs >= REFUTED * fitted.kernel.noise


def _by_repeats(fitted: Fitted, seen: Observations) -> bool | None:
    """Tell whether values are noisy, where nobody says so; ``None`` if a repeat would tell."""
    share = _share(fitted)
    if share < DOUBTFUL_SHARE:
        return False
    of_repeats, n_repeats = noise_of_repeats(seen)
    ratio = of_repeats / fitted.kernel.noise
    if n_repeats > 1 and ratio >= REFUTED:
        return share >= LEAST_SHARE
    return None if n_repeats == 0 or ratio >= EQUAL else False


def noise_of_repeats(seen: Observations) -> tuple[float, int]:
    """Return the variance of the values of the point that was repeated last, and its repeats."""
    last = _repeated_last(seen)
    if last is None:
        return 0.0, 0
    made = [record.number for record in seen.records if record.data.get(REPEATED) == last]
    known = [seen.row_of[number] for number in (last, *made) if number in seen.row_of]
    rows = [row for row in known if not seen.pruned[row]]
    values = finite(seen.values)[rows] / seen.scale
    return (float(values.var(ddof=1)), len(rows) - 1) if len(rows) > 1 else (0.0, 0)


def noise_of_close_pairs(X: FloatArray, y: FloatArray) -> float | None:
    """Return the variance of the noise in y (n,) by the closest pairs of X (n, D), if any."""
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


def repeat(domain: Domain, seen: Observations, rng: np.random.Generator) -> Suggestion | None:
    """Return a point next to the best one, whose values are equal if there is no noise.

    The same point is repeated again. ``None`` where no column is continuous, where another repeat
    is under way, and after :data:`MOST_REPEATS`.
    """
    made = [record for record in seen.records if REPEATED in record.data]
    is_under_way = any(r.state == "running" and r.number >= seen.step - WAITING for r in made)
    if len(made) >= MOST_REPEATS or is_under_way or domain.discrete.all():
        return None
    last = _repeated_last(seen)
    row = int(np.argmax(merits(seen))) if last is None else seen.row_of[last]
    step = np.where(domain.discrete, 0.0, STEP * rng.uniform(0.5, 1.0, len(domain)))
    x = seen.X[row] + np.where(seen.X[row] < 0.5, step, -step)
    x = unknown_near(domain, domain.snap(x[None])[0], seen.known, rng)
    record = {QUERY: "repeat", REPEATED: int(seen.numbers[row])}
    return Suggestion(x, record, {QUERY: "repeat"})


def _repeated_last(seen: Observations) -> int | None:
    """Return the trial whose point was repeated last, None if there is none any more."""
    for record in reversed(seen.records):
        number = record.data.get(REPEATED)
        if type(number) is int and number in seen.row_of:
            return number
    return None
