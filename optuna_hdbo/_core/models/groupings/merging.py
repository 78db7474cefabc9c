"""A climb over all groupings: columns begin alone, and join where the evidence is convincing.

Neighbours of a grouping have two groups merged, a column taken out of its group, a column moved to
another one, or two columns exchanged. There are hundreds, and scoring one takes a Cholesky factor.
So they are ranked by the derivative of the log evidence towards them, for which all share one
inverse matrix, and only the first few are scored. Where none of these is better, two groups are
dissolved and the climb starts again; the better one of the two groupings is kept.
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


N_TRIED = 3
"""Neighbours that are scored at each step, those of the largest derivatives."""


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
        singles = [evidence.correlations((c,)).ravel() for c in range(D)]
        parts = dict.fromkeys(groups)
        parts |= dict.fromkeys(less(g, c) for g in groups if len(g) > 1 for c in g)
        parts |= dict.fromkeys((c,) for c in range(D))
        rows = [evidence.correlations(part).ravel() for part in parts]
        weighted = np.stack(rows) * W.ravel()
        self._at = {part: i for i, part in enumerate(parts)}
        self._own = (weighted.sum(axis=1) * [len(part) for part in parts]).tolist()
        large = [group for group in groups if len(group) > 1]
        with_others = [*singles, *(evidence.correlations(group).ravel() for group in large)]
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


def merge(
    evidence: Evidence,
    groups: Sequence[Sequence[int]],
    size: int,
    n: int,
    rng: np.random.Generator,
    n_restarts: int = 1,
) -> list[Group]:
    """Return the likeliest grouping that a climb from ``groups`` finds.

    Parameters
    ----------
    evidence : Evidence
    groups : sequence of sequences of int
    size : int
        Largest number of columns in a group.
    n : int
        Groupings to score; the last step may score some more.
    rng : numpy.random.Generator
    n_restarts : int
        Climbs after the first one, each from the best grouping with up to two groups dissolved.
    """
    best, value = _climb(evidence, [tuple(sorted(g)) for g in groups], size, n)
    for _ in range(n_restarts):
        large = [group for group in best if len(group) > 1]
        if evidence.n_scored >= n or not large:
            break
        gone = [large[i] for i in rng.permutation(len(large))[:2].tolist()]
        apart = [(c,) for group in gone for c in group]
        start = [*(group for group in best if group not in gone), *apart]
        other, other_value = _climb(evidence, start, size, n)
        if other_value > value + 1e-6:
            best, value = other, other_value
    return best


def _climb(
    evidence: Evidence, groups: list[Group], size: int, n: int
) -> tuple[list[Group], float]:
    """Return the grouping at which no promising neighbour is likelier, and its log posterior."""
    K = evidence.covariances(groups)
    value = evidence.of(K) + evidence.log_prior(groups)
    while evidence.n_scored < n:
        W = evidence.slopes(K)
        if W is None:
            break
        slopes = Slopes(evidence, groups, W)
        changes = list(neighbours(groups, size))
        expected = [slopes.towards(c) - evidence.price * c.n_joins for c in changes]
        best = None
        for i in np.argsort(-np.array(expected), kind="stable")[:N_TRIED].tolist():
            changed = changes[i].of(groups)
            after = K + evidence.covariances(changes[i].new) - evidence.covariances(changes[i].old)
            found = evidence.of(after) + evidence.log_prior(changed)
            if found > (value if best is None else best[0]) + 1e-6:
                best = found, changed, after
        if best is None:
            break
        value, groups, K = best
    return groups, value
