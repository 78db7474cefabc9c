"""Low-dimensional subspaces of the domain, and how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.streams import Streams


Axes = Literal["random", "fixed"]

MOST_SEARCHED = 1024
"""Subspaces that one suggestion searches; a random part of more."""

MOST_NUMBERS = 2_000_000
"""Coordinates of all subspaces that one suggestion searches."""

_MOST_COUNTED = 2**60


@dataclass(frozen=True, eq=False)
class Subspaces:
    """Affine pieces of the domain: each leaves d columns free and the others at an anchor.

    Parameters
    ----------
    anchors : FloatArray, shape (S, D)
        z of the paper. The free columns of an anchor have no meaning.
    columns : IntArray, shape (S, d)
        The free columns, ascending.
    at_good : BoolArray, shape (S,)
        Marks the anchors that are good points, whose free columns do have a meaning.
    """

    anchors: FloatArray
    columns: IntArray
    at_good: BoolArray

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def free(self) -> BoolArray:
        """The free columns as marks, shape (S, D)."""
        marks = np.zeros(self.anchors.shape, np.bool_)
        np.put_along_axis(marks, self.columns, True, axis=1)
        return marks


def sizes(n_steps: int, n0: int, alpha: float) -> list[int]:
    """Return N_t = N0 t^alpha, t = 1 .. n_steps."""
    return [int(min(n0 * float(t) ** alpha, _MOST_COUNTED)) for t in range(1, n_steps + 1)]


def draw_subspaces(
    domain: Domain,
    streams: Streams,
    purpose: str,
    step: int,
    d: int,
    n0: int,
    alpha: float,
    axes: Axes,
    good: FloatArray | None,
) -> Subspaces:
    """Return Z_t, or a random part of it if it is too large to be searched.

    Member i of step s has its own random stream, so that Z_t depends on the seed only. The trial
    number plus one counts as t.

    Parameters
    ----------
    domain : Domain
    streams : Streams
    purpose : str
    step : int
        Number of the trial that asks.
    d : int
        Free columns, at most D.
    n0 : int
    alpha : float
        N_t = N0 t^alpha subspaces are new at step t.
    axes : {"random", "fixed"}
        Free columns: drawn for each subspace, or the last d.
    good : FloatArray, shape (b, D), or None
        A random half of the subspaces is anchored at random ones of these points.
    """
    n_columns = len(domain)
    if d == n_columns:  # the cube, and again with every good point to start from: GP-UCB
        anchors = domain.from_unit(np.full((1, n_columns), 0.5))
        anchors = anchors if good is None else np.concatenate([anchors, good])
        whole = np.tile(np.arange(n_columns), (len(anchors), 1))
        return Subspaces(anchors, whole, np.arange(len(anchors)) > 0)
    most = _most_searched(n_columns)
    members = _members(step, n0, alpha, most, streams.generator(f"{purpose}:looked-at", step))
    U = np.empty((len(members), n_columns))
    columns = np.empty((len(members), d), np.int64)
    columns[:] = np.arange(n_columns - d, n_columns)  # A of Definition 1
    at_good, rank = np.zeros(len(members), np.bool_), np.empty(len(members))
    for row, (s, i) in enumerate(members):
        rng = streams.generator(f"{purpose}:{i}", s)
        rng.random(out=U[row])
        at_good[row], rank[row] = rng.random() < 0.5, rng.random()
        if axes == "random":
            columns[row] = np.sort(rng.choice(n_columns, d, replace=False))
    anchors = domain.from_unit(U)
    if good is None:
        at_good[:] = False
    else:
        anchors[at_good] = good[(rank[at_good] * len(good)).astype(np.int64)]
    return Subspaces(anchors, columns, at_good)


def _members(
    step: int, n0: int, alpha: float, most: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Return (step, number within the step) of the subspaces to search, all of them if few."""
    counts = sizes(step + 1, n0, alpha)
    if sum(counts) <= most:
        return [(s, i) for s, count in enumerate(counts) for i in range(count)]
    newest = min(counts[-1], most // 4)
    ends = np.cumsum(np.array(counts, np.float64))
    chosen = {(step, i) for i in range(newest)}
    for u in rng.random(most - newest):
        s = min(int(np.searchsorted(ends, u * ends[-1], side="right")), step)
        chosen.add((s, int(rng.integers(counts[s]))))
    return sorted(chosen)


def _most_searched(n_columns: int) -> int:
    return min(MOST_SEARCHED, max(64, MOST_NUMBERS // n_columns))


def axes_through(domain: Domain, centre: FloatArray, rng: np.random.Generator) -> Subspaces:
    """Return the lines through a point (D,) along all columns, or some of very many at random."""
    n_columns = len(domain)
    chosen = np.arange(n_columns)
    if n_columns > (most := _most_searched(n_columns)):
        chosen = np.sort(rng.choice(n_columns, most, replace=False))
    anchors = np.repeat(centre[None], len(chosen), axis=0)
    return Subspaces(anchors, chosen[:, None], np.zeros(len(chosen), np.bool_))


def with_climbs(
    spaces: Subspaces,
    domain: Domain,
    acquisition: Acquisition,
    starts: FloatArray,
    axes: Axes,
    n_steps: int,
    rng: np.random.Generator,
) -> Subspaces:
    """Return the subspaces, and one more through the end of each climb in all columns.

    On a smooth function, all columns have to move together for an improvement. The anchors of
    ``spaces`` are as far from its ridge as the trials are.
    """
    d = spaces.columns.shape[1]
    if d in (0, len(domain)) or domain.discrete.all():
        return spaces
    top, _ = acquisition.ascend(starts, ~domain.discrete, n_steps)
    top = domain.canonical(top)
    columns = np.tile(np.arange(len(domain) - d, len(domain)), (len(top), 1))
    if axes == "random":
        columns = np.array([np.sort(rng.choice(len(domain), d, replace=False)) for _ in top])
    return Subspaces(
        np.concatenate([spaces.anchors, top]),
        np.concatenate([spaces.columns, columns]),
        np.concatenate([spaces.at_good, np.ones(len(top), np.bool_)]),
    )
