"""Searches of few columns: which columns they move, how they begin, and when they are over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from histories import make_domain
from searches import FEW_OF_MANY
from searches import converged
from searches import fit_of
from searches import next_turn
from searches import wide
from searches import with_later

from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio.credit import FEW_COLUMNS
from optuna_hdbo.portfolio.credit import KEY as EXPERT
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.searches import few
from optuna_hdbo.portfolio.searches import influence
from optuna_hdbo.portfolio.searches import restart
from optuna_hdbo.portfolio.searches import zoom


@pytest.fixture(autouse=True)
def _no_new_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fits that the tests record hold for all further trials."""
    monkeypatch.setattr(influence, "GROWTH", 100.0)


def next_search(
    domain: Any, seen: Observations, drawn: float = 0.0, memory: Memory | None = None
) -> Any:
    memory = Memory(seen.records) if memory is None else memory
    return few.next_search(domain, seen, next_turn(domain, seen, drawn), memory)


def test_only_the_columns_that_matter_move() -> None:
    lengthscales = [1e3] * 24
    for column in (0, 7, 11):
        lengthscales[column] = 0.5
    domain, seen = wide(lengthscales)
    search = next_search(domain, seen)
    assert search.began == seen.step
    assert search.step.columns.tolist() == [0, 7, 11]
    assert search.needs_random_points
    later = with_later(seen, 0.3, [1.0, 2.0, 4.0])
    search = next_search(domain, later)
    assert search.began == len(seen.y)
    assert search.n_queries == 3
    assert not search.needs_random_points
    x = search.suggest(domain, later, np.random.default_rng(0)).x
    own = later.X[-1]
    moved = np.flatnonzero(x != own)
    assert len(moved)
    assert set(moved.tolist()) <= {0, 7, 11}


def test_random_points_differ_in_all_columns() -> None:
    domain, seen = wide(FEW_OF_MANY)
    search = next_search(domain, seen)
    asked = search.suggest(domain, seen, np.random.default_rng(0))
    assert asked.record == {QUERY: "restart", restart.KEY: seen.step, **search.step.memory.kept}
    assert asked.report == {QUERY: "restart", restart.KEY: seen.step}
    assert (asked.x != search.best).all()


def test_random_points_are_the_furthest_drawn_from_the_better_half() -> None:
    domain, seen = wide(FEW_OF_MANY)
    search = next_search(domain, seen)
    x = search.suggest(domain, seen, np.random.default_rng(3)).x
    drawn = domain.sample(np.random.default_rng(3), few.N_DRAWN)
    better = [z for z, value in zip(seen.X, seen.values, strict=True) if value >= 5.0]
    gaps = [min(((d - z)[:3] ** 2).sum() for z in better) for d in drawn]
    assert x.tolist() == drawn[int(np.argmax(gaps))].tolist()


def test_a_search_stays_in_a_box_around_its_own_best_point() -> None:
    domain, seen = wide(FEW_OF_MANY)
    seen = with_later(seen, 0.3, [1.0, 2.0, 4.0])
    search = next_search(domain, seen)
    for seed in range(5):
        asked = search.suggest(domain, seen, np.random.default_rng(seed))
        assert np.abs(asked.x - seen.X[-1]).max() <= few.LENGTH / 2 + 1e-12
        assert asked.record is not None
        assert asked.record[EXPERT] == few.EXPERT
        assert asked.report[QUERY] == "search"
        assert asked.report[restart.KEY] == search.began
        assert {"predicted", "std"} <= set(asked.report)


