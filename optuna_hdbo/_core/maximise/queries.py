"""Suggestions from Gaussian processes over all columns, for all methods that use them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.multistart import along_axes
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import Believed
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.evidence import Evidence
from optuna_hdbo._core.observations import Observations


def good_points(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the best 5 % of the points, at least five, the best first (RAASP's centres)."""
    return X[np.argsort(-y, kind="stable")[: max(5, len(y) // 20)]]


def centres(domain: Domain, seen: Observations, merit: FloatArray) -> FloatArray:
    """Return the good points by their merit (n,), all of them in the domain.

    With fewer than five points in the domain, some of them are moved there.
    """
    best = good_points(seen.X, merit)
    return best if seen.outside is None else domain.snap(best)


PROBES_PER_COLUMN, MOST_PROBES = 12.0, 0.5
"""Share of the suggestions that are probes: the first number over D, at most the second."""


def is_probe(rng: np.random.Generator, n_columns: int) -> bool:
    """Tell whether this suggestion is a probe: it moves a single column of the best point.

    Joint maxima change all columns at once. A column at a wrong value may then have this value in
    every good trial, a fit takes it for inert, and it never moves again. A probe moves the column
    whose upper confidence bound is largest.
    """
    return bool(rng.random() < min(MOST_PROBES, PROBES_PER_COLUMN / n_columns))


LEAST_PREDICTED = 3
"""Fewer observations tell no unit of the values."""


def prediction(
    seen: Observations,
    posterior: Posterior,
    x: FloatArray,
    evidence: Evidence | None = None,
    *,
    level: float = 0.0,
) -> dict[str, float]:
    """Return what the model expects at x (D,), in the objective's units.

    Too few or equal values tell no unit, and then nothing is expected. With ``evidence``, the
    standard deviation is that of honest intervals, noise included. The posterior is of the values
    less ``level``.
    """
    if len(seen.values) < LEAST_PREDICTED or not seen.y.any():
        return {}
    mean, variance = posterior.predict(x[None])
    y, var = level + float(mean[0]), float(variance[0])
    if evidence is not None:
        var = evidence.inflation * (var + posterior.kernel.noise)
    return {"predicted": seen.in_units(y), "std": seen.std_in_units(y, math.sqrt(var))}


@dataclass(frozen=True, eq=False)
class EnsembleQueries:
    """Maximal confidence bounds or expected improvements of an ensemble's posteriors.

    With ``probes``, some suggestions maximise the bound along the axes through the best point
    instead.
    """

    models: Ensemble
    acquisition: Literal["ucb", "log-ei"]
    probes: bool = False

    def query(
        self,
        domain: Domain,
        seen: Observations,
        memory: Memory,
        root_beta: float,
        rng: np.random.Generator,
        constraints: ConstraintModels,
    ) -> tuple[FloatArray, Believed]:
        """Return the next point, and the model that it is from."""
        believed = self.models.drawn(domain, seen, memory, rng)
        posterior = believed.posterior
        feasibility = constraints.fit(domain, believed.seen, memory)
        best = centres(domain, seen, feasibility.merit)
        if self.probes and is_probe(rng, domain.breadth):
            bound = feasibility.optimistic(posterior, root_beta)
            return along_axes(domain, best[0], bound, rng, seen.known), believed
        if self.acquisition == "ucb":
            acquisition = feasibility.optimistic(posterior, root_beta)
        else:
            acquisition = feasibility.improvement(posterior)
        effort = DEFAULT_EFFORT.at(len(seen.y))
        return maximise(acquisition, domain, best, seen.known, rng, effort=effort), believed


STALL = 0.02
"""Improvement, in standard deviations of the values, that counts as progress."""


def has_stalled(y: FloatArray, window: int) -> bool:
    """Tell whether the best value ever stayed the same for ``window`` observations in a row."""
    best = np.maximum.accumulate(y)
    start = max(20, window + 1)
    if len(y) < start:
        return False
    progress = best[window:] - best[: len(best) - window]
    return bool((progress[start - window - 1 :] < STALL).any())
