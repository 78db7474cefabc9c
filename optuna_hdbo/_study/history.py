"""Trials as observations, read from the study once and kept up to date."""

from __future__ import annotations

import logging
import math
from bisect import insort
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.observations import Records
from optuna_hdbo._core.observations import marked
from optuna_hdbo._core.observations import meet
from optuna_hdbo._core.outputs import are_skewed
from optuna_hdbo._core.outputs import without_penalties
from optuna_hdbo._core.variables.repeats import Repeats
from optuna_hdbo._study.attributes import StoredSuggestion
from optuna_hdbo._study.attributes import chunks_of
from optuna_hdbo._study.attributes import enqueued_params
from optuna_hdbo._study.attributes import is_enqueued
from optuna_hdbo._study.attributes import read_suggestion
from optuna_hdbo._study.attributes import read_trials
from optuna_hdbo._study.attributes import stored_chunks
from optuna_hdbo._study.attributes import study_key
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.values import Constraints
from optuna_hdbo._study.values import Reports
from optuna_hdbo._study.values import has_failed
from optuna_hdbo._study.values import is_violated
from optuna_hdbo._study.values import maximised_values
from optuna_hdbo._study.values import objectives_array
from optuna_hdbo._study.values import signs_of
from optuna_hdbo._study.values import with_penalties_raised
from optuna_hdbo._study.values import without_value
from optuna_hdbo._study.workers import Abandoned
from optuna_hdbo._study.workers import Unsettled
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import State


if TYPE_CHECKING:
    from optuna.study import Study


_logger = logging.getLogger(f"optuna.{__name__}")  # so that Optuna's verbosity holds

_NO_SUGGESTION: tuple[list[Any], None] = ([], None)
_STATES: dict[TrialState, State] = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
}


