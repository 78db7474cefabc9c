"""Boxes: when one begins, what its experts see, when it shrinks and when it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from histories import dear
from histories import is_admissible
from histories import make_domain

from optuna_hdbo._core.points import Failures
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.portfolio.credit import KEY as EXPERT
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.hdbo import SIDE
from optuna_hdbo.portfolio.searches import zoom
from optuna_hdbo.portfolio.searches.zoom import FIRST_SIDE
from optuna_hdbo.portfolio.searches.zoom import LEAST_COLUMNS
from optuna_hdbo.portfolio.searches.zoom import LEAST_SIDE
from optuna_hdbo.portfolio.searches.zoom import PATIENCE
from optuna_hdbo.portfolio.searches.zoom import SHRINK
from optuna_hdbo.portfolio.searches.zoom import STALLED


DOMAIN = make_domain(None, None)
CENTRE = [0.5, 0.6]


@pytest.fixture(autouse=True)
def few_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be boxes in domains of few columns, in which less has to be computed."""
    monkeypatch.setattr(zoom, "LEAST_COLUMNS", 1)


class Turn:
    """A generator whose first draw, the box's, is the larger one, or not."""

    def __init__(self, *, of_box: bool) -> None:
        self.drawn = [0.9, 0.1] if of_box else [0.1, 0.9]
        self.credits: list[tuple[float, float]] = []

    def beta(self, wins: float, losses: float) -> float:
        self.credits.append((wins, losses))
        return self.drawn[len(self.credits) - 1]


def next_zoom(
    seen: Observations, turn: Turn | None = None, domain: Domain = DOMAIN
) -> zoom.Zoom | None:
    return zoom.next_zoom(domain, seen, turn or Turn(of_box=True))  # type: ignore[arg-type]


def of(root: int, side: float) -> dict[str, Any]:
    return {EXPERT: "global", zoom.KEY: {"root": root, "side": side}}


def study(
    n_stalled: int,
    boxes: list[dict[str, Any]] | None = None,
    values: dict[int, float] | None = None,
    points: dict[int, list[float]] | None = None,
) -> Observations:
    """Return a study whose trial 5 is the best one, at CENTRE; later ones are queries.

    ``boxes`` are the records of the last ones, ``values`` and ``points`` replace those of trials.
    """
    boxes = boxes or []
    n = 6 + n_stalled + len(boxes)
    X = np.random.default_rng(0).random((n, 2))
    y = np.linspace(0.0, 1.0, n)
    X[5], y[5] = CENTRE, 10.0
    for number, value in (values or {}).items():
        y[number] = value
    for number, point in (points or {}).items():
        X[number] = point
    data = [{EXPERT: "global"}] * n_stalled + boxes
    records = [Record(6 + i, "complete", d) for i, d in enumerate(data)]
    return Observations.from_arrays(X, y, records=records)


def test_a_box_begins_once_little_has_improved() -> None:
    assert next_zoom(study(STALLED - 1)) is None
    zoomed = next_zoom(study(STALLED))
    assert zoomed is not None
    assert zoomed.box == zoom.Box(5, FIRST_SIDE)
    improved = study(STALLED, values={6 + STALLED - 1: 20.0})
    assert next_zoom(improved) is None


def test_more_columns_need_more_queries_without_a_gain() -> None:
    domain = make_domain(*[None] * (2 * STALLED))
    for n, begins in ((2 * STALLED - 1, False), (2 * STALLED, True)):
        X = domain.sample(np.random.default_rng(0), n + 5)
        records = [Record(i, "complete", {EXPERT: "global"}) for i in range(5, n + 5)]
        y = np.concatenate([[0.0, 1.0, 2.0, 3.0, 10.0], np.zeros(n)])
        seen = Observations.from_arrays(X, y, records=records)
        assert (next_zoom(seen, domain=domain) is not None) == begins


