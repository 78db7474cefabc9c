"""A tree on its way through the epochs of a history: what it asks for, and what answers."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Literal
from typing import NamedTuple

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.points import SAME
from optuna_hdbo._core.points import RowIndex
from optuna_hdbo._core.points import are_near
from optuna_hdbo._core.tree.log import TreeLog
from optuna_hdbo._core.tree.nodes import NO_MODEL
from optuna_hdbo._core.tree.nodes import Tree
from optuna_hdbo._core.tree.surrogate import Surrogate
from optuna_hdbo._jit.tree import Model


Until = Literal["certain", "assumed", "live"]

Answer = float | Literal["running", "closed"] | None
"""A value, or why there is none: ``None`` where no trial has been at the node's point."""


class Reply(NamedTuple):
    """What is known of a node.

    Parameters
    ----------
    answer : Answer
    path : str or None
        The path whose trials say so, ``None`` where others do.
    number : int
        The trial among them that says so.
    own : bool
        Whether one of them is the trial of the epoch.
    """

    answer: Answer
    path: str | None = None
    number: int = -1
    own: bool = False


@dataclass(eq=False)
class State:
    """A tree on its way through the epochs.

    Parameters
    ----------
    tree : Tree
    epoch : int
        How many epochs are over.
    node : int or None
        The node that waits for an answer.
    path : str
        Its path.
    x : FloatArray, shape (D,)
        Its point.
    row : FloatArray, shape (D,)
        Where a trial at that point is observed.
    left_over : bool
        Whether it is asked for because no cell is left to split.
    last : int
        The tree depends on the entries of trials of at most this number.
    last_row : int
        It depends on the rows of trials of at most this number.
    assumed : set of int
        Running trials whose nodes were left with a bound instead of a value.
    unanswered : set of str
        Paths of trials that left their nodes without a value.
    closed : set of bytes
        Rows of nodes that were left without a value.
    fit : hashable
        Identity of the fit that bounds come from.
    """

    tree: Tree
    epoch: int = 0
    node: int | None = None
    path: str = ""
    x: FloatArray = field(default_factory=lambda: np.empty(0))
    row: FloatArray = field(default_factory=lambda: np.empty(0))
    left_over: bool = False
    last: int = -1
    last_row: int = -1
    assumed: set[int] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    closed: set[bytes] = field(default_factory=set)
    fit: Hashable = None

    def depend_on(self, tick: int) -> None:
        """Note that decisions were made in the epoch of a trial."""
        self.last, self.last_row = max(self.last, tick), max(self.last_row, tick - 1)

    def copy(self) -> State:
        """Return a state that may go another way."""
        return replace(
            self,
            tree=self.tree.copy(),
            assumed=set(self.assumed),
            unanswered=set(self.unanswered),
            closed=set(self.closed),
        )


