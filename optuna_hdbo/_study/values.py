"""What trials count as: values of one objective or several, and of pruned trials."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.outputs import without_penalties
from optuna_hdbo._study.space import SearchSpace


if TYPE_CHECKING:
    from optuna.study import Study


Target = Callable[[FrozenTrial], float]


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
    """Return the values of trials by number, shape (n, k); None for a single objective.

    Penalties are raised, see :func:`without_penalties`.
    """
    if n_objectives == 1:
        return None
    rows = [told[number] for number in numbers.tolist()]
    columns = np.array(rows, np.float64).reshape(-1, n_objectives).T
    return np.stack([without_penalties(column) for column in columns], axis=1)


def constraints_array(
    told: Mapping[int, Mapping[str, float]], names: Collection[str], numbers: IntArray
) -> FloatArray:
    """Return constraint values, shape (n, C): columns by name, NaN where a trial has none."""
    columns = sorted(names)
    if not columns:
        return np.empty((len(numbers), 0))
    known = [told.get(number, {}) for number in numbers.tolist()]
    return np.array([[one.get(name, math.nan) for name in columns] for one in known])


def has_failed(trial: FrozenTrial) -> bool:
    """Tell whether a trial failed, or was pruned before any report or at a NaN."""
    if trial.state != TrialState.PRUNED:
        return trial.state == TrialState.FAIL
    last = trial.last_step
    return last is None or math.isnan(trial.intermediate_values[last])


class PrunedValues:
    """Estimates of the values that pruned trials would have had, from completed trials.

    A pruned trial that last reported v at step s counts as v plus the median change of completed
    trials from s to their end (0 if none of them reported at s). It never counts as better than
    the median completed trial, because the pruner found it not worth going on. A limit at
    the worst completed trial would be set by a single outlier. Without completed trials, v counts.
    """

    def __init__(self) -> None:
        self._completed: list[tuple[Mapping[int, float], float]] = []
        self._by_step: dict[int, list[float]] = {}
        self._finals: list[float] = []  # ascending

    def add_completed(self, reported: Mapping[int, float], value: float) -> None:
        """Take in a completed trial, unless its value is infinite."""
        if not math.isfinite(value):
            return
        insort(self._finals, value)
        if reported:
            self._completed.append((reported, value))
        for step, changes in self._by_step.items():
            self._insert(changes, reported.get(step), value)

    @staticmethod
    def _insert(changes: list[float], reported: float | None, value: float) -> None:
        if reported is not None and math.isfinite(value - reported):
            insort(changes, value - reported)

    def final_value(self, step: int, value: float) -> float:
        """Return the value that a trial pruned at a step counts as."""
        if step not in self._by_step:
            # Changes are kept only for steps at which a trial was pruned.
            changes: list[float] = []
            for reported, final in self._completed:
                self._insert(changes, reported.get(step), final)
            self._by_step[step] = changes
        changes = self._by_step[step]
        half = len(changes) // 2
        if not changes:
            change = 0.0
        elif len(changes) % 2:
            change = changes[half]
        else:
            change = changes[half - 1] / 2 + changes[half] / 2
        median = self._finals[(len(self._finals) - 1) // 2] if self._finals else math.inf
        return min(value + change, median)


def observed(
    completed: Sequence[FrozenTrial],
    space: SearchSpace,
    names: Collection[str],
    target: Target | None = None,
) -> tuple[list[FrozenTrial], FloatArray, FloatArray]:
    """Return the trials with a finite value and some parameters, and them as rows of a space.

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
        complete = all(name in trial.params for name in names)
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
