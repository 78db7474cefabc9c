"""Scales: columns of which one end matters most are bent, as if ``log=True`` had been there.

A learning rate between .0001 and 1 has nearly all of its effect in the lowest hundredth of its
range, and no lengthscale suits that. So columns are stretched near one of their ends, by a
logarithm, where that makes the observations much likelier. All experts see the bent columns.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import nearest
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import has_passed
from optuna_hdbo._core.gp.fitted import until_due
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.memory import is_count
from optuna_hdbo._core.models.ensemble import plain_model
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import normalised


KEY = "scales"
"""Key under which a record keeps the bends of columns."""

FACTORS: Mapping[int, float] = {-2: -1000 / 1001, -1: -30 / 31, 0: 0.0, 1: 30.0, 2: 1000.0}
"""The factor k of each bend: a value x becomes log1p(k x) / log1p(k). Positive bends stretch the
low end of a range, and negative ones the high end in the same way."""

MOST_BENT = max(FACTORS)

GAIN, GAIN_PER_VALUE = 8.0, 0.2
"""By how much the log likelihood has to be larger where a column is bent first, and by how much
for each observation: the larger one counts. Another bend of it only has to be likelier."""

LEAST_OBSERVATIONS, MOST_SEARCHED, GROWTH = 20, 100, 0.3
"""From how many observations on bends are searched for, how many a search uses, and the share of
new ones after which there is another search. One with all that it uses is the last."""

MOST_COLUMNS, LEAST_VALUES = 30, 8
"""There are no bends in domains with more columns, or of columns with fewer values."""

MOST_TRIED = 8
"""A search tries other bends of so many columns, those with the shortest lengthscales."""

LEAST_NOISE = 0.01
BOUNDS = Bounds(noise=(LEAST_NOISE, 1.0))
"""Least noise for values of deviation 1. Smooth functions are explained so well that the last
digits alone would bend them."""

FIRST_STEPS, STEPS = 15, 4
"""Steps of the first fit of a search, and of that with another bend."""


_Fitted = tuple[list[int], Kernel, float]
"""Bends, and the kernel and the log likelihood of a fit with them."""


def bent(X: FloatArray, factors: FloatArray) -> FloatArray:
    """Return points (m, D) with bent columns, where a column's factor is not 0.

    What is outside of the cube stays as it is.
    """
    return _inside(X, factors, lambda x, k: np.log1p(k * x) / np.log1p(k))


def straightened(U: FloatArray, factors: FloatArray) -> FloatArray:
    """Undo :func:`bent`."""
    return _inside(U, factors, lambda u, k: np.expm1(u * np.log1p(k)) / k)


def _inside(
    X: FloatArray, factors: FloatArray, formula: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    moved = (factors != 0.0) & (X > 0.0) & (X < 1.0)
    return np.where(moved, formula(np.where(moved, X, 0.5), np.where(moved, factors, 1.0)), X)


@dataclass(frozen=True)
class _ReadBack:
    """:meth:`Domain.observed_at` with bent columns; equal if all it depends on is."""

    read_back: Callable[[FloatArray], FloatArray]
    factors: tuple[float, ...]

    def __call__(self, u: FloatArray) -> FloatArray:
        factors = np.array(self.factors)
        return bent(self.read_back(straightened(u, factors)), factors)


@dataclass(frozen=True, eq=False)
class Scales:
    """A domain with bent columns.

    Parameters
    ----------
    domain : Domain
    factors : FloatArray, shape (D,)
        See :data:`FACTORS`.
    """

    domain: Domain
    factors: FloatArray

    @cached_property
    def inner(self) -> Domain:
        """The domain as it is searched."""
        domain, read_back = self.domain, self.domain.read_back
        grids = tuple(
            grid if grid is None else bent(grid, self.factors[c])
            for c, grid in enumerate(domain.grids)
        )
        return replace(
            domain,
            grids=grids,
            steps={c: steps for c, steps in domain.steps.items() if not self.factors[c]},
            read_back=read_back and _ReadBack(read_back, tuple(self.factors.tolist())),
        )

    def inward(self, X: FloatArray) -> FloatArray:
        """Return rows (m, D) in the columns of :attr:`inner`."""
        U = bent(X, self.factors)
        for c in np.flatnonzero(self.domain.discrete & (self.factors != 0.0)).tolist():
            on_grid = nearest(self.inner.grid(c), U[:, c])  # to the last digit
            U[:, c] = np.where(np.isclose(on_grid, U[:, c], rtol=0.0), on_grid, U[:, c])
        return np.ascontiguousarray(self.inner.canonical(U))

    def outward(self, u: FloatArray) -> FloatArray:
        """Return the point of the domain at a point (D,) of :attr:`inner`."""
        return np.asarray(self.domain.snap(straightened(u, self.factors)[None])[0])

    def view(self, seen: Observations) -> Observations:
        """Return the observations in the columns of :attr:`inner`."""
        failures = seen.failures
        return replace(
            seen,
            X=self.inward(seen.X),
            pending=self.inward(seen.pending),
            failures=failures and replace(failures, X=self.inward(failures.X)),
        )


def learned_scales(domain: Domain, seen: Observations, memory: Memory) -> Scales | None:
    """Return the domain with the columns bent that are to be; ``None`` if there are none.

    Between two searches the bends are recalled.
    """
    n, may_bend = len(seen.values), _may_bend(domain)
    if n < LEAST_OBSERVATIONS or len(domain) > MOST_COLUMNS or not may_bend.any():
        return None
    n_searched, by_name = memory.recall(KEY, parsed) or (0, {})
    bends = [by_name.get(name, 0) if may_bend[c] else 0 for c, name in enumerate(domain.names)]
    is_last = MOST_SEARCHED <= n_searched <= n
    if not is_last and has_passed(n_searched, n, until_due(n_searched, GROWTH)):
        bends = _likeliest(domain, seen, bends, may_bend)
        found = {domain.names[c]: bend for c, bend in enumerate(bends) if bend}
        memory.keep(KEY, {"n": n, "bends": found})
    return Scales(domain, _factors(bends)) if any(bends) else None


def parsed(data: Any) -> tuple[int, Mapping[str, int]] | None:
    """Return how many observations a record's search had, and the bends of columns by name."""
    if not isinstance(data, Mapping) or not isinstance(data.get("bends"), Mapping):
        return None
    bends = data["bends"]
    valid = is_count(data.get("n")) and all(
        type(b) is int and abs(b) <= MOST_BENT for b in bends.values()
    )
    return (data["n"], bends) if valid else None


