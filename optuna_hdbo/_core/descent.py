"""Climbs down a function whose gradient is known, by SciPy's L-BFGS-B."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from optuna_hdbo._core.domain import FloatArray


class ValueAndSlope:
    """A function that returns its value and gradient, as two functions.

    SciPy asks for both in turn. Its own memory for such functions costs a fifth of what its steps
    cost.

    Parameters
    ----------
    both : callable
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
    **options: float,
) -> tuple[FloatArray, float]:
    """Return where the climb from a point (k,) down a function ends, and the value there.

    ``falling`` returns value and gradient. The climb stays in the ``box (k, 2)``. ``options`` are
    those of L-BFGS-B in SciPy.
    """
    split = ValueAndSlope(falling)
    bounds = box.tolist()  # SciPy converts number by number, those of Python faster
    start = np.clip(start, *box.T)
    end = minimize(
        split.value, start, jac=split.slope, method="L-BFGS-B", bounds=bounds, options=options
    )
    return end.x, float(end.fun)
