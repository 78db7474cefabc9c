"""Dropout and LineBO: which part of the space a query moves in, and where the rest is."""

from __future__ import annotations

import numpy as np
import pytest
from histories import DOMAINS
from histories import Ledger
from histories import affordable
from histories import make_domain

from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.baselines.dropout import DropoutUCB
from optuna_hdbo.methods.baselines.linebo import KEY
from optuna_hdbo.methods.baselines.linebo import Line
from optuna_hdbo.methods.baselines.linebo import LineBO


def bowl(x: np.ndarray) -> float:
    return -float(((x - 0.4) ** 2).sum())


def moved(ledger: Ledger, row: int) -> np.ndarray:
    """Return the columns in which a point differs from the best one before it."""
    best = int(np.argmax(ledger.values[:row]))
    return np.flatnonzero(ledger.X[row] != ledger.X[best])


def test_dropout_copies_what_it_does_not_draw() -> None:
    """Algorithm 1 of Li et al. (2017), Dropout-Copy: d columns move, the others are the best's."""
    ledger = Ledger.started(make_domain(*[None] * 8), 5, bowl)
    ledger.run(DropoutUCB(d=2, fill="copy"), affordable(6, 3))
    drawn = [tuple(moved(ledger, row)) for row in range(5, len(ledger.X))]
    assert all(len(columns) == 2 for columns in drawn)
    assert len(set(drawn)) > 1


def test_dropout_fills_at_random_by_chance() -> None:
    ledger = Ledger.started(make_domain(*[None] * 8), 5, bowl)
    method = DropoutUCB(d=2, p=0.5)
    copied = [
        np.sum(method.suggest(ledger.domain, ledger.seen(step=step), Streams(0)).x == best) == 6
        for best in [ledger.X[int(np.argmax(ledger.values))]]
        for step in range(5, 5 + affordable(24, 8))
    ]
    assert 0.2 <= np.mean(copied) <= 0.8
    x = DropoutUCB(d=2, fill="random").suggest(ledger.domain, ledger.seen(), Streams(0)).x
    assert (x != ledger.X[int(np.argmax(ledger.values))]).all()


def test_dropout_has_a_process_over_the_drawn_columns_alone() -> None:
    ledger = Ledger.started(make_domain(*[None] * 6), 5, bowl)
    suggestion = DropoutUCB(d=2).suggest(ledger.domain, ledger.seen(), Streams(0))
    assert suggestion.record is not None
    (fit,) = suggestion.record.values()
    assert len(fit["groups"][0]) == len(fit["lengthscales"]) == 2


def lines(ledger: Ledger) -> list[int]:
    return [record.data[KEY]["first"] for record in ledger.records]


@pytest.mark.parametrize("directions", ["random", "coordinate", "descent"])
def test_points_are_on_the_line(directions: str) -> None:
    ledger = Ledger.started(make_domain(*[None] * 4), 4, bowl)
    method = LineBO(directions=directions, n_line=3, tolerance=0.0)  # type: ignore[arg-type]
    ledger.run(method, affordable(9, 6))
    assert lines(ledger) == [4] * 3 + [7] * 3 + [10] * affordable(3, 0)
    for record, x in zip(ledger.records, ledger.X[4:], strict=True):
        first = record.data[KEY]["first"]
        line = Line.from_json(ledger.records[first - 4].data[KEY], first, 4)
        assert line is not None
        best = ledger.X[int(np.argmax(ledger.values[:first]))]
        np.testing.assert_allclose(line.centre, best, atol=1e-9)
        gap, direction = x - line.centre, line.direction
        along = (gap @ direction) / (direction @ direction)
        np.testing.assert_allclose(gap, along * direction, atol=1e-9)
        if directions == "coordinate":
            assert np.count_nonzero(direction) == 1


def test_descent_is_along_the_gradient_of_the_mean() -> None:
    ledger = Ledger.started(make_domain(None, None), 12, lambda x: float(3 * x[0] - x[1]))
    ledger.X[0], ledger.values[0] = np.array([0.5, 0.5]), 9.0
    best = ledger.X[0]
    ledger.values[0] = max(ledger.values[1:]) + 1e-6
    suggestion = LineBO(directions="descent").suggest(ledger.domain, ledger.seen(), Streams(0))
    assert suggestion.record is not None
    line = Line.from_json(suggestion.record[KEY], 12, 2)
    assert line is not None
    np.testing.assert_allclose(line.centre, best, atol=1e-9)
    model = LineBO()._models
    from optuna_hdbo._core.memory import Memory
    from optuna_hdbo._core.models.ensemble import ALL_MATTER

    believed = model.believed(ledger.domain, ledger.seen(), ALL_MATTER, Memory())
    posterior = believed.posterior
    steps = 1e-5 * np.eye(2)
    slope = (posterior.mean(best + steps) - posterior.mean(best - steps)) / 2e-5
    np.testing.assert_allclose(line.direction, slope / np.abs(slope).max(), atol=1e-4)


def test_a_line_ends_where_nothing_can_be_gained() -> None:
    ledger = Ledger.started(make_domain(None, None), 4, bowl)
    ledger.run(LineBO(n_line=9, tolerance=100.0), 3)
    assert lines(ledger) == [4, 5, 6]


def test_from_a_corner_lines_go_inward() -> None:
    ledger = Ledger.started(make_domain(*[None] * 5), 4, lambda x: float(x.sum()))
    ledger.observe(np.ones(5))
    suggestion = LineBO().suggest(ledger.domain, ledger.seen(), Streams(0))
    assert suggestion.record is not None
    assert (np.array(suggestion.record[KEY]["direction"]) < 0.0).all()


def test_lines_of_a_mixed_space_are_admissible() -> None:
    domain = DOMAINS["mixed"]
    rng = np.random.default_rng(0)
    line = Line(0, np.full(len(domain), 0.5), rng.uniform(-1, 1, len(domain)))
    Z = line.points(domain, rng)
    np.testing.assert_array_equal(Z, domain.snap(Z))


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"first": 3, "centre": [0.5], "direction": [1.0]},
        {"first": 3, "centre": [0.5, 2.0], "direction": [1.0, 0.0]},
        {"first": 3, "centre": [0.5, 0.5], "direction": [0.0, 0.0]},
        {"first": 3, "centre": [0.5, 0.5], "direction": [1.0, float("nan")]},
        {"first": 3, "centre": "ab", "direction": [1.0, 0.0]},
        {"first": 2, "centre": [0.5, 0.5], "direction": [1.0, 0.0]},
    ],
)
def test_what_is_not_a_line_is_refused(data: object) -> None:
    assert Line.from_json(data, 3, 2) is None
