"""Problems with constraints, each of which has to be at most 0.

islands-2
    The second simulation of Gardner et al. (2014): 1.7 % of a square is feasible, on islands.
ackley-10
    Ackley's function on [-5, 10]^10 with its optimum on the border of half a ball, from Eriksson &
    Poloczek ("Scalable Constrained Bayesian Optimization", 2021).
spring-3, vessel-4, beam-4, reducer-7
    Design problems of engineers: the lightest spring, the cheapest pressure vessel and welded
    beam, and the lightest speed reducer, all of real parameters, as Coello Coello ("Theoretical
    and numerical constraint-handling techniques", 2002) and Mezura-Montes & Coello Coello ("Useful
    infeasible solutions in engineering optimization", 2005) state them. Here the stress and the
    buckling load of the beam are shares of their limits.
coco-f8-10
    Function 8 of the 54 of COCO's suite ``bbob-constrained`` (Dufossé et al. 2022) through
    ``coco-experiment``, in ten dimensions. Each of nine functions is there with 1, 3, 9, 16, 24
    and 54 constraints; those of function 8 are three. Seed s is instance s + 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems import functions
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.suites.coco import OfCoco


COCO = range(1, 55)
COCO_DIMENSION = 10


@dataclass(frozen=True, eq=False)
class Constrained:
    """A function to minimise where every constraint is at most 0.

    Parameters
    ----------
    problem : Problem
        The function, with its feasible optimum.
    constraints : callable
        A point of shape (D,) to the constraints' values, shape (C,).
    """

    problem: Problem
    constraints: Callable[[FloatArray], FloatArray]


Build = Callable[[str, int], Constrained]


def _fixed(
    low: list[float],
    high: list[float],
    evaluate: Callable[[FloatArray], float],
    constraints: Callable[[FloatArray], FloatArray],
    argopt: list[float],
) -> Build:
    """Build the same instance for all seeds."""
    best = np.array(argopt)
    optimum = evaluate(best)

    def build(name: str, seed: int) -> Constrained:
        box = np.column_stack([low, high]).astype(np.float64)
        problem = Problem(name, seed, "minimize", box, evaluate, optimum, best)
        return Constrained(problem, constraints)

    return build


def _islands(x: FloatArray) -> float:
    return float(np.sin(x[0]) + x[1])


def _between_islands(x: FloatArray) -> FloatArray:
    return np.array([np.sin(x[0]) * np.sin(x[1]) + 0.95])


def _outside_of_ball(x: FloatArray) -> FloatArray:
    return np.array([x.sum(), float(np.sqrt((x**2).sum())) - 5.0])


def _spring(x: FloatArray) -> float:
    wire, coil, turns = x.tolist()
    return float((turns + 2.0) * coil * wire**2)


def _spring_fails(x: FloatArray) -> FloatArray:
    """Deflection, shear stress, surge frequency, outer diameter."""
    wire, coil, turns = x.tolist()
    return np.array(
        [
            1.0 - coil**3 * turns / (71785.0 * wire**4),
            (4.0 * coil**2 - wire * coil) / (12566.0 * wire**3 * max(coil - wire, 1e-3))
            + 1.0 / (5108.0 * wire**2)
            - 1.0,
            1.0 - 140.45 * wire / (coil**2 * turns),
            (coil + wire) / 1.5 - 1.0,
        ]
    )


def _vessel(x: FloatArray) -> float:
    shell, head, radius, length = x.tolist()
    return float(
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    )


def _vessel_fails(x: FloatArray) -> FloatArray:
    """Thickness of shell and head, volume."""
    shell, head, radius, length = x.tolist()
    volume = math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3
    return np.array([0.0193 * radius - shell, 0.00954 * radius - head, 1_296_000.0 - volume])


def _beam(x: FloatArray) -> float:
    weld, length, height, width = x.tolist()
    return float(1.10471 * weld**2 * length + 0.04811 * height * width * (14.0 + length))


def _beam_fails(x: FloatArray) -> FloatArray:
    """Shear and bending stress, weld wider than the beam, deflection, buckling."""
    weld, length, height, width = x.tolist()
    load, span, young, shear = 6000.0, 14.0, 30e6, 12e6
    primary = load / (math.sqrt(2.0) * weld * length)
    arm = math.sqrt(length**2 / 4.0 + ((weld + height) / 2.0) ** 2)
    moment = load * (span + length / 2.0)
    inertia = math.sqrt(2.0) * weld * length * (length**2 / 12.0 + ((weld + height) / 2.0) ** 2)
    torsion = moment * arm / (2.0 * inertia)
    stress = math.sqrt(primary**2 + primary * torsion * length / arm + torsion**2)
    bending = 6.0 * load * span / (width * height**2)
    deflection = 4.0 * load * span**3 / (young * width * height**3)
    slender = 1.0 - height / (2.0 * span) * math.sqrt(young / (4.0 * shear))
    buckling = 4.013 * young * height * width**3 / (6.0 * span**2) * slender
    return np.array(
        [
            stress / 13_600.0 - 1.0,
            bending / 30_000.0 - 1.0,
            weld - width,
            deflection - 0.25,
            1.0 - buckling / load,
        ]
    )


def _reducer(x: FloatArray) -> float:
    face, module, teeth, first, second, shaft1, shaft2 = x.tolist()
    return float(
        0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
        - 1.508 * face * (shaft1**2 + shaft2**2)
        + 7.4777 * (shaft1**3 + shaft2**3)
        + 0.7854 * (first * shaft1**2 + second * shaft2**2)
    )


def _reducer_fails(x: FloatArray) -> FloatArray:
    """Bending and surface stress of teeth, deflection and stress of shafts, and proportions."""
    face, module, teeth, first, second, shaft1, shaft2 = x.tolist()
    size = module * teeth
    stress1 = math.hypot(745.0 * first / size, math.sqrt(16.9e6)) / shaft1**3
    stress2 = math.hypot(745.0 * second / size, math.sqrt(157.5e6)) / shaft2**3
    return np.array(
        [
            27.0 / (face * module**2 * teeth) - 1.0,
            397.5 / (face * module**2 * teeth**2) - 1.0,
            1.93 * first**3 / (size * shaft1**4) - 1.0,
            1.93 * second**3 / (size * shaft2**4) - 1.0,
            stress1 / 110.0 - 1.0,
            stress2 / 85.0 - 1.0,
            size / 40.0 - 1.0,
            5.0 * module / face - 1.0,
            face / (12.0 * module) - 1.0,
            (1.5 * shaft1 + 1.9) / first - 1.0,
            (1.1 * shaft2 + 1.9) / second - 1.0,
        ]
    )


def _coco(number: int, name: str, seed: int) -> Constrained:
    of = OfCoco.instance("bbob-constrained", number, COCO_DIMENSION, name, seed)
    problem = Problem(name, seed, "minimize", of.bounds, of.evaluate, of.optimum, of.argopt)
    return Constrained(problem, lambda x: np.asarray(of.problem.constraint(x), np.float64))


PROBLEMS: dict[str, Build] = {
    "islands-2": _fixed(
        [0.0] * 2, [6.0] * 2, _islands, _between_islands, [1.5 * math.pi, math.asin(0.95)]
    ),
    "ackley-10": _fixed(
        [-5.0] * 10, [10.0] * 10, functions.ackley(10).evaluate, _outside_of_ball, [0.0] * 10
    ),
    "spring-3": _fixed(
        [0.05, 0.25, 2.0],
        [2.0, 1.3, 15.0],
        _spring,
        _spring_fails,
        [0.0516890524143, 0.356717531261, 11.2889779771],
    ),
    "vessel-4": _fixed(
        [0.0625, 0.0625, 10.0, 10.0],
        [6.1875, 6.1875, 200.0, 200.0],
        _vessel,
        _vessel_fails,
        [0.7781686413751, 0.3846491626279, 40.3196187241, 200.0],
    ),
    "beam-4": _fixed(
        [0.125, 0.1, 0.1, 0.1],
        [10.0] * 4,
        _beam,
        _beam_fails,
        [0.205729639785, 3.47048866565, 9.03662391001, 0.205729639785],
    ),
    "reducer-7": _fixed(
        [2.6, 0.7, 17.0, 7.3, 7.3, 2.9, 5.0],
        [3.6, 0.8, 28.0, 8.3, 8.3, 3.9, 5.5],
        _reducer,
        _reducer_fails,
        [3.5, 0.7, 17.0, 7.3, 7.715319911478, 3.350214666096, 5.286654464980],
    ),
    **{f"coco-f{number}-{COCO_DIMENSION}": partial(_coco, number) for number in COCO},
}
"""All problems by name; a name and a seed make an instance."""
