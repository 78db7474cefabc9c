"""Test problems, rival samplers, and the commands that compare them.

Run ``python -m optuna_hdbo.benchmarks --help``.
"""

from __future__ import annotations

import os


def use_one_thread() -> None:
    """Make numerical libraries that are not imported yet run on one thread.

    Times per trial are then comparable, and runs side by side do not slow each other down.
    """
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
