"""Honest intervals: coverage in the long run, whatever the model's error."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import INTERPRETED
from histories import dear
from histories import make_domain
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.calibration import FIRST
from optuna_hdbo._core.calibration import KEY
from optuna_hdbo._core.calibration import LEAST
from optuna_hdbo._core.calibration import MEMORY
from optuna_hdbo._core.calibration import MOST
from optuna_hdbo._core.calibration import calibrated
from optuna_hdbo._core.calibration import widening
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.base import suggest
from optuna_hdbo.methods.gp_ucb import GPUCB
from optuna_hdbo.methods.loop import Loop


def told(values: np.ndarray, expected: list[Any], sign: float = 1.0) -> Observations:
    records = [Record(i, "complete", {KEY: data}) for i, data in enumerate(expected)]
    seen = Observations.from_arrays(np.zeros((len(values), 1)), sign * values, records=records)
    return replace(seen, sign=sign)


@pytest.mark.parametrize(
    ("error", "sign"), [(0.3, 1.0), (1.0, -1.0), (4.0, 1.0), (4.0, -1.0), (12.0, 1.0)]
)
@pytest.mark.parametrize("heavy", [False, True])
def test_intervals_cover_however_wrong_the_model_is(
    error: float, heavy: bool, sign: float
) -> None:
    rng = np.random.default_rng(0)
    n = 280
    draws = rng.standard_t(2, n) if heavy else rng.standard_normal(n)
    values = 7.0 + error * draws
    n_covered = 0
    every = told(values, [[7.0, 1.0]] * n, sign)
    for i in range(30, n):
        seen = replace(told(values[:i], [], sign), records=every.records[:i])
        n_covered += abs(values[i] - 7.0) < 1.96 * widening(seen)
    share = n_covered / (n - 30)
    assert 0.91 <= share <= 0.98


def test_intervals_are_as_wide_however_far_values_are_from_zero() -> None:
    errors = 1e-4 * np.random.default_rng(2).standard_normal(60)
    widths = []
    for offset in (0.0, 2.0**20):
        kept = [calibrated({"predicted": offset, "std": 1e-4}, told(errors, []))[1]] * len(errors)
        seen = told(offset + errors, [data[KEY] for data in json.loads(json.dumps(kept))])
        widths.append(widening(seen))
    assert widths[0] == widths[1] < 3.0


def test_one_miss_widens_and_covering_narrows() -> None:
    values = np.zeros(3)
    first = widening(told(values[:0], []))
    assert first == pytest.approx(FIRST)
    missed = widening(told(np.array([9.0]), [[0.0, 1.0]]))
    assert missed > first
    assert first > widening(told(values[:1], [[0.0, 1.0]])) > 1.0
    assert widening(told(np.zeros(200), [[0.0, 1.0]] * 200)) < 0.5


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_factor_has_bounds(values: list[float]) -> None:
    found = widening(told(np.array(values), [[0.0, 1e-3]] * len(values)))
    assert LEAST / (1 + 1e-12) <= found <= MOST * (1 + 1e-12)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)


@given(json_values)
def test_untrusted_records_are_skipped(data: Any) -> None:
    values = np.array([5.0, 0.0])
    good = told(values, [data, [0.0, 1.0]])
    assert math.isfinite(widening(good))
    is_prediction = isinstance(data, list) and len(data) == 2
    if not is_prediction:
        assert widening(good) == widening(replace(good, records=good.records[1:]))


def test_only_the_latest_records_count_and_only_complete_trials() -> None:
    n = MEMORY + 50
    values = np.zeros(n)
    values[:50] = 1e3
    seen = told(values, [[0.0, 1.0]] * n)
    assert widening(seen) == pytest.approx(LEAST)
    pruned = [Record(r.number, "pruned", r.data) for r in seen.records[:50]]
    assert widening(replace(seen, records=pruned)) == pytest.approx(FIRST)


def test_a_report_without_a_prediction_is_left_as_it_is() -> None:
    seen = told(np.zeros(2), [[0.0, 1.0]] * 2)
    assert calibrated({"query": "search"}, seen) == ({"query": "search"}, {})


class Sure:
    """GP-UCB that is too sure of itself by a factor of ten."""

    name = "sure"

    def __init__(self) -> None:
        self._method = GPUCB()

    def validate(self, domain: Any) -> None:
        pass

    def suggest(self, domain: Any, seen: Any, streams: Any) -> Suggestion:
        s = self._method.suggest(domain, seen, streams)
        report = {**s.report, "std": 0.1 * float(s.report["std"])}
        return Suggestion(s.x, s.record, report)


@pytest.mark.skipif(INTERPRETED, reason="needs more points than plain Python can pay for")
def test_a_loop_reports_honest_intervals_of_a_method_that_is_too_sure() -> None:
    rng = np.random.default_rng(0)
    loop = Loop(Sure(), make_domain(None, None), seed=0)
    loop.run(lambda x: float(-((x - 0.4) ** 2).sum() + 0.3 * rng.standard_normal()), 60)
    asked = [t for t in loop.trials if "predicted" in t.report][20:]
    assert asked
    covered = [
        abs((t.value or 0.0) - float(t.report["predicted"])) < 1.96 * float(t.report["std"])
        for t in asked
    ]
    assert np.mean(covered) > 0.8
    narrow = [
        abs((t.value or 0.0) - float(t.report["predicted"])) < 1.96 * t.record[KEY][1]
        for t in asked
    ]
    assert np.mean(narrow) < 0.5
    json.dumps(asked[0].record, allow_nan=False)


@dear
def test_a_fresh_method_reports_the_same_interval() -> None:
    loop = Loop(GPUCB(), make_domain(None, None), seed=0)
    loop.run(lambda x: float(x.sum()), 20)
    fresh = suggest(GPUCB(), loop.domain, loop.observations(), loop._streams)
    assert loop.ask().report == fresh.report
