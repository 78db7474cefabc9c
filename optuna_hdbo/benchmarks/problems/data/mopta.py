"""MOPTA08 (Jones 2008), where its program is at hand: 124 sizes of a car body, 68 constraints.

The program is compiled, and in no package. The environment variable :data:`PATH` names its file.
It reads a size in [0, 1] per line from ``input.txt``. It writes the mass to ``output.txt``, and
then the constraints, which should be at most 0. The objective is that of the paper's appendix E,
mass + 10 sum_i max(0, c_i(x)). Its optimum is not known, so that regrets are distances from 0.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.data.vehicle import PENALTY
from optuna_hdbo.benchmarks.problems.instances import Problem


PATH = "HDBO_MOPTA08"
"""Environment variable with the path of the program."""

N_SIZES, N_CONSTRAINTS = 124, 68


def automobile(name: str, seed: int) -> Problem:
    """Build the minimisation of the penalised mass, which is the same for all seeds."""
    program = Path(os.environ.get(PATH, "")).absolute()
    if not program.is_file():
        raise ValueError(
            f"problem {name} needs the program of MOPTA08, but the environment variable {PATH} is "
            f"{os.environ.get(PATH)!r}. Set it to the path of the program for your system, or use "
            "vehicle-124, which needs no program."
        )

    def penalised(x: FloatArray) -> float:
        mass, *constraints = run(program, x)
        return float(mass + PENALTY * np.maximum(0.0, constraints).sum())

    return Problem(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=np.tile([0.0, 1.0], (N_SIZES, 1)),
        evaluate=penalised,
        optimum=0.0,
        argopt=None,
    )


def run(program: Path, x: FloatArray) -> FloatArray:
    """Return the mass and the constraints of sizes (124,), shape (69,).

    Raises
    ------
    RuntimeError
        Where the program fails or writes something else.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "input.txt").write_text("".join(f"{size!r}\n" for size in x.tolist()))
        done = subprocess.run([program], cwd=folder, stdout=subprocess.DEVNULL, check=False)
        output = Path(folder, "output.txt")
        words = output.read_text().split() if output.is_file() else []
    if done.returncode != 0 or len(words) != 1 + N_CONSTRAINTS:
        raise RuntimeError(
            f"{program} must write {1 + N_CONSTRAINTS} numbers to output.txt, but it wrote "
            f"{len(words)} and ended with code {done.returncode}. Check that {PATH} names the "
            "program of MOPTA08 for this system."
        )
    return np.array(words, np.float64)
