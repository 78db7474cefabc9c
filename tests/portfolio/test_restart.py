"""Restarts: when a search begins afresh, what it sees, and when it is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from histories import make_domain

from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.portfolio import restart
from optuna_hdbo.portfolio.credit import KEY as EXPERT
from optuna_hdbo.portfolio.experts import FEW_COLUMNS
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.hdbo import QUERY


DOMAIN = make_domain(None, None)


class Always:
    """A generator that always draws the same number."""

    def __init__(self, drawn: float) -> None:
        self.drawn = drawn

    def random(self) -> float:
        return self.drawn


def next_search(seen: Observations, drawn: float = 0.0, domain: Any = DOMAIN) -> restart.Search:
    return restart.next_search(domain, seen, Always(drawn))  # type: ignore[arg-type]


def study(values: list[float], began: dict[int, int] | None = None) -> Observations:
    """Return a study whose trials from number 5 on are queries, some of them of later searches."""
    began = began or {}
    records = [
        Record(i, "complete", {EXPERT: "global"} | ({restart.KEY: began[i]} if i in began else {}))
        for i in range(5, len(values))
    ]
    X = np.random.default_rng(0).random((len(values), 2))
    return Observations.from_arrays(X, np.array(values), records=records)


START = [0.0, 1.0, 2.0, 3.0, 10.0]
FLAT = [5.0] * restart.PATIENCE


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
    assert search.needs_random_points(2)


def test_startup_trials_say_nothing_about_convergence() -> None:
    seen = study(START + FLAT)
    assert next_search(replace(seen, records=())).began is None


def test_digits_are_no_improvement() -> None:
    refining = [5.0, 5.0, 5.0, 5.0, 5.0] * (restart.PATIENCE // 5)
    refining[::5] = [10.0 + 1e-6 * i for i in range(1, len(refining) // 5 + 1)]
    assert next_search(study(START + refining)).began is not None


@pytest.mark.parametrize("n_columns", [FEW_COLUMNS - 1, FEW_COLUMNS])
def test_only_few_columns_begin_afresh(n_columns: int) -> None:
    seen = study(START + FLAT)
    seen = replace(seen, X=np.zeros((len(seen.y), n_columns)))
    search = next_search(seen, domain=make_domain(*[None] * n_columns))
    assert (search.began is None) == (n_columns == FEW_COLUMNS)


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
    assert search.needs_random_points(2) == (restart.n_random(2) > 3)
    other = next_search(seen, drawn=0.99)
    assert other.began is None
    assert len(other.seen.values) == len(seen.values)
    assert [r.number for r in other.seen.records] == [*range(5, n), n + 3]


def test_a_later_search_ends_when_it_has_converged() -> None:
    first = START + FLAT
    n = len(first)
    n_random = restart.n_random(2)
    own = [6.0 + i for i in range(n_random)] + FLAT
    last = n + len(own)
    seen = study(first + own, dict.fromkeys(range(n, last), n))
    assert next_search(study(first + own[:-1], dict.fromkeys(range(n, last - 1), n))).began == n
    assert next_search(seen).began == last


def test_random_points_that_fail_are_not_repeated_for_ever() -> None:
    first = START + FLAT
    n, n_random = len(first), restart.n_random(2)
    seen = study(first)
    failed = [Record(n + i, "failed", {restart.KEY: n}) for i in range(n_random)]
    seen = replace(seen, records=[*seen.records, *failed], step=n + n_random)
    search = next_search(seen)
    assert search.began == n
    assert search.needs_random_points(2)  # nothing is known yet, so experts cannot be asked
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
