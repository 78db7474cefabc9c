"""Constraints: how feasibility changes rankings, incumbents and acquisition functions.

Bounds stay optimistic: the objective's upper bound is maximised where every constraint's lower
bound admits it. Expected improvements are weighted by the probability of feasibility (Gardner et
al. 2014), and as long as nothing feasible is known, that probability alone is maximised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import Sum
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.memory import TOWARDS
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import N_FIRST
from optuna_hdbo._core.outputs import are_skewed
from optuna_hdbo._core.outputs import standardise


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The constraints as they are known when a point is suggested.

    Parameters
    ----------
    merit : FloatArray, shape (n,)
        Ranking of the observations: their value where they are feasible. Infeasible ones rank
        below all of these, the smallest violation first.
    feasible : BoolArray, shape (n,)
        The observations that an improvement is measured against.
    constraints : sequence of (Posterior, float)
        Posterior of each constraint, in units of its standard deviation, and the largest
        admissible value.
    """

    merit: FloatArray
    feasible: BoolArray
    constraints: Sequence[tuple[Posterior, float]] = ()

    def optimistic(self, posterior: Posterior, root_beta: float) -> Acquisition:
        """Return the upper bound, penalised where a constraint's lower bound forbids a point."""
        return self.admitted(Analytic.ucb(posterior, root_beta), root_beta)

    def admitted(self, bound: Analytic, root_beta: float) -> Acquisition:
        """Return any bound, penalised where a constraint's lower bound forbids a point."""
        if not self.constraints:
            return bound
        penalties = [Analytic.excess(c, root_beta, most) for c, most in self.constraints]
        return Sum([bound, *penalties])

    def modelled(self, posterior: Posterior) -> BoolArray:
        """Mark the feasible ones among the observations that a posterior is given."""
        return self.feasible if posterior.rows is None else self.feasible[posterior.rows]

    def incumbent(self, posterior: Posterior) -> float | None:
        """Return the largest posterior mean at a feasible point, None while there is none.

        The best observed value would be the luckiest one where observations are noisy, and where
        the process takes for noise what it cannot explain. Pending points that should be feasible
        count as well. Else one that is expected to be an improvement would be asked for again.
        """
        modelled = self.modelled(posterior)
        if modelled.any():
            best = float(posterior.fitted_values()[modelled].max())
            return self.or_pending(best, posterior)
        return float(self.merit[self.feasible].max()) if self.feasible.any() else None

    def or_pending(
        self,
        best: float,
        posterior: Posterior,
        counts: Callable[[FloatArray], BoolArray] | None = None,
    ) -> float:
        """Return a value or, where it is larger, what is expected at a pending point.

        Only pending points that should be feasible count, and for which ``counts`` is true.
        """
        pending = self.admissible(posterior.X[len(posterior.y) :])
        if counts is not None:
            pending = pending[counts(pending)]
        return max(best, float(posterior.mean(pending).max())) if len(pending) else best

    def admissible(self, X: FloatArray) -> FloatArray:
        """Return those of some points (m, D) that should be feasible, by the posterior means."""
        for constraint, most in self.constraints:
            X = X[constraint.mean(X) <= most] if len(X) else X
        return X

    def improvement(self, posterior: Posterior, incumbent: float | None = None) -> Acquisition:
        """Return log (expected improvement x probability of feasibility).

        The improvement is on ``incumbent`` or, without one, on :meth:`incumbent`.
        """
        incumbent = self.incumbent(posterior) if incumbent is None else incumbent
        if incumbent is None:
            return Sum(self.terms)
        improvement = Analytic.log_ei(posterior, incumbent)
        return Sum([improvement, *self.terms]) if self.constraints else improvement

    @property
    def terms(self) -> list[Analytic]:
        """The log probability of feasibility of each constraint."""
        return [Analytic.log_feasible(c, most) for c, most in self.constraints]


TIE = 1e-7
"""By how much values rank equal violations, which are in standard deviations, at most."""

SPANS = 30.0
"""Largest of the violations among the first values of a constraint that spans magnitudes, in
multiples of their median. There are :data:`optuna_hdbo._core.outputs.N_FIRST` such values."""


def finite_constraints(seen: Observations) -> FloatArray:
    """Return the constraints' values (n, C) as they are modelled, NaN where there is none."""
    told = _finite(seen)
    return compressed(told, _units(told))


def compressed_like(seen: Observations, values: FloatArray) -> FloatArray:
    """Return further values (m, C) of the constraints as they are modelled."""
    return compressed(np.clip(values, -1e300, 1e300), _units(_finite(seen)))


def compressed(values: FloatArray, units: FloatArray) -> FloatArray:
    """Return values (m, C), by their magnitudes in units (C,) where these are finite."""
    known = np.isfinite(units)
    if not known.any():
        return values
    with np.errstate(over="ignore"):
        ratios = np.clip(values / np.where(known, units, 1.0), -1e300, 1e300)
    return np.asarray(np.where(known, np.arcsinh(ratios), values), np.float64)


