"""Hyperparameters by maximum a posteriori: L-BFGS-B on the log posterior."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Literal

import numpy as np

from optuna_hdbo._core.descent import descended
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.likelihood import log_likelihood_at
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.observations import modelled


Tie = Literal["column", "group", "all"]


class Objective:
    """Log posterior of tied log hyperparameters, for a minimiser.

    The vector is (log lengthscales, log scales, log noise), each block with one entry per tie.
    """

    def __init__(
        self,
        template: Kernel,
        X: FloatArray,
        y: FloatArray,
        prior: Prior,
        bounds: Bounds,
        lengthscales: Tie,
        scales: Tie,
    ) -> None:
        self.template, self.y, self.prior = template, y, prior
        self._rows = np.ascontiguousarray(X.T[template.columns])
        self._work = np.empty((len(y), len(y)))
        sizes = [len(g) for g in template.groups]
        each: dict[str, IntArray] = {
            "column": np.arange(sum(sizes)),
            "group": np.repeat(np.arange(len(sizes)), sizes),
            "all": np.zeros(sum(sizes), np.int64),
        }
        self.of_column = each[lengthscales]
        self.of_group = np.arange(len(sizes)) if scales != "all" else np.zeros(len(sizes), int)
        self.n_lengthscales = int(self.of_column.max()) + 1
        self.n_scales = int(self.of_group.max()) + 1
        self.box = np.log(
            [bounds.lengthscale] * self.n_lengthscales
            + [bounds.scale] * self.n_scales
            + [bounds.noise]
        )

    def pack(self, kernel: Kernel) -> FloatArray:
        """Return the vector of a kernel; tied values are averaged in the log."""
        of_columns = np.bincount(self.of_column, np.log(kernel.lengthscales[kernel.columns]))
        of_groups = np.bincount(self.of_group, np.log(kernel.scales))
        u = of_columns / np.bincount(self.of_column)
        v = of_groups / np.bincount(self.of_group)
        return np.concatenate([u, v, [np.log(max(kernel.noise, 1e-300))]])

    def unpack(self, theta: FloatArray) -> Kernel:
        """Return the kernel of a vector."""
        u, v = theta[: self.n_lengthscales], theta[self.n_lengthscales : -1]
        lengthscales = self.template.lengthscales.copy()
        lengthscales[self.template.columns] = np.exp(u)[self.of_column]
        scales = np.exp(v)[self.of_group]
        return self.template.valued(lengthscales, scales, float(np.exp(theta[-1])))

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log posterior per observation and its gradient."""
        kernel = self.unpack(theta)
        value, by_lengthscale, by_scale, by_noise = log_likelihood_at(
            kernel, self._rows * kernel.inverse[:, None], self.y, self._work
        )
        u, v = theta[: self.n_lengthscales], theta[self.n_lengthscales : -1]
        density_u, slope_u = self.prior.of_lengthscales(u)
        density_v, slope_v = self.prior.of_scales(v)
        density_w, slope_w = self.prior.of_noise(float(theta[-1]))
        gradient = np.concatenate(
            [
                np.bincount(self.of_column, by_lengthscale) + slope_u,
                np.bincount(self.of_group, by_scale) + slope_v,
                [by_noise + slope_w],
            ]
        )
        n = len(self.y)
        if not np.isfinite(value):  # a failed factorisation: step back
            return 1e10, np.zeros_like(theta)
        return -(value + density_u + density_v + density_w) / n, -gradient / n


def fit(
    template: Kernel,
    X: FloatArray,
    y: FloatArray,
    *,
    prior: Prior,
    bounds: Bounds,
    lengthscales: Tie = "column",
    scales: Tie = "group",
    starts: Sequence[Kernel] = (),
    n_steps: int | Sequence[int] = 50,
) -> tuple[Kernel, float]:
    """Return the kernel of the highest log posterior among climbs from ``starts``, and its value.

    ``template`` gives kind, groups and categorical columns. ``n_steps`` is the largest number of
    steps of every climb, or of each. Of very many observations only some are used:
    :func:`modelled_rows`.
    """
    X, y = modelled(X, y)
    objective = Objective(template, X, y, prior, bounds, lengthscales, scales)
    packed = [objective.pack(start) for start in starts]
    best, value = lowest(objective, packed, objective.box, n_steps)
    return objective.unpack(best), -value * len(y)


def lowest(
    falling: Callable[[FloatArray], tuple[float, FloatArray]],
    starts: Sequence[FloatArray],
    box: FloatArray,
    n_steps: int | Sequence[int],
    ftol: float = 1e-7,
) -> tuple[FloatArray, float]:
    """Return where a function is smallest among the ends of climbs down it, and its value there.

    ``falling`` returns value and gradient. The climbs stay in the ``box (k, 2)``. ``n_steps`` is
    the largest number of steps of every climb, or of each.
    """
    if isinstance(n_steps, int):
        n_steps = [n_steps] * len(starts)
    ends = [
        descended(falling, start, box, maxiter=most, maxfun=int(1.5 * most), ftol=ftol, gtol=1e-4)
        for start, most in zip(starts, n_steps, strict=True)
    ]
    return min(ends, key=lambda end: end[1])
