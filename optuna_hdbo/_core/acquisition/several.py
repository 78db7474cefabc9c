"""Expected improvements of a Pareto front, from one posterior per objective.

The logarithm of the exact expectation for independent objectives. Daulton, Balandat & Bakshy
(2020) estimate it by sampling; Ament et al. (2023) take the logarithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import Sum
from optuna_hdbo._core.acquisition.climb import climb_together
from optuna_hdbo._core.acquisition.climb import units_of
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.fronts import Boxes
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.posterior import PosteriorAt
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._jit import hypervolume as jit


Slopes = tuple[FloatArray, FloatArray, FloatArray]
"""Values (m,), and their derivatives by means and variances, (m, k) each."""


class Improvement(Protocol):
    """The log of an expected improvement, as a function of independent normal distributions."""

    def slopes(self, means: FloatArray, variances: FloatArray) -> Slopes:
        """Return the values of m points with means and variances (m, k), and derivatives."""


@dataclass(frozen=True, eq=False)
class HypervolumeImprovement:
    """The volume that a point adds to what the front dominates, of the boxes beyond it."""

    boxes: Boxes

    def slopes(self, means: FloatArray, variances: FloatArray) -> Slopes:
        boxes = self.boxes
        values, by_mean, by_variance = _empty(means)
        jit.hypervolume(
            boxes.levels,
            boxes.starts,
            boxes.low,
            boxes.high,
            means,
            variances,
            values,
            by_mean,
            by_variance,
        )
        return values, by_mean, by_variance


@dataclass(frozen=True, eq=False)
class DirectedImprovement:
    """How much further than the front a point dominates in one direction from the reference point.

    Averaged over all directions, the k-th power of that distance is a volume (Golovin & Zhang
    2020).

    Parameters
    ----------
    reference, direction : FloatArray, shape (k,)
        A point, and positive numbers.
    best : float
        The distance that is dominated already.
    """

    reference: FloatArray
    direction: FloatArray
    best: float

    @classmethod
    def drawn(
        cls, front: FloatArray, reference: FloatArray, rng: np.random.Generator
    ) -> DirectedImprovement:
        """Return one in a random direction of the box between reference (k,) and front (p, k)."""
        direction = np.maximum(np.abs(rng.standard_normal(len(reference))), 1e-3)
        direction *= (front.max(axis=0) - reference) / np.sqrt(np.sum(direction**2))
        reached = ((front - reference) / direction).min(axis=1)
        return cls(reference, direction, float(reached.max()))

    def slopes(self, means: FloatArray, variances: FloatArray) -> Slopes:
        values, by_mean, by_variance = _empty(means)
        jit.scalarised(
            self.reference,
            self.direction,
            self.best,
            means,
            variances,
            values,
            by_mean,
            by_variance,
        )
        return values, by_mean, by_variance


def _empty(means: FloatArray) -> Slopes:
    return np.empty(len(means)), np.empty_like(means), np.empty_like(means)


@dataclass(frozen=True, eq=False)
class SeveralObjectives:
    """Log of (expected improvement of the front x probability of feasibility).

    Parameters
    ----------
    posteriors : sequence of Posterior
        One per objective, of values to be maximised.
    improvement : Improvement
    feasible : sequence of Analytic
        Log probability of feasibility of each constraint.
    """

    posteriors: Sequence[Posterior]
    improvement: Improvement
    feasible: Sequence[Analytic] = ()

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (m, D), shape (m,)."""
        values = self._improvement(X)[1][0]
        for term in self.feasible:
            values += term(X)
        return values

    def slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values at points (m, D), shape (m,), and their gradients (m, D)."""
        gradients = np.zeros(X.shape)
        at, (values, by_mean, by_variance) = self._improvement(X)
        for j, here in enumerate(at):
            gradients += here.gradients(by_mean[:, j], by_variance[:, j])
        feasible, by_column = self._feasibility.slopes(X)
        return values + feasible, gradients + by_column

    @cached_property
    def _feasibility(self) -> Sum:
        return Sum(self.feasible)

    def _improvement(self, X: FloatArray) -> tuple[list[PosteriorAt], Slopes]:
        at = [PosteriorAt(posterior, X) for posterior in self.posteriors]
        means = np.stack([here.mean for here in at], axis=1)
        variances = np.stack([here.variance for here in at], axis=1)
        return at, self.improvement.slopes(means, variances)

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb from each of the points (S, D) along the columns marked ``free (D,)``."""
        posteriors = [*self.posteriors, *(term.posterior for term in self.feasible)]
        units = units_of([posterior.kernel for posterior in posteriors])
        return climb_together(self.slopes, X, free, units, n_steps, tol)
