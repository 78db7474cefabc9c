"""Add-GP-UCB (Kandasamy, Schneider & Poczos 2015).

"High Dimensional Bayesian Optimisation and Bandits via Additive Models", ICML 2015.
f is a sum of functions of small disjoint groups of columns; the grouping is learned by marginal
likelihood, and each query costs low-dimensional maximisations only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from typing import ClassVar
from typing import Literal
from typing import get_args

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_decomposition
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_group_sizes
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.direct import direct
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.maximise.queries import centres
from optuna_hdbo._core.maximise.queries import has_stalled
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.stages import Stage
from optuna_hdbo._core.maximise.stages import in_domain
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.additive import PUBLISHED_BOUNDS
from optuna_hdbo._core.models.additive import SEARCHES
from optuna_hdbo._core.models.additive import AdditiveModel
from optuna_hdbo._core.models.additive import GroupSearch
from optuna_hdbo._core.models.additive import bandwidth_cap
from optuna_hdbo._core.models.additive import grouped_columns
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


KernelName = Literal["se", "matern32", "matern52"]
Update = Literal["alternate", "all_groups", "one_group", "sequential"]
MaximiserName = Literal["gradient", "direct", "direct+gradient"]

EXPLORING = Effort(n_uniform=150, n_perturbed=50, n_starts=5, n_steps=40)

FIRST_BANDWIDTH = 5e-6
"""1e-5 on [-1, 1]: no point tells anything about another. DIRECT then returns the centre, and
points that differ from it in few columns."""

CLIMB_STEPS = 80
"""Steps of the climb from the point that DIRECT has found."""

AWAY = 0.2
"""Least distance of exploring points from the best one. Other suggestions refine nearer points."""

RANDOM_SHARE = 0.25
"""Share of the exploring queries that move random columns, where groups merge."""


class AddGPUCB:
    """Additive Gaussian process with upper confidence bounds over groups of columns.

    The parameters are those of :class:`optuna_hdbo.AddGPUCBSampler`, and the model's last one.
    """

    name = "add-gp-ucb"
    looks_outside = True

    published: ClassVar[Mapping[str, Any]] = {
        "decomposition_search": "random",
        "kernel": "se",
        "shared_hyperparameters": True,
        "n_cyc": 25,
        "beta": "practical",
        "update": "all_groups",
        "maximiser": "direct",
        "n_small_bandwidth": 35,
        "shrink_bandwidth": True,
        "n_startup_trials": 10,
    }
    """Settings of the paper, its section 5 and Algorithm 2.

    Ten uniform points; every 25 observations bandwidth, scale and the likeliest of D random
    partitions; squared exponential kernels that share one bandwidth and one scale; every group's
    bound with beta_t = 0.2 d log(2 t) maximised by DIRECT at every query; a tiny bandwidth for the
    first 25 iterations; the authors' reduction of the bandwidth.
    """

    def __init__(
        self,
        *,
        max_group_size: int = 5,
        decomposition: Sequence[Sequence[str]] | None = None,
        ungrouped: Literal["error", "single", "centre"] = "error",
        decomposition_search: GroupSearch = "merge",
        n_decompositions: int | None = None,
        kernel: KernelName = "matern52",
        shared_hyperparameters: bool = False,
        n_cyc: int | None = None,
        beta: Beta = 4.0,
        update: Update = "alternate",
        n_per_group: int = 20,
        maximiser: MaximiserName = "gradient",
        n_small_bandwidth: int = 0,
        shrink_bandwidth: bool = False,
        frugal: bool = False,
    ) -> None:
        check_flags(
            shared_hyperparameters=shared_hyperparameters, shrink_bandwidth=shrink_bandwidth
        )
        check_integer("max_group_size", max_group_size, 1)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_integer("n_decompositions", n_decompositions, 0, optional=True)
        check_integer("n_small_bandwidth", n_small_bandwidth, 0)
        check_choice("kernel", kernel, tuple(KINDS))
        check_choice("decomposition_search", decomposition_search, SEARCHES)
        check_choice("update", update, get_args(Update))
        check_integer("n_per_group", n_per_group, 1)
        check_choice("maximiser", maximiser, get_args(MaximiserName))
        check_choice("ungrouped", ungrouped, ("error", "single", "centre"))
        check_beta(beta)
        if update == "sequential" and decomposition is None:
            raise ValueError(
                'update="sequential" needs the groups, but decomposition is None. Pass the groups '
                "as lists of parameter names."
            )
        self.max_group_size = max_group_size
        self.decomposition = check_decomposition(decomposition)
        check_group_sizes(self.decomposition, max_group_size)
        self.ungrouped = ungrouped
        self.decomposition_search = decomposition_search
        self.beta = beta
        self.update = update
        self.models_constraints = update == "alternate"
        self.n_per_group = n_per_group
        self.maximiser = maximiser
        self.n_small_bandwidth = n_small_bandwidth
        self.shrink_bandwidth = shrink_bandwidth
        groups = (max_group_size, self.decomposition, ungrouped, decomposition_search)
        self._model = AdditiveModel(
            kernel, *groups, n_decompositions, shared_hyperparameters, n_cyc, frugal
        )
        self._plain = EnsembleQueries(Ensemble(kernel, True, (ALL_MATTER,), n_cyc), "log-ei")
        self._constraints = ConstraintModels(kernel)

    def validate(self, domain: Domain) -> None:
        """Raise ``ValueError`` where the known decomposition does not fit the parameters."""
        self._model.validate(domain)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        groups = self._model.known_groups(domain)
        if self.update == "sequential":
            return self._sequential(domain, in_domain(domain, seen), memory, rng)
        fitted = self._model.recall(domain, memory)
        window = max(8, domain.breadth // 2)
        # From all values: after focusing, the early values of a long study are equal.
        stalled = fitted is not None or has_stalled(standardise(seen.values)[0], window)
        if self.update == "alternate" and (not stalled or seen.step % 4 == 3):
            # No groups are needed while the plain model makes progress. Later it corrects what the
            # groups may have got wrong.
            x, model = self._plain.query(domain, seen, memory, 0.0, rng, self._constraints)
            posterior = model.posterior
            x = self._settled(domain, seen, posterior.kernel, x, groups, rng)
            return Suggestion(x, memory.kept or None, self._report(seen, posterior, x, fitted))
        cap, small = memory.recall("cap", bandwidth_cap) or (PUBLISHED_BOUNDS.lengthscale[1], 0)
        learning = streams.generator(f"{self.name}:groups", seen.step)
        fitted = self._model.renewed(fitted, domain, seen, memory, learning, cap)
        kernel = fitted.kernel
        if len(seen.y) < self.n_small_bandwidth or self.shrink_bandwidth:
            limit = FIRST_BANDWIDTH if len(seen.y) < self.n_small_bandwidth else cap
            kernel = replace(kernel, lengthscales=np.minimum(kernel.lengthscales, limit))
            fitted = replace(fitted, kernel=kernel)
        posterior = self._model.posterior(fitted, seen)
        if self.update == "alternate":
            feasibility = self._constraints.fit(domain, seen, memory)
            x = self._alternate(domain, seen, posterior, rng, feasibility)
        else:
            x = self._per_group(domain, seen, posterior, rng)
        if self.shrink_bandwidth:
            std = math.sqrt(posterior.predict(x[None])[1][0])
            small = small + 1 if std < 0.002 else 0
            least = PUBLISHED_BOUNDS.lengthscale[0]
            cap, small = (max(0.9 * cap, least), 0) if small >= 5 else (cap, small)
            memory.keep("cap", [float(cap), small])
        x = self._settled(domain, seen, kernel, x, groups, rng)
        return Suggestion(x, memory.kept or None, self._report(seen, posterior, x, fitted))

    def _sequential(
        self, domain: Domain, seen: Observations, memory: Memory, rng: np.random.Generator
    ) -> Suggestion:
        """Maximise the bound of the group whose stage it is, alone (Algorithm 4)."""
        groups = self._model.known_groups(domain)
        assert groups is not None  # see the constructor
        stage = Stage.current(groups, seen, memory, self.n_per_group)
        within = stage.observations(seen)
        names = tuple(domain.names[i] for i in groups[stage.group])
        model = replace(self._model, decomposition=(names,), ungrouped="centre")
        fitted = model.fitted(domain, within, memory, rng)
        posterior = model.posterior(fitted, within)
        x = np.where(stage.free, self._per_group(domain, within, posterior, rng), stage.theta)
        x = domain.canonical(x[None])[0]
        for free in (stage.free, grouped_columns(domain, groups)[0]):  # a group may be exhausted
            x = unknown_near(domain, x, seen.known, rng, free)
        return Suggestion(x, memory.kept or None, self._report(within, posterior, x, fitted))

    def _alternate(
        self,
        domain: Domain,
        seen: Observations,
        posterior: Posterior,
        rng: np.random.Generator,
        feasibility: Feasibility,
    ) -> FloatArray:
        """Explore in one group, or maximise the expected improvement of the additive posterior.

        Exploring maximises the bound of the joint posterior with the other groups at the best
        point, where they were observed. A component's own bound (eq. (6)) is wide everywhere,
        because a constant can be moved from one component to another.
        """
        best = centres(domain, seen, feasibility.merit)
        if seen.step % 4 == 1:
            return maximise(feasibility.improvement(posterior), domain, best, seen.known, rng)
        moved = self._moved(domain, posterior.kernel, rng)
        free = np.zeros(len(domain), np.bool_)
        free[moved] = True
        width = root_beta(
            self.beta, len(seen.y), len(moved), len(domain), len(posterior.kernel.groups)
        )
        bound = feasibility.optimistic(posterior, width)
        return maximise(
            bound, domain, best, seen.known, rng, free=free, effort=EXPLORING, away=AWAY
        )

    def _moved(self, domain: Domain, kernel: Kernel, rng: np.random.Generator) -> IntArray:
        """Return the columns of the groups that explore.

        Groups with a larger range, the root of their scale, are drawn more often. Every other time
        two groups move together: a column may sit in the wrong one of them. Where columns may be
        alone, groups are drawn until they have as many columns as one group or two groups may
        have. A quarter of these queries moves random columns instead, because groups that were
        learned from data mislead (Ziomek & Bou Ammar 2023).
        """
        groups, size = kernel.groups, min(self.max_group_size, len(domain))
        weights = np.sqrt(kernel.scales)
        merges = self._model.merges(domain)
        if merges and rng.random() < RANDOM_SHARE:
            return rng.permutation(len(domain))[:size]
        order = rng.choice(len(groups), len(groups), replace=False, p=weights / weights.sum())
        n_moved = 2 if len(groups) > 2 and rng.random() < 0.5 else 1
        if not merges:
            return np.concatenate([groups[j] for j in order[:n_moved]]).astype(np.int64)
        moved: list[int] = []
        for j in order:
            if not moved or len(moved) + len(groups[j]) <= n_moved * size:
                moved += groups[j].tolist()
        return np.array(moved, np.int64)

    def _per_group(
        self, domain: Domain, seen: Observations, posterior: Posterior, rng: np.random.Generator
    ) -> FloatArray:
        """Maximise every group's bound separately (Algorithm 1), or one in turn (Algorithm 5)."""
        groups = posterior.kernel.groups
        t = len(seen.y)
        x: FloatArray = domain.from_unit(np.full((1, len(domain)), 0.5))[0]
        chosen = list(range(len(groups)))
        if self.update == "one_group":
            x = seen.X[-1].copy()
            chosen = [self._turn(seen, posterior.kernel)]
        budget = min(5000, 100 * len(domain))
        budget = math.ceil((0.9 if len(groups) > 1 else 1.0) * budget / len(groups))
        for j in chosen:
            width = root_beta(self.beta, t, len(groups[j]), len(domain), len(groups))
            acquisition = Analytic.ucb(posterior, width, group=j)  # eq. (6)
            free = np.isin(np.arange(len(domain)), groups[j])
            if self.maximiser != "gradient":
                x[groups[j]] = direct(acquisition, domain, budget)
            if self.maximiser == "direct+gradient":
                x = acquisition.ascend(x[None], free & ~domain.discrete, CLIMB_STEPS)[0][0]
            if self.maximiser == "gradient":
                best = centres(domain, seen, seen.y)
                found = maximise(acquisition, domain, best, seen.X[:0], rng, free=free)
                x[groups[j]] = found[groups[j]]
        return x

    @staticmethod
    def _turn(seen: Observations, kernel: Kernel) -> int:
        """Return the place of the group whose turn it is (Algorithm 5)."""
        return len(seen.y) % len(kernel.groups)

    def _settled(
        self,
        domain: Domain,
        seen: Observations,
        kernel: Kernel,
        x: FloatArray,
        groups: Sequence[IntArray] | None,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return a proposal with ungrouped columns at their centre, away from known points.

        A proposal that equals a known point is moved by a tenth of the bandwidth (the authors'
        code), or to another value of a discrete column.
        """
        free, centre = grouped_columns(domain, groups)
        x = domain.canonical(np.where(free, x, centre)[None])[0]
        if (np.abs(seen.known - x).max(axis=1) > 1e-12).all():
            return x
        moved = free & ~domain.discrete
        if self.update == "one_group":
            moved[np.delete(np.arange(len(x)), kernel.groups[self._turn(seen, kernel)])] = False
        step = 0.1 * kernel.lengthscales * rng.standard_normal(len(x))
        x = domain.snap((x + np.where(moved, step, 0.0))[None])[0]
        return unknown_near(domain, x, seen.known, rng, free)

    def _report(
        self, seen: Observations, posterior: Posterior, x: FloatArray, fitted: Fitted | None
    ) -> Mapping[str, float]:
        report = prediction(seen, posterior, x)
        return report if fitted is None else {**report, "n_groups": len(fitted.kernel.groups)}
