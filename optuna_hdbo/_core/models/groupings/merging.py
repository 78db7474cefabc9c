"""A climb over all groupings: columns begin alone, and join where the evidence is convincing.

Neighbours of a grouping have two groups merged, a column taken out of its group, a column moved to
another one, or two columns exchanged. There are hundreds, and scoring one takes a Cholesky factor.
So they are ranked by the derivative of the log evidence towards them, for which all share one
inverse matrix, and only the first few are scored.

Where three columns interact, two of them together often gain less than a join costs, and the climb
stops. So the most promising merges are then made although they lose, one after the other, and the
climb goes on from each.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.groupings.evidence import Evidence
from optuna_hdbo._core.models.groupings.evidence import Group


N_TRIED = 10
"""Neighbours that are scored at each step, those of the largest derivatives."""

_LEAST_GAIN = 1e-6
"""Nats by which a grouping has to be better than another one, because sums are rounded."""


@dataclass(frozen=True)
class Change:
    """Groups that are replaced by others.

    Parameters
    ----------
    old : tuple of Group
    made : tuple of pairs of Group
        Each new group as an old one, or what is left of one, and the columns that it gains.
    """

    old: tuple[Group, ...]
    made: tuple[tuple[Group, Group], ...]

    @property
    def new(self) -> tuple[Group, ...]:
        """The groups that come instead."""
        return tuple(tuple(sorted(part + gained)) for part, gained in self.made)

    @property
    def n_joins(self) -> int:
        """How many more joins the grouping has afterwards."""
        return len(self.old) - len(self.made)

    def of(self, groups: Sequence[Group]) -> list[Group]:
        """Return a grouping with the change made."""
        return [*(group for group in groups if group not in self.old), *self.new]


def neighbours(groups: Sequence[Group], size: int) -> Iterator[Change]:
    """Yield all changes of one or two groups that leave none larger than ``size``."""
    for A in groups:
        for c in A[: len(A) if len(A) > 2 else len(A) - 1]:  # a pair has one way to be split
            yield Change((A,), ((less(A, c), ()), ((c,), ())))
    for A, B in combinations(groups, 2):
        if len(A) + len(B) <= size:
            yield Change((A, B), ((A, B),))
        for P, Q in ((A, B), (B, A)):
            if len(P) > 1 and len(Q) < size:
                for c in P:
                    yield Change((P, Q), ((less(P, c), ()), (Q, (c,))))
        if len(A) + len(B) > 2:
            for c in A:
                for d in B:
                    yield Change((A, B), (_exchanged(A, c, d), _exchanged(B, d, c)))


def _exchanged(group: Group, out: int, into: int) -> tuple[Group, Group]:
    rest = less(group, out)
    return (rest, (into,)) if rest else ((into,), ())


def less(group: Group, column: int) -> Group:
    """Return a group without one of its columns."""
    return tuple(c for c in group if c != column)


class Slopes:
    """Derivatives of the log evidence towards other groupings.

    The correlations of a group are taken for the product of those of its parts, which they are for
    SE kernels. So the derivatives towards all changes come from one product of matrices.
    """

    def __init__(self, evidence: Evidence, groups: Sequence[Group], W: FloatArray) -> None:
        D = evidence.n_columns
        parts = dict.fromkeys(groups)
        parts |= dict.fromkeys(less(g, c) for g in groups if len(g) > 1 for c in g)
        parts |= dict.fromkeys((c,) for c in range(D))
        upper = np.flatnonzero(np.triu(np.ones_like(W)))  # all matrices are symmetric
        rows = {part: evidence.correlations(part).ravel()[upper] for part in parts}
        weighted = np.stack(list(rows.values())) * (2.0 * W - np.diag(np.diag(W))).ravel()[upper]
        self._at = {part: i for i, part in enumerate(parts)}
        self._own = (weighted.sum(axis=1) * [len(part) for part in parts]).tolist()
        large = [group for group in groups if len(group) > 1]
        with_others = [rows[part] for part in [*((c,) for c in range(D)), *large]]
        self._with = (weighted @ np.stack(with_others).T).tolist()
        self._place = {(c,): c for c in range(D)} | {g: D + i for i, g in enumerate(large)}
        self._n_columns = D

    def towards(self, change: Change) -> float:
        """Return the derivative, times the whole length of the way."""
        gain = 0.0
        for part, gained in change.made:
            i = self._at[part]
            if gained:
                gain += (len(part) + len(gained)) * self._with[i][self._place[gained]]
            else:
                gain += self._own[i]
        gain -= sum(self._own[self._at[group]] for group in change.old)
        return float(0.5 * gain / self._n_columns)


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

    @property
    def ended(self) -> bool:
        """Whether as many groupings have been scored as may be."""
        return self._evidence.n_scored >= self._n

    def expected(self, groups: Sequence[Group]) -> list[tuple[float, Change]]:
        """Return all changes with their expected gains, the largest first."""
        W = self._evidence.slopes(self._evidence.covariances(groups))
        if W is None:
            return []
        slopes, price = Slopes(self._evidence, groups, W), self._evidence.price
        found = [
            (slopes.towards(c) - price * c.n_joins, c) for c in neighbours(groups, self._size)
        ]
        return sorted(found, key=lambda at: -at[0])

    def top(self, groups: Sequence[Group]) -> tuple[list[Group], float]:
        """Return the grouping where a climb from ``groups`` ends, and its log posterior."""
        posterior = self._evidence.log_posterior
        here, value = list(groups), posterior(groups)
        while not self.ended:
            around = [change.of(here) for _, change in self.expected(here)[:N_TRIED]]
            best = max(around, key=posterior, default=here)
            if posterior(best) <= value + _LEAST_GAIN:
                break
            here, value = best, posterior(best)
        return here, value


def merge(
    evidence: Evidence, groups: Sequence[Sequence[int]], size: int, n: int, n_forced: int
) -> list[Group]:
    """Return the likeliest grouping that climbs from ``groups`` find.

    Parameters
    ----------
    evidence : Evidence
    groups : sequence of sequences of int
    size, n : int
        See :class:`Climb`.
    n_forced : int
        Merges that are made although they lose, from each of which a climb starts. If one ends
        higher, the next merges are made from there.
    """
    climb = Climb(evidence, size, n)
    best, value = climb.top([tuple(sorted(group)) for group in groups])
    forced: set[frozenset[Group]] = set()
    found = True
    while found:
        found = False
        merges = [change for _, change in climb.expected(best) if change.n_joins > 0]
        starts = [
            start for start in (c.of(best) for c in merges) if frozenset(start) not in forced
        ]
        for start in starts[: n_forced - len(forced)]:
            if climb.ended:
                break
            forced.add(frozenset(start))
            other, other_value = climb.top(start)
            if found := other_value > value + _LEAST_GAIN:
                best, value = other, other_value
                break
    return best
