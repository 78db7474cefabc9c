"""Noise: what observations are ranked by where equal points do not have equal values.

The best observed value is a lucky one then, and hardly any later one is a gain on it. So
observations are ranked by their posterior means, under the newest fit of the global expert. A
rugged objective looks noisy, too. Where nobody has told whether values are noisy, and the fit is
in doubt, the best point is repeated: a query next to it has the same value if there is no noise.

A value may also be far too good by a mishap, and no later one comes near it. Its repeats agree
with each other, but not with it. Then it counts as a failed trial.
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
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.outputs import finite
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio.outliers import parsed
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

LUCKY = "lucky"
"""Key under which a record keeps the trials whose values their repeats refute."""

AGREEING, FEWEST_AGREEING = 0.1, 3
"""So many repeats refute a value if they span at most this share of its distance to the best of
them. Two of the best of 30 normal values do so in a tenth of all cases, three in a hundredth."""

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
    if share < DOUBTFUL_SHARE and not _is_suspect(seen):
        return False
    of_repeats, n_repeats = noise_of_repeats(seen)
    ratio = of_repeats / fitted.kernel.noise
    if n_repeats > 1 and ratio >= REFUTED:
        if n_repeats < FEWEST_AGREEING and _agree(*_of_repeats(seen, _repeated_last(seen))):
            return None  # another one may refute the value
        return share >= LEAST_SHARE
    return None if n_repeats == 0 or ratio >= EQUAL else False


def noise_of_repeats(seen: Observations) -> tuple[float, int]:
    """Return the variance of the values of the point that was repeated last, and its repeats."""
    value, again = _of_repeats(seen, _repeated_last(seen))
    values = np.append(value, again) / seen.scale
    return (float(values.var(ddof=1)), len(again)) if len(again) else (0.0, 0)


def _of_repeats(seen: Observations, number: int | None) -> tuple[float, FloatArray]:
    """Return the value of a trial, and those of its repeats."""
    if number is None:
        return 0.0, seen.values[:0]
    made = [record.number for record in seen.records if _repeated(record) == number]
    known = [seen.row_of[n] for n in (number, *made) if n in seen.row_of]
    values = finite(seen.values)[[row for row in known if not seen.pruned[row]]]
    return (float(values[0]), values[1:]) if len(values) else (0.0, values)


def _agree(value: float, again: FloatArray) -> bool:
    """Tell whether repeats (n,) are alike beside their distance to a value better than all."""
    gap = value - float(again.max())
    return gap > 0.0 and float(np.ptp(again)) <= AGREEING * gap


def without_refuted(domain: Domain, seen: Observations, memory: Memory) -> Observations:
    """Return the observations in which values that their repeats refute count as failed trials.

    Such a value is far better than all of its repeats, which agree with each other.
    """
    told = sorted({number for r in _made(seen) if (number := _repeated(r)) is not None})
    of_all = {number: _of_repeats(seen, number) for number in told}
    refuted = [
        number
        for number, (value, again) in of_all.items()
        if len(again) >= FEWEST_AGREEING and _agree(value, again)
    ]
    if not refuted:
        return seen
    _, noted = memory.recall(LUCKY, parsed) or (0, [])
    if noted != refuted:
        memory.keep(LUCKY, {"n": len(seen.values), "numbers": refuted})
    return seen.with_failures(domain, {}, np.isin(seen.numbers, refuted))


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
    made = _made(seen)
    is_under_way = any(r.state == "running" and r.number >= seen.step - WAITING for r in made)
    if is_under_way or domain.discrete.all():
        return None
    last = _repeated_last(seen)
    row = int(np.argmax(merits(seen))) if last is None else seen.row_of[last]
    number = int(seen.numbers[row])
    n_made = sum(_repeated(record) == number for record in made)
    if (n_made if _some_refuted(seen) else len(made)) >= MOST_REPEATS:
        return None
    step = np.where(domain.discrete, 0.0, STEP * rng.uniform(0.5, 1.0, len(domain)))
    best = seen.X[row]
    # At last on the other side: the best value may be that of the end of a step.
    outward = (n_made == FEWEST_AGREEING - 1) & (best > STEP) & (best < 1.0 - STEP)
    x = best + np.where((best < 0.5) != outward, step, -step)
    x = unknown_near(domain, domain.snap(x[None])[0], seen.known, rng)
    record = {QUERY: "repeat", REPEATED: number}
    return Suggestion(x, record, {QUERY: "repeat"})


def _made(seen: Observations) -> list[Record]:
    """Return the records of the repeats of trials whose values are not refuted."""
    return [record for record in seen.records if _repeated(record) in seen.row_of]


def _repeated(record: Record) -> int | None:
    """Return the trial that a query repeats, None if it repeats none."""
    number = record.data.get(REPEATED)
    return number if type(number) is int else None


def _repeated_last(seen: Observations) -> int | None:
    """Return the trial whose point was repeated last, None if there is none any more.

    None as well where the best value is suspect: its own repeats have to be made.
    """
    made = _made(seen)
    return None if not made or _is_suspect(seen) else _repeated(made[-1])


def _some_refuted(seen: Observations) -> bool:
    """Tell whether trials were repeated whose values are left out now."""
    return any(REPEATED in r.data and _repeated(r) not in seen.row_of for r in seen.records)


def _is_suspect(seen: Observations) -> bool:
    """Tell whether the best value may be one more that repeats refute.

    Some were refuted, it has no repeats yet, and it stands out: the second best one is nearer to
    the median than to it.
    """
    if not _some_refuted(seen):
        return False
    merit = merits(seen)
    best = int(seen.numbers[int(np.argmax(merit))])
    if any(_repeated(record) == best for record in _made(seen)):
        return False
    ordered = np.sort(merit)
    return bool(ordered[-1] - ordered[-2] > ordered[-2] - np.median(merit))