@dataclass(eq=False)
class Walk:
    """Leads states through the epochs of one history.

    Parameters
    ----------
    domain : Domain
    seen : Observations
    log : TreeLog
        Of the records in ``seen``.
    index : RowIndex
        Of the rows in ``seen``.
    surrogate : Surrogate or None

    Attributes
    ----------
    fitted : Fitted or None
        The fit that was made for the suggestion, if one was due.
    """

    domain: Domain
    seen: Observations
    log: TreeLog
    index: RowIndex
    surrogate: Surrogate | None
    fitted: Fitted | None = field(default=None, init=False)

    def run(self, state: State, until: Until) -> None:
        """Go as far as finished trials answer ("certain"), or running ones too ("assumed").

        Both end with the last epoch that a trial closed; "live" goes on to the first node that
        no trial has.
        """
        n_epochs = len(self.log.ticks)
        model, of_epoch = NO_MODEL, -1
        while until == "live" or state.epoch < n_epochs:
            rows = self._n_rows(state.epoch)
            if state.epoch < n_epochs:
                state.depend_on(self.log.ticks[state.epoch])
            if state.node is None:
                if self.surrogate is not None and of_epoch != state.epoch:
                    model, of_epoch = self._model(state, self.surrogate, rows), state.epoch
                self._request(state, model)
            reply = self._answer(state, rows)
            if reply.answer == "running" and until == "certain":
                return
            if reply.answer is not None:
                self._settle(state, reply)
            elif state.epoch == n_epochs:
                return
            else:
                self._pass(state)

    def _request(self, state: State, model: Model) -> None:
        """Let the tree ask for a node: one that was rejected, if no cell is left to split."""
        state.node = state.tree.advance(model)
        state.left_over = state.node is None
        if state.left_over:
            state.node = state.tree.best_rejected_leaf()
        if state.node is not None:
            state.path, state.x = state.tree.path(state.node), state.tree.point(state.node)
            state.row = self.domain.observed_at(state.x)

    @staticmethod
    def _settle(state: State, reply: Reply) -> None:
        """Give the node that waits its value, or leave it its bound."""
        assert state.node is not None
        value = reply.answer if isinstance(reply.answer, float) else None
        if value is not None:
            state.last_row = max(state.last_row, reply.number)
        else:
            state.closed.add(state.row.tobytes())
            if reply.path is not None:
                state.unanswered.add(reply.path)
                if reply.answer == "running":
                    state.assumed.add(reply.number)
        state.tree.settle(state.node, value)
        state.node = None
        state.epoch += reply.own

    @staticmethod
    def _pass(state: State) -> None:
        """Let an epoch end: the node is tested again with the observations of the next one."""
        if state.node is not None and not state.left_over:
            state.tree.retract()
        state.node = None
        state.epoch += 1

    def _n_rows(self, epoch: int) -> int:
        """Return how many observations are known in an epoch: those of smaller number."""
        ticks, numbers = self.log.ticks, self.seen.numbers
        if epoch >= len(ticks):
            return len(numbers)
        return place_of(ticks[epoch], numbers)

    def _last(self, epoch: int) -> float:
        """Return the number of the trial that closed an epoch, ``inf`` for the present one."""
        ticks = self.log.ticks
        return ticks[epoch] if epoch < len(ticks) else math.inf

    def _answer(self, state: State, rows: int) -> Reply:
        """Return what is known of the node that waits."""
        if state.node is None:
            return Reply(None)
        last = self._last(state.epoch)
        for path in (state.path, *state.tree.origins(state.node, state.path)):
            known = self.log.records(path, last)
            if known and (reply := self._told(known, path, state.row, last)).answer is not None:
                return reply
        found = self.index.find(state.row, rows)
        if found >= 0:
            return Reply(float(self.seen.values[found]))
        key = state.row.tobytes()
        if key in state.closed or self._failed.get(key, math.inf) < last:  # another node's point
            return Reply("closed")
        if last == math.inf:
            row = state.row.tolist()
            if any(are_near(x, row, SAME) for x in self.seen.pending.tolist()):
                return Reply("running")
        return Reply(None)

    @cached_property
    def _failed(self) -> dict[bytes, int]:
        """The first trial that failed at a row, by the row's bytes."""
        failures = self.seen.failures
        if failures is None:
            return {}
        rows = zip(failures.X[::-1], failures.numbers[::-1].tolist(), strict=True)
        return {row.tobytes(): number for row, number in rows}

    def _told(self, known: list[Record], path: str, row: FloatArray, last: float) -> Reply:
        """Return what the trials of a path say of its node, which is at a row (D,)."""
        own = known[-1].number == last
        first = self._value(known[0], row)
        if isinstance(first, float):  # as nearly always
            return Reply(first, path, known[0].number, own)
        answers = [first, *(self._value(record, row) for record in known[1:])]
        if "running" in answers or "closed" in answers:  # it may have been tried again since
            known = self.log.records(path, math.inf)
            answers = [self._value(record, row) for record in known]
        for record, answer in zip(known, answers, strict=True):
            if isinstance(answer, float):
                return Reply(answer, path, record.number, own)
        unanswered: tuple[Answer, ...] = ("running", "closed")
        for answer in unanswered:
            if answer in answers:
                return Reply(answer, path, known[answers.index(answer)].number, own)
        # Fixed parameters led the trial elsewhere. A node is tried twice at most.
        return Reply("closed" if len(answers) > 1 else None, path, known[-1].number, own)

    def _value(self, record: Record, row: FloatArray) -> Answer:
        """Return what one trial says of a node at a row (D,)."""
        if record.state == "running":
            return "running"
        numbers = self.seen.numbers
        i = place_of(record.number, numbers)
        if i < len(numbers) and numbers.item(i) == record.number:
            is_there = are_near(self.seen.X[i].tolist(), row.tolist(), SAME)
            return float(self.seen.values[i]) if is_there else None
        return "closed"

    def _model(self, state: State, surrogate: Surrogate, rows: int) -> Model:
        seen = self.seen
        X, values, pending = seen.X[:rows], seen.values[:rows], seen.pending[:0]
        fitted = self.log.fit(rows, self._last(state.epoch))
        if state.epoch == len(self.log.ticks):
            pending = seen.pending
            new = surrogate.renewed(self.domain, X, values, fitted)
            if new is not None:
                self.fitted = fitted = new
        model = surrogate.model(self.domain, X, values, pending, fitted)
        key = None if fitted is None else fitted.identity
        if state.tree.rule.renew and key != state.fit:
            state.tree.rescore(model)
        state.fit = key
        return model


def place_of(number: int, ascending: IntArray) -> int:
    """Return the index at which a number is among ascending ones, or would be."""
    last = len(ascending) - 1
    if last >= 0 and ascending.item(last) == number:  # as nearly always
        return last
    return int(ascending.searchsorted(number))
