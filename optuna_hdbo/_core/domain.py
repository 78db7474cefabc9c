"""The columns that a method searches over, free of Optuna."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from functools import reduce
from graphlib import TopologicalSorter
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from optuna_hdbo._core.lazy import cached_property


FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """The admissible values of a numerical column that are too many to list.

    Value number k is at ``(k + 1/2) / n``, or, on a log scale, at
    ``log1p((k + 1/2) / log_start) / log1p(n / log_start)``.

    Parameters
    ----------
    n : int
        How many there are.
    log_start : float or None
        The lower end of the first value's share in the parameter's units, on a log scale.
    """

    n: int
    log_start: float | None = None


@dataclass(frozen=True)
class Condition:
    """A condition on one deciding column, which has a grid, or on several.

    Parameters
    ----------
    column : int
        The deciding column.
    values : tuple of float
        The values of its grid under which the condition holds, ascending.
    others : tuple of Condition
        Conditions on other columns, those of other ranges of a parameter. One that holds is
        enough.
    """

    column: int
    values: tuple[float, ...]
    others: tuple[Condition, ...] = ()

    @property
    def every(self) -> tuple[Condition, ...]:
        """The condition itself, and the others."""
        return (self, *self.others)

    def at(self, place: Mapping[int, int]) -> Condition:
        """Return the same with columns in other places."""
        others = tuple(k.at(place) for k in self.others)
        return replace(self, column=place[self.column], others=others)


Gates = Mapping[int, tuple[Condition, ...]]
"""The columns that are not always active, each with the conditions that must all hold."""


def _deciding(conditions: Iterable[Condition]) -> set[int]:
    """Return the columns that conditions are on."""
    return {k.column for condition in conditions for k in condition.every}


@dataclass(frozen=True, eq=False)
class Domain:
    """One column per parameter.

    Parameters
    ----------
    names : tuple of str
        Column names, in column order.
    grids : tuple of (FloatArray or None)
        Admissible values of a discrete column, ascending; ``None`` for the interval [0, 1]. A
        column that is held has one. The grid of a numerical column lies inside (0, 1); that of a
        categorical column is 0, 1, ..., n_choices - 1.
    categorical : BoolArray, shape (D,)
        Columns whose kernel distance is 0/1 (Hamming) instead of a difference.
    steps : Mapping of int to Steps
        Columns without a grid that have finitely many values all the same.
    gates : Mapping of int to tuple of Condition
        Columns that are active only where all of their conditions hold. A column is also inactive
        where a column of its conditions is. Inactive columns have the value :attr:`absent`.
    read_back : callable or None
        See :meth:`observed_at`.
    is_part : bool
        Whether it has some of the columns of a larger domain.
    """

    names: tuple[str, ...]
    grids: tuple[FloatArray | None, ...]
    categorical: BoolArray
    steps: Mapping[int, Steps] = field(default_factory=dict)
    gates: Gates = field(default_factory=dict)
    read_back: Callable[[FloatArray], FloatArray] | None = None
    is_part: bool = False

    @classmethod
    def continuous(cls, n_columns: int) -> Domain:
        """Return the unit cube [0, 1]^D with columns ``x0``, ``x1``, ..."""
        if n_columns < 1:
            raise ValueError(f"n_columns must be 1 or more, but got {n_columns}.")
        names = tuple(f"x{i}" for i in range(n_columns))
        return cls(names, (None,) * n_columns, np.zeros(n_columns, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.names)

    def is_same_as(self, other: Domain) -> bool:
        """Tell whether both have the same columns."""
        if other is self:
            return True
        same = self.names == other.names and np.array_equal(self.categorical, other.categorical)
        same = same and np.array_equal(self.discrete, other.discrete)
        same = same and self.steps == other.steps and self.read_back == other.read_back
        same = same and self.gates == other.gates
        return same and np.array_equal(self.flat_grids[0], other.flat_grids[0])

    def holding(self, columns: BoolArray) -> Domain:
        """Return the same domain with one value, :attr:`absent`, of the marked columns (D,)."""
        held = np.flatnonzero(columns).tolist()
        grids = [self.absent[[c]] if c in held else grid for c, grid in enumerate(self.grids)]
        steps = {c: steps for c, steps in self.steps.items() if c not in held}
        return replace(self, grids=tuple(grids), steps=steps)

    def observed_at(self, x: FloatArray) -> FloatArray:
        """Return the row (D,) at which a trial that is asked for at x (D,) is observed.

        It differs from x where the nearest admissible value is elsewhere, and by the rounding of
        the way to a parameter and back. Both rows have the same bits if they are equal.
        """
        return x if self.read_back is None else self.read_back(x)

    @cached_property
    def discrete(self) -> BoolArray:
        """Columns with a grid, shape (D,)."""
        return np.array([grid is not None for grid in self.grids], dtype=np.bool_)

    @cached_property
    def flat_grids(self) -> tuple[FloatArray, IntArray]:
        """All grids end to end, and offsets: column i owns ``values[start[i]:start[i + 1]]``."""
        sizes = [0 if grid is None else len(grid) for grid in self.grids]
        values = np.concatenate([np.empty(0), *[g for g in self.grids if g is not None]])
        return values, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def n_configurations(self) -> float:
        """How many points there are, at most; ``inf`` where a column is continuous."""
        sizes = [math.inf if grid is None else float(len(grid)) for grid in self.grids]
        for i, steps in self.steps.items():
            sizes[i] = float(steps.n)
        return math.prod(sizes)

    @cached_property
    def absent(self) -> FloatArray:
        """The value of each column where it is inactive, shape (D,): the centre, or choice 0."""
        values = [0.5 if g is None else float(nearest(g, np.array([0.5]))[0]) for g in self.grids]
        firsts = [0.0 if g is None else g[0] for g in self.grids]
        return np.where(self.categorical, firsts, values)

    @cached_property
    def _gates_in_order(self) -> list[tuple[int, tuple[Condition, ...]]]:
        """The gates, those of deciding columns before those that depend on them."""
        deciding = {c: _deciding(conditions) for c, conditions in self.gates.items()}
        ordered = TopologicalSorter(deciding).static_order()
        return [(c, self.gates[c]) for c in ordered if c in self.gates]

    @cached_property
    def _largest(self) -> FloatArray:
        return np.array([1.0 if grid is None else grid[-1] for grid in self.grids])

    @cached_property
    def deciding(self) -> BoolArray:
        """Columns that decide whether others are active, shape (D,)."""
        marks = np.zeros(len(self), np.bool_)
        marks[[c for conditions in self.gates.values() for c in _deciding(conditions)]] = True
        return marks

    @cached_property
    def breadth(self) -> int:
        """How many columns a point depends on: the mean number of active ones, D without gates."""
        if not self.gates:
            return len(self)
        rng = np.random.default_rng(len(self))
        X = np.tile(self.absent, (256, 1))
        for c in np.flatnonzero(self.deciding).tolist():
            X[:, c] = rng.choice(self.grid(c), len(X))
        return max(1, round(float(self.active(X).sum(axis=1).mean())))

    def with_deciding(self, columns: Iterable[int]) -> tuple[int, ...]:
        """Return the columns, ascending, and those that decide whether they are active."""
        found = set(columns)
        new = list(found)
        while new:
            deciding = _deciding(self.gates.get(new.pop(), ())) - found
            found |= deciding
            new.extend(deciding)
        return tuple(sorted(found))

    def active(self, X: FloatArray) -> BoolArray:
        """Mark the columns that are active at points (m, D), shape (m, D)."""
        marks = np.ones(X.shape, np.bool_)
        for column, conditions in self._gates_in_order:
            for k in conditions:
                held = (marks[:, c.column] & np.isin(X[:, c.column], c.values) for c in k.every)
                marks[:, column] &= reduce(np.logical_or, held)
        return marks

    def canonical(self, X: FloatArray) -> FloatArray:
        """Return points (m, D) with the value :attr:`absent` in inactive columns."""
        return np.where(self.active(X), X, self.absent) if self.gates else X

    def from_unit(self, U: FloatArray) -> FloatArray:
        """Map points of [0, 1]^D, shape (m, D), to columns.

        Choices get equal shares, a numerical grid value what lies nearest to it.
        """
        X = np.array(U, dtype=np.float64)
        for i in np.flatnonzero(self.categorical).tolist():
            n_choices = len(self.grid(i))
            X[:, i] = np.minimum((X[:, i] * n_choices).astype(np.int64), n_choices - 1)
        return self.snap(X)

    def grid(self, column: SupportsIndex) -> FloatArray:
        """Return the admissible values of a discrete column, ascending."""
        grid = self.grids[column]
        assert grid is not None, "a continuous column has no grid"
        return grid

    def gaps(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return the distances of points (n, D), (m, D) along every column, shape (n, m, D).

        Different choices are 1 apart.
        """
        apart = np.abs(X[:, None, :] - Z)
        return np.where(self.categorical, np.minimum(apart, 1.0), apart)

    def snap(self, X: FloatArray) -> FloatArray:
        """Return admissible points near points (m, D).

        They are clipped to the cube, discrete columns have their nearest admissible value, and
        inactive ones have the value :attr:`absent`.
        """
        return np.ascontiguousarray(self.canonical(self.nearest(X)))

    def nearest(self, X: FloatArray) -> FloatArray:
        """Return points (m, D) in the cube and on the grids, whatever columns are active."""
        X = np.clip(X, 0.0, self._largest)
        for i in np.flatnonzero(self.discrete).tolist():
            X[:, i] = nearest(self.grid(i), X[:, i])
        return X

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Draw ``n`` points uniformly, shape (n, D)."""
        return self.from_unit(rng.random((n, len(self))))


def nearest(grid: FloatArray, values: FloatArray) -> FloatArray:
    """Return the value of an ascending grid that lies nearest to each of some values."""
    above = np.clip(np.searchsorted(grid, values), 1, len(grid) - 1)
    nearer_below = values - grid[above - 1] <= grid[above] - values
    return np.asarray(grid[above - nearer_below], np.float64)
