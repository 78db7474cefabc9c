"""A partition tree as a function of a history: what any process makes of the same trials.

Every trial that a tree asked for carries its node's path. The tree is grown from the root again,
and wherever it asks for a value, the trial of that path answers. What the tree could know at each
of its decisions is fixed by the trials' numbers alone. The history is cut into *epochs*, one per
trial with a path. The decisions that led to such a trial are made with the observations and the
paths of trials of smaller number. So all processes grow the same tree, in whatever order trials
end.

A process keeps the trees that replays have led to until something that they depend on changes.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.points import RowIndex
from optuna_hdbo._core.streams import Streams
from optuna_hdbo._core.tree.log import KEY
from optuna_hdbo._core.tree.log import Entry
from optuna_hdbo._core.tree.log import TreeLog
from optuna_hdbo._core.tree.nodes import Tree
from optuna_hdbo._core.tree.surrogate import KEY as FIT
from optuna_hdbo._core.tree.surrogate import Surrogate
from optuna_hdbo._core.tree.walk import State
from optuna_hdbo._core.tree.walk import Walk
from optuna_hdbo._jit.tree import Rule


_logger = logging.getLogger(f"optuna.{__name__}")  # so that Optuna's verbosity holds

N_SAVED = 3
"""States that are kept for histories that change in their middle."""


@dataclass(eq=False)
class Grown:
    """A tree that needs the value of a node.

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
class _Memory:
    """What is kept between two suggestions.

    Parameters
    ----------
    domain : Domain
    log : TreeLog
    index : RowIndex
    seen : Observations or None
        The history of the last suggestion.
    certain, assumed : State or None
        Where the replay ended: before the first running trial, and with running trials closed.
    saved : list of State
        Earlier states, the latest last.
    promised : Entry or None
        What the record of the last suggestion's trial brings.
    """

    domain: Domain
    log: TreeLog
    index: RowIndex = field(default_factory=RowIndex)
    seen: Observations | None = None
    certain: State | None = None
    assumed: State | None = None
    saved: list[State] = field(default_factory=list)
    promised: Entry | None = None

    def read(self, seen: Observations) -> None:
        """Take in a history and forget the states that it does not lead to."""
        entries, paths = self.log.read(seen.records, self.promised)
        rows = math.inf if self.seen is None else _first_changed_row(self.seen, seen)

        def holds(state: State) -> bool:
            return (
                state.last < entries
                and state.last_row < rows
                and state.unanswered.isdisjoint(paths)
                and state.assumed <= self.log.running
            )

        self.certain = self.certain if self.certain and holds(self.certain) else None
        self.assumed = self.assumed if self.assumed and holds(self.assumed) else None
        while self.saved and not holds(self.saved[-1]):  # each depends on all that older ones do
            self.saved = self.saved[:-1]
        self.index.follow(seen.X)
        self.seen, self.promised = seen, None

    def start(self, rule: Rule) -> State:
        """Return the furthest state that the history leads to."""
        if self.certain is not None:
            return self.certain
        if self.saved:
            return self.saved[-1].copy()
        return State(Tree(self.domain, rule))

    def save(self, state: State) -> None:
        """Keep a copy of a state if it is far from the last one."""
        last = self.saved[-1].epoch if self.saved else 0
        if state.epoch - last >= max(32, state.epoch // 8):
            self.saved = [*self.saved[1 - N_SAVED :], state.copy()]


@dataclass(eq=False)
class Replay:
    """Grows the tree of a history; see the module."""

    rule: Rule
    surrogate: Surrogate | None
    _memory: _Memory | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, Any]:
        # Everything in the memory can be read from the history again.
        return {**self.__dict__, "_memory": None}

    def grow(self, domain: Domain, seen: Observations) -> Grown:
        """Return the tree of a history, up to the first node that nobody has evaluated."""
        memory = self._recall(domain, seen)
        log = memory.log
        walk = Walk(domain, seen, log, memory.index, self.surrogate)
        certain = settled = memory.start(self.rule)
        walk.run(certain, "certain")
        memory.save(certain)
        if log.running:
            settled = memory.assumed if memory.assumed is not None else certain.copy()
            walk.run(settled, "assumed")
        idle = not (log.running or len(seen.pending))
        newest = seen.numbers.item(-1) if len(seen.numbers) else -1
        quiet = idle and log.latest < seen.step and newest < seen.step
        live = settled if quiet else settled.copy()
        walk.run(live, "live")
        memory.certain, memory.assumed = certain, settled if log.running else None
        if quiet:
            # What the tree knew now is what it is to know when this trial has its record.
            live.depend_on(seen.step)
            memory.promised = _promise(live, walk.fitted, seen.step)
        self._memory = memory
        record: dict[str, Any] = {}
        if live.node is not None:
            record[KEY] = {"tree": log.tree, "path": live.path}
        if walk.fitted is not None:
            record[FIT] = walk.fitted.to_json(domain.names)
        return Grown(live.tree, live.node, live.x, len(live.path), record, idle)

    def _recall(self, domain: Domain, seen: Observations) -> _Memory:
        """Return what is remembered of the beginning of this history."""
        # Not in its place until all is done: an interrupted replay leaves nothing behind.
        memory, self._memory = self._memory, None
        if memory is not None:
            same = memory.domain.is_same_as(domain)
            if not (same and memory.log.goes_on_in(seen.records)):
                memory = None
        if memory is None:
            memory = _Memory(domain, TreeLog(domain, self.rule.branching, self.surrogate))
        memory.read(seen)
        return memory