def test_a_search_does_not_see_what_lies_around_the_best_point_of_all() -> None:
    domain, seen = wide(FEW_OF_MANY)
    near = with_later(seen, 0.02, [9.0] * 5, began=-1)  # of the first search
    later = with_later(near, 0.45, [1.0, 2.0, 4.0])
    search = next_search(domain, later)
    posterior, level = search._posterior(later)
    top = int(np.argmax(later.y))
    correlations = search.correlations(later.X[top], later.X)
    kernel = search.step.fitted.kernel
    Z = later.X.copy()
    Z[:, 3:] = later.X[top, 3:]
    by_hand = kernel.cross(Z, later.X[top][None])[0] / kernel.variance
    assert correlations == pytest.approx(by_hand)
    seen_rows = [i for i in range(len(later.y)) if correlations[i] < few.BASIN or i in search.rows]
    assert posterior.X.tolist() == later.X[seen_rows].tolist()
    assert posterior.y.tolist() == (later.y[seen_rows] - level).tolist()
    assert top not in seen_rows
    assert all(i not in seen_rows for i in range(len(seen.y), len(near.y)))


def on_a_slope(level: float, gain: float) -> tuple[Any, Observations]:
    """Return a study with a search whose values rise along column 0, far from all other trials."""
    domain, seen = wide([0.02] * 3 + [1e3] * 21)
    later = with_later(seen, 0.4, [level + gain * step for step in (1.0, 2.0, 4.0)])
    later.X[-3:, 0] += [0.0, 0.01, 0.02]
    return domain, later


def test_where_a_search_goes_does_not_depend_on_the_size_of_its_values() -> None:
    asked = []
    for level, gain in ((6.0, 0.1), (7.0, 0.01), (5.5, 1e-3)):
        domain, seen = on_a_slope(level, gain)
        search = next_search(domain, seen)
        asked.append(search.suggest(domain, seen, np.random.default_rng(0)))
        # In the objective's units.
        assert level < asked[-1].report["predicted"] < level + 8.0 * gain
        assert 0.0 < asked[-1].report["std"] < 8.0 * gain
    for other in asked[1:]:
        assert other.x == pytest.approx(asked[0].x, abs=1e-4)


def test_a_search_has_the_level_and_the_spread_of_its_own_values() -> None:
    domain, seen = on_a_slope(2.0, 0.1)
    search = next_search(domain, seen)
    posterior, level = search._posterior(seen)
    kernel = search.step.fitted.kernel
    expected, spread = Factor(kernel, seen.X[-3:]).likeliest(seen.y[-3:])
    assert level == expected
    assert few.LEAST_SPREAD < spread < 1.0
    assert posterior.kernel.variance == pytest.approx(spread * kernel.variance)
    assert posterior.kernel.noise == pytest.approx(spread * kernel.noise)


@pytest.mark.parametrize(("gain", "spread"), [(0.0, few.LEAST_SPREAD), (1.5, 1.0)])
def test_the_spread_of_a_search_has_bounds(gain: float, spread: float) -> None:
    domain, seen = on_a_slope(2.0, gain)
    search = next_search(domain, seen)
    posterior, _ = search._posterior(seen)
    assert posterior.kernel.variance == pytest.approx(spread * search.step.fitted.kernel.variance)
    assert np.isfinite(search.suggest(domain, seen, np.random.default_rng(0)).x).all()


def test_where_many_columns_matter_no_search_begins_afresh() -> None:
    for matter, others in ((FEW_COLUMNS, 30), (8, 14)):  # 8 are more than a third of 22
        domain, seen = wide([0.5] * matter + [1e3] * others)
        assert next_search(domain, seen) is None
    domain, seen = wide([0.5] * (FEW_COLUMNS - 1) + [1e3] * 30)
    assert next_search(domain, seen) is not None


def test_with_less_than_twenty_columns_none_are_left_out() -> None:
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.LEAST_COLUMNS - 3))
    assert next_search(domain, seen) is not None
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.LEAST_COLUMNS - 4))
    assert next_search(domain, seen) is None


@pytest.mark.parametrize("explained", [influence.LEAST_EXPLAINED - 0.01, -1.0, None, "1", [0.9]])
def test_without_a_fit_that_explains_enough_no_search_begins(explained: Any) -> None:
    domain, seen = wide(FEW_OF_MANY)
    last = seen.records[-1]
    data = {**last.data, influence.EXPLAINED: explained}
    seen = replace(seen, records=[*seen.records[:-1], replace(last, data=data)])
    assert next_search(domain, seen) is None


