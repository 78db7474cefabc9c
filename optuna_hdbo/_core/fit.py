"""Hyperparameters by maximum a posteriori: marginal likelihood, priors, gradients, L-BFGS-B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp import Kernel
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._jit import kernels


PriorName = Literal["flat", "inverse-square", "dimension-scaled", "sparse"]
Tie = Literal["column", "group", "all"]

_LOG_2PI = float(np.log(2.0 * np.pi))


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
        D of the dimension-scaled prior: the number of columns that interact.
    scale, noise : bool
        Whether Gamma(2, M) on each of M group scales and Gamma(1.1, 30) on the noise apply.
    """

    lengthscale: PriorName = "inverse-square"
    dimension: int = 1
    scale: bool = True
    noise: bool = True

    def of_lengthscales(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density at l = exp(u) and its derivative in u."""
        if self.lengthscale == "flat":
            return 0.0, np.zeros_like(u)
        square = np.exp(2.0 * u)
        if self.lengthscale == "inverse-square":
            value = -0.1 * (square + 1.0 / square)
            return float(value.sum()), -0.2 * square + 0.2 / square
        if self.lengthscale == "dimension-scaled":
            # A density of l itself, not of log l: its mode is exp(mu - sigma^2).
            z = (u - np.sqrt(2.0) - 0.5 * np.log(self.dimension)) / 3.0
            return float(-(u + 1.5 * z**2).sum()), -1.0 - z
        tau = 0.1
        ratio = 1.0 / (tau * square)
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


def log_likelihood(
    kernel: Kernel, X: FloatArray, y: FloatArray, work: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray, float]:
    """Return the log marginal likelihood and its gradient.

    Parameters
    ----------
    kernel : Kernel
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
    work : FloatArray, shape (n, n), or None
        What successive calls may share: at these sizes a fresh matrix costs as much as filling it.

    Returns
    -------
    value : float
        -inf where the covariance matrix has no Cholesky factor.
    by_lengthscale : FloatArray, shape (C,)
        Derivatives by the log lengthscales of ``kernel.columns``.
    by_scale : FloatArray, shape (M,)
        Derivatives by the log scales.
    by_noise : float
        Derivative by the log noise.
    """
    n = len(y)
    by_lengthscale = np.zeros(len(kernel.columns))
    by_scale = np.zeros(len(kernel.scales))
    F = kernel.features(X)
    K = np.empty((n, n)) if work is None else work
    kernels.gram(kernel.code, F, kernel.hamming, kernel.starts, kernel.scales, K)
    K.flat[:: n + 1] += kernel.noise
    U, info = lapack.dpotrf(K.T, lower=0, clean=0, overwrite_a=1)
    if info != 0:
        return -np.inf, by_lengthscale, by_scale, 0.0
    alpha = lapack.dpotrs(U, y, lower=0)[0]
    value = -0.5 * float(y @ alpha) - float(np.log(np.diag(U)).sum()) - 0.5 * n * _LOG_2PI
    inverse = lapack.dpotri(U, lower=0, overwrite_c=1)[0].T
    trace = kernels.gram_gradient(
        kernel.code,
        F,
        kernel.hamming,
        kernel.starts,
        kernel.scales,
        alpha,
        inverse,
        by_lengthscale,
        by_scale,
    )
    return value, by_lengthscale, by_scale, 0.5 * kernel.noise * trace


def likelihood(kernel: Kernel, X: FloatArray, y: FloatArray) -> float:
    """Return the value of :func:`log_likelihood` alone, for a third of the price."""
    K = kernel.gram(X)
    K.flat[:: len(y) + 1] += kernel.noise
    U, info = lapack.dpotrf(K.T, lower=0, clean=0, overwrite_a=1)
    if info != 0:
        return -np.inf
    z = lapack.dtrtrs(U, y, lower=0, trans=1)[0]
    return -0.5 * float(z @ z) - float(np.log(np.diag(U)).sum()) - 0.5 * len(y) * _LOG_2PI


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
        self.template, self.X, self.y, self.prior = template, X, y, prior
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
        theta = np.concatenate([u, v, [np.log(max(kernel.noise, 1e-300))]])
        return np.asarray(np.clip(theta, self.box[:, 0], self.box[:, 1]), np.float64)

    def unpack(self, theta: FloatArray) -> Kernel:
        """Return the kernel of a vector."""
        u, v = theta[: self.n_lengthscales], theta[self.n_lengthscales : -1]
        lengthscales = self.template.lengthscales.copy()
        lengthscales[self.template.columns] = np.exp(u)[self.of_column]
        return replace(
            self.template,
            lengthscales=lengthscales,
            scales=np.exp(v)[self.of_group],
            noise=float(np.exp(theta[-1])),
        )

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log posterior per observation and its gradient."""
        value, by_lengthscale, by_scale, by_noise = log_likelihood(
            self.unpack(theta), self.X, self.y, self._work
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

    ``template`` gives kind, groups and categorical columns; ``n_steps`` is what a climb may take,
    or what each of them may. Of very many observations only some count: :func:`modelled_rows`.
    """
    rows = modelled_rows(y)
    if rows is not None:
        X, y = X[rows], y[rows]
    objective = Objective(template, X, y, prior, bounds, lengthscales, scales)
    best, best_value = None, np.inf
    if isinstance(n_steps, int):
        n_steps = [n_steps] * len(starts)
    for start, most in zip(starts, n_steps, strict=True):
        found = minimize(
            objective,
            objective.pack(start),
            jac=True,
            method="L-BFGS-B",
            bounds=objective.box,
            options={"maxiter": most, "maxfun": int(1.5 * most), "ftol": 1e-7, "gtol": 1e-4},
        )
        if best is None or found.fun < best_value:
            best, best_value = found.x, float(found.fun)
    assert best is not None
    return objective.unpack(best), -best_value * len(y)
