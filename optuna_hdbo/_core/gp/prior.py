"""Log priors of hyperparameters, and the ranges that they are fitted in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.lazy import cached_property


_SQRT2 = float(np.sqrt(2.0))

PriorName = Literal["flat", "inverse-square", "dimension-scaled", "sparse"]


@dataclass(frozen=True)
class Prior:
    """Log densities of lengthscales, group scales and noise, and their derivatives.

    Parameters
    ----------
    lengthscale : str
        ``"inverse-square"``: -(0.1 / x + 0.1 x) on x = 1 / l^2, as Optuna's ``GPSampler``;
        ``"dimension-scaled"``: log-normal in l, location sqrt(2) + log(D) / 2 and scale sqrt(3)
        (Hvarfner et al. 2024); ``"sparse"``: a half-Cauchy on 1 / l^2 around a small global scale
        (the MAP of SAAS, Eriksson & Jankowiak 2021); ``"flat"``: none.
    dimension : int
        Number of columns that interact, D of the dimension-scaled prior.
    scale, noise : bool
        Whether Gamma(2, M) on each of M fitted scales and Gamma(1.1, 30) on the noise apply.
        Groups that share one scale count as one: a sum over D single columns then has Gamma(2, 1)
        on the variance of each column.
    tau : float
        Global scale of the ``"sparse"`` prior.
    spread : float
        Standard deviation of log lengthscales around their mean: those of few data are pooled.
    """

    lengthscale: PriorName = "inverse-square"
    dimension: int = 1
    scale: bool = True
    noise: bool = True
    tau: float = 0.1
    spread: float = math.inf

    @cached_property
    def _half_log_dimension(self) -> float:
        return 0.5 * float(np.log(self.dimension))

    def of_lengthscales(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density at l = exp(u) and its derivative in u."""
        value, slope = self._of_each(u)
        if self.spread == math.inf:
            return value, slope
        away = (u - u.mean()) / self.spread
        return value - 0.5 * float(away @ away), slope - away / self.spread

    def _of_each(self, u: FloatArray) -> tuple[float, FloatArray]:
        if self.lengthscale == "flat":
            return 0.0, np.zeros_like(u)
        square = np.exp(2.0 * u)
        if self.lengthscale == "inverse-square":
            value = -0.1 * (square + 1.0 / square)
            return float(value.sum()), -0.2 * square + 0.2 / square
        if self.lengthscale == "dimension-scaled":
            # A density of l itself, not of log l: its mode is exp(mu - sigma^2).
            z = (u - _SQRT2 - self._half_log_dimension) / 3.0
            return float(-(u + 1.5 * z**2).sum()), -1.0 - z
        ratio = 1.0 / (self.tau * square)
        return float(-np.log1p(ratio**2).sum()), 4.0 * ratio**2 / (1.0 + ratio**2)

    def of_scales(self, v: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density at scales exp(v), shape (M,), and its derivative in v."""
        if not self.scale:
            return 0.0, np.zeros_like(v)
        rate = len(v) * np.exp(v)
        return float((v - rate).sum()), 1.0 - rate

    def of_noise(self, w: float) -> tuple[float, float]:
        """Return the log density at noise exp(w) and its derivative in w."""
        if not self.noise:
            return 0.0, 0.0
        return 0.1 * w - 30.0 * float(np.exp(w)), 0.1 - 30.0 * float(np.exp(w))


@dataclass(frozen=True)
class Bounds:
    """Ranges of the hyperparameters; equal ends fix one."""

    lengthscale: tuple[float, float] = (5e-3, 1e3)
    scale: tuple[float, float] = (1e-4, 1e3)
    noise: tuple[float, float] = (1e-8, 1.0)
