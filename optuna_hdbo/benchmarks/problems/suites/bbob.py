"""The 24 noiseless functions of COCO's BBOB suite (Hansen et al. 2009), through ``ioh``.

They are only reported: no default is tuned on them. Seed s is instance s + 1 of a function.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import imported


DIMENSIONS = (10, 20, 40)
N_FUNCTIONS = 24


def family(dim: int) -> dict[str, Build]:
    """Return the suite in one dimension, by names such as ``bbob-f8-20``."""

    def builder(number: int) -> Build:
        return lambda name, seed: _instance(name, seed, number, dim)

    return {f"bbob-f{number}-{dim}": builder(number) for number in range(1, N_FUNCTIONS + 1)}


def _instance(name: str, seed: int, number: int, dim: int) -> Problem:
    ioh = imported("ioh", name, "ioh")
    function = ioh.get_problem(
        number, instance=seed + 1, dimension=dim, problem_class=ioh.ProblemClass.BBOB
    )

    def evaluate(x: FloatArray) -> float:
        return float(function(x.tolist()))

    return Problem(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=np.tile([-5.0, 5.0], (dim, 1)),
        evaluate=evaluate,
        optimum=float(function.optimum.y),
        argopt=np.array(function.optimum.x),
    )