class History:
    """The observations of one method, read from a study and kept up to date.

    Parameters
    ----------
    method_name : str
        Name of the method whose records are read.
    use_pruned : bool
        Whether pruned trials count as observations.
    """

    def __init__(self, method_name: str, use_pruned: bool) -> None:
        self._method_name = method_name
        self._use_pruned = use_pruned
        self._warned = False
        self._study: object = None
        self._space: SearchSpace | None = None
        self._forget()

    def _forget(self) -> None:
        self.known: Mapping[str, BaseDistribution] = {}
        """Every parameter that a complete trial had, with its latest distribution."""
        self._last: Observations | None = None
        self._n_far = 0
        self._unsettled = Unsettled()
        self._constraints = Constraints()
        self._objectives: dict[int, tuple[float, ...]] = {}  # maximised, where there are several
        self._n_finished = 0  # rows in use of the arrays, by ascending trial number
        self._X = np.empty((0, 0))
        self._values = np.empty(0)
        self._numbers = np.empty(0, dtype=np.int64)
        self._reports = Reports()
        self._failed: dict[int, FloatArray] = {}  # rows of trials without a value, by number
        self._n_violated = 0  # of them those that told so
        self._records: list[Record] = []
        # Suggestions of running trials, with the text that was read: a worker may replace it.
        self._suggestions: dict[int, tuple[list[Any], StoredSuggestion | None]] = {}
        self._outside: set[int] = set()  # trials outside of the present ranges, but close
        self._tried: set[bytes] = set()  # rows of finished trials, whatever became of them
        self._running_or_failed: set[bytes] = set()  # without what is not active
        self.repeats = Repeats()
        self._abandoned = Abandoned()
        self.n_abandoned = 0

    def read(
        self,
        study: Study,
        trial: FrozenTrial,
        space: SearchSpace,
        trials: list[FrozenTrial] | None = None,
    ) -> Observations:
        """Return everything known when ``trial`` asks for a point of ``space``.

        ``trials`` may be given if they have been listed since the last call.
        """
        key = study_key(study)
        trials = read_trials(study) if trials is None else trials
        if key != self._study or not space.has_columns_of(self._space):
            self._study = None
            self._forget()
            self._allocate(16, len(space.domain))
        elif self._is_unchanged(trials, trial.number):
            assert self._last is not None
            return self._last
        # Not valid before all is taken in: an interrupted read starts over the next time.
        self._study, self._space = None, space
        signs = signs_of(study)
        running = []
        for other in self._unsettled.among(trials):
            if other.state.is_finished():
                self._settle(other, space, signs)
            elif other.state == TrialState.RUNNING and other.number != trial.number:
                running.append(other)
        self.n_abandoned = self._abandoned.count(running, self._unsettled.n_listed)
        self._last = self._observations(space, running, trial.number, signs)
        self._study = key
        return self._last

    def _is_unchanged(self, trials: list[FrozenTrial], asking: int) -> bool:
        """Tell whether the asking trial is the only one that may have changed."""
        same = self._last is not None and self._last.step == asking
        known = self._unsettled
        return same and len(trials) == known.n_listed and known.open == {asking}

    def remember(self, trial: FrozenTrial, text: str, suggestion: StoredSuggestion) -> None:
        """Keep a suggestion that has just been written, so that it need not be parsed again."""
        if suggestion.is_as_read():
            self._suggestions[trial.number] = chunks_of(text), suggestion

    @property
    def n_told(self) -> int:
        """Trials with values or violated constraints, 0 while none with a value has a row.

        Those that are far outside of the present ranges have none, but they count: a range that
        changes is no reason to start over.
        """
        return self._n_finished and self._n_finished + self._n_far + self._n_violated

    def is_taken(self, row: FloatArray) -> bool:
        """Tell whether any trial, finished or running when last read, has this row (D,)."""
        key = row.tobytes()
        return key in self._tried or key in self._running_or_failed

    def _settle(self, trial: FrozenTrial, space: SearchSpace, signs: tuple[float, ...]) -> None:
        """Add a trial that will never change again."""
        suggestion = self._latest_suggestion(trial)
        self._abandoned.settle(trial)
        self._suggestions.pop(trial.number, None)
        if suggestion is not None:
            if self._records and self._records[-1].number > trial.number:
                self._records = list(self._records)  # others look at that list's beginning
            self._keep_record(self._records, trial, suggestion)
        row = space.encode(self._params_of(trial, suggestion, space))
        if row is not None:
            self._tried.add(row.tobytes())
            if trial.state == TrialState.COMPLETE:
                self.repeats.add(row, space.lacking(trial.params))
            if self._is_lost(trial):
                self._failed[trial.number] = row
                self._n_violated += is_violated(trial)
                self._constraints.add(trial)
        if trial.state == TrialState.FAIL:
            return
        if row is None and (row := space.extend(trial.params)) is not None:
            if space.is_close(row):
                self._outside.add(trial.number)
            else:
                row, self._n_far = None, self._n_far + 1
        if trial.state == TrialState.COMPLETE and self.known != trial.distributions:
            # Not in place: others keep what they have seen.
            self.known = {**self.known, **trial.distributions}
        told, pruned_at = maximised_values(trial, signs), None
        value = None if told is None else told[0]
        if trial.state == TrialState.PRUNED:
            # Reports are of a single objective.
            pruned_at = trial.last_step if self._use_pruned and len(signs) == 1 else None
            value = None if pruned_at is None else signs[0] * trial.intermediate_values[pruned_at]
        if row is None or value is None or math.isnan(value):
            return
        if trial.intermediate_values:
            self._reports.add(trial.number, trial.intermediate_values, pruned_at)
        self._constraints.add(trial)
        if told is not None and len(signs) > 1:
            self._objectives[trial.number] = told
        self._insert(trial.number, value, row)

    def _is_lost(self, trial: FrozenTrial) -> bool:
        return has_failed(trial) and (self._use_pruned or trial.state == TrialState.FAIL)

    def _allocate(self, n: int, n_columns: int) -> None:
        self._X = np.empty((n, n_columns))
        self._values = np.empty(n)
        self._numbers = np.empty(n, dtype=np.int64)

    def _insert(self, number: int, value: float, row: FloatArray) -> None:
        n = at = self._n_finished
        if n and self._numbers.item(n - 1) > number:
            at = int(self._numbers[:n].searchsorted(number))
        # Rows are only ever appended in place: arrays handed out earlier look at the same memory.
        if at < n or n == len(self._X):
            old = self._X, self._values, self._numbers
            self._allocate(max(2 * n, 16), self._X.shape[1])
            for a, b in zip((self._X, self._values, self._numbers), old, strict=True):
                a[:at], a[at + 1 : n + 1] = b[:at], b[at:n]
        self._X[at], self._values[at], self._numbers[at] = row, value, number
        self._n_finished = n + 1

    def _latest_suggestion(self, trial: FrozenTrial) -> StoredSuggestion | None:
        """Return what a trial's attributes say, parsed only where they have changed."""
        chunks = stored_chunks(trial)
        known, suggestion = self._suggestions.get(trial.number, _NO_SUGGESTION)
        if chunks != known:
            suggestion = self._read_suggestion(trial)
            self._suggestions[trial.number] = chunks, suggestion
        return suggestion

    def _read_suggestion(self, trial: FrozenTrial) -> StoredSuggestion | None:
        try:
            return read_suggestion(trial, self._X.shape[1])
        except ValueError as error:
            self._warn_ignored(trial, error)
            return None

    def _warn_ignored(self, trial: FrozenTrial, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _logger.warning(
                f"The attributes 'hdbo:suggestion:*' of trial {trial.number} are ignored because "
                f"they cannot be understood ({error}). Further ones will be ignored silently."
            )

    def _keep_record(
        self, records: list[Record], trial: FrozenTrial, suggestion: StoredSuggestion
    ) -> None:
        if is_enqueued(trial):  # the method did not choose the point
            return
        if suggestion.method == self._method_name and suggestion.record is not None:
            record = Record(trial.number, _STATES[trial.state], suggestion.record)
            insort(records, record, key=lambda r: r.number)

    def _observations(
        self, space: SearchSpace, running: list[FrozenTrial], step: int, signs: tuple[float, ...]
    ) -> Observations:
        pending = []
        # Copy the list only if records of running trials are added to it.
        records = list(self._records) if running else Records(self._records)
        for trial in running:
            suggestion = self._latest_suggestion(trial)
            row = space.encode(self._params_of(trial, suggestion, space))
            pending += [] if row is None else [row]
            if suggestion is not None:
                assert isinstance(records, list)
                self._keep_record(records, trial, suggestion)
        # Points of the startup have values in all columns, whether their trials run or failed.
        pending = space.canonical(pending)
        failed = dict(zip(self._failed, space.canonical([*self._failed.values()]), strict=True))
        self._running_or_failed = {row.tobytes() for row in (*pending, *failed.values())}
        n = self._n_finished
        pruned = np.zeros(n, dtype=np.bool_)
        numbers, values = self._numbers[:n], self._values[:n]
        if self._reports.pruned:
            from optuna_hdbo._core.models.curves import final_values  # Numba

            pruned[numbers.searchsorted(list(self._reports.pruned))] = True
            reports = signs[0] * self._reports.matrix(numbers)
            values = final_values(space.domain, self._X[:n], values, pruned, reports)
        constraints = self._constraints.of(numbers.tolist())
        feasible = meet(constraints)
        told, values = values, without_penalties(values, feasible)
        objectives = objectives_array(self._objectives, numbers, len(signs))
        X, outside = self._X[:n], marked(numbers, self._outside) if self._outside else None
        if outside is not None and outside.all():
            # The range is another one altogether: the nearest points in it are all there is.
            X, outside = space.domain.snap(X), None
        for array in (X, values, numbers):
            array.setflags(write=False)
        seen = Observations(
            X=X,
            values=values,
            numbers=numbers,
            pruned=pruned,
            pending=np.array(pending).reshape(-1, self._X.shape[1]),
            constraints=constraints,
            records=records,
            step=step,
            sign=signs[0],
            objectives=None if objectives is None else with_penalties_raised(objectives, feasible),
            signs=signs,
            outside=outside,
            skewed=len(signs) == 1 and are_skewed(values),
            told_by_failed=self._constraints.by_number(self._failed.keys()),
        )
        lost = without_value(space.domain, seen, told if objectives is None else objectives)
        return seen.with_failures(space.domain, failed, lost)

    def _params_of(
        self, trial: FrozenTrial, suggestion: StoredSuggestion | None, space: SearchSpace
    ) -> Mapping[str, Any]:
        """Return a trial's parameters, and those that it would have asked for had it not ended.

        A pruned trial with a value gets only those of the latter that all trials have.
        """
        if trial.state == TrialState.COMPLETE:
            return trial.params
        params: dict[str, Any] = {}
        if suggestion is not None:
            try:
                params.update(space.from_json(suggestion.params))
            except ValueError as error:
                self._warn_ignored(trial, error)
        params.update(enqueued_params(trial))
        if trial.state == TrialState.PRUNED and not self._is_lost(trial):
            params = {name: params[name] for name in params if name in space.required}
        return {**params, **trial.params}
