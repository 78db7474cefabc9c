"""Queries of one Gaussian process over all columns: the common ground of the methods."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition import Acquisition
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
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.surrogate import FactorCache
from optuna_hdbo._core.surrogate import Fitted
from optuna_hdbo._core.surrogate import cold_start
from optuna_hdbo._core.surrogate import is_due
from optuna_hdbo._core.surrogate import latest


Query = tuple[PriorName, Literal["ucb", "log-ei"]]

COLD_EVERY = 8
"""Every so many fits, a cold start competes with the warm one."""


def good_points(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the best 5 % of the points, at least five, the best first (RAASP's centres)."""
    return X[np.argsort(-y, kind="stable")[: max(5, len(y) // 20)]]


def prediction(seen: Observations, posterior: Posterior, x: FloatArray) -> dict[str, float]:
    """Return what the model expects at x (D,), in the objective's units."""
    mean, variance = posterior.predict(x[None])
    return {
        "predicted": seen.in_units(float(mean[0])),
        "std": float(np.sqrt(variance[0])) * seen.scale,
    }


def n_fit_steps(warm: Fitted | None, starts: list[Kernel]) -> int:
    """Return the steps of a fit: one that only goes on from another need not arrive at once."""
    return 40 if warm is None or len(starts) > 1 else 12


def starts_of_fit(warm: Fitted | None, cold: Kernel) -> list[Kernel]:
    """Return what a fit starts from: the last fit, and a cold start where that may be stuck.

    A lengthscale at a few percent of its cube, or noise that explains everything, is the
    degenerate optimum of few data; from there gradients do not lead back.
    """
    if warm is None:
        return [cold]
    kernel = warm.kernel
    degenerate = (
        float(kernel.lengthscales[kernel.columns].min()) < 0.02 or kernel.noise > kernel.variance
    )
    return [kernel, cold] if degenerate or warm.cycle % COLD_EVERY == 7 else [kernel]


@dataclass(frozen=True, eq=False)
class PlainQueries:
    """Upper confidence bounds and expected improvements, under several priors in turn.

    Parameters
    ----------
    kind : str
        Kernel.
    ard : bool
        One lengthscale per column, or one for all.
    cycle : tuple of (prior, acquisition) pairs
        What successive trials ask. Two priors of opposite beliefs, that all columns matter and
        that few do, protect each other: what one's model cannot see, the other's queries show.
    n_cyc : int or None
        See :func:`is_due`.
    bounds : Bounds
    effort : Effort
    """

    kind: str
    ard: bool
    cycle: tuple[Query, ...]
    n_cyc: int | None
    bounds: Bounds = field(default_factory=Bounds)
    effort: Effort = field(default_factory=Effort)
    _caches: dict[str, FactorCache] = field(default_factory=dict, init=False)

    def query(
        self,
        domain: Domain,
        seen: Observations,
        root_beta: float,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, dict[str, Any], Posterior]:
        """Return the next point, what to record with it, and the posterior that it is from."""
        prior, kind = self.cycle[seen.step % len(self.cycle)]
        posterior, record = self.posterior(domain, seen, prior)
        if kind == "ucb":
            acquisition = Acquisition.ucb(posterior, root_beta)
        else:
            acquisition = Acquisition.log_ei(posterior, float(seen.y.max()))
        maximiser = Maximiser(domain, good_points(seen.X, seen.y), effort=self.effort)
        known = np.concatenate([seen.X, seen.pending])
        return maximiser(acquisition, rng, known)[0], record, posterior

    def posterior(
        self, domain: Domain, seen: Observations, prior: PriorName
    ) -> tuple[Posterior, dict[str, Any]]:
        """Return the posterior under a prior, fitted anew if that is due, and what to record."""
        key = f"plain:{prior}"
        fitted, source = latest(seen.records, key, domain)
        record: dict[str, Any] = {}
        if fitted is None or source is None or is_due(fitted, len(seen.y), self.n_cyc):
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
            n_steps=n_fit_steps(warm, starts),
        )
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(seen.y), cycle, likelihood).rounded(domain)
