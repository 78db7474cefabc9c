"""Known points, points near them, new points, and points without a value."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray


MAX_ENUMERATED = 32
"""Values of one discrete column that a coordinate search tries at once."""

MAX_CELLS = 2**19
"""Numbers in a matrix of single changes. Where all of them take more, some columns are drawn."""

MAX_CONFIGURATIONS = 20_000
"""Domains with at most this many configurations are enumerated to find an unknown one."""


def single_moves(
    domain: Domain, x: FloatArray, columns: IntArray, rng: np.random.Generator | None = None
) -> FloatArray:
    """Return the points that differ from x in one discrete column, shape (m, D).

    With an ``rng``, some of the columns are drawn if all of them take more than ``MAX_CELLS``.
    """
    others = [_others(domain, x, c) for c in columns]
    n_rows = MAX_CELLS // len(x)
    if rng is not None and sum(map(len, others)) > n_rows:
        order = rng.permutation(len(columns))
        ends = np.cumsum([len(others[i]) for i in order])
        kept = np.sort(order[: max(1, int(np.searchsorted(ends, n_rows, side="right")))])
        columns, others = columns[kept], [others[i] for i in kept]
    counts = [len(values) for values in others]
    moves = np.repeat(x[None], sum(counts), axis=0)
    moves[np.arange(len(moves)), np.repeat(columns, counts)] = np.concatenate(others)
    return moves


def _others(domain: Domain, x: FloatArray, c: int) -> FloatArray:
    """Return the values of one column that a search tries in place of that of x."""
    grid = domain.grid(c)
    if len(grid) > MAX_ENUMERATED:
        if domain.categorical[c]:
            grid = grid[np.linspace(0, len(grid) - 1, MAX_ENUMERATED).astype(np.int64)]
        else:  # neighbours, and a coarse sweep
            here = int(np.searchsorted(grid, x[c]))
            near = np.arange(here - MAX_ENUMERATED // 4, here + MAX_ENUMERATED // 4)
            sweep = np.linspace(0, len(grid) - 1, MAX_ENUMERATED // 2).astype(np.int64)
            grid = grid[np.unique(np.clip([*near, *sweep], 0, len(grid) - 1))]
    return np.asarray(grid[grid != x[c]])


def reflected(X: FloatArray) -> FloatArray:
    """Return points (m, D) or (D,), reflected at the bounds of the cube, which they leave."""
    return np.clip(1.0 - np.abs(1.0 - np.abs(X)), 0.0, 1.0)


def best_unknown(pool: FloatArray, values: FloatArray, known: FloatArray) -> FloatArray:
    """Return the point (D,) of the largest value; a known one only where all of them are known."""
    taken = {row.tobytes() for row in known}
    unknown = np.array([row.tobytes() not in taken for row in pool])
    best = np.argmax(np.where(unknown | ~unknown.any(), values, -np.inf))
    return np.asarray(pool[best], np.float64)


def unknown_near(
    domain: Domain,
    x: FloatArray,
    known: FloatArray,
    rng: np.random.Generator,
    free: BoolArray | None = None,
) -> FloatArray:
    """Return a point near x (D,) that is not among ``known (n, D)``; x if there is none.

    A single discrete column changes first, then any. Only those marked ``free (D,)`` do; ``None``
    for all of them.
    """
    taken = {row.tobytes() for row in known}
    others = _near(domain, x, rng, np.ones(len(domain), np.bool_) if free is None else free)
    return np.array(next((row for row in others if row.tobytes() not in taken), x))


def _near(
    domain: Domain, x: FloatArray, rng: np.random.Generator, free: BoolArray
) -> Iterator[FloatArray]:
    """Yield x (D,), points that differ in one discrete column, random ones, and small domains."""
    rows = x[None]
    columns = np.flatnonzero(free & domain.discrete)
    if len(columns):
        moves = single_moves(domain, x, columns, rng)
        rows = np.concatenate([rows, moves[rng.permutation(len(moves))]])
    drawn = domain.sample(rng, 256)
    drawn[:, ~free] = x[~free]
    yield from domain.canonical(np.concatenate([rows, drawn]))
    grids = [domain.grid(c) for c in columns]
    n_configurations = math.prod(len(grid) for grid in grids)
    if not (free & ~domain.discrete).any() and n_configurations <= MAX_CONFIGURATIONS:
        row = x.copy()
        for values in itertools.product(*grids):
            row[columns] = values
            yield domain.canonical(row[None])[0]


SAME = 1e-11
"""Points closer than this are equal: converting to a parameter and back costs some ulps."""

_FEW = 64
"""Numbers for which Python's sums are faster than arrays; both are well within the tolerance."""

