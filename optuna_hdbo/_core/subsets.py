"""Gaussian processes on subsets of columns, and how likely they make the observations."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.fit import Bounds
from optuna_hdbo._core.fit import Prior
from optuna_hdbo._core.fit import fit
from optuna_hdbo._core.fit import log_likelihood
from optuna_hdbo._core.gp import Kernel
from optuna_hdbo._core.plain import n_fit_steps
from optuna_hdbo._core.plain import starts_of_fit
from optuna_hdbo._core.selection import Columns
from optuna_hdbo._core.surrogate import Fitted
from optuna_hdbo._core.surrogate import cold_start


def restricted(domain: Domain, columns: IntArray) -> Domain:
    """Return the domain of some columns."""
    return Domain(
        tuple(domain.names[c] for c in columns),
        tuple(domain.grids[c] for c in columns),
        domain.categorical[columns],
    )


def fit_columns(
    domain: Domain,
    X: FloatArray,
    y: FloatArray,
    kind: str,
    prior: Prior,
    warm: Fitted | None = None,
) -> Fitted:
    """Return a fit of one process over all columns of a domain, a cold one without ``warm``."""
    n_columns = len(domain)
    # sqrt(D) / 7 keeps the correlation of two random points away from 0 in any dimension.
    lengthscale = max(0.5, n_columns**0.5 / 7.0)
    cold = cold_start(domain, kind, [np.arange(n_columns)], lengthscale, 1e-2)
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


@dataclass(eq=False)
class SubsetFits:
    """Fits to subsets of columns, each done once.

    Parameters
    ----------
    whole : Kernel
        A fit of all columns: what warm starts take a new column's lengthscale from.
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
    prior : Prior
    bounds : Bounds
    warm : bool
        Whether a fit starts where that of the most similar subset ended, or always anew.
    n_steps : int
        Steps of each fit.
    """

    whole: Kernel
    X: FloatArray
    y: FloatArray
    prior: Prior
    bounds: Bounds = field(default_factory=Bounds)
    warm: bool = True
    n_steps: int = 10
    _done: dict[frozenset[int], tuple[float, Kernel]] = field(default_factory=dict, init=False)

    def loss(self, columns: Columns) -> float:
        """Return the negative log marginal likelihood after a fit, in nats."""
        return self._of(columns)[0]

    def kernel(self, columns: Columns) -> Kernel:
        """Return the fitted kernel, over all columns with these in its one group."""
        return self._of(columns)[1]

    def part(self, columns: IntArray, domain: Domain) -> Fitted:
        """Return the fit of these ascending columns as one of all columns of their domain."""
        kernel = self.kernel(tuple(columns.tolist()))
        group = (np.arange(len(columns)),)
        lengthscales = kernel.lengthscales[columns]
        kernel = replace(
            kernel, groups=group, lengthscales=lengthscales, categorical=domain.categorical
        )
        return Fitted(kernel, len(self.y), 0, 0.0)

    def _of(self, columns: Columns) -> tuple[float, Kernel]:
        key = frozenset(columns)
        if key not in self._done:
            start = self._start(key)
            kernel, _ = fit(
                start,
                self.X,
                self.y,
                prior=self.prior,
                bounds=self.bounds,
                starts=[start],
                n_steps=self.n_steps,
            )
            self._done[key] = (-log_likelihood(kernel, self.X, self.y)[0], kernel)
        return self._done[key]

    def _start(self, key: frozenset[int]) -> Kernel:
        group = (np.array(sorted(key), np.int64),)
        lengthscales = np.full(len(self.whole.lengthscales), 0.5)
        scale, noise = 1.0, 0.1
        if self.warm:
            lengthscales = np.clip(self.whole.lengthscales, 0.1, 2.0)
            nearest = min(self._done, key=lambda other: len(other ^ key), default=None)
            if nearest is not None:
                kernel = self._done[nearest][1]
                known = sorted(nearest)
                lengthscales[known] = kernel.lengthscales[known]
                scale, noise = kernel.variance, kernel.noise
        return replace(
            self.whole,
            groups=group,
            lengthscales=lengthscales,
            scales=np.array([scale]),
            noise=noise,
        )
