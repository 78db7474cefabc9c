"""A trust region: a box of the domain around a point, searched as a domain of its own.

Continuous columns are mapped so that the box is the unit cube; a lengthscale prior that is meant
for the cube then scales with the region. Numerical grids keep the values inside the box and the
neighbours of the centre, so that a small region can still move. Categorical columns stay whole.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.multistart import maximise


MOST_UNEQUAL = 20.0
"""Largest ratio of a side's weight to the geometric mean of all, and of that mean to a weight."""


@dataclass(frozen=True, eq=False)
class Region:
    """A box around a point.

    Parameters
    ----------
    domain : Domain
        The whole search space.
    centre, low, high : FloatArray, shape (D,)
        The point, and the ends of the box's sides.
    """

    domain: Domain
    centre: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def around(
        cls, domain: Domain, centre: FloatArray, length: float, lengthscales: FloatArray
    ) -> Region:
        """Return the region with sides ``length`` times the columns' weights, within [0, 1].

        Weights are the ``lengthscales (D,)`` of the numerical columns, over their geometric mean
        (Eriksson et al. 2019, section 2.2), but no further from 1 than :data:`MOST_UNEQUAL`.
        """
        numerical = ~domain.categorical
        weights = np.ones(len(domain))
        if numerical.any():
            logs = np.log(lengthscales[numerical])
            most = np.log(MOST_UNEQUAL)
            weights[numerical] = np.exp(np.clip(logs - logs.mean(), -most, most))
        half = 0.5 * length * weights
        return cls(domain, centre, np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0))

    @classmethod
    def cube(cls, domain: Domain, centre: FloatArray, side: float) -> Region:
        """Return the cube around a point (D,), pushed inward where it would stick out."""
        low = np.clip(centre - 0.5 * side, 0.0, 1.0 - side)
        return cls(domain, centre, low, low + side)

    @cached_property
    def _offset(self) -> FloatArray:
        return np.where(self.domain.discrete, 0.0, self.low)

    @cached_property
    def widths(self) -> FloatArray:
        """Width of every column in the region's own coordinates, 1 where discrete; shape (D,)."""
        return np.where(self.domain.discrete, 1.0, np.maximum(self.high - self.low, 1e-9))

    @cached_property
    def inner(self) -> Domain:
        """The region as a domain, with the same columns."""
        grids = tuple(map(self._inner_grid, range(len(self.domain))))
        return Domain(self.domain.names, grids, self.domain.categorical)

    def _inner_grid(self, column: int) -> FloatArray | None:
        grid = self.domain.grids[column]
        if grid is None or self.domain.categorical[column]:
            return grid
        here = int(np.argmin(np.abs(grid - self.centre[column])))
        first = min(int(np.searchsorted(grid, self.low[column])), max(here - 1, 0))
        last = max(int(np.searchsorted(grid, self.high[column], side="right")), here + 2)
        return grid[first:last]

    def inward(self, X: FloatArray) -> FloatArray:
        """Return points (m, D) in the region's coordinates. Those outside are not in [0, 1]."""
        return np.ascontiguousarray((X - self._offset) / self.widths)

    def outward(self, u: FloatArray) -> FloatArray:
        """Return a point (D,) of the region in the domain's columns; 0 and 1 are its ends."""
        x = np.clip(self._offset + self.widths * u, 0.0, None)
        moved = ~self.domain.discrete
        x = np.where(moved & (u <= 0.0), self.low, x)
        return np.asarray(np.where(moved & (u >= 1.0), self.high, x), np.float64)

    def contains(self, X: FloatArray) -> BoolArray:
        """Mark the points (m, D) whose continuous columns are inside, of the centre's branch."""
        U = self.inward(X)
        inside = self.domain.discrete | ((U >= 0.0) & (U <= 1.0))
        if self.domain.gates:
            inside &= (self.centre == X) | ~self.domain.deciding
        return np.asarray(inside.all(axis=1), np.bool_)

    def view(self, posterior: Posterior) -> Posterior:
        """Return the same posterior over the region's coordinates.

        Distances in lengthscales do not change, so that no factor has to be computed again.
        """
        seen = copy.copy(posterior)
        seen.kernel = posterior.kernel.stretched(self.widths)
        seen.X = self.inward(posterior.X)
        seen.features = seen.kernel.features(seen.X)
        return seen

    def improve(
        self,
        posterior: Posterior,
        feasibility: Feasibility,
        good: FloatArray,
        known: FloatArray,
        rng: np.random.Generator,
        effort: Effort,
    ) -> FloatArray:
        """Return the point (D,) of the largest expected improvement within the region.

        ``good (b, D)`` are good points of the region, the best first, and ``known (n, D)`` all
        known ones. Improvements are measured against what ``feasibility`` says.
        """
        acquisition = self.view_feasibility(feasibility).improvement(self.view(posterior))
        return self.maximise(acquisition, good, known, rng, effort)

    def maximise(
        self,
        acquisition: Acquisition,
        good: FloatArray,
        known: FloatArray,
        rng: np.random.Generator,
        effort: Effort,
        *,
        free: BoolArray | None = None,
    ) -> FloatArray:
        """Return the point (D,) at which a function of the region's coordinates is largest.

        Only the columns marked ``free (D,)`` move, ``None`` for all. In domains with gates it is
        the active ones. The other parameters are those of :meth:`improve`.
        """
        if self.domain.gates:  # the region stays in one branch
            free = self.domain.active(self.centre[None])[0] & ~self.domain.deciding
            free |= ~free.any()
        u = maximise(
            acquisition,
            self.inner,
            self.inner.snap(self.inward(good)),
            self.inward(known),
            rng,
            free=free,
            effort=effort,
        )
        return self.outward(u)

    def view_feasibility(self, feasibility: Feasibility) -> Feasibility:
        """Return what is known of constraints, over the region's coordinates."""
        constraints = [(self.view(c), most) for c, most in feasibility.constraints]
        return replace(feasibility, constraints=constraints)
