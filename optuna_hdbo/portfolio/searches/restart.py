"""Restarts: once nothing improves any more, another search begins that does not use the first one.

A part of the queries goes to a search afresh. It begins with random points, and its experts see
only these and their own queries. Once it has converged as well, another one begins. In few columns
this part is small as long as the first search has not refined its best point. If there are many
columns, a search afresh moves the few that matter under a fit, and ends where it comes back to the
best point. Where that fit explains the objective, :mod:`optuna_hdbo.portfolio.searches.few` takes
its place. If many columns matter, there is none until the first search has settled: until its last
queries only add digits to the best value. Then it moves all columns, and asks the local expert.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.subsets import observed_in
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.credit import is_mixed
from optuna_hdbo.portfolio.panel import WINDOW
from optuna_hdbo.portfolio.panel import n_recent
from optuna_hdbo.portfolio.searches import influence


KEY = "restart"
"""Key under which a query's record keeps the trial at which its search began."""

PATIENCE = 20
"""A search has converged if this many queries have not improved its best value enough."""

ENOUGH = 1e-2
"""Smallest gain that is enough, divided by the distance of the best value to the median."""

ENOUGH_OF_MANY = 3e-2
"""The same where a search afresh moves a few of many columns: the others slow the last digits."""

SHARE = 2.0 / 3.0
"""Share of the queries that the first search afresh makes once the study has converged."""

SHARE_UNREFINED = 0.15
"""The same in few columns until the first search refines the best point."""

LEAST_REFINED = 3
"""So many of its last queries have to be refinements for that."""

SHARE_OF_MIXED = 1.0 / 3.0
"""The same in few mixed columns."""

CLOSE, LEAST_CLOSE = 3e-3, 5
"""A search has settled if its last queries have gained no more than this, and so many of their
values are this close to the best one, see :func:`is_settled`."""

FADING, FADING_OF_MANY = 1.0, 0.3
"""After k searches that have not found the best point, the next one makes that share divided by
1 + k times this number. The second one holds where it moves a few of many columns."""

BACK = 0.9
"""A search that moves a few of many columns ends where its best point has this correlation with
the best one of all."""

MOST_RANDOM = 10
"""A search afresh begins with three more random points than it has columns, at most this many."""

COLUMNS = "columns"
"""Key under which a query's record keeps the names of the columns that its search moves."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search and its observations.

    Parameters
    ----------
    began : int or None
        The trial at which it began afresh; ``None`` for the first search.
    domain : Domain
        The columns that it moves.
    seen : Observations
        All observations for the first search. For a later one only its own, in its columns.
    columns : IntArray
        Which columns of the whole domain these are.
    best : FloatArray, shape (D,)
        The best point of all.
    n_queries : int
        How many queries a later search has made, or trials there are of its branch.
    notes : Mapping
        Further entries of the record of its next query: the branch that it searches.
    """

    began: int | None
    domain: Domain
    seen: Observations
    columns: IntArray
    best: FloatArray
    n_queries: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_random_points(self) -> bool:
        """Whether the next query is a random point."""
        if self.began is None:
            return False
        return self.n_queries < n_random(len(self.domain)) or not len(self.seen.values)

    @property
    def said(self) -> dict[str, Any]:
        """Entries of the record of its next query."""
        return {KEY: self.began, COLUMNS: list(self.domain.names), **self.notes}

    def knowing(self, domain: Domain, seen: Observations, x: FloatArray) -> Search | None:
        """Return the same with the value of a point x of its columns, None if nobody knows it.

        The first search or another one may have asked for the point, such as a corner.
        """
        if self.began is None:  # it knows all
            return None
        same = (domain.canonical(self.whole(x)[None]) == seen.X).all(axis=1)
        own = np.isin(seen.numbers, self.seen.numbers)
        if not (same & ~own).any():
            return None
        part = observed_in(seen.at(np.flatnonzero(same | own)), self.columns)
        return replace(self, seen=replace(part, records=self.seen.records))

    def whole(self, x: FloatArray) -> FloatArray:
        """Return a point of its columns with the best values of all others, shape (D,)."""
        point = self.best.copy()
        point[self.columns] = x
        return point


