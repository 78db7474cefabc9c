"""SOO and BaMSOO against plain transcriptions of their algorithms, and as functions of a study."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference_tree as reference
from compiled import entry
from histories import DOMAINS
from histories import INTERPRETED
from histories import Ledger
from histories import affordable
from histories import bowl
from histories import make_domain
from histories import published

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.tree.log import signature
from optuna_hdbo._core.tree.nodes import Rule
from optuna_hdbo._core.tree.nodes import Tree
from optuna_hdbo._core.tree.surrogate import Surrogate
from optuna_hdbo._jit import nodes
from optuna_hdbo._jit import tree as jit
from optuna_hdbo.benchmarks.problems import functions
from optuna_hdbo.methods.bamsoo import BaMSOO
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.loop import Loop
from optuna_hdbo.methods.loop import Trial
from optuna_hdbo.methods.soo import SOO


bound_width = entry(jit.bound_width)


def two_sines(x: np.ndarray) -> float:
    return float(np.sin(15 * x[0]) * np.sin(27 * x[0]) / 2)


def hartmann3(x: np.ndarray) -> float:
    return -functions.hartmann3().evaluate(x)


def branin(x: np.ndarray) -> float:
    return -functions.branin().evaluate(np.array([-5.0, 0.0]) + 15.0 * x)


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], float], int]] = {
    "two sines": (two_sines, 1),
    "hartmann3": (hartmann3, 3),
    "branin": (branin, 2),
}
every_function = pytest.mark.parametrize(
    ("f", "dim"), list(FUNCTIONS.values()), ids=list(FUNCTIONS)
)
every_branching = pytest.mark.parametrize("k", [2, 3])

PUBLISHED = published(BaMSOO)


def path_of(suggestion: Suggestion | Trial) -> str:
    assert suggestion.record is not None
    return str(suggestion.record["node"]["path"])


def run(method: Method, f: Callable[[np.ndarray], float], dim: int, n: int) -> list[str]:
    """Return the paths of n nodes after one random point."""
    ledger = Ledger.started(make_domain(*[None] * dim), 1, f)
    return [path_of(suggestion) for suggestion in ledger.run(method, n)]


# the algorithms ----------------------------------------------------------------------------------


@every_branching
@every_function
@pytest.mark.parametrize("power", [0.5, 0.7])
def test_soo_is_algorithm_2(
    f: Callable[[np.ndarray], float], dim: int, k: Any, power: float
) -> None:
    n = affordable(90, 60)
    expected = reference.soo(f, k, power, (0,) * dim, n)
    assert run(SOO(branching=k, depth_exponent=power), f, dim, n) == expected
    assert len(set(expected)) == n
    fixed = reference.soo(f, k, power, (0,) * dim, n, fixed=True)
    assert run(SOO(branching=k, depth_exponent=power, depth_limit="fixed"), f, dim, n) == fixed
    assert fixed != expected


@every_branching
@pytest.mark.parametrize(
    "sizes",
    [(2,) * 4, (5, 3, 1024), (0, 7), (2, 0, 30), (5000,), (0, 1500, 2), (3, 2, 4)],
    ids=str,
)
def test_soo_splits_finite_columns_as_the_transcription_does(sizes: Any, k: Any) -> None:
    """Until every configuration is known, or for a while."""

    def f(x: np.ndarray) -> float:  # with few ties
        return -float((np.sqrt([2.0, 3.0, 5.0, 7.0])[: len(x)] * np.abs(x - 0.2871)).sum())

    domain = make_domain(*[n or None for n in sizes])
    power = 1.0 if all(sizes) else 0.5  # the depth of a finite tree is limited anyway
    expected = reference.soo(f, k, power, sizes, affordable(120, 40))
    ledger = Ledger.started(domain, 1, f)
    method = SOO(branching=k)
    paths = [path_of(suggestion) for suggestion in ledger.run(method, len(expected) - 1)]
    # The random first point spares its node.
    assert [path for path in expected if path in paths] == paths


@every_branching
@every_function
def test_bamsoo_is_algorithm_3(f: Callable[[np.ndarray], float], dim: int, k: Any) -> None:
    """Node by node: those that are evaluated, and how many are rejected in between."""
    n = affordable(120, 30)
    domain = make_domain(*[None] * dim)
    ledger = Ledger.started(domain, 1, f)
    lengthscale = 0.1 * dim
    expected, rejected, _ = reference.bamsoo(
        f,
        k,
        0.5,
        dim,
        n,
        eta=0.05,
        lengthscale=lengthscale,
        noise=1e-6,
        first=ledger.X[0],
    )
    known = {"lengthscale": lengthscale, "noise": 1e-6}
    method = BaMSOO(**{**PUBLISHED, "branching": k, "kernel_params": known})
    suggestions = ledger.run(method, n)
    assert [path_of(suggestion) for suggestion in suggestions] == expected
    assert suggestions[-1].report["rejected_nodes"] >= affordable(20, 0)
    after = method.suggest(domain, ledger.seen(), Streams(0)).report["rejected_nodes"]
    assert suggestions[-1].report["rejected_nodes"] <= len(rejected) <= after


def test_all_cells_of_some_depths_opened_do_not_end_the_search() -> None:
    """With 7 expansions in two, h_max = 2 is above every leaf."""
    paths = run(SOO(branching=2), lambda x: 0.0, 1, 40)
    assert sorted(paths[:15], key=len) == paths[:15]
    assert len(set(paths)) == 40


def test_middle_children_cost_nothing() -> None:
    ledger = Ledger.started(make_domain(None, None), 1)
    ledger.run(SOO(branching=3), 60)
    assert len({x.tobytes() for x in ledger.X}) == 61
    assert not any(path.endswith("1") for path in run(SOO(branching=3), bowl, 2, 60))


def test_a_wider_bound_rejects_fewer() -> None:
    counts = []
    for width in (0.5, 4.0):
        ledger = Ledger.started(make_domain(None, None), 1, branin)
        (*_, last) = ledger.run(BaMSOO(width=width, explore=None), affordable(60, 15))
        counts.append(last.report["rejected_nodes"])
    assert counts[0] > counts[1]


@pytest.mark.parametrize("setting", ["explore", "patience"])
def test_numbers_of_requests_have_no_upper_limit(setting: str) -> None:
    domain = make_domain(None)
    found = [
        Ledger.started(domain, 3).run(BaMSOO(**{setting: n}), 3)[-1].x.tolist()
        for n in (10**9, 10**400)
    ]
    assert found[0] == found[1]


def test_patience_ends_rejecting() -> None:
    """A process that rules everything out must not keep the sweep going for ever."""
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 4, lambda x: float(x[0] > 0.999) + 1e-3 * x[0])
    ledger.X.append(np.array([1.0, 1.0]))
    ledger.values.append(50.0)
    params = {"lengthscale": 30.0, "noise": 1e-6}
    method = BaMSOO(width=0.1, kernel_params=params, patience=25, explore=None)
    before = 0.0
    for suggestion in ledger.run(method, 6):
        rejected = suggestion.report["rejected_nodes"]
        assert rejected <= before + 25
        before = rejected
    assert before > 25


# the tree as a function of the study -------------------------------------------------------------


METHODS: dict[str, Callable[[], Method]] = {
    "soo": SOO,
    "soo in two": lambda: SOO(branching=2),
    "bamsoo": BaMSOO,
    "published": lambda: BaMSOO(**PUBLISHED),
}
every_method = pytest.mark.parametrize("build", list(METHODS.values()), ids=list(METHODS))


@every_method
@pytest.mark.parametrize("domain", [make_domain(None, None), DOMAINS["mixed"]], ids=["2", "7"])
def test_another_process_goes_on_as_the_first_would_have(
    build: Callable[[], Method], domain: Domain
) -> None:
    """So many suggestions in one go are half of them, a new process, and the other half."""
    n = affordable(60, 16)
    whole = Ledger.started(domain, 1, bowl)
    in_one_go = whole.run(build(), n)
    parts = Ledger.started(domain, 1, bowl)
    in_two = parts.run(build(), n // 2) + parts.run(build(), n - n // 2)
    assert [s.record for s in in_one_go] == [s.record for s in in_two]
    assert all(np.array_equal(a, b) for a, b in zip(whole.X, parts.X, strict=True))
    assert in_one_go[-1].report == in_two[-1].report


class Workers(Loop):
    """Several trials at a time, ended in any order."""

    def __init__(self, domain: Domain, build: Callable[[], Method]) -> None:
        super().__init__(build(), domain, seed=0, n_init=0)
        self.build = build

    def ask(self) -> Trial:
        """Ask a method that has seen everything, and one that comes anew."""
        seen = self.observations()
        trial = super().ask()
        again = self.build().suggest(self.domain, seen, Streams(0))
        assert np.array_equal(trial.x, again.x)
        assert trial.record == again.record
        assert trial.report == again.report
        return trial

    @property
    def running(self) -> list[int]:
        return [trial.number for trial in self.trials if trial.state == "running"]

    @property
    def ended(self) -> dict[str, str]:
        """Paths of the nodes whose trial has ended, and how it did."""
        return {path_of(t): t.state for t in self.trials if t.state != "running"}

    def end(self, number: int, *, fails: bool = False) -> None:
        trial = self.trials[number]
        self.tell(trial, None if fails else bowl(trial.x))


@every_method
@pytest.mark.parametrize("domain", [make_domain(None, None), DOMAINS["mixed"]], ids=["2", "7"])
def test_workers_never_get_the_same_node(build: Callable[[], Method], domain: Domain) -> None:
    """Trials end in any order, fail, or never end; whoever asks sees the same tree."""
    rng = np.random.default_rng(0)
    workers = Workers(domain, build)
    points = []
    for _ in range(affordable(28, 12)):
        while len(workers.running) < 4:
            points.append(workers.ask().x)
        # The trial that was asked for third never ends.
        number = int(rng.choice([i for i in workers.running if i != 2]))
        workers.end(number, fails=rng.random() < 0.15)
    assert len({x.tobytes() for x in points}) == len(points)


@every_branching
def test_the_order_in_which_trials_end_does_not_matter_to_soo(k: Any) -> None:
    """Two workers reach the tree of one, as far as it needs no value that is not there yet."""
    n = affordable(80, 30)
    domain = make_domain(None, None)
    alone = run(SOO(branching=k), bowl, 2, n)
    workers = Workers(domain, lambda: SOO(branching=k))
    rng = np.random.default_rng(1)
    for _ in range(n):
        while len(workers.running) < 2:
            workers.ask()
        workers.end(int(rng.choice(workers.running)))
    while workers.running:
        workers.end(workers.running[0])
    assert len(set(workers.ended) & set(alone)) >= 0.8 * n
    # Whoever goes on alone is soon back on the way of the one.
    assert workers.ask().report["nodes"] >= n


def test_siblings_may_be_told_in_any_order() -> None:
    """Children of one cell are asked for without waiting; any order of their ends is the same."""
    for order in ([1, 2, 3], [3, 1, 2], [2, 3, 1]):
        workers = Workers(make_domain(None, None), lambda: SOO(branching=2))
        for _ in range(3):
            workers.ask()
        for number in order:
            workers.end(number - 1)
        paths = []
        for number in range(3, affordable(40, 20)):
            paths.append(path_of(workers.ask()))
            workers.end(number)
        alone = Workers(make_domain(None, None), lambda: SOO(branching=2))
        expected = []
        for number in range(affordable(40, 20)):
            expected.append(path_of(alone.ask()))
            alone.end(number)
        assert paths == expected[3:]


@every_method
def test_failed_nodes_are_not_asked_for_again(build: Callable[[], Method]) -> None:
    workers = Workers(make_domain(None, None), build)
    for number in range(affordable(40, 10)):
        workers.ask()
        workers.end(number, fails=number % 3 == 1)
    ended = workers.ended
    assert len(ended) == len(workers.trials)
    failed = [path for path, state in ended.items() if state == "failed"]
    assert any(path.startswith(f) for f in failed for path in ended if path != f)


def test_a_failed_trial_that_is_retried_counts_after_all() -> None:
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 1)
    method = SOO(branching=2)
    first = ledger.run(method, 10)
    failed = [
        Record(r.number, "failed" if r.number == 4 else r.state, r.data) for r in ledger.records
    ]
    X, values = list(ledger.X), list(ledger.values)
    ledger.X, ledger.values = X[:4] + X[5:], values[:4] + values[5:]
    ledger.records = failed
    method.suggest(domain, ledger.seen(step=11), Streams(0))
    ledger.X.append(X[4])
    ledger.values.append(values[4])
    ledger.records = [*failed, Record(10, "complete", failed[3].data)]
    with_retry = method.suggest(domain, ledger.seen(step=11), Streams(0))
    fresh = SOO(branching=2).suggest(domain, ledger.seen(step=11), Streams(0))
    assert np.array_equal(with_retry.x, fresh.x)
    assert path_of(first[-1]) != path_of(with_retry)


@every_method
def test_points_from_elsewhere_are_no_nodes_unless_they_are(build: Callable[[], Method]) -> None:
    domain = make_domain(None, None)
    ledger = Ledger(domain, bowl)
    ledger.observe(np.array([0.5, 0.5]))  # the root's point, evaluated by hand
    ledger.observe(np.array([0.1, 0.77]))
    paths = [path_of(suggestion) for suggestion in ledger.run(build(), affordable(30, 8))]
    assert "" not in paths
    assert len({x.tobytes() for x in ledger.X}) == len(ledger.X)


def test_points_added_in_between_reach_the_process_at_once() -> None:
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 1, branin)
    method = BaMSOO(**PUBLISHED)
    for i in range(affordable(40, 8)):
        suggestion = method.suggest(domain, ledger.seen(), Streams(0))
        fresh = BaMSOO(**PUBLISHED).suggest(domain, ledger.seen(), Streams(0))
        assert suggestion.record == fresh.record
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)
        if i % 5 == 3:
            ledger.observe(domain.sample(np.random.default_rng(i), 1)[0])
    # A value above all upper bounds: nothing passes the test but what patience lets through.
    before = method.suggest(domain, ledger.seen(), Streams(0)).report["rejected_nodes"]
    ledger.observe(np.array([0.987, 0.012]))
    ledger.values[-1] = 1e3
    after = method.suggest(domain, ledger.seen(), Streams(0)).report["rejected_nodes"]
    assert after > before


@pytest.mark.skipif(INTERPRETED, reason="fits to few configurations, again and again")
def test_no_configuration_is_asked_for_twice_and_exhaustion_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    domain = make_domain(3, "4", 2)
    for build in METHODS.values():
        caplog.clear()
        ledger = Ledger.started(domain, 1)
        with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
            ledger.run(build(), 23)
            assert not caplog.messages
            assert len({x.tobytes() for x in ledger.X}) == 24
            ledger.run(build(), 4)
        assert len(caplog.messages) == 1
        assert "every configuration" in caplog.messages[0]


@every_method
def test_cells_of_one_configuration_are_not_split(build: Callable[[], Method]) -> None:
    domain = make_domain(5, None)
    ledger = Ledger.started(domain, 1)
    ledger.run(build(), affordable(60, 12))
    assert len({x.tobytes() for x in ledger.X}) == len(ledger.X)


def test_nodes_of_another_tree_are_points_from_elsewhere() -> None:
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 1)
    ledger.run(SOO(branching=3), 20)
    in_two = SOO(branching=2).suggest(domain, ledger.seen(), Streams(0))
    ledger.records = []
    unrecorded = SOO(branching=2).suggest(domain, ledger.seen(), Streams(0))
    assert in_two.record == unrecorded.record
    assert signature(domain, 2) != signature(domain, 3)
    assert signature(make_domain(None, "2"), 2) != signature(make_domain(None, 2), 2)


def test_infinite_values_are_extremes() -> None:
    domain = make_domain(None, None)
    for value in (np.inf, -np.inf):
        ledger = Ledger.started(domain, 1)
        method = SOO(branching=2)
        for i in range(30):
            (suggestion,) = ledger.run(method, 1)
            if i % 4 == 2:
                ledger.values[-1] = value
        assert suggestion.report["nodes"] >= 30


def test_a_pruned_value_that_changes_changes_the_tree() -> None:
    """What a pruned trial counts for is estimated anew as others end."""
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 1)
    method = SOO(branching=2)
    ledger.run(method, 20)
    for worth in (-5.0, 5.0, -5.0):
        ledger.values[3] = worth
        old = method.suggest(domain, ledger.seen(), Streams(0))
        new = SOO(branching=2).suggest(domain, ledger.seen(), Streams(0))
        assert old.record == new.record


def test_ten_thousand_nodes_are_rejected_without_leaving_compiled_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, affordable(200, 10), branin)
    ledger.X.append(np.array([0.5, 0.25]))
    ledger.values.append(1e4)
    n = affordable(10_000, 50)
    params = {"lengthscale": 0.3, "noise": 1.0}  # the mean stays far below the best value
    method = BaMSOO(width=0.1, kernel_params=params, patience=n, explore=None)
    for _ in range(2):  # compile, and evaluate the root
        suggestion = method.suggest(domain, ledger.seen(), Streams(0))
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)
    advanced = []
    advance = Tree.advance
    monkeypatch.setattr(
        Tree, "advance", lambda self, model: [advanced.append(1), advance(self, model)][1]
    )
    suggestion = method.suggest(domain, ledger.seen(), Streams(0))
    assert suggestion.report["rejected_nodes"] >= n
    assert len(advanced) <= 2


@pytest.mark.parametrize("explore", [1, 2, 3])
def test_exploration_is_half_as_frequent_after_forty_nodes(explore: int) -> None:
    rule = Rule(branching=3, exponent=0.7, width=0.5, renew=True, explore=explore)
    state = np.zeros(nodes.N_STATE, dtype=np.int64)
    state[nodes.TESTS] = 10
    turns = []
    for asked in range(160):
        state[nodes.ASKED] = asked
        width = bound_width(rule, state)
        assert width == 0.5 or width == pytest.approx(np.sqrt(2 * np.log(np.pi**2 * 100 / 6)))
        turns.append(width != 0.5)
    assert sum(turns[:40]) == 40 // explore
    assert sum(turns[40:]) == 120 // (2 * explore)
    assert not any(bound_width(rule._replace(explore=0), state) != 0.5 for _ in turns)


@pytest.mark.parametrize(("size", "last"), [(None, 832), (8000, 416), (1000, 104)])
def test_late_fits_are_rare(size: int | None, last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth more observations call for a fit, and from 100 on as many again.

    There are no more once a tenth of a finite space is known.
    """
    monkeypatch.setattr(
        "optuna_hdbo._core.tree.surrogate.fit", lambda template, *_, **__: (template, 0.0)
    )
    domain, guide = make_domain(size), Surrogate("matern52")
    assert domain.n_configurations == (np.inf if size is None else size)
    X = np.random.default_rng(0).random((900, 1))
    fitted, at = None, []
    for n in range(900):
        new = guide.renewed(domain, X[:n], X[:n, 0], fitted)
        if new is not None:
            fitted = new
            at.append(n)
    assert at[:9] == [3, 5, 7, 9, 11, 13, 15, 18, 21]
    assert at[at.index(87) :] == [n for n in (87, 104, 208, 416, 832) if n <= last]
    often = Surrogate("matern52", n_cyc=20)  # what a user asks for holds all the same
    assert often.renewed(domain, X, X[:, 0], fitted) is not None
