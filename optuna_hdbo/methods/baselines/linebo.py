"""LineBO (Kirschner, Mutny, Hiller, Ischebeck & Krause 2019): one line at a time.

"Adaptive and Safe Bayesian Optimization in High Dimensions via One-Dimensional Subspaces", ICML
2019. A Gaussian process over all columns; its bound is maximised on a line through the best point,
and after some queries on another one (Algorithm 1 there). Lines have random directions, those of
the coordinates, or that of the mean's gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from typing import ClassVar
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import FLAT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.points import best_unknown
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo._core.variables.cma import to_unit
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


Directions = Literal["random", "coordinate", "descent"]
DIRECTIONS = ("random", "coordinate", "descent")

N_GRID = 300
"""Points of a line that are compared, as in the authors' code."""

KEY = "line"


@dataclass(frozen=True, eq=False)
class Line:
    """A line through the cube.

    Parameters
    ----------
    first : int
        Number of the trial that began it.
    centre, direction : FloatArray, shape (D,)
        A point of it in [0, 1]^D, and its direction.
    """

    first: int
    centre: FloatArray
    direction: FloatArray

    def points(self, domain: Domain, rng: np.random.Generator) -> FloatArray:
        """Return points (m, D) of the domain at equal distances between the cube's sides."""
        moving = self.direction != 0.0
        steps = np.array([-self.centre[moving], 1.0 - self.centre[moving]])
        steps = np.sort(steps / self.direction[moving], axis=0)
        low, high = float(steps[0].max()), float(steps[1].min())
        at = low + (high - low) * (np.arange(N_GRID) + rng.random()) / N_GRID
        return domain.from_unit(np.clip(self.centre + at[:, None] * self.direction, 0.0, 1.0))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        rows = [[round(v, 9) for v in a.tolist()] for a in (self.centre, self.direction)]
        return {"first": self.first, "centre": rows[0], "direction": rows[1]}

    @classmethod
    def from_json(cls, data: Any, number: int, n_columns: int) -> Line | None:
        """Return the line that trial ``number`` began, or None if the object is not one."""
        try:
            centre = np.array(data["centre"], np.float64)
            direction = np.array(data["direction"], np.float64)
        except (KeyError, TypeError, ValueError, IndexError):
            return None
        sizes = centre.shape == direction.shape == (n_columns,)
        if not sizes or not (np.abs(direction) <= 1.0).all() or not direction.any():
            return None
        inside = bool(((centre >= 0.0) & (centre <= 1.0)).all())
        return cls(number, centre, direction) if inside and data.get("first") == number else None


class LineBO(Method):
    """Upper confidence bounds on one line after another.

    The parameters are those of :class:`optuna_hdbo.baselines.LineBOSampler`.
    """

    name = "linebo"
    models_constraints = True

    published: ClassVar[Mapping[str, Any]] = {
        "directions": "random",
        "n_line": 15,
        "priors": False,
        "ard": False,
    }
    """Settings of the authors' code: at most fifteen queries per line, which ends earlier where
    no point can be better by a hundredth."""

    def __init__(
        self,
        *,
        directions: Directions = "random",
        n_line: int = 10,
        tolerance: float = 0.01,
        beta: Beta = 4.0,
        kernel: str = "matern52",
        ard: bool = True,
        priors: bool = True,
        n_cyc: int | None = None,
    ) -> None:
        check_flags(ard=ard, priors=priors)
        check_choice("directions", directions, DIRECTIONS)
        check_integer("n_line", n_line, 1)
        check_number("tolerance", tolerance, least=0.0)
        check_beta(beta)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_cyc", n_cyc, 1, optional=True)
        self.directions = directions
        self.n_line = n_line
        self.tolerance = float(tolerance)
        self.beta = beta
        self._models = Ensemble(kernel, ard, (ALL_MATTER if priors else FLAT,), n_cyc)
        self._constraints = ConstraintModels(kernel)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point (Algorithm 1)."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        posterior = self._models.drawn(domain, seen, memory, rng).posterior
        feasibility = self._constraints.fit(domain, seen, memory)
        width = root_beta(self.beta, len(seen.y), 1, domain.breadth)
        line, n = recall_line(seen, len(domain))
        line = line if n < self.n_line else None
        if line is not None:
            Z = line.points(domain, rng)
            line = None if _is_settled(posterior, Z, width, self.tolerance) else line
        kept = None if line is None else {"first": line.first}
        if line is None:
            line = self._next(domain, seen, posterior, feasibility, rng)
            Z = line.points(domain, rng)
        memory.keep(KEY, kept or line.to_json())
        x = best_unknown(Z, feasibility.optimistic(posterior, width)(Z), seen.known)
        x = unknown_near(domain, x, seen.known, rng)
        report = {**prediction(seen, posterior, x), "line": float(line.first)}
        return Suggestion(np.array(x), memory.kept, report)

    def _next(
        self,
        domain: Domain,
        seen: Observations,
        posterior: Posterior,
        feasibility: Feasibility,
        rng: np.random.Generator,
    ) -> Line:
        """Return a new line through the best point."""
        best = seen.X[int(np.argmax(feasibility.merit))]
        n_columns = len(domain)
        centre = np.clip(np.round(to_unit(domain, best[None])[0], 9), 0.0, 1.0)
        # From a border, every random line would leave the cube at once.
        inward = 1.0 * (centre <= 0.0) - 1.0 * (centre >= 1.0)
        direction = rng.standard_normal(n_columns)
        direction = np.where(inward != 0.0, inward * np.abs(direction), direction)
        if self.directions == "coordinate":
            direction = np.eye(n_columns)[int(rng.integers(n_columns))]
        elif self.directions == "descent":
            _, slope = Analytic.ucb(posterior, 0.0).slope(best)
            slope = np.where(slope * inward < 0.0, 0.0, slope)
            direction = slope if float(np.abs(slope).max()) > 1e-12 else direction
        return Line(seen.step, centre, np.round(direction / np.abs(direction).max(), 9))


def recall_line(seen: Observations, n_columns: int) -> tuple[Line | None, int]:
    """Return the line of the latest query that has one, and how many queries it had."""
    first, n = -1, 0
    for record in reversed(seen.records):
        data = record.data.get(KEY)
        if not isinstance(data, dict) or type(data.get("first")) is not int:
            continue
        if first < 0:
            first = data["first"]
        if data["first"] == first:
            n += 1
            line = Line.from_json(data, record.number, n_columns)
            if line is not None:
                return line, n
    return None, 0


def _is_settled(posterior: Posterior, Z: FloatArray, width: float, tolerance: float) -> bool:
    """Tell whether no point (m, D) can be better than the best one by more than a tolerance."""
    mean, variance = posterior.predict(Z)
    spread = width * np.sqrt(variance)
    return bool((mean + spread).max() - (mean - spread).max() < tolerance)
