"""Restarts: once nothing improves any more, a second search begins that does not know the first.

A model of all trials that has converged is sure of itself, and its experts only add digits. If the
optimum that they have found is the second-best one, no query leads away from it. So a part of the
queries goes to a search afresh: random points, and then experts that see nothing but these and
their own queries. Once such a search has converged as well, another one begins. Where columns are
many, a search afresh is too expensive to find anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.portfolio.credit import is_success
from optuna_hdbo.portfolio.experts import FEW_COLUMNS


KEY = "restart"
"""Key under which a query's record keeps the trial at which its search began."""

PATIENCE = 20
"""Queries without a worthwhile improvement after which a search has converged."""

SHARE = 2.0 / 3.0
"""Share of the queries that searches afresh get once the first one has converged. Of two thirds
and all of them, the first was better on thirteen tuning problems: a converged search may still
improve."""

MOST_RANDOM = 10
"""A search afresh begins with three random points more than columns, at most this many."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search and what it knows.

    Parameters
    ----------
    began : int or None
        The trial at which it began afresh; ``None`` for the first search.
    seen : Observations
        Of the first search all observations, of a later one only its own.
    n_queries : int
        Of a later one, how many it has made.
    """

    began: int | None
    seen: Observations
    n_queries: int = 0

    def needs_random_points(self, n_columns: int) -> bool:
        """Tell whether the next query is a random point."""
        if self.began is None:
            return False
        return self.n_queries < n_random(n_columns) or not len(self.seen.values)


def n_random(n_columns: int) -> int:
    """Return the random points that a search afresh begins with."""
    return min(n_columns + 3, MOST_RANDOM)


def next_search(
    domain: Domain, seen: Observations, rng: np.random.Generator, *, allowed: bool = True
) -> Search:
    """Return the search whose turn it is: the first one, or one that began afresh.

    It is derived from the trials' records, so that it is the same for every worker and after a
    resumption.
    """
    began = {record.number: _began(record) for record in seen.records}
    first = Search(None, replace(seen, records=[r for r in seen.records if _began(r) is None]))
    if not allowed or len(domain) >= FEW_COLUMNS or domain.discrete.all():
        return first
    if not _has_converged(merits(seen), len(first.seen.records)) or rng.random() > SHARE:
        return first
    latest = max((number for number in began.values() if number is not None), default=None)
    if latest is None:
        return Search(seen.step, _only(seen, np.zeros(len(seen.values), np.bool_), []))
    records = [record for record in seen.records if began[record.number] == latest]
    rows = np.array([began.get(number) == latest for number in seen.numbers.tolist()], np.bool_)
    own = _only(seen, rows, records)
    if _has_converged(merits(own), len(records) - n_random(len(domain))):
        return Search(seen.step, _only(seen, np.zeros(len(rows), np.bool_), []))
    return Search(latest, own, len(records))


def _has_converged(merit: FloatArray, n_queries: int) -> bool:
    """Tell whether none of the last queries was a worthwhile improvement.

    Parameters
    ----------
    merit : FloatArray, shape (n,)
    n_queries : int
        Queries of experts so far; random points say nothing about convergence.
    """
    n = len(merit)
    if min(n, n_queries) < PATIENCE:
        return False
    return not any(is_success(merit, row) for row in range(n - PATIENCE, n))


def _only(seen: Observations, rows: BoolArray, records: Sequence[Record]) -> Observations:
    """Return some of the observations; what is pending stays."""
    return replace(
        seen,
        X=np.ascontiguousarray(seen.X[rows]),
        values=seen.values[rows],
        numbers=seen.numbers[rows],
        pruned=seen.pruned[rows],
        constraints=seen.constraints[rows],
        records=records,
    )


def _began(record: Record) -> int | None:
    """Return the trial at which a query's search began, None for the first search."""
    began = record.data.get(KEY)
    return began if type(began) is int and 0 <= began <= record.number else None
