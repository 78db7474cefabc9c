"""Functions of COCO's suites, through ``coco-experiment``."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import imported


@dataclass(frozen=True, eq=False)
class OfCoco:
    """A function of a suite; seed s is instance s + 1 of the 15 there are.

    Parameters
    ----------
    problem : cocoex.Problem
    bounds : FloatArray, shape (D, 2)
    optimum : float
    argopt : FloatArray, shape (D,)
    """

    problem: Any
    bounds: FloatArray
    optimum: float
    argopt: FloatArray

    @classmethod
    def instance(cls, suite: str, number: int, dimension: int, name: str, seed: int) -> OfCoco:
        """Return an instance of a function for the problem of this name."""
        cocoex = imported("cocoex", name, "coco-experiment")
        problem = cocoex.Suite(
            suite, "", f"dimensions: {dimension}"
        ).get_problem_by_function_dimension_instance(number, dimension, seed + 1)
        bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
        best = _argopt(problem)
        return cls(problem, bounds, float(problem(best)), best)

    def evaluate(self, x: FloatArray) -> float:
        """Return the value at a point (D,)."""
        return float(self.problem(x))


def _argopt(problem: Any) -> FloatArray:
    """Return the best point (D,), which COCO only writes to a file."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            problem._best_parameter("print")
            (written,) = Path(folder).iterdir()
            return np.loadtxt(written)
        finally:
            os.chdir(before)
