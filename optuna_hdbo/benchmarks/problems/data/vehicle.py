"""A design of 124 sizes under 68 constraints, for MOPTA08 of Shen & Kingsford (2023).

MOPTA08 (Jones 2008) is a program of the car industry: the mass of a car body, linear in 124
sizes, under 68 constraints of crash and vibration. It is in no package. This substitute has the
same form and the same objective as in the paper's appendix E, mass + 10 sum_i max(0, c_i(x)).
Every constraint asks that a strength reaches a demand. A strength is a concave function of some
of the sizes: thicker parts are stronger, and the first bit of thickness helps most.

The problem is made backward from its solution. A convex problem's optimum is where the slope of
the mass is a sum of the constraints' slopes with multipliers between 0 and the penalty (and more
where a size is 0). So a solution, binding constraints and multipliers are drawn, and the masses
follow from them.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


PENALTY = 10.0
N_BINDING = 40
PER_CONSTRAINT = 10
"""Sizes that a strength depends on."""

FIRST = 0.05
"""A strength grows with the root of a size plus this."""


def design(dim: int, n_constraints: int) -> Build:
    """Build minimisations of a penalised mass over sizes in [0, 1]."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        weights = np.zeros((n_constraints, dim))
        for row in weights:
            chosen = rng.choice(dim, PER_CONSTRAINT, replace=False)
            row[chosen] = rng.uniform(0.2, 1.0, PER_CONSTRAINT)
        solution = np.where(rng.random(dim) < 0.3, 0.0, rng.uniform(0.1, 0.9, dim))
        binding = np.arange(n_constraints) < N_BINDING
        solution[~(weights[binding] > 0.0).any(axis=0)] = 0.0  # nothing asks for these
        multipliers = np.where(binding, rng.uniform(0.2, 0.8, n_constraints) * PENALTY, 0.0)
        strength = weights @ np.sqrt(solution + FIRST)
        demand = strength - np.where(binding, 0.0, rng.uniform(0.1, 0.5, n_constraints))
        mass = multipliers @ weights * 0.5 / np.sqrt(solution + FIRST)
        mass += np.where(solution == 0.0, rng.uniform(0.5, 3.0, dim), 0.0)

        def penalised(x: FloatArray) -> float:
            missing = demand - weights @ np.sqrt(x + FIRST)
            return float(mass @ x + PENALTY * np.maximum(0.0, missing).sum())

        return Problem(
            name=name,
            seed=seed,
            direction="minimize",
            bounds=np.tile([0.0, 1.0], (dim, 1)),
            evaluate=penalised,
            optimum=float(mass @ solution),
            argopt=solution,
        )

    return build
