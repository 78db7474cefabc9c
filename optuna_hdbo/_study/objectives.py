"""The values of trials with one objective or several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from optuna.study import StudyDirection

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


def signs_of(study: Study) -> tuple[float, ...]:
    """Return for each objective -1 if it is minimised, else 1."""
    minimised = StudyDirection.MINIMIZE
    return tuple([-1.0 if d == minimised else 1.0 for d in study.directions])


def maximised_values(trial: FrozenTrial, signs: tuple[float, ...]) -> tuple[float, ...] | None:
    """Return a trial's values, larger is better; None unless it has as many as the study.

    Values of several objectives are None if one of them is NaN.
    """
    values = trial.values
    if values is None or len(values) != len(signs):
        return None
    told = tuple([sign * value for sign, value in zip(signs, values, strict=True)])
    return None if len(told) > 1 and any(map(math.isnan, told)) else told


def objectives_array(
    told: Mapping[int, tuple[float, ...]], numbers: IntArray, n_objectives: int
) -> FloatArray | None:
    """Return the values of trials by number, shape (n, k); None for a single objective."""
    if n_objectives == 1:
        return None
    rows = [told[number] for number in numbers.tolist()]
    return np.array(rows, np.float64).reshape(-1, n_objectives)