def _factors(bends: list[int]) -> FloatArray:
    return np.array([FACTORS[bend] for bend in bends])


def _may_bend(domain: Domain) -> BoolArray:
    """Mark the numerical columns with enough values that decide about no others, shape (D,)."""
    fine = [grid is None or len(grid) >= LEAST_VALUES for grid in domain.grids]
    return np.array(fine, np.bool_) & ~domain.categorical & ~domain.deciding


def _likeliest(
    domain: Domain, seen: Observations, bends: list[int], may_bend: BoolArray
) -> list[int]:
    """Return the bends after a search that changes one column after another."""
    rows = np.unique(np.linspace(0, len(seen.values) - 1, MOST_SEARCHED).astype(np.int64))
    y = normalised(seen.modelled_values[rows], skewed=seen.skewed)
    cold, prior = plain_model(domain, LEAST_NOISE)

    def fitted(bends: list[int], start: Kernel, n_steps: int) -> tuple[Kernel, float]:
        X = Scales(domain, _factors(bends)).inward(seen.X[rows])
        return fit(cold, X, y, prior=prior, bounds=BOUNDS, starts=[start], n_steps=n_steps)

    gain = max(GAIN, GAIN_PER_VALUE * len(rows))
    kernel, likelihood = fitted(bends, cold, FIRST_STEPS)
    order = np.argsort(kernel.lengthscales, kind="stable")
    best = bends, kernel, likelihood
    for c in order[may_bend[order]][:MOST_TRIED].tolist():
        found = _climbed(c, best, fitted)
        if found[2] > best[2] + (0.0 if best[0][c] else gain):
            best = found
    return best[0]


def _climbed(
    c: int, start: _Fitted, fitted: Callable[[list[int], Kernel, int], tuple[Kernel, float]]
) -> _Fitted:
    """Return the likeliest fit of those that rise from ``start`` as one column's bend changes."""
    bends, kernel, likelihood = best = start
    for direction in (1, -1):
        last, bend = likelihood, bends[c] + direction
        while abs(bend) <= MOST_BENT:
            changed = [*bends[:c], bend, *bends[c + 1 :]]
            found, value = fitted(changed, kernel, STEPS)
            if value <= last:
                break
            if value > best[2]:
                best = changed, found, value
            last, bend = value, bend + direction
    return best
