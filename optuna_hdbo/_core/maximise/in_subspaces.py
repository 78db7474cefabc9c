"""The largest value of one acquisition function over many low-dimensional subspaces."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from dataclasses import field

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import terms
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.domain import nearest
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.maximise.subspaces import Subspaces
from optuna_hdbo._core.points import single_moves
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo._jit import subspace as jit
from optuna_hdbo._jit.acquisition import Model
from optuna_hdbo._jit.ascent import ascend
from optuna_hdbo._jit.kernels import Covariance


Restricted = list[tuple[Analytic, FloatArray]]
"""Terms of a sum, each with the squared distances that its kernel sees outside of subspaces."""


@dataclass(frozen=True)
class SubspaceEffort:
    """How hard subspaces are searched.

    Parameters
    ----------
    n_candidates : int
        Points scored in all, at least one per subspace.
    n_leaders : int
        Candidates from which gradients are followed.
    n_steps : int
        Steps of each climb.
    """

    n_candidates: int = 1000
    n_leaders: int = 8
    n_steps: int = 40


@dataclass(frozen=True, eq=False)
class SubspaceMaximiser:
    """Scores candidates in every subspace, climbs from the leaders, searches grids."""

    domain: Domain
    subspaces: Subspaces
    effort: SubspaceEffort = field(default_factory=SubspaceEffort)

    def __call__(
        self, acquisition: Acquisition, rng: np.random.Generator, known: FloatArray
    ) -> FloatArray:
        """Return the point (D,) of a subspace with the largest value that is not known.

        ``known (n, D)`` are the known points. Where every point found is among them, another one
        near the best is returned, of its subspace if there is one.

        Raises
        ------
        ValueError
            If a kernel, of any term of a sum, does not have one group of all columns.
        """
        spaces = self.subspaces
        candidates = self._candidates(rng)
        restricted = self._restricted(acquisition)
        m = candidates.shape[1]
        scores = self._scores(restricted, spaces.columns, candidates)
        order = np.argsort(-scores, axis=None, kind="stable")
        # The best of every subspace, the best subspaces first, and the best of all.
        heads = scores.argmax(axis=1) + m * np.arange(len(spaces))
        heads = heads[np.argsort(-scores.flat[heads], kind="stable")]
        n_heads = -(-self.effort.n_leaders // 2)
        leaders = list(dict.fromkeys([*heads[:n_heads].tolist(), *order.tolist()]))
        leaders = leaders[: self.effort.n_leaders]
        found: list[tuple[float, int, FloatArray]] = []
        for flat in leaders:
            i, j = divmod(flat, m)
            here = [(term, outside[i : i + 1]) for term, outside in restricted]
            value, y = self._improved(acquisition, here, i, candidates[i, j], float(scores[i, j]))
            found.append((value, i, y))
        found.sort(key=lambda item: -item[0])
        taken = {row.tobytes() for row in known}
        climbed = (self._point(i, y) for _, i, y in found)
        scored = (self._point(flat // m, candidates[divmod(flat, m)]) for flat in order.tolist())
        for x in itertools.chain(climbed, scored):
            if x.tobytes() not in taken:
                return x
        _, i, y = found[0]
        x = unknown_near(self.domain, self._point(i, y), known, rng, spaces.free[i])
        if x.tobytes() in taken:
            x = unknown_near(self.domain, x, known, rng)
        return x

    def _restricted(self, acquisition: Acquisition) -> Restricted:
        """Return the terms, with squared distances outside of each subspace, shape (S, n)."""
        spaces = self.subspaces
        found = []
        for term in terms(acquisition):
            if len(term.kernel.groups) != 1:  # the compiled loops would read past their arrays
                raise ValueError(
                    "A subspace search takes kernels with one group of all columns, but got one "
                    f"with {len(term.kernel.groups)} groups; use maximise."
                )
            outside = np.empty((len(spaces), len(term.posterior.X)))
            jit.outside_distances(
                term.posterior.features,
                term.kernel.hamming,
                term.kernel.features(spaces.anchors),
                spaces.free,
                outside,
            )
            found.append((term, outside))
        return found

    @staticmethod
    def _scores(restricted: Restricted, columns: IntArray, Y: FloatArray) -> FloatArray:
        """Return the values of candidates Y (S, m, d) of subspaces, shape (S, m)."""
        total: FloatArray = np.zeros((len(columns), Y.shape[1]))
        scores: FloatArray = np.empty_like(total)
        for term, outside in restricted:
            jit.score(
                term.model,
                outside,
                columns,
                np.ascontiguousarray(Y * term.kernel.inverse[columns][:, None, :]),
                term.code,
                np.array(term.p),
                scores,
            )
            total += scores
        return total

    def _point(self, i: int, y: FloatArray) -> FloatArray:
        x: FloatArray = self.subspaces.anchors[i].copy()
        x[self.subspaces.columns[i]] = y
        return x

    @cached_property
    def _held(self) -> BoolArray:
        """Free columns that stay at the anchor, so that its branch is not left; shape (S, d)."""
        held = self.domain.deciding | ~self.domain.active(self.subspaces.anchors)
        return np.take_along_axis(held, self.subspaces.columns, axis=1)

    def _candidates(self, rng: np.random.Generator) -> FloatArray:
        """Return values of the free columns, shape (S, m, d)."""
        Y = self._drawn(rng)
        spaces = self.subspaces
        here = np.take_along_axis(spaces.anchors, spaces.columns, axis=1)
        return np.where(self._held[:, None, :], here[:, None, :], Y)

    def _drawn(self, rng: np.random.Generator) -> FloatArray:
        """Return values of the free columns, shape (S, m, d): uniform, or around a good anchor.

        Around means at distances of all magnitudes up to a third of the range, in all of the free
        columns or in one; the anchor itself is the first candidate.
        """
        spaces = self.subspaces
        n, d = spaces.columns.shape
        m = max(1, self.effort.n_candidates // n) if d else 1
        Y = self._admissible(rng.random((n, m, d)))
        rows = np.flatnonzero(spaces.at_good)
        if not (len(rows) and d):
            return Y
        here = np.take_along_axis(spaces.anchors[rows], spaces.columns[rows], axis=1)[:, None, :]
        widths = 10.0 ** rng.uniform(-3.0, -0.5, (len(rows), m, 1))
        moved = rng.random((len(rows), m, d)) < np.where(rng.random((len(rows), m, 1)) < 0.5, 1, 0)
        one = rng.integers(d, size=(len(rows), m, 1))
        moved |= np.arange(d) == one
        near = here + np.where(moved, widths * rng.standard_normal((len(rows), m, d)), 0.0)
        near = self._snapped(near, spaces.columns[rows])
        # Every third stays uniform; a categorical column has no near values anyway.
        far = np.arange(m)[None, :, None] % 3 == 2
        resampled = far | (moved & self.domain.categorical[spaces.columns[rows]][:, None, :])
        near = np.where(resampled, Y[rows], near)
        near[:, 0] = here[:, 0]
        Y[rows] = near
        return Y

    def _admissible(self, U: FloatArray) -> FloatArray:
        """Map (S, m, d) uniform numbers to values of the free columns."""
        columns = self.subspaces.columns
        for c in np.flatnonzero(self.domain.categorical):
            n = len(self.domain.grid(c))
            rows, places = np.nonzero(columns == c)
            U[rows, :, places] = np.minimum(U[rows, :, places] * n // 1.0, n - 1)
        return self._snapped(U, columns)

    def _snapped(self, Y: FloatArray, columns: IntArray) -> FloatArray:
        """Clip values (S, m, d) and move those of discrete columns to their grids."""
        Y = np.where(self.domain.categorical[columns][:, None, :], Y, np.clip(Y, 0.0, 1.0))
        for c in np.flatnonzero(self.domain.discrete):
            rows, places = np.nonzero(columns == c)
            Y[rows, :, places] = nearest(self.domain.grid(c), Y[rows, :, places])
        return Y

    def _improved(
        self, acquisition: Acquisition, here: Restricted, i: int, y: FloatArray, value: float
    ) -> tuple[float, FloatArray]:
        """Climb, and change one discrete free column at a time, for as long as that helps."""
        columns = self.subspaces.columns[i]
        places = np.flatnonzero(self.domain.discrete[columns] & ~self._held[i])
        value, y = self._climb(acquisition, here, i, y, value)
        for _ in range(6 if len(places) else 0):
            moves = single_moves(self.domain, self._point(i, y), columns[places])[:, columns]
            if not len(moves):  # choices that are all equal
                break
            gains = self._scores(here, columns[None], moves[None])[0]
            # Climbing may turn a step down into a step up: the three best are followed.
            tried = [
                self._climb(acquisition, here, i, moves[k], float(gains[k]))
                for k in np.argsort(-gains, kind="stable")[:3]
            ]
            best, z = max(tried, key=lambda item: item[0])
            if best <= value:
                break
            value, y = best, z
        return value, y

    def _climb(
        self, acquisition: Acquisition, here: Restricted, i: int, y: FloatArray, value: float
    ) -> tuple[float, FloatArray]:
        """Follow the gradient within a subspace, in the kernel of its free columns."""
        columns = self.subspaces.columns[i]
        moves = ~(self.domain.discrete[columns] | self._held[i])
        if not moves.any():
            return value, y
        if len(here) > 1:  # several kernels: in all columns then, of which only these move
            free = np.zeros(len(self.domain), np.bool_)
            free[columns[moves]] = True
            start = self._point(i, y)[None]
            climbed, values = acquisition.ascend(start, free, self.effort.n_steps)
            return float(values[0]), climbed[0, columns]
        term, outside = here[0]
        kernel, posterior, d = term.kernel, term.posterior, len(columns)
        F, hamming = np.empty((d + 1, len(posterior.X))), np.empty(d + 1)
        jit.gather(posterior.features, kernel.hamming, columns, outside[0], F, hamming)
        inverse = np.append(kernel.inverse[columns], 1.0)
        small = Covariance(kernel.code, hamming, np.array([0, d + 1]), kernel.scales, inverse)
        start = np.append(y, 0.0)[None]
        model = Model(small, F, posterior.linv, posterior.alpha)
        one, free = (model, kernel.root, term.code, np.array(term.p)), np.append(moves, False)
        values = ascend(one, None, inverse, free, start, self.effort.n_steps, 1e-6)
        return float(values[0]), start[0, :d]