_WIDTH = 1000.0
"""Width of a cell of the index, in rounding errors of a projection. Few points lie on borders."""


class RowIndex:
    """Finds the first row that is a point, in constant time.

    Rows are hashed by the cell of their projection on one generic direction. Different points of a
    lattice have different projections. Equal points are in the same cell or in adjacent ones.
    """

    def __init__(self) -> None:
        self._rows: dict[int, int | list[int]] = {}  # nearly always one in a cell
        self._X: FloatArray = np.empty((0, 0))
        self._direction, self._tol = np.empty(0), 1.0
        self._weights: list[float] = []

    def follow(self, X: FloatArray) -> None:
        """Index the rows of X (n, D); often they begin with those of the last call."""
        old, n = self._X, len(self._X)
        if len(X) < n or not (_is_extended(old, X) or np.array_equal(old, X[:n])):
            self._rows, n = {}, 0
        if len(self._direction) != X.shape[1]:
            self._direction, self._tol = _direction(X.shape[1])
            self._weights = self._direction.tolist()
        for i, u in enumerate(self._projections(X[n:]), n):
            cell = self._cell(u)
            others = self._rows.setdefault(cell, i)
            if others is not i:  # the cell was not empty
                self._rows[cell] = [*([others] if isinstance(others, int) else others), i]
        self._X = X

    def find(self, x: FloatArray, n: int) -> int:
        """Return the first row that is x (D,) among the first ``n``, or -1."""
        if len(self._X) == 0:
            return -1
        u = self._projections(x[None])[0]
        low, high = self._cell(u - self._tol), self._cell(u + self._tol)
        found = self._in_cell(low)
        if low != high:
            found = sorted([*found, *self._in_cell(high)])
        for i in found:
            if i >= n:
                break
            if are_near(self._X[i].tolist(), x.tolist(), SAME):
                return i
        return -1

    def _projections(self, X: FloatArray) -> list[float]:
        if X.size <= _FEW:
            return [sum(map(operator.mul, row, self._weights)) for row in X.tolist()]
        projections: list[float] = (X @ self._direction).tolist()
        return projections

    def _cell(self, u: float) -> int:
        return math.floor(u / (_WIDTH * self._tol))

    def _in_cell(self, cell: int) -> Sequence[int]:
        rows = self._rows.get(cell, ())
        return (rows,) if isinstance(rows, int) else rows


def are_near(a: Sequence[float], b: Sequence[float], tol: float) -> bool:
    """Tell whether no two numbers at the same place differ by more than ``tol``."""
    # For few numbers this is faster than arrays.
    return a == b or all(abs(u - v) <= tol for u, v in zip(a, b, strict=True))


def _direction(n_columns: int) -> tuple[FloatArray, float]:
    """Return a direction (D,) and how far apart the projections of equal points may be."""
    direction = np.random.default_rng(n_columns).uniform(0.5, 1.0, n_columns)
    return direction, 2.0 * SAME * float(direction.sum())  # twice: sums are rounded


def _is_extended(old: FloatArray, new: FloatArray) -> bool:
    """Tell whether both look at the same memory, in which rows are only ever appended."""
    return old.base is not None and old.base is new.base


BESIDE = 0.1
"""Share of a pending point's distance to the nearest point with a value within which another point
hardly differs from it."""


def is_beside(domain: Domain, x: FloatArray, pending: FloatArray, X: FloatArray) -> bool:
    """Tell whether a point x (D,) hardly differs from a pending one (m, D).

    Measured by how far that is from the points X (n, D) that have a value.
    """
    if not len(pending) or not len(X) or domain.discrete.all():
        return False
    gaps = np.abs(domain.gaps(pending, np.concatenate([x[None], X]))).max(axis=2)
    return bool((gaps[:, 0] < BESIDE * gaps[:, 1:].min(axis=1)).any())


STEPS = (1e-3, 0.3)
"""Smallest and largest step, as a share of a column."""

N_TRIES = 20


