"""TuRBO (Eriksson, Pearce, Gardner, Turner & Poloczek 2019): a trust region around the best point.

"Scalable Global Optimization via Local Bayesian Optimization", NeurIPS 2019. A box around the best
point grows after successes and shrinks after failures. Once it is tiny, another one begins
elsewhere. By default the lengthscale prior scales with the box, as in AdaScale (arXiv 2604.22967),
and the model sees warped values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from typing import ClassVar

import numpy as np

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.maximise import runs
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.region import Region
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.ensemble import FEW_MATTER_WARPED
from optuna_hdbo._core.models.ensemble import GROWTH_OF_SEVERAL
from optuna_hdbo._core.models.ensemble import LOCAL
from optuna_hdbo._core.models.ensemble import NONE_INTERACT
from optuna_hdbo._core.models.ensemble import NONE_INTERACT_WARPED
from optuna_hdbo._core.models.ensemble import Believed
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.ensemble import draw_model
from optuna_hdbo._core.models.ensemble import suited
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


GROWTH = 0.05
"""Share of new observations after which the model is fitted again."""


LEAST_TURNED, MOST_TURNED = 5, 25
"""Columns between which a model with lengthscales along learned directions takes part."""

LEAST_TO_TURN, LEAST_PER_COLUMN = 40, 3
"""Observations from which on it does, in all and per column: directions of few points cost more
than they bring."""


LENGTH = "region_length"
"""Key under which a report says how wide the region was, in shares of the ranges."""


def may_turn(domain: Domain, n: int) -> bool:
    """Tell whether directions across all columns have a meaning and can be learned."""
    D = len(domain)
    numerical = not domain.categorical.any() and not domain.gates
    enough = n >= max(LEAST_TO_TURN, LEAST_PER_COLUMN * D)
    return enough and numerical and LEAST_TURNED <= D <= MOST_TURNED


class TuRBO(Method):
    """A trust region around the best point.

    The parameters are those of :class:`optuna_hdbo.TuRBOSampler`, where they are described, and
    ``frugal`` of :class:`Ensemble`. With ``pooled`` a model with pooled lengthscales takes part,
    and sums have such lengthscales, too.
    """

    name = "turbo"
    models_constraints = True
    looks_outside = True

    published: ClassVar[Mapping[str, Any]] = {
        "patience": 1.0,
        "warp": False,
        "adaptive_prior": False,
        "separable": False,
        "rotated": False,
        "n_cyc": 1,
    }
    """Settings of the paper, as far as a single region with expected improvements has them.

    The patience is one failure per parameter, values are not warped, there is one model, and the
    lengthscale prior does not depend on the region.
    """

    def __init__(
        self,
        *,
        length: float = 0.8,
        min_length: float = 2.0**-7,
        max_length: float = 1.6,
        n_successes: int = 3,
        patience: float = 0.25,
        kernel: str = "matern52",
        warp: bool = True,
        adaptive_prior: bool = True,
        separable: bool = True,
        rotated: bool = True,
        pooled: bool = False,
        n_cyc: int | None = None,
        frugal: bool = False,
    ) -> None:
        check_flags(warp=warp, adaptive_prior=adaptive_prior, separable=separable, rotated=rotated)
        check_number("length", length, above=0.0, most=2.0)
        check_number("min_length", min_length, above=0.0, below=length)
        check_number("max_length", max_length, least=length, most=4.0)
        check_integer("n_successes", n_successes, 1)
        check_number("patience", patience, above=0.0, most=100.0)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_cyc", n_cyc, 1, optional=True)
        self.rule = runs.Rule(
            float(length), float(min_length), float(max_length), int(n_successes), float(patience)
        )
        self.adaptive_prior = bool(adaptive_prior)
        self._belief = FEW_MATTER_WARPED if warp else FEW_MATTER
        sums = (NONE_INTERACT, NONE_INTERACT_WARPED) if warp else (NONE_INTERACT,)
        self._sums = tuple(replace(b, pooled=pooled) for b in sums) if separable else ()
        self._pooled = replace(self._belief, pooled=pooled)
        self._turned = replace(self._belief, rotated=True) if rotated else None
        self._local = Ensemble(kernel, True, (self._belief,), n_cyc, name=LOCAL, frugal=frugal)
        # These have the same name as those of GP-UCB, so that a portfolio fits them once.
        self._whole = Ensemble(kernel, True, self._sums, n_cyc, frugal=frugal)
        self._constraints = ConstraintModels(kernel)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of the largest expected improvement within the region."""
        rng = streams.generator(self.name, seen.step)
        memory = Memory(seen.records)
        run = runs.next_run(seen, runs.follow(seen, self.rule, domain.breadth), self.rule)
        if run is None:  # nothing is known elsewhere: begin at a random point
            x = domain.sample(rng, 1)[0]
            return Suggestion(unknown_near(domain, x, seen.known, rng))
        memory.keep(runs.KEY, runs.to_json(run, seen))
        models = self._models(domain, seen, run, memory)
        lengthscales = models[0].posterior.kernel.lengthscales
        region = Region.around(domain, seen.X[run.centre], run.length, lengthscales)
        model = draw_model(models, rng)
        x = self._ask(region, run, model, memory, rng)
        x = unknown_near(domain, x, seen.known, rng)
        report = prediction(model.seen, model.posterior, x, model.evidence)
        return Suggestion(x, memory.kept, {**report, LENGTH: run.length})

    def _models(
        self, domain: Domain, seen: Observations, run: runs.Run, memory: Memory
    ) -> list[Believed]:
        """Return the models of the region, the first one with a lengthscale for each column."""
        widths = None
        if self.adaptive_prior:
            groups = self._belief.groups(domain)
            last = recall_fit(memory, f"{LOCAL}:{self._belief.key}", domain, groups)
            lengthscales = np.ones(len(domain)) if last is None else last.kernel.lengthscales
            region = Region.around(domain, seen.X[run.centre], run.length, lengthscales)
            widths = region.widths
        own, pooled = [self._belief], self._pooled.of(domain)
        if pooled.pooled:
            own.append(pooled)
        if self._turned is not None and may_turn(domain, len(seen.y)):
            own.append(self._turned)
        asked = [(self._local, belief, GROWTH) for belief in own]
        asked += [
            (self._whole, belief, GROWTH_OF_SEVERAL) for belief in suited(self._sums, domain)
        ]
        found: list[Believed] = []
        for models, belief, growth in asked:
            found.append(
                models.believed(
                    domain,
                    seen,
                    belief,
                    memory,
                    growth,
                    compared=len(asked) > 1,
                    widths=widths if models is self._local else None,
                    axes=found[0].posterior.kernel if found else None,
                )
            )
        return found

    def _ask(
        self,
        region: Region,
        run: runs.Run,
        model: Believed,
        memory: Memory,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the best point of the region.

        Improvements are measured against the best point that the region's run has found.
        """
        seen = model.seen
        feasibility = self._constraints.fit(region.domain, seen, memory)
        if run.number and feasibility.feasible.any():
            found = np.arange(len(seen.y)) == run.centre
            feasibility = replace(feasibility, feasible=found)
        inside = region.contains(seen.X)
        inside[run.centre] = True
        good = good_points(seen.X[inside], feasibility.merit[inside])
        effort = DEFAULT_EFFORT.at(len(seen.y))
        return region.improve(model.posterior, feasibility, good, seen.known, rng, effort)
