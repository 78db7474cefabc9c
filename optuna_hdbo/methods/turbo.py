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
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_lengthscale
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.fitted import recall_or_refit
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.maximise import runs
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.region import Region
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.outputs import Output
from optuna_hdbo._core.outputs import warped_output
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


FIT, OUTPUT = "local", "local:output"
"""Keys under which a record keeps the fit of the model and the warping of its values."""

GROWTH = 0.05
"""Share of new observations after which the model is fitted again."""

WARM_STEPS, COLD_STEPS, COLD_EVERY = 8, 40, 8
"""Steps of a fit that goes on from the last one, of one that does not, and how many fits apart the
latter competes with the former."""


class TuRBO:
    """A trust region around the best point.

    The parameters are those of :class:`optuna_hdbo.TuRBOSampler`, where they are described.
    """

    name = "turbo"

    published: ClassVar[Mapping[str, Any]] = {
        "patience": 1.0,
        "warp": False,
        "adaptive_prior": False,
        "n_cyc": 1,
    }
    """Settings of the paper, as far as a single region with expected improvements has them.

    Patience of one failure per parameter, plain values, and a lengthscale prior that does not
    depend on the region.
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
        n_cyc: int | None = None,
    ) -> None:
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
        self.kernel = kernel
        self.warp = bool(warp)
        self.adaptive_prior = bool(adaptive_prior)
        self.n_cyc = n_cyc
        self._cache = FactorCache()
        self._constraints = ConstraintModels(kernel)

    def validate(self, domain: Domain) -> None:
        """Accept every domain."""

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of the largest expected improvement within the region."""
        rng = streams.generator(self.name, seen.step)
        memory = Memory(seen.records)
        everywhere = np.ones(len(domain), np.bool_)
        run = runs.next_run(seen, runs.follow(seen, self.rule), self.rule)
        if run is None:  # nothing is known elsewhere: begin at a random point
            x = domain.sample(rng, 1)[0]
            return Suggestion(unknown_near(domain, x, seen.known, rng, everywhere))
        memory.keep(runs.KEY, runs.to_json(run, seen))
        fitted, within = self._fitted(domain, seen, run, memory)
        region = self._region(domain, seen, run, fitted)
        posterior = self._cache.posterior(fitted, within.X, within.y, within.pending)
        x = self._ask(region, run, within, posterior, memory, rng)
        x = unknown_near(domain, x, seen.known, rng, everywhere)
        report = {**prediction(within, posterior, x), "region_length": run.length}
        return Suggestion(x, memory.kept or None, report)

    def _region(
        self, domain: Domain, seen: Observations, run: runs.Run, fitted: Fitted | None
    ) -> Region:
        lengthscales = np.ones(len(domain)) if fitted is None else fitted.kernel.lengthscales
        return Region.around(domain, seen.X[run.centre], run.length, lengthscales)

    def _fitted(
        self, domain: Domain, seen: Observations, run: runs.Run, memory: Memory
    ) -> tuple[Fitted, Observations]:
        """Return the model, fitted anew if that is due, and the observations as it sees them."""
        whole = [np.arange(len(domain))]
        last = recall_fit(memory, FIT, domain, whole)
        region = self._region(domain, seen, run, last)

        def refit(warm: Fitted | None) -> Fitted:
            if self.warp:
                memory.keep(OUTPUT, warped_output(seen.modelled_values).to_json())
            return self._refit(domain, self._seen(seen, memory), region, warm)

        fitted = recall_or_refit(
            memory, FIT, domain, len(seen.y), refit, groups=whole, n_cyc=self.n_cyc, growth=GROWTH
        )
        return fitted, self._seen(seen, memory)

    def _seen(self, seen: Observations, memory: Memory) -> Observations:
        output = memory.recall(OUTPUT, Output.from_json) if self.warp else None
        return seen if output is None else seen.warped(output)

    def _refit(
        self, domain: Domain, seen: Observations, region: Region, warm: Fitted | None
    ) -> Fitted:
        """Return a fit whose lengthscale prior is that of a unit cube as large as the region."""
        widths = region.widths if self.adaptive_prior else np.ones(len(domain))
        n_columns = len(domain)
        groups = [np.arange(n_columns)]
        cold = cold_start(domain, self.kernel, groups, cold_lengthscale(n_columns), 1e-3)
        starts, n_steps = [cold], [COLD_STEPS]
        if warm is not None:
            start = replace(warm.kernel, lengthscales=warm.kernel.lengthscales / widths)
            again = warm.cycle % COLD_EVERY == COLD_EVERY - 1
            starts, n_steps = [start, *starts[: int(again)]], [WARM_STEPS, COLD_STEPS][: 1 + again]
        kernel, value = fit(
            cold,
            np.ascontiguousarray(seen.X / widths),
            seen.y,
            prior=Prior("dimension-scaled", n_columns),
            bounds=Bounds(),
            starts=starts,
            n_steps=n_steps,
        )
        kernel = replace(kernel, lengthscales=kernel.lengthscales * widths)
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, value).rounded(domain)

    def _ask(
        self,
        region: Region,
        run: runs.Run,
        seen: Observations,
        posterior: Posterior,
        memory: Memory,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the best point of the region; improvements are on what its run has found."""
        feasibility = self._constraints.fit(region.domain, seen, memory)
        if run.number and feasibility.incumbent is not None:
            feasibility = replace(feasibility, incumbent=float(feasibility.merit[run.centre]))
        inside = region.contains(seen.X)
        inside[run.centre] = True
        best = region.inward(good_points(seen.X[inside], feasibility.merit[inside]))
        acquisition = region.view_feasibility(feasibility).improvement(region.view(posterior))
        u = maximise(
            acquisition,
            region.inner,
            region.inner.snap(best),
            region.inward(seen.known),
            rng,
            effort=DEFAULT_EFFORT.at(len(seen.y)),
        )
        return region.outward(u)
