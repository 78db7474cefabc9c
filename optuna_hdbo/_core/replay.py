"""A partition tree as a function of a history: what any process makes of the same trials.

Every trial that a tree asked for carries its node's path. The tree is grown from the root again,
and wherever it asks for a value, the trial of that path answers. What the tree could know at each
of its decisions is fixed by the trials' numbers alone: the history is cut into *epochs*, one per
trial with a path, and the decisions that led to such a trial are made with the observations of
smaller number. So it does not matter who computes when, nor in which order trials end.

What a process remembers between two suggestions are trees that such a replay has led to.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.guide import KEY as FIT
from optuna_hdbo._core.guide import Guide
from optuna_hdbo._core.guide import identity
from optuna_hdbo._core.guide import in_use
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.surrogate import Fitted
from optuna_hdbo._core.tree import ALPHABET
from optuna_hdbo._core.tree import NO_MODEL
from optuna_hdbo._core.tree import Tree
from optuna_hdbo._jit.tree import Model
from optuna_hdbo._jit.tree import Rule


Until = Literal["certain", "assumed", "live"]

KEY = "node"
"""Where a record has its path."""

SAME = 1e-11
"""Points are equal up to this; a value's way to a parameter and back may cost some ulps."""

NEAR = 1e-6
"""A trial is where its record says if it is within this; ranges of few floats are rough."""


def signature(domain: Domain, branching: int) -> int:
    """Return what tells trees of different columns or branchings apart."""
    sizes = [0 if grid is None else len(grid) for grid in domain.grids]
    text = repr((branching, domain.names, sizes, domain.categorical.tolist()))
    return zlib.crc32(text.encode())


def _path(record: Record, tree: int) -> str | None:
    node = record.data.get(KEY)
    if not isinstance(node, dict) or node.get("tree") != tree:
        return None
    path = node.get("path")
    return path if isinstance(path, str) and set(path) <= set(ALPHABET) else None


class _Log:
    """The paths and fits in a history's records.

    Records of finished trials at the beginning are read once; those from the first running trial
    on are read each time.
    """

    def __init__(self, domain: Domain, tree: int, guide: Guide | None) -> None:
        self._domain, self.tree, self._guide = domain, tree, guide
        self._n = 0
        self._last: Record | None = None
        self._owners: dict[str, Record] = {}
        self._recent: dict[str, Record] = {}
        self._numbers = np.empty(64, dtype=np.int64)
        self._n_numbers = 0
        self._fits: dict[Hashable, Fitted] = {}
        self.ticks: IntArray = self._numbers[:0]
        self.fits: dict[Hashable, Fitted] = {}
        self.running: set[int] = set()
        self.repeated: set[str] = set()

    def goes_on_in(self, records: Sequence[Record]) -> bool:
        """Tell whether these records begin with those that have been read."""
        return self._n == 0 or (self._n <= len(records) and records[self._n - 1] is self._last)

    def read(self, records: Sequence[Record]) -> bool:
        """Take in the records; tell whether nothing that was said before is taken back."""
        consistent = True
        self._recent, recent, self.fits = {}, [], dict(self._fits)
        self.running = set()
        for record in records[self._n :]:
            if record.state == "running":
                self.running.add(record.number)
            path = _path(record, self.tree)
            fitted = None if self._guide is None else self._guide.read(record, self._domain)
            if fitted is not None:
                self.fits.setdefault(identity(fitted), fitted)
            if not self.running:
                self._n, self._last = self._n + 1, record
                if fitted is not None:
                    self._fits.setdefault(identity(fitted), fitted)
                if path is not None:
                    self._keep_number(record.number)
                    consistent &= self._own(self._owners, path, record)
            elif path is not None:
                recent.append(record.number)
                self._own(self._recent, path, record)
        self.ticks = self._numbers[: self._n_numbers]
        if recent:
            self.ticks = np.concatenate([self.ticks, recent])
        return consistent

    def _keep_number(self, number: int) -> None:
        if self._n_numbers == len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.empty_like(self._numbers)])
        self._numbers[self._n_numbers] = number
        self._n_numbers += 1

    def _own(self, owners: dict[str, Record], path: str, record: Record) -> bool:
        """Let a record answer for a path, unless another one does better."""
        other = owners.get(path)
        if other is not None:
            self.repeated.add(path)
        if other is None:
            owners[path] = record
        elif _rank(record) > _rank(other):
            owners[path] = record
            return False
        return True

    def owner(self, path: str) -> Record | None:
        """Return the record that answers for a path."""
        found = [o for o in (self._owners.get(path), self._recent.get(path)) if o is not None]
        return max(found, key=_rank) if found else None


def _rank(record: Record) -> int:
    return {"failed": 0, "running": 1}.get(record.state, 2)


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


