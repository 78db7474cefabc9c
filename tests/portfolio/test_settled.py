"""Searches afresh of all of many columns: they begin once the first search has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import make_domain
from searches import FEW_OF_MANY
from searches import fit_of
from searches import next_turn
from searches import said

from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.credit import KEY as EXPERT
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.panel import WINDOW
from optuna_hdbo.portfolio.searches import few
from optuna_hdbo.portfolio.searches import influence
from optuna_hdbo.portfolio.searches import restart
from optuna_hdbo.portfolio.searches import zoom


EARLY = np.linspace(0.0, 8.0, 60)
BEST = 10.0
LATE = np.linspace(4.0, 5.0, WINDOW - 1)
"""Values of the last queries, beside those that are close to the best one."""

UNIT = restart.CLOSE * (BEST - float(np.median(np.sort(np.r_[EARLY, BEST, LATE])[45:])))
"""The furthest value from the best one that counts as close."""

N = len(EARLY) + WINDOW


def values(close: Sequence[float]) -> np.ndarray:
    """Return the values of a study whose last queries are so far from the best one, in units."""
    late = LATE.copy()
    late[-len(close) :] = BEST - UNIT * np.array(close)
    return np.r_[EARLY, BEST, late]


CLOSE = np.linspace(0.1, 0.5, restart.LEAST_CLOSE - 1)
"""Of so many values beside the best one a search has settled."""


def study(n_columns: int = FEW_COLUMNS, known: np.ndarray | None = None) -> tuple[Any, Any]:
    """Return a study in which all trials from number 10 on are queries of the first search."""
    known = values(CLOSE) if known is None else known
    X = np.random.default_rng(3).random((len(known), n_columns))
    records = [Record(i, "complete", {EXPERT: "local"}) for i in range(10, len(known))]
    return make_domain(*[None] * n_columns), Observations.from_arrays(X, known, records=records)


def searched(
    domain: Any, seen: Observations, own: Sequence[float], columns: Sequence[str] | None = None
) -> Observations:
    """Return the study with trials of a search afresh that moves all columns, or these."""
    n = len(seen.values)
    X = np.vstack([seen.X, np.random.default_rng(n).random((len(own), len(domain)))])
    names = domain.names if columns is None else columns
    records = [Record(n + i, "complete", said(n, names)) for i in range(len(own))]
    known = np.r_[seen.values, own]
    return Observations.from_arrays(X, known, records=[*seen.records, *records])


def next_search(domain: Any, seen: Observations, drawn: float = 0.0) -> restart.Search:
    turn = next_turn(domain, seen, drawn)
    return restart.next_search(domain, seen, turn, Memory(seen.records))


@pytest.mark.parametrize(
    ("close", "settled"),
    [
        (CLOSE, True),
        (CLOSE[1:], False),
        ([*CLOSE[1:], 1.5], False),
        ([*CLOSE[1:], CLOSE[1]], False),  # equal values count once
        (np.linspace(0.1, 0.5, 2 * restart.LEAST_CLOSE), True),
    ],
)
def test_a_search_has_settled_once_many_of_its_last_values_are_close_to_the_best_one(
    close: Sequence[float], settled: bool
) -> None:
    assert restart.is_settled(values(close)) is settled
    assert next_turn(*study(known=values(close)), 0.0).settled is settled


@pytest.mark.parametrize(("gain", "settled"), [(0.7, True), (1.5, False)])
def test_a_search_that_still_gains_more_than_digits_has_not_settled(
    gain: float, settled: bool
) -> None:
    known = values([*CLOSE, 0.6])
    known[len(EARLY)] = BEST - gain * UNIT
    known[-restart.PATIENCE] = BEST
    assert restart.is_settled(known) is settled
    known[-restart.PATIENCE - 1 : -restart.PATIENCE + 1] = BEST, LATE[0]
    assert restart.is_settled(known)  # that gain is of long ago


def test_poor_values_do_not_make_others_close() -> None:
    poor = np.linspace(-1000.0, -900.0, 60)
    good = np.linspace(8.0, 9.0, 35)
    close = BEST - 2.0 * restart.CLOSE * np.linspace(1.0, 1.5, restart.LEAST_CLOSE - 1)
    known = np.r_[poor, good, BEST, poor[: WINDOW - restart.LEAST_CLOSE], close]
    assert not restart.is_settled(known)
    assert restart.is_settled(np.r_[poor, known[len(poor) + len(good) :]])


def test_close_means_close_beside_the_other_last_queries() -> None:
    n_slope = WINDOW - restart.LEAST_CLOSE
    slope = np.linspace(BEST - 8.0 * UNIT, BEST - 2.0 * UNIT, n_slope)
    last = np.r_[BEST, slope, BEST - UNIT * CLOSE]
    earlier = np.linspace(0.0, 8.0, 5 * WINDOW)
    assert not restart.is_settled(np.r_[earlier, last])  # it comes down a slope, step by step
    last[1 : 1 + n_slope] -= 4.0
    assert restart.is_settled(np.r_[earlier, last])


def test_values_of_long_ago_say_nothing() -> None:
    known = values(np.linspace(0.1, 0.5, restart.LEAST_CLOSE))
    n_since = WINDOW - restart.LEAST_CLOSE
    assert restart.is_settled(np.r_[known, LATE[:n_since]])
    assert not restart.is_settled(np.r_[known, LATE[: n_since + 1]])


def test_once_it_has_settled_a_search_afresh_moves_all_columns() -> None:
    domain, seen = study()
    search = next_search(domain, seen, 0.99 * restart.SHARE)
    assert search.began == seen.step
    assert search.columns.tolist() == list(range(FEW_COLUMNS))
    assert search.needs_random_points
    assert next_search(domain, seen, 1.01 * restart.SHARE).began is None
    later = searched(domain, seen, [1.0, 2.0])
    again = next_search(domain, later)
    assert again.began == N
    assert again.seen.values.tolist() == [1.0, 2.0]


def test_each_search_in_vain_lowers_the_share_of_the_next() -> None:
    domain, seen = study()
    first = searched(domain, seen, [1.0] * (restart.n_random(FEW_COLUMNS) + restart.PATIENCE))
    second = searched(domain, first, [2.0])
    share = restart.SHARE / (1 + restart.FADING)
    assert next_search(domain, second, 0.99 * share).began == len(first.values)
    assert next_search(domain, second, 1.01 * share).began is None


def test_while_it_improves_it_makes_all_queries() -> None:
    domain, seen = study(known=np.r_[values(CLOSE), 12.0])
    assert not next_turn(domain, seen, 0.0).settled
    assert next_search(domain, seen).began is None


def test_with_few_columns_values_do_not_decide() -> None:
    domain, seen = study(FEW_COLUMNS - 1)
    turn = next_turn(domain, seen, 0.0)
    assert not turn.settled
    assert turn.share == restart.SHARE_UNREFINED


def test_discrete_columns_and_noisy_values_never_settle() -> None:
    _, seen = study()
    discrete = make_domain(*[5] * FEW_COLUMNS)
    assert not next_turn(discrete, replace(seen, X=discrete.snap(seen.X)), 0.0).settled
    domain, _ = study()
    assert next_turn(domain, seen, 0.0).settled
    assert not next_turn(domain, replace(seen, ranks=seen.y), 0.0).settled


def test_trials_of_searches_afresh_do_not_count_for_the_first_one() -> None:
    domain, seen = study()
    poor = searched(domain, seen, np.linspace(1.0, 3.0, 2 * WINDOW).tolist())
    assert next_turn(domain, poor, 0.0).settled
    domain, seen = study(known=values(CLOSE[1:]))
    close = searched(domain, seen, (BEST - UNIT * np.linspace(0.1, 0.5, 9)).tolist())
    assert not next_turn(domain, close, 0.0).settled


def test_trials_of_the_search_that_found_the_best_point_do() -> None:
    domain, seen = study(known=np.r_[EARLY, LATE])
    later = searched(domain, seen, [BEST, *values(CLOSE)[-restart.PATIENCE :]])
    turn = next_turn(domain, later, 0.0)
    assert turn.holder == len(seen.values)
    assert turn.settled


def test_a_search_of_all_columns_ends_where_it_is_back_at_the_best_point() -> None:
    domain, seen = study()
    fit = Record(N - 1, "complete", {EXPERT: "local", **fit_of(domain, [0.5] * len(domain))})
    seen = replace(seen, records=[*seen.records[:-1], fit])
    later = searched(domain, seen, [1.0])
    assert next_search(domain, later).began == N
    X = later.X.copy()
    X[-1] = X[len(EARLY)] + 0.01
    assert next_search(domain, replace(later, X=X)).began == N + 1


def with_fit(lengthscales: list[float]) -> tuple[Any, Observations]:
    """Return a settled study with a fit of these lengthscales, which explains the objective."""
    domain, seen = study(len(lengthscales))
    fit = fit_of(domain, lengthscales)
    fit[influence.FIT]["n"] = N
    kept = Record(N - 1, "complete", {EXPERT: "local", **fit})
    return domain, replace(seen, records=[*seen.records[:-1], kept])


def next_short(domain: Any, seen: Observations) -> few.Descent | None:
    return few.next_search(domain, seen, next_turn(domain, seen, 0.0), Memory(seen.records))


def test_from_ten_columns_on_short_searches_move_the_few_that_matter() -> None:
    lengthscales = FEW_OF_MANY[:FEW_COLUMNS]
    domain, seen = with_fit(lengthscales)
    search = next_short(domain, seen)
    assert search is not None
    assert search.step.columns.tolist() == [0, 1, 2]
    unsettled = replace(seen, values=values(CLOSE[1:]))
    assert next_short(domain, unsettled) is None
    assert next_short(*with_fit([0.5] * FEW_COLUMNS)) is None  # all of them matter


def test_a_settled_study_asks_which_columns_matter() -> None:
    domain, seen = study()
    memory = Memory(seen.records)
    few.next_search(domain, seen, next_turn(domain, seen, 0.0), memory)
    assert influence.FIT in memory.kept


def test_a_search_of_all_columns_under_way_is_not_cut_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(influence, "GROWTH", 100.0)  # the recorded fit holds
    domain, seen = with_fit(FEW_OF_MANY[:FEW_COLUMNS])
    assert next_short(domain, searched(domain, seen, [1.0])) is None
    over = [1.0] * (restart.n_random(FEW_COLUMNS) + restart.PATIENCE)
    assert next_short(domain, searched(domain, seen, over)) is not None
    some = searched(domain, seen, [1.0], domain.names[:3])
    assert next_short(domain, some) is not None


def test_the_portfolio_asks_the_local_expert_and_opens_no_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_box(*args: Any) -> None:
        raise AssertionError("a box was asked for")

    monkeypatch.setattr(zoom, "next_zoom", no_box)
    monkeypatch.setattr(restart, "SHARE", 1.0)
    domain, seen = study()
    begun = HDBO().suggest(domain, seen, Streams(0))
    assert begun.report[QUERY] == "restart"
    assert begun.report[restart.KEY] == N
    n_random = restart.n_random(FEW_COLUMNS)
    later = searched(domain, seen, np.linspace(1.0, 3.0, n_random).tolist())
    for step in range(N + n_random, N + n_random + 8):
        asked = HDBO().suggest(domain, replace(later, step=step), Streams(0))
        assert asked.report[EXPERT] == few.EXPERT
        assert asked.report[restart.KEY] == N


def test_without_a_local_expert_the_others_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restart, "SHARE", 1.0)
    domain, seen = study()
    later = searched(domain, seen, np.linspace(1.0, 3.0, restart.n_random(FEW_COLUMNS)).tolist())
    asked = HDBO(experts=["global"]).suggest(domain, later, Streams(0))
    assert asked.report[EXPERT] == "global"
    assert asked.report[restart.KEY] == N
