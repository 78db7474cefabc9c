"""Several Gaussian processes over all columns, used in proportion to how well they predict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_lengthscale
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import rarer
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.fitted import refit_if_due
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.gp.prior import PriorName
from optuna_hdbo._core.gp.rotated import fit_rotated
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.evidence import Evidence
from optuna_hdbo._core.models.evidence import shares
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import Output


LEAST_SHARE, ODDS_PER_NAT = 0.04, 0.5
"""Share of the queries that even the worst of several models gets, and how the odds of two models
grow with the difference of their evidence."""

QUERY_GROWTH, GROWTH_OF_SEVERAL = 0.025, 0.08
"""Share of new observations after which a model is fitted again: one that is alone, and each of
several. These have the same, because only models that are equally fresh can be compared."""

WARM_STEPS, COLD_STEPS = 6, 40
"""Steps of a fit that starts from an earlier one, and of a cold start."""

COLD_EVERY = 16
"""Fits between two at which a cold start competes with the warm one. If the warm one explains
nearly everything by noise, cold starts come four times as often."""

SPREAD, HEAD_START = 0.25, 4.0
"""Spread of pooled lengthscales, see :class:`Prior`, and the nats by which a belief in them is
ahead of others at first. Where few observations meet many columns, free lengthscales overfit."""

LEAST_POOLED, LEAST_POOLED_OF_PART = 8, 10
"""With fewer columns than this lengthscales are free. The second number is that of domains with
branches and of searches of a part of the columns."""

ENSEMBLE, LOCAL = "plain", "local"
"""What the keys of fits and evidence begin with: of models that methods share, and of those of a
trust region."""


@dataclass(frozen=True)
class Belief:
    """The assumptions of a model.

    Parameters
    ----------
    prior : str
        Prior of the lengthscales: how many columns matter.
    separable : bool
        Whether the function is a sum of functions of one column each.
    warped : bool
        Whether values are warped so that they look normal.
    tau : float
        Global scale of the ``"sparse"`` prior.
    rotated : bool
        Whether lengthscales are along learned directions instead of the columns.
    pooled : bool
        Whether lengthscales are close to each other: columns matter alike.
    """

    prior: PriorName
    separable: bool = False
    warped: bool = False
    tau: float = 0.1
    rotated: bool = False
    pooled: bool = False

    @property
    def key(self) -> str:
        """Its part of the key under which fits are recorded."""
        name = f"sparse:{self.tau:g}" if self.prior == "sparse" else self.prior
        name += ":separable" * self.separable + ":rotated" * self.rotated
        name += ":pooled" * self.pooled
        return name + ":warped" * self.warped

    def of(self, domain: Domain) -> Belief:
        """Return the belief for a domain: in one of few columns lengthscales are free."""
        is_whole = not (domain.is_part or domain.gates)
        least = LEAST_POOLED if is_whole else LEAST_POOLED_OF_PART
        return replace(self, pooled=self.pooled and len(domain) >= least)

    def groups(self, domain: Domain) -> list[IntArray]:
        """Return the columns that the function is a sum over."""
        columns = np.arange(len(domain))
        return [columns[i : i + 1] for i in columns] if self.separable else [columns]


FLAT = Belief("flat")
ALL_MATTER = Belief("inverse-square")
FEW_MATTER = Belief("dimension-scaled")
NONE_INTERACT = Belief("inverse-square", separable=True)
ALL_MATTER_WARPED = Belief("inverse-square", warped=True)
FEW_MATTER_WARPED = Belief("dimension-scaled", warped=True)
NONE_INTERACT_WARPED = Belief("inverse-square", separable=True, warped=True)


def plain_model(domain: Domain, noise: float) -> tuple[Kernel, Prior]:
    """Return a kernel from which a fit of all columns starts, and the prior of its parameters."""
    n_columns = min(len(domain), domain.breadth)
    groups, lengthscale = FEW_MATTER.groups(domain), cold_lengthscale(n_columns)
    cold = cold_start(domain, "matern52", groups, lengthscale, noise)
    return cold, Prior(FEW_MATTER.prior, n_columns)


@dataclass(frozen=True, eq=False)
class Believed:
    """A model's posterior under its belief.

    Parameters
    ----------
    posterior : Posterior
    seen : Observations
        The observations as the model sees them: ``y`` is what the posterior is of.
    evidence : Evidence
        How well it has predicted so far.
    head_start : float
        What is added to that, in nats.
    """

    posterior: Posterior
    seen: Observations
    evidence: Evidence
    head_start: float = 0.0


def suited(beliefs: Sequence[Belief], domain: Domain) -> list[Belief]:
    """Return the beliefs for a domain. A single column has nothing to interact with."""
    return [b.of(domain) for b in beliefs if len(domain) > 1 or not b.separable]


def draw_model(models: Sequence[Believed], rng: np.random.Generator) -> Believed:
    """Return the model for this suggestion, drawn by the evidence for each."""
    nats = np.array([model.evidence.nats + model.head_start for model in models])
    share = shares(nats, ODDS_PER_NAT, LEAST_SHARE)
    return models[int((rng.random() > np.cumsum(share)[:-1]).sum())]


def n_fit_steps(warm: Fitted | None, starts: list[Kernel], warm_steps: int = 12) -> list[int]:
    """Return the steps of each climb. A warm start need not converge at once."""
    return [warm_steps if warm is not None and i == 0 else COLD_STEPS for i in range(len(starts))]


def starts_of_fit(warm: Fitted | None, cold: Kernel) -> list[Kernel]:
    """Return the starts of a fit: the last fit, and a cold start where that may be stuck.

    Lengthscales of a few percent of the cube, or noise that explains everything, are degenerate
    optima of few data. Gradients do not lead out of them.
    """
    if warm is None:
        return [cold]
    kernel = warm.kernel
    stuck = float(kernel.lengthscales[kernel.columns].min()) < 0.02
    every = COLD_EVERY // 4 if kernel.noise > kernel.variance else COLD_EVERY
    return [kernel, cold] if stuck or warm.cycle % every == every - 1 else [kernel]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Gaussian processes over all columns, each with assumptions that contradict the others.

    Each belief has its own fit. The model for a suggestion is drawn, in favour of the one that has
    predicted better lately. Points suggested by other models show what a model cannot see.

    Parameters
    ----------
    kind : str
        Kernel.
    ard : bool
        One lengthscale per column, or one for all.
    beliefs : tuple of Belief
    n_cyc : int or None
        See :func:`is_due`.
    bounds : Bounds
    name : str
        First part of the keys under which fits are recorded.
    frugal : bool
        Whether fits are :func:`rarer`. Models that share a name and a record must agree about it.
    head_start : float
        Nats by which pooled lengthscales are ahead of free ones at first. Sums have no lead.
    """

    kind: str
    ard: bool
    beliefs: tuple[Belief, ...]
    n_cyc: int | None = None
    bounds: Bounds = field(default_factory=Bounds)
    name: str = ENSEMBLE
    frugal: bool = False
    head_start: float = HEAD_START
    _caches: dict[str, FactorCache] = field(default_factory=dict, init=False)

    def __getstate__(self) -> dict[str, object]:
        # Another thread may be adding to the caches, and a copy begins with empty ones.
        return {**vars(self), "_caches": {}}

    def drawn(
        self, domain: Domain, seen: Observations, memory: Memory, rng: np.random.Generator
    ) -> Believed:
        """Return the model under one of the beliefs, drawn by how well they predict."""
        beliefs = suited(self.beliefs, domain)
        if len(beliefs) == 1:
            return self.believed(domain, seen, beliefs[0], memory)
        models = [
            self.believed(domain, seen, b, memory, GROWTH_OF_SEVERAL, compared=True)
            for b in beliefs
        ]
        return draw_model(models, rng)

    def believed(
        self,
        domain: Domain,
        seen: Observations,
        belief: Belief,
        memory: Memory,
        growth: float = QUERY_GROWTH,
        *,
        compared: bool = False,
        widths: FloatArray | None = None,
        axes: Kernel | None = None,
    ) -> Believed:
        """Return the model under a belief, fitted anew if that is due.

        Only models that are ``compared`` with others keep a record of their predictions. With
        ``widths (D,)``, the prior of the lengthscales is that of a cube with these sides. The
        first fit along learned directions begins at the kernel ``axes``.
        """
        key, n = f"{self.name}:{belief.key}", len(seen.y)
        groups = belief.groups(domain)
        evidence = memory.recall(f"{key}:evidence", Evidence.from_json) or Evidence()
        last = recall_fit(memory, key, domain, groups)
        within = self._seen(seen, belief, key, memory)
        if compared and last is not None and n > last.n:
            posterior = self._posterior(key, last, within)
            evidence = evidence.after(posterior, last.n, within, seen)

        def refit(warm: Fitted | None) -> Fitted:
            nonlocal within
            if belief.warped:
                memory.keep(f"{key}:output", seen.likeliest_output.to_json())
                within = self._seen(seen, belief, key, memory)
            if compared:
                memory.keep(f"{key}:evidence", evidence.to_json())
            return self.fitted(domain, within, belief, warm, widths, axes)

        growth = rarer(growth, domain, frugal=self.frugal)
        fitted = refit_if_due(last, memory, key, domain, n, refit, n_cyc=self.n_cyc, growth=growth)
        posterior = self._posterior(key, fitted, within)
        leads = belief.pooled and not belief.separable
        return Believed(posterior, within, evidence, self.head_start if leads else 0.0)

    @staticmethod
    def _seen(seen: Observations, belief: Belief, key: str, memory: Memory) -> Observations:
        if not belief.warped:
            return seen
        output = memory.recall(f"{key}:output", Output.from_json)
        return seen if output is None else seen.warped(output)

    def _posterior(self, key: str, fitted: Fitted, seen: Observations) -> Posterior:
        cache = self._caches.setdefault(key, FactorCache())
        return cache.posterior(fitted, seen.X, seen.y, seen.pending)

    def fitted(
        self,
        domain: Domain,
        seen: Observations,
        belief: Belief,
        warm: Fitted | None = None,
        widths: FloatArray | None = None,
        axes: Kernel | None = None,
    ) -> Fitted:
        """Return a new fit under a belief, from a cold start unless there is a ``warm`` one.

        ``widths`` and ``axes`` are those of :meth:`believed`.
        """
        groups, named = belief.groups(domain), belief.prior
        n_columns = min(len(groups[0]), domain.breadth)
        spread = SPREAD if belief.pooled else math.inf
        prior = Prior(named, n_columns, named != "flat", named != "flat", belief.tau, spread)
        cycle = 0 if warm is None else warm.cycle + 1
        if belief.rotated:
            start = axes if warm is None else warm.kernel
            assert start is not None
            side = 1.0 if widths is None else float(np.exp(np.log(widths).mean()))
            turned, likelihood = fit_rotated(start, seen.X, seen.y, prior, self.bounds, side)
            return Fitted(turned, len(seen.y), cycle, likelihood).rounded(domain)
        cold = cold_start(domain, self.kind, groups, cold_lengthscale(n_columns), 1e-3)
        X = seen.X
        if widths is not None:
            X = np.ascontiguousarray(X / widths)
            if warm is not None:
                warm = replace(warm, kernel=_scaled(warm.kernel, 1.0 / widths))
        starts = starts_of_fit(warm, cold)
        kernel, likelihood = fit(
            cold,
            X,
            seen.y,
            prior=prior,
            bounds=self.bounds,
            lengthscales="column" if self.ard else "all",
            scales="all",
            starts=starts,
            n_steps=n_fit_steps(warm, starts, WARM_STEPS),
        )
        if widths is not None:
            kernel = _scaled(kernel, widths)
        return Fitted(kernel, len(seen.y), cycle, likelihood).rounded(domain)


def _scaled(kernel: Kernel, widths: FloatArray) -> Kernel:
    return replace(kernel, lengthscales=kernel.lengthscales * widths)