@dataclass(frozen=True, eq=False)
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
    guide : Guide or None
    """

    rule: Rule
    guide: Guide | None
    _domain: Domain | None = field(default=None, init=False)
    _log: _Log | None = field(default=None, init=False)
    _seen: Observations | None = field(default=None, init=False)
    _ticks: IntArray = field(default_factory=lambda: np.empty(0, np.int64), init=False)
    _fits: dict[Hashable, Fitted] = field(default_factory=dict, init=False)
    _state: _State | None = field(default=None, init=False)
    _assumed: _State | None = field(default=None, init=False)
    _saved: list[_State] = field(default_factory=list, init=False)

    def grow(self, domain: Domain, seen: Observations) -> Grown:
        """Return the tree of a history, up to the first node that nobody has evaluated."""
        log = self._read(domain, seen)
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
        quiet &= len(seen.numbers) == 0 or int(seen.numbers[-1]) < seen.step
        live = settled if quiet else settled.copy()
        run.walk(live, "live")
        fits = log.fits if run.fitted is None else {**log.fits, identity(run.fitted): run.fitted}
        self._state, self._assumed = state, settled if log.running else None
        self._seen, self._ticks, self._fits = seen, log.ticks, log.fits
        if quiet:
            # This holds as soon as the trial of this step has its record.
            self._ticks, self._fits = np.append(log.ticks, seen.step), fits
            state.n_ticks, state.n_rows = len(self._ticks), len(seen.values)
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

    def _read(self, domain: Domain, seen: Observations) -> _Log:
        log = self._log
        same = self._domain is not None and _same_domain(self._domain, domain)
        if log is None or not same or not log.goes_on_in(seen.records):
            log = self._log = _Log(domain, signature(domain, self.rule.branching), self.guide)
            self._domain = domain
            self._forget()
        if not log.read(seen.records):
            self._forget()
        return log

    def _forget(self) -> None:
        self._state = self._assumed = self._seen = None
        self._saved = []

    def _certain(self, seen: Observations, log: _Log, limits: tuple[int, int, int]) -> _State:
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

    def _agreement(self, seen: Observations, log: _Log) -> tuple[int, int, int]:
        """Return how many ticks and rows, and fits to how many rows, are as they were."""
        old = self._seen
        if old is None:
            return 0, 0, 0
        n = min(len(old.values), len(seen.values))
        same = np.ones(n, dtype=np.bool_)
        if not _shares_rows(old, seen):
            same = (old.numbers[:n] == seen.numbers[:n]) & (old.values[:n] == seen.values[:n])
            if same.all():
                same = (old.X[:n] == seen.X[:n]).all(axis=1)
        m = min(len(self._ticks), len(log.ticks))
        changed = self._fits.keys() ^ log.fits.keys()
        n_fitted = min((_n_of(key) for key in changed), default=2**62)
        return _n_true(self._ticks[:m] == log.ticks[:m]), _n_true(same), n_fitted

    @staticmethod
    def _holds(state: _State, seen: Observations, log: _Log, limits: tuple[int, int, int]) -> bool:
        n_ticks, n_rows, n_fitted = limits
        if state.n_ticks > n_ticks or state.n_rows > n_rows or state.n_rows >= n_fitted:
            return False
        if not state.assumed <= log.running:
            return False
        if state.n_ticks == 0:
            return True
        rows = int(np.searchsorted(seen.numbers, log.ticks[state.n_ticks - 1]))
        return rows == state.n_rows

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
    log: _Log
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
        if epoch >= len(self.log.ticks):
            return len(self.seen.values)
        return int(np.searchsorted(self.seen.numbers, self.log.ticks[epoch]))

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
        owner = self.log.owner(path)
        at = n_epochs if owner is None else int(np.searchsorted(self.log.ticks, owner.number))
        value = None if owner is None else self._value(owner, path, x)
        if value is None or value == "elsewhere":
            value, at = _find(self.seen.X[:rows], self.seen.values[:rows], x), n_epochs
            if value is None and state.closed and _find_row(np.array(state.closed), x) >= 0:
                value = "closed"  # another cell of that configuration has been given up
            if value is None and last and _find_row(self.seen.pending, x) >= 0:
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

    def _value(
        self, owner: Record, path: str, x: FloatArray
    ) -> float | Literal["running", "closed", "elsewhere"]:
        """Return what a trial says of its node."""
        if owner.state == "running":
            return "running"
        i = int(np.searchsorted(self.seen.numbers, owner.number))
        if i < len(self.seen.numbers) and self.seen.numbers[i] == owner.number:
            # Parameters that were fixed by hand lead elsewhere.
            if np.abs(self.seen.X[i] - x).max() <= NEAR:
                return float(self.seen.values[i])
            return "closed" if path in self.log.repeated else "elsewhere"
        return "closed"

    def _left_over(self, tree: Tree, rows: int) -> int | None:
        """Return the most promising node that was turned down and that nobody has evaluated."""
        for node in tree.rejected():
            if _find_row(self.seen.X[:rows], tree.point(node)) < 0:
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
        key = None if fitted is None else identity(fitted)
        if self.replay.rule.renew and key != state.fit:
            state.tree.rescore(model)
        state.fit = key
        return model


def _same_domain(a: Domain, b: Domain) -> bool:
    if a is b:
        return True
    same = a.names == b.names and np.array_equal(a.categorical, b.categorical)
    same = same and np.array_equal(a.discrete, b.discrete)
    return same and np.array_equal(a.flat_grids[0], b.flat_grids[0])


def _shares_rows(a: Observations, b: Observations) -> bool:
    """Tell whether both look at the same memory, in which rows are only ever appended."""
    pairs = ((a.X, b.X), (a.values, b.values), (a.numbers, b.numbers))
    return all(p.base is not None and p.base is q.base for p, q in pairs)


def _find_row(X: FloatArray, x: FloatArray) -> int:
    """Return the first row of X (n, D) that is x (D,), or -1."""
    if len(X) == 0:
        return -1
    near = np.flatnonzero(np.abs(X[:, 0] - x[0]) <= SAME)
    if len(near):
        near = near[(np.abs(X[near] - x) <= SAME).all(axis=1)]
    return int(near[0]) if len(near) else -1


def _find(X: FloatArray, values: FloatArray, x: FloatArray) -> Any:
    row = _find_row(X, x)
    return None if row < 0 else float(values[row])


def _n_true(same: Any) -> int:
    """Return how many entries are true before the first that is false."""
    different = np.flatnonzero(~same)
    return int(different[0]) if len(different) else len(same)


def _n_of(key: Any) -> int:
    return int(key[0])
