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
