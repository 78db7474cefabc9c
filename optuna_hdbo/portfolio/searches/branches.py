"""Searches of single branches, where parameters depend on the values of others.

The best trial's branch soon gets nearly all queries. Another branch may be better once its own
parameters are tuned, but its few trials do not show that. So once nothing improves any more, a
part of the queries goes to the other branches, one after another: the one with the best trial
first. Experts search it as a domain of its own, with the trials that it has. It is given up when
nothing improves there either.

What is done is derived from the trials, so it is the same for every worker and in a resumed study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.maximise.branches import N_SAMPLED
from optuna_hdbo._core.maximise.several import ranked
from optuna_hdbo._core.models.subsets import observed_in
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.observations import Observations
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.searches.restart import SHARE
from optuna_hdbo.portfolio.searches.restart import Search
from optuna_hdbo.portfolio.searches.restart import has_converged


BRANCH = "branch"
"""Key under which a query's record keeps the deciding values of the branch that it searches."""

SHARE_OF_UNTRIED = 0.5
"""Share of queries for options without trials."""

UNTRIED = "untried"
"""Key under which a query's record keeps the option that its trial is the first one to have."""

SHARE_WITHOUT_FRONT = 0.25
"""Share of queries for several objectives that search a branch without points of the front."""


def next_search(
    domain: Domain, seen: Observations, rng: np.random.Generator, *, allowed: bool = True
) -> Search | Suggestion:
    """Return the search whose turn it is: of all branches, or of another than the best trial's.

    Or it is the turn of a query of an option that no trial has had. With k branches that were
    searched in vain, another one makes a share of the queries that is divided by k + 1.
    """
    merit = merits(seen)
    if (query := untried(domain, seen, merit, rng)) is not None:
        return query
    first = _of_all(domain, seen, merit)
    # Under noise nothing may improve for long, though the best branch is not exhausted.
    if seen.ranks is not None or not (allowed and has_converged(merit, len(first.seen.records))):
        return first
    drawn, n_in_vain = rng.random(), 0
    queried = np.isin(seen.numbers, [record.number for record in seen.records])
    # Stable: the best trial's branch is the first one.
    for rows in sorted(_branches(domain, seen), key=lambda rows: -merit[rows].max())[1:]:
        if has_converged(merit[rows], int(queried[rows].sum())):
            n_in_vain += 1
        elif (search := _search(domain, seen, rows, merit)) is not None:
            return search if drawn <= SHARE / (1 + n_in_vain) else first
    return first


def next_of_several(
    domain: Domain, seen: Observations, rng: np.random.Generator
) -> Search | Suggestion:
    """Return the search whose turn it is where there are several objectives, or such a query.

    A part of them are of a branch without points of the front: the one with the fewest trials.
    """
    merit = merits(ranked(seen))
    if (query := untried(domain, seen, merit, rng)) is not None:
        return query
    first = _of_all(domain, seen, merit)
    if rng.random() >= SHARE_WITHOUT_FRONT:
        return first
    others = [rows for rows in _branches(domain, seen) if merit[rows].max() < merit.max()]
    search = _search(domain, seen, min(others, key=len), merit) if others else None
    return search or first


def untried(
    domain: Domain, seen: Observations, merit: FloatArray, rng: np.random.Generator
) -> Suggestion | None:
    """Return a query of an option that no trial has had, as every second one.

    It has the values of the best trial where both have a column, and random ones elsewhere. Each
    option is tried once, even if its trial is pruned, and such trials are not used.
    """
    has, columns = domain.active(seen.known), np.flatnonzero(domain.deciding & domain.categorical)
    tried = {c: seen.known[has[:, c], c] for c in columns.tolist()}
    new = [c for c in tried if not np.isin(domain.grid(c), tried[c]).all()]
    if not new or rng.random() >= SHARE_OF_UNTRIED:
        return None
    earlier = [record.data.get(UNTRIED) for record in seen.records]
    best = seen.X[int(np.argmax(merit))]
    points = domain.sample(rng, N_SAMPLED)
    # Those with the best trial's other choices come first.
    n_others = (_deciding_values(domain, points) != best[domain.deciding]).sum(axis=1)
    points = points[np.argsort(n_others, kind="stable")]
    for c in new:
        for x in points[domain.active(points)[:, c] & ~np.isin(points[:, c], tried[c])]:
            if (option := f"{domain.names[c]} {x[c]:g}") not in earlier:
                shared = domain.active(np.array([x, best])).all(axis=0) & ~domain.deciding
                said = {QUERY: "restart"}
                return Suggestion(np.where(shared, best, x), {**said, UNTRIED: option}, said)
    return None


def _of_all(domain: Domain, seen: Observations, merit: FloatArray) -> Search:
    """Return the search of all branches."""
    seen = seen.without(BRANCH)
    return Search(None, domain, seen, np.arange(len(domain)), seen.X[int(np.argmax(merit))])


def _branches(domain: Domain, seen: Observations) -> list[IntArray]:
    """Return the rows of each branch that has trials."""
    known, of_row = np.unique(_deciding_values(domain, seen.X), axis=0, return_inverse=True)
    inside = np.ones(len(seen.X), np.bool_) if seen.outside is None else ~seen.outside
    found = (np.flatnonzero((of_row.ravel() == i) & inside) for i in range(len(known)))
    return [rows for rows in found if len(rows)]


def _deciding_values(domain: Domain, X: FloatArray) -> FloatArray:
    """Return what makes the branch of each of the points (m, D)."""
    return domain.canonical(X)[:, domain.deciding]


def _search(
    domain: Domain, seen: Observations, rows: np.ndarray, merit: FloatArray
) -> Search | None:
    """Return the search of the branch in which some rows are; None without columns to search."""
    best = seen.X[rows[int(np.argmax(merit[rows]))]]
    moved: BoolArray = domain.active(best[None])[0] & ~domain.deciding
    if not (moved & ~domain.discrete).any():
        return None
    columns = np.flatnonzero(moved)
    key = _key(domain, best)
    records = [record for record in seen.records if record.data.get(BRANCH) == key]
    of_branch = replace(
        seen.at(rows),
        pending=seen.pending[_rows_of(domain, best, seen.pending)],
        records=records,
        failures=seen.failures and seen.failures.at(_rows_of(domain, best, seen.failures.X)),
    )
    own = observed_in(of_branch, columns)
    began = records[0].number if records else seen.step
    part = restricted(replace(domain, gates={}), columns)
    return Search(began, part, own, columns, best, len(rows), {BRANCH: key})


def _rows_of(domain: Domain, x: FloatArray, X: FloatArray) -> IntArray:
    """Return the rows of points X (m, D) in the branch of x (D,)."""
    same = _deciding_values(domain, X) == x[domain.deciding]
    return np.flatnonzero(same.all(axis=1))


def _key(domain: Domain, x: FloatArray) -> Mapping[str, float]:
    marks = domain.deciding & domain.active(x[None])[0]
    return {domain.names[c]: float(x[c]) for c in np.flatnonzero(marks).tolist()}
