"""A kept replay against one that begins anew, after everything that may happen to a history."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import THOROUGH
from histories import Ledger
from histories import affordable
from histories import bowl
from histories import make_domain

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.observations import State
from optuna_hdbo._core.tree.log import Entry
from optuna_hdbo._core.tree.log import TreeLog
from optuna_hdbo._core.tree.nodes import Rule
from optuna_hdbo._core.tree.nodes import Tree
from optuna_hdbo._core.tree.replay import Grown
from optuna_hdbo._core.tree.replay import Replay
from optuna_hdbo._core.tree.surrogate import Surrogate


SOO_RULE = Rule(branching=3, exponent=0.5)
RULES = {
    "soo": (SOO_RULE, False),
    "soo in two": (SOO_RULE._replace(branching=2), False),
    "bamsoo": (Rule(3, 0.7, width=0.5, patience=300, renew=True, explore=2), True),
    "published": (Rule(2, 0.5, eta=0.05, width=-1.0, penalty=-1.0, patience=10_000), True),
}
every_rule = pytest.mark.parametrize("name", list(RULES))
SPACES = {
    "continuous": make_domain(None, None),
    "mixed": DOMAINS["mixed"],
    "finite": make_domain(3, "4", 2),
    "steps": make_domain(5000, None),
}


def make_replay(name: str) -> Replay:
    rule, modelled = RULES[name]
    return Replay(rule, Surrogate("matern52") if modelled else None)


def outcome(grown: Grown) -> tuple[Any, ...]:
    x = grown.x.tolist() if grown.node is not None else None
    return x, grown.record, grown.idle, len(grown.tree), grown.tree.n_rejected


class Study:
    """Trials that are asked for by a kept replay, and by one that begins anew each time."""

    def __init__(self, domain: Domain, name: str, seed: int) -> None:
        self.domain, self.name = domain, name
        self.kept = make_replay(name)
        self.rng = np.random.default_rng(seed)
        self.step = 0
        self.late: list[int] = []  # trials that have a number and have not asked yet
        self.rows: dict[int, tuple[np.ndarray, float]] = {}
        self.records: dict[int, Record] = {}
        self.running: dict[int, np.ndarray] = {}
        self.failed: dict[int, np.ndarray] = {}
        self.add(domain.sample(self.rng, 1)[0])

    def add(self, x: np.ndarray) -> None:
        """Add a trial from elsewhere."""
        self.rows[self.step] = x, bowl(x)
        self.step += 1

    def seen(self, step: int | None = None) -> Observations:
        numbers = sorted(self.rows)
        pending = np.array(list(self.running.values())).reshape(-1, len(self.domain))
        seen = Observations.from_arrays(
            np.array([self.rows[i][0] for i in numbers]),
            np.array([self.rows[i][1] for i in numbers]),
            pending=pending,
            records=[self.records[i] for i in sorted(self.records)],
            step=self.step if step is None else step,
        )
        return replace(seen, numbers=np.array(numbers, dtype=np.int64))

    def ask(self) -> int:
        """Compare both, and begin a trial; return its number."""
        number = self.step
        if self.late and self.rng.random() < 0.5:
            number = self.late.pop()
        seen = self.seen(number)
        grown = self.kept.grow(self.domain, seen)
        fresh = make_replay(self.name).grow(self.domain, seen)
        assert outcome(grown) == outcome(fresh), number
        x = self.domain.sample(self.rng, 1)[0] if grown.node is None else grown.x.copy()
        if grown.record:
            self._record(number, "running", json.loads(json.dumps(grown.record)))
        self.running[number] = x
        self.step += number == self.step
        return number

    def _record(self, number: int, state: State, data: Any = None) -> None:
        if number in self.records or data is not None:
            data = self.records[number].data if data is None else data
            self.records[number] = Record(number, state, data)

    def end(self, number: int, how: str = "complete") -> None:
        x = self.running.pop(number)
        if how == "elsewhere":
            x = self.domain.sample(self.rng, 1)[0]
        if how in ("complete", "elsewhere"):
            self.rows[number] = x, bowl(x)
        self._record(number, "failed" if how == "failed" else "complete")
        if how == "failed" and number in self.records:
            self.failed[number] = x

    def retry(self) -> None:
        """Begin a trial with all that a failed one had."""
        number = int(self.rng.choice(list(self.failed)))
        self.running[self.step] = self.failed.pop(number)
        self._record(self.step, "running", self.records[number].data)
        self.step += 1

    def revalue(self) -> None:
        """Change a value, as that of a pruned trial changes when others end."""
        number = int(self.rng.choice(list(self.rows)))
        x, value = self.rows[number]
        self.rows[number] = x, value + float(self.rng.normal())


ENDS = ["complete"] * 6 + ["elsewhere", "failed", "failed", "no row"]


@every_rule
@pytest.mark.parametrize("space", list(SPACES))
@pytest.mark.parametrize("workers", [1, 4] if THOROUGH else [4])
def test_a_kept_replay_is_a_fresh_one(name: str, space: str, workers: int) -> None:
    study = Study(SPACES[space], name, workers)
    for _ in range(affordable(22, 6)):
        study.ask()
        event = study.rng.random()
        if event < 0.05:
            study.revalue()
        elif event < 0.15:
            study.add(study.domain.sample(study.rng, 1)[0])
        elif event < 0.3 and study.failed:
            study.retry()
        elif event < 0.4:
            study.late.append(study.step)
            study.step += 1
        elif event < 0.43:
            study.kept = pickle.loads(pickle.dumps(study.kept))
        while len(study.running) >= workers:
            study.end(int(study.rng.choice(list(study.running))), str(study.rng.choice(ENDS)))


@every_rule
@pytest.mark.parametrize("how", sorted(set(ENDS)))
@pytest.mark.parametrize("space", ["continuous", "steps"] if THOROUGH else ["steps"])
def test_every_end_of_the_first_nodes_trial(name: str, how: str, space: str) -> None:
    """The trial of the root misses it, or leaves it without a value; then everything goes on."""
    study = Study(SPACES[space], name, 0)
    for i in range(affordable(10, 6)):
        study.end(study.ask(), how if i < 3 else "complete")


@every_rule
@pytest.mark.parametrize("alone", [True, False])
def test_the_latest_value_may_change(name: str, alone: bool) -> None:
    study = Study(SPACES["continuous"], name, 0)
    if not alone:  # a trial from elsewhere never ends
        study.running[study.step] = np.array([0.9, 0.9])
        study.step += 1
    for _ in range(affordable(8, 5)):
        first = study.ask()
        study.end(first)
        second = study.ask()
        study.rows[first] = study.rows[first][0], float(study.rng.normal())
        study.end(second)


@every_rule
@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_failed_trial_that_is_tried_again_counts_after_all(name: str, after: int) -> None:
    study = Study(SPACES["continuous"], name, 0)
    study.end(study.ask(), "failed")
    for _ in range(after):
        study.end(study.ask())
    study.retry()
    for number in (study.step - 1, study.ask(), study.ask()):
        study.end(number)
    grown = study.kept.grow(study.domain, study.seen())
    assert grown.tree.nodes.score[0] == bowl(np.array([0.5, 0.5]))


def test_a_node_that_was_missed_is_asked_for_once_more() -> None:
    study = Study(SPACES["continuous"], "soo", 0)
    for how in ("elsewhere", "elsewhere", "complete"):
        study.end(study.ask(), how)
    paths = [record.data["node"]["path"] for record in study.records.values()]
    assert paths == ["", "", "0"]


@every_rule
def test_a_kept_replay_does_its_work_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settled = []
    settle = Tree.settle
    monkeypatch.setattr(
        Tree, "settle", lambda self, *args: (settled.append(1), settle(self, *args))[1]
    )
    ledger, replay = Ledger.started(make_domain(None, 5000), 1), make_replay(name)
    n = affordable(80, 12)
    for _ in range(n):
        grown = replay.grow(ledger.domain, ledger.seen())
        ledger.records.append(Record(len(ledger.X), "complete", grown.record))
        ledger.observe(grown.x)
    assert len(settled) == n - 1


@every_rule
def test_a_trial_may_ask_when_later_ones_have_ended(name: str) -> None:
    study = Study(SPACES["continuous"], name, 0)
    for _ in range(affordable(8, 3)):
        study.end(study.ask())
        number = study.step
        study.step += 1
        study.add(np.array([0.4, 0.41]))
        study.step, step = number, study.step
        study.end(study.ask())
        study.step = step


def test_what_is_asked_twice_is_answered_equally() -> None:
    """A sampler asks again where another worker has published the same point."""
    study = Study(SPACES["mixed"], "bamsoo", 3)
    for _ in range(affordable(10, 4)):
        seen = study.seen()
        first = study.kept.grow(study.domain, seen)
        assert outcome(first) == outcome(study.kept.grow(study.domain, seen))
        study.end(study.ask())


@pytest.mark.parametrize(
    ("where", "nth"),
    [((Surrogate, "model"), 0), ((Surrogate, "read"), 2), ((Tree, "settle"), 0)],
    ids=["model", "read", "settle"],
)
def test_an_interrupted_replay_leaves_nothing_behind(
    where: tuple[type, str], nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(SPACES["continuous"], "bamsoo", 0)
    for _ in range(affordable(12, 5)):
        study.end(study.ask())
    for number in [study.ask(), study.ask(), study.ask()]:
        study.end(number)
    original, calls = getattr(*where), []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        done = original(*args, **kwargs)
        calls.append(1)
        if len(calls) == nth + 1:
            raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patched:
        patched.setattr(*where, interrupted)
        if where[1] == "read":
            study.kept = make_replay("bamsoo")
        with pytest.raises(KeyboardInterrupt):
            study.kept.grow(study.domain, study.seen())
    for _ in range(affordable(5, 2)):
        study.end(study.ask())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_carry_no_memory(duplicate: Callable[[Replay], Replay]) -> None:
    study = Study(SPACES["finite"], "soo", 0)
    for _ in range(5):
        study.end(study.ask())
    small = len(pickle.dumps(make_replay("soo")))
    assert len(pickle.dumps(duplicate(study.kept))) == small


@pytest.mark.skipif(INTERPRETED, reason="is about long studies")
def test_a_change_in_the_middle_does_not_cost_the_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settled = []
    settle = Tree.settle
    study = Study(SPACES["continuous"], "soo", 0)
    for _ in range(150):
        study.end(study.ask())
    last = max(study.rows)
    x, value = study.rows[last]
    study.rows[last] = x, value - 1.0
    monkeypatch.setattr(
        Tree, "settle", lambda self, *args: (settled.append(1), settle(self, *args))[1]
    )
    study.kept.grow(study.domain, study.seen())
    assert 0 < len(settled) < 50


# the log -----------------------------------------------------------------------------------------


def make_record(log: TreeLog, number: int, path: str | None, state: State = "complete") -> Record:
    data: dict[str, Any] = {} if path is None else {"node": {"tree": log.tree, "path": path}}
    return Record(number, state, data)


def make_log(n_columns: int = 2) -> TreeLog:
    return TreeLog(make_domain(*[None] * n_columns), 3, None)


def test_a_log_tells_what_is_new() -> None:
    log = make_log()
    records = [make_record(log, 1, ""), make_record(log, 2, "0")]
    assert log.read(records, None) == (1, {"", "0"})
    assert log.read(records, None) == (math.inf, frozenset())
    records.append(make_record(log, 4, "2"))
    assert log.read(records, None) == (4, {"2"})
    assert log.ticks == [1, 2, 4]
    assert log.latest == 4


def test_a_promise_is_kept_or_not() -> None:
    for path, number in (("2", math.inf), ("0", 7), (None, 7)):
        log = make_log()
        log.read([make_record(log, 1, "")], None)
        records = [make_record(log, 1, ""), make_record(log, 7, path)]
        log._last = records[0]
        assert log.goes_on_in(records)
        changed, _ = log.read(records, Entry(7, "2", None))
        assert changed == number
    log = make_log()
    assert log.read([], Entry(7, "2", None)) == (7, frozenset())


def test_a_record_that_comes_late_is_a_change_from_its_number_on() -> None:
    log = make_log()
    early = make_record(log, 1, "")
    running, after = make_record(log, 3, "0", "running"), make_record(log, 5, "2")
    log.read([early, running, after], None)
    assert log.running == {3}
    assert log.ticks == [1, 3, 5]
    late = make_record(log, 4, "00", "running")
    assert log.goes_on_in([early, running, late, after])
    assert log.read([early, running, late, after], None) == (4, {"00"})
    assert log.ticks == [1, 3, 4, 5]
    # That a trial has ended is no change: its value is one of the rows.
    done = replace(running, state="complete")
    assert log.read([early, done, late, after], None) == (math.inf, frozenset())


def test_paths_are_those_of_this_tree() -> None:
    log, other = make_log(), make_log(3)
    strange: list[Any] = [None, 3, "", {"tree": log.tree}, {"tree": log.tree, "path": "013"}]
    records = [Record(i, "complete", {"node": node}) for i, node in enumerate(strange)]
    records.append(make_record(other, 10, "0"))
    records.append(make_record(log, 11, "1"))
    assert log.read(records, None) == (11, {"1"})
    assert log.records("1", 10) == []
    assert [r.number for r in log.records("1", 11)] == [11]
    assert log.records("0", math.inf) == []


def test_fits_count_from_their_trial_on() -> None:
    """What a trial was fitted for is not known to the decisions before it."""
    domain = make_domain(None, None)
    log = TreeLog(domain, 3, Surrogate("matern52"))
    ledger, replay = Ledger.started(domain, 1), make_replay("bamsoo")
    for _ in range(affordable(12, 6)):
        grown = replay.grow(domain, ledger.seen())
        ledger.records.append(Record(len(ledger.X), "complete", grown.record))
        ledger.observe(grown.x)
    log.read(ledger.records, None)
    fitted = [(r.number, r.data["fit"]["n"]) for r in ledger.records if "fit" in r.data]
    assert len(fitted) >= 2
    for number, n in fitted:
        found = log.fit(100, number)
        assert found is not None
        assert found.n == n
        before = log.fit(100, number - 1)
        assert before is None or before.n < n
        smaller = log.fit(n - 1, math.inf)
        assert smaller is None or smaller.n < n