def test_whose_turn_it_is_is_drawn_by_rates_of_success() -> None:
    boxes = [of(5, FIRST_SIDE)] * 3
    number = 6 + STALLED + 1
    seen = study(STALLED, boxes, {number: 11.0}, {number: CENTRE})  # the second of the box
    turn = Turn(of_box=False)
    assert next_zoom(seen, turn) is None
    (box, others) = turn.credits
    wins, losses = zoom.PRIOR.wins, zoom.PRIOR.losses
    assert box == pytest.approx((wins + 0.9, losses + 0.9**2 + 1.0))
    assert others == pytest.approx((wins, losses + sum(0.9**i for i in range(STALLED))))


def test_a_box_does_not_stick_out_of_the_domain() -> None:
    for centre in ([0.0, 1.0], [0.01, 0.5], CENTRE):
        zoomed = next_zoom(study(STALLED, points={5: centre}))
        assert zoomed is not None
        low, high = zoomed.region.low, zoomed.region.high
        np.testing.assert_allclose(high - low, FIRST_SIDE)
        assert ((low >= 0.0) & (high <= 1.0)).all()
        assert ((low <= centre) & (high >= centre)).all()


def test_experts_see_what_is_in_the_box_in_its_coordinates() -> None:
    points = {6: [0.45, 0.7], 7: [0.5, 0.9], 8: [0.6, 0.5]}
    seen = study(STALLED, [of(5, FIRST_SIDE)], points={**points, 6 + STALLED: [0.4, 0.6]})
    zoomed = next_zoom(seen)
    assert zoomed is not None
    inside = (np.abs(seen.X - CENTRE) <= FIRST_SIDE / 2.0).all(axis=1)
    assert inside[[5, 6, 8]].all()
    assert not inside[7]
    assert zoomed.seen.numbers.tolist() == np.flatnonzero(inside).tolist()
    expected = (seen.X[inside] - CENTRE) / FIRST_SIDE + 0.5
    np.testing.assert_allclose(zoomed.seen.X, expected, atol=1e-12)
    np.testing.assert_array_equal(zoomed.seen.values, seen.values[inside])
    assert [record.number for record in zoomed.seen.records] == [6 + STALLED]
    rest = seen.without(zoom.KEY)
    assert [record.number for record in rest.records] == list(range(6, 6 + STALLED))
    back = [zoomed.region.outward(u) for u in zoomed.seen.X]
    np.testing.assert_allclose(back, seen.X[inside], atol=1e-12)


def test_pending_points_count_inside_the_box_alone() -> None:
    seen = study(STALLED)
    pending = np.array([[0.9, 0.1], [0.45, 0.65]])
    zoomed = next_zoom(
        Observations.from_arrays(seen.X, seen.values, pending=pending, records=seen.records)
    )
    assert zoomed is not None
    np.testing.assert_allclose(zoomed.seen.pending, [[0.3, 0.7]])


def test_a_box_in_which_nothing_improves_gives_way_to_a_smaller_one() -> None:
    sides, side = [], FIRST_SIDE
    boxes: list[dict[str, Any]] = []
    while side >= LEAST_SIDE:
        early = study(STALLED, boxes + [of(5, side)] * (PATIENCE - 1))
        zoomed = next_zoom(early)
        assert zoomed is not None
        assert zoomed.box == zoom.Box(5, side)
        sides.append(side)
        boxes += [of(5, side)] * PATIENCE
        side /= SHRINK
        smaller = next_zoom(study(STALLED, boxes))
        assert (None if smaller is None else smaller.box.side) == (
            side if side >= LEAST_SIDE else None
        )
    assert len(sides) == 3


def test_a_success_gives_a_box_its_patience_back() -> None:
    boxes = [of(5, FIRST_SIDE)] * (PATIENCE + 5)
    number = 6 + STALLED + 10
    seen = study(STALLED, boxes, {number: 30.0}, {number: [0.52, 0.61]})
    zoomed = next_zoom(seen)
    assert zoomed is not None
    assert zoomed.box == zoom.Box(5, FIRST_SIDE)


