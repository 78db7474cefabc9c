"""BAxUS (Papenmeier, Nardi & Poloczek 2022): an embedding that grows, and a trust region in it.

"Increasing the Scope as You Learn: Adaptive Bayesian Optimization in Nested Subspaces", NeurIPS
2022. Every column is plus or minus one of few coordinates, in balanced bins. When the trust region
has shrunk below its least side, bins are split, and all observations are kept (Algorithm 1 there).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from typing import ClassVar

import numpy as np

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.embedding import uniform_rows
from optuna_hdbo._core.embeddings.inside import Place
from optuna_hdbo._core.embeddings.inside import embedding_key
from optuna_hdbo._core.embeddings.inside import observed_at
from optuna_hdbo._core.embeddings.inside import places
from optuna_hdbo._core.embeddings.search import settle
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.region import Region
from optuna_hdbo._core.maximise.runs import Rule
from optuna_hdbo._core.maximise.runs import Run
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Record
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


RULE = Rule()
"""How sides double and are halved, as TuRBO's; BAxUS has its own number of failures."""


@dataclass(frozen=True)
class Plan:
    """How many coordinates there are, and for how long.

    Parameters
    ----------
    n_columns : int
        D.
    n_new_bins : int
        b: every bin becomes b + 1 of them.
    budget : int
        Trials after which all columns should have coordinates of their own.
    """

    n_columns: int
    n_new_bins: int
    budget: int

    @property
    def n_splits(self) -> int:
        """Splits from the first number of coordinates to D."""
        return round(math.log(self.n_columns, self.n_new_bins + 1))

    @property
    def first(self) -> int:
        """The first number of coordinates, from which the splits lead closest to D."""
        factor: int = (self.n_new_bins + 1) ** self.n_splits
        tries = range(1, self.n_new_bins + 1)
        d = min(tries, key=lambda i: abs(i * factor - self.n_columns))
        return min(d, self.n_columns)

    def n_coordinates(self, level: int) -> int:
        """Return the coordinates after ``level`` splits."""
        factor: int = (self.n_new_bins + 1) ** min(level, 64)
        return min(self.first * factor, self.n_columns)

    def n_failures(self, level: int) -> int:
        """Return the failures in a row after which the side is halved."""
        d = self.n_coordinates(level)
        growth = (self.n_new_bins + 1) ** (self.n_splits + 1) - 1
        share = self.n_new_bins * self.budget * d / (self.first * growth)
        halvings = math.floor(math.log(RULE.min_length / RULE.length, 0.5))
        failures: int = math.floor(round(share) / halvings)
        return max(1, min(d, failures))


class BAxUS(Method):
    """Trust regions in a growing embedding.

    The parameters are those of :class:`optuna_hdbo.baselines.BAxUSSampler`.
    """

    name = "baxus"

    published: ClassVar[Mapping[str, Any]] = {"n_new_bins": 3, "n_init": 10, "n_cyc": 1}
    """Settings of the paper: four bins from one, ten points at the start, and fits at every
    trial. It uses Thompson samples; here expected improvements are used."""

    def __init__(
        self,
        *,
        n_new_bins: int = 3,
        budget: int = 200,
        n_init: int = 5,
        kernel: str = "matern52",
        n_cyc: int | None = None,
    ) -> None:
        check_integer("n_new_bins", n_new_bins, 1)
        check_integer("budget", budget, 1)
        check_integer("n_init", n_init, 1)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_cyc", n_cyc, 1, optional=True)
        self.n_new_bins = n_new_bins
        self.budget = budget
        self.n_init = n_init
        self._models = Ensemble(kernel, True, (ALL_MATTER,), n_cyc, name="bins")
        self._constraints = ConstraintModels(kernel)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point (Algorithm 1)."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        key = embedding_key(self.name, seen, streams)
        plan = Plan(len(domain), self.n_new_bins, self.budget)
        placed = places(seen, key)
        level, length = follow(seen, placed, plan, self.n_init)
        embedding = binned(domain, plan.n_coordinates(level), key)
        inside = lifted(embedding, seen, placed)
        report = {"coordinates": float(embedding.d), "region_length": length}
        n, merit = len(inside.values), merits(inside)
        # On a plateau, such as one of infinite values, no point is a centre better than others.
        if n + len(inside.pending) < self.n_init or np.all(merit == merit[:1]):
            u = rng.random(embedding.d)
        else:
            inner = embedding.inner
            model = self._models.drawn(inner, inside, memory, rng)
            feasibility = self._constraints.fit(inner, inside, memory)
            centre = inside.X[int(np.argmax(feasibility.merit))]
            lengthscales = model.posterior.kernel.lengthscales
            region = Region.around(inner, centre, length, lengthscales)
            good = good_points(inside.X, feasibility.merit)
            good = good[region.contains(good)]
            good = good if len(good) else centre[None]
            effort = DEFAULT_EFFORT.at(n)
            u = region.improve(model.posterior, feasibility, good, inside.known, rng, effort)
            report |= prediction(inside, model.posterior, u)
        x = settle(embedding, u, Place(key, level, ()), seen, memory, rng)
        return Suggestion(x, memory.kept or None, report)


def binned(domain: Domain, d: int, key: int) -> Embedding:
    """Return the map in which column number r of a random order belongs to coordinate r mod d.

    So bins are balanced, and where d divides another number of coordinates, they are unions of
    the bins of that.
    """
    drawn = uniform_rows(domain, 2, key)
    ranks = np.empty(len(domain), np.int64)
    ranks[np.argsort(drawn[:, 0], kind="stable")] = np.arange(len(domain))
    return Embedding.assigned(domain, d, ranks % d, np.where(drawn[:, 1] < 0.5, -1.0, 1.0))


def lifted(
    embedding: Embedding, seen: Observations, placed: list[tuple[Record, Place]]
) -> Observations:
    """Return the trials of all levels so far in the coordinates of the present one."""
    d = embedding.d

    def lift(place: Place) -> FloatArray:
        return np.array(place.u)[np.arange(d) % len(place.u)]

    return observed_at(embedding, seen, [(r, lift(p)) for r, p in placed if len(p.u) <= d])


def follow(
    seen: Observations, placed: list[tuple[Record, Place]], plan: Plan, n_init: int
) -> tuple[int, float]:
    """Return the level of the next query, and the side of its trust region.

    A trial succeeds if it is better than all before it. One without a value fails.
    """
    merit = merits(seen)
    best, level, run = -math.inf, 0, Run(0, -1, RULE.length, -1)
    for i, (record, place) in enumerate(placed):
        if record.state == "running":
            continue
        row = seen.row_of.get(record.number)
        value = -math.inf if row is None else float(merit[row])
        success, best = value > best, max(value, best)
        if i < n_init or place.part != level:  # the start, or a trial that was asked for earlier
            continue
        run.count(success=success, rule=RULE, n_failures=plan.n_failures(level))
        if run.length < RULE.min_length:
            level += plan.n_coordinates(level) < plan.n_columns
            run = Run(0, -1, RULE.length, -1)
    return level, run.length
