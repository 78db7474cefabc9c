"""Climbs down a function whose gradient is known, by SciPy's L-BFGS-B."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from optuna_hdbo._core.domain import FloatArray


_EPSILON = float(np.finfo(np.float64).eps)


class ValueAndSlope:
    """A function that returns its value and gradient, as two functions.

    SciPy asks for both in turn. Its own memory for such functions costs a fifth of what its steps
    cost.
    """

    def __init__(self, both: Callable[[FloatArray], tuple[float, FloatArray]]) -> None:
        self._both = both
        self._at, self._gradient = b"", np.empty(0)

    def value(self, x: FloatArray) -> float:
        """Return the value, and remember the gradient."""
        value, self._gradient = self._both(x)
        self._at = x.tobytes()
        return value

    def slope(self, x: FloatArray) -> FloatArray:
        """Return the gradient."""
        if x.tobytes() != self._at:
            self.value(x)
        return self._gradient


def descended(
    falling: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    box: FloatArray,
    *,
    maxiter: int = 15_000,
    maxfun: int = 15_000,
    ftol: float = 1e7 * _EPSILON,
    gtol: float = 1e-5,
) -> tuple[FloatArray, float]:
    """Return where the climb from a point (k,) down a function ends, and the value there.

    ``falling`` returns value and gradient. The climb stays in the ``box (k, 2)``. The other
    parameters are the options of L-BFGS-B in SciPy, with the same defaults.
    """
    split = ValueAndSlope(falling)
    slope = split.slope
    fixed = box[:, 0] == box[:, 1]
    if fixed.any():  # what a fixed number would gain must not shorten the steps of the others

        def slope(x: FloatArray) -> FloatArray:
            return np.where(fixed, 0.0, split.slope(x))

    # A quarter cheaper than `minimize`, which checks what it is given once more.
    x, value, _ = fmin_l_bfgs_b(
        split.value,
        np.clip(start, *box.T),
        slope,
        bounds=box.tolist(),  # SciPy converts number by number, those of Python faster
        factr=ftol / _EPSILON,
        pgtol=gtol,
        maxfun=maxfun,
        maxiter=maxiter,
    )
    return x, float(value)
