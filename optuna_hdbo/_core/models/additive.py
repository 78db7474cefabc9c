"""An additive model whose grouping is known or learned, for all methods with groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.checks import check_names_known
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import rarer
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.fitted import refit_if_due
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import n_fit_steps
from optuna_hdbo._core.models.ensemble import starts_of_fit
from optuna_hdbo._core.models.groupings import packed
from optuna_hdbo._core.models.groupings.learning import Learning
from optuna_hdbo._core.observations import Observations


PackedSearch = Literal["swap", "random", "gibbs"]
GroupSearch = Literal["merge", PackedSearch]

SEARCHES = ("merge", *packed.PACKED_SEARCHES)

ADDITIVE_FIT = "additive"
"""Key of the fits in records."""

PUBLISHED_BOUNDS = Bounds(lengthscale=(5e-6, 2.5), scale=(0.03, 30.0), noise=(0.01, 0.01))
"""Ranges of the authors' code, its domain [-1, 1] mapped to [0, 1] and values standardised."""

LEARN_GROWTH, MERGE_GROWTH = 0.08, 0.15
"""A new fit and search is due when observations have grown by this share; the latter where groups
merge, because that search costs more."""

MOST_MERGED = 64
"""With more columns than this none begins alone: groups are packed.

There would be thousands of pairs to be sure about, and a component for each column costs as many
exponentials as there are columns. Groups of five cost a fifth.
"""

MOST_GROUPS = 100_000
"""Columns in all partitions that a random search scores by default, but for eight partitions.

The paper scores D partitions of D columns, which takes a minute from 1500 columns on.
"""

