"""Classical functions of few parameters on the unit cube, as Wang et al. (2014) ran them.

Unlike the instances of :mod:`optuna_hdbo.benchmarks.problems.instances` these are not translated.
A seed draws nothing but the sampler's random first point. The ones for tuning are other functions,
which are translated.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.functions import HARTMANN3_A
from optuna_hdbo.benchmarks.problems.functions import HARTMANN_WEIGHTS
from optuna_hdbo.benchmarks.problems.functions import Function
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


_SHEKEL_CENTRES = np.array(
    [
        [4.0, 4.0, 4.0, 4.0],
        [1.0, 1.0, 1.0, 1.0],
        [8.0, 8.0, 8.0, 8.0],
        [6.0, 6.0, 6.0, 6.0],
        [3.0, 7.0, 3.0, 7.0],
        [2.0, 9.0, 2.0, 9.0],
        [5.0, 5.0, 3.0, 3.0],
        [8.0, 1.0, 8.0, 1.0],
        [6.0, 2.0, 6.0, 2.0],
        [7.0, 3.6, 7.0, 3.6],
    ]
)
_SHEKEL_HEIGHTS = np.array([0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5])


def shekel(m: int, argmin: list[float], minimum: float) -> Function:
    """Shekel with m wells on [0, 10]^4: narrow wells on a plain."""

    def evaluate(x: FloatArray) -> float:
        distances = np.sum((x - _SHEKEL_CENTRES[:m]) ** 2, axis=1)
        return -float(np.sum(1.0 / (distances + _SHEKEL_HEIGHTS[:m])))

    return Function(evaluate, np.tile([0.0, 10.0], (4, 1)), np.array(argmin), minimum)


def shekel5() -> Function:
    """Shekel with five wells."""
    argmin = [4.000037152376549, 4.000133278657566, 4.000037151057555, 4.000133277090425]
    return shekel(5, argmin, -10.153199679058229)


def shekel7() -> Function:
    """Shekel with seven wells."""
    argmin = [4.000572914277084, 4.000689366040889, 3.9994897107938447, 3.9996061600067923]
    return shekel(7, argmin, -10.402940566818662)


def shekel10() -> Function:
    """Shekel with ten wells."""
    argmin = [4.000746530253313, 4.000592936779709, 3.9996633957714787, 3.9995097993299975]
    return shekel(10, argmin, -10.536409816692045)


def goldstein_price() -> Function:
    """Goldstein-Price on [-2, 2]^2: valleys at several heights, values from 3 to 10^6."""

    def evaluate(x: FloatArray) -> float:
        u, v = x
        a = 19.0 - 14.0 * u + 3.0 * u**2 - 14.0 * v + 6.0 * u * v + 3.0 * v**2
        b = 18.0 - 32.0 * u + 12.0 * u**2 + 48.0 * v - 36.0 * u * v + 27.0 * v**2
        return float((1.0 + (u + v + 1.0) ** 2 * a) * (30.0 + (2.0 * u - 3.0 * v) ** 2 * b))

    return Function(evaluate, np.array([[-2.0, 2.0], [-2.0, 2.0]]), np.array([0.0, -1.0]), 3.0)


def michalewicz3() -> Function:
    """Michalewicz in 3 dimensions on [0, pi]^3, m = 10."""

    def evaluate(x: FloatArray) -> float:
        return -float(np.sum(np.sin(x) * np.sin(np.arange(1, 4) * x**2 / np.pi) ** 20))

    argmin = [2.2029055204249834, 1.5707963301777534, 1.2849915709574637]
    return Function(evaluate, np.tile([0.0, np.pi], (3, 1)), np.array(argmin), -2.76039467999456)


def bumps3(name: str, seed: int) -> Problem:
    """Build four bumps as narrow as those of Hartmann in 3 dimensions, at other places."""
    rng = generator(name, seed)
    centres = rng.uniform(0.05, 0.95, (4, 3))
    A = HARTMANN3_A[:, rng.permutation(3)]

    def evaluate(x: FloatArray) -> float:
        return -float(HARTMANN_WEIGHTS @ np.exp(-np.sum(A * (x - centres) ** 2, axis=1)))

    def slope(x: FloatArray) -> FloatArray:
        bumps = HARTMANN_WEIGHTS * np.exp(-np.sum(A * (x - centres) ** 2, axis=1))
        return np.asarray(2.0 * np.sum(bumps[:, None] * A * (x - centres), axis=0), np.float64)

    box = np.tile([0.0, 1.0], (3, 1))
    climbs = [
        minimize(evaluate, x, jac=slope, bounds=box, options={"ftol": 0.0, "gtol": 1e-10})
        for x in (*centres, *rng.random((20, 3)))
    ]
    best = min(climbs, key=lambda climb: float(climb.fun))
    return Problem(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=box,
        evaluate=evaluate,
        optimum=evaluate(best.x),
        argopt=best.x,
    )


def unmoved(function: Function) -> Build:
    """Build the function as it is, scaled to the unit cube, whatever the seed."""
    low, high = function.box.T

    def build(name: str, seed: int) -> Problem:
        return Problem(
            name=name,
            seed=seed,
            direction="minimize",
            bounds=np.tile([0.0, 1.0], (len(low), 1)),
            evaluate=lambda u: function.evaluate(low + (high - low) * u),
            optimum=function.minimum,
            argopt=(function.argmin - low) / (high - low),
        )

    return build
