"""Zooming in: once little improves, experts search a box around the best trial as if it were all.

Models of the whole domain take many local optima for noise. In a small box a valley is as wide as
the domain. The experts of a box see the trials in it, in its coordinates, and know nothing else. A
box in which nothing improves gives way to a smaller one around the best point.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from typing import Any
from typing import NamedTuple

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.maximise.region import Region
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.portfolio.credit import Credit
from optuna_hdbo.portfolio.credit import gains
from optuna_hdbo.portfolio.credit import is_ahead
from optuna_hdbo.portfolio.searches.restart import has_converged


KEY, INNER = "zoom", "inner"
"""Keys under which a query's record keeps its box, and therein what the experts of the box keep:
whoever reads records for models of the whole domain is not to find these."""

STALLED = 10
"""Queries that have hardly improved the best value, after which the first box begins; as many as
there are columns where that is more."""

FIRST_SIDE, LEAST_SIDE = 0.25, 0.02
"""Side of the first box, in shares of the ranges, and the least one of a box."""

SHRINK = 3.0
"""Divisor of the side of a box in which nothing improves."""

PATIENCE = 20
"""Failures in a row after which a box gives way to a smaller one."""

NEAR_END = 0.05
"""A box is moved if the best point is this near to one of its ends, in shares of its side."""

LEAST_COLUMNS, MOST_COLUMNS = 7, 25
"""Columns between which there are boxes. In fewer a search afresh finds the best of few optima,
and in more they lose on ill-conditioned functions."""

PRIOR = Credit(2.0, 2.0)
"""Pseudo-counts of successes and failures, of a new box and of all other queries alike."""


class Box(NamedTuple):
    """A box around the point of a trial.

    Parameters
    ----------
    root : int
        Number of the trial.
    side : float
        In shares of the ranges.
    """

    root: int
    side: float

    def region(self, domain: Domain, centre: FloatArray) -> Region:
        """Return the box as a domain of its own, pushed inward where it would stick out."""
        return Region.cube(domain, centre, self.side)


@dataclass(frozen=True, eq=False)
class Zoom:
    """The search of a box.

    Parameters
    ----------
    box : Box
    region : Region
    seen : Observations
        What is known in the box, in its coordinates, and the records of its own queries, as the
        experts have left them.
    """

    box: Box
    region: Region
    seen: Observations

    def signed(self, record: Mapping[str, Any], shown: Collection[str]) -> dict[str, Any]:
        """Return the record of its next query: the entries that are ``shown`` and the box."""
        inner = {key: value for key, value in record.items() if key not in shown}
        box = {"root": self.box.root, "side": self.box.side, INNER: inner}
        return {**{key: record[key] for key in shown if key in record}, KEY: box}


def next_zoom(domain: Domain, seen: Observations, rng: np.random.Generator) -> Zoom | None:
    """Return the search of a box if it is its turn, None if not.

    Parameters
    ----------
    domain : Domain
        Without gates.
    seen : Observations
        All of them inside the domain.
    rng : numpy.random.Generator
        Draws whose turn it is.
    """
    if domain.discrete.all() or not LEAST_COLUMNS <= len(domain) <= MOST_COLUMNS:
        return None
    merit = merits(seen)
    queries = _queries(seen, merit)
    box = _next_box(domain, seen, merit, queries)
    if box is None or not _is_its_turn(box, queries, rng):
        return None
    row = seen.row_of[box.root]
    region = box.region(domain, seen.X[row])
    records = [_inner(query.record) for query in queries if query.box == box]
    return Zoom(box, region, replace(_within(region, seen, row), records=records))


def _inner(record: Record) -> Record:
    """Return the record as the experts of the box have left it."""
    inner = record.data[KEY].get(INNER)
    return replace(record, data={**record.data, **(inner if isinstance(inner, dict) else {})})


class _Query(NamedTuple):
    """A query, its box (None for the whole domain), and its success (None while it is running)."""

    record: Record
    box: Box | None
    success: bool | None


def _queries(seen: Observations, merit: FloatArray) -> list[_Query]:
    """Return the queries of all records."""
    found, better = [], gains(seen, merit)
    for record in seen.records:
        box = _parse(record)
        known = box if box is not None and box.root in seen.row_of else None
        success = None if record.state == "running" else record.number in better
        found.append(_Query(record, known, success))
    return found


def _next_box(
    domain: Domain,
    seen: Observations,
    merit: FloatArray,
    queries: list[_Query],
) -> Box | None:
    """Return the box that goes on, or a new one around the best point, or None."""
    box, failures = None, 0
    for query in queries:
        if query.box is None:
            continue
        if query.box != box:
            box, failures = query.box, 0
        if query.success is not None:
            failures = 0 if query.success else failures + 1
    best = int(np.argmax(merit))
    first = Box(int(seen.numbers[best]), FIRST_SIDE)
    has_stalled = has_converged(merit, len(queries), max(STALLED, len(domain)))
    if box is None:
        return first if has_stalled else None
    region = box.region(domain, seen.X[seen.row_of[box.root]])
    if not region.contains(seen.X[best][None])[0]:
        return first if has_stalled else None
    if failures >= PATIENCE:
        smaller = Box(first.root, box.side / SHRINK)
        return smaller if smaller.side >= LEAST_SIDE else None
    return Box(first.root, box.side) if _is_near_end(region, seen.X[best]) else box


def _is_its_turn(box: Box, queries: list[_Query], rng: np.random.Generator) -> bool:
    """Draw whether the next query is one of the box, by its rate of success and that of others."""
    ended = (
        (query.box == box, query.success)
        for query in queries
        if query.success is not None and query.box in (box, None)
    )
    return is_ahead(ended, PRIOR, rng)


def _is_near_end(region: Region, x: FloatArray) -> bool:
    """Tell whether a point of the box is near an end of it that is not one of the domain."""
    u = region.inward(x[None])[0]
    low = (u < NEAR_END) & (region.low > 0.0)
    high = (u > 1.0 - NEAR_END) & (region.high < 1.0)
    return bool((low | high)[~region.domain.discrete].any())


def _parse(record: Record) -> Box | None:
    """Return the box that a record names."""
    data = record.data.get(KEY)
    if not isinstance(data, dict):
        return None
    root, side = data.get("root"), data.get("side")
    if type(root) is not int or type(side) is not float:
        return None
    return Box(root, side) if LEAST_SIDE <= side <= FIRST_SIDE else None


def _within(region: Region, seen: Observations, row: int) -> Observations:
    """Return the observations, pending points and failures in the box, in its coordinates."""
    rows = _rows_in(region, seen.X)
    known = seen.at(np.union1d(rows, [row]))
    pending = seen.pending[_rows_in(region, seen.pending)]
    inner, failures = region.inner, seen.failures
    if failures is not None:
        failures = failures.at(_rows_in(region, failures.X))
        failures = replace(failures, X=inner.snap(region.inward(failures.X)))
    return replace(
        known,
        X=inner.snap(region.inward(known.X)),
        pending=inner.snap(region.inward(pending)),
        failures=failures,
        outside=None,
    )


def _rows_in(region: Region, X: FloatArray) -> np.ndarray:
    """Return the rows of points (m, D) that the box has: of grids, too, it holds a part."""
    U = region.inward(X)
    on_grid = (region.inner.nearest(U) == U) | ~region.domain.discrete
    return np.flatnonzero(region.contains(X) & on_grid.all(axis=1))
