"""The best point of an acquisition function over a domain, discrete columns included."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.maximise.branches import Branch
from optuna_hdbo._core.maximise.branches import branches
from optuna_hdbo._core.maximise.grids import climb_grids
from optuna_hdbo._core.maximise.grids import search_grids
from optuna_hdbo._core.points import unknown_near


ALONG_AXES, LEAST_PER_AXIS = 512, 8
"""Points tried along all axes together, and at least along each of them."""

MOST_ALONG = 16_000_000
"""Coordinates of all these points together. From 1415 columns on, only some axes are tried, drawn
at random."""

AXIS_STEPS = 10
"""Steps of the climb along the best axis."""

MOST_DRAWN, MOST_CLIMBED = 2_000_000, 100_000
"""Coordinates of all uniform candidates together, and of all starts of climbs. With thousands of
columns, more of them would make a trial cost several times as much as a random one."""


@dataclass(frozen=True)
class Effort:
    """How hard a maximiser tries.

    Parameters
    ----------
    n_uniform, n_perturbed : int
        Candidates drawn uniformly, and around the best points (RAASP, Regis & Shoemaker 2013, as
        used by Eriksson et al. 2019).
    n_starts : int
        Candidates from which gradients are followed for ``n_first`` steps.
    n_first : int
    n_finalists : int
        The highest of these climbs, which go on for ``n_steps`` steps.
    n_steps : int
    """

    n_uniform: int = 256
    n_perturbed: int = 128
    n_starts: int = 12
    n_first: int = 6
    n_finalists: int = 3
    n_steps: int = 80

    def at(self, n: int) -> Effort:
        """Return the effort for n observations. It is larger while they are few and cheap."""
        more = min(4.0, max(1.0, 200 / max(n, 1)))
        return replace(
            self,
            n_uniform=int(more * self.n_uniform),
            n_starts=int(more * self.n_starts),
            n_finalists=int(more**0.5 * self.n_finalists),
        )

    def within(self, n_columns: int) -> Effort:
        """Return the effort in so many columns. It is smaller where there are thousands."""
        n_starts = max(MOST_CLIMBED // n_columns, 8)
        return replace(
            self,
            n_uniform=min(self.n_uniform, max(MOST_DRAWN // n_columns, 128)),
            n_starts=min(self.n_starts, n_starts),
            n_finalists=min(self.n_finalists, max(n_starts // 4, 2)),
        )

    def divided(self, n: int) -> Effort:
        """Return the effort for one of n branches, which have less to search than the whole."""
        return replace(
            self,
            n_uniform=max(self.n_uniform // n, 48),
            n_perturbed=max(self.n_perturbed // n, 32),
            n_starts=max(self.n_starts // n, 4),
            n_finalists=max(self.n_finalists // n, 2),
        )


DEFAULT_EFFORT = Effort()


def maximise(
    acquisition: Acquisition,
    domain: Domain,
    best: FloatArray,
    known: FloatArray,
    rng: np.random.Generator,
    *,
    free: BoolArray | None = None,
    effort: Effort = DEFAULT_EFFORT,
    away: float = 0.0,
) -> FloatArray:
    """Return the point (D,) of the largest acquisition value found that is not known.

    Candidates are scored, gradients are followed to the exact bounds from the most promising ones,
    and grids are searched one column at a time. A known point is returned only where nothing else
    was found: when the domain, or what of it is free, is exhausted. Where columns are not always
    active, every branch is searched, and the best point of all is returned.

    Parameters
    ----------
    acquisition : Acquisition
    domain : Domain
    best : FloatArray, shape (b, D)
        Good points, the best first: what perturbations start from, and what columns that are not
        free are left at.
    known : FloatArray, shape (n, D)
        Points that are not to be returned.
    rng : numpy.random.Generator
    free : BoolArray, shape (D,), or None
        Columns that may move; ``None`` for all.
    effort : Effort
    away : float
        Smallest root mean square distance over the free columns from ``best[0]``, where points
        that far are found.
    """
    free = np.ones(len(domain), np.bool_) if free is None else free
    effort = effort.within(len(domain))
    if not domain.gates:
        return _search(acquisition, domain, best, known, rng, free, effort, away)[0]
    found = branches(acquisition, domain, best, known, free, rng)
    effort = effort.divided(len(found))
    tops = [
        _search(acquisition, domain, b.best, known, rng, b.free, effort, away, b) for b in found
    ]
    return max(tops, key=lambda top: top[1])[0]


def _search(
    acquisition: Acquisition,
    domain: Domain,
    best: FloatArray,
    known: FloatArray,
    rng: np.random.Generator,
    free: BoolArray,
    effort: Effort,
    away: float,
    branch: Branch | None = None,
) -> tuple[FloatArray, float]:
    """Return the best point of the domain, or of a branch of it, and its value."""
    pool = candidates(domain, best, free, effort, rng)
    if branch is not None:
        pool = branch.hold(domain, pool, rng)
    n_uniform = effort.n_uniform
    far = _is_away(domain, best[0], free, away, pool)
    if far.any() and not far.all():
        pool, n_uniform = pool[far], int(far[:n_uniform].sum())
    if not away:
        pool = np.concatenate([pool, best[:1]])
    values = acquisition(pool)
    starts = pool[_choose(values, n_uniform, effort.n_starts, rng)]
    climbing = free & ~domain.discrete
    if climbing.any():
        climbed, heights = acquisition.ascend(starts, climbing, effort.n_first)
        finalists = np.argsort(-heights, kind="stable")[: effort.n_finalists]
        climbed, heights = acquisition.ascend(climbed[finalists], climbing, effort.n_steps)
    else:
        climbed, heights = starts, acquisition(starts)
    if domain.discrete.all() and branch is None:
        climbed, heights = climb_grids(acquisition, domain, climbed, heights, free, rng)
    elif (free & domain.discrete).any():
        i = int(np.argmax(heights))
        x, height = search_grids(
            acquisition,
            domain,
            climbed[i],
            float(heights.max()),
            free,
            effort.n_steps,
            branch,
            rng,
        )
        climbed, heights = np.concatenate([climbed, x[None]]), np.append(heights, height)
    pool = np.concatenate([climbed, pool])
    values = np.concatenate([heights, values])
    is_away = _is_away(domain, best[0], free, away, pool)
    values = np.where(is_away | ~far.any(), values, -np.inf)
    taken = {row.tobytes() for row in known}
    order = np.argsort(-values, kind="stable")
    for i in order:
        if pool[i].tobytes() not in taken:
            return np.array(pool[i]), float(values[i])
    x = unknown_near(domain, pool[order[0]], known, rng, free)
    return x, -np.inf if x.tobytes() in taken else float(values.min())


def candidates(
    domain: Domain, best: FloatArray, free: BoolArray, effort: Effort, rng: np.random.Generator
) -> FloatArray:
    """Return uniform points and perturbed good ones, shape (m, D)."""
    n_columns = len(domain)
    columns = np.flatnonzero(free)
    uniform = domain.sample(rng, effort.n_uniform)
    base = best[rng.integers(len(best), size=effort.n_perturbed)]
    half = len(base) // 2
    near = base[:half] + 1e-3 * rng.standard_normal((half, n_columns))
    far = base[half:]
    moved = np.zeros(far.shape, np.bool_)
    moved[:, columns] = rng.random((len(far), len(columns))) < min(20.0 / len(columns), 1.0)
    at_least = columns[rng.integers(len(columns), size=len(far))]
    moved[np.arange(len(far)), at_least] = True
    far = np.where(moved, domain.sample(rng, len(far)), far)
    pool = np.concatenate([uniform, domain.snap(near), far])
    pool[:, ~free] = best[0, ~free]
    return pool


def _is_away(
    domain: Domain, x: FloatArray, free: BoolArray, away: float, X: FloatArray
) -> BoolArray:
    """Mark the points (m, D) that are far enough from x (D,) in the free columns."""
    if away <= 0.0:
        return np.ones(len(X), np.bool_)
    gaps = domain.gaps(X, x[None])[:, 0, free]
    return np.asarray(np.sqrt((gaps**2).mean(axis=1)) >= away, np.bool_)


def _choose(
    values: FloatArray, n_uniform: int, n_starts: int, rng: np.random.Generator
) -> list[int]:
    """Return the last point, the two best ones, and others by their value.

    Half of the others are from the first ``n_uniform`` points: points near good ones promise
    more than the maxima between them, which only a climb can find.
    """
    order = np.argsort(-values, kind="stable")
    chosen = list(dict.fromkeys([*order[:2].tolist(), len(values) - 1]))
    wanted = min(n_starts, len(values)) - len(chosen)
    spread = max(float(values.std()), 1e-9)
    weights = np.exp((values - values.max()) / spread) + 1e-12
    weights[chosen] = 0.0
    for first, last, n in ((0, n_uniform, wanted // 2), (n_uniform, len(values), wanted)):
        part = weights[first:last]
        n = min(n, int(np.count_nonzero(part)), n_starts - len(chosen))
        if n > 0:
            others = rng.choice(len(part), n, replace=False, p=part / part.sum())
            chosen += (first + others).tolist()
    return chosen


def along_axes(
    domain: Domain,
    centre: FloatArray,
    acquisition: Acquisition,
    rng: np.random.Generator,
    known: FloatArray,
) -> FloatArray:
    """Return the best point that differs from a centre (D,) in one column and is not known (n, D).

    With very many columns, only some are tried: see :data:`MOST_ALONG`.
    """
    n = max(LEAST_PER_AXIS, ALONG_AXES // domain.breadth)
    active = np.flatnonzero(domain.active(centre[None])[0])
    most = max(MOST_ALONG // (n * len(domain)), 1)
    if len(active) > most:
        active = np.sort(rng.choice(active, most, replace=False))
    columns = np.repeat(active, n)
    pool = np.repeat(centre[None], len(columns), axis=0)
    if domain.gates:
        pool = _along_active(domain, centre, columns, rng)
    else:
        pool[np.arange(len(pool)), columns] = domain.sample(rng, n).T[active].ravel()
    taken = {row.tobytes() for row in known}
    order = np.argsort(-acquisition(pool), kind="stable")
    for i in order:
        if pool[i].tobytes() in taken:
            continue
        free = np.zeros(len(domain), np.bool_)
        free[columns[i]] = not domain.discrete[columns[i]]
        if free.any():
            top, _ = acquisition.ascend(pool[i : i + 1], free, AXIS_STEPS)
            if top[0].tobytes() not in taken:
                return np.array(top[0])
        return np.array(pool[i])
    return unknown_near(domain, pool[order[0]], known, rng)


def _along_active(
    domain: Domain, centre: FloatArray, columns: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Return points that differ from a centre in the given columns, shape (m, D).

    Where that activates other columns, these are drawn too.
    """
    # Not drawn from the domain itself, which leaves inactive columns at one value.
    drawn = replace(domain, gates={}).sample(rng, len(columns))
    moved = ~domain.active(centre[None])[0] | (np.arange(len(domain)) == columns[:, None])
    return domain.canonical(np.where(moved, drawn, centre))
