"""Focused queries: when they are made, what they move, and how they are signed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from histories import make_domain
from scipy.stats import norm
from searches import FEW_OF_MANY
from searches import fit_of
from searches import next_turn
from searches import wide

from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.streams import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.panel import MOST_REFINED
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.panel import WINDOW
from optuna_hdbo.portfolio.searches import few
from optuna_hdbo.portfolio.searches import focused
from optuna_hdbo.portfolio.searches import influence
from optuna_hdbo.portfolio.searches import zoom


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every turn of the first search be that of a focused query, under the recorded fit."""
    monkeypatch.setattr(influence, "GROWTH", 100.0)
    monkeypatch.setattr(influence, "RARE_GROWTH", 100.0)
    monkeypatch.setattr(focused, "LEAST_TRIALS", 25)
    monkeypatch.setattr(focused, "LEAST_COLUMNS", 24)
    monkeypatch.setattr(focused, "_is_its_turn", lambda *args: True)


def query(domain: Any, seen: Observations, seed: int = 0, drawn: float = 1.0) -> Suggestion | None:
    turn, rng = next_turn(domain, seen, drawn), np.random.default_rng(seed)
    return focused.next_query(domain, seen, turn, Memory(seen.records), rng)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_it_moves_the_columns_that_matter_or_all_in_a_box(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(focused, "SHARE_OF_WHOLE", share)
    domain, seen = wide(FEW_OF_MANY)
    best = seen.X[int(np.argmax(seen.values))]
    for seed in range(4):
        asked = query(domain, seen, seed)
        assert asked is not None
        moved = np.flatnonzero(asked.x != best)
        assert len(moved)
        assert (set(moved.tolist()) <= {0, 1, 2}) == (share == 0.0)
        assert np.abs(asked.x - best)[:3].max() <= few.LENGTH / 2 + 1e-12


def test_it_has_the_largest_expected_improvement_of_many_points() -> None:
    domain, seen = wide(FEW_OF_MANY)
    step = few.next_step(domain, seen, Memory(seen.records))
    assert step is not None
    row = int(np.argmax(seen.values))
    posterior = FactorCache().posterior(step.fitted, seen.X, seen.y, seen.pending)
    x = step.best(domain, seen, posterior, row, np.random.default_rng(0))
    pool = np.repeat(seen.X[row][None], 2000, axis=0)
    shift = np.random.default_rng(1).uniform(-0.5, 0.5, (2000, 3)) * few.LENGTH
    pool[:, :3] = np.clip(pool[:, :3] + shift, 0.0, 1.0)

    def improvement(Z: Any) -> Any:
        mean, variance = posterior.predict(Z)
        std = np.sqrt(variance)
        u = (mean - seen.y[row]) / std
        return std * (u * norm.cdf(u) + norm.pdf(u))

    assert improvement(x[None])[0] >= improvement(pool).max() * (1.0 - 1e-6)


def test_it_is_signed() -> None:
    domain, seen = wide(FEW_OF_MANY)
    asked = query(domain, seen)
    assert asked is not None
    assert asked.record == {credit.KEY: few.EXPERT, QUERY: "search", focused.KEY: True}
    assert asked.report[QUERY] == "search"
    assert {"predicted", "std"} <= set(asked.report)


def test_there_is_none_while_trials_or_columns_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, seen = wide(FEW_OF_MANY)
    monkeypatch.setattr(focused, "LEAST_TRIALS", len(seen.y))
    assert query(domain, seen) is not None
    monkeypatch.setattr(focused, "LEAST_TRIALS", len(seen.y) + 1)
    assert query(domain, seen) is None
    monkeypatch.setattr(focused, "LEAST_TRIALS", len(seen.y))
    monkeypatch.setattr(focused, "LEAST_COLUMNS", 25)
    assert query(domain, seen) is None


def test_there_is_none_where_many_columns_matter() -> None:
    assert query(*wide([0.5] * (FEW_COLUMNS - 1) + [1e3] * 30)) is not None
    assert query(*wide([0.5] * FEW_COLUMNS + [1e3] * 30)) is None


def test_there_is_none_where_the_fit_explains_little() -> None:
    domain, seen = wide(FEW_OF_MANY)
    last = seen.records[-1]
    data = {**last.data, influence.EXPLAINED: influence.LEAST_EXPLAINED - 0.01}
    poor = replace(seen, records=[*seen.records[:-1], replace(last, data=data)])
    assert query(domain, poor) is None


@pytest.mark.parametrize(
    ("matter", "explained", "due"), [(3, 0.9, 0.1), (3, 0.4, 0.3), (20, 0.9, 0.3)]
)
def test_the_fit_is_made_again_rarely_where_it_focuses_nothing(
    monkeypatch: pytest.MonkeyPatch, matter: int, explained: float, due: float
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(focused, "_is_its_turn", lambda *args: True)
    monkeypatch.setattr(focused, "LEAST_TRIALS", 1)
    domain, seen = wide([0.5] * matter + [1e3] * (30 - matter))
    for grown in (due - 0.05, due + 0.05):
        n = round(len(seen.y) / (1.0 + grown))  # of the recorded fit
        last = seen.records[-1]
        data = {influence.FIT: {**last.data[influence.FIT], "n": n}}
        data = {**last.data, **data, influence.EXPLAINED: explained}
        records = [*seen.records[:-1], replace(last, data=data)]
        older, memory = replace(seen, records=records), Memory(records)
        rng = np.random.default_rng(0)
        focused.next_query(domain, older, next_turn(domain, older, 1.0), memory, rng)
        assert (influence.FIT in memory.kept) is (grown > due)


def test_searches_afresh_keep_their_turn() -> None:
    domain, seen = wide(FEW_OF_MANY)
    assert next_turn(domain, seen, 0.0).is_later(few.FADING)
    assert query(domain, seen, drawn=0.0) is None


def test_digits_of_the_best_point_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, seen = wide(FEW_OF_MANY)
    close = seen.X[int(np.argmax(seen.values))] + 1e-5
    monkeypatch.setattr(few.Step, "best", lambda *args: close)
    asked = query(domain, seen)
    assert asked is not None
    assert asked.record is not None
    assert asked.record[QUERY] == asked.report[QUERY] == "refine"
    n_most = int(np.ceil(MOST_REFINED * WINDOW))
    records = [
        Record(record.number, record.state, {**record.data, QUERY: "refine"})
        for record in seen.records[-n_most:]
    ]
    often = replace(seen, records=[*seen.records[:-n_most], *records])
    assert query(domain, often) is None


@pytest.mark.parametrize("own", [True, False])
def test_whose_turn_it_is_depends_on_successes(
    monkeypatch: pytest.MonkeyPatch, *, own: bool
) -> None:
    monkeypatch.undo()
    n = 60
    values = np.where(np.arange(n) % 2, np.arange(n, dtype=np.float64), -1.0)
    # Every other query is a success. Those are the focused ones, or all but these.
    data = [{focused.KEY: True} if i % 2 == own else {} for i in range(n)]
    records = [Record(i, "complete", known) for i, known in enumerate(data)]
    X = np.random.default_rng(0).random((n, 24))
    domain = make_domain(*[None] * 24)
    seen = Observations.from_arrays(X, values, records=records)
    turn, rng = next_turn(domain, seen, 1.0), np.random.default_rng(1)
    share = np.mean([focused._is_its_turn(seen, turn, rng) for _ in range(400)])
    assert share > 0.9 if own else share < 0.1


def two_of_many(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Return a history whose last fit knows that two of 24 columns matter."""
    monkeypatch.setattr(zoom, "next_zoom", lambda *args: None)
    domain = make_domain(*[None] * 24)
    ledger = Ledger.started(domain, 30, lambda x: float(-((x[:2] - 0.4) ** 2).sum()))
    x = domain.snap(np.full((1, 24), 0.3))[0]
    ledger.keep(Suggestion(x, {credit.KEY: "global", **fit_of(domain, [0.5] * 2 + [1e3] * 22)}))
    ledger.observe(x)
    return ledger


@pytest.mark.parametrize("local", [True, False])
def test_the_portfolio_focuses_queries_of_its_local_expert(
    monkeypatch: pytest.MonkeyPatch, *, local: bool
) -> None:
    ledger = two_of_many(monkeypatch)
    experts = ["global", "local"] if local else ["global"]
    asked = ledger.run(HDBO(experts=experts), affordable(4, 2))
    assert all((s.record or {}).get(focused.KEY, False) is local for s in asked)


def test_the_portfolio_asks_others_where_a_focused_query_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = two_of_many(monkeypatch)
    there = np.full(24, 0.7)
    monkeypatch.setattr(few.Step, "best", lambda *args: there)
    for pending, own in ([], True), ([there + 1e-4], False):
        told = HDBO().suggest(ledger.domain, ledger.seen(pending), Streams(0))
        assert ((told.record or {}).get(focused.KEY) is True) is own