MOST_SCORED = 640
"""Most groupings that a first search scores by default."""


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """How an additive model is learned.

    Parameters
    ----------
    kind : str
        Kernel of every group.
    max_group_size : int
    decomposition : tuple of tuples of str, or None
        The groups by parameter name; ``None`` to learn them.
    ungrouped : {"error", "single", "centre"}
        How columns that ``decomposition`` leaves out are treated.
    search : {"merge", "swap", "random", "gibbs"}
        The first lets columns be alone; the others pack them into as few groups as possible.
    n_decompositions : int or None
        Groupings scored at each search.
    shared : bool
        One lengthscale and one scale for all groups, no priors and noise fixed at 1 %, as
        Kandasamy et al. (2015) and their code have it.
    n_cyc : int or None
        See :func:`is_due`.
    frugal : bool
        Whether fits are :func:`rarer`.
    """

    kind: str
    max_group_size: int
    decomposition: tuple[tuple[str, ...], ...] | None = None
    ungrouped: str = "error"
    search: GroupSearch = "swap"
    n_decompositions: int | None = None
    shared: bool = False
    n_cyc: int | None = None
    frugal: bool = False
    _cache: FactorCache = field(default_factory=FactorCache, init=False)

    def validate(self, domain: Domain) -> None:
        """Raise ``ValueError`` where the known decomposition does not fit the parameters."""
        if self.decomposition is None:
            return
        named = {name for group in self.decomposition for name in group}
        left = sorted(set(domain.names) - named)
        if left and self.ungrouped == "error":
            unknown = sorted(named - set(domain.names))
            also = f" and names {unknown}, which the study does not have" if unknown else ""
            raise ValueError(
                f"decomposition must hold every parameter, but it leaves out {left}{also}. Add "
                'what is missing, or pass ungrouped="single" to make each a group of its own, or '
                'ungrouped="centre" to leave them at the centre of their range.'
            )
        check_names_known("decomposition", named, domain.names)

    def known_groups(self, domain: Domain) -> tuple[IntArray, ...] | None:
        """Return the user's groups, less the parameters that this domain lacks."""
        if self.decomposition is None:
            return None
        index = {name: i for i, name in enumerate(domain.names)}
        groups = [[index[name] for name in group if name in index] for group in self.decomposition]
        if self.ungrouped != "centre":
            used = {i for group in groups for i in group}
            groups += [[i] for i in range(len(domain)) if i not in used]
        return join([group for group in groups if group] or [[i] for i in range(len(domain))])

    def recall(self, domain: Domain, memory: Memory) -> Fitted | None:
        """Return the last fit, with the user's groups if there are any; ``None`` without one."""
        return recall_fit(memory, ADDITIVE_FIT, domain, self.known_groups(domain))

    def fitted(
        self,
        domain: Domain,
        seen: Observations,
        memory: Memory,
        rng: np.random.Generator,
    ) -> Fitted:
        """Return the last fit, or a new one if that is due; see :meth:`learn`."""
        return self.renewed(self.recall(domain, memory), domain, seen, memory, rng)

    def renewed(
        self,
        last: Fitted | None,
        domain: Domain,
        seen: Observations,
        memory: Memory,
        rng: np.random.Generator,
        cap: float = PUBLISHED_BOUNDS.lengthscale[1],
    ) -> Fitted:
        """Return :meth:`fitted`, given what :meth:`recall` returns."""
        growth = MERGE_GROWTH if self.merges(domain) else LEARN_GROWTH
        return refit_if_due(
            last,
            memory,
            ADDITIVE_FIT,
            domain,
            len(seen.y),
            lambda last: self.learn(domain, seen, last, rng, cap),
            n_cyc=self.n_cyc,
            growth=rarer(growth, domain, frugal=self.frugal),
        )

    def merges(self, domain: Domain) -> bool:
        """Tell whether columns begin alone, and groups are as many as the data ask for."""
        known = self.decomposition is not None
        return self.search == "merge" and not known and len(domain) <= MOST_MERGED

    def posterior(self, fitted: Fitted, seen: Observations) -> Posterior:
        """Return the posterior of the sum under a fit."""
        return self._cache.posterior(fitted, seen.X, seen.y, seen.pending)

    def learn(
        self,
        domain: Domain,
        seen: Observations,
        warm: Fitted | None,
        rng: np.random.Generator,
        cap: float = PUBLISHED_BOUNDS.lengthscale[1],
    ) -> Fitted:
        """Fit hyperparameters and, unless it is known, the grouping.

        ``cap`` is the largest bandwidth where hyperparameters are shared.
        """
        if self.merges(domain):
            return self._learn_by_merging(domain, seen, warm, rng)
        size = min(self.max_group_size, len(domain))
        known = self.known_groups(domain)
        if known is not None:
            groups = known
        elif warm is not None and max(len(g) for g in warm.kernel.groups) <= size:
            groups = warm.kernel.groups
        else:
            groups = join(packed.random_groups(len(domain), size, rng))
        kernel, likelihood = self._fit(domain, seen, groups, warm, cap)
        if self.decomposition is None and len(domain) > 1:
            n = self._n_to_score(domain, len(seen.y), first=warm is None)
            kind = "swap" if self.search == "merge" else self.search
            other = packed.improved(kind, kernel, seen.X, seen.y, size, n, rng)
            if other is not None:
                start = Fitted(other, 0, 0, likelihood)
                other, value = self._fit(domain, seen, other.groups, start, cap)
                if value > likelihood:  # each at its own hyperparameters
                    kernel, likelihood = other, value
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, likelihood).rounded(domain)

    def _learn_by_merging(
        self, domain: Domain, seen: Observations, warm: Fitted | None, rng: np.random.Generator
    ) -> Fitted:
        """Fit hyperparameters and a grouping whose groups may be of any size up to the largest."""
        size, cap = min(self.max_group_size, len(domain)), PUBLISHED_BOUNDS.lengthscale[1]
        if warm is not None and max(len(g) for g in warm.kernel.groups) > size:
            warm = None
        points = packed.compared(seen.X, seen.y, 3 * len(domain), rng)
        n = self._n_to_score(domain, len(seen.y), first=warm is None)

        def fitted(groups: tuple[IntArray, ...], begin: Kernel | None) -> tuple[Kernel, float]:
            start = warm
            if warm is None or begin is not warm.kernel:
                start = None if begin is None else Fitted(begin, 0, 0, 0.0)
            return self._fit(domain, seen, groups, start, cap)

        learning, cycle = Learning(fitted, *points, size, n), 0
        if warm is None:
            alone = join([[c] for c in range(len(domain))])
            kernel, value = learning.first(cold_start(domain, self.kind, alone, 0.5, 1e-3))
        else:
            kernel, value = learning.later(warm.kernel.groups, warm.kernel, warm.cycle)
            cycle = warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, value).rounded(domain)

    def _n_to_score(self, domain: Domain, n: int, *, first: bool) -> int:
        """Return how many groupings a search may score."""
        n_columns = len(domain)
        if self.n_decompositions is not None:
            return self.n_decompositions
        if self.search == "random":
            return min(n_columns, max(MOST_GROUPS // n_columns, 8))
        if self.merges(domain):  # which ranks by derivatives what it scores
            later = math.ceil(n_columns * min(2.0, 1e4 / n**2))
            return 12 * n_columns if first else max(12, later)
        # From scratch, a local search recovers the groups of 12 columns in 16 D scores. Later
        # searches continue from there, with fewer scores as these become expensive.
        if first:
            return min(16 * n_columns, MOST_SCORED)
        return min(math.ceil(n_columns * min(4.0, max(0.25, 1e4 / n**2))), MOST_SCORED // 8)

    def _fit(
        self,
        domain: Domain,
        seen: Observations,
        groups: Sequence[IntArray],
        warm: Fitted | None,
        cap: float,
    ) -> tuple[Kernel, float]:
        shared = self.shared
        cold = cold_start(domain, self.kind, groups, min(0.5, cap), 0.01 if shared else 1e-3)
        starts = starts_of_fit(warm, cold)
        if len(starts[0].scales) != len(cold.scales):
            starts[0] = cold
        if shared:
            low, high = PUBLISHED_BOUNDS.lengthscale
            bounds = replace(PUBLISHED_BOUNDS, lengthscale=(low, min(high, cap)))
            prior = Prior("flat", scale=False, noise=False)
            starts.append(cold)
        else:
            bounds, prior = Bounds(), Prior("inverse-square")
        return fit(
            cold,
            seen.X,
            seen.y,
            prior=prior,
            bounds=bounds,
            lengthscales="all" if shared else "column",
            scales="all" if shared else "group",
            starts=starts,
            n_steps=n_fit_steps(warm, starts),
        )


def grouped_columns(
    domain: Domain, groups: Sequence[IntArray] | None
) -> tuple[BoolArray, FloatArray]:
    """Return the columns that are in a group (all without groups), and the domain's centre."""
    free = np.ones(len(domain), np.bool_)
    if groups is not None:
        free[:] = False
        free[np.concatenate(groups)] = True
    return free, domain.from_unit(np.full((1, len(domain)), 0.5))[0]


def bandwidth_cap(value: Any) -> tuple[float, int] | None:
    """Parse the largest bandwidth, and how many points in a row were well known before."""
    valid = (
        isinstance(value, list)
        and [type(number) for number in value] == [float, int]
        and PUBLISHED_BOUNDS.lengthscale[0] <= value[0] <= PUBLISHED_BOUNDS.lengthscale[1]
        and 0 <= value[1] < 5
    )
    return (value[0], value[1]) if valid else None
