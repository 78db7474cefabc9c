"""Trust regions' state, against a plain account of successes and failures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from optuna_hdbo._core.maximise.runs import ELSEWHERE
from optuna_hdbo._core.maximise.runs import KEY
from optuna_hdbo._core.maximise.runs import LONG
from optuna_hdbo._core.maximise.runs import Rule
from optuna_hdbo._core.maximise.runs import follow
from optuna_hdbo._core.maximise.runs import next_run
from optuna_hdbo._core.maximise.runs import to_json
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.observations import State


RULE = Rule(patience=1.0)


def study(
    values: list[float], regions: dict[int, Any], states: dict[int, State] | None = None
) -> Observations:
    """Return observations of two columns; ``regions`` are the records of queries by number."""
    X = np.random.default_rng(0).random((len(values), 2))
    records = [
        Record(number, (states or {}).get(number, "complete"), {KEY: data})
        for number, data in sorted(regions.items())
    ]
    return Observations.from_arrays(X, np.array(values), records=records)


def first(number: int) -> dict[str, int]:
    return {"run": number, "root": -1}


@given(st.lists(st.booleans(), max_size=40))
def test_the_side_follows_successes_and_failures(outcomes: list[bool]) -> None:
    values, best = [0.0], 0.0
    length, streak = RULE.length, [0, 0]
    for success in outcomes:
        best += success
        values.append(best if success else best - 1.0)
        streak = [streak[0] + 1, 0] if success else [0, streak[1] + 1]
        if streak[0] == 3:
            length, streak = min(2.0 * length, 1.6), [0, 0]
        if streak[1] == 4:
            length, streak = length / 2.0, [0, 0]
    seen = study(values, {i: first(0) for i in range(1, len(values))})
    run = follow(seen, RULE).run
    assert run.length == length
    assert values[run.centre] == max(values)


def test_trials_of_others_are_no_queries_but_set_the_mark() -> None:
    seen = study([0.0, 5.0, 1.0, 2.0, 3.0, 4.0], {i: first(0) for i in range(2, 6)})
    run = follow(seen, RULE).run
    assert run.length == RULE.length / 2.0  # all four fell short of trial 1
    assert run.centre == 1


def test_the_first_run_is_around_the_best_point_whoever_asked_for_it() -> None:
    assert follow(study([0.0, 1.0, 5.0], {1: first(0)}), RULE).run.centre == 2
    assert follow(study([0.0, 5.0, 1.0], {1: first(0)}), RULE).run.centre == 1


def test_running_queries_do_not_count_and_failed_ones_do() -> None:
    regions = {i: first(0) for i in range(2, 7)}
    states: dict[int, State] = {6: "running"}
    seen = study([0.0, 5.0, 1.0, 2.0, 3.0], regions, states)
    assert follow(seen, RULE).run.n_failures == 0  # the fourth failure, trial 5, halved the side
    assert follow(seen, RULE).run.length == RULE.length / 2.0


def test_patience_grows_with_the_columns() -> None:
    assert [RULE.n_failures(d) for d in (1, 4, 20)] == [4, 4, 20]
    assert Rule(patience=0.25).n_failures(20) == 5


def ended() -> Observations:
    """A study whose first run has ended at trial 0."""
    n = 4 * 7
    return study([9.0, *(-float(i) for i in range(n))], {i: first(0) for i in range(1, n + 1)})


def test_a_new_run_begins_at_the_best_point_elsewhere() -> None:
    seen = ended()
    life = follow(seen, RULE)
    assert life.run.length < RULE.min_length
    run = next_run(seen, life, RULE)
    assert run is not None
    assert run.number == 1
    far = np.sqrt(((seen.X - seen.X[0]) ** 2).mean(axis=1)) >= ELSEWHERE
    assert run.root == min(np.flatnonzero(far))  # values fall with the number
    assert to_json(run, seen)["root"] == seen.numbers[run.root]


def test_a_later_run_counts_its_own_points_only() -> None:
    seen = ended()
    root = 3
    values = [*seen.values, seen.values[root] - 1.0, seen.values[root] + 1.0]
    n = len(seen.values)
    regions = {i: first(0) for i in range(1, n)} | {
        n + i: {"run": 1, "root": root} for i in range(2)
    }
    life = follow(study(values, regions), RULE)
    assert (life.run.number, life.run.root, life.run.centre) == (1, root, n + 1)
    assert (life.run.n_successes, life.run.n_failures) == (1, 0)
    assert life.ends == [0]


def test_the_first_run_has_ended_at_what_was_best_before_the_next_one() -> None:
    seen = ended()
    n = len(seen.values)
    regions = {i: first(0) for i in range(1, n)} | {n: {"run": 1, "root": 3}}
    life = follow(study([*seen.values, 20.0], regions), RULE)
    assert life.ends == [0]
    assert life.run.centre == n


@pytest.mark.parametrize(("distance", "begins"), [(0.99, False), (1.01, True)])
@pytest.mark.parametrize("n_columns", [1, 16])
def test_elsewhere_means_as_far_in_every_column_however_many_there_are(
    n_columns: int, distance: float, begins: bool
) -> None:
    seen = ended()
    X = np.full((len(seen.values), n_columns), 0.4)
    X[3:] += distance * ELSEWHERE
    seen = replace(seen, X=X)
    life = follow(seen, RULE, 2)
    assert (next_run(seen, life, RULE) is not None) == begins


@pytest.mark.parametrize(("n", "goes_back"), [(LONG - 1, False), (LONG, True)])
def test_in_long_studies_the_second_new_run_begins_at_the_best_point(
    n: int, goes_back: bool
) -> None:
    values = [9.0, *(-float(i) for i in range(1, n))]
    later = {29 + i: {"run": 1, "root": 3} for i in range(28)}
    seen = study(values, {i: first(0) for i in range(1, 29)} | later)
    life = follow(seen, RULE)
    assert (life.run.number, life.ends) == (1, [0])
    assert life.run.length < RULE.min_length
    run = next_run(seen, life, RULE)
    assert run is not None
    assert run.number == 2
    assert (run.root == 0) is goes_back
    assert (run.centre, run.length) == (run.root, RULE.length / 2.0)


@pytest.mark.parametrize(("n_ended", "goes_back"), [(1, False), (2, True), (3, False), (4, True)])
def test_every_second_new_run_of_a_long_study_begins_elsewhere(
    n_ended: int, goes_back: bool
) -> None:
    values = [9.0, *(-float(i) for i in range(1, LONG))]
    regions: dict[int, Any] = {i: first(0) for i in range(1, 29)}
    for number in range(1, n_ended):
        later = range(1 + 28 * number, 29 + 28 * number)
        regions |= {i: {"run": number, "root": 3 * number} for i in later}
    seen = study(values, regions)
    run = next_run(seen, follow(seen, RULE), RULE)
    assert run is not None
    assert run.number == n_ended
    assert (run.root == 0) is goes_back


def test_without_a_point_elsewhere_there_is_no_run() -> None:
    seen = ended()
    near = Observations.from_arrays(0.01 * seen.X, seen.values, records=seen.records)
    assert next_run(near, follow(near, RULE), RULE) is None


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        {},
        {"run": "0", "root": -1},
        {"run": 0},
        {"run": True, "root": -1},
        {"run": -1, "root": 0},
        {"run": 2**40, "root": 0},
        {"run": 1, "root": 10**30},
    ],
)
def test_foreign_records_are_passed_over(data: Any) -> None:
    values = [0.0, -1.0, -2.0]
    expected = follow(study(values, {}), RULE)
    assert follow(study(values, {1: data}), RULE) == expected
