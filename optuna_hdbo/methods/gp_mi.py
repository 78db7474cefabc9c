"""GP-MI (Contal, Perchet & Vayatis 2014).

"Gaussian Process Optimization with Mutual Information", ICML 2014. The exploration term phi_t
shrinks as information accumulates. The generic scheme, Algorithm 2, is
x_t = argmax mu_t(x) + phi_t(x); GP-MI, GP-UCB and the policy of Corollary 1 are its instances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import ClassVar
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import gained
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_decomposition
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_group_sizes
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.known import KernelParams
from optuna_hdbo._core.gp.known import check_kernel
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.additive import AdditiveModel
from optuna_hdbo._core.models.additive import PackedSearch
from optuna_hdbo._core.models.additive import grouped_columns
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.ensemble import FLAT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.groupings.packed import PACKED_SEARCHES
from optuna_hdbo._core.points import is_beside
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


Exploration = Literal["mi", "ucb", "variance"]

OPTIMISM = 0.5
"""Standard deviations between a constraint's mean and its lower bound, except for "ucb"."""

LEAST_NOISE = 1e-5
"""Smaller noise counts as this: matrices are singular without any."""


class GPMI:
    """Exploration by mutual information, and the other instances of its generic scheme.

    The parameters are those of :class:`optuna_hdbo.GPMISampler`, where they are described.
    """

    name = "gp-mi"
    models_constraints = True

    published: ClassVar[Mapping[str, Any]] = {
        "alternate": False,
        "kernel": "se",
        "ard": False,
        "priors": False,
        "noise": 0.01,
        "n_startup_trials": 10,
    }
    """Settings of the paper, its section 5.1.

    Ten uniform points; an isotropic squared exponential kernel with noise of 1 % of the signal;
    every query is that of GP-MI with delta = 1e-6. The paper estimates hyperparameters by
    cross-validation on half of a data set that a running study does not have; here they maximise
    the marginal likelihood of what was observed.
    """

    def __init__(
        self,
        *,
        exploration: Exploration = "mi",
        delta: float = 1e-6,
        beta: Beta = "practical",
        min_exploration: float = 0.0,
        alternate: bool = True,
        kernel: str = "matern52",
        ard: bool = True,
        priors: bool = True,
        noise: float | None = None,
        n_cyc: int | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        max_group_size: int | None = None,
        decomposition: Sequence[Sequence[str]] | None = None,
        ungrouped: Literal["error", "single", "centre"] = "error",
        decomposition_search: PackedSearch = "swap",
        n_decompositions: int | None = None,
    ) -> None:
        check_flags(alternate=alternate, ard=ard, priors=priors)
        check_choice("exploration", exploration, ("mi", "ucb", "variance"))
        check_number("delta", delta, above=0.0, below=1.0)
        check_beta(beta)
        check_number("min_exploration", min_exploration, least=0.0)
        self._fixed, self._cache = KernelParams.parse(kernel_params), FactorCache()
        fitted_kernel = check_kernel(kernel, self._fixed)
        check_number("noise", noise, above=0.0, most=1.0, optional=True)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_integer("max_group_size", max_group_size, 1, optional=True)
        check_choice("ungrouped", ungrouped, ("error", "single", "centre"))
        check_choice("decomposition_search", decomposition_search, tuple(PACKED_SEARCHES))
        check_integer("n_decompositions", n_decompositions, 0, optional=True)
        self.exploration = exploration
        self.delta = float(delta)
        self.root_alpha = math.sqrt(math.log(2.0) - math.log(delta))  # Theorem 2
        self.beta = beta
        self.min_exploration = min_exploration
        self.ungrouped = ungrouped
        beliefs = (ALL_MATTER, FEW_MATTER) if priors else (FLAT,)
        self.alternate = alternate
        self.kernel = kernel
        known = check_decomposition(decomposition)
        check_group_sizes(known, max_group_size)
        self._additive: AdditiveModel | None = None
        if known is not None or max_group_size is not None:
            size = 5 if max_group_size is None else max_group_size
            self._additive = AdditiveModel(
                fitted_kernel,
                size,
                known,
                ungrouped,
                decomposition_search,
                n_decompositions,
                n_cyc=n_cyc,
            )
        if self._additive is not None and self._fixed is not None:
            raise ValueError(
                "kernel_params must be None for a model with groups, but got "
                f"{kernel_params!r}. Leave out decomposition and max_group_size, or kernel_params."
            )
        bounds = Bounds()
        if noise is not None:
            variance = max(noise, LEAST_NOISE) ** 2
            bounds = Bounds(noise=(variance, variance))
        self._models = Ensemble(fitted_kernel, ard, beliefs, n_cyc, bounds)
        self._constraints = ConstraintModels(fitted_kernel)

    def validate(self, domain: Domain) -> None:
        """Raise ``ValueError`` where known groups or lengthscales do not fit the parameters."""
        if self._additive is not None:
            self._additive.validate(domain)
        if self._fixed is not None:
            self._fixed.check(domain)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        if self._fixed is not None:
            fitted = self._fixed.fitted(domain, self.kernel)
            posterior = self._cache.posterior(fitted, seen.X, seen.y, seen.pending)
        elif self._additive is None:
            posterior = self._models.drawn(domain, seen, memory, rng).posterior
        else:
            learning = streams.generator(f"{self.name}:groups", seen.step)
            fitted = self._additive.fitted(domain, seen, memory, learning)
            posterior = self._additive.posterior(fitted, seen)
        improves = self.alternate and seen.step % 2 == 0
        feasibility = self._constraints.fit(domain, seen, memory)
        best = good_points(seen.X, feasibility.merit)
        groups = None if self._additive is None else self._additive.known_groups(domain)
        free, centre = grouped_columns(domain, groups)
        effort = DEFAULT_EFFORT.at(len(seen.y))
        best[:, ~free] = centre[~free]
        best = domain.canonical(best)
        if not improves:
            if len(posterior.kernel.groups) == 1:
                bound = self._admitted(feasibility, posterior, seen, domain)
                x = maximise(bound, domain, best, seen.known, rng, free=free, effort=effort)
            else:
                x = self._per_group(domain, posterior, seen, best, rng, feasibility)
                x = unknown_near(domain, x, seen.known, rng, free)
            # Where another trial is under way the mean may be largest, whatever is known there.
            improves = self.alternate and is_beside(domain, x, seen.pending, seen.X)
        if improves:
            improvement = feasibility.improvement(posterior)
            x = maximise(improvement, domain, best, seen.known, rng, free=free, effort=effort)
        report = {**prediction(seen, posterior, x), "gamma": gained(posterior)}
        return Suggestion(x, memory.kept or None, report)

    def _admitted(
        self,
        feasibility: Feasibility,
        posterior: Posterior,
        seen: Observations,
        domain: Domain,
        group: int | None = None,
    ) -> Acquisition:
        """Return mu_t + phi_t where the constraints' lower bounds admit it; less elsewhere."""
        width = OPTIMISM
        if self.exploration == "ucb":
            n, d = len(seen.y), domain.breadth
            width = root_beta(self.beta, n, d, d, delta=self.delta)
        return feasibility.admitted(self._instance(posterior, seen, domain, group), width)

    def _instance(
        self, posterior: Posterior, seen: Observations, domain: Domain, group: int | None = None
    ) -> Analytic:
        """Return mu_t + phi_t, of one group's component if ``group`` is given."""
        if self.exploration == "variance":  # Corollary 1
            return Analytic.scaled_variance(posterior, 0.5 * self.root_alpha, group)
        if self.exploration == "mi":
            gamma = gained(posterior, group)  # gamma_{t-1} of Algorithm 1, line 5
            return Analytic.mi(posterior, self.root_alpha, gamma, self.min_exploration, group)
        groups = posterior.kernel.groups
        d = len(domain) if group is None else len(groups[group])
        width = root_beta(self.beta, len(seen.y), d, len(domain), len(groups), self.delta)
        return Analytic.ucb(posterior, max(width, self.min_exploration), group)

    def _per_group(
        self,
        domain: Domain,
        posterior: Posterior,
        seen: Observations,
        best: FloatArray,
        rng: np.random.Generator,
        feasibility: Feasibility,
    ) -> FloatArray:
        """Maximise mu + phi of every group separately, one group after the other.

        Constraints depend on all columns. They are evaluated with the finished groups at their new
        values and the other groups at the best point.
        """
        x: FloatArray = best[0].copy()
        for j, group in enumerate(posterior.kernel.groups):
            free = np.zeros(len(domain), np.bool_)
            free[group] = True
            starts = np.where(free, best, x)
            bound = self._admitted(feasibility, posterior, seen, domain, j)
            x[group] = maximise(bound, domain, starts, seen.X[:0], rng, free=free)[group]
        return np.array(domain.canonical(x[None])[0])