def n_random(n_columns: int) -> int:
    """Return the random points that a search afresh begins with."""
    return min(n_columns + 3, MOST_RANDOM)


@dataclass(frozen=True, eq=False)
class Turn:
    """Whose turn it is, as the trials' records say.

    Parameters
    ----------
    first : Search
    drawn : float or None
        What decides between it and a search afresh; ``None`` while the first one improves.
    n_in_vain : int
        How many earlier searches afresh did not find the best point.
    latest : int or None
        The trial at which the last of them began; ``None`` while there is none.
    records : sequence of Record
        The records of its queries.
    holder : int or None
        The trial at which the search began that found the best point; ``None`` for the first one.
    share : float
        Share of the queries that searches afresh make while none was in vain.
    settled : bool
        Whether the first search has settled, so that one afresh may move all of many columns.
    """

    first: Search
    drawn: float | None = None
    n_in_vain: int = 0
    latest: int | None = None
    records: Sequence[Record] = ()
    holder: int | None = None
    share: float = SHARE
    settled: bool = False

    def is_later(self, fading: float) -> bool:
        """Tell whether a search afresh makes the next query, whose share fades as it says."""
        return self.drawn is not None and self.drawn <= self.share / (1 + fading * self.n_in_vain)


def next_turn(
    domain: Domain, seen: Observations, rng: np.random.Generator, *, allowed: bool = True
) -> Turn:
    """Return whose turn it is: that of the first search, or of one that began afresh."""
    starts = ((record.number, _began(record)) for record in seen.records)
    began = {number: start for number, start in starts if start is not None}
    merit = merits(seen)
    top = int(np.argmax(merit))
    of_first = seen
    if began:
        records = [record for record in seen.records if record.number not in began]
        of_first = replace(seen, records=records)
    first = Search(None, domain, of_first, np.arange(len(domain)), seen.X[top])
    n_queries = len(of_first.records)
    if not allowed or not has_converged(merit, n_queries, enough=_enough(domain)):
        return Turn(first)
    holder = began.get(int(seen.numbers[top]))
    latest = max(began.values(), default=None)
    records = [record for record in seen.records if began.get(record.number, -1) == latest]
    n_in_vain = _n_in_vain(began, holder)
    # Trials of the first search, and of the one that found the best point.
    own = [began.get(number, holder) == holder for number in seen.numbers.tolist()]
    many = domain.breadth >= FEW_COLUMNS and not domain.discrete.all()
    settled = many and seen.ranks is None and is_settled(merit[own])
    share = _share(domain, of_first)
    return Turn(first, rng.random(), n_in_vain, latest, records, holder, share, settled)


def next_search(domain: Domain, seen: Observations, turn: Turn, memory: Memory) -> Search:
    """Return the search whose turn it is: the first one, or one that began afresh."""
    many = domain.breadth >= FEW_COLUMNS
    if not turn.is_later(FADING_OF_MANY if many and not turn.settled else FADING):
        return turn.first
    if (latest := under_way(domain, seen, turn, memory)) is not None:
        return latest
    columns = np.arange(len(domain)) if turn.settled else influence.columns(domain, seen, memory)
    if columns is None:
        return turn.first
    return _search(domain, seen, columns, turn.first.best, seen.step, [])


def under_way(domain: Domain, seen: Observations, turn: Turn, memory: Memory) -> Search | None:
    """Return the search that began last, None if there is none or it is over."""
    latest = _latest(domain, seen, turn)
    if latest is None:
        return None
    n_queries = latest.n_queries - n_random(len(latest.domain))
    over = has_converged(merits(latest.seen), n_queries, enough=_enough(domain))
    if domain.breadth >= FEW_COLUMNS and turn.latest != turn.holder:
        over = over or _is_back(domain, latest, memory)
    return None if over else latest


