"""The highest points of grids: single changes of discrete columns, as long as they help."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.maximise.branches import Branch
from optuna_hdbo._core.points import single_moves


N_CLIMBS, MOST_CHANGES = 3, 30
"""Climbs, from the highest different starts, and changes that each makes at most."""

MOST_VALUED, LEAST_CHANGES = 400_000, 3
"""Once climbs have valued points of so many coordinates, they end. But the first one makes these
changes at any price."""


def climb_grids(
    acquisition: Acquisition,
    domain: Domain,
    starts: FloatArray,
    heights: FloatArray,
    free: BoolArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return the points of climbs by single changes, in a domain of discrete columns only.

    Parameters
    ----------
    acquisition : Acquisition
    domain : Domain
    starts : FloatArray, shape (S, D)
    heights : FloatArray, shape (S,)
        The values of the starts.
    free : BoolArray, shape (D,)
        Columns that may change.
    rng : numpy.random.Generator
        Draws the columns that are tried, where there are too many.

    Returns
    -------
    points : FloatArray, shape (m, D)
        All that was valued on the way: the highest one may be known already.
    values : FloatArray, shape (m,)
    """
    columns = np.flatnonzero(free)
    _, different = np.unique(starts, axis=0, return_index=True)
    points, values, n_valued = [starts], [heights], 0
    for i in different[np.argsort(-heights[different], kind="stable")][:N_CLIMBS]:
        x, value = starts[i], float(heights[i])
        for _ in range(MOST_CHANGES):
            if n_valued > MOST_VALUED and len(points) > LEAST_CHANGES:
                break
            moves = single_moves(domain, x, columns, rng)
            if not len(moves):
                break
            n_valued += moves.size
            found = acquisition(moves)
            points.append(moves)
            values.append(found)
            top = int(np.argmax(found))
            if found[top] <= value:
                break
            x, value = moves[top], float(found[top])
    return np.concatenate(points), np.concatenate(values)


def search_grids(
    acquisition: Acquisition,
    domain: Domain,
    x: FloatArray,
    value: float,
    free: BoolArray,
    n_steps: int,
    branch: Branch | None,
    rng: np.random.Generator,
) -> tuple[FloatArray, float]:
    """Return where a few single changes of discrete columns lead from x (D,), and the value there.

    After each change, the other columns that are free are climbed for ``n_steps`` steps.
    """
    columns, climbing = np.flatnonzero(free & domain.discrete), free & ~domain.discrete
    for _ in range(LEAST_CHANGES):
        before = value
        moves = single_moves(domain, x, columns, rng)
        if branch is not None and not len(moves := moves[branch.has(domain, moves)]):
            break
        # All single changes are valued at once, and the most promising one is made. The next ones
        # start from the same point, so they are only tried where that one proves no better.
        gains = acquisition(moves)
        for i in np.argsort(-gains, kind="stable")[: len(columns)]:
            if gains[i] <= value:
                break
            if (found := float(acquisition(moves[i : i + 1])[0])) > value:
                x, value = moves[i], found
        if climbing.any():
            climbed, heights = acquisition.ascend(x[None], climbing, n_steps)
            if heights[0] > value:
                x, value = climbed[0], float(heights[0])
        if value <= before:
            break
    return x, value
