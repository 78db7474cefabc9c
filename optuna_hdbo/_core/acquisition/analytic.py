"""Acquisition functions on a posterior or on one group's component of it, and their sums."""

from __future__ import annotations

import copy
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from optuna_hdbo._core.acquisition.climb import climb_together
from optuna_hdbo._core.acquisition.climb import units_of
from optuna_hdbo._core.descent import descended
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.posterior import PosteriorAt
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._jit import acquisition as jit
from optuna_hdbo._jit.ascent import ascend


REACH = 0.15
"""Distance from a known point at which 63 % of the noise's variance is unknown."""


class Acquisition(Protocol):
    """A function that can be maximised."""

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D); return the ends (S, D) and their values (S,)."""


@dataclass(frozen=True, eq=False)
class Analytic:
    """An acquisition function as a code and numbers, which compiled loops can take.

    Parameters
    ----------
    posterior : Posterior
    kernel : Kernel
        That of the posterior, or :meth:`Kernel.only` of one group.
    code : int
        One of the codes of :mod:`optuna_hdbo._jit.acquisition`.
    p : tuple of floats
        The numbers that the code takes.
    """

    posterior: Posterior
    kernel: Kernel
    code: int
    p: tuple[float, ...]

    @classmethod
    def ucb(cls, posterior: Posterior, root_beta: float, group: int | None = None) -> Analytic:
        """Return mean + sqrt(beta) std; of one group's component if ``group`` is given."""
        return cls(posterior, posterior.kernel.only(group), jit.UCB, (root_beta, 0.0))

    @classmethod
    def log_ei(cls, posterior: Posterior, incumbent: float) -> Analytic:
        """Return log E[max(f - incumbent, 0)] (Ament et al. 2023)."""
        return cls(posterior, posterior.kernel, jit.LOG_EI, (incumbent, 0.0))

    @classmethod
    def log_pi(cls, posterior: Posterior, incumbent: float) -> Analytic:
        """Return log P(f >= incumbent), the probability of improvement (Kushner 1964)."""
        mirrored = copy.copy(posterior)
        mirrored.alpha = -posterior.alpha
        return cls.log_feasible(mirrored, -incumbent)

    @classmethod
    def log_feasible(cls, posterior: Posterior, largest: float) -> Analytic:
        """Return log P(c <= largest) of a constraint's posterior."""
        return cls(posterior, posterior.kernel, jit.LOG_FEASIBLE, (largest, 0.0))

    @classmethod
    def excess(cls, posterior: Posterior, root_beta: float, largest: float) -> Analytic:
        """Return a penalty where a constraint's lower confidence bound is above ``largest``."""
        return cls(posterior, posterior.kernel, jit.EXCESS, (root_beta, largest))

    @classmethod
    def mi(
        cls,
        posterior: Posterior,
        root_alpha: float,
        gamma: float,
        floor: float = 0.0,
        group: int | None = None,
    ) -> Analytic:
        """Return mean + sqrt(alpha) (sqrt(var + gamma) - sqrt(gamma)) (Contal et al. 2014).

        Variances and ``gamma`` are in units of the kernel's signal variance, and the sum is scaled
        back. At least ``floor`` standard deviations are added to the mean.
        """
        kernel = posterior.kernel.only(group)
        return cls(posterior, kernel, jit.MI, (root_alpha, gamma * kernel.variance, floor))

    @classmethod
    def scaled_variance(
        cls, posterior: Posterior, factor: float, group: int | None = None
    ) -> Analytic:
        """Return mean + factor var, the variance in units of the signal variance, scaled back."""
        kernel = posterior.kernel.only(group)
        return cls(posterior, kernel, jit.VARIANCE, (factor / kernel.variance**0.5, 0.0))

    @property
    def model(self) -> jit.Model:
        """The posterior under the kernel, as compiled loops read it."""
        kernel, posterior = self.kernel, self.posterior
        is_whole = kernel is posterior.kernel
        F = posterior.features if is_whole else kernel.features(posterior.X)
        return jit.Model(kernel.covariance, F, posterior.linv, posterior.alpha)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""
        mean, variance = self.posterior.predict(X, self.kernel)
        out = np.empty(len(X))
        jit.utilities(self.code, np.array(self.p), mean, variance, out)
        return out

    def slope(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at a point (D,) and its gradient, shape (D,)."""
        if not self.kernel.is_compiled:
            values, gradients = self.slopes(x[None])
            return float(values[0]), gradients[0]
        by_feature = np.empty((1, len(self.kernel.columns)))
        work = np.empty((4, len(self.posterior.alpha)))
        f, p = self.kernel.features(x[None])[:, 0], np.array(self.p)
        value = jit.evaluate(self.model, f, self.code, p, work, True, by_feature[0])
        return value, self.kernel.by_columns(by_feature)[0]

    def slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values at points (m, D), shape (m,), and their gradients (m, D)."""
        here, p = PosteriorAt(self.posterior, X, self.kernel), np.array(self.p)
        found = [jit.utility(self.code, p, *at) for at in np.c_[here.mean, here.variance]]
        values, by_mean, by_variance = np.array(found).T
        return values, here.gradients(by_mean, by_variance)

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D) along the columns marked ``free (D,)``.

        The ends (S, D) and their values (S,) are returned. The largest value is never below those
        of the starts.
        """
        if not self.kernel.is_compiled:
            return climb_together(self.slopes, X, free, units_of([self.kernel]), n_steps, tol)
        columns = self.kernel.columns
        climbed = np.ascontiguousarray(X[:, columns])
        model, p = self.model, np.array(self.p)
        one = model, self.kernel.root, self.code, p
        values = ascend(one, None, model.kernel.inverse, free[columns], climbed, n_steps, tol)
        X = X.copy()
        X[:, columns] = climbed
        return X, values


def unknown_share(Z: FloatArray, known: FloatArray) -> FloatArray:
    """Return which share of the noise's variance is unknown at points (m, D), shape (m,).

    It is 1 - exp(-(d / REACH)^2) at the distance d to the nearest of the points ``known (n, D)``.
    """
    if not len(known):
        return np.ones(len(Z))
    squares = (Z**2).sum(axis=1)[:, None] + (known**2).sum(axis=1) - 2.0 * (Z @ known.T)
    nearest = np.maximum(squares.min(axis=1), 0.0)
    return np.asarray(-np.expm1(-nearest / REACH**2), np.float64)


def log_jump_improvement(
    posterior: Posterior, incumbent: float, Z: FloatArray, known: FloatArray
) -> FloatArray:
    """Return log E[max(y - incumbent, 0)] at points Z (m, D), shape (m,), unknown jumps included.

    A process takes for noise what it cannot explain. Where equal points have equal values, that
    part of the objective is unknown far from known points, and known close to them. The
    ``incumbent`` is the best observed value, in the units of the posterior. ``known (n, D)`` are
    all points whose values are known or pending.
    """
    mean, variance = posterior.predict(Z)
    variance += posterior.kernel.noise * unknown_share(Z, known)
    values = np.empty(len(Z))
    jit.utilities(jit.LOG_EI, np.array((incumbent, 0.0)), mean, variance, values)
    return values


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of acquisitions, each on a posterior of its own."""

    terms: Sequence[Analytic]

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""
        return np.asarray(np.sum([term(X) for term in self.terms], axis=0), np.float64)

    def slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values at points (m, D), shape (m,), and their gradients (m, D)."""
        values, gradients = np.zeros(len(X)), np.zeros(X.shape)
        if self.is_compiled:
            X, units = np.ascontiguousarray(X), np.ones(X.shape[1])
            jit.evaluate_sums(self.compiled_terms, X, units, values, gradients)
            return values, gradients
        for term in self.terms:
            height, by_column = term.slopes(X)
            values += height
            gradients += by_column
        return values, gradients

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D) along the columns marked ``free (D,)``."""
        units = units_of([term.kernel for term in self.terms])
        if not self.is_compiled:
            return climb_together(self.slopes, X, free, units, n_steps, tol)
        X = X.copy()
        return X, ascend(None, self.compiled_terms, 1.0 / units, free, X, n_steps, tol)

    @property
    def is_compiled(self) -> bool:
        """Whether compiled loops can take all terms."""
        return len(self.terms) > 0 and all(term.kernel.is_compiled for term in self.terms)

    @cached_property
    def compiled_terms(self) -> jit.Terms:
        """The terms as compiled loops read them."""
        return jit.Terms(*map(_stacked, zip(*map(_arrays, self.terms), strict=True)))


