"""Models of constraints: numbers that a trial reports and that must not exceed 0.

That a trial must not fail is one more constraint, where failures depend on the point.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.acquisition.feasibility import compressed_like
from optuna_hdbo._core.acquisition.feasibility import finite_constraints
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import ALL_MATTER_WARPED
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import MOST_MODELLED
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.points import Failures


CONSTRAINT_GROWTH = 0.08
"""A new fit of a constraint is due when observations have grown by this share."""


FAILURES, CONSTRAINT = "failures", "constraint"
"""What the keys begin with under which fits of failures and of constraints are recorded."""

BELIEFS = (ALL_MATTER, ALL_MATTER_WARPED)
"""The models of a constraint. Values that grow by orders of magnitude away from the border, such
as those of a product, hide the border unless they are warped. Where they are smooth, warping costs
digits. So both are kept, and warped values are used where they predict better."""

LEAD = 10.0
"""Nats that warped values have to be ahead by. With 0 and 5 they were also used for some smooth
constraints, where the last digits were lost."""


@dataclass(frozen=True, eq=False)
class ConstraintModels:
    """Gaussian processes of each constraint, fitted and recorded like those of the objective.

    Parameters
    ----------
    kind : str
        Kernel.
    name : str
        First part of the keys under which fits are recorded.
    """

    kind: str = "matern52"
    name: str = ""
    _models: dict[str, Ensemble] = field(default_factory=dict, init=False)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_models": {}}  # as in Ensemble

    def fit(self, domain: Domain, seen: Observations, memory: Memory) -> Feasibility:
        """Return what is known of the constraints, with models fitted anew if that is due.

        A constraint that no trial has violated needs no model.
        """
        merit = merits(seen)
        constraints = self._no_failure(domain, seen, merit, memory)
        points, violations = _of_failed(seen)
        for j, column in enumerate(finite_constraints(seen).T):
            told = np.flatnonzero(~np.isnan(column))
            if not (column[told] > 0.0).any() and not (violations[:, j] > 0.0).any():
                continue
            if (rows := modelled_rows(merit[told])) is not None:
                told = told[rows]  # the best points, not the largest violations
            nothing = np.empty((len(told), 0))
            part = replace(
                seen.at(told),
                values=column[told],
                constraints=nothing,
                output=None,
                outside=None,
                skewed=False,
            )
            known = ~np.isnan(violations[:, j])
            if known.any():
                part = _with(part, points.at(np.flatnonzero(known)), violations[known, j])
            constraints.append(self._modelled(j, domain, part, memory))
        return Feasibility(merit, seen.feasible, constraints)

    def _no_failure(
        self, domain: Domain, seen: Observations, merit: FloatArray, memory: Memory
    ) -> list[tuple[Posterior, float]]:
        """Return the constraint that is 1 where trials failed and -1 where they have a value.

        Failures that do not depend on the point are no reason to avoid it.
        """
        failures = seen.failures
        if failures is None or not failures.are_elsewhere:
            return []
        # A violation that was told explains a failure.
        explained = [n for n, told in seen.told_by_failed.items() if (told > 0.0).any()]
        failures = failures.at(np.flatnonzero(~np.isin(failures.numbers, explained)))
        if not len(failures.X):
            return []
        rows = modelled_rows(merit)
        known = seen if rows is None else seen.at(rows)
        failures = failures.at(np.arange(len(failures.X))[-MOST_MODELLED // 2 :])
        part = replace(known, values=np.full(len(known.X), -1.0))
        part = _with(part, failures, np.ones(len(failures.X)))
        ensemble = self._ensemble(FAILURES)
        model = ensemble.believed(domain, part, ALL_MATTER, memory, CONSTRAINT_GROWTH)
        return [(model.posterior, -model.seen.shift / model.seen.scale)]

    def _ensemble(self, name: str) -> Ensemble:
        models = Ensemble(self.kind, True, BELIEFS, name=self.name + name)
        return self._models.setdefault(name, models)

    def _modelled(
        self, j: int, domain: Domain, part: Observations, memory: Memory
    ) -> tuple[Posterior, float]:
        """Return the posterior of constraint j, and the largest value that it admits."""
        ensemble = self._ensemble(f"{CONSTRAINT}{j}")
        plain, warped = (
            ensemble.believed(domain, part, belief, memory, CONSTRAINT_GROWTH, compared=True)
            for belief in BELIEFS
        )
        used = warped if warped.evidence.nats > plain.evidence.nats + LEAD else plain
        border, output = 0.0, used.seen.output
        if output is not None:
            border = float(output(np.zeros(1))[0])
        largest = (border - used.seen.shift) / used.seen.scale
        # A constraint that holds by far nearly everywhere gets a finite limit.
        return used.posterior, float(np.clip(largest, -1e3, 1e3))


def _of_failed(seen: Observations) -> tuple[Failures, FloatArray]:
    """Return the last failed trials that told constraints, and the constraints, shape (m, C)."""
    failures, n_constraints = seen.failures, seen.constraints.shape[1]
    if failures is None or not seen.told_by_failed or not n_constraints:
        nobody = Failures(seen.X[:0], seen.numbers[:0], are_elsewhere=False)
        return nobody, np.empty((0, n_constraints))
    rows = np.flatnonzero(np.isin(failures.numbers, list(seen.told_by_failed)))
    failures = failures.at(rows[-MOST_MODELLED // 2 :])
    told = [seen.told_by_failed[number] for number in failures.numbers.tolist()]
    return failures, compressed_like(seen, np.reshape(told, (-1, n_constraints)))


def _with(part: Observations, failures: Failures, values: FloatArray) -> Observations:
    """Return observations (n,) of a constraint and those of failed trials (m,), by number."""
    numbers = np.concatenate([part.numbers, failures.numbers])
    order = np.argsort(numbers)
    both = Observations.from_arrays(
        np.concatenate([part.X, failures.X])[order],
        np.concatenate([part.values, values])[order],
        pending=part.pending,
        records=part.records,
        step=part.step,
    )
    return replace(both, numbers=numbers[order])