def _promise(live: State, fitted: Fitted | None, step: int) -> Entry | None:
    """Return what a suggestion's record will bring, ``None`` for nothing."""
    if live.node is None and fitted is None:
        return None
    fit: Hashable = None if fitted is None else fitted.identity
    return Entry(step, None if live.node is None else live.path, fit)


def _first_changed_row(old: Observations, new: Observations) -> float:
    """Return the smallest number of a trial whose row, value or failure changed, or ``inf``."""
    n = min(len(old.values), len(new.values))
    if not old.shares_rows_with(new):
        same = (old.numbers[:n] == new.numbers[:n]) & (old.values[:n] == new.values[:n])
        if same.all():
            same = (old.X[:n] == new.X[:n]).all(axis=1)
        different = np.flatnonzero(~same)
        n = int(different[0]) if len(different) else n
    changed = {seen.numbers.item(n) for seen in (old, new) if n < len(seen.values)}
    failed = [
        set() if seen.failures is None else {*seen.failures.numbers.tolist()}
        for seen in (old, new)
    ]
    return min(changed | (failed[0] ^ failed[1]), default=math.inf)


@dataclass(eq=False)
class TreeSearch:
    """Asks a replayed tree for its next node, and does without one where nothing is left.

    Its random stream and the log have the ``name`` of the method. Once ``quiet``, it does not say
    that nothing is left: a portfolio has other experts, and the user did not choose this one.
    """

    name: str
    replay: Replay
    quiet: bool = False

    def next(
        self, domain: Domain, seen: Observations, streams: Streams
    ) -> tuple[FloatArray, dict[str, Any], dict[str, float]]:
        """Return the next point (D,), and what to record and to report with it."""
        grown = self.replay.grow(domain, seen)
        tree = grown.tree
        report = {"nodes": float(len(tree))}
        if self.replay.surrogate is not None:
            report["rejected_nodes"] = float(tree.n_rejected)
        if grown.node is not None:
            report["depth"] = float(grown.depth)
            return grown.x.copy(), grown.record, report
        if grown.idle and not self.quiet:
            self.quiet = True
            _logger.warning(
                f"The tree of {self.name} has no cell left to split: every configuration of the "
                f"search space is known. From trial {seen.step} on, known ones are repeated."
            )
        rng = streams.generator(self.name, seen.step)
        return _unlike(domain.sample(rng, 64), seen.pending), grown.record, report


def _unlike(X: FloatArray, taken: FloatArray) -> FloatArray:
    """Return the first row of X that is not among ``taken``, or the first one."""
    free = ~(X[:, None, :] == taken[None, :, :]).all(axis=2).any(axis=1)
    return np.array(X[int(np.argmax(free))])
