"""The landscapes on which GP-MI's paper compares, as far as they are available.

Draws from Gaussian processes, a mixture of three peaks under such a draw, and a Mackey-Glass delay
equation. Himmelblau, Branin and Goldstein-Price are in
:mod:`optuna_hdbo.benchmarks.problems.functions`. The paper does not give the domain of its draws,
its peaks, or the parameters of its delay equation. The choices made here are documented below. Its
tsunami data are not public. A draw of a process in five dimensions that matter unequally replaces
them. All are maximised, without noise.

Draws whose maximum is on the edge are passed over, since maximisers start there. A draw's maximum
is what climbs from the best of some thousand points find: a lower bound of the truth, tight but
not proven.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


N_FEATURES = 400
"""Number of random features of a draw."""


@dataclass(frozen=True, eq=False)
class Draw:
    """A function drawn from a Gaussian process with a Matern kernel of smoothness 3.

    Random features: the spectral density of the kernel is a multivariate t with 6 degrees of
    freedom.

    Parameters
    ----------
    frequencies : FloatArray, shape (m, d)
    phases, weights : FloatArray, shape (m,)
    """

    frequencies: FloatArray
    phases: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, lengthscales: FloatArray, rng: np.random.Generator) -> Draw:
        """Draw a function with signal variance 1."""
        normal = rng.standard_normal((N_FEATURES, len(lengthscales)))
        heavy = np.sqrt(6.0 / rng.chisquare(6.0, (N_FEATURES, 1)))
        phases = rng.uniform(0.0, 2.0 * np.pi, N_FEATURES)
        weights = rng.standard_normal(N_FEATURES) * np.sqrt(2.0 / N_FEATURES)
        return cls(normal * heavy / lengthscales, phases, weights)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values at points (..., d), shape (...)."""
        values: FloatArray = np.cos(X @ self.frequencies.T + self.phases) @ self.weights
        return values


def _maximum(
    f: Callable[[FloatArray], FloatArray], box: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    low, high = box.T
    X = low + (high - low) * rng.random((2000, len(box)))
    best, value = X[0], -np.inf
    for x in X[np.argsort(-f(X))[:12]]:
        found = minimize(lambda z: -float(f(z)), x, method="L-BFGS-B", bounds=box)
        if -found.fun > value:
            best, value = found.x, float(-found.fun)
    return best, value


def _problem(
    name: str,
    seed: int,
    f: Callable[[FloatArray], FloatArray],
    box: FloatArray,
    rng: np.random.Generator,
) -> Problem:
    argopt, optimum = _maximum(f, box, rng)
    return Problem(
        name=name,
        seed=seed,
        direction="maximize",
        bounds=box,
        evaluate=lambda x: float(f(x)),
        optimum=optimum,
        argopt=argopt,
    )


def draw(box: FloatArray, lengthscales: FloatArray) -> Build:
    """Build draws over a box."""

    @functools.cache
    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        while True:
            problem = _problem(name, seed, Draw.of(lengthscales, rng), box, rng)
            x = problem.argopt
            if x is not None and np.all((x > box[:, 0]) & (x < box[:, 1])):
                return problem

    return build


def mixture() -> Build:
    """Build mixtures on the unit square: two broad peaks, a higher thin one, and ripples."""

    @functools.cache
    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        angle = rng.uniform(0.0, 2.0 * np.pi) + 2.0 * np.pi * np.arange(3) / 3.0
        centres = 0.5 + 0.32 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        heights, widths = np.array([1.0, 1.3, 2.0]), np.array([0.14, 0.12, 0.06])
        ripple = Draw.of(np.array([0.15, 0.15]), rng)

        def f(X: FloatArray) -> FloatArray:
            r2 = ((X[..., None, :] - centres) ** 2).sum(axis=-1)
            peaks: FloatArray = np.exp(-0.5 * r2 / widths**2) @ heights
            return peaks + 0.1 * ripple(X)

        return _problem(name, seed, f, np.tile([0.0, 1.0], (2, 1)), rng)

    return build


_LAG, _N_STEPS, _STEP = 34, 400, 0.5
_LEVELS = (0.2, 1.6)
"""Range of the initial levels."""


def mackey_glass_value(levels: FloatArray) -> float:
    """Return u(200) of u' = 0.2 u(t - 17) / (1 + u(t - 17)^10) - 0.1 u, the chaotic case.

    ``levels (6,)`` are values of u at equal distances from t = -17 to 0, joined by lines; Euler's
    method with steps of 1/2.
    """
    u: list[float] = np.interp(
        np.linspace(0.0, len(levels) - 1.0, _LAG + 1), np.arange(len(levels)), levels
    ).tolist()
    for k in range(_LAG, _LAG + _N_STEPS):
        late = u[k - _LAG]
        u.append(u[k] + _STEP * (0.2 * late / (1.0 + late**10) - 0.1 * u[k]))
    return u[-1]


def mackey_glass() -> Build:
    """Build the equation's value as a function of its history, permuted and reversed.

    The maximum is the best of forty climbs from 20000 points, refined.
    """
    low, high = _LEVELS
    argmax = np.array(
        [
            0.8205991339884384,
            0.7744041662725255,
            0.922200008255418,
            1.5999999999804835,
            0.8157424658690737,
            1.2244625093146424,
        ]
    )
    maximum = mackey_glass_value(argmax)

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        order = rng.permutation(len(argmax))
        reversed_ = rng.random(len(argmax)) < 0.5

        def objective(x: FloatArray) -> float:
            u = np.where(reversed_, 1.0 - x[order], x[order])
            return mackey_glass_value(low + (high - low) * u)

        unit = (argmax - low) / (high - low)
        argopt = np.empty(len(argmax))
        argopt[order] = np.where(reversed_, 1.0 - unit, unit)
        return Problem(
            name=name,
            seed=seed,
            direction="maximize",
            bounds=np.tile([0.0, 1.0], (len(argmax), 1)),
            evaluate=objective,
            optimum=maximum,
            argopt=argopt,
        )

    return build
