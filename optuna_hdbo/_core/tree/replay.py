"""A partition tree as a function of a history: what any process makes of the same trials.

Every trial that a tree asked for carries its node's path. The tree is grown from the root again,
and wherever it asks for a value, the trial of that path answers. What the tree could know at each
of its decisions is fixed by the trials' numbers alone: the history is cut into *epochs*, one per
trial with a path, and the decisions that led to such a trial are made with the observations of
smaller number. So it does not matter who computes when, nor in which order trials end.

What a process remembers between two suggestions are trees that such a replay has led to.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.points import RowIndex
from optuna_hdbo._core.points import are_near
from optuna_hdbo._core.points import find_row
from optuna_hdbo._core.tree.log import KEY
from optuna_hdbo._core.tree.log import PathLog
from optuna_hdbo._core.tree.log import signature
from optuna_hdbo._core.tree.nodes import ALPHABET
from optuna_hdbo._core.tree.nodes import NO_MODEL
from optuna_hdbo._core.tree.nodes import Tree
from optuna_hdbo._core.tree.surrogate import KEY as FIT
from optuna_hdbo._core.tree.surrogate import Surrogate
from optuna_hdbo._core.tree.surrogate import in_use
from optuna_hdbo._jit.tree import Model
from optuna_hdbo._jit.tree import Rule


Until = Literal["certain", "assumed", "live"]

NEAR = 1e-6
"""A trial is where its record says if it is within this; ranges of few floats are rough."""


@dataclass(eq=False)
class _State:
    """A tree on its way through the epochs.

    Parameters
    ----------
    tree : Tree
    epoch : int
        Ticks that lie behind.
    node : int or None
        The node that waits for an answer.
    path, x
        Its path and its point (D,).
    left_over : bool
        Whether it was asked for because no cell is left to split.
    n_ticks : int
        Ticks that decisions so far depend on.
    n_rows : int
        Observations that they depend on.
    assumed : frozenset of int
        Running trials whose nodes were left with a bound for a value.
    fit : hashable
        Identity of the fit that bounds come from.
    closed : list of FloatArray, shape (D,)
        Points without a value, where other cells may have the same.
    """

    tree: Tree
    epoch: int = 0
    node: int | None = None
    path: str = ""
    x: FloatArray = field(default_factory=lambda: np.empty(0))
    left_over: bool = False
    n_ticks: int = 0
    n_rows: int = 0
    assumed: frozenset[int] = frozenset()
    fit: Hashable = None
    closed: list[FloatArray] = field(default_factory=list)

    def copy(self) -> _State:
        return replace(self, tree=self.tree.copy())


@dataclass(eq=False)
class Grown:
    """A tree that wants the value of a node.

    Parameters
    ----------
    tree : Tree
    node : int or None
        ``None`` where every cell has been searched.
    x : FloatArray, shape (D,)
        Its point.
    depth : int
    record : dict
        What to keep with the node's trial.
    idle : bool
        Whether no trial is running whose value may change the tree.
    """

    tree: Tree
    node: int | None
    x: FloatArray
    depth: int
    record: dict[str, Any]
    idle: bool


@dataclass(eq=False)
class Replay:
    """Grows the tree of a history; see the module.

    Parameters
    ----------
    rule : Rule
    guide : Surrogate or None
    """

    rule: Rule
    guide: Surrogate | None
    index: RowIndex = field(default_factory=RowIndex, init=False)
    _domain: Domain | None = field(default=None, init=False)
    _log: PathLog | None = field(default=None, init=False)
    _seen: Observations | None = field(default=None, init=False)
    _ticks: IntArray = field(default_factory=lambda: np.empty(0, np.int64), init=False)
    _promised: int | None = field(default=None, init=False)
    _fits: dict[Hashable, Fitted] = field(default_factory=dict, init=False)
    _state: _State | None = field(default=None, init=False)
    _assumed: _State | None = field(default=None, init=False)
    _saved: list[_State] = field(default_factory=list, init=False)

    def grow(self, domain: Domain, seen: Observations) -> Grown:
        """Return the tree of a history, up to the first node that nobody has evaluated."""
        log = self._read(domain, seen)
        self.index.follow(seen.X)
        run = _Run(self, domain, seen, log)
        limits = self._agreement(seen, log)
        state = settled = self._certain(seen, log, limits)
        run.walk(state, "certain")
        self._save(state)
        if log.running:
            assumed = self._assumed
            if assumed is not None and self._holds(assumed, seen, log, limits):
                settled = assumed
            else:
                settled = state.copy()
            run.walk(settled, "assumed")
        quiet = not (log.running or len(seen.pending))
        quiet &= len(seen.numbers) == 0 or seen.numbers.item(-1) < seen.step
        live = settled if quiet else settled.copy()
        run.walk(live, "live")
        fits = log.fits if run.fitted is None else {**log.fits, run.fitted.identity: run.fitted}
        self._state, self._assumed = state, settled if log.running else None
        self._seen, self._ticks, self._fits, self._promised = seen, log.ticks, log.fits, None
        if quiet:
            # This holds as soon as the trial of this step has its record.
            self._promised, self._fits = seen.step, fits
            state.n_ticks, state.n_rows = len(log.ticks) + 1, len(seen.values)
        record = self._record(domain, live, run.fitted)
        return Grown(live.tree, live.node, live.x, len(live.path), record, idle=quiet)

    def _record(self, domain: Domain, live: _State, fitted: Fitted | None) -> dict[str, Any]:
        record: dict[str, Any] = {}
        if live.node is not None:
            assert self._log is not None
            record[KEY] = {"tree": self._log.tree, "path": live.path}
        if fitted is not None:
            record[FIT] = fitted.to_json(domain.names)
        return record

    def _read(self, domain: Domain, seen: Observations) -> PathLog:
        log = self._log
        same = self._domain is not None and self._domain.is_same_as(domain)
        if log is None or not same or not log.goes_on_in(seen.records):
            log = self._log = PathLog(domain, signature(domain, self.rule.branching), self.guide)
            self._domain = domain
            self._forget()
        if not log.read(seen.records):
            self._forget()
        return log

    def _forget(self) -> None:
        self._state = self._assumed = self._seen = None
        self._saved = []

    def _certain(self, seen: Observations, log: PathLog, limits: tuple[int, int, int]) -> _State:
        """Return the furthest remembered state that this history leads to as well."""
        if self._state is not None and self._holds(self._state, seen, log, limits):
            return self._state
        while self._saved:
            saved = self._saved[-1]
            if self._holds(saved, seen, log, limits):
                return saved.copy()
            self._saved.pop()
        assert self._domain is not None
        return _State(Tree(self._domain, self.rule))

    def _agreement(self, seen: Observations, log: PathLog) -> tuple[int, int, int]:
        """Return how many ticks and rows, and fits to how many rows, are as they were."""
        old = self._seen
        if old is None:
            return 0, 0, 0
        n = min(len(old.values), len(seen.values))
        if not old.shares_rows_with(seen):
            same = (old.numbers[:n] == seen.numbers[:n]) & (old.values[:n] == seen.values[:n])
            if same.all():
                same = (old.X[:n] == seen.X[:n]).all(axis=1)
            n = _n_true(same)
        changed = self._fits.keys() ^ log.fits.keys() if self._fits is not log.fits else ()
        n_fitted = min(map(_n_of, changed)) if changed else 2**62
        return self._n_same_ticks(log.ticks), n, n_fitted

    def _n_same_ticks(self, ticks: IntArray) -> int:
        old = self._ticks
        n = min(len(old), len(ticks))
        if not (old.base is not None and old.base is ticks.base):  # else only appended to
            n = _n_true(old[:n] == ticks[:n])
        if n == len(old) < len(ticks) and self._promised is not None:
            n += int(ticks[n] == self._promised)
        return n

    @staticmethod
    def _holds(
        state: _State, seen: Observations, log: PathLog, limits: tuple[int, int, int]
    ) -> bool:
        n_ticks, n_rows, n_fitted = limits
        if state.n_ticks > n_ticks or state.n_rows > n_rows or state.n_rows >= n_fitted:
            return False
        if not state.assumed <= log.running:
            return False
        if state.n_ticks == 0:
            return True
        last = log.ticks.item(state.n_ticks - 1)
        return _place(seen.numbers, last, state.n_rows) == state.n_rows

    def _save(self, state: _State) -> None:
        last = self._saved[-1].n_ticks if self._saved else 0
        if state.n_ticks - last >= max(32, state.n_ticks // 8):
            self._saved = [*self._saved[-2:], state.copy()]


@dataclass(eq=False)
class _Run:
    """One walk of a state through the epochs of a history."""

    replay: Replay
    domain: Domain
    seen: Observations
    log: PathLog
    fitted: Fitted | None = None

    def walk(self, state: _State, until: Until) -> None:
        """Go as far as finished trials answer ("certain"), or running ones too ("assumed").

        Neither leaves the last tick behind; "live" goes on from there to a node without a trial.
        """
        n_epochs = len(self.log.ticks)
        model, of_epoch = NO_MODEL, -1
        while until == "live" or state.epoch < n_epochs:
            rows = self._rows(state.epoch)
            if state.node is None:
                if self.replay.guide is not None and of_epoch != state.epoch:
                    model, of_epoch = self._model(state, rows), state.epoch
                state.node = state.tree.advance(model)
                state.left_over = state.node is None
                if state.node is None:
                    state.node = self._left_over(state.tree, rows)
                if state.node is not None:
                    state.path = state.tree.path(state.node)
                    state.x = state.tree.point(state.node)
            state.n_ticks = max(state.n_ticks, min(state.epoch + 1, n_epochs))
            state.n_rows = max(state.n_rows, rows)
            if not self._answer(state, rows, certain=until == "certain"):
                return

    def _rows(self, epoch: int) -> int:
        """Return how many observations are known in an epoch: those of smaller number."""
        ticks, numbers = self.log.ticks, self.seen.numbers
        if epoch >= len(ticks):
            return len(numbers)
        return _place(numbers, ticks.item(epoch), len(numbers) - 1)

    def _answer(self, state: _State, rows: int, *, certain: bool) -> bool:
        """Give the waiting node its value, or let an epoch pass; False to stop here."""
        tree, node, n_epochs = state.tree, state.node, len(self.log.ticks)
        last = state.epoch >= n_epochs
        if node is None:
            if last:
                return False
            state.epoch += 1
            return True
        x, path = state.x, state.path
        owner = self.log.owner(path) or self._owner_of_centre(path, x)
        # Nearly always the trial of this very epoch.
        at = n_epochs if owner is None else _place(self.log.ticks, owner.number, state.epoch)
        value = None if owner is None else self._value(owner, path, x)
        if value is None or value == "elsewhere":
            row, at = self.replay.index.find(x, rows), n_epochs
            value = None if row < 0 else float(self.seen.values[row])
            if value is None and state.closed and find_row(np.array(state.closed), x) >= 0:
                value = "closed"  # another cell of that configuration has been given up
            if value is None and last and find_row(self.seen.pending, x) >= 0:
                value = "running"
            if value is None and last:
                return False
        elif value == "running" and certain and at <= state.epoch:
            return False
        if value is None or (at > state.epoch and owner is not None and at < n_epochs):
            # Once more with the observations of the next epoch, up to that of the node's trial.
            if not state.left_over:
                tree.retract()
            state.node = None
            state.epoch += 1
            return True
        if value == "running" and owner is not None:
            state.assumed |= {owner.number}
        if not isinstance(value, float) and self.domain.discrete.any():
            state.closed = [*state.closed, x]
        tree.settle(node, value if isinstance(value, float) else None)
        state.node = None
        if at < n_epochs:
            state.epoch = max(state.epoch, at + 1)
        return True

    def _owner_of_centre(self, path: str, x: FloatArray) -> Record | None:
        """Return the trial without a value that was asked for where this node's centre is.

        A middle child has its parent's centre, and is tested by itself where the parent has been
        turned down. But that it was, may have come out only after a trial had got the parent.
        """
        while self.replay.rule.branching == 3 and path.endswith(ALPHABET[1]):
            path = path[:-1]
            owner = self.log.owner(path)
            if owner is not None and self._value(owner, path, x) in ("running", "closed"):
                return owner
        return None

    def _value(
        self, owner: Record, path: str, x: FloatArray
    ) -> float | Literal["running", "closed", "elsewhere"]:
        """Return what a trial says of its node."""
        if owner.state == "running":
            return "running"
        numbers = self.seen.numbers
        i = _place(numbers, owner.number, len(numbers) - 1)
        if i < len(numbers) and numbers.item(i) == owner.number:
            # Parameters that were fixed by hand lead elsewhere.
            if are_near(self.seen.X[i].tolist(), x.tolist(), NEAR):
                return float(self.seen.values[i])
            return "closed" if path in self.log.repeated else "elsewhere"
        return "closed"

    def _left_over(self, tree: Tree, rows: int) -> int | None:
        """Return the most promising node that was turned down and that nobody has evaluated."""
        for node in tree.rejected():
            if self.replay.index.find(tree.point(node), rows) < 0:
                return node
        return None

    def _model(self, state: _State, rows: int) -> Model:
        guide, seen = self.replay.guide, self.seen
        assert guide is not None
        X, values = seen.X[:rows], seen.values[:rows]
        fitted, pending = in_use(self.log.fits.values(), rows), seen.pending[:0]
        if state.epoch >= len(self.log.ticks):
            pending = seen.pending
            new = guide.renewed(self.domain, X, values, fitted)
            if new is not None:
                self.fitted = fitted = new
        model = guide.model(self.domain, X, values, pending, fitted)
        key = None if fitted is None else fitted.identity
        if self.replay.rule.renew and key != state.fit:
            state.tree.rescore(model)
        state.fit = key
        return model


def _place(ascending: IntArray, number: int, guess: int) -> int:
    """Return the index at which a number is among ascending ones, or would be."""
    if 0 <= guess < len(ascending) and ascending.item(guess) == number:
        return guess
    return int(ascending.searchsorted(number))


def _n_true(same: Any) -> int:
    """Return how many entries are true before the first that is false."""
    different = np.flatnonzero(~same)
    return int(different[0]) if len(different) else len(same)


def _n_of(key: Any) -> int:
    return int(key[0])
