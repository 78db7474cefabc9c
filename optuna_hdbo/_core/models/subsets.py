"""Gaussian processes on subsets of columns, and how likely they make the observations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_lengthscale
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.likelihood import likelihood
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.models.ensemble import n_fit_steps
from optuna_hdbo._core.models.ensemble import starts_of_fit
from optuna_hdbo._core.models.groupings.evidence import Group
from optuna_hdbo._core.models.groupings.evidence import listed
from optuna_hdbo._core.models.groupings.merging import Change
from optuna_hdbo._core.models.groupings.merging import splits
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.variables.selection import Columns


LEAST_GAIN = 1.0
"""Gain in nats above which columns are regrouped."""

TRIAL_LENGTHSCALES = (0.2, 0.7)
"""Lengthscales at which a column is tested for what it might explain."""


def restricted(domain: Domain, columns: IntArray) -> Domain:
    """Return the domain of some columns; those that decide about others are among them."""
    place = {int(c): i for i, c in enumerate(columns)}
    return Domain(
        tuple(domain.names[c] for c in columns),
        tuple(domain.grids[c] for c in columns),
        domain.categorical[columns],
        gates={
            place[c]: tuple(condition.at(place) for condition in conditions)
            for c, conditions in domain.gates.items()
            if c in place
        },
        is_part=True,
    )


def observed_in(seen: Observations, columns: IntArray) -> Observations:
    """Return the same observations, pending points and failures, in some columns."""
    failures = seen.failures
    return replace(
        seen,
        X=np.ascontiguousarray(seen.X[:, columns]),
        pending=np.ascontiguousarray(seen.pending[:, columns]),
        failures=failures and replace(failures, X=np.ascontiguousarray(failures.X[:, columns])),
    )


def fit_columns(
    domain: Domain,
    X: FloatArray,
    y: FloatArray,
    kind: str,
    prior: Prior,
    warm: Fitted | None = None,
) -> Fitted:
    """Return a fit of all columns of a domain, in the groups of ``warm`` or, without, in one."""
    n_columns = len(domain)
    groups = (np.arange(n_columns),) if warm is None else warm.kernel.groups
    cold = cold_start(domain, kind, groups, cold_lengthscale(n_columns), 1e-2)
    starts = starts_of_fit(warm, cold)
    kernel, likelihood = fit(
        cold,
        X,
        y,
        prior=prior,
        bounds=Bounds(),
        starts=starts,
        n_steps=n_fit_steps(warm, starts),
    )
    cycle = 0 if warm is None else warm.cycle + 1
    return Fitted(kernel, len(y), cycle, likelihood).rounded(domain)


Grouping = tuple[Group, ...]


@dataclass(eq=False)
class SubsetFits:
    """Fits to subsets of columns, each done once.

    Parameters
    ----------
    whole : Kernel
        A fit of all columns. Warm starts take the lengthscale of a new column from it.
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
    prior : Prior
    warm : bool
        Whether a fit starts from that of the most similar subset, or always from scratch.
    additive : bool
        Whether a subset's kernel may be a sum over groups of its columns. A new column joins the
        largest group or forms its own, whichever is likelier.
    first : tuple of tuples of int
        Groups of the first subset that is fitted, if it has just these columns.
    n_steps : int
        Steps of each fit.
    """

    whole: Kernel
    X: FloatArray
    y: FloatArray
    prior: Prior
    warm: bool = True
    additive: bool = False
    first: Grouping = ()
    n_steps: int = 10
    _done: dict[frozenset[int], tuple[float, Kernel]] = field(default_factory=dict, init=False)

    def loss(self, columns: Columns) -> float:
        """Return the negative log marginal likelihood after a fit, in nats."""
        return self._of(columns)[0]

    def kernel(self, columns: Columns) -> Kernel:
        """Return the fitted kernel, over all columns with these in its groups."""
        return self._of(columns)[1]

    def part(self, columns: IntArray, domain: Domain) -> Fitted:
        """Return the fit of these ascending columns as one of all columns of their domain."""
        kernel = self.kernel(tuple(columns.tolist()))
        kernel = replace(
            kernel,
            groups=tuple(np.searchsorted(columns, group) for group in kernel.groups),
            lengthscales=kernel.lengthscales[columns],
            categorical=domain.categorical,
        )
        return Fitted(kernel, len(self.y), 0, 0.0)

    def rest(self, columns: Columns) -> list[int]:
        """Return the other columns, the one that may explain most of the residuals first.

        They are ranked by a score test, which needs no fit: the slope of the log marginal
        likelihood, at 0, in the scale of a group of that column alone.
        """
        kernel = self.kernel(columns)
        factor = Factor(kernel, self.X)
        linv = factor.linv[: len(self.y), : len(self.y)]
        inverse = linv.T @ linv
        alpha = inverse @ self.y
        W = np.outer(alpha, alpha) - inverse
        others = [c for c in range(self.X.shape[1]) if c not in columns]
        slopes = []
        for c in others:
            single = replace(kernel, groups=(np.array([c]),), scales=np.ones(1))
            best = -np.inf
            for lengthscale in TRIAL_LENGTHSCALES:
                lengthscales = np.full(len(kernel.lengthscales), lengthscale)
                K = replace(single, lengthscales=lengthscales).gram(self.X)
                best = max(best, float(np.vdot(W, K)))
            slopes.append(best)
        return [others[i] for i in np.argsort(-np.array(slopes), kind="stable")]

    def regroup(self, columns: Columns) -> None:
        """Merge groups of a subset, or take columns out of them, where that is likelier.

        Half as many groupings are tried as there are columns. Which ones depends on the number of
        observations, so that later calls try others.
        """
        if not self.additive:
            return
        key = frozenset(columns)
        for i in range((len(key) + 1) // 2):
            value, kernel = self._of(columns)
            options = _neighbours(listed(kernel))
            if not options:
                return
            found = self._fit(options[(len(self.y) + i) % len(options)], kernel)
            if found[0] < value - LEAST_GAIN:
                self._done[key] = found

    def _of(self, columns: Columns) -> tuple[float, Kernel]:
        key = frozenset(columns)
        if key not in self._done:
            nearest: Kernel | None = None
            if self._done:
                closest = min(
                    self._done, key=lambda other: (len(other ^ key), self._done[other][0])
                )
                nearest = self._done[closest][1]
            options = [self._fit(groups, nearest) for groups in self._structures(key, nearest)]
            self._done[key] = min(options, key=lambda option: option[0])
        return self._done[key]

    def _structures(self, key: frozenset[int], nearest: Kernel | None) -> list[Grouping]:
        """Return the groupings of a subset that are worth a fit."""
        together: Grouping = (tuple(sorted(key)),)
        if not self.additive:
            return [together]
        if nearest is None:
            return [self.first] if {c for g in self.first for c in g} == key else [together]
        kept = [tuple(c for c in group if c in key) for group in listed(nearest)]
        kept = [group for group in kept if group]
        new = sorted(key - {c for group in kept for c in group})
        if len(new) != 1 or not kept:
            return [(*kept, *((c,) for c in new))]
        # What interacts with one column of a group tends to with more: the largest is tried.
        j = max(range(len(kept)), key=lambda j: len(kept[j]))
        joined = (*kept[:j], tuple(sorted((*kept[j], *new))), *kept[j + 1 :])
        return [joined, (*kept, tuple(new))]

    def _fit(self, groups: Grouping, nearest: Kernel | None) -> tuple[float, Kernel]:
        start = self._start(groups, nearest if self.warm else None)
        kernel, _ = fit(
            start,
            self.X,
            self.y,
            prior=self.prior,
            bounds=Bounds(),
            starts=[start],
            n_steps=self.n_steps,
        )
        return -likelihood(kernel, self.X, self.y), kernel

    def _start(self, groups: Grouping, nearest: Kernel | None) -> Kernel:
        lengthscales = np.full(len(self.whole.lengthscales), 0.5)
        scales, noise = np.full(len(groups), 1.0 / len(groups)), 0.1
        if self.warm:
            lengthscales = np.clip(self.whole.lengthscales, 0.1, 2.0)
        if nearest is not None:
            known = nearest.columns
            lengthscales[known] = nearest.lengthscales[known]
            noise = nearest.noise
            sizes = [len(group) for group in nearest.groups]
            of_column = dict(zip(known, np.repeat(nearest.scales, sizes), strict=True))
            # A group that was there keeps its scale; a new one starts small.
            small = 0.1 * nearest.variance
            scales = np.array([max(of_column.get(c, small) for c in group) for group in groups])
        return replace(
            self.whole,
            groups=tuple(np.array(group, np.int64) for group in groups),
            lengthscales=lengthscales,
            scales=scales,
            noise=noise,
        )


def _neighbours(groups: Sequence[Group]) -> list[Grouping]:
    """Return the groupings with two groups merged, or one column on its own."""
    merges = [Change((A, B), ((A, B),)) for A, B in itertools.combinations(groups, 2)]
    return [tuple(change.of(groups)) for change in (*merges, *splits(groups))]