def test_of_very_many_columns_none_is_asked_whether_it_matters() -> None:
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.MOST_COLUMNS - 3))
    assert next_search(domain, seen) is not None
    domain, seen = wide([0.5] * 3 + [1e3] * (influence.MOST_COLUMNS - 2))
    assert next_search(domain, seen) is None


def test_columns_without_a_continuous_one_do_not_begin_afresh() -> None:
    _, seen = wide(FEW_OF_MANY)
    discrete = make_domain(*["5"] * 3, *[None] * 21)
    assert next_search(discrete, replace(seen, X=discrete.snap(seen.X))) is None


@pytest.mark.parametrize(("n", "renewed"), [(60, False), (50, True)])
def test_the_fit_is_renewed_once_it_is_due(
    monkeypatch: pytest.MonkeyPatch, n: int, *, renewed: bool
) -> None:
    monkeypatch.setattr(influence, "GROWTH", 0.1)
    domain, seen = converged(lambda X: 5.0 * X[:, 3] + 7.0 * X[:, 8])
    assert next_search(domain, seen) is None  # no fit is recorded
    data = fit_of(domain, FEW_OF_MANY)
    data[influence.FIT]["n"] = n
    last = Record(seen.records[-1].number, "complete", data)
    memory = Memory([*seen.records[:-1], last])
    search = next_search(domain, replace(seen, records=memory.records), memory=memory)
    assert search.step.columns.tolist() == ([3, 8] if renewed else [0, 1, 2])
    assert set(memory.kept) == ({influence.FIT, influence.EXPLAINED} if renewed else set())


def test_a_search_ends_where_it_is_back_at_the_best_point() -> None:
    domain, seen = wide(FEW_OF_MANY)
    n, n_random = len(seen.y), few.N_RANDOM
    away = with_later(seen, 0.4, [1.0] * n_random)
    assert next_search(domain, away).began == n
    back = with_later(seen, 0.05, [1.0] * n_random)
    assert next_search(domain, back).began == n + n_random


def test_a_search_that_found_the_best_point_does_not_end_at_it() -> None:
    domain, seen = wide(FEW_OF_MANY)
    n = len(seen.y)
    found = with_later(seen, 0.05, [20.0, 15.0, 15.0])
    assert next_search(domain, found) is None
    # Its own queries count as those of the first search, which has to converge once more.
    flat = with_later(found, 0.3, [5.0] * restart.PATIENCE, began=-1)
    assert next_search(domain, flat).began == n


def test_a_search_ends_when_it_has_converged() -> None:
    domain, seen = wide(FEW_OF_MANY)
    n = len(seen.y)
    own = [1.0, 2.0, 4.0, *[3.0] * few.PATIENCE]
    assert next_search(domain, with_later(seen, 0.4, own[:-1])).began == n
    assert next_search(domain, with_later(seen, 0.4, own)).began == n + len(own)
    improving = [*own[:-1], 6.0]
    assert next_search(domain, with_later(seen, 0.4, improving)).began == n


def test_a_search_ends_where_it_is_too_slow_to_reach_the_best_value() -> None:
    domain, seen = wide(FEW_OF_MANY)  # its best value is 10
    n = len(seen.y)
    for best, goes_on in ((5.1, False), (5.3, True)):  # 10 - 5.2 is four times 5.2 - 4
        own = [1.0, 2.0, 4.0, *[3.0] * (few.PATIENCE - 1), best]
        began = next_search(domain, with_later(seen, 0.4, own)).began
        assert (began == n) is goes_on


def test_random_points_that_fail_are_followed_by_another_one() -> None:
    domain, seen = wide(FEW_OF_MANY)
    n = len(seen.y)
    failed = [Record(n + i, "failed", {restart.KEY: n}) for i in range(few.N_RANDOM)]
    seen = replace(seen, records=[*seen.records, *failed], step=n + few.N_RANDOM)
    search = next_search(domain, seen)
    assert search.began == n
    assert search.needs_random_points  # nothing is known yet


