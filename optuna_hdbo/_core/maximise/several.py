"""Suggestions for several objectives: one Gaussian process each, and hypervolume improvements."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.acquisition.several import DirectedImprovement
from optuna_hdbo._core.acquisition.several import HypervolumeImprovement
from optuna_hdbo._core.acquisition.several import Improvement
from optuna_hdbo._core.acquisition.several import SeveralObjectives
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.fronts import MOST_DECOMPOSED
from optuna_hdbo._core.fronts import Boxes
from optuna_hdbo._core.fronts import n_dominating
from optuna_hdbo._core.maximise.multistart import DEFAULT_EFFORT
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.region import Region
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import Belief
from optuna_hdbo._core.models.ensemble import Believed
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.outputs import are_skewed
from optuna_hdbo._core.points import best_unknown
from optuna_hdbo._core.points import reflected
from optuna_hdbo._core.points import unknown_near


BEYOND = 0.1
"""Least distance of the reference point from the worst values of the front, in ranges of it."""

FAR, IN_CUBE, CHILD = range(3)
"""What a trial searches: the whole space, with volume measured from a far reference point; a cube
around a point of the front, or children of the front, with volume measured from a near one."""

TURNS = (FAR, CHILD, IN_CUBE, CHILD)
"""What successive trials search, in turn."""

N_CHILDREN = 600
"""Children of the front that a trial chooses from."""

SIDES = (0.4, 0.2, 0.1, 0.05)
"""Sides of the cubes around points of the front, in shares of the ranges."""

STEPS = (0.02, 0.05, 0.1, 0.2)
"""Standard deviations of a child's mutations, in shares of the ranges; one of them per child."""

N_MUTATED = (1.0, 2.0, 4.0)
"""Expected numbers of mutated columns; one of them per child. There is at least one."""


def ranked(seen: Observations) -> Observations:
    """Return the observations with a single value: minus the feasible points that dominate each.

    The points of the front have the value 0.
    """
    assert seen.objectives is not None
    counts = n_dominating(seen.objectives, seen.feasible)
    return replace(seen, values=-counts.astype(np.float64), objectives=None)


def reference_point(front: FloatArray, Y: FloatArray, *, far: bool) -> FloatArray:
    """Return the point (k,) above which volume counts.

    It is below the front (p, k) in every objective, and a ``far`` one is nowhere above the worst
    of all values Y (n, k). A near one ignores gains beyond the ends of the front, and a far one
    overrates them.
    """
    worst, width = front.min(axis=0), np.ptp(front, axis=0)
    # A front of a single value has no range yet.
    width = np.where(width > 0.0, width, np.maximum(np.ptp(Y, axis=0), 1e-9))
    near = worst - BEYOND * width
    return np.asarray(np.minimum(near, Y.min(axis=0)) if far else near, np.float64)


@dataclass(frozen=True, eq=False)
class SeveralQueries:
    """Expected hypervolume improvements of independent models, one ensemble per objective.

    Parameters
    ----------
    kind : str
        Kernel.
    ard : bool
        One lengthscale per column, or one for all.
    beliefs : tuple of Belief
    n_cyc : int or None
        As for :class:`Ensemble`.
    """

    kind: str
    ard: bool
    beliefs: tuple[Belief, ...]
    n_cyc: int | None = None
    _models: dict[int, Ensemble] = field(default_factory=dict, init=False)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_models": {}}  # as in Ensemble

    def query(
        self,
        domain: Domain,
        seen: Observations,
        memory: Memory,
        rng: np.random.Generator,
        constraints: ConstraintModels,
    ) -> tuple[FloatArray, dict[int, Believed]]:
        """Return the next point, and the model of each objective that varies.

        At least one of the points in the domain is feasible.
        """
        ranks = ranked(seen)
        rows = modelled_rows(merits(ranks))
        assert seen.objectives is not None
        vary = (seen.objectives != seen.objectives[0]).any(axis=0)  # others cannot be improved on
        models = {
            j: self._model(j).drawn(domain, part, memory, rng)
            for j, part in enumerate(_parts(seen, rows))
            if vary[j] or not vary.any()
        }
        feasibility = constraints.fit(domain, ranks, memory)
        within = ranks if rows is None else ranks.at(rows)
        on_front = (within.values == 0.0) & within.feasible
        turn = TURNS[seen.step % len(TURNS)]
        pending = feasibility.admissible(seen.pending)
        improvement = _improvement([*models.values()], on_front, pending, rng, far=turn == FAR)
        posteriors, good = [m.posterior for m in models.values()], within.X[on_front]
        acquisition = SeveralObjectives(posteriors, improvement, feasibility.terms)
        effort = DEFAULT_EFFORT.at(len(seen.values))
        if turn == CHILD:
            pool = children(domain, good, N_CHILDREN, rng)
            x = best_unknown(pool, acquisition(pool), seen.known)
            return unknown_near(domain, x, seen.known, rng), models
        if turn == IN_CUBE:
            region, inner = _around(domain, good, rng)
            views = [region.view(posterior) for posterior in posteriors]
            terms = region.view_feasibility(feasibility).terms
            inside = SeveralObjectives(views, improvement, terms)
            x = region.maximise(inside, inner, seen.known, rng, effort)
            return unknown_near(domain, x, seen.known, rng), models
        best = _centres(seen.X, feasibility.merit, rng)
        if seen.outside is not None:
            best = domain.snap(best)
        return maximise(acquisition, domain, best, seen.known, rng, effort=effort), models

    def _model(self, j: int) -> Ensemble:
        # With a lead of pooled lengthscales volumes were smaller.
        new = Ensemble(
            self.kind, self.ard, self.beliefs, self.n_cyc, name=f"objective{j}", head_start=0.0
        )
        return self._models.setdefault(j, new)


