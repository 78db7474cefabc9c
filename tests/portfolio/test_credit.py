"""Credit: what counts as a success, and who is asked."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.portfolio.credit import FLOORS
from optuna_hdbo.portfolio.credit import FORGETTING
from optuna_hdbo.portfolio.credit import KEY
from optuna_hdbo.portfolio.credit import WORTHWHILE
from optuna_hdbo.portfolio.credit import Credit
from optuna_hdbo.portfolio.credit import credits
from optuna_hdbo.portfolio.credit import order
from optuna_hdbo.portfolio.credit import successes


NAMES = ("local", "global")


def test_a_gain_counts_from_a_thousandth_of_the_spread() -> None:
    merit = np.array([0.0, 1.0, 2.0, 3.0, 4.0])  # the better half of these has the median 3
    for gain, expected in ((0.0, False), (5e-4, False), (2e-3, True), (1.0, True), (-1.0, False)):
        assert successes(np.append(merit, 4.0 + gain))[5] == expected
    assert successes(np.array([0.0])).tolist() == [True]


@given(st.lists(st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0, 1.001]), min_size=1))
def test_gains_are_those_on_all_observations_before(values: list[float]) -> None:
    expected = [True]
    for row in range(1, len(values)):
        earlier = sorted(values[:row])
        spread = earlier[-1] - statistics.median(earlier[row // 2 :])
        expected.append(values[row] > earlier[-1] + WORTHWHILE * spread)
    assert successes(np.array(values)).tolist() == expected


def test_experts_earn_what_their_own_queries_bring() -> None:
    values = np.array([0.0, 1.0, 5.0, 2.0, 9.0])
    asked = {2: "local", 3: "global", 4: "local", 5: "local", 6: "global"}
    states = {5: "running", 6: "failed"}
    records = [
        Record(number, states.get(number, "complete"), {KEY: name})  # type: ignore[arg-type]
        for number, name in asked.items()
    ]
    seen = Observations.from_arrays(np.zeros((5, 1)), values, records=records)
    earned = credits(seen, values, NAMES)
    assert earned["local"] == Credit(FORGETTING + 1.0, 0.0)
    assert earned["global"] == Credit(0.0, FORGETTING + 1.0)


@pytest.mark.parametrize("data", [{}, {KEY: "nobody"}, {KEY: 3}, {KEY: ["local"]}])
def test_foreign_records_earn_nothing(data: dict[str, object]) -> None:
    seen = Observations.from_arrays(
        np.zeros((2, 1)), np.arange(2.0), records=[Record(1, "complete", data)]
    )
    assert credits(seen, seen.values, NAMES) == dict.fromkeys(NAMES, Credit(0.0, 0.0))


@pytest.mark.parametrize("floor", sorted(set(FLOORS.values())))
def test_the_successful_are_asked_first_and_nobody_never(floor: float) -> None:
    prior = dict.fromkeys(NAMES, Credit(1.0, 1.0))
    earned = {"local": Credit(8.0, 0.0), "global": Credit(0.0, 60.0)}
    rng = np.random.default_rng(0)
    n = 4000
    orders = [order(earned, prior, rng, floor) for _ in range(n)]
    assert all(sorted(names) == sorted(NAMES) for names in orders)
    first = np.mean([names[0] == "global" for names in orders])
    assert first == pytest.approx(floor, abs=0.012)


def test_without_any_record_the_prior_decides() -> None:
    prior = {"local": Credit(2.0, 2.0), "global": Credit(0.5, 2.0)}
    earned = dict.fromkeys(NAMES, Credit(0.0, 0.0))
    rng = np.random.default_rng(0)
    first = [order(earned, prior, rng, FLOORS["medium"])[0] for _ in range(2000)]
    assert first.count("local") > 2 * first.count("global") > 0
