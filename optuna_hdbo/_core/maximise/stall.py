"""Whether a search still makes progress."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray


STALL = 0.02
"""Improvement, in standard deviations of the values, that counts as progress."""


def has_stalled(y: FloatArray, window: int) -> bool:
    """Tell whether the best value ever stayed the same for ``window`` observations in a row."""
    best = np.maximum.accumulate(y)
    start = max(20, window + 1)
    if len(y) < start:
        return False
    progress = best[window:] - best[: len(best) - window]
    return bool((progress[start - window - 1 :] < STALL).any())
