"""The steps expert: points spread around the best ones, where the objective has steps.

Error rates jump from one setting to the next. A Gaussian process takes the jumps for noise, and
its best points are close together, on one step. But equal settings have equal values, and another
setting near the best ones may be better by luck alone. So this expert counts the noise as a part
of what may be gained, where nothing is known nearby. The improvement is on the best observed
value. Steps that are known are left out. A part of the queries goes to branches with few trials,
because the model is sure too early which branch is best.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import log_jump_improvement
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.points import reflected
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.gp_ucb import BELIEFS


LEAST_REPEATED = 0.1
"""Where at least this share of the better half repeats a value, the objective has steps."""

APART = 0.01
"""Points repeat a value only if they differ by more than this in a column."""

N_NEAR, N_UNIFORM = 256, 256
"""Candidates around the best points, and in the whole domain."""

N_BEST = 8
"""Points that candidates are drawn around."""

STEP, CHANGED = 0.15, 0.1
"""Standard deviation of the steps from the best points, in shares of the ranges, and the share of
the categorical columns that change. So do columns whose values are further apart than a step."""

MOST_CHANGED = 2.0
"""At most this many of these columns change in the mean."""

EXPLORED = 0.3
"""Share of the queries that go to a branch that is drawn. Branches with few trials are drawn more
often than others."""

N_FLAT, WIDEST = 64, 0.1
"""The best points, whose steps are known, and the largest distance at which two points with equal
values count as one step."""


class Stepped(Method):
    """Points spread around the best ones, as long as better values repeat.

    Parameters
    ----------
    deterministic_objective : bool
        Whether equal points have equal values. Without that, it is never ready.
    frugal : bool
        That of :class:`Ensemble`.
    """

    name = "steps"
    looks_outside = True

    def __init__(self, *, deterministic_objective: bool = True, frugal: bool = False) -> None:
        self._deterministic = deterministic_objective
        self._models = Ensemble("matern52", True, BELIEFS, frugal=frugal)
        self._constraints = ConstraintModels()

    def is_ready(self, domain: Domain, seen: Observations) -> bool:
        """Tell whether values repeat among the better half of the points."""
        return self._deterministic and repeated(seen) >= LEAST_REPEATED

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the candidate of the largest expected improvement, jumps included."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        model = self._models.drawn(domain, seen, memory, rng)
        posterior = model.posterior
        feasibility = self._constraints.fit(domain, model.seen, memory)
        Z = candidates(domain, seen.X, feasibility.merit, rng)
        if domain.gates and rng.random() < EXPLORED:
            Z = of_rare_branch(domain, seen.X, Z, rng)
        good = np.argsort(-feasibility.merit, kind="stable")[:N_FLAT]
        flat = on_known_step(Z, seen.X[good], seen.values[good], domain.discrete)
        Z = Z if flat.all() else Z[~flat]
        values = np.zeros(len(Z))
        feasible = feasibility.modelled(posterior)
        if feasible.any():
            incumbent = float(posterior.y[feasible].max())
            values += log_jump_improvement(posterior, incumbent, Z, seen.known)
        for constraint, most in feasibility.constraints:
            values += Analytic.log_feasible(constraint, most)(Z)
        x = Z[int(np.argmax(values))]
        x = unknown_near(domain, x, seen.known, rng)
        report = prediction(model.seen, posterior, x, model.evidence)
        return Suggestion(x, memory.kept or None, report)


def repeated(seen: Observations) -> float:
    """Return the share of the better half of the points that repeat another one's value.

    Only feasible points in the domain count. Points that are close to each other do not repeat
    their values. Infinite values do not count as repeated: those of failures are equal, too.
    """
    rows = np.flatnonzero(seen.feasible)
    rows = rows[np.argsort(-seen.values[rows], kind="stable")][: (len(rows) + 1) // 2]
    if len(rows) < 2:
        return 0.0
    values, X = seen.values[rows], seen.X[rows]
    apart = np.abs(np.diff(X, axis=0)).max(axis=1) > APART
    equal = (values[1:] == values[:-1]) & np.isfinite(values[1:])
    return float((equal & apart).sum()) / len(rows)


def candidates(
    domain: Domain, X: FloatArray, merit: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return points around the best of the points X (n, D) by their merit (n,), and uniform ones.

    A column that is inactive at one of the best points is drawn uniformly.
    """
    best = X[np.argsort(-merit, kind="stable")[:N_BEST]]
    centres = best[rng.integers(len(best), size=N_NEAR)]
    uniform = domain.sample(rng, N_NEAR)
    moved = reflected(centres + STEP * rng.standard_normal(centres.shape))
    few_values = domain.discrete & ((np.diff(domain.flat_grids[1]) - 1) * STEP < 1.0)
    coarse = domain.categorical | few_values
    changes = rng.random(centres.shape) < min(CHANGED, MOST_CHANGED / max(coarse.sum(), 1))
    moved = np.where(coarse, np.where(changes, uniform, centres), moved)
    moved = np.where(domain.active(centres), moved, uniform)
    return domain.snap(np.concatenate([moved, uniform[:N_UNIFORM]]))


def of_rare_branch(
    domain: Domain, X: FloatArray, Z: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return those of the points Z (m, D) that are in one branch, which is drawn.

    Its probability is proportional to 1 / (1 + k), where k of the points X (n, D) are in it.
    """
    active, of_point = domain.active(Z), domain.active(X)
    patterns = np.unique(active, axis=0)
    counts = np.array([(of_point == p).all(axis=1).sum() for p in patterns])
    weights = 1.0 / (1.0 + counts)
    drawn = patterns[int(rng.choice(len(patterns), p=weights / weights.sum()))]
    return np.asarray(Z[(active == drawn).all(axis=1)], np.float64)


def on_known_step(
    Z: FloatArray, X: FloatArray, values: FloatArray, discrete: BoolArray
) -> BoolArray:
    """Mark the points Z (m, D) that are on a step of the points X (n, D) with values (n,).

    The step of a point reaches as far as the nearest other one with the same value, at most
    :data:`WIDEST`. A point of Z is on the step of the nearest point of X or on none. Another value
    of a ``discrete (D,)`` column is never on it: integers may tie on both sides of the best one.
    """
    gaps = np.abs(X[:, None, :] - X)
    equal = (values[:, None] == values) & (gaps.max(axis=2) > APART)
    lengths = np.where(equal, np.sqrt((gaps**2).sum(axis=2)), np.inf).min(axis=1)
    reach = np.where(lengths <= WIDEST, lengths, 0.0)
    distances = np.sqrt(((Z[:, None, :] - X) ** 2).sum(axis=2))
    nearest = distances.argmin(axis=1)
    near = distances[np.arange(len(Z)), nearest] < reach[nearest]
    same = (Z[:, discrete] == X[nearest][:, discrete]).all(axis=1)
    return np.asarray(near & same, np.bool_)
