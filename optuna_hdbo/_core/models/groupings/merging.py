"""A climb over all groupings: columns begin alone, and join where the evidence is convincing.

Neighbours of a grouping have two groups merged, a column taken out of its group, a column moved to
another one, or two columns exchanged. They are ranked by the derivative of the log evidence, and
only the first few are scored. Before a climb ends, all splits are scored too.

Where three columns interact, two of them together often gain less than a join costs, and the climb
stops. So the most promising merges are then made although they lose, one after the other, and the
climb goes on from each.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.groupings.evidence import Evidence
from optuna_hdbo._core.models.groupings.evidence import Group


N_TRIED = 10
"""Neighbours that are scored at each step, those of the largest derivatives."""

N_MERGES = 24
"""Merges that are kept to be made although they lose."""

_LEAST_GAIN = 1e-6
"""Nats by which a grouping has to be better than another one, because sums are rounded."""


@dataclass(frozen=True)
class Change:
    """Groups that are replaced by others.

    ``made`` has each new group as an old one, or what is left of one, and the columns that it
    gains.
    """

    old: tuple[Group, ...]
    made: tuple[tuple[Group, Group], ...]

    @property
    def new(self) -> tuple[Group, ...]:
        """The groups that come instead."""
        return tuple(tuple(sorted(part + gained)) for part, gained in self.made)

    def of(self, groups: Sequence[Group]) -> list[Group]:
        """Return a grouping with the change made."""
        return [*(group for group in groups if group not in self.old), *self.new]


def less(group: Group, column: int) -> Group:
    """Return a group without one of its columns."""
    return tuple(c for c in group if c != column)


def splits(groups: Sequence[Group]) -> list[Change]:
    """Return all changes that take one column out of its group."""
    return [
        Change((group,), ((less(group, c), ()), ((c,), ())))
        for group in groups
        if len(group) > 1
        for c in (group if len(group) > 2 else group[:1])  # a pair has one way to be split
    ]


class Neighbours:
    """All changes of one or two groups, and the derivatives of the log evidence towards them.

    The correlations of a group are taken for the product of those of its parts, which they are for
    SE kernels. So the derivatives towards all changes come from one product of matrices.

    Parameters
    ----------
    evidence : Evidence
    groups : sequence of Group
        The grouping that changes.
    W : FloatArray, shape (n, n)
        See :meth:`Evidence.slopes`.
    size : int
        Largest number of columns in a group.

    Attributes
    ----------
    gains : FloatArray, shape (m,)
        Derivative towards every change, times the whole length of the way.
    n_joins : IntArray, shape (m,)
        How many more joins the grouping has after each.
    """

    def __init__(
        self, evidence: Evidence, groups: Sequence[Group], W: FloatArray, size: int
    ) -> None:
        self._D, self._groups, self._size = evidence.n_columns, list(groups), size
        self._sizes = np.array([len(group) for group in groups])
        self._weigh(evidence, W)
        self._of: list[tuple[Callable[[int], Change], int]] = []
        found: list[tuple[int, FloatArray]] = [(1, self._merges())]
        for j in np.flatnonzero(self._sizes > 1).tolist():
            found += [(-1, self._splits(j))]
            for c in self._groups[j]:
                found += [(0, self._moves(j, c)), (0, self._exchanges(j, c))]
        self.gains = 0.5 / self._D * np.concatenate([gains for _, gains in found])
        self.n_joins = np.repeat([n for n, _ in found], [len(gains) for _, gains in found])

    def _weigh(self, evidence: Evidence, W: FloatArray) -> None:
        """Compute the derivatives towards parts, alone and times another part.

        Parts are the single columns, the groups of several, and these without one column.
        """
        large = [group for group in self._groups if len(group) > 1]
        parts = dict.fromkeys([*large, *(less(g, c) for g in large for c in g)])
        joint = [part for part in parts if len(part) > 1]
        every = [*((c,) for c in range(self._D)), *joint]
        self._at: dict[Group, int] = {part: i for i, part in enumerate(every)}
        weights = evidence.weights_of_triangle(W)
        one, more = evidence.alone, evidence.triangles(joint)
        first = more[: len(large)]
        of_one, of_more = one * weights, more * weights
        self._with = np.block(
            [[of_one @ one.T, of_one @ first.T], [of_more @ one.T, of_more @ first.T]]
        )
        sums = np.concatenate([of_one.sum(axis=1), of_more.sum(axis=1)])
        self._own = sums * [len(part) for part in every]
        self._place = np.array([self._at[group] for group in self._groups])

    def __len__(self) -> int:
        return len(self.gains)

    def __getitem__(self, i: int) -> Change:
        """Return a change."""
        for make, n in self._of:
            if i < n:
                return make(i)
            i -= n
        raise IndexError(i)

    def _add(self, make: Callable[[int], Change], gains: FloatArray) -> FloatArray:
        self._of.append((make, len(gains)))
        return gains

    def _merges(self) -> FloatArray:
        groups, sizes, place = self._groups, self._sizes, self._place
        first, second = np.triu_indices(len(groups), 1)
        fits = sizes[first] + sizes[second] <= self._size
        first, second = first[fits], second[fits]
        gains = self._with[place[first], place[second]] * (sizes[first] + sizes[second])
        gains -= self._own[place[first]] + self._own[place[second]]

        def make(i: int) -> Change:
            A, B = groups[first[i]], groups[second[i]]
            return Change((A, B), ((A, B),))

        return self._add(make, gains)

    def _splits(self, j: int) -> FloatArray:
        A = self._groups[j]
        changes = splits([A])
        rests = [self._at[change.made[0][0]] for change in changes]
        columns = [change.made[1][0][0] for change in changes]
        gains = self._own[rests] + self._own[columns] - self._own[self._at[A]]
        return self._add(lambda i: changes[i], gains)

    def _moves(self, j: int, c: int) -> FloatArray:
        A, rest = self._groups[j], self._at[less(self._groups[j], c)]
        others = np.flatnonzero((self._sizes < self._size) & (np.arange(len(self._sizes)) != j))
        place = self._place[others]
        gains = self._with[c, place] * (self._sizes[others] + 1) - self._own[place]
        gains += self._own[rest] - self._own[self._at[A]]

        def make(i: int) -> Change:
            B = self._groups[others[i]]
            return Change((A, B), ((less(A, c), ()), (B, (c,))))

        return self._add(make, gains)

    def _exchanges(self, j: int, c: int) -> FloatArray:
        """Those of a column with others: alone, or of a later group.

        Not those that give the same grouping as a move, or as another exchange of two pairs.
        """
        A, rest = self._groups[j], self._at[less(self._groups[j], c)]
        others = [
            (d, B)
            for k, B in enumerate(self._groups)
            if (len(A) > 2 if len(B) == 1 else k > j and (len(A) + len(B) > 4 or c == A[0]))
            for d in B
        ]
        columns = np.array([d for d, _ in others], np.int64)
        gains = self._with[rest, columns] * len(A) - self._own[self._at[A]]
        for i, (d, B) in enumerate(others):
            left = self._with[self._at[less(B, d)], c] * len(B) if len(B) > 1 else self._own[c]
            gains[i] += left - self._own[self._at[B]]

        def make(i: int) -> Change:
            d, B = others[i]
            return Change((A, B), (_exchanged(A, c, d), _exchanged(B, d, c)))

        return self._add(make, gains)


def _exchanged(group: Group, out: int, into: int) -> tuple[Group, Group]:
    rest = less(group, out)
    return (rest, (into,)) if rest else ((into,), ())


class Climb:
    """Steps to the best neighbour, until none is better.

    Parameters
    ----------
    evidence : Evidence
    size : int
        Largest number of columns in a group.
    n : int
        Groupings to score in all climbs. The last step may score some more. A grouping that has
        been scored before costs nothing.
    """

    def __init__(self, evidence: Evidence, size: int, n: int) -> None:
        self._evidence, self._size, self._n = evidence, size, n
        self._around: dict[frozenset[Group], tuple[list[Change], list[Change]]] = {}

    @property
    def ended(self) -> bool:
        """Whether as many groupings have been scored as may be."""
        return self._evidence.n_scored >= self._n

    def around(self, groups: Sequence[Group]) -> tuple[list[Change], list[Change]]:
        """Return the most promising changes, and the most promising merges.

        Climbs that start near each other end at the same groupings, so what was found is kept.
        """
        key = frozenset(groups)
        if key not in self._around:
            self._around[key] = self._ranked(groups)
        return self._around[key]

    def merged(self, groups: Sequence[Group]) -> list[list[Group]]:
        """Return the groupings that the most promising merges make."""
        return [change.of(groups) for change in self.around(groups)[1]]

    def _ranked(self, groups: Sequence[Group]) -> tuple[list[Change], list[Change]]:
        W = self._evidence.slopes(self._evidence.covariances(groups))
        if W is None:
            return [], []
        changes = Neighbours(self._evidence, groups, W, self._size)
        expected = changes.gains - self._evidence.price * changes.n_joins
        order = np.argsort(-expected, kind="stable")
        merges = order[changes.n_joins[order] > 0]
        return (
            [changes[i] for i in order[:N_TRIED].tolist()],
            [changes[i] for i in merges[:N_MERGES].tolist()],
        )

    def top(self, groups: Sequence[Group]) -> tuple[list[Group], float]:
        """Return the grouping where a climb from ``groups`` ends, and its log posterior.

        A derivative says little about a split, which takes away all that two parts explain
        together. So before a climb ends, all splits are scored. They are as many as the columns
        that share a group, or fewer.
        """
        here, value = list(groups), self._evidence.log_posterior(groups)
        while not self.ended:
            best = self._best(self.around(here)[0], here)
            if self._evidence.log_posterior(best) <= value + _LEAST_GAIN:
                best = self._best(splits(here), here)
            if self._evidence.log_posterior(best) <= value + _LEAST_GAIN:
                break
            here, value = best, self._evidence.log_posterior(best)
        return here, value

    def _best(self, changes: Sequence[Change], here: list[Group]) -> list[Group]:
        """Return the likeliest grouping that one of some changes makes; ``here`` without any."""
        around = [change.of(here) for change in changes]
        values = [self._evidence.log_posterior(neighbour, here) for neighbour in around]
        return around[int(np.argmax(values))] if around else here


def merge(
    evidence: Evidence, groups: Sequence[Sequence[int]], size: int, n: int, n_forced: int
) -> list[Group]:
    """Return the likeliest grouping that climbs from ``groups`` find; see :class:`Climb`.

    As many as ``n_forced`` merges are made although they lose, and from each of them a climb
    starts. If one ends higher, the next merges are made from there.
    """
    climb = Climb(evidence, size, n)
    best, value = climb.top([tuple(sorted(group)) for group in groups])
    merges = climb.merged(best)
    forced: set[frozenset[Group]] = set()
    while merges and len(forced) < n_forced and not climb.ended:
        start = merges.pop(0)
        if frozenset(start) in forced:
            continue
        forced.add(frozenset(start))
        other, other_value = climb.top(start)
        if other_value > value + _LEAST_GAIN:
            best, value, merges = other, other_value, climb.merged(other)
    return best