def perturbed(
    domain: Domain,
    x: FloatArray,
    is_taken: Callable[[FloatArray], bool],
    rng: np.random.Generator,
) -> FloatArray:
    """Return a point near x (D,) that is not taken; x itself if none is found.

    All continuous columns move by a step of a random order of magnitude. A small step stays in the
    region that looked promising, and a large one leaves a region in which every trial fails. Where
    no column is continuous, it is a point of :func:`unknown_near`.
    """
    moved = ~domain.discrete
    if not moved.any():
        others = _near(domain, x, rng, domain.discrete)
        return next((row for row in others if not is_taken(row)), x)
    for _ in range(N_TRIES):
        low, high = map(math.log, STEPS)
        step = math.exp(rng.uniform(low, high)) * rng.standard_normal(len(x))
        near = np.where(moved, reflected(x + step), x)
        if not is_taken(near):
            return near
    return x


N_DEALT, LEVEL = 99, 0.02
"""How often the test deals failures out at random, and its level."""

FEWEST_BY_CHANCE, LEAST_KNOWN, LEVEL_BY_CHANCE = 5, 30, 0.2
"""Least numbers of penalties and of points for penalties to be due to chance, and the level at
which they are not. It is that of the test with several objectives, too."""

MOST_TESTED = 150
"""Failed points, and others, that the test knows at most: the last ones."""


@dataclass(frozen=True, eq=False)
class Failures:
    """Points of trials that have no value because they failed.

    Parameters
    ----------
    X : FloatArray, shape (k, D)
    numbers : IntArray, shape (k,)
        Trial number of each row, ascending.
    are_elsewhere : bool
        Whether they are elsewhere than points with a value. If so, others near them fail, too.
    """

    X: FloatArray
    numbers: IntArray
    are_elsewhere: bool

    def at(self, rows: IntArray) -> Failures:
        """Return the same with these rows only."""
        return replace(self, X=self.X[rows], numbers=self.numbers[rows])

    @classmethod
    def among(
        cls,
        domain: Domain,
        X: FloatArray,
        failed: Mapping[int, FloatArray],
        *,
        several: bool = False,
    ) -> Failures | None:
        """Return the failed points by trial number that are not among X (n, D); None without any.

        A trial that failed may have been tried again with success. With ``several`` objectives
        the test is less strict: children of the front stay close to failures that it misses.
        """
        known = {row.tobytes() for row in X} if failed else set()
        numbers = sorted(n for n, row in failed.items() if row.tobytes() not in known)
        if not numbers:
            return None
        rows = np.array([failed[number] for number in numbers])
        level = LEVEL_BY_CHANCE if several else LEVEL
        return cls(rows, np.array(numbers, np.int64), are_elsewhere(domain, rows, X, level))


def are_elsewhere(domain: Domain, failed: FloatArray, X: FloatArray, level: float = LEVEL) -> bool:
    """Tell whether failed points (k, D) are elsewhere than points X (n, D).

    The statistic of this permutation test is the sum of squared correlations of failures with all
    columns and choices, and half of those with the squares of the centred columns.
    """
    if len(failed) < 2 or not len(X):
        return False
    both = np.concatenate([failed[-MOST_TESTED:], X[-MOST_TESTED:]])
    numbers = _standardised(both[:, ~domain.categorical])
    choices = [both[:, [c]] == domain.grid(c) for c in np.flatnonzero(domain.categorical)]
    features = [numbers, _standardised(numbers**2) / math.sqrt(2.0), *map(_standardised, choices)]
    fails = np.arange(len(both)) < min(len(failed), MOST_TESTED)
    rng = np.random.default_rng(len(both))
    dealt = np.vstack([fails, rng.permuted(np.tile(fails, (N_DEALT, 1)), axis=1)])
    found = ((dealt @ np.concatenate(features, axis=1)) ** 2).sum(axis=1)
    return bool((found >= found[0]).mean() <= level)


def by_chance(domain: Domain, X: FloatArray, penalties: BoolArray) -> BoolArray:
    """Mark the penalties (n,) among points X (n, D), unless they are elsewhere or few."""
    known = len(X) >= LEAST_KNOWN and FEWEST_BY_CHANCE <= np.count_nonzero(penalties) < len(X)
    if known and not are_elsewhere(domain, X[penalties], X[~penalties], LEVEL_BY_CHANCE):
        return penalties
    return np.zeros_like(penalties)


def _standardised(X: FloatArray) -> FloatArray:
    """Return columns with mean 0 and deviation 1, or 0 where they are constant."""
    centred = X - X.mean(axis=0)
    std = centred.std(axis=0)
    return np.asarray(centred / np.where(std > 1e-9, std, np.inf), np.float64)
