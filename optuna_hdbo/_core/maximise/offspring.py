"""Children of good points: crossover and mutation, as in evolutionary algorithms.

A climb on an acquisition function ends at a bound in many columns, because variances are largest
there. Children stay where good points are in most columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray


STEPS = (0.02, 0.05, 0.1, 0.2)
"""Standard deviations of a child's mutations, in shares of the ranges; one of them per child."""

N_MUTATED = (1.0, 2.0, 4.0)
"""Expected numbers of mutated columns; one of them per child. There is at least one."""


def children(domain: Domain, parents: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return children of random pairs of points (p, D), shape (n, D).

    Each column is that of one of the two parents (Syswerda 1989). A few columns are mutated: by a
    normal step that is reflected at the bounds, or by a random value where they are discrete.
    """
    n_columns = len(domain)
    one, other = (parents[rng.integers(len(parents), size=n)] for _ in range(2))
    child = np.where(rng.random((n, n_columns)) < 0.5, one, other)
    rate = np.array(N_MUTATED)[rng.integers(len(N_MUTATED), size=n)] / n_columns
    mutated = rng.random((n, n_columns)) < rate[:, None]
    mutated[np.arange(n), rng.integers(n_columns, size=n)] = True
    length = np.array(STEPS)[rng.integers(len(STEPS), size=n)]
    moved = child + length[:, None] * rng.standard_normal((n, n_columns))
    moved = np.clip(1.0 - np.abs(1.0 - np.abs(moved)), 0.0, 1.0)
    moved = np.where(domain.discrete, replace(domain, gates={}).sample(rng, n), moved)
    return domain.snap(np.where(mutated, moved, child))
