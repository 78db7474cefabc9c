"""TuRBO: queries stay in the region, which shrinks, grows and begins elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import Ledger
from histories import affordable
from histories import is_admissible
from histories import make_domain
from histories import published

from optuna_hdbo._core.maximise import runs
from optuna_hdbo._core.maximise.region import MOST_UNEQUAL
from optuna_hdbo._core.models.ensemble import LEAST_POOLED
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.turbo import LEAST_TO_TURN
from optuna_hdbo.methods.turbo import LEAST_TURNED
from optuna_hdbo.methods.turbo import MOST_TURNED
from optuna_hdbo.methods.turbo import TuRBO
from optuna_hdbo.methods.turbo import may_turn


def peak(x: np.ndarray) -> float:
    return float(np.exp(-20 * ((x - 0.7) ** 2).sum()))


@pytest.mark.parametrize("name", list(DOMAINS))
@pytest.mark.parametrize("settings", [{}, published(TuRBO)], ids=["default", "published"])
def test_queries_are_admissible_and_stay_near(name: str, settings: dict[str, Any]) -> None:
    ledger = Ledger.started(DOMAINS[name], 6)
    method = TuRBO(length=0.1, min_length=0.01, max_length=0.1, **settings)
    free = ~ledger.domain.discrete
    for _ in range(affordable(8, 3)):
        best = ledger.X[int(np.argmax(ledger.values))]
        (suggestion,) = ledger.run(method, 1)
        assert is_admissible(ledger.domain, suggestion.x)
        gap = np.abs(suggestion.x - best)[free]
        assert (gap <= 0.05 * MOST_UNEQUAL + 1e-9).all()
        if free.all():
            widths = np.exp(np.log(np.maximum(gap, 1e-12)).mean())
            assert widths <= 0.05 + 1e-9  # the sides' geometric mean is the length


def failing(n: int, n_columns: int = 2) -> Ledger:
    """A study whose last n queries were failures of the first run."""
    ledger = Ledger.started(make_domain(*[None] * n_columns), 8, lambda x: 0.0)
    ledger.values = [1.0, *[0.1 * i for i in range(7)]]
    for _ in range(n):
        number = len(ledger.X)
        ledger.records.append(Record(number, "complete", {runs.KEY: {"run": 0, "root": -1}}))
        ledger.X.append(ledger.X[0] + 1e-3)
        ledger.values.append(-1.0)
    return ledger


def region_of(ledger: Ledger) -> dict[str, Any]:
    suggestion = TuRBO().suggest(ledger.domain, ledger.seen(), Streams(0))
    assert suggestion.record is not None
    return dict(suggestion.record[runs.KEY])


def test_failures_halve_the_region_and_end_it() -> None:
    assert region_of(failing(0)) == {"run": 0, "root": -1, "length": 0.8}
    assert region_of(failing(4))["length"] == 0.4
    assert region_of(failing(24))["length"] == 0.0125
    ended = region_of(failing(28))
    assert ended["run"] == 1
    assert ended["root"] > 0
    assert ended["length"] == 0.4


def test_where_nothing_is_known_elsewhere_a_random_point_is_asked_for() -> None:
    ledger = failing(28)
    ledger.X = [ledger.X[0] + 1e-4 * i for i in range(len(ledger.X))]
    suggestion = TuRBO().suggest(ledger.domain, ledger.seen(), Streams(0))
    assert not (suggestion.record or {}).get(runs.KEY)
    assert np.abs(suggestion.x - ledger.X[0]).max() > 0.05


def test_fits_see_warped_values_and_are_kept() -> None:
    ledger = Ledger.started(make_domain(None, None), 12, lambda x: -float(np.exp(8 * x[0])))
    for warp in (True, False):
        suggestion = TuRBO(warp=warp).suggest(ledger.domain, ledger.seen(), Streams(0))
        assert suggestion.record is not None
        key = "local:dimension-scaled" + ":warped" * warp
        assert (f"{key}:output" in suggestion.record) == warp
        assert key in suggestion.record
        # predictions are in the objective's units either way
        assert -np.exp(8.0) < suggestion.report["predicted"] < 200.0


def test_the_lengthscale_prior_shrinks_with_the_region() -> None:
    """On values without any structure the fit follows the prior."""
    found = []
    for adaptive in (True, False):
        ledger = failing(24, n_columns=3)
        rng = np.random.default_rng(0)
        ledger.values[1:] = rng.standard_normal(len(ledger.values) - 1).tolist()
        ledger.values[0] = 9.0
        method = TuRBO(adaptive_prior=adaptive, warp=False, separable=False)
        suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(0))
        assert suggestion.record is not None
        found.append(
            float(np.mean(np.log(suggestion.record["local:dimension-scaled"]["lengthscales"])))
        )
    assert found[0] < found[1]


def test_sums_over_single_columns_compete() -> None:
    ledger = Ledger.started(make_domain(None, None, None), 12)
    for separable in (True, False):
        suggestion = TuRBO(separable=separable).suggest(ledger.domain, ledger.seen(), Streams(0))
        keys = {key for key in suggestion.record or {} if key.startswith("plain:")}
        assert ("plain:inverse-square:separable" in keys) == separable
        assert bool(keys) == separable


@pytest.mark.parametrize("n_columns", [LEAST_POOLED - 1, LEAST_POOLED])
def test_pooled_lengthscales_compete(n_columns: int) -> None:
    ledger = Ledger.started(make_domain(*[None] * n_columns), 12)
    for pooled in (True, False):
        suggestion = TuRBO(pooled=pooled).suggest(ledger.domain, ledger.seen(), Streams(0))
        keys = {key for key in suggestion.record or {} if key.endswith(":pooled:warped")}
        local, sums = "local:dimension-scaled", "plain:inverse-square:separable"
        names = (local, sums) if pooled and n_columns == LEAST_POOLED else ()
        assert keys == {f"{name}:pooled:warped" for name in names}


TURNED = "local:dimension-scaled:rotated:warped"


def tilted(x: np.ndarray) -> float:
    """A valley that is along no column."""
    R = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    return -float((((x - 0.4) @ R * np.logspace(0.0, 1.5, 5)) ** 2).sum())


@pytest.mark.parametrize(
    ("columns", "n", "takes_part"),
    [
        ([None] * LEAST_TURNED, LEAST_TO_TURN, True),
        ([None] * LEAST_TURNED, LEAST_TO_TURN - 1, False),
        ([None] * (LEAST_TURNED - 1), LEAST_TO_TURN, False),
        ([None] * (LEAST_TURNED - 1) + [7], LEAST_TO_TURN, True),
        ([None] * LEAST_TURNED + ["3"], LEAST_TO_TURN, False),
    ],
)
def test_learned_directions_compete(
    columns: list[int | str | None], n: int, takes_part: bool
) -> None:
    ledger = Ledger.started(make_domain(*columns), n)
    suggestion = TuRBO().suggest(ledger.domain, ledger.seen(), Streams(0))
    assert suggestion.record is not None
    assert (TURNED in suggestion.record) == takes_part
    suggestion = TuRBO(rotated=False).suggest(ledger.domain, ledger.seen(), Streams(0))
    assert TURNED not in (suggestion.record or {})


def test_directions_are_learned_of_some_columns_only() -> None:
    for n_columns, may in ((LEAST_TURNED, True), (MOST_TURNED, True), (MOST_TURNED + 1, False)):
        assert may_turn(make_domain(*[None] * n_columns), 1000) == may
    widest = make_domain(*[None] * MOST_TURNED)
    assert not may_turn(widest, 3 * MOST_TURNED - 1)
    assert may_turn(widest, 3 * MOST_TURNED)


def test_directions_are_read_from_the_records() -> None:
    """A fresh method goes on like the one that learned them."""
    ledger = Ledger.started(make_domain(*[None] * 5), LEAST_TO_TURN, tilted)
    method = TuRBO()
    ledger.run(method, affordable(12, 3))
    assert any(TURNED in record.data for record in ledger.records)
    here, there = (m.suggest(ledger.domain, ledger.seen(), Streams(0)) for m in (method, TuRBO()))
    np.testing.assert_array_equal(here.x, there.x)
    assert here.report == there.report


def test_learned_directions_win_where_a_valley_is_tilted() -> None:
    ledger = Ledger.started(make_domain(*[None] * 5), LEAST_TO_TURN, tilted)
    ledger.run(TuRBO(), affordable(20, 6))
    turned, along_columns = (
        [record.data[key][0] for record in ledger.records if key in record.data][-1]
        for key in (f"{TURNED}:evidence", "local:dimension-scaled:warped:evidence")
    )
    assert turned > along_columns + affordable(10, -20)  # a few trials say little


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_the_optimum_of_a_smooth_function_is_found(n_columns: int) -> None:
    ledger = Ledger.started(make_domain(*[None] * n_columns), 6, peak)
    goal = affordable(990, 0) / 1000
    ledger.run(TuRBO(), affordable(30, 8), goal=goal)
    assert max(ledger.values) > goal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 0.0}, "length must be a number above 0"),
        ({"min_length": 0.9}, "min_length must be"),
        ({"max_length": 0.1}, "max_length must be"),
        ({"n_successes": 0}, "n_successes must be"),
        ({"patience": -1}, "patience must be"),
        ({"kernel": "rbf"}, "kernel must be one of"),
        ({"n_cyc": 0}, "n_cyc must be"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TuRBO(**settings)
