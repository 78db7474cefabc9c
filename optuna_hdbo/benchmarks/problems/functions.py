"""Classical test functions in their customary boxes, all minimised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.domain import FloatArray


@dataclass(frozen=True, eq=False)
class Function:
    """A function to minimise and what is known about its minimum.

    Parameters
    ----------
    evaluate : callable
        A point of shape (d,) to its value. Defined outside of the box too.
    box : FloatArray, shape (d, 2)
        The customary lower and upper bounds.
    argmin : FloatArray, shape (d,)
        A global minimiser; where there are several, one of them.
    minimum : float
        The value there.
    """

    evaluate: Callable[[FloatArray], float]
    box: FloatArray
    argmin: FloatArray
    minimum: float


def _cube(d: int, low: float, high: float) -> FloatArray:
    return np.tile([low, high], (d, 1)).astype(np.float64)


def ackley(d: int) -> Function:
    """Ackley on [-32.768, 32.768]^d: a flat, bumpy plain around one funnel."""

    def evaluate(x: FloatArray) -> float:
        far = 20.0 - 20.0 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
        return float(far + np.e - np.exp(np.mean(np.cos(2.0 * np.pi * x))))

    return Function(evaluate, _cube(d, -32.768, 32.768), np.zeros(d), 0.0)


def dixonprice(d: int) -> Function:
    """Dixon-Price on [-10, 10]^d: a curved valley that couples neighbours."""

    def evaluate(x: FloatArray) -> float:
        weights = np.arange(2, d + 1)
        return float((x[0] - 1.0) ** 2 + np.sum(weights * (2.0 * x[1:] ** 2 - x[:-1]) ** 2))

    power = 2.0 ** np.arange(1, d + 1)
    return Function(evaluate, _cube(d, -10.0, 10.0), 2.0 ** (-(power - 2.0) / power), 0.0)


def ellipsoid(d: int) -> Function:
    """Axis-parallel hyper-ellipsoid, the sum of i x_i^2, on [-5.12, 5.12]^d."""

    def evaluate(x: FloatArray) -> float:
        return float(np.sum(np.arange(1, d + 1) * x**2))

    return Function(evaluate, _cube(d, -5.12, 5.12), np.zeros(d), 0.0)


def griewank(d: int) -> Function:
    """Griewank on [-600, 600]^d: a bowl, rippled in a product of cosines."""

    def evaluate(x: FloatArray) -> float:
        ripple = np.prod(np.cos(x / np.sqrt(np.arange(1, d + 1))))
        return float(np.sum(x**2) / 4000.0 - ripple + 1.0)

    return Function(evaluate, _cube(d, -600.0, 600.0), np.zeros(d), 0.0)


def levy(d: int) -> Function:
    """Levy on [-10, 10]^d: additive, many local minima on a bowl."""

    def evaluate(x: FloatArray) -> float:
        w = 1.0 + (x - 1.0) / 4.0
        inner = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:-1] + 1.0) ** 2)
        last = (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
        return float(np.sin(np.pi * w[0]) ** 2 + np.sum(inner) + last)

    return Function(evaluate, _cube(d, -10.0, 10.0), np.ones(d), 0.0)


def michalewicz() -> Function:
    """Michalewicz in 10 dimensions on [0, pi]^10, m = 10: steep additive ridges."""

    def evaluate(x: FloatArray) -> float:
        i = np.arange(1, 11)
        return -float(np.sum(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20))

    argmin = [2.2029055, 1.5707963, 1.2849916, 1.9230585, 1.7204698]
    argmin += [1.5707963, 1.4544140, 1.7560865, 1.6557174, 1.5707963]
    return Function(evaluate, _cube(10, 0.0, np.pi), np.array(argmin), -9.660151715641343)


def rastrigin(d: int) -> Function:
    """Rastrigin on [-5.12, 5.12]^d: additive, a regular lattice of local minima."""

    def evaluate(x: FloatArray) -> float:
        return float(10.0 * d + np.sum(x**2 - 10.0 * np.cos(2.0 * np.pi * x)))

    return Function(evaluate, _cube(d, -5.12, 5.12), np.zeros(d), 0.0)


def rosenbrock(d: int) -> Function:
    """Rosenbrock on [-5, 10]^d: a long bent valley."""

    def evaluate(x: FloatArray) -> float:
        return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (x[:-1] - 1.0) ** 2))

    return Function(evaluate, _cube(d, -5.0, 10.0), np.ones(d), 0.0)


def zakharov(d: int) -> Function:
    """Zakharov on [-5, 10]^d: a plate, not additive."""

    def evaluate(x: FloatArray) -> float:
        s = np.sum(0.5 * np.arange(1, d + 1) * x)
        return float(np.sum(x**2) + s**2 + s**4)

    return Function(evaluate, _cube(d, -5.0, 10.0), np.zeros(d), 0.0)


def branin(top: float = 15.0) -> Function:
    """Branin on [-5, 10] x [0, top]; three global minima, of which two are below 10."""

    def evaluate(x: FloatArray) -> float:
        u, v = x
        valley = v - 5.1 / (4.0 * np.pi**2) * u**2 + 5.0 / np.pi * u - 6.0
        return float(valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(u) + 10.0)

    box = np.array([[-5.0, 10.0], [0.0, top]])
    return Function(evaluate, box, np.array([np.pi, 2.275]), 10.0 / (8.0 * np.pi))


def sixhump() -> Function:
    """Six-hump camel on [-3, 3] x [-2, 2]; two global minima, mirrored at the origin."""

    def evaluate(x: FloatArray) -> float:
        u, v = x
        return float((4.0 - 2.1 * u**2 + u**4 / 3.0) * u**2 + u * v + (4.0 * v**2 - 4.0) * v**2)

    box = np.array([[-3.0, 3.0], [-2.0, 2.0]])
    return Function(evaluate, box, np.array([0.0898420137, -0.7126564033]), -1.031628453489877)


def himmelblau() -> Function:
    """Himmelblau on [-5, 5]^2, tilted so that one of its four minima is the lowest."""

    def evaluate(x: FloatArray) -> float:
        u, v = x
        return float((u**2 + v - 11.0) ** 2 + (u + v**2 - 7.0) ** 2 + 2.0 * (u + v))

    return Function(
        evaluate,
        _cube(2, -5.0, 5.0),
        np.array([-3.803634331286, -3.313281624243]),
        -14.179661300889586,
    )


def doublesum(d: int) -> Function:
    """Schwefel's double sum on [-65.536, 65.536]^d: an ellipsoid turned against the axes."""

    def evaluate(x: FloatArray) -> float:
        return float(np.sum(np.cumsum(x) ** 2))

    return Function(evaluate, _cube(d, -65.536, 65.536), np.zeros(d), 0.0)