def _share(domain: Domain, first: Observations) -> float:
    """Return the share of the queries that searches afresh make while none was in vain."""
    if is_mixed(domain):
        return SHARE_OF_MIXED
    few = domain.breadth < FEW_COLUMNS
    return SHARE_UNREFINED if few and not _is_refined(first) else SHARE


def _is_refined(first: Observations) -> bool:
    """Tell whether its last queries refined the best point, or went elsewhere instead of that."""
    return n_recent(first, "refine", "elsewhere") >= LEAST_REFINED


def _enough(domain: Domain) -> float:
    """Return the gain that is enough for a search to go on."""
    return ENOUGH_OF_MANY if domain.breadth >= FEW_COLUMNS else ENOUGH


def _is_back(domain: Domain, search: Search, memory: Memory) -> bool:
    """Tell whether the best point of a search is close to the best one of all."""
    fitted = recall_fit(memory, influence.FIT, domain)
    if fitted is None or not len(search.seen.values):
        return False
    x = search.whole(search.seen.X[int(np.argmax(merits(search.seen)))])
    found = influence.correlations(fitted, search.columns, search.best, x[None])
    return bool(found[0] > BACK)


def _n_in_vain(began: Mapping[int, int], holder: int | None) -> int:
    """Return how many earlier searches afresh did not find the best point, see :class:`Turn`."""
    return sum(number != holder for number in sorted(set(began.values()))[:-1])


def _latest(domain: Domain, seen: Observations, turn: Turn) -> Search | None:
    """Return the search that began last, None if there is none or its columns are gone."""
    if turn.latest is None:
        return None
    names = turn.records[0].data.get(COLUMNS)
    index = {name: i for i, name in enumerate(domain.names)}
    if not isinstance(names, list) or not names:
        return None
    if not all(isinstance(name, str) and name in index for name in names):
        return None
    columns = np.array([index[name] for name in names], np.int64)
    return _search(domain, seen, columns, turn.first.best, turn.latest, turn.records)


def _search(
    domain: Domain,
    seen: Observations,
    columns: IntArray,
    best: FloatArray,
    began: int,
    records: Sequence[Record],
) -> Search:
    """Return a search with the observations of these records, and all pending points."""
    columns = np.array(domain.with_deciding(columns.tolist()), np.int64)
    numbers = [record.number for record in records]
    of_search = seen.at(np.flatnonzero(np.isin(seen.numbers, numbers)))
    own = replace(observed_in(of_search, columns), records=records)
    part = domain if len(columns) == len(domain) else restricted(domain, columns)
    return Search(began, part, own, columns, best, len(records))


def has_converged(
    merit: FloatArray, n_queries: int, patience: int = PATIENCE, enough: float = ENOUGH
) -> bool:
    """Tell whether the last ``patience`` queries have hardly improved the best of ``merit (n,)``.

    Experts have made ``n_queries`` so far. Random points say nothing about convergence.
    """
    if min(len(merit) - 1, n_queries) < patience:
        return False
    best, before = float(merit.max()), float(merit[:-patience].max())
    return best - before <= enough * (best - float(np.median(merit)))


def is_settled(merit: FloatArray) -> bool:
    """Tell whether the last queries of a search, with ``merit (n,)``, only add digits.

    Values are close in units of the best one's distance to the median of the last ones, or of the
    better half if less. Where an objective is rugged, hardly any value is close to the best one.
    In a narrow valley the values differ by more, or still gain. Equal values count once: error
    rates repeat the best one.
    """
    best, last, better = merit.max(), merit[-WINDOW:], np.sort(merit)[len(merit) // 2 :]
    close = CLOSE * (best - max(np.median(last), np.median(better)))
    is_flat = best - merit[:-PATIENCE].max(initial=-np.inf) <= close
    return bool(is_flat and (best - np.unique(last) <= close).sum() >= LEAST_CLOSE)


def _began(record: Record) -> int | None:
    """Return the trial at which a query's search began, None for the first search."""
    began = record.data.get(KEY)
    return began if type(began) is int and 0 <= began <= record.number else None
