"""Queries of one Gaussian process over all columns: the common ground of the methods."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.fit import Bounds
from optuna_hdbo._core.fit import Prior
from optuna_hdbo._core.fit import PriorName
from optuna_hdbo._core.fit import fit
from optuna_hdbo._core.gp import Kernel
from optuna_hdbo._core.gp import Posterior
from optuna_hdbo._core.maximise import Effort
from optuna_hdbo._core.maximise import Maximiser
from optuna_hdbo._core.maximise import along_axes
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.surrogate import FactorCache
from optuna_hdbo._core.surrogate import Fitted
from optuna_hdbo._core.surrogate import cold_start
from optuna_hdbo._core.surrogate import is_due
from optuna_hdbo._core.surrogate import latest


if TYPE_CHECKING:
    from optuna_hdbo._core.feasibility import Feasibility


Question = Literal["ucb", "log-ei"]

LEAST_SHARE = 0.1
"""Of the queries that the worse of two models gets."""

GROWTH, SPARE_GROWTH = 0.025, 0.15
"""Share of new observations that calls for another fit of the model that is asked, and of the
other."""

WARM_STEPS, COLD_STEPS = 6, 40
"""Steps of a fit that goes on from another, and of one from nowhere."""

COLD_EVERY = 16
"""Every so many fits, a cold start competes with the warm one; four times as often where that
takes nearly everything for noise, as it may have to."""


def good_points(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the best 5 % of the points, at least five, the best first (RAASP's centres)."""
    return X[np.argsort(-y, kind="stable")[: max(5, len(y) // 20)]]


PROBES_PER_COLUMN, MOST_PROBES = 12.0, 0.5
"""Share of the queries that are probes: the former over D, at most the latter."""


def is_probe(rng: np.random.Generator, n_columns: int) -> bool:
    """Tell whether this query asks what a single column does, everything else at its best.

    Joint maxima settle all columns at once, and one that sits at a wrong value then has the same
    value in every trial: a fit takes it for idle, and nothing moves it again. Probes ask for each
    whether the bound leaves it elsewhere.
    """
    return bool(rng.random() < min(MOST_PROBES, PROBES_PER_COLUMN / n_columns))


def share(advantage: float) -> float:
    """Return how often to ask the first of two models, by its advantage in nats per observation.

    The first expects every column to matter. Where it is right its queries are worth many times
    the other's, and where it is wrong the other soon predicts better by whole nats, so it takes
    one nat to change sides.
    """
    odds = np.exp(np.clip(4.0 * (advantage + 1.0), -9.0, 9.0))
    return float(np.clip(odds / (1.0 + odds), LEAST_SHARE, 1.0 - LEAST_SHARE))


def prediction(seen: Observations, posterior: Posterior, x: FloatArray) -> dict[str, float]:
    """Return what the model expects at x (D,), in the objective's units."""
    mean, variance = posterior.predict(x[None])
    return {
        "predicted": seen.in_units(float(mean[0])),
        "std": float(np.sqrt(variance[0])) * seen.scale,
    }


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
class PlainQueries:
    """Upper confidence bounds and expected improvements, under whichever prior predicts better.

    Parameters
    ----------
    kind : str
        Kernel.
    ard : bool
        One lengthscale per column, or one for all.
    priors : tuple of str
        One prior, or two of opposite beliefs: that all columns matter and that few do. Each has
        its own fit, and a draw decides which is asked, in favour of the one whose leave-one-out
        predictions are better: what one's model cannot see, the other's queries show.
    questions : tuple of str
        What successive trials ask.
    n_cyc : int or None
        See :func:`is_due`.
    bounds : Bounds
    effort : Effort
    name : str
        What its fits are recorded under.
    probes : bool
        Whether some trials ask for the largest bound along the axes through the best point
        instead.
    """

    kind: str
    ard: bool
    priors: tuple[PriorName, ...]
    questions: tuple[Question, ...]
    n_cyc: int | None
    bounds: Bounds = field(default_factory=Bounds)
    effort: Effort = field(default_factory=Effort)
    name: str = "plain"
    probes: bool = False
    _caches: dict[str, FactorCache] = field(default_factory=dict, init=False)

    def query(
        self,
        domain: Domain,
        seen: Observations,
        root_beta: float,
        rng: np.random.Generator,
        feasibility: Feasibility,
    ) -> tuple[FloatArray, dict[str, Any], Posterior]:
        """Return the next point, what to record with it, and the posterior that it is from."""
        posterior, record = self.believed(domain, seen, rng)
        best = good_points(seen.X, feasibility.merit)
        known = np.concatenate([seen.X, seen.pending])
        if self.probes and is_probe(rng, len(domain)):
            utility = feasibility.optimistic(posterior, root_beta)
            return along_axes(domain, best[0], utility, rng, known), record, posterior
        if self.questions[seen.step % len(self.questions)] == "ucb":
            utility = feasibility.optimistic(posterior, root_beta)
        else:
            utility = feasibility.improvement(posterior)
        maximiser = Maximiser(domain, best, effort=self.effort.at(len(seen.y)))
        return maximiser(utility, rng, known)[0], record, posterior

    def believed(
        self, domain: Domain, seen: Observations, rng: np.random.Generator
    ) -> tuple[Posterior, dict[str, Any]]:
        """Return the posterior under the prior whose turn it is, and what to record."""
        record: dict[str, Any] = {}
        asked = 0
        if len(self.priors) > 1:
            scores = [
                self.posterior(domain, seen, prior, record, SPARE_GROWTH)[0].log_predictive()
                for prior in self.priors
            ]
            asked = int(rng.random() > share(scores[0] - scores[1]))
        return self.posterior(domain, seen, self.priors[asked], record)

    def posterior(
        self,
        domain: Domain,
        seen: Observations,
        prior: PriorName,
        record: dict[str, Any] | None = None,
        growth: float = GROWTH,
    ) -> tuple[Posterior, dict[str, Any]]:
        """Return the posterior under a prior, fitted anew if that is due, and what to record."""
        key = f"{self.name}:{prior}"
        record = {} if record is None else record
        fitted, source = latest(seen.records, key, domain)
        if key in record:
            fitted, source = Fitted.from_json(record[key], domain), record[key]
        if fitted is None or source is None or is_due(fitted, len(seen.y), self.n_cyc, growth):
            fitted = self._fit(domain, seen, prior, fitted)
            source = record[key] = fitted.to_json(domain.names)
        cache = self._caches.setdefault(key, FactorCache())
        return cache.posterior(fitted, source, seen.X, seen.y, seen.pending), record

    def _fit(
        self, domain: Domain, seen: Observations, prior: PriorName, warm: Fitted | None
    ) -> Fitted:
        n_columns = len(domain)
        # sqrt(D) / 7 keeps the correlation of two random points away from 0 in any dimension.
        lengthscale = max(0.5, n_columns**0.5 / 7.0)
        cold = cold_start(domain, self.kind, [np.arange(n_columns)], lengthscale, 1e-3)
        starts = starts_of_fit(warm, cold)
        kernel, likelihood = fit(
            cold,
            seen.X,
            seen.y,
            prior=Prior(prior, n_columns, scale=prior != "flat", noise=prior != "flat"),
            bounds=self.bounds,
            lengthscales="column" if self.ard else "all",
            starts=starts,
            n_steps=n_fit_steps(warm, starts, WARM_STEPS),
        )
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, likelihood).rounded(domain)