def test_a_box_follows_the_best_point_to_its_end() -> None:
    last = 6 + STALLED + 2
    boxes = [of(5, FIRST_SIDE)] * 3
    for x, root in ((0.55, 5), (0.62, last)):
        zoomed = next_zoom(study(STALLED, boxes, {last: 30.0}, {last: [x, 0.6]}))
        assert zoomed is not None
        assert zoomed.box == zoom.Box(root, FIRST_SIDE)
    # An end of the domain is no reason to move.
    corner = {5: [0.01, 0.6], last: [0.0, 0.6]}
    zoomed = next_zoom(study(STALLED, boxes, {last: 30.0}, corner))
    assert zoomed is not None
    assert zoomed.box.root == 5


def test_another_box_begins_where_the_best_point_is_elsewhere() -> None:
    small = FIRST_SIDE / SHRINK
    boxes = [of(5, small)] * 3
    number = 6 + STALLED + 3
    found = [{EXPERT: "global"}]
    moved = {"values": {number: 30.0}, "points": {number: [0.9, 0.9]}}
    assert next_zoom(study(STALLED, boxes + found, **moved)) is None  # type: ignore[arg-type]
    zoomed = next_zoom(study(STALLED, boxes + found * (STALLED + 1), **moved))  # type: ignore[arg-type]
    assert zoomed is not None
    assert zoomed.box == zoom.Box(number, FIRST_SIDE)


def test_a_grid_is_searched_in_part() -> None:
    domain = make_domain(None, 21, "3")
    rng = np.random.default_rng(1)
    X = domain.sample(rng, 60)
    y = -((X[:, :2] - 0.5) ** 2).sum(axis=1)
    y[np.argmax(y)] = 5.0
    records = [Record(i, "complete", {EXPERT: "global"}) for i in range(40, 60)]
    seen = Observations.from_arrays(X, y, records=records)
    zoomed = next_zoom(seen, domain=domain)
    assert zoomed is not None
    best = X[int(np.argmax(y))]
    grid = zoomed.region.inner.grid(1)
    assert best[1] in grid
    assert 3 <= len(grid) <= 7  # a quarter of 21 values, and neighbours
    assert len(zoomed.region.inner.grid(2)) == 3
    assert np.isin(zoomed.seen.X[:, 1], grid).all()
    near = np.abs(X[:, 0] - best[0]) <= FIRST_SIDE / 2.0
    assert len(zoomed.seen.values) == int((near & np.isin(X[:, 1], grid)).sum())


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "5",
        {},
        {"root": 5},
        {"root": "5", "side": 0.25},
        {"root": True, "side": 0.25},
        {"root": 10**400, "side": 0.25},
        {"root": 999, "side": 0.25},
        {"root": 5, "side": 0.0},
        {"root": 5, "side": -1.0},
        {"root": 5, "side": 1},
        {"root": 5, "side": float("nan")},
        {"root": 5, "side": 1e300},
    ],
)
def test_spoilt_records_name_no_box(data: Any) -> None:
    boxes = [{EXPERT: "global", zoom.KEY: data}] * 25
    zoomed = next_zoom(study(STALLED, boxes))
    assert zoomed is not None
    assert zoomed.box == zoom.Box(5, FIRST_SIDE)
    assert len(zoomed.seen.records) == 0


@pytest.mark.parametrize(
    ("columns", "begins"),
    [
        ([9, "3"] * 6, False),
        ([None] * (LEAST_COLUMNS - 1), False),
        ([None] * LEAST_COLUMNS, True),
        ([None] * zoom.MOST_COLUMNS, True),
        ([None] * (zoom.MOST_COLUMNS + 1), False),
    ],
    ids=["discrete", "too few", "fewest", "most", "too many"],
)
def test_boxes_suit_the_number_and_kind_of_columns(
    monkeypatch: pytest.MonkeyPatch, columns: list[Any], begins: bool
) -> None:
    monkeypatch.setattr(zoom, "LEAST_COLUMNS", LEAST_COLUMNS)
    domain = make_domain(*columns)
    X = domain.sample(np.random.default_rng(0), 80)
    records = [Record(i, "complete", {EXPERT: "global"}) for i in range(10, 80)]
    seen = Observations.from_arrays(X, np.linspace(1.0, 0.0, 80), records=records)
    assert (next_zoom(seen, domain=domain) is not None) == begins


