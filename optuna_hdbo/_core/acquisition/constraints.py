"""Models of constraints: numbers that a trial reports and that must not exceed 0."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.acquisition.feasibility import finite_constraints
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.observations import standardise


CONSTRAINT_GROWTH = 0.08
"""A new fit of a constraint is due when observations have grown by this share."""


@dataclass(frozen=True, eq=False)
class ConstraintModels:
    """One Gaussian process per constraint, fitted and recorded like that of the objective.

    Parameters
    ----------
    kind : str
        Kernel.
    """

    kind: str = "matern52"
    _models: dict[int, Ensemble] = field(default_factory=dict, init=False)

    def fit(self, domain: Domain, seen: Observations, memory: Memory) -> Feasibility:
        """Return what is known of the constraints, with models fitted anew if that is due."""
        if not seen.constraints.shape[1]:
            return Feasibility(merits(seen), seen.feasible)
        constraints = []
        merit = merits(seen)
        for j, column in enumerate(finite_constraints(seen).T):
            told = np.flatnonzero(~np.isnan(column))
            if not len(told):
                continue
            if (rows := modelled_rows(merit[told])) is not None:
                told = told[rows]  # the best points, not the largest violations
            z, shift, scale = standardise(column[told])
            # A constraint that always holds by far gets a finite limit, whatever its units.
            largest = float(np.clip(-shift / scale, -1e3, 1e3))
            nothing = np.empty((len(told), 0))
            part = replace(seen.at(told), values=z, constraints=nothing, output=None, outside=None)
            new = Ensemble(self.kind, True, (ALL_MATTER,), name=f"constraint{j}")
            model = self._models.setdefault(j, new)
            believed = model.believed(domain, part, ALL_MATTER, memory, CONSTRAINT_GROWTH)
            constraints.append((believed.posterior, largest))
        feasible = merit >= seen.y.min()
        if seen.outside is not None:
            feasible &= ~seen.outside
        return Feasibility(merit, feasible, constraints)
