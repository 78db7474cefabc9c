"""The Gaussian that CMA-ES would sample from next, had it proposed the points of a history.

Hansen, "The CMA Evolution Strategy: A Tutorial" (2016); points that it did not propose are
shrunk as in Hansen, "Injecting external solutions into CMA-ES" (2011). With very many columns the
covariance is diagonal: Ros & Hansen, "A Simple Modification in CMA-ES Achieving Linear Time and
Space Complexity" (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray


FIRST_SIGMA = 0.2
"""The initial step size of the authors' code."""

MOST_FULL = 1000
"""Columns up to which covariances are full: those of 2000 columns take seconds to decompose."""


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution of points: mean (D,) and covariance (D, D), or its diagonal (D,)."""

    mean: FloatArray
    covariance: FloatArray

    def given(self, columns: IntArray) -> Conditional:
        """Return the distribution of the other columns once these are known."""
        rest = np.setdiff1d(np.arange(len(self.mean)), columns)
        C = self.covariance
        if C.ndim == 1:
            gain = np.zeros((len(rest), len(columns)))
            return Conditional(columns, rest, self.mean, gain, np.sqrt(C[rest]))
        by_known = np.linalg.solve(C[np.ix_(columns, columns)], C[np.ix_(columns, rest)])
        gain = np.asarray(by_known.T, np.float64)
        spread = C[np.ix_(rest, rest)] - gain @ C[np.ix_(columns, rest)]
        values, vectors = np.linalg.eigh((spread + spread.T) / 2.0)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return Conditional(columns, rest, self.mean, gain, root)


@dataclass(frozen=True, eq=False)
class Conditional:
    """A normal distribution of some columns, whose mean is linear in the others.

    Parameters
    ----------
    columns, rest : IntArray, shapes (p,), (q,)
        The given columns, and the ones to be drawn.
    mean : FloatArray, shape (p + q,)
    gain : FloatArray, shape (q, p)
    root : FloatArray, shape (q, q) or (q,)
        ``root @ root.T`` is the covariance; in one dimension, standard deviations.
    """

    columns: IntArray
    rest: IntArray
    mean: FloatArray
    gain: FloatArray
    root: FloatArray

    def draw(self, known: FloatArray, rng: np.random.Generator, n: int) -> FloatArray:
        """Draw n points of the rest given the known columns' values (p,), shape (n, q)."""
        centre = self.mean[self.rest] + self.gain @ (known - self.mean[self.columns])
        z = rng.standard_normal((n, len(self.rest)))
        return np.asarray(centre + (z * self.root if self.root.ndim == 1 else z @ self.root.T))


def to_unit(domain: Domain, X: FloatArray) -> FloatArray:
    """Return points (m, D) of a domain in [0, 1]^D: the middle of a choice's share."""
    U = X.copy()
    for c in np.flatnonzero(domain.categorical):
        U[:, c] = (U[:, c] + 0.5) / len(domain.grid(c))
    return U


