"""The completed trials of any sampler as arrays, and their values as models see them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.outputs import without_penalties
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.values import signs_of


if TYPE_CHECKING:
    from optuna.study import Study


Target = Callable[[FrozenTrial], float]


def observed(
    completed: Sequence[FrozenTrial],
    space: SearchSpace,
    distributions: Mapping[str, BaseDistribution],
    target: Target | None = None,
) -> tuple[list[FrozenTrial], FloatArray, FloatArray]:
    """Return the trials with a finite value and all parameters of a space, and them as arrays.

    Returns
    -------
    trials : list of FrozenTrial
    X : FloatArray, shape (n, D)
    values : FloatArray, shape (n,)
        In the objective's units, or those of ``target``.
    """
    trials, rows, values = [], [], []
    for trial in completed:
        value = trial.value if target is None else target(trial)
        complete = distributions.keys() <= trial.params.keys()
        if complete and value is not None and np.isfinite(value):
            row = space.encode(trial.params)
            if row is not None:
                trials.append(trial)
                rows.append(row)
                values.append(float(value))
    X = np.array(rows) if rows else np.empty((0, len(space.domain)))
    return trials, X, np.array(values)


def maximised(study: Study, values: FloatArray) -> FloatArray:
    """Return objective values (n,), larger is better, with penalties raised."""
    return without_penalties(signs_of(study)[0] * values)
