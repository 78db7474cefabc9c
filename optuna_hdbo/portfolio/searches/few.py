"""Short local searches of the few columns that matter, where a fit explains the objective by them.

They take the place of the searches afresh of :mod:`optuna_hdbo.portfolio.searches.restart`. Each
begins at random points, and goes on with the largest expected improvement on its own best point,
in a box around that. It ends soon after it stops improving, or where it comes back to the best
point of all. The lengthscales are those of the fit to all trials, level and spread of the values
those of its own trials. Far from all optima these are tiny beside those of the better trials.

A column that does not matter around the best point may do so at another optimum. So the random
points differ from the best one in all columns. What they show is learned by the next fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.region import Region
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.searches import influence
from optuna_hdbo.portfolio.searches import restart
from optuna_hdbo.portfolio.searches.restart import KEY


EXPERT = "local"
"""The expert that the queries are said to be of."""

FADING = 0.1
"""After k searches that have not found the best point, the share of the next one is divided by
1 + k times this number."""

N_RANDOM, N_DRAWN = 3, 5
"""Random points that a search begins with, and how many are drawn for each of them. The furthest
one from the better half of the trials is taken."""

PATIENCE = 8
"""A search ends if this many queries have not improved its best value enough."""

SLOWEST = 4.0
"""A search ends if it would take more than this many times :data:`PATIENCE` queries to reach the
best value at its present speed."""

LENGTH = 0.5
"""Side of the box around a search's best point, times the weights of its columns."""

LONGEST = 30.0
"""Largest lengthscale that counts for the sides of the box, divided by the smallest one."""

BASIN = 0.5
"""A search does not see the trials that have this correlation with the best point of all."""

LEAST_SPREAD = 1e-8
"""Least factor of the fit's variances that suits a search's values: they may all be equal."""


@dataclass(frozen=True, eq=False)
class Descent:
    """A local search that moves a few columns.

    Parameters
    ----------
    began : int
        The trial at which it began.
    best : FloatArray, shape (D,)
        The best point of all.
    rows : IntArray
        Which observations are its own.
    n_queries : int
        How many queries it has made.
    step : Step
        Of the columns that it moves.
    """

    began: int
    best: FloatArray
    rows: IntArray
    n_queries: int
    step: Step

    @property
    def needs_random_points(self) -> bool:
        """Whether the next query is a random point."""
        return self.n_queries < N_RANDOM or not len(self.rows)

    def correlations(self, x: FloatArray, X: FloatArray) -> FloatArray:
        """Return the correlations of a point (D,) with points (n, D) in its columns, (n,)."""
        return influence.correlations(self.step.fitted, self.step.columns, x, X)

    def suggest(self, domain: Domain, seen: Observations, rng: np.random.Generator) -> Suggestion:
        """Return its next point."""
        if self.needs_random_points:
            x = unknown_near(domain, self._random(domain, seen, rng), seen.known, rng)
            record = {QUERY: "restart", KEY: self.began, **self.step.memory.kept}
            return Suggestion(x, record, {QUERY: "restart", KEY: self.began})
        posterior, level = self._posterior(seen)
        row = int(self.rows[int(np.argmax(merits(seen)[self.rows]))])
        x = self.step.best(domain, seen, posterior, row, rng, level)
        signed: dict[str, float | str] = {credit.KEY: EXPERT, QUERY: "search", KEY: self.began}
        report = {**prediction(seen, posterior, x, level=level), **signed}
        return Suggestion(x, {**signed, **self.step.memory.kept}, report)

    def _random(self, domain: Domain, seen: Observations, rng: np.random.Generator) -> FloatArray:
        """Return the one of some random points that is furthest from the better trials."""
        drawn = domain.sample(rng, N_DRAWN)
        merit = merits(seen)
        better = seen.X[merit >= np.median(merit)]
        columns = self.step.columns
        inverse = self.step.fitted.kernel.inverse[columns]
        gaps = domain.gaps(drawn, better)[:, :, columns] * inverse
        return np.array(drawn[int(np.argmax((gaps**2).sum(axis=2).min(axis=1)))])

    def _posterior(self, seen: Observations) -> tuple[Posterior, float]:
        """Return a posterior of the values less a level, and that level.

        It is given its own trials and those far from the best point of all. Level and spread are
        the likeliest ones of its own trials.
        """
        used = self.correlations(self.best, seen.X) < BASIN
        used[self.rows] = True
        kernel = self.step.fitted.kernel
        own = Factor(kernel, np.ascontiguousarray(seen.X[self.rows]))
        level, spread = own.likeliest(seen.y[self.rows])
        spread = min(max(spread, LEAST_SPREAD), 1.0)
        kernel = kernel.valued(kernel.lengthscales, spread * kernel.scales, spread * kernel.noise)
        X, y = np.ascontiguousarray(seen.X[used]), seen.y[used] - level
        fitted = replace(self.step.fitted, kernel=kernel, n=len(y))
        return FactorCache().posterior(fitted, X, y, seen.pending), level