def generations(y: FloatArray, n_init: int, size: int) -> tuple[IntArray, ...]:
    """Return the rows that a Gaussian is learned from: a start, then complete generations.

    Parameters
    ----------
    y : FloatArray, shape (n,)
        Values in the order of their evaluation; larger is better.
    n_init : int
        Points at the beginning, the better half of which is the start.
    size : int
        Points of a generation.

    Returns
    -------
    tuple of IntArray
        Each with the best row first.
    """
    first = np.argsort(-y[: max(1, n_init)], kind="stable")
    rows = [first[: max(1, len(first) // 2)]]
    for start in range(n_init, len(y) - size + 1, size):
        rows.append(start + np.argsort(-y[start : start + size], kind="stable"))
    return tuple(rows)


def follow(U: FloatArray, rows: tuple[IntArray, ...], size: int) -> Gaussian:
    """Return the Gaussian after :func:`generations` of points of the unit cube, (n, D)."""
    strategy = Strategy(U.shape[1], size)
    start, *others = rows
    strategy.mean = U[start].mean(axis=0)
    for generation in others:
        strategy.update(U[generation])
    return Gaussian(strategy.mean, strategy.sigma**2 * strategy.C)


class ConditionalCache:
    """Keeps the last conditional distribution, which only new generations or columns change."""

    def __init__(self) -> None:
        self._last: tuple[tuple[bytes, ...], Conditional] | None = None

    def conditional(
        self, U: FloatArray, rows: tuple[IntArray, ...], size: int, columns: IntArray
    ) -> Conditional:
        """Return the Gaussian of generations given the values of some columns."""
        used = U[: 1 + max(int(r.max()) for r in rows)]
        key = (used.tobytes(), columns.tobytes(), *(r.tobytes() for r in rows))
        if self._last is None or key != self._last[0]:
            self._last = key, follow(U, rows, size).given(columns)
        return self._last[1]


class Strategy:
    """State and update of CMA-ES, with positive weights.

    Beyond :data:`MOST_FULL` columns, ``C`` is the diagonal (D,) of sep-CMA-ES, which learns
    (D + 2) / 3 times as fast. A generation has ``size`` points, at least 2.
    """

    def __init__(self, n_columns: int, size: int) -> None:
        N = float(n_columns)
        mu = max(1, size // 2)
        weights = np.log((size + 1.0) / 2.0) - np.log(np.arange(1, mu + 1))
        self.weights = weights / weights.sum()
        mu_eff = 1.0 / float((self.weights**2).sum())
        self.mu_eff = mu_eff
        self.c_sigma = (mu_eff + 2.0) / (N + mu_eff + 5.0)  # eq. (55)
        self.d_sigma = (
            1.0 + 2.0 * max(0.0, float(np.sqrt((mu_eff - 1.0) / (N + 1.0))) - 1.0) + self.c_sigma
        )
        self.c_c = (4.0 + mu_eff / N) / (N + 4.0 + 2.0 * mu_eff / N)  # eq. (56)
        self.c_1 = 2.0 / ((N + 1.3) ** 2 + mu_eff)  # eq. (57)
        self.c_mu = min(
            1.0 - self.c_1, 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((N + 2.0) ** 2 + mu_eff)
        )  # eq. (58)
        self.is_full = n_columns <= MOST_FULL
        if not self.is_full:
            faster = (N + 2.0) / 3.0
            self.c_1 = min(1.0, self.c_1 * faster)
            self.c_mu = min(1.0 - self.c_1, self.c_mu * faster)
        self.length = float(np.sqrt(N) * (1.0 - 1.0 / (4.0 * N) + 1.0 / (21.0 * N**2)))
        self.longest = float(np.sqrt(N) + 2.0 * N / (N + 2.0))
        self.mean = np.full(n_columns, 0.5)
        self.sigma = FIRST_SIGMA
        self.C: FloatArray = np.eye(n_columns) if self.is_full else np.ones(n_columns)
        self.p_sigma = np.zeros(n_columns)
        self.p_c = np.zeros(n_columns)
        self.generation = 0

    def update(self, U: FloatArray) -> None:
        """Learn from one generation, shape (size, D), the best point first."""
        whiten: FloatArray
        if self.is_full:
            values, vectors = np.linalg.eigh(self.C)
            values = np.maximum(values, 1e-14)
            whiten = (vectors / np.sqrt(values)) @ vectors.T
        else:
            whiten = 1.0 / np.sqrt(np.maximum(self.C, 1e-14))
        steps = (U[: len(self.weights)] - self.mean) / self.sigma
        white = steps @ whiten if self.is_full else steps * whiten
        lengths = np.sqrt((white**2).sum(axis=1))
        steps *= np.minimum(1.0, self.longest / np.maximum(lengths, 1e-300))[:, None]
        step = self.weights @ steps  # eq. (41)
        self.mean = self.mean + self.sigma * step
        self.generation += 1
        c = self.c_sigma
        self.p_sigma = (1.0 - c) * self.p_sigma + np.sqrt(c * (2.0 - c) * self.mu_eff) * (
            whiten @ step if self.is_full else whiten * step
        )  # eq. (43)
        norm = float(np.linalg.norm(self.p_sigma))
        decay = float(np.sqrt(1.0 - (1.0 - c) ** (2 * self.generation)))
        n_columns = len(self.mean)
        short = norm / decay < (1.4 + 2.0 / (n_columns + 1.0)) * self.length
        c = self.c_c
        self.p_c = (1.0 - c) * self.p_c
        if short:
            self.p_c = self.p_c + np.sqrt(c * (2.0 - c) * self.mu_eff) * step  # eq. (45)
        left = (1.0 - float(short)) * c * (2.0 - c)
        if self.is_full:
            by_path: FloatArray = np.outer(self.p_c, self.p_c)
            by_steps = self.c_mu * (steps.T * self.weights) @ steps
        else:
            by_path = self.p_c**2
            by_steps = self.c_mu * self.weights @ steps**2
        kept = 1.0 + self.c_1 * left - self.c_1 - self.c_mu
        self.C = kept * self.C + self.c_1 * by_path + by_steps  # eq. (47)
        # eq. (44); never wider than the cube, never narrower than what moves anything
        grown = self.sigma * np.exp((norm / self.length - 1.0) * self.c_sigma / self.d_sigma)
        self.sigma = float(np.clip(grown, 1e-4, 1.0))