def trid(d: int) -> Function:
    """Trid on [-d^2, d^2]^d: a quadratic function whose neighbouring parameters interact."""

    def evaluate(x: FloatArray) -> float:
        return float(np.sum((x - 1.0) ** 2) - np.sum(x[1:] * x[:-1]))

    i = np.arange(1.0, d + 1.0)
    least = -d * (d + 4.0) * (d - 1.0) / 6.0
    return Function(evaluate, _cube(d, -float(d * d), float(d * d)), i * (d + 1.0 - i), least)


def powell(d: int) -> Function:
    """Powell's singular function on [-4, 5]^d: its curvature at the optimum has half the rank."""

    def evaluate(x: FloatArray) -> float:
        a, b, c, e = x[0::4], x[1::4], x[2::4], x[3::4]
        squares = (a + 10.0 * b) ** 2 + 5.0 * (c - e) ** 2
        return float(np.sum(squares + (b - 2.0 * c) ** 4 + 10.0 * (a - e) ** 4))

    return Function(evaluate, _cube(d, -4.0, 5.0), np.zeros(d), 0.0)


def salomon(d: int) -> Function:
    """Salomon on [-100, 100]^d: rings around one funnel."""

    def evaluate(x: FloatArray) -> float:
        r = np.sqrt(np.sum(x**2))
        return float(1.0 - np.cos(2.0 * np.pi * r) + 0.1 * r)

    return Function(evaluate, _cube(d, -100.0, 100.0), np.zeros(d), 0.0)


def styblinski(d: int) -> Function:
    """Styblinski-Tang on [-5, 5]^d: additive, two valleys per coordinate."""

    def evaluate(x: FloatArray) -> float:
        return float(np.sum(x**4 - 16.0 * x**2 + 5.0 * x) / 2.0)

    return Function(
        evaluate, _cube(d, -5.0, 5.0), np.full(d, -2.903534027771), -39.16616570377142 * d
    )


def wells(d: int) -> Function:
    """Sum of tilted double wells, (x^2 - 1)^2 + 0.3 x, on [-1.8, 1.8]^d."""

    def evaluate(x: FloatArray) -> float:
        return float(np.sum((x**2 - 1.0) ** 2 + 0.3 * x))

    # The lowest root of the derivative, 4 x^3 - 4 x + 0.3.
    argmin = float(np.sort(np.roots([4.0, 0.0, -4.0, 0.3]).real)[0])
    return Function(
        evaluate, _cube(d, -1.8, 1.8), np.full(d, argmin), evaluate(np.full(d, argmin))
    )


HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])


def _hartmann(A: FloatArray, P: FloatArray, argmin: list[float], minimum: float) -> Function:
    def evaluate(x: FloatArray) -> float:
        return -float(HARTMANN_WEIGHTS @ np.exp(-np.sum(A * (x - P) ** 2, axis=1)))

    return Function(evaluate, _cube(len(argmin), 0.0, 1.0), np.array(argmin), minimum)


HARTMANN3_A = np.array(
    [[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]]
)
"""Inverse squared widths of the bumps along each parameter."""


def hartmann3() -> Function:
    """Hartmann in 3 dimensions on the unit cube."""
    P = np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    return _hartmann(HARTMANN3_A, P / 1e4, [0.11458887, 0.5556489, 0.85254699], -3.862779787332660)


_HARTMANN6_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN6_P = np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6() -> Function:
    """Hartmann in 6 dimensions on the unit cube."""
    argmin = [0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053]
    return _hartmann(_HARTMANN6_A, _HARTMANN6_P / 1e4, argmin, -3.322368011415514)


def hartmann4() -> Function:
    """Hartmann with the first four of its six dimensions, on the unit cube."""
    argmin = [0.18739527, 0.19415153, 0.55791778, 0.26477962]
    return _hartmann(_HARTMANN6_A[:, :4], _HARTMANN6_P[:, :4] / 1e4, argmin, -3.729840584485593)
