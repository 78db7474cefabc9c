"""Expected improvement (Mockus 1978; Jones, Schonlau & Welch 1998) and its probability.

One Gaussian process over all columns. Every query maximises the expected improvement on the best
value, or the probability of one (Kushner 1964), by gradients or by DIRECT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from typing import ClassVar
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import Sum
from optuna_hdbo._core.acquisition.analytic import terms
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.known import KernelParams
from optuna_hdbo._core.gp.known import check_kernel
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.direct import direct
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import FLAT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


MaximiserName = Literal["gradient", "direct"]
MAXIMISERS = ("gradient", "direct")


class EI:
    """The largest expected improvement under one Gaussian process.

    The parameters are those of :class:`optuna_hdbo.baselines.EISampler`.
    """

    name = "ei"
    models_constraints = True
    default_margin = 0.0

    published: ClassVar[Mapping[str, Any]] = {
        "kernel": "se",
        "ard": False,
        "priors": False,
        "n_startup_trials": 10,
    }
    """Settings of Contal et al. (2014), section 5.1: ten random points, and an isotropic squared
    exponential kernel. There it is fitted once, before the study; here by maximum likelihood."""

    def __init__(
        self,
        *,
        margin: float | None = None,
        maximiser: MaximiserName = "gradient",
        kernel: str = "matern52",
        ard: bool = True,
        priors: bool = True,
        n_cyc: int | None = None,
        kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        check_flags(ard=ard, priors=priors)
        check_number("margin", margin, least=0.0, optional=True)
        check_choice("maximiser", maximiser, MAXIMISERS)
        self._known, self._cache = KernelParams.parse(kernel_params), FactorCache()
        self.kernel, kernel = kernel, check_kernel(kernel, self._known)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        self.margin = self.default_margin if margin is None else float(margin)
        self.maximiser = maximiser
        self._models = Ensemble(kernel, ard, (ALL_MATTER if priors else FLAT,), n_cyc)
        self._constraints = ConstraintModels(kernel)

    def validate(self, domain: Domain) -> None:
        """Raise ``ValueError`` where known lengthscales do not fit the parameters."""
        if self._known is not None:
            self._known.check(domain)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of the largest acquisition value."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        if self._known is not None:
            fitted = self._known.fitted(domain, self.kernel)
            posterior = self._cache.posterior(fitted, seen.X, seen.y, seen.pending)
        else:
            posterior = self._models.drawn(domain, seen, memory, rng).posterior
        feasibility = self._constraints.fit(domain, seen, memory)
        acquisition = self._acquisition(posterior, feasibility)
        divides = posterior.kernel.is_compiled and not domain.gates
        if self.maximiser == "direct" and divides and isinstance(acquisition, Analytic):
            x = direct(acquisition, domain, min(5000, 100 * len(domain)))
            x = unknown_near(domain, x, seen.known, rng)
        else:
            best, effort = good_points(seen.X, feasibility.merit), DEFAULT_EFFORT.at(len(seen.y))
            x = maximise(acquisition, domain, best, seen.known, rng, effort=effort)
        return Suggestion(x, memory.kept or None, prediction(seen, posterior, x))

    def _acquisition(self, posterior: Posterior, feasibility: Feasibility) -> Acquisition:
        incumbent = feasibility.incumbent(posterior)
        incumbent = None if incumbent is None else incumbent + self.margin
        return feasibility.improvement(posterior, incumbent)


class PI(EI):
    """The largest probability of improvement under one Gaussian process.

    The parameters are those of :class:`optuna_hdbo.baselines.PISampler`.
    """

    name = "pi"
    default_margin = 0.01

    def _acquisition(self, posterior: Posterior, feasibility: Feasibility) -> Acquisition:
        incumbent = feasibility.incumbent(posterior)
        if incumbent is None:
            return feasibility.improvement(posterior)
        probability = Analytic.log_pi(posterior, incumbent + self.margin)
        if not feasibility.constraints:
            return probability
        unknown = replace(feasibility, feasible=np.zeros_like(feasibility.feasible))
        return Sum([probability, *terms(unknown.improvement(posterior))])