def test_searches_in_vain_cost_little_of_the_share() -> None:
    domain, seen = wide(FEW_OF_MANY)
    first = with_later(seen, 0.4, [1.0])
    second = with_later(first, 0.4, [1.0], began=len(first.y))
    share = restart.SHARE / (1 + few.FADING)
    assert next_search(domain, second, 0.99 * share).began == len(first.y)
    assert next_search(domain, second, 1.01 * share) is None


def test_without_the_local_expert_the_others_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain, seen = wide(FEW_OF_MANY)
    monkeypatch.setattr(restart, "SHARE", 1.0)
    monkeypatch.setattr(zoom, "next_zoom", lambda *args: None)
    asked = HDBO(experts=["global", "local"]).suggest(domain, seen, Streams(0)).record
    assert asked is not None
    assert asked[QUERY] == "restart"
    assert restart.COLUMNS not in asked
    alone = HDBO(experts=["global"]).suggest(domain, seen, Streams(0)).record
    assert alone is not None
    assert alone[restart.COLUMNS] == ["x0", "x1", "x2"]  # as where no fit explains enough


def test_constraints_are_met_by_a_search() -> None:
    domain, seen = wide(FEW_OF_MANY)
    seen = with_later(seen, 0.3, [1.0, 2.0, 4.0])
    x0 = seen.X[-1, 0]
    values = seen.X[:, 0] - x0 - 0.02  # column 0 must hardly be larger than now
    bound = replace(seen, constraints=values[:, None])
    search = few.Descent(
        began=25,
        best=seen.X[int(np.argmax(seen.y))],
        rows=np.arange(25, 28),
        n_queries=3,
        step=few.Step(np.arange(3), _fit(domain), Memory(seen.records)),
    )
    for seed in range(3):
        x = search.suggest(domain, bound, np.random.default_rng(seed)).x
        assert x[0] - x0 <= 0.1
    assert any(key.startswith("constraint") for key in search.step.memory.kept)


def _fit(domain: Any) -> Fitted:
    fitted = Fitted.from_json(fit_of(domain, FEW_OF_MANY)[influence.FIT], domain)
    assert fitted is not None
    return fitted


@pytest.mark.parametrize("mixed", [False, True])
def test_the_portfolio_signs_the_queries_of_a_search(
    monkeypatch: pytest.MonkeyPatch, *, mixed: bool
) -> None:
    """The wide optimum has the value 1, and the narrow one 2; both lie in columns 0 and 1."""
    # So that a few queries show all kinds.
    monkeypatch.setattr(restart, "SHARE", 1.0)
    monkeypatch.setattr(zoom, "next_zoom", lambda *args: None)
    domain = make_domain(None, None, *(["3"] if mixed else [None]), *[None] * 19)

    def value(x: Any) -> float:
        wide_one = np.exp(-8.0 * ((x[:2] - 0.25) ** 2).sum())
        narrow = 2.0 * np.exp(-40.0 * ((x[:2] - 0.8) ** 2).sum())
        return float(max(wide_one, narrow))

    ledger = Ledger.started(domain, 40, value)
    ledger.observe(domain.snap(np.full((1, 22), 0.25))[0])
    near = domain.snap(np.clip(0.25 + 0.02 * np.random.default_rng(1).normal(size=(30, 22)), 0, 1))
    fit = fit_of(domain, [0.5] * 2 + [1e3] * 20)
    for x in near:
        ledger.keep(Suggestion(x, {EXPERT: "global", **fit}))
        ledger.observe(x)
    suggestions = ledger.run(HDBO(), affordable(30, few.N_RANDOM + 2))
    later = [s for s in suggestions if restart.KEY in (s.record or {})]
    kinds = {s.record[QUERY] for s in later if s.record is not None}
    assert kinds == {"restart", "search"}
    for s in later:
        assert s.record is not None
        assert s.report[restart.KEY] == s.record[restart.KEY]
        assert (s.record.get(EXPERT) == few.EXPERT) == (s.record[QUERY] == "search")
