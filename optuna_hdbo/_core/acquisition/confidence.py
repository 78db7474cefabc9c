"""Upper confidence bounds: schedules, the information gained so far, and the sum of all groups."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.analytic import climbed_from
from optuna_hdbo._core.checks import is_number
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.models.orders import OrderPosterior


Beta = float | Callable[[int], float] | Literal["practical", "theory"]

DELTA = 0.1
"""Failure probability of the theorems' schedules, unless another one is given."""


def check_beta(beta: Any) -> None:
    """Raise ``ValueError`` unless ``beta`` is one that :func:`root_beta` takes."""
    if callable(beta):
        _check_arity(beta)
        return
    named = isinstance(beta, str) and beta in ("practical", "theory")
    if not named and not (is_number(beta) and beta >= 0):
        raise ValueError(
            "beta must be a finite non-negative number, a callable of the number of observations, "
            f'"practical" or "theory", but got {beta!r}.'
        )


def _check_arity(beta: Callable[..., float]) -> None:
    try:
        signature = inspect.signature(beta)
    except (TypeError, ValueError):  # of some built-in functions nothing is known
        return
    try:
        signature.bind(1)
    except TypeError as error:
        raise ValueError(
            "beta must be callable with one argument, the number of observations, but got "
            f"{beta!r} with the parameters {signature}."
        ) from error


def root_beta(
    beta: Beta, t: int, d: int, n_columns: int, n_groups: int = 1, delta: float = DELTA
) -> float:
    """Return the square root of beta_t.

    Parameters
    ----------
    beta : float, callable or str
        ``"practical"`` is 0.2 d log(2 t) (Kandasamy et al. 2015, section 4.4); ``"theory"`` is
        2 log(M pi^2 t^2 / (2 delta)) + 2 d log(D t^3) (Theorem 5 there).
    t : int
        Observations used, from 1.
    d : int
        Dimension of the sub-problem.
    n_columns : int
        D, the dimension of the problem.
    n_groups : int
        M, the number of sub-problems.
    delta : float
        Failure probability of ``"theory"``.

    Raises
    ------
    ArithmeticError
        If a callable returns a negative number, infinity or NaN.
    """
    if callable(beta):
        value = float(beta(t))
        if not (0.0 <= value < math.inf):
            raise ArithmeticError(
                "beta must return a finite non-negative number, but returned "
                f"{value!r} at t = {t}."
            )
    elif beta == "practical":
        value = 0.2 * d * math.log(2.0 * t)
    elif beta == "theory":
        value = 2.0 * math.log(n_groups * t**2 * math.pi**2 / (2.0 * max(delta, 1e-300)))
        value += 2.0 * d * math.log(n_columns * t**3)
    else:
        value = float(beta)
    return math.sqrt(max(value, 0.0))


def root_beta_of_subspaces(beta: Beta, t: int, d: int, n_columns: int) -> float:
    """Return the square root of MS-UCB's beta_t; parameters as of :func:`root_beta`.

    ``"theory"`` is 2 log(pi^2 t^2 / delta) + 2 d log(2 b d sqrt(log(6 D a / delta)) t^2) with
    a = b = 1, and 4 log(pi^2 t^2 / (2 delta)) for points, d = 0 (Tran-The et al. 2020). D enters
    under a root and a logarithm only.
    """
    if callable(beta) or beta != "theory":
        return root_beta(beta, t, max(d, 1), n_columns)
    if d == 0:
        return math.sqrt(4.0 * math.log(math.pi**2 * t**2 / (2.0 * DELTA)))
    value = 2.0 * math.log(math.pi**2 * t**2 / DELTA)
    slope = math.sqrt(math.log(6.0 * n_columns / DELTA))
    return math.sqrt(value + 2.0 * d * math.log(2.0 * d * slope * t**2))


def gained(posterior: Posterior, group: int | None = None) -> float:
    """Return gamma of GP-MI, in units of the prior's variance.

    It is the sum of s_t^2(x_t), the variance at each of the posterior's points before it was
    observed. That is a pivot of the Cholesky factor minus the noise, so nothing has to be stored,
    and a new fit changes past terms, too. Pending points are points of the factor and count as
    chosen. With a ``group``, the variance is that of its component.
    """
    kernel = posterior.kernel.only(group)
    if group is None or len(posterior.kernel.groups) == 1:
        variances = posterior.pivots() - kernel.noise
    else:
        n = len(posterior.X)
        # Rows a < t of the triangular factor read only entries b <= a < t of column t.
        V = posterior.linv[:n, :n] @ kernel.gram(posterior.X)
        variances = kernel.variance - np.einsum("at,at->t", np.triu(V, 1), V)
    return float(np.maximum(variances, 0.0).sum()) / kernel.variance


@dataclass(frozen=True, eq=False)
class OrderBound:
    """mean + sqrt(beta) std under a kernel of all groups of d columns, as maximisers see it."""

    posterior: OrderPosterior
    root_beta: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""
        mean, variance = self.posterior.predict(X)
        return np.asarray(mean + self.root_beta * np.sqrt(variance), np.float64)

    def slope(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at a point (D,) and its gradient, shape (D,)."""
        mean, variance, of_mean, of_variance = self.posterior.slopes(x)
        std = variance**0.5
        return mean + self.root_beta * std, of_mean + 0.5 * self.root_beta / std * of_variance

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D) along the columns marked ``free (D,)``."""
        return climbed_from(self.slope, X, self(X), free, n_steps, tol)
