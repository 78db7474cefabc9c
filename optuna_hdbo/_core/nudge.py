"""A point beside another one, for whoever must not evaluate the same point twice."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray


STEPS = (1e-3, 0.3)
"""Smallest and largest step, as a share of a column."""

N_TRIES = 20


def nudged(
    domain: Domain,
    x: FloatArray,
    is_taken: Callable[[FloatArray], bool],
    rng: np.random.Generator,
) -> FloatArray:
    """Return a point beside x (D,) that is not taken; x itself if there is none to be found.

    All continuous columns move by a step of a random order of magnitude: a small one stays where
    x promised something, and a large one leaves a region in which every trial fails.
    """
    moved = ~domain.discrete
    if not moved.any():
        return x
    for _ in range(N_TRIES):
        low, high = map(math.log, STEPS)
        step = math.exp(rng.uniform(low, high)) * rng.standard_normal(len(x))
        # Off a bound, not along it: |t| and its mirror image at 1 keep points inside.
        inside = 1.0 - np.abs(1.0 - np.abs(x + step))
        near = np.where(moved, np.clip(inside, 0.0, 1.0), x)
        if not is_taken(near):
            return near
    return x
