"""Several Gaussian processes over all columns, asked as often as they predict well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_lengthscale
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import recall_or_refit
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.gp.prior import PriorName
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations


LEAST_SHARE = 0.1
"""Of the queries that even the worst of several models gets."""

QUERY_GROWTH, SPARE_GROWTH = 0.025, 0.15
"""A new fit is due when observations have grown by this share: of the model that the next query is
made with, and of the others."""

WARM_STEPS, COLD_STEPS = 6, 40
"""Steps of a fit that goes on from another, and of one from nowhere."""

COLD_EVERY = 16
"""Every so many fits, a cold start competes with the warm one; four times as often where that
takes nearly everything for noise, as it may have to."""


@dataclass(frozen=True)
class Belief:
    """What a model takes for granted.

    Parameters
    ----------
    prior : str
        Of the lengthscales: how many columns matter.
    separable : bool
        Whether the function is a sum of functions of one column each.
    ahead : float
        Nats per observation by which another model has to predict better to be asked as often.
    """

    prior: PriorName
    separable: bool = False
    ahead: float = 0.0

    @property
    def key(self) -> str:
        """What its fits are recorded under."""
        return f"{self.prior}:separable" if self.separable else self.prior

    def groups(self, domain: Domain) -> list[IntArray]:
        """Return the columns that the function is a sum over."""
        columns = np.arange(len(domain))
        return [columns[i : i + 1] for i in columns] if self.separable else [columns]


FLAT = Belief("flat")

ALL_MATTER = Belief("inverse-square", ahead=1.0)

FEW_MATTER = Belief("dimension-scaled")

NONE_INTERACT = Belief("inverse-square", separable=True, ahead=1.0)
"""Where all columns matter, queries are worth many times those of who expects few, and where they
do not, the latter soon predicts better by whole nats. One column at a time needs the fewest
observations by far, and where columns interact it is soon seen not to do."""


def shares(scores: FloatArray) -> FloatArray:
    """Return how often to ask each model, (k,), by what it predicts in nats per observation."""
    odds = np.exp(4.0 * (scores - scores.max()))
    share = odds / odds.sum()
    low = share < LEAST_SHARE
    share[low] = LEAST_SHARE
    share[~low] *= (1.0 - LEAST_SHARE * low.sum()) / share[~low].sum()
    return np.asarray(share, np.float64)


def draw_model(
    posteriors: Sequence[Posterior], beliefs: Sequence[Belief], rng: np.random.Generator
) -> int:
    """Return which of the posteriors under these beliefs is asked this time."""
    scores = [p.log_predictive() + b.ahead for p, b in zip(posteriors, beliefs, strict=True)]
    return int((rng.random() > np.cumsum(shares(np.array(scores)))[:-1]).sum())


def n_fit_steps(warm: Fitted | None, starts: list[Kernel], warm_steps: int = 12) -> list[int]:
    """Return the steps of each climb: one that goes on from another need not arrive at once."""
    return [warm_steps if warm is not None and i == 0 else COLD_STEPS for i in range(len(starts))]


def starts_of_fit(warm: Fitted | None, cold: Kernel) -> list[Kernel]:
    """Return what a fit starts from: the last fit, and a cold start where that may be stuck.

    A lengthscale at a few percent of its cube, or noise that explains everything, is the
    degenerate optimum of few data; from there gradients do not lead back.
    """
    if warm is None:
        return [cold]
    kernel = warm.kernel
    stuck = float(kernel.lengthscales[kernel.columns].min()) < 0.02
    every = COLD_EVERY // 4 if kernel.noise > kernel.variance else COLD_EVERY
    return [kernel, cold] if stuck or warm.cycle % every == every - 1 else [kernel]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Gaussian processes over all columns, each under a belief that contradicts the others.

    Each belief has its own fit, and a draw decides which is asked, in favour of the one whose
    leave-one-out predictions are better: what one's model cannot see, the others' queries show.

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
        What its fits are recorded under.
    """

    kind: str
    ard: bool
    beliefs: tuple[Belief, ...]
    n_cyc: int | None = None
    bounds: Bounds = field(default_factory=Bounds)
    name: str = "plain"
    _caches: dict[str, FactorCache] = field(default_factory=dict, init=False)

    def drawn(
        self, domain: Domain, seen: Observations, memory: Memory, rng: np.random.Generator
    ) -> Posterior:
        """Return the posterior under one of the beliefs, drawn by how well they predict."""
        # A single column has nothing to interact with.
        beliefs = [b for b in self.beliefs if len(domain) > 1 or not b.separable]
        i = 0
        if len(beliefs) > 1:
            spare = [self.posterior(domain, seen, b, memory, SPARE_GROWTH) for b in beliefs]
            i = draw_model(spare, beliefs, rng)
        return self.posterior(domain, seen, beliefs[i], memory)

    def posterior(
        self,
        domain: Domain,
        seen: Observations,
        belief: Belief,
        memory: Memory,
        growth: float = QUERY_GROWTH,
    ) -> Posterior:
        """Return the posterior under a belief, fitted anew if that is due."""
        key = f"{self.name}:{belief.key}"
        fitted = recall_or_refit(
            memory,
            key,
            domain,
            len(seen.y),
            lambda last: self._fit(domain, seen, belief, last),
            groups=belief.groups(domain),
            n_cyc=self.n_cyc,
            growth=growth,
        )
        cache = self._caches.setdefault(key, FactorCache())
        return cache.posterior(fitted, seen.X, seen.y, seen.pending)

    def _fit(
        self, domain: Domain, seen: Observations, belief: Belief, warm: Fitted | None
    ) -> Fitted:
        groups, prior = belief.groups(domain), belief.prior
        cold = cold_start(domain, self.kind, groups, cold_lengthscale(len(groups[0])), 1e-3)
        starts = starts_of_fit(warm, cold)
        kernel, likelihood = fit(
            cold,
            seen.X,
            seen.y,
            prior=Prior(prior, len(groups[0]), scale=prior != "flat", noise=prior != "flat"),
            bounds=self.bounds,
            lengthscales="column" if self.ard else "all",
            scales="all",
            starts=starts,
            n_steps=n_fit_steps(warm, starts, WARM_STEPS),
        )
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, likelihood).rounded(domain)
