"""Constraints: what feasible means to the ranking of points, to incumbents and to acquisitions.

A trial may report numbers that must not exceed 0. Each becomes a Gaussian process of its own.
Bounds stay optimistic: the objective's upper bound is maximised where every constraint's lower
bound admits it. Expected improvements are weighted by the probability of feasibility (Gardner et
al. 2014), and as long as nothing feasible is known, that probability alone is maximised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from optuna_hdbo._core.acquisition import Acquisition
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp import Posterior
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.observations import standardise
from optuna_hdbo._core.plain import ALL_MATTER
from optuna_hdbo._core.plain import PlainQueries


BELIEF = ALL_MATTER
GROWTH = 0.08
"""Share of new observations that calls for another fit of a constraint."""


class Utility(Protocol):
    """What a maximiser asks of a function."""

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D); return where to (S, D), and the values (S,)."""


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of acquisitions, each on a posterior of its own."""

    terms: Sequence[Acquisition]

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""
        return np.asarray(np.sum([term(X) for term in self.terms], axis=0), np.float64)

    def slope(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at a point (D,) and its gradient, shape (D,)."""
        values, gradients = zip(*[term.slope(x) for term in self.terms], strict=True)
        return float(np.sum(values)), np.sum(gradients, axis=0)

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D) along the columns marked ``free (D,)``."""
        climbed, values = X.copy(), self(X)
        for i, start in enumerate(X):
            x = start.copy()

            def falling(part: FloatArray, x: FloatArray = x) -> tuple[float, FloatArray]:
                x[free] = part
                value, gradient = self.slope(x)
                return -value, -gradient[free]

            found = minimize(
                falling,
                start[free],
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, 1.0)] * int(free.sum()),
                options={"maxiter": n_steps, "maxfun": 2 * n_steps, "gtol": tol},
            )
            if -found.fun > values[i]:
                climbed[i, free], values[i] = found.x, -found.fun
        return climbed, values


def terms(utility: Utility) -> Sequence[Acquisition]:
    """Return the acquisitions that a utility adds up."""
    if isinstance(utility, Sum):
        return utility.terms
    assert isinstance(utility, Acquisition)
    return [utility]


@dataclass(frozen=True, eq=False)
class Feasibility:
    """What is known of the constraints when a point is asked for.

    Parameters
    ----------
    merit : FloatArray, shape (n,)
        What observations are ranked by: their value where they are feasible; the others come
        after all of these, the smallest violation first.
    incumbent : float or None
        The best feasible value, if there is any.
    constraints : sequence of (Posterior, float)
        Of each constraint, in units of its own deviation, and the largest admissible value.
    """

    merit: FloatArray
    incumbent: float | None
    constraints: Sequence[tuple[Posterior, float]] = ()

    def optimistic(self, posterior: Posterior, root_beta: float) -> Utility:
        """Return the upper bound, penalised where a constraint's lower bound forbids a point."""
        return self.admitted(Acquisition.ucb(posterior, root_beta), root_beta)

    def admitted(self, bound: Acquisition, root_beta: float) -> Utility:
        """Return any bound, penalised where a constraint's lower bound forbids a point."""
        if not self.constraints:
            return bound
        penalties = [Acquisition.excess(c, root_beta, most) for c, most in self.constraints]
        return Sum([bound, *penalties])

    def improvement(self, posterior: Posterior) -> Utility:
        """Return log (expected improvement x probability of feasibility)."""
        feasible = [Acquisition.log_feasible(c, most) for c, most in self.constraints]
        if self.incumbent is None:
            return Sum(feasible)
        improvement = Acquisition.log_ei(posterior, self.incumbent)
        return Sum([improvement, *feasible]) if feasible else improvement


def _finite(seen: Observations) -> FloatArray:
    """Return the constraints' values (n, C), NaN where a trial told none."""
    return np.nan_to_num(seen.constraints, posinf=1e300, neginf=-1e300, nan=np.nan)


def merits(seen: Observations) -> FloatArray:
    """Return what observations are ranked by, shape (n,); see :class:`Feasibility`."""
    if not seen.constraints.shape[1]:
        return seen.y
    violation = np.zeros(len(seen.y))
    for column in _finite(seen).T:
        told = ~np.isnan(column)
        _, _, scale = standardise(column[told])
        violation[told] += np.maximum(column[told], 0.0) / scale
    worse = seen.y.min() - 1.0 - np.minimum(violation, 1e6)
    return np.where(violation <= 0.0, seen.y, worse)


@dataclass(frozen=True, eq=False)
class ConstraintModels:
    """One Gaussian process per constraint, fitted and recorded like that of the objective.

    Parameters
    ----------
    kind : str
        Kernel.
    """

    kind: str = "matern52"
    _models: dict[int, PlainQueries] = field(default_factory=dict, init=False)

    def read(self, domain: Domain, seen: Observations) -> tuple[Feasibility, dict[str, Any]]:
        """Return what is known of the constraints, and what to record."""
        record: dict[str, Any] = {}
        if not seen.constraints.shape[1]:
            return Feasibility(seen.y, float(seen.y.max())), record
        constraints = []
        merit = merits(seen)
        for j, column in enumerate(_finite(seen).T):
            told = np.flatnonzero(~np.isnan(column))
            if not len(told):
                continue
            if (rows := modelled_rows(merit[told])) is not None:
                told = told[rows]  # what bounds the best points, not what is most violated
            z, shift, scale = standardise(column[told])
            # Whatever its units, a constraint that always holds stays a bound far away.
            largest = float(np.clip(-shift / scale, -1e3, 1e3))
            part = replace(
                seen,
                X=seen.X[told],
                values=z,
                numbers=seen.numbers[told],
                constraints=np.empty((len(told), 0)),
            )
            model = self._models.setdefault(j, self._model(j))
            posterior, _ = model.posterior(domain, part, BELIEF, record, GROWTH)
            constraints.append((posterior, largest))
        best = float(merit.max())
        return Feasibility(merit, best if best >= seen.y.min() else None, constraints), record

    def _model(self, j: int) -> PlainQueries:
        return PlainQueries(self.kind, True, (BELIEF,), (), None, name=f"constraint{j}")


def rejecting(seen: Observations) -> Observations:
    """Return observations for methods that compare values without a model of constraints.

    Infeasible points have the value -inf, which no other is worse than. While nothing is feasible,
    all values are minus the sum of the violations instead, so that there is something to follow.
    """
    if not seen.constraints.shape[1]:
        return seen
    finite = np.nan_to_num(seen.constraints, nan=0.0, posinf=1e300, neginf=0.0)
    violation = np.minimum(np.maximum(finite, 0.0), 1e300 / finite.shape[1]).sum(axis=1)
    if not (violation <= 0.0).any():
        return replace(seen, values=-violation)
    return replace(seen, values=np.where(violation <= 0.0, seen.values, -np.inf))
