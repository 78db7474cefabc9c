"""Restarts: when a search begins afresh, what it sees, and when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from histories import make_domain
from searches import FEW_OF_MANY
from searches import FLAT
from searches import START
from searches import converged
from searches import fit_of
from searches import next_turn
from searches import said
from searches import wide
from searches import with_later

from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.credit import KEY as EXPERT
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.panel import WINDOW
from optuna_hdbo.portfolio.panel import Panel
from optuna_hdbo.portfolio.searches import influence
from optuna_hdbo.portfolio.searches import restart
from optuna_hdbo.portfolio.searches import zoom


DOMAIN = make_domain(None, None)
REFINED = ("refine",) * restart.LEAST_REFINED
"""Queries after which the best point counts as refined."""


def next_search(
    seen: Observations, drawn: float = 0.0, domain: Any = DOMAIN, memory: Memory | None = None
) -> restart.Search:
    memory = Memory(seen.records) if memory is None else memory
    return restart.next_search(domain, seen, next_turn(domain, seen, drawn), memory)


def study(
    values: list[float], began: dict[int, int] | None = None, kinds: Sequence[str] = REFINED
) -> Observations:
    """Return a study whose trials from number 5 on are queries, some of them of later searches.

    The first queries are of these kinds, all others search.
    """
    began = began or {}
    kind_of_query = dict(enumerate(kinds, 5))
    records = [
        Record(
            i,
            "complete",
            {EXPERT: "global", QUERY: kind_of_query.get(i, "search")}
            | (said(began[i]) if i in began else {}),
        )
        for i in range(5, len(values))
    ]
    X = np.random.default_rng(0).random((len(values), 2))
    return Observations.from_arrays(X, np.array(values), records=records)


def test_a_search_that_improves_goes_on() -> None:
    rising = [10.0 + i for i in range(40)]
    assert next_search(study(START + rising)).began is None
    late = [*FLAT[:-3], 11.0, 5.0, 5.0]
    assert next_search(study(START + FLAT + late)).began is None


def test_a_converged_search_gives_way_to_one_afresh_for_most_queries() -> None:
    seen = study(START + FLAT)
    assert next_search(study(START + FLAT[:-1])).began is None
    assert next_search(seen, drawn=0.99).began is None
    search = next_search(seen)
    assert search.began == seen.step
    assert len(search.seen.values) == 0
    assert search.needs_random_points


@pytest.mark.parametrize("state", ["running", "failed"])
def test_a_search_afresh_without_values_goes_on_under_constraints(state: Any) -> None:
    seen = study(START + FLAT)
    n = len(seen.y)
    seen = replace(seen, constraints=np.full((n, 1), -1.0))
    first = Record(n, state, next_search(seen).said)
    search = next_search(replace(seen, records=[*seen.records, first], step=n + 1))
    assert (search.began, search.n_queries, len(search.seen.values)) == (n, 1, 0)
    assert search.needs_random_points


def test_startup_trials_say_nothing_about_convergence() -> None:
    seen = study(START + FLAT)
    assert next_search(replace(seen, records=())).began is None


def test_digits_are_no_improvement() -> None:
    refining = [5.0, 5.0, 5.0, 5.0, 5.0] * (restart.PATIENCE // 5)
    refining[::5] = [10.0 + 1e-6 * i for i in range(1, len(refining) // 5 + 1)]
    assert next_search(study(START + refining)).began is not None


def test_of_many_columns_only_those_that_matter_move() -> None:
    lengthscales = [1e3] * 24
    for column in (2, 7, 11):
        lengthscales[column] = 0.5
    domain, seen = wide(lengthscales)
    search = next_search(seen, domain=domain)
    assert search.columns.tolist() == [2, 7, 11]
    assert search.domain.names == ("x2", "x7", "x11")
    best = seen.X[int(np.argmax(seen.y))]
    point = search.whole(np.array([0.1, 0.2, 0.3]))
    assert point[[2, 7, 11]].tolist() == [0.1, 0.2, 0.3]
    rest = np.setdiff1d(np.arange(24), [2, 7, 11])
    assert point[rest].tolist() == best[rest].tolist()
    n = len(seen.y)
    later = Record(n, "running", search.said)
    again = next_search(replace(seen, records=[*seen.records, later], step=n + 1), domain=domain)
    assert again.began == n
    assert again.columns.tolist() == [2, 7, 11]
    assert again.n_queries == 1


def test_columns_that_decide_about_moved_ones_move_too() -> None:
    domain, seen = wide([1e3] * 3 + [0.5] + [1e3] * 20)
    grids = (np.arange(2.0), *domain.grids[1:])
    categorical = np.arange(24) == 0
    gates = {3: (Condition(0, (1.0,)),)}
    domain = replace(domain, grids=grids, categorical=categorical, gates=gates)
    seen = replace(seen, X=domain.snap(seen.X))
    search = next_search(seen, domain=domain)
    assert search.columns.tolist() == [0, 3]
    assert search.domain.gates == {1: (Condition(0, (1.0,)),)}


def test_where_many_columns_matter_no_search_begins_afresh() -> None:
    domain, seen = wide([0.5] * FEW_COLUMNS + [1e3] * 30)
    assert next_search(seen, domain=domain).began is None
    domain, seen = wide([0.5] * (FEW_COLUMNS - 1) + [1e3] * 30)
    assert next_search(seen, domain=domain).began is not None
    domain, seen = wide([0.5] * 8 + [1e3] * 14)  # more than a third of the columns
    assert next_search(seen, domain=domain).began is None


def test_with_less_than_twenty_columns_none_are_left_out() -> None:
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.LEAST_COLUMNS - 3))
    assert next_search(seen, domain=domain).began is not None
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.LEAST_COLUMNS - 4))
    assert next_search(seen, domain=domain).began is None
    domain, seen = wide([0.5] * 3 + [1e3] * (FEW_COLUMNS - 4))
    assert len(next_search(seen, domain=domain).columns) == FEW_COLUMNS - 1


def test_of_very_many_columns_none_is_asked_whether_it_matters() -> None:
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.MOST_COLUMNS - 3))
    assert next_search(seen, domain=domain).began is not None
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.MOST_COLUMNS - 2))
    assert next_search(seen, domain=domain).began is None


def test_the_columns_that_matter_are_fitted_once_and_recalled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain, seen = converged(lambda X: 5.0 * X[:, 3] + 7.0 * X[:, 8])
    fits = []
    fitted = Ensemble.fitted

    def counted(*args: Any, **kwargs: Any) -> Any:
        fits.append(args)
        return fitted(*args, **kwargs)

    monkeypatch.setattr(Ensemble, "fitted", counted)
    memory = Memory(seen.records)
    search = next_search(seen, domain=domain, memory=memory)
    assert search.columns.tolist() == [3, 8]
    assert len(fits) == 1
    kept = Record(seen.records[-1].number, "complete", memory.kept)
    seen = replace(seen, records=[*seen.records[:-1], kept])
    assert next_search(seen, domain=domain).columns.tolist() == [3, 8]
    assert len(fits) == 1
    for n_more, n_fits in ((3, 1), (8, 2)):
        X = np.vstack([seen.X, seen.X[-n_more:] + 1e-3])
        values = np.r_[seen.values, seen.values[-n_more:]]
        records = [*seen.records, *(Record(60 + i, "complete", {}) for i in range(n_more))]
        next_search(Observations.from_arrays(X, values, records=records), domain=domain)
        assert len(fits) == n_fits


def test_a_fit_by_which_many_columns_matter_is_recorded_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain, seen = converged(lambda X: X.sum(axis=1))
    memory = Memory(seen.records)
    first = next_search(seen, domain=domain, memory=memory)
    assert first.began is None
    assert influence.FIT in memory.kept
    asked = Suggestion(seen.X[0], {"own": 1})
    monkeypatch.setattr(Panel, "suggest", lambda *args, **kwargs: asked)
    monkeypatch.setattr(restart, "SHARE", 1.0)
    monkeypatch.setattr(zoom, "next_zoom", lambda *args: None)
    record = HDBO().suggest(domain, seen, Streams(0)).record
    assert record is not None
    assert record["own"] == 1
    assert influence.FIT in record


def test_a_search_of_few_of_many_columns_ends_where_it_is_back_at_the_best_point() -> None:
    domain, seen = wide(FEW_OF_MANY)
    n = len(seen.y)
    assert next_search(with_later(seen, 0.4, [1.0]), domain=domain).began == n
    assert next_search(with_later(seen, 0.05, [1.0]), domain=domain).began == n + 1


def test_a_search_that_found_the_best_point_does_not_end_at_it() -> None:
    domain, seen = wide(FEW_OF_MANY)
    n = len(seen.y)
    assert next_search(with_later(seen, 0.05, [20.0]), domain=domain).began is None
    found = with_later(seen, 0.05, [20.0] + [15.0] * restart.PATIENCE)
    assert next_search(found, domain=domain).began == n


def test_a_search_of_all_columns_goes_on_at_the_best_point() -> None:
    first = START + FLAT
    n = len(first)
    seen = study([*first, 1.0], {n: n})
    X = seen.X.copy()
    X[-1] = X[int(np.argmax(seen.y))] + 0.01
    record = Record(n - 1, "complete", fit_of(DOMAIN, [0.5, 0.5]))
    records = [*seen.records[:-2], record, seen.records[-1]]
    assert next_search(replace(seen, X=X, records=records)).began == n


def test_of_many_columns_a_search_begins_after_smaller_gains() -> None:
    domain, seen = wide(FEW_OF_MANY)
    spread = float(seen.y.max() - np.median(seen.y))
    between = 0.5 * (restart.ENOUGH + restart.ENOUGH_OF_MANY) * spread
    y = seen.y.copy()
    y[-1] = y.max() + between
    gained = replace(seen, values=y)
    assert next_search(gained, domain=domain).began is not None
    few = study([*START, *FLAT[:-1], 10.0 + between])
    assert next_search(few).began is None


def test_of_many_columns_searches_in_vain_cost_less_of_the_share() -> None:
    domain, seen = wide(FEW_OF_MANY)
    first = with_later(seen, 0.4, [1.0])
    second = with_later(first, 0.4, [1.0], began=len(first.y))
    share = restart.SHARE / (1 + restart.FADING_OF_MANY)
    assert next_search(second, 0.99 * share, domain).began == len(first.y)
    assert next_search(second, 1.01 * share, domain).began is None


@pytest.mark.parametrize("names", [None, [], "x0", [3], ["gone"], [["x0"]]])
def test_a_search_whose_columns_cannot_be_read_is_over(names: Any) -> None:
    seen = study(START + FLAT)
    n = len(seen.y)
    record = Record(n, "running", {restart.KEY: n, restart.COLUMNS: names})
    search = next_search(replace(seen, records=[*seen.records, record], step=n + 1))
    assert search.began == n + 1


def test_a_domain_without_continuous_columns_does_not_begin_afresh() -> None:
    assert next_search(study(START + FLAT), domain=make_domain("5", "7")).began is None


def test_a_later_search_sees_its_own_trials_only() -> None:
    first = START + FLAT
    n = len(first)
    own = [1.0, 2.0, 3.0]
    seen = study([*first, *own, 4.0], {n: n, n + 1: n, n + 2: n})
    search = next_search(seen)
    assert search.began == n
    assert search.seen.values.tolist() == own
    assert search.seen.X.tolist() == seen.X[n : n + 3].tolist()
    assert [r.number for r in search.seen.records] == [n, n + 1, n + 2]
    assert search.needs_random_points == (restart.n_random(2) > 3)
    other = next_search(seen, drawn=0.99)
    assert other.began is None
    assert len(other.seen.values) == len(seen.values)
    assert [r.number for r in other.seen.records] == [*range(5, n), n + 3]


def test_a_later_search_learns_the_value_of_a_known_point_that_it_asks_for() -> None:
    domain, n = make_domain(None, None), len(START + FLAT)
    seen = study([*START, *FLAT, 1.0, 2.0, 3.0], {n: n, n + 1: n, n + 2: n})
    search = next_search(seen)
    knowing = search.knowing(domain, seen, seen.X[4])
    assert knowing is not None
    assert knowing.seen.values.tolist() == [START[4], 1.0, 2.0, 3.0]
    assert knowing.seen.records == search.seen.records
    assert (knowing.began, knowing.n_queries) == (search.began, search.n_queries)
    assert search.knowing(domain, seen, seen.X[n]) is None  # it knows its own points
    assert search.knowing(domain, seen, np.array([0.123, 0.456])) is None
    assert next_search(seen, drawn=0.99).knowing(domain, seen, seen.X[4]) is None


def test_a_later_search_ends_when_it_has_converged() -> None:
    first = START + FLAT
    n = len(first)
    n_random = restart.n_random(2)
    own = [6.0 + i for i in range(n_random)] + FLAT
    last = n + len(own)
    seen = study(first + own, dict.fromkeys(range(n, last), n))
    assert next_search(study(first + own[:-1], dict.fromkeys(range(n, last - 1), n))).began == n
    assert next_search(seen).began == last


def test_searches_in_vain_lower_the_share_of_the_next() -> None:
    first = START + FLAT
    n, n_own = len(first), restart.n_random(2) + restart.PATIENCE
    own = [6.0] * n_own
    began = dict.fromkeys(range(n, n + n_own), n)
    once = study(first + own, began)
    later = {n + n_own: n + n_own}
    twice = study([*first, *own, 1.0], {**began, **later})
    just_below = 0.99 * restart.SHARE
    assert next_search(once, drawn=just_below).began == n + n_own
    assert next_search(twice, drawn=just_below).began is None
    assert next_search(twice, drawn=just_below / 2).began == n + n_own
    found = study([*first, 12.0, *own[1:], 1.0], {**began, **later})
    assert next_search(found, drawn=just_below).began == n + n_own


def test_few_mixed_columns_have_less_searches_afresh() -> None:
    seen, mixed = study(START + FLAT), make_domain(None, 5)
    between = 0.5 * (restart.SHARE_OF_MIXED + restart.SHARE)
    assert next_search(seen, 0.99 * restart.SHARE_OF_MIXED, mixed).began == len(seen.y)
    assert next_search(seen, between, mixed).began is None
    assert next_search(seen, between).began == len(seen.y)


@pytest.mark.parametrize(
    ("kinds", "share"),
    [
        ((), restart.SHARE_UNREFINED),
        (REFINED[1:], restart.SHARE_UNREFINED),
        (REFINED, restart.SHARE),
        (("elsewhere", *REFINED[1:]), restart.SHARE),
        (("pending", *REFINED[1:]), restart.SHARE_UNREFINED),
        (("restart", *REFINED[1:]), restart.SHARE_UNREFINED),
    ],
)
def test_searches_afresh_are_rare_until_the_best_point_is_refined(
    kinds: Sequence[str], share: float
) -> None:
    seen = study(START + FLAT, kinds=kinds)
    assert next_search(seen, 0.99 * share).began == len(seen.y)
    assert next_search(seen, 1.01 * share).began is None


def test_refinements_of_long_ago_and_of_later_searches_do_not_count() -> None:
    just_below = 0.99 * restart.SHARE
    late = [*START, *[5.0] * (WINDOW + 1)]
    assert next_search(study(late[:-1]), just_below).began is not None
    assert next_search(study(late), just_below).began is None  # the first one is forgotten
    n = len(START)
    later = {n + i: n + i for i in range(restart.LEAST_REFINED)}
    assert next_search(study(late[:-1], began=later), just_below).began is None


def test_of_many_columns_all_searches_afresh_have_the_same_share() -> None:
    domain, seen = wide(FEW_OF_MANY)
    assert next_search(seen, 0.99 * restart.SHARE, domain).began == len(seen.y)


def test_random_points_that_fail_are_not_repeated_for_ever() -> None:
    first = START + FLAT
    n, n_random = len(first), restart.n_random(2)
    seen = study(first)
    failed = [Record(n + i, "failed", said(n)) for i in range(n_random)]
    seen = replace(seen, records=[*seen.records, *failed], step=n + n_random)
    search = next_search(seen)
    assert search.began == n
    assert search.needs_random_points  # nothing is known yet, so experts cannot be asked
    one = replace(seen, records=[*seen.records[:-1], Record(n + n_random - 1, "complete", {})])
    assert next_search(one).n_queries == n_random - 1


@pytest.mark.parametrize("data", [-1, 10**400, 1.5, "0", True, None, [3], 99])
def test_untrusted_records_belong_to_the_first_search(data: Any) -> None:
    seen = study(START + FLAT)
    record = Record(20, "complete", {restart.KEY: data})
    search = next_search(replace(seen, records=[*seen.records, record]))
    assert search.began == seen.step


def test_the_portfolio_begins_afresh_and_its_trees_do_not() -> None:
    ledger = Ledger.started(DOMAIN, 6, lambda x: -float(((x - 0.4) ** 2).sum() > 0.0))
    suggestions = ledger.run(HDBO(), affordable(70, 45))
    records = [s.record or {} for s in suggestions]
    later = [r for r in records if restart.KEY in r]
    assert later
    assert len({r[restart.KEY] for r in later}) >= 1
    random = [r for r in later if r[QUERY] == "restart"]
    assert len(random) >= min(len(later), restart.n_random(2))
    assert all(EXPERT not in r for r in random)
    assert all(r[EXPERT] != "tree" for r in later if r[QUERY] != "restart")
    assert [s.report.get(restart.KEY) for s in suggestions] == [
        r.get(restart.KEY) for r in records
    ]


def test_a_tree_alone_never_begins_afresh() -> None:
    seen = study(START + FLAT + FLAT)
    for step in range(len(seen.y), len(seen.y) + 5):
        found = HDBO(experts=["tree"]).suggest(DOMAIN, replace(seen, step=step), Streams(0))
        assert restart.KEY not in (found.record or {})