def _arrays(term: Analytic) -> tuple[FloatArray | IntArray, ...]:
    """Return the row of a term in each array of :class:`jit.Terms`."""
    model, kernel = term.model, term.kernel
    n = len(model.alpha)
    shape = n, len(model.F), len(kernel.scales), len(kernel.root) > 0, kernel.code, term.code
    covariance = kernel.starts, np.array(term.p), kernel.scales, kernel.hamming, kernel.inverse
    linv = model.linv[:n, :n]
    return np.array(shape), kernel.columns, *covariance, model.alpha, model.F, linv, kernel.root


def _stacked(rows: Sequence[FloatArray]) -> FloatArray:
    """Return arrays as the rows of one, filled with zeros where they are smaller."""
    largest = np.max([row.shape for row in rows], axis=0)
    out = np.zeros((len(rows), *largest), rows[0].dtype)
    for into, row in zip(out, rows, strict=True):
        into[tuple(map(slice, row.shape))] = row
    return out


def climbed_from(
    slope: Callable[[FloatArray], tuple[float, FloatArray]],
    X: FloatArray,
    values: FloatArray,
    free: BoolArray,
    n_steps: int,
    tol: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of climbs from points X (S, D) with their values (S,), and the values there.

    ``slope`` returns the value at a point (D,) and the gradient, shape (D,).
    """
    climbed, box = X.copy(), np.tile([0.0, 1.0], (int(free.sum()), 1))
    for i, start in enumerate(X):
        x = start.copy()

        def falling(part: FloatArray, x: FloatArray = x) -> tuple[float, FloatArray]:
            x[free] = part
            value, gradient = slope(x)
            return -value, -gradient[free]

        end, lowest = descended(
            falling, start[free], box, maxiter=n_steps, maxfun=2 * n_steps, gtol=tol
        )
        if -lowest > values[i]:
            climbed[i, free], values[i] = end, -lowest
    return climbed, values


def terms(acquisition: Acquisition) -> Sequence[Analytic]:
    """Return the terms of a sum, or the acquisition itself."""
    if isinstance(acquisition, Sum):
        return acquisition.terms
    assert isinstance(acquisition, Analytic)
    return [acquisition]
