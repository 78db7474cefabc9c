"""Groupings of columns, searched by the marginal likelihood of their additive kernel."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.likelihood import log_density


Partition = list[list[int]]

MAX_POINTS = 300
"""Observations on which groupings are compared, drawn at random from more."""

MOST_NUMBERS = 10_000_000
"""Entries of the covariance matrices that a search keeps, one matrix for each group."""

MOST_LISTED = 2**18
"""Changes of two groups that are put in random order; of more, random ones are drawn."""


def random_groups(n_columns: int, size: int, rng: np.random.Generator) -> Partition:
    """Return a random partition into ceil(D / size) groups of at most ``size`` columns.

    Left-over columns form a smaller last group (Kandasamy et al. 2015, section 4.4).
    """
    order = rng.permutation(n_columns).tolist()
    return [sorted(order[i : i + size]) for i in range(0, n_columns, size)]


def compared(
    X: FloatArray, y: FloatArray, n_matrices: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the observations on which groupings are compared; of too many, some at random."""
    most = min(MAX_POINTS, int((MOST_NUMBERS / n_matrices) ** 0.5))
    if len(y) <= most:
        return X, y
    rows = np.sort(rng.choice(len(y), most, replace=False))
    return np.ascontiguousarray(X[rows]), y[rows]


class Scorer:
    """Marginal likelihood of groupings at fixed hyperparameters.

    Columns keep their lengthscales, and positions in the list of groups keep their scales. So a
    change of two groups costs two covariance matrices and one factorisation.

    Parameters
    ----------
    kernel : Kernel
        Gives the lengthscales and the noise.
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
    groups : sequence of sequences of int
        The grouping at the start. Columns may move to empty groups.
    scales : FloatArray, shape (len(groups),)
    """

    def __init__(
        self,
        kernel: Kernel,
        X: FloatArray,
        y: FloatArray,
        groups: Sequence[Sequence[int]],
        scales: FloatArray,
    ) -> None:
        self._kernel, self._X, self._y = kernel, X, y
        self.scales = scales
        self.restart(groups)

    def restart(self, groups: Sequence[Sequence[int]]) -> float:
        """Replace all groups and return the likelihood."""
        self.groups: Partition = [list(g) for g in groups]
        self._parts = [self._part(j, g) for j, g in enumerate(self.groups)]
        self._total: FloatArray = np.sum(self._parts, axis=0)
        self.value = self._likelihood(self._total)
        return self.value

    def _part(self, place: int, columns: Sequence[int]) -> FloatArray:
        if not len(columns):
            return np.zeros((len(self._y), len(self._y)))
        group = np.array(sorted(columns), np.int64)
        one = replace(self._kernel, groups=(group,), scales=self.scales[place : place + 1])
        return one.gram(self._X)

    def _likelihood(self, K: FloatArray) -> float:
        K = K.copy()
        K.flat[:: len(K) + 1] += self._kernel.noise
        found = log_density(K, self._y)
        return -np.inf if found is None else found[0]

    def try_change(self, change: dict[int, list[int]]) -> tuple[float, Callable[[], None]]:
        """Return the likelihood with some groups replaced, and a function that replaces them."""
        parts = {place: self._part(place, columns) for place, columns in change.items()}
        total = self._total.copy()
        for place, part in parts.items():
            total += part - self._parts[place]
        value = self._likelihood(total)

        def accept() -> None:
            for place, columns in change.items():
                self.groups[place], self._parts[place] = columns, parts[place]
            self._total, self.value = total, value

        return value, accept


def search_random(scorer: Scorer, size: int, n: int, rng: np.random.Generator) -> None:
    """Keep the likeliest of the present grouping and ``n`` random ones (partial maximisation)."""
    best, best_value = scorer.groups, scorer.value
    n_columns = sum(len(g) for g in best)
    for _ in range(n):
        groups = random_groups(n_columns, size, rng)
        groups += [[] for _ in range(len(best) - len(groups))]
        if scorer.restart(groups) > best_value:
            best, best_value = scorer.groups, scorer.value
    scorer.restart(best)


def search_swap(scorer: Scorer, size: int, n: int, rng: np.random.Generator) -> None:
    """Hill-climb over exchanges of two columns, and moves of one, between groups.

    Where no single change helps, the columns of up to three groups are shuffled and the climb
    starts again. The best grouping is kept. ``n`` likelihoods are computed in all.
    """
    if len(scorer.groups) < 2:
        return
    best, best_value = list(scorer.groups), scorer.value
    changes = _single_changes(scorer.groups, size, rng)
    for _ in range(n):
        change = next(changes, None)
        stuck = change is None
        if change is None:
            if scorer.value > best_value:
                best, best_value = list(scorer.groups), scorer.value
            elif scorer.value < best_value:
                scorer.restart(best)
            change = _deal(scorer.groups, rng)
        value, accept = scorer.try_change(change)
        if stuck or value > scorer.value + 1e-9:
            accept()
            changes = _single_changes(scorer.groups, size, rng)
    if scorer.value < best_value:
        scorer.restart(best)


def _single_changes(
    groups: Partition, size: int, rng: np.random.Generator
) -> Iterator[dict[int, list[int]]]:
    """Yield all exchanges of two columns and all moves of one, in random order."""
    place_of = {c: place for place, group in enumerate(groups) for c in group}
    columns = list(place_of)
    for column, other, place in _options(columns, groups, size, rng):
        home = place_of[column]
        target = place_of[other] if other is not None else place
        assert target is not None
        if target == home or (other is None and len(groups[home]) == 1 and not groups[target]):
            continue  # the same grouping
        here = [c for c in groups[home] if c != column]
        there = [c for c in groups[target] if c != other]
        yield {
            home: here if other is None else [*here, other],
            target: [*there, column],
        }


