"""Climbing from many points together, where a function of several models is cheaper in batches."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import Kernel


N_PAIRS = 8
"""Steps that each climb's L-BFGS direction remembers."""

N_LENGTHS, SHORTER = 10, 0.3
"""Lengths that a line search tries, and the ratio of each to the one before."""

FIRST_STEP = 0.2
"""Length of a climb's first step, in units of the columns."""

Slopes = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Takes points (m, D); returns values (m,) and gradients (m, D)."""


def units_of(kernels: Sequence[Kernel]) -> FloatArray:
    """Return how far each column (D,) moves for a function of several models to change."""
    shortest = np.min([kernel.lengthscales for kernel in kernels], axis=0)
    return np.asarray(np.minimum(shortest, 1.0), np.float64)


class _Pairs:
    """The last changes of point and gradient of every climb, for the two-loop recursion."""

    def __init__(self, n_climbs: int, n_columns: int) -> None:
        self._ds = np.zeros((N_PAIRS, n_climbs, n_columns))
        self._dg = np.zeros((N_PAIRS, n_climbs, n_columns))
        self._rho = np.zeros((N_PAIRS, n_climbs))  # 0: the pair is not used
        self._scale = np.zeros(n_climbs)
        self._last = 0

    def forget(self, climbs: BoolArray) -> None:
        self._rho[:, climbs], self._scale[climbs] = 0.0, 0.0

    def remember(self, ds: FloatArray, dg: FloatArray) -> None:
        """Take in the changes of all climbs, (m, C); those without curvature are left out."""
        slot, self._last = self._last, (self._last + 1) % N_PAIRS
        curvature = np.einsum("ij,ij->i", ds, dg)
        useful = curvature > 1e-14
        self._ds[slot], self._dg[slot] = ds, dg
        self._rho[slot] = np.where(useful, 1.0 / np.where(useful, curvature, 1.0), 0.0)
        squares = np.einsum("ij,ij->i", dg, dg)
        self._scale = np.where(useful, curvature / np.where(useful, squares, 1.0), self._scale)

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Return the L-BFGS directions (m, C), zeros where nothing is remembered."""
        step = gradient.copy()
        slots = [(self._last - 1 - i) % N_PAIRS for i in range(N_PAIRS)]
        gains = []
        for slot in slots:
            gain = self._rho[slot] * np.einsum("ij,ij->i", self._ds[slot], step)
            step -= gain[:, None] * self._dg[slot]
            gains.append(gain)
        step *= self._scale[:, None]
        for slot, gain in zip(reversed(slots), reversed(gains), strict=True):
            back = self._rho[slot] * np.einsum("ij,ij->i", self._dg[slot], step)
            step += (gain - back)[:, None] * self._ds[slot]
        return step


def climb_together(
    slopes: Slopes, X: FloatArray, free: BoolArray, units: FloatArray, n_steps: int, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Climb from every point within the unit cube by projected L-BFGS, all at the same time.

    Parameters
    ----------
    slopes : callable
        The function, with its gradient.
    X : FloatArray, shape (m, D)
        Starts.
    free : BoolArray, shape (D,)
        Columns that move.
    units : FloatArray, shape (D,)
        How far each column moves for the function to change, see :func:`units_of`.
    n_steps : int
    tol : float
        A climb ends where no component of its gradient, in these units, exceeds this, or where a
        step gains less than a hundredth of it.

    Returns
    -------
    X : FloatArray, shape (m, D)
    values : FloatArray, shape (m,)
    """
    X, scale = X.copy(), units[free]
    values, gradients = slopes(X)
    G = gradients[:, free] * scale
    pairs, going = _Pairs(len(X), len(scale)), np.ones(len(X), np.bool_)
    for _ in range(n_steps):
        here = X[:, free]
        held = ((here <= 0.0) & (G < 0.0)) | ((here >= 1.0) & (G > 0.0))
        projected = np.where(held, 0.0, G)
        largest = np.abs(projected).max(axis=1)
        going &= largest > tol
        if not going.any():
            break
        step = np.where(held, 0.0, pairs.direction(projected))
        plain = np.einsum("ij,ij->i", step, G) <= 0.0
        pairs.forget(plain)
        step[plain] = projected[plain] * (FIRST_STEP / np.maximum(largest[plain], tol))[:, None]
        old, old_values, old_G = here, values.copy(), G.copy()
        _search_lines(slopes, X, free, scale, step, values, G, going)
        gained = values - old_values
        stuck = going & (gained <= 0.0)
        going &= ~(stuck & plain) & ~((gained > 0.0) & (gained < 0.01 * tol))
        pairs.remember((X[:, free] - old) / scale, old_G - G)
        pairs.forget(stuck)
    return X, values


def _search_lines(
    slopes: Slopes,
    X: FloatArray,
    free: BoolArray,
    scale: FloatArray,
    step: FloatArray,
    values: FloatArray,
    G: FloatArray,
    going: BoolArray,
) -> None:
    """Move the climbs that go on along their steps (m, C), to the first length that helps.

    ``X``, ``values`` and ``G`` are changed in place.
    """
    searching, length = np.flatnonzero(going), 1.0
    for _ in range(N_LENGTHS):
        if not len(searching):
            break
        here = X[np.ix_(searching, free)]
        there = np.clip(here + length * scale * step[searching], 0.0, 1.0)
        promised = np.einsum("ij,ij->i", G[searching], (there - here) / scale)
        tried = X[searching]
        tried[:, free] = there
        reached, gradients = slopes(tried)
        # Comparisons with NaN are False.
        good = (reached >= values[searching] + 1e-4 * promised) & (promised > 0.0)
        rows = searching[good]
        X[rows], values[rows] = tried[good], reached[good]
        G[rows] = gradients[good][:, free] * scale
        searching, length = searching[~good], SHORTER * length