def test_records_of_a_box_keep_its_fits_to_themselves() -> None:
    first = next_zoom(study(STALLED))
    assert first is not None
    shown = {"expert": "global", "query": "search"}
    record = first.signed({**shown, "plain:few": {"n": 6}}, tuple(shown))
    assert record == {
        **shown,
        zoom.KEY: {"root": 5, "side": FIRST_SIDE, "inner": {"plain:few": {"n": 6}}},
    }
    again = next_zoom(study(STALLED, [record]))
    assert again is not None
    (read,) = again.seen.records
    assert {**shown, "plain:few": {"n": 6}}.items() <= read.data.items()


@dear
def test_the_trust_region_of_a_box_is_reported_in_shares_of_the_ranges() -> None:
    ledger = Ledger.started(make_domain(*[None] * 3), 8, rugged)
    asked = ledger.run(HDBO(experts=["local"]), affordable(24, 14))
    lengths = [s.report["region_length"] for s in asked if SIDE in s.report]
    assert lengths
    assert all(0.0 < float(length) <= 1.6 * FIRST_SIDE for length in lengths)


def rugged(x: np.ndarray) -> float:
    """Rastrigin's function with ten valleys along each column."""
    z = 10.0 * (x - 0.43)
    return -float((z**2 - 10.0 * np.cos(2.0 * np.pi * z)).sum())


def smooth(x: np.ndarray) -> float:
    return -float(((np.arange(len(x)) + 1.0) * (x - 0.43) ** 2).sum())


@dear
def test_a_rugged_objective_is_zoomed_in_on_and_a_smooth_valley_is_not() -> None:
    domain = make_domain(*[None] * 4)
    boxes = {}
    for f in (rugged, smooth):
        ledger = Ledger.started(domain, 12, f)
        asked = ledger.run(HDBO(experts=["global"]), 40)
        assert all(is_admissible(domain, suggestion.x) for suggestion in asked)
        boxes[f] = [s for s in asked if SIDE in s.report]
    assert len(boxes[rugged]) >= 5
    assert not boxes[smooth]
    for suggestion in boxes[rugged]:
        record = suggestion.record or {}
        assert suggestion.report[SIDE] == record[zoom.KEY]["side"]
        root = record[zoom.KEY]["root"]
        assert root < 52


def test_a_fresh_method_asks_for_the_same_point_in_a_box() -> None:
    domain = make_domain(*[None] * 3)
    ledger = Ledger.started(domain, 8, rugged)
    method = HDBO(experts=["local", "tree"])
    n_boxes = 0
    for _ in range(affordable(30, 14)):
        suggestion = method.suggest(domain, ledger.seen(), Streams(3))
        if SIDE in suggestion.report:
            n_boxes += 1
            fresh = HDBO(experts=["local", "tree"]).suggest(domain, ledger.seen(), Streams(3))
            np.testing.assert_array_equal(fresh.x, suggestion.x)
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)
    assert n_boxes > 0


def test_failures_count_inside_the_box_alone() -> None:
    seen = study(STALLED)
    failed = np.array([[0.9, 0.1], [0.45, 0.65]])
    failures = Failures(failed, np.array([40, 41]), are_elsewhere=True)
    zoomed = next_zoom(replace(seen, failures=failures))
    assert zoomed is not None
    inside = zoomed.seen.failures
    assert inside is not None
    assert inside.numbers.tolist() == [41]
    assert inside.are_elsewhere
    np.testing.assert_allclose(inside.X, [[0.3, 0.7]])
