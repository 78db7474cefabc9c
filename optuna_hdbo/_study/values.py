"""What trials count as: values of one objective or several, and of pruned trials."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import without_failures
from optuna_hdbo._core.outputs import without_penalties
from optuna_hdbo._core.points import by_chance
from optuna_hdbo._study.attributes import constraints_of
from optuna_hdbo._study.space import SearchSpace


if TYPE_CHECKING:
    from optuna.study import Study


FEWEST_EQUAL = 3
"""Least number of trials with the same values of several objectives, or with a penalty in one of
them, that seem to have failed, and of other trials."""

MOST_STEPS = 64
"""Steps of reports that are told apart. What learns from them costs the cube of their number."""

Target = Callable[[FrozenTrial], float | None]


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
    told: Mapping[int, tuple[float, ...]],
    numbers: IntArray,
    n_objectives: int,
) -> FloatArray | None:
    """Return the values of trials by number, shape (n, k); None for a single objective."""
    if n_objectives == 1:
        return None
    rows = [told[number] for number in numbers.tolist()]
    return np.array(rows, np.float64).reshape(-1, n_objectives)


def with_penalties_raised(values: FloatArray, feasible: BoolArray) -> FloatArray:
    """Return the values (n, k) of several objectives with penalties raised.

    See :func:`without_penalties`. They are if all values of the trial are such, or if all
    penalties of an objective are equal. One of the objectives may span magnitudes.
    """
    raised = np.stack([without_penalties(column, feasible) for column in values.T], axis=1)
    far = raised > values
    alike = (~far | (values == values.min(axis=0, initial=math.inf))).all(axis=0)
    return np.where(far.all(axis=1, keepdims=True) | alike, raised, values)


def without_value(domain: Domain, seen: Observations, told: FloatArray) -> BoolArray:
    """Mark the trials (n,) whose values are no more than signs that they failed.

    ``told`` are the values before penalties were raised, shape (n,), or (n, k) for several
    objectives.
    """
    if seen.objectives is None:
        return by_chance(domain, seen.X, (seen.values > told) | (told == -math.inf))
    penalties = seen.objectives > told
    # One or two in a single objective may be the first ones at an end of the front.
    of_one = penalties & (np.count_nonzero(penalties, axis=0) >= FEWEST_EQUAL)
    far = penalties.all(axis=1) | (of_one | (told == -math.inf)).any(axis=1)
    return not_measured(seen.objectives, far)


def not_measured(Y: FloatArray, penalties: BoolArray) -> BoolArray:
    """Mark the trials (n,) that seem to have failed, by their values Y (n, k).

    Where a simulation fails, many objectives return a penalty, maybe with a time that nothing is
    better than. Or they return the same values every time, such as no accuracy and no time. Then
    failures are on the front, and a search for the front would ask for more of them. There must be
    enough other trials.
    """
    _, which, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    is_worst = np.equal(Y, Y.min(axis=0, initial=math.inf)).any(axis=1)
    equal = is_worst & (counts[which.ravel()] >= FEWEST_EQUAL)
    failed = penalties.copy()
    if equal.any():
        from optuna_hdbo._core.fronts import n_dominating  # Numba

        failed |= equal & (n_dominating(Y, np.ones(len(Y), np.bool_)) == 0)
    return failed & (np.count_nonzero(~failed) >= FEWEST_EQUAL)


class Constraints:
    """The constraints that trials have told."""

    def __init__(self) -> None:
        self._told: dict[int, Mapping[str, float]] = {}  # by trial number
        self._names: set[str] = set()

    def add(self, trial: FrozenTrial) -> None:
        """Take in a trial."""
        if told := constraints_of(trial):
            self._told[trial.number] = told
            self._names.update(told)

    def of(self, numbers: Sequence[int]) -> FloatArray:
        """Return the values of trials, shape (n, C): columns by name, NaN where one has none."""
        if not self._names:
            return np.empty((len(numbers), 0))
        columns = sorted(self._names)
        known = [self._told.get(number, {}) for number in numbers]
        rows = [[one.get(name, math.nan) for name in columns] for one in known]
        return np.array(rows, np.float64).reshape(-1, len(columns))

    def by_number(self, numbers: Collection[int]) -> dict[int, FloatArray]:
        """Return the values (C,) of those of some trials that have told any."""
        told = sorted(self._told.keys() & numbers)
        return dict(zip(told, self.of(told), strict=True))


def has_failed(trial: FrozenTrial) -> bool:
    """Tell whether a trial failed, or was pruned before any report or at a NaN."""
    if trial.state != TrialState.PRUNED:
        return trial.state == TrialState.FAIL
    last = trial.last_step
    return last is None or math.isnan(trial.intermediate_values[last])


def is_violated(trial: FrozenTrial) -> bool:
    """Tell whether a trial has told a constraint that does not hold."""
    return any(value > 0.0 for value in constraints_of(trial).values())


def n_told(trials: Iterable[FrozenTrial], most: int) -> int:
    """Count the trials that have not failed, or told a violated constraint, at most so many.

    There are none as long as all have failed.
    """
    n = n_failed = 0
    for trial in trials:
        if not has_failed(trial):
            n += 1
        elif is_violated(trial):
            n_failed += 1
        if n and n + n_failed >= most:
            break
    return n and n + n_failed


class Reports:
    """What trials reported, at the steps at which some of them were pruned."""

    def __init__(self) -> None:
        # By trial number: steps, ascending, and what was reported at them.
        self._told: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._ends: tuple[list[int], bool] = [], False
        self._rows: dict[int, FloatArray] = {}  # by trial number, at these ends
        self._new: list[int] = []  # trials without a row
        self.pruned: dict[int, int] = {}
        """At which step trials were pruned, by trial number."""

    def add(self, number: int, reported: Mapping[int, float], pruned_at: int | None) -> None:
        """Take in a trial with its reports, and the step at which it was pruned."""
        told = np.array(sorted(reported.items()), np.float64).reshape(-1, 2)
        self._told[number] = told[:, 0], told[:, 1]
        self._new.append(number)
        if pruned_at is not None:
            self.pruned[number] = pruned_at

    def matrix(self, numbers: IntArray) -> FloatArray:
        """Return the reports of trials (n,) by ascending step, shape (n, S); NaN without one.

        Where trials were pruned at many steps, S is :data:`MOST_STEPS`. Then a column has the last
        report since the step before.
        """
        steps = sorted(set(self.pruned.values()))
        if shared := len(steps) > MOST_STEPS:
            gaps = MOST_STEPS - 1
            steps = [steps[-(-i * (len(steps) - 1) // gaps)] for i in range(MOST_STEPS)]
        if self._ends != (steps, shared):  # else rows stay: trials that ended report no more
            self._ends, self._new = (steps, shared), list(self._told)
        if self._new:
            self._rows.update(zip(self._new, self._made(self._new), strict=True))
            self._new = []
        none = np.full(len(steps), math.nan)
        rows = [self._rows.get(number, none) for number in numbers.tolist()]
        return np.concatenate([none[:0], *rows]).reshape(len(rows), len(steps))

    def _made(self, numbers: list[int]) -> FloatArray:
        """Return the rows of trials (n,) with reports, shape (n, S)."""
        at, values = map(np.concatenate, zip(*[self._told[n] for n in numbers], strict=True))
        rows = np.repeat(np.arange(len(numbers)), [len(self._told[n][0]) for n in numbers])
        ends, shared = self._ends
        ends_at = np.array([*ends, math.inf])
        columns = ends_at.searchsorted(at)
        last = np.append((np.diff(rows) != 0) | (np.diff(columns) != 0), True)
        kept = last & (columns < len(ends)) & (shared | (ends_at[columns] == at))
        out = np.full((len(numbers), len(ends)), math.nan)
        out[rows[kept], columns[kept]] = values[kept]
        return out


def observed(
    completed: Sequence[FrozenTrial],
    space: SearchSpace,
    names: Collection[str],
    target: Target | None = None,
    *,
    beyond: bool = False,
) -> tuple[list[FrozenTrial], FloatArray, FloatArray]:
    """Return the trials with a finite value and some parameters, and them as rows of a space.

    Those with a number outside of its range are left out, or have a place ``beyond`` the cube.

    Returns
    -------
    trials : list of FrozenTrial
    X : FloatArray, shape (n, D)
    values : FloatArray, shape (n,)
        In the objective's units, or those of ``target``.
    """
    trials, rows, values = [], [], []
    for trial in completed:
        value = trial.value if target is None else _told(target, trial)
        complete = all(name in trial.params for name in names)
        if complete and value is not None and np.isfinite(value):
            row = space.encode(trial.params)
            if row is None and beyond:
                row = space.extend(trial.params)
            if row is not None:
                trials.append(trial)
                rows.append(row)
                values.append(float(value))
    X = np.array(rows) if rows else np.empty((0, len(space.domain)))
    return trials, X, np.array(values)


def check_target(study: Study, target: Target | None) -> None:
    """Raise ``ValueError`` unless a target is callable, or None for a single objective."""
    if target is None and len(study.directions) > 1:
        raise ValueError(
            "target must be given for a study with several objectives, such as "
            "target=lambda t: t.values[0]."
        )
    if target is not None and not callable(target):
        raise ValueError(
            f"target must be a function of a trial, such as lambda t: t.values[0], or None, but "
            f"got {target!r}."
        )


def _told(target: Target, trial: FrozenTrial) -> float | None:
    """Return what a target says of a trial; ``ValueError`` unless it is a number or None."""
    value = target(trial)
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"target must return a number or None, but returned {value!r} for trial "
            f"{trial.number}. The number of a duration is t.duration.total_seconds()."
        ) from error


def is_feasible(trial: FrozenTrial) -> bool:
    """Tell whether a trial violates no constraint that it has told."""
    return all(value <= 0.0 for value in constraints_of(trial).values())


def are_feasible(trials: Sequence[FrozenTrial]) -> BoolArray:
    """Mark the feasible ones of trials (n,)."""
    return np.array(list(map(is_feasible, trials)), np.bool_)


def maximised(
    study: Study, values: FloatArray, feasible: BoolArray, *, assessed: bool = False
) -> FloatArray:
    """Return objective values (n,), larger is better, with penalties raised.

    Where a study is ``assessed``, these are only those that must be failures.
    """
    raised = without_failures if assessed else without_penalties
    return raised(signs_of(study)[0] * values, feasible)
