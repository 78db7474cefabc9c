"""Boxes one after another: each has a record of successes of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histories import make_domain

from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Record
from optuna_hdbo.portfolio.searches import zoom


class Credited:
    """A generator that keeps what it is asked for, and lets the box have its turn."""

    def __init__(self) -> None:
        self.credits: list[tuple[float, float]] = []

    def beta(self, wins: float, losses: float) -> float:
        self.credits.append((wins, losses))
        return 1.0 / len(self.credits)


def test_queries_of_earlier_boxes_count_neither_for_a_box_nor_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zoom, "LEAST_COLUMNS", 1)
    first = {zoom.KEY: {"root": 0, "side": zoom.FIRST_SIDE}}
    data: list[dict[str, Any]] = [{}] * zoom.STALLED + [first] * zoom.PATIENCE
    n = 1 + len(data)
    X, values = np.random.default_rng(0).random((n, 2)), np.linspace(0.0, 1.0, n)
    X[0], values[0] = 0.5, 10.0
    records = [Record(1 + i, "complete", said) for i, said in enumerate(data)]
    rng = Credited()
    seen = Observations.from_arrays(X, values, records=records)
    found = zoom.next_zoom(make_domain(None, None), seen, rng)  # type: ignore[arg-type]
    assert found is not None
    assert found.box == zoom.Box(0, zoom.FIRST_SIDE / zoom.SHRINK)
    wins, losses = zoom.PRIOR
    others = losses + sum(0.9**i for i in range(zoom.STALLED))
    assert rng.credits == [(wins, losses), pytest.approx((wins, others))]