def _improvement(
    models: Sequence[Believed],
    on_front: BoolArray,
    pending: FloatArray,
    rng: np.random.Generator,
    *,
    far: bool,
) -> Improvement:
    """Return what an improvement of the front is, from a ``far`` reference point or a near one.

    What is expected at the ``pending (m, D)`` points is to be improved on, too.
    """
    Y = np.stack([model.seen.y for model in models], axis=1)
    front = Y[on_front]
    reference = reference_point(front, Y, far=far)
    if len(pending):
        expected = [model.posterior.mean(pending) for model in models]
        front = np.concatenate([front, np.stack(expected, axis=1)])
    if len(models) > MOST_DECOMPOSED:
        return DirectedImprovement.drawn(front, reference, rng)
    return HypervolumeImprovement(Boxes.above(front, reference))


def children(domain: Domain, parents: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return children of random pairs of points (p, D), shape (n, D).

    Each column is that of one of the two parents (Syswerda 1989). A few columns are mutated: by a
    normal step that is reflected at the bounds, or by a random value where they are discrete. A
    climb would end at a bound in many columns, where variances are largest.
    """
    n_columns = len(domain)
    one, other = (parents[rng.integers(len(parents), size=n)] for _ in range(2))
    child = np.where(rng.random((n, n_columns)) < 0.5, one, other)
    rate = np.array(N_MUTATED)[rng.integers(len(N_MUTATED), size=n)] / n_columns
    mutated = rng.random((n, n_columns)) < rate[:, None]
    mutated[np.arange(n), rng.integers(n_columns, size=n)] = True
    length = np.array(STEPS)[rng.integers(len(STEPS), size=n)]
    moved = child + length[:, None] * rng.standard_normal((n, n_columns))
    moved = reflected(moved)
    moved = np.where(domain.discrete, replace(domain, gates={}).sample(rng, n), moved)
    return domain.snap(np.where(mutated, moved, child))


def _around(
    domain: Domain, front: FloatArray, rng: np.random.Generator
) -> tuple[Region, FloatArray]:
    """Return a cube around a random point of the front (p, D), and the points of the front in it.

    Its side is random, too: models are right about small ones first.
    """
    centre = front[rng.integers(len(front))]
    region = Region.cube(domain, centre, SIDES[rng.integers(len(SIDES))])
    return region, np.concatenate([centre[None], front[region.contains(front)]])


def _parts(seen: Observations, rows: IntArray | None) -> list[Observations]:
    """Return the observations of each objective by itself, in the modelled rows."""
    assert seen.objectives is not None
    within = seen if rows is None else seen.at(rows)
    assert within.objectives is not None
    nothing = np.empty((len(within.X), 0))
    return [
        replace(
            within,
            values=np.ascontiguousarray(column),
            sign=sign,
            constraints=nothing,
            objectives=None,
            skewed=are_skewed(every),
        )
        for column, every, sign in zip(
            within.objectives.T, seen.objectives.T, seen.signs, strict=True
        )
    ]


def _centres(X: FloatArray, merit: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the best points in random order, at least five: mostly the front."""
    order = rng.permutation(len(merit))
    order = order[np.argsort(-merit[order], kind="stable")]
    n_best = int((merit == merit.max()).sum())
    return X[order[: max(5, n_best)]]


def predictions(models: Mapping[int, Believed], x: FloatArray) -> dict[str, float]:
    """Return what each model expects at x (D,), in its objective's units."""
    return {
        f"{name}:{j}": number
        for j, model in models.items()
        for name, number in prediction(model.seen, model.posterior, x, model.evidence).items()
    }
