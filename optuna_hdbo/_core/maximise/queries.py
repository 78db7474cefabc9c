"""What a Gaussian process over all columns is asked: the common ground of the methods."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.multistart import along_axes
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Observations


def good_points(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the best 5 % of the points, at least five, the best first (RAASP's centres)."""
    return X[np.argsort(-y, kind="stable")[: max(5, len(y) // 20)]]


PROBES_PER_COLUMN, MOST_PROBES = 12.0, 0.5
"""Share of the queries that are probes: the former over D, at most the latter."""


def is_probe(rng: np.random.Generator, n_columns: int) -> bool:
    """Tell whether this query asks what a single column does, everything else at its best.

    Joint maxima settle all columns at once, and one that sits at a wrong value then has the same
    value in every trial: a fit takes it for idle, and nothing moves it again. Probes ask for each
    whether the bound leaves it elsewhere.
    """
    return bool(rng.random() < min(MOST_PROBES, PROBES_PER_COLUMN / n_columns))


def prediction(seen: Observations, posterior: Posterior, x: FloatArray) -> dict[str, float]:
    """Return what the model expects at x (D,), in the objective's units."""
    mean, variance = posterior.predict(x[None])
    return {
        "predicted": seen.in_units(float(mean[0])),
        "std": float(np.sqrt(variance[0])) * seen.scale,
    }


@dataclass(frozen=True, eq=False)
class EnsembleQueries:
    """Maximal confidence bounds or expected improvements of an ensemble's posteriors.

    Parameters
    ----------
    models : Ensemble
    acquisition : {"ucb", "log-ei"}
    effort : Effort
    probes : bool
        Whether some trials ask for the largest bound along the axes through the best point
        instead.
    """

    models: Ensemble
    acquisition: Literal["ucb", "log-ei"]
    effort: Effort = field(default_factory=Effort)
    probes: bool = False

    def query(
        self,
        domain: Domain,
        seen: Observations,
        memory: Memory,
        root_beta: float,
        rng: np.random.Generator,
        feasibility: Feasibility,
    ) -> tuple[FloatArray, Posterior]:
        """Return the next point, and the posterior that it is from."""
        posterior = self.models.drawn(domain, seen, memory, rng)
        best = good_points(seen.X, feasibility.merit)
        if self.probes and is_probe(rng, len(domain)):
            bound = feasibility.optimistic(posterior, root_beta)
            return along_axes(domain, best[0], bound, rng, seen.known), posterior
        if self.acquisition == "ucb":
            acquisition = feasibility.optimistic(posterior, root_beta)
        else:
            acquisition = feasibility.improvement(posterior)
        effort = self.effort.at(len(seen.y))
        return maximise(acquisition, domain, best, seen.known, rng, effort=effort), posterior
