"""Searches of single branches: whose turn it is, what they see and when they are given up."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import CONDITIONAL
from histories import Ledger
from histories import affordable
from histories import is_admissible
from histories import make_domain

from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.points import Failures
from optuna_hdbo._core.streams import Streams
from optuna_hdbo.portfolio.credit import KEY as EXPERT
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.searches import branches
from optuna_hdbo.portfolio.searches import restart


DOMAIN = replace(
    make_domain("3", None, None, None),
    gates={2: (Condition(0, (0.0,)),), 3: (Condition(0, (1.0,)),)},
)
"""A choice, a column for all, and one each for two of the choices."""

N_START = 12


class Always:
    """A generator that always draws the same number."""

    def __init__(self, drawn: float) -> None:
        self.drawn = drawn

    def random(self) -> float:
        return self.drawn


def next_search(seen: Observations, drawn: float = 0.0, domain: Any = DOMAIN) -> restart.Search:
    return branches.next_search(domain, seen, Always(drawn))  # type: ignore[arg-type]


def study(*queried: tuple[float, int], start: tuple[float, ...] = (0.0, 1.0, 2.0)) -> Observations:
    """Return a study with random trials of all choices, and then queries: choices and numbers.

    The best trial of a choice is a random one, whose value is ``start[choice]``.
    """
    choices = [i % 3 for i in range(N_START)]
    choices += [choice for choice, n in queried for _ in range(n)]  # type: ignore[misc]
    X = np.random.default_rng(0).random((len(choices), 4))
    X[:, 0] = choices
    values = np.array([start[c] - (i > 2) * (1.0 + i / 100) for i, c in enumerate(choices)])
    records = [Record(i, "complete", {EXPERT: "global"}) for i in range(N_START, len(choices))]
    return Observations.from_arrays(DOMAIN.canonical(X), values, records=records)


PATIENT = (2, restart.PATIENCE)


def test_until_nothing_improves_any_more_all_branches_are_searched() -> None:
    search = next_search(study((2, restart.PATIENCE - 1)))
    assert search.began is None
    assert search.domain is DOMAIN


def test_under_noise_all_branches_are_searched() -> None:
    """There nothing may improve for long, though the best branch is not exhausted."""
    seen = study(PATIENT)
    assert next_search(seen).began is not None
    assert next_search(replace(seen, ranks=seen.y)).began is None


def test_then_most_queries_are_for_the_second_best_branch() -> None:
    seen = study(PATIENT)
    search = next_search(seen, restart.SHARE)
    assert search.began == seen.step
    assert search.columns.tolist() == [1, 3]  # neither the choice nor columns of other branches
    assert search.domain.names == ("x1", "x3")
    assert not search.domain.gates
    rows = np.flatnonzero(seen.X[:, 0] == 1.0)
    assert search.seen.numbers.tolist() == rows.tolist()
    np.testing.assert_array_equal(search.seen.X, seen.X[rows][:, [1, 3]])
    whole = search.whole(np.array([0.25, 0.75]))
    assert whole.tolist() == [1.0, 0.25, DOMAIN.absent[2], 0.75]
    assert search.said[branches.BRANCH] == {"x0": 1.0}
    assert next_search(seen, restart.SHARE + 0.01).began is None


def test_a_branch_in_which_nothing_improves_gives_way_to_the_next() -> None:
    seen = study(PATIENT, (1, restart.PATIENCE))
    search = next_search(seen, restart.SHARE / 2)
    assert search.columns.tolist() == [1, 2]
    assert search.said[branches.BRANCH] == {"x0": 0.0}
    assert next_search(seen, restart.SHARE / 2 + 0.01).began is None
    assert next_search(study(PATIENT, (1, restart.PATIENCE), (0, restart.PATIENCE))).began is None


def test_a_search_knows_its_own_records_and_pending_points() -> None:
    seen = study(PATIENT)
    own = Record(40, "running", {branches.BRANCH: {"x0": 1.0}})
    others = [
        Record(41, "running", {branches.BRANCH: value})
        for value in ({"x0": 0.0}, None, [1.0], "x")
    ]
    pending = DOMAIN.canonical(np.array([[1.0, 0.1, 0.5, 0.2], [0.0, 0.3, 0.4, 0.5]]))
    records = [*seen.records, own, *others]
    search = next_search(replace(seen, records=records, pending=pending))
    assert search.began == 40
    assert search.seen.records == [own]
    assert search.seen.pending.tolist() == [[0.1, 0.2]]
    first = next_search(replace(seen, records=records), 1.0)
    assert list(first.seen.records) == list(seen.records)


def test_a_branch_without_a_continuous_column_is_not_searched_by_itself() -> None:
    domain = replace(
        make_domain("2", None, "3"), gates={1: (Condition(0, (1.0,)),), 2: (Condition(0, (0.0,)),)}
    )
    X = np.random.default_rng(0).random((40, 3))
    X[:, 0] = np.arange(40) % 2
    values = np.where(X[:, 0] == 1.0, 1.0, 0.0) - (np.arange(40) > 2)
    records = [Record(i, "complete", {EXPERT: "global"}) for i in range(5, 40)]
    seen = Observations.from_arrays(domain.snap(X), values, records=records)
    assert next_search(seen, domain=domain).began is None


@pytest.mark.parametrize("domain", [DOMAIN, CONDITIONAL], ids=["shallow", "nested"])
def test_the_portfolio_suggests_points_of_the_branch(domain: Any) -> None:
    fall = itertools.count()  # no value repeats, and none improves

    def falling(x: np.ndarray) -> float:
        return -float(x[0] == 1.0) - 1e-6 * next(fall)

    ledger = Ledger.started(domain, N_START + restart.PATIENCE, falling)
    queried = range(N_START, len(ledger.X))  # random points will do
    ledger.records += [Record(i, "complete", {EXPERT: "global"}) for i in queried]
    suggestions = ledger.run(HDBO(), affordable(8, 3))
    later = [s for s in suggestions if branches.BRANCH in (s.record or {})]
    assert later
    for suggestion in suggestions:
        assert is_admissible(domain, suggestion.x)
    for suggestion in later:
        assert suggestion.record is not None
        for name, value in suggestion.record[branches.BRANCH].items():
            assert suggestion.x[domain.names.index(name)] == value


def test_a_search_knows_the_failures_in_its_branch() -> None:
    failed = DOMAIN.canonical(np.array([[1.0, 0.1, 0.5, 0.2], [0.0, 0.3, 0.4, 0.5]]))
    failures = Failures(failed, np.array([40, 41]), are_elsewhere=True)
    search = next_search(replace(study(PATIENT), failures=failures))
    assert search.seen.failures is not None
    assert search.seen.failures.numbers.tolist() == [40]
    assert search.seen.failures.X.tolist() == [[0.1, 0.2]]


def of_several(seen: Observations, drawn: float) -> restart.Search:
    return branches.next_of_several(DOMAIN, seen, Always(drawn))  # type: ignore[arg-type]


def with_front(choices: list[float], fronts: dict[float, float]) -> Observations:
    """Return trials of two objectives: the first one of each choice has ``fronts[choice]``."""
    X = np.random.default_rng(0).random((len(choices), 4))
    X[:, 0] = choices
    heights = [fronts[c] - (choices.index(c) < i) for i, c in enumerate(choices)]
    records = [Record(i, "complete", {EXPERT: "global"}) for i in range(len(choices))]
    seen = Observations.from_arrays(DOMAIN.canonical(X), np.array(heights), records=records)
    Y = np.column_stack([heights, heights])
    return replace(seen, objectives=Y, signs=(1.0, 1.0))


CHOICES = [0.0] * 5 + [1.0] * 3 + [2.0] * 9


@pytest.mark.parametrize(
    ("fronts", "columns"),
    [
        ({0.0: 1.0, 1.0: 0.0, 2.0: 0.0}, [1, 3]),
        ({0.0: 0.0, 1.0: 1.0, 2.0: 0.0}, [1, 2]),
        ({0.0: 0.0, 1.0: 0.0, 2.0: 1.0}, [1, 3]),
        ({0.0: 1.0, 1.0: 1.0, 2.0: 0.0}, [1]),
    ],
)
def test_branches_without_points_of_the_front_have_a_share(
    fronts: dict[float, float], columns: list[int]
) -> None:
    """Of several objectives; the one with the fewest trials comes first."""
    seen = with_front(CHOICES, fronts)
    search = of_several(seen, branches.SHARE_WITHOUT_FRONT - 0.01)
    assert search.columns.tolist() == columns
    assert search.seen.objectives is not None
    assert len(search.seen.objectives) == search.n_queries == len(search.seen.X)
    assert of_several(seen, branches.SHARE_WITHOUT_FRONT).began is None


def test_no_branch_is_searched_where_all_are_on_the_front() -> None:
    seen = with_front(CHOICES, dict.fromkeys((0.0, 1.0, 2.0), 1.0))
    assert of_several(seen, 0.0).began is None


def test_the_portfolio_searches_branches_for_several_objectives() -> None:
    def opposed(x: np.ndarray) -> float:
        return -10.0 * float(x[0] != 2.0) - float(((x[1:] - 0.4) ** 2).sum())

    ledger = Ledger.started(DOMAIN, 9, opposed)
    found = []
    for _ in range(affordable(20, 12)):
        seen = ledger.seen()
        Y = np.column_stack([seen.values, seen.values - seen.X[:, 1]])
        several = replace(seen, objectives=Y, signs=(1.0, 1.0))
        suggestion = HDBO().suggest(DOMAIN, several, Streams(0))
        assert is_admissible(DOMAIN, suggestion.x)
        record = suggestion.record or {}
        if branches.BRANCH in record:
            assert record[branches.BRANCH] == {"x0": suggestion.x[0]} != {"x0": 2.0}
        found.append(branches.BRANCH in record)
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)
    assert 0 < sum(found) < len(found) / 2


def without(choice: float, **changes: Any) -> Observations:
    """Return a study in which no trial has had one of the choices."""
    seen = study((2, 3))
    return replace(seen.at(np.flatnonzero(seen.X[:, 0] != choice)), **changes)


def untried(seen: Observations, rng: Any, domain: Any = DOMAIN) -> Any:
    return branches.untried(domain, seen, seen.values, rng)


def test_an_option_that_no_trial_has_had_makes_every_second_query() -> None:
    rng = np.random.default_rng(0)
    assert all(untried(study((2, 3)), rng) is None for _ in range(10))
    assert rng.random() == np.random.default_rng(0).random()  # such studies go on as before
    found = [untried(without(0.0), rng) for _ in range(40)]
    queries = [query for query in found if query is not None]
    assert 10 < len(queries) < 30
    for query in queries:
        assert is_admissible(DOMAIN, query.x)
        assert query.x[0] == 0.0
        assert query.record == {"query": "restart", branches.UNTRIED: "x0 0"}
        assert query.report == {"query": "restart"}
    assert len({query.x[2] for query in queries}) == len(queries)
    best = without(0.0).X[int(np.argmax(without(0.0).values))]
    assert all(query.x[1] == best[1] for query in queries)  # the parameter that all choices share


@pytest.mark.parametrize("told", ["a value", "no value yet", "a failure", "nothing"])
def test_an_option_is_tried_once(told: str) -> None:
    """Nothing is told where a trial was pruned, and such trials are not used."""
    x = DOMAIN.canonical(np.array([[0.0, 0.3, 0.4, 0.5]]))
    seen = {
        "a value": lambda: without(-1.0),
        "no value yet": lambda: without(0.0, pending=x),
        "a failure": lambda: without(
            0.0, failures=Failures(x, np.array([40]), are_elsewhere=True)
        ),
        "nothing": lambda: without(
            0.0, records=[Record(40, "pruned", {branches.UNTRIED: "x0 0"})]
        ),
    }[told]()
    rng = np.random.default_rng(0)
    assert all(untried(seen, rng) is None for _ in range(20))


@pytest.mark.parametrize("data", [None, 0.0, "x0 1", "x1 0", ["x0 0"], {"x0": 0.0}])
def test_what_does_not_parse_is_no_trial_of_an_option(data: Any) -> None:
    seen = without(0.0, records=[Record(40, "complete", {branches.UNTRIED: data})])
    rng = np.random.default_rng(0)
    assert any(untried(seen, rng) is not None for _ in range(20))


def test_a_nested_option_that_no_trial_has_had_is_tried_where_it_is_active() -> None:
    """The value of an inactive choice is no trial of it."""
    X = CONDITIONAL.sample(np.random.default_rng(0), 60)
    X = X[(X[:, 0] != 1.0) | (X[:, 3] == 1.0)]
    assert (X[X[:, 0] != 1.0, 3] == 0.0).any()
    seen = Observations.from_arrays(X, np.arange(float(len(X))))
    found = [untried(seen, np.random.default_rng(i), CONDITIONAL) for i in range(10)]
    points = [query.x for query in found if query is not None]
    assert points
    assert all((x[0], x[3]) == (1.0, 0.0) for x in points)


def test_of_several_choices_the_others_are_those_of_the_best_trial() -> None:
    domain = replace(
        make_domain("3", "4", None, None),
        gates={2: (Condition(0, (0.0,)),), 3: (Condition(1, (2.0,)),)},
    )
    X = domain.sample(np.random.default_rng(0), 40)
    X = X[X[:, 0] > 0.0]
    for best in range(len(X)):
        values = -np.abs(np.arange(float(len(X))) - best)
        seen = Observations.from_arrays(X, values)
        found = [untried(seen, np.random.default_rng(i), domain) for i in range(4)]
        points = [query.x for query in found if query is not None]
        assert points
        for x in points:
            assert is_admissible(domain, x)
            assert (x[0], x[1], x[3]) == (0.0, X[best, 1], X[best, 3])


@pytest.mark.parametrize("n_objectives", [1, 2])
def test_the_portfolio_tries_options_that_no_trial_has_had(n_objectives: int) -> None:
    seen = without(0.0)
    if n_objectives == 2:
        Y = np.column_stack([seen.values, seen.X[:, 1]])
        seen = replace(seen, objectives=Y, signs=(1.0, 1.0))
    records: list[Record] = []
    tried = []
    for step in range(40, 52):
        query = HDBO().suggest(DOMAIN, replace(seen, records=records, step=step), Streams(0))
        if branches.UNTRIED in (query.record or {}):
            assert query.x[0] == 0.0
            tried.append(step)
        records.append(Record(step, "pruned", query.record or {}))
    assert len(tried) == 1