@dataclass(frozen=True, eq=False)
class Step:
    """The largest expected improvement in a box around a trial.

    Parameters
    ----------
    columns : IntArray
        The columns that move: those that matter, or all.
    fitted : Fitted
        The fit that says which columns matter.
    memory : Memory
        Which keeps that fit.
    """

    columns: IntArray
    fitted: Fitted
    memory: Memory

    def best(
        self,
        domain: Domain,
        seen: Observations,
        posterior: Posterior,
        row: int,
        rng: np.random.Generator,
        level: float = 0.0,
    ) -> FloatArray:
        """Return the point of the largest expected improvement on the observation in a row.

        What is expected at pending points in the box is to be improved on, too. ``level`` is what
        the posterior's values are less than the observed ones.
        """
        region = Region.around(domain, seen.X[row], LENGTH, self._lengthscales(domain))
        feasibility = ConstraintModels().fit(domain, seen, self.memory)
        own = float(seen.y[row]) - level
        acquisition = region.view_feasibility(feasibility).improvement(
            region.view(posterior), feasibility.or_pending(own, posterior, region.contains)
        )
        free = np.zeros(len(domain), np.bool_)
        free[self.columns] = True
        effort = DEFAULT_EFFORT.at(len(seen.y))
        good = seen.X[row][None]
        x = region.maximise(acquisition, good, seen.known, rng, effort, free=free)
        return unknown_near(domain, x, seen.known, rng)

    def _lengthscales(self, domain: Domain) -> FloatArray:
        """Return the lengthscales of its columns, and their geometric mean for the others."""
        fitted = self.fitted.kernel.lengthscales[self.columns]
        fitted = np.minimum(fitted, LONGEST * fitted.min())
        numerical = ~domain.categorical[self.columns]
        lengthscales = np.full(len(domain), np.exp(np.log(fitted[numerical]).mean()))
        lengthscales[self.columns] = fitted
        return lengthscales


def next_search(
    domain: Domain, seen: Observations, turn: restart.Turn, memory: Memory
) -> Descent | None:
    """Return the short search whose turn it is.

    ``None`` if it is the turn of the first search or of one that moves all columns, or if no fit
    says which columns matter.
    """
    if domain.breadth < FEW_COLUMNS or not turn.is_later(FADING):
        return None
    if turn.settled:
        other = restart.under_way(domain, seen, turn, memory)
        if other is not None and len(other.domain) == len(domain):
            return None
    # Before there is such a fit, the other searches make it when one of them begins.
    elif not influence.explains(memory):
        return None
    least = FEW_COLUMNS if turn.settled else influence.LEAST_COLUMNS
    step = next_step(domain, seen, memory, least)
    if step is None:
        return None
    best = turn.first.best
    if turn.latest is not None:
        own = [record.number for record in turn.records]
        rows = np.flatnonzero(np.isin(seen.numbers, own))
        latest = Descent(turn.latest, best, rows, len(own), step)
        if not _is_over(latest, seen, found_best=turn.latest == turn.holder):
            return latest
    nothing = np.empty(0, np.int64)
    return Descent(seen.step, best, nothing, 0, step)


def next_step(
    domain: Domain, seen: Observations, memory: Memory, least: int = influence.LEAST_COLUMNS
) -> Step | None:
    """Return a step of the columns that matter, if they are few and explain the objective.

    ``least`` is that of :func:`influence.columns`.
    """
    columns = influence.columns(domain, seen, memory, least)
    fitted = recall_fit(memory, influence.FIT, domain)
    if columns is None or fitted is None or not influence.explains(memory):
        return None
    return Step(columns, fitted, memory)


def _is_over(search: Descent, seen: Observations, *, found_best: bool) -> bool:
    """Tell whether a search has converged, or is back at the best point that it has not found."""
    if search.needs_random_points:
        return False
    of_all = merits(seen)
    merit = of_all[search.rows]
    n_queries = search.n_queries - N_RANDOM
    if not found_best:
        x = seen.X[search.rows[int(np.argmax(merit))]]
        if search.correlations(search.best, x[None])[0] > restart.BACK:
            return True
        if min(len(merit) - 1, n_queries) >= PATIENCE:
            gain = float(merit.max() - merit[:-PATIENCE].max())
            if SLOWEST * gain < float(of_all.max() - merit.max()):
                return True
    return restart.has_converged(merit, n_queries, PATIENCE, restart.ENOUGH_OF_MANY)