def _options(
    columns: Sequence[int], groups: Partition, size: int, rng: np.random.Generator
) -> Iterator[tuple[int, int | None, int | None]]:
    """Yield two columns to exchange, or a column and the place of a group that has room for it.

    The list of all pairs grows with the square of the number of columns. Where it is long, pairs
    and moves are drawn from it without end, as a search tries only some hundreds.
    """
    room = [place for place, group in enumerate(groups) if len(group) < size]
    n_pairs, n_moves = len(columns) * (len(columns) - 1) // 2, len(columns) * len(room)
    if n_pairs + n_moves <= MOST_LISTED:
        pairs = [(c, d, None) for i, c in enumerate(columns) for d in columns[:i]]
        moves = [(c, None, place) for c in columns for place in room]
        options: list[tuple[int, int | None, int | None]] = [*pairs, *moves]
        for i in rng.permutation(len(options)).tolist():
            yield options[i]
        return
    while True:
        column = columns[int(rng.integers(len(columns)))]
        if rng.random() * (n_pairs + n_moves) < n_moves:
            yield column, None, room[int(rng.integers(len(room)))]
        elif (other := columns[int(rng.integers(len(columns)))]) != column:
            yield column, other, None


def _deal(groups: Partition, rng: np.random.Generator) -> dict[int, list[int]]:
    """Return up to three groups with their columns shuffled between them; sizes stay."""
    places = rng.choice(len(groups), min(3, len(groups)), replace=False).tolist()
    columns = rng.permutation([c for place in places for c in groups[place]]).tolist()
    return {place: [columns.pop() for _ in groups[place]] for place in places}


def search_gibbs(scorer: Scorer, size: int, n: int, rng: np.random.Generator) -> None:
    """Resample one column's group at a time, ``n`` likelihoods in all, and keep the best.

    Wang et al. (2017), with a uniform Dirichlet prior over groups that are not full.
    """
    best, best_value = [list(g) for g in scorer.groups], scorer.value
    spent = 0
    n_columns = sum(len(g) for g in best)
    while spent < n:
        column = int(rng.integers(n_columns))
        home = next(j for j, g in enumerate(scorer.groups) if column in g)
        options: list[tuple[float, Callable[[], None] | None, int]] = [(scorer.value, None, home)]
        for place, group in enumerate(scorer.groups):
            if place != home and len(group) < size and spent < n:
                left = [c for c in scorer.groups[home] if c != column]
                options.append((*scorer.try_change({home: left, place: [*group, column]}), place))
                spent += 1
        if len(options) == 1:  # all others are full: exchange with a random column instead
            spent += 1
            other = int(rng.choice([j for j in range(len(scorer.groups)) if j != home] or [home]))
            if other == home:
                break
            out = int(rng.choice(scorer.groups[other]))
            left = [c for c in scorer.groups[home] if c != column]
            full = [c for c in scorer.groups[other] if c != out]
            options.append(
                (*scorer.try_change({home: [*left, out], other: [*full, column]}), other)
            )
        sizes = np.array([len(scorer.groups[place]) + 1.0 for _, _, place in options])
        logits = np.array([value for value, _, _ in options]) + np.log(sizes)
        # If no covariance matrix can be factorised, all options are equal.
        weights = np.exp(logits - logits.max()) if logits.max() > -np.inf else sizes
        chosen = options[int(rng.choice(len(options), p=weights / weights.sum()))]
        if chosen[1] is not None:
            chosen[1]()
        if scorer.value > best_value:
            best, best_value = [list(g) for g in scorer.groups], scorer.value
    scorer.restart(best)


PACKED_SEARCHES: dict[str, Callable[[Scorer, int, int, np.random.Generator], None]] = {
    "random": search_random,
    "swap": search_swap,
    "gibbs": search_gibbs,
}


def improved(
    kind: str,
    kernel: Kernel,
    X: FloatArray,
    y: FloatArray,
    size: int,
    n: int,
    rng: np.random.Generator,
) -> Kernel | None:
    """Return a kernel with a likelier grouping; ``None`` if none was found.

    It has the common hyperparameters that groupings are compared with, to be fitted again.

    Parameters
    ----------
    kind : {"random", "swap", "gibbs"}
    kernel : Kernel
        Its groups are where the search starts. Groupings are compared with one lengthscale and one
        scale for all, its median and mean. Hyperparameters fitted to the present grouping would
        favour it: a column in the wrong group gets a long lengthscale, and then fits in no other.
    size : int
        Largest number of columns in a group.
    n : int
        Groupings to score.
    """
    lengthscale = np.median(kernel.lengthscales[kernel.columns])
    level = replace(kernel, lengthscales=np.full(len(kernel.lengthscales), lengthscale))
    n_places = -(-len(kernel.columns) // size)
    groups = [g.tolist() for g in kernel.groups]
    groups += [[] for _ in range(n_places - len(groups))]
    scale = float(kernel.scales.mean())
    X, y = compared(X, y, len(groups), rng)
    scorer = Scorer(level, X, y, groups, np.full(len(groups), scale))
    before = scorer.value
    PACKED_SEARCHES[kind](scorer, size, n, rng)
    if not scorer.value > before + 1e-9:
        return None
    filled = join([g for g in scorer.groups if g])
    return replace(level, groups=filled, scales=np.full(len(filled), scale))
