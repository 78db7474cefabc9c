"""Short searches of few columns: around which point, and which of their queries count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from searches import FEW_OF_MANY
from searches import next_turn
from searches import said
from searches import wide
from searches import with_later

from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.portfolio.searches import few
from optuna_hdbo.portfolio.searches import influence


@pytest.fixture(autouse=True)
def _no_new_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fits that the tests record hold for all further trials."""
    monkeypatch.setattr(influence, "GROWTH", 100.0)


def next_search(domain: Any, seen: Observations) -> Any:
    return few.next_search(domain, seen, next_turn(domain, seen, 0.0), Memory(seen.records))


@pytest.mark.parametrize("best", [0, 1])
def test_of_its_own_points_the_best_one_is_the_centre(best: int) -> None:
    domain, seen = wide(FEW_OF_MANY)
    values = [1.0, 1.0, 1.0]
    values[best] = 4.0
    later = with_later(seen, 0.3, values)
    places = np.array([0.1, 0.5, 0.9])
    later.X[-3:, :3] = places[:, None]
    search = next_search(domain, later)
    assert search.began == len(seen.y)
    x = search.suggest(domain, later, np.random.default_rng(0)).x
    assert np.abs(x[:3] - places[best]).max() <= few.LENGTH / 2 + 1e-12


def test_queries_without_a_value_do_not_end_a_search() -> None:
    domain, seen = wide(FEW_OF_MANY)
    n = len(seen.y)
    later = with_later(seen, 0.4, [1.0, 2.0, 4.0])
    numbers = range(n + 3, n + 3 + 2 * few.PATIENCE)
    failed = [Record(k, "failed", said(n, ("x0", "x1", "x2"))) for k in numbers]
    later = replace(later, records=[*later.records, *failed], step=numbers.stop)
    assert next_search(domain, later).began == n


def test_random_points_do_not_count_as_slow_queries() -> None:
    domain, seen = wide(FEW_OF_MANY)  # its best value is 10
    n = len(seen.y)
    # From 4 to 5.1 in so many queries is too slow, and one query less says nothing.
    for n_flat, goes_on in ((few.PATIENCE - 2, True), (few.PATIENCE - 1, False)):
        own = [4.0, 1.0, 2.0, *[3.0] * n_flat, 5.1]
        began = next_search(domain, with_later(seen, 0.4, own)).began
        assert (began == n) is goes_on


def test_pending_points_in_its_box_are_to_be_improved_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others are elsewhere: what is expected there says nothing about this search."""
    domain, seen = wide(FEW_OF_MANY)
    step = few.next_step(domain, seen, Memory(seen.records))
    assert step is not None
    row, level = int(np.argmax(seen.values)), 0.3
    inside, outside = seen.X[row] + 1e-3, seen.X[row].copy()
    outside[:3] += np.where(outside[:3] < 0.5, 0.5, -0.5)
    asked: list[float] = []
    improvement = Feasibility.improvement

    def recorded(self: Any, posterior: Any, incumbent: float) -> Any:
        asked.append(incumbent)
        return improvement(self, posterior, incumbent)

    monkeypatch.setattr(Feasibility, "improvement", recorded)
    for pending in ([], [outside], [inside], [inside, outside]):
        told = replace(seen, pending=np.array(pending).reshape(-1, len(domain)))
        posterior = FactorCache().posterior(step.fitted, seen.X, seen.y, told.pending)
        monkeypatch.setattr(type(posterior), "mean", lambda self, X: np.full(len(X), 50.0))
        step.best(domain, told, posterior, row, np.random.default_rng(0), level)
    assert asked[:2] == [float(seen.y[row]) - level] * 2
    assert asked[2:] == [50.0] * 2