def _units(told: FloatArray) -> FloatArray:
    """Return from where on values (n, C) of each constraint count by magnitude; inf for none.

    Where violations far from the border are much larger than others, values on both sides of it
    would look alike.
    """
    units = np.full(told.shape[1], np.inf)
    # All together first: rankings ask for this often, and most constraints span little.
    early = told if np.isnan(told).any() else told[:N_FIRST]
    most = np.where(early > 0.0, early, 0.0).max(axis=0, initial=0.0)
    least = np.where(early > 0.0, early, np.inf).min(axis=0, initial=np.inf)
    for j in np.flatnonzero(most / SPANS > least).tolist():
        column = told[:, j]
        known = column[~np.isnan(column)]
        first = known[:N_FIRST]
        first = first[first > 0.0]
        if len(first) and first.max() / SPANS > np.median(first):
            # A power of two stays the same for a while.
            units[j] = 2.0 ** math.floor(math.log2(np.quantile(np.abs(known[known != 0.0]), 0.1)))
    return units


def _finite(seen: Observations) -> FloatArray:
    """Return the constraints' values (n, C), NaN where a trial reported none.

    Infinite ones are beyond the finite ones, by as much as 0 and these are apart.
    """
    told = np.clip(seen.constraints, -1e300, 1e300)  # sums of these are still floats
    if not np.isinf(seen.constraints).any():
        return np.asarray(told, np.float64)
    known = np.where(np.isfinite(seen.constraints), told, 0.0)
    low, high = known.min(axis=0, initial=0.0), known.max(axis=0, initial=0.0)
    reach = np.where(high > low, high - low, 1.0)
    told = np.where(seen.constraints == np.inf, high + reach, told)
    told = np.where(seen.constraints == -np.inf, low - reach, told)
    return np.asarray(np.clip(told, -1e300, 1e300), np.float64)


def merits(seen: Observations) -> FloatArray:
    """Return the ranking of the observations, shape (n,); see :class:`Feasibility`.

    Of equal violations those with better values rank higher, by little: all may be 1 where a
    constraint does not hold. Points outside of the domain rank below all others.
    """
    rank = seen.y if seen.ranks is None else seen.ranks
    if not len(rank):  # as while the first point of a search is under way
        return rank
    if seen.constraints.shape[1]:
        violation = violations(seen)
        worse = rank.min() - 1.0 - np.minimum(violation, 1e6)
        _, same, n_same = np.unique(violation, return_inverse=True, return_counts=True)
        tied = (violation > 0.0) & (n_same[same] > 1)
        worse += TIE * tied * np.argsort(np.argsort(rank, kind="stable")) / len(rank)
        rank = np.where(violation <= 0.0, rank, worse)
    return rank if seen.outside is None else np.where(seen.outside, rank.min() - 1.0, rank)


def violations(seen: Observations) -> FloatArray:
    """Return the sum of all violations, each in standard deviations of its constraint, (n,)."""
    violation = np.zeros(len(seen.X))
    for column in finite_constraints(seen).T:
        told = ~np.isnan(column)
        _, _, scale = standardise(column[told])
        violation[told] += np.maximum(column[told], 0.0) / scale
    return violation


def rejecting(seen: Observations) -> Observations:
    """Return observations for methods that compare values without a model of constraints.

    Infeasible points get the value -inf. While no point is feasible, all values are minus the sum
    of the violations, so that the search moves towards feasible points. Where failures depend on
    the point, failed points are observations with the value -inf, too.
    """
    if not seen.constraints.shape[1]:
        return with_failed(seen)
    violation = np.nan_to_num(np.maximum(finite_constraints(seen), 0.0)).sum(axis=1)
    if not (violation <= 0.0).any():
        return with_failed(replace(seen, values=-violation))
    return with_failed(replace(seen, values=np.where(violation <= 0.0, seen.values, -np.inf)))


def with_failed(seen: Observations) -> Observations:
    """Return observations that have the failed points among them, if failures depend on those."""
    failures = seen.failures
    if failures is None or not failures.are_elsewhere:
        return seen
    n = len(failures.X)
    numbers = np.concatenate([seen.numbers, failures.numbers])
    order = np.argsort(numbers)
    constraints = np.full((n, seen.constraints.shape[1]), np.nan)
    return replace(
        seen,
        X=np.concatenate([seen.X, failures.X])[order],
        values=np.concatenate([seen.values, np.full(n, -np.inf)])[order],
        numbers=numbers[order],
        pruned=np.concatenate([seen.pruned, np.zeros(n, np.bool_)])[order],
        constraints=np.concatenate([seen.constraints, constraints])[order],
        failures=None,
    )


def towards_feasible(seen: Observations) -> tuple[Observations, bool]:
    """Return what a search with several objectives sees, and whether it is for a feasible point.

    While none is known, :func:`violations` are the only objective. In every second trial the
    constraints are there as well, and their models say where they may be met. Each of the two
    searches sees its own records only.
    """
    told = ~np.isnan(seen.constraints).all(axis=1)
    is_one = bool(told.any()) and not (seen.feasible & told).any()
    if not is_one:
        return seen.without(TOWARDS), False
    records = [record for record in seen.records if TOWARDS in record.data]
    # What told nothing has no value, but nobody is to be asked there again.
    pending = np.concatenate([seen.pending, seen.X[~told]])
    seen = seen.at(np.flatnonzero(told))
    values = -violations(seen)
    constraints = np.empty((len(values), 0)) if seen.step % 2 else seen.constraints
    skewed = are_skewed(values)
    seen = replace(seen, values=values, constraints=constraints, pending=pending, skewed=skewed)
    return replace(seen, records=records, sign=-1.0, objectives=None), True
