"""Trials of every kind become observations, one at a time or all at once."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from fakes import FakeSampler
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.models.curves import final_values
from optuna_hdbo._study.attributes import CHUNK_LENGTH
from optuna_hdbo._study.attributes import StoredSuggestion
from optuna_hdbo._study.attributes import read_suggestion
from optuna_hdbo._study.attributes import read_trials
from optuna_hdbo._study.attributes import write_suggestion
from optuna_hdbo._study.history import History
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.values import with_penalties_raised
from optuna_hdbo.methods.base import Observations


SPACE: dict[str, BaseDistribution] = {
    "c": CategoricalDistribution(["a", "b", "d"]),
    "k": IntDistribution(1, 9),
    "x": FloatDistribution(0, 1),
}
ASKING = optuna.trial.FrozenTrial(
    number=10**6,
    state=TrialState.RUNNING,
    value=None,
    datetime_start=None,
    datetime_complete=None,
    params={},
    distributions={},
    user_attrs={},
    system_attrs={},
    intermediate_values={},
    trial_id=-1,
)


def params(x: float, k: int = 5, c: str = "b") -> dict[str, Any]:
    return {"x": x, "k": k, "c": c}


def finished(
    x: float,
    value: float | None,
    state: TrialState = TrialState.COMPLETE,
    reported: dict[int, float] | None = None,
    **settings: Any,
) -> FrozenTrial:
    return optuna.create_trial(
        params=params(x),
        distributions=SPACE,
        value=value,
        state=state,
        intermediate_values=reported or {},
        **settings,
    )


def pruned(x: float, reported: dict[int, float]) -> FrozenTrial:
    value = reported[max(reported)] if reported else None
    value = None if value is None or math.isnan(value) else value
    return finished(x, value, TrialState.PRUNED, reported)


@pytest.fixture
def study() -> optuna.Study:
    return optuna.create_study(direction="maximize")


def read(
    study: optuna.Study,
    *,
    space: SearchSpace | None = None,
    history: History | None = None,
    trial: FrozenTrial = ASKING,
    use_pruned: bool = True,
) -> Observations:
    history = history or History("fake", use_pruned)
    return history.read(study, trial, space or SearchSpace(SPACE))


def raw(seen: Observations) -> list[float]:
    return pytest.approx((seen.y * seen.scale + seen.shift).tolist())  # type: ignore[no-any-return]


def assert_same(one: Observations, other: Observations) -> None:
    for name in ("X", "values", "y", "numbers", "pruned", "pending", "constraints"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.shape == b.shape, name
        assert a.dtype == b.dtype, name
        assert np.array_equal(a, b, equal_nan=name == "constraints"), name
    assert list(one.records) == list(other.records)
    assert (one.step, one.shift, one.scale) == (other.step, other.shift, other.scale)


def test_an_empty_study_has_empty_arrays(study: optuna.Study) -> None:
    seen = read(study)
    assert seen.X.shape == seen.pending.shape == (0, 3)
    assert seen.constraints.shape == (0, 0)
    assert seen.y.shape == seen.numbers.shape == seen.pruned.shape == (0,)
    assert seen.step == ASKING.number


def test_completed_trials_in_order(study: optuna.Study) -> None:
    for i in range(40):
        study.add_trial(finished(i / 40, float(i)))
    seen = read(study)
    assert seen.X[:, 2].tolist() == [i / 40 for i in range(40)]
    assert seen.X[0].tolist() == [1.0, 0.5, 0.0]
    assert seen.numbers.tolist() == list(range(40))
    assert raw(seen) == [float(i) for i in range(40)]
    assert seen.y.mean() == pytest.approx(0)
    assert seen.y.std() == pytest.approx(1)
    assert not seen.X.flags.writeable


def test_minimised_values_change_sign() -> None:
    study = optuna.create_study(direction="minimize")
    study.add_trial(finished(0.1, 3.0))
    study.add_trial(finished(0.2, 1.0))
    study.add_trial(pruned(0.3, {1: 2.0}))
    assert raw(read(study)) == [-3, -1, -2]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, math.inf, 3.0, -math.inf], [1, 3, 3, 1]),
        ([math.inf, math.inf], [0, 0]),
        ([2.0, 2.0, 2.0], [2, 2, 2]),
        ([1e300, -1e300, 0.0], [1e300, -1e300, 0]),
    ],
)
def test_wild_values(study: optuna.Study, values: list[float], expected: list[float]) -> None:
    for value in values:
        study.add_trial(finished(0.5, value))
    seen = read(study)
    assert np.all(np.isfinite(seen.y))
    assert raw(seen) == expected


def test_failed_and_waiting_trials_are_no_observations(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 1.0))
    study.add_trial(finished(0.2, None, TrialState.FAIL))
    study.enqueue_trial(params(0.3))
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1) * math.nan, n_trials=1
    )  # NaN: Optuna makes it a failure
    seen = read(study)
    assert seen.numbers.tolist() == [0]
    assert len(seen.pending) == 0


def test_trials_outside_the_space_are_left_out(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 1.0))
    wider = {**SPACE, "x": FloatDistribution(0, 4)}
    study.add_trial(optuna.create_trial(params=params(3.25), distributions=wider, value=2.0))
    del wider["x"]
    study.add_trial(optuna.create_trial(params={"k": 1, "c": "a"}, distributions=wider, value=3.0))
    study.add_trial(finished(0.4, 4.0))
    assert read(study).numbers.tolist() == [0, 3]


def test_pruned_trials_take_part_in_the_change_of_completed_ones(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 10.0, reported={1: 4.0, 2: 8.0}))
    study.add_trial(finished(0.2, 20.0, reported={1: 5.0, 2: 19.0, 3: 20.0}))
    study.add_trial(finished(0.3, 12.0, reported={1: 7.0}))
    study.add_trial(pruned(0.4, {1: 1.0}))  # median of 4, 14, 1, and as the next one
    study.add_trial(pruned(0.5, {1: 1.0, 2: 2.0}))  # median of 2, 1
    study.add_trial(pruned(0.6, {7: 3.0}))  # nobody reported there
    study.add_trial(pruned(0.7, {1: 16.0}))  # 21.5, but no better than the best completed one
    study.add_trial(pruned(0.8, {1: -math.inf}))
    seen = read(study)
    assert raw(seen) == [10, 20, 12, 6.5, 3.5, 3, 20, 3]
    assert seen.pruned.tolist() == [False] * 3 + [True] * 5


def test_one_trial_that_went_astray_does_not_drag_the_pruned_ones_down(
    study: optuna.Study,
) -> None:
    study.add_trial(finished(0.1, -1e6, reported={1: 4.0}))
    for x, value in ((0.2, 10.0), (0.3, 12.0)):
        study.add_trial(finished(x, value, reported={1: value - 5.0}))
    study.add_trial(pruned(0.4, {1: 1.0}))
    study.add_trial(pruned(0.5, {1: 2.0}))
    study.add_trial(pruned(0.6, {1: 9.0}))
    assert raw(read(study)) == [6, 10, 12, 6, 7, 12]  # its own value counts as a penalty


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_pruned_trials_count_with_what_is_expected_of_their_reports(direction: str) -> None:
    study = optuna.create_study(direction=direction)
    rng = np.random.default_rng(5)
    reports, values, is_pruned = np.full((20, 3), np.nan), np.empty(20), np.zeros(20, np.bool_)
    for i in range(20):
        x, steps = float(rng.random()), int(rng.integers(1, 4))
        curve = {step: x + 3.0 / step + 0.1 * float(rng.normal()) for step in (2, 5, 9)[:steps]}
        is_pruned[i] = steps < 3 or i % 5 == 0
        values[i] = list(curve.values())[-1] if is_pruned[i] else x
        reports[i, :steps] = list(curve.values())
        study.add_trial(pruned(x, curve) if is_pruned[i] else finished(x, x, reported=curve))
    seen, sign = read(study), -1.0 if direction == "minimize" else 1.0
    expected = final_values(
        SearchSpace(SPACE).domain, seen.X, sign * values, is_pruned, sign * reports
    )
    assert np.array_equal(seen.pruned, is_pruned)
    assert seen.values.tolist() == expected.tolist()


def test_it_does_not_matter_in_which_order_trials_end() -> None:
    study = optuna.create_study(direction="maximize")
    rng = np.random.default_rng(6)
    trials = [study.ask(SPACE) for _ in range(24)]
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    for i, number in enumerate(rng.permutation(24)):
        trial, x = trials[number], float(rng.random())
        steps = int(rng.integers(1, 4))
        for step in range(steps):
            trial.report(x - 1.0 / (step + 1) + 0.1 * float(rng.normal()), step)
        if steps < 3:
            study.tell(trial, state=TrialState.PRUNED)
        else:
            study.tell(trial, x)
        if i % 5 == 0:
            read(study, history=history, space=space)
    assert_same(read(study, history=history, space=space), read(study, space=space))


def test_pruned_trials_stand_as_they_are_while_nothing_is_completed(study: optuna.Study) -> None:
    study.add_trial(pruned(0.1, {1: 1.0}))
    study.add_trial(pruned(0.2, {1: 4.0, 3: 3.0}))
    study.add_trial(finished(0.3, math.inf))
    assert raw(read(study)) == [1, 3, 3]


def test_pruned_trials_without_a_number_are_left_out(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 1.0, reported={1: 1.0}))
    study.add_trial(pruned(0.2, {}))
    study.add_trial(pruned(0.3, {1: 1.0, 2: math.nan}))
    study.add_trial(pruned(0.4, {1: 0.0}))
    assert read(study).numbers.tolist() == [0, 3]
    assert read(study, use_pruned=False).numbers.tolist() == [0]


def test_nan_reports_of_completed_trials_teach_nothing(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 5.0, reported={1: math.nan}))
    study.add_trial(finished(0.2, 7.0, reported={1: 4.0}))
    study.add_trial(pruned(0.3, {1: 0.0}))
    assert raw(read(study)) == [5, 7, 3]


def test_penalties_do_not_make_values_skewed() -> None:
    def skewed(values: list[float]) -> bool:
        study = optuna.create_study()
        for i, value in enumerate(values):
            study.add_trial(finished(i / 16, value))
        seen = read(study)
        assert seen.at(np.arange(3)).skewed == seen.skewed
        return seen.skewed

    assert not skewed([3.0, 1e9, 2.0, 4.0, 1.0, 5.0, 2.5, 1e9, 1.5, 3.5])
    assert skewed([10.0**i for i in range(10)])
    assert not skewed([10.0**i for i in range(9)])


def test_of_several_objectives_none_counts_as_skewed() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    for i in range(12):
        values = [10.0**i, 0.0]
        study.add_trial(
            optuna.create_trial(params=params(i / 16), distributions=SPACE, values=values)
        )
    assert not read(study).skewed


def random_trial(rng: np.random.Generator) -> FrozenTrial:
    x, value = rng.random(), rng.normal()
    reported = {int(s): rng.normal() for s in rng.integers(0, 4, size=rng.integers(0, 4))}
    extra: dict[str, Any] = {}
    if rng.random() < 0.5:
        extra["system_attrs"] = {
            "hdbo:suggestion:0": json.dumps(
                {"version": 1, "method": "fake", "params": {}, "record": {"x": x}}
            )
        }
    if rng.random() < 0.3:
        extra.setdefault("system_attrs", {})["constraints"] = [rng.normal()]
    kind = rng.random()
    if kind < 0.1:
        return finished(x, None, TrialState.FAIL, reported, **extra)
    if kind < 0.5:
        return finished(
            x, reported[max(reported)] if reported else None, TrialState.PRUNED, reported, **extra
        )
    return finished(x, value, TrialState.COMPLETE, reported, **extra)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_incremental_equals_rebuilt(seed: int, direction: str) -> None:
    rng = np.random.default_rng(seed)
    study = optuna.create_study(direction=direction)
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    running: list[optuna.Trial] = []
    for _ in range(60):
        if rng.random() < 0.4:
            running.append(study.ask(SPACE))
        elif running and rng.random() < 0.5:
            # Trials end in another order than they began.
            study.tell(running.pop(rng.integers(len(running))), rng.normal())
        else:
            study.add_trial(random_trial(rng))
        seen = read(study, space=space, history=history)
        assert_same(seen, read(study))
        assert np.all(np.diff(seen.numbers) > 0)


def test_arrays_handed_out_never_change(study: optuna.Study) -> None:
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    asked = [study.ask(SPACE) for _ in range(40)]
    given = []
    for i in np.random.default_rng(0).permutation(40):
        study.tell(asked[i], float(i))
        seen = read(study, space=space, history=history)
        given.append((seen, seen.X.copy()))
    assert all(np.array_equal(seen.X, copy) for seen, copy in given)


def test_another_space_or_study_starts_afresh(study: optuna.Study) -> None:
    history = History("fake", use_pruned=True)
    study.add_trial(finished(0.25, 1.0))
    small = SearchSpace({"x": FloatDistribution(0, 1)})
    assert read(study, history=history).X.shape == (1, 3)
    assert read(study, history=history, space=small).X.tolist() == [[0.25]]
    other = optuna.create_study()
    assert read(other, history=history, space=small).X.shape == (0, 1)
    other.add_trial(finished(0.75, 1.0))
    assert read(other, history=history, space=small).X.tolist() == [[0.75]]


def test_points_of_running_trials_are_pending(study: optuna.Study) -> None:
    space = SearchSpace(SPACE)
    known = study.ask(SPACE)
    partly = study.ask({"x": SPACE["x"]})
    published = study.ask({"x": SPACE["x"]})
    text = StoredSuggestion(space.to_json(params(0.5)), None, None).to_text()
    write_suggestion(study, study._storage.get_trial(published._trial_id), text)
    study.enqueue_trial(params(0.125, 3, "d"))
    enqueued = study.ask()
    study.enqueue_trial({"k": 77, "x": 0.1, "c": "a"})
    study.ask()  # out of range: unknown
    expected = [
        known.params,
        {**params(0.5), "x": published.params["x"]},  # what was suggested beats what was meant
        params(0.125, 3, "d"),
    ]
    rows = read(study, space=space).pending.tolist()
    assert rows == [space.encode(p).tolist() for p in expected]  # type: ignore[union-attr]
    own = study._storage.get_trial(enqueued._trial_id)
    assert read(study, space=space, trial=own).pending.tolist() == rows[:2]
    assert partly.number not in read(study).numbers
    study.tell(known, 1.0)
    assert read(study, space=space).pending.tolist() == rows[1:]


def test_records_of_every_state_and_of_this_method_only(study: optuna.Study) -> None:
    def attributes(method: str | None, record: dict[str, Any] | None) -> dict[str, Any]:
        return {"hdbo:suggestion:0": StoredSuggestion({}, method, record).to_text()}

    mine = attributes("fake", {"a": [1, 2.5, "é"]})
    study.add_trial(finished(0.1, 1.0, system_attrs=mine))
    study.add_trial(finished(0.1, 1.0, system_attrs=attributes("other", {"a": 1})))
    study.add_trial(finished(0.1, 1.0, system_attrs=attributes("fake", None)))
    study.add_trial(finished(0.1, None, TrialState.FAIL, system_attrs=mine))
    running = study.ask()
    write_suggestion(study, study._storage.get_trial(running._trial_id), mine["hdbo:suggestion:0"])
    study.add_trial(finished(0.1, 2.0, TrialState.PRUNED, {1: 2.0}, system_attrs=mine))
    study.add_trial(optuna.create_trial(state=TrialState.WAITING, system_attrs=mine))
    seen = read(study)
    assert [(r.number, r.state) for r in seen.records] == [
        (0, "complete"),
        (3, "failed"),
        (4, "running"),
        (5, "pruned"),
    ]
    assert all(r.data == {"a": [1, 2.5, "é"]} for r in seen.records)


def test_long_suggestions_are_cut_into_chunks(
    storage: optuna.storages.BaseStorage,
) -> None:
    study = optuna.create_study(storage=storage)
    trial = storage.get_trial(study.ask()._trial_id)
    record = {"é" * 10 + str(i): i / 7 for i in range(1000)}
    long = StoredSuggestion({}, "fake", record)
    write_suggestion(study, trial, long.to_text())
    stored = study.trials[0].system_attrs
    assert len(stored) > 10
    assert all(len(chunk) <= CHUNK_LENGTH for chunk in stored.values())
    assert read(study).records[0].data == record
    # A retried trial starts with the attributes of the failed one.
    write_suggestion(study, trial, StoredSuggestion({}, "fake", {"a": 1}).to_text())
    assert read(study).records[0].data == {"a": 1}


HOSTILE: dict[str, Any] = {
    "number": 3,
    "list": [1, 2],
    "empty": "",
    "no JSON": "{'version': 1}",
    "truncated": '{"version": 1, "method": "fa',
    "array": "[]",
    "null": "null",
    "deep": "[" * 100_000,
    "long integer": '{"version": ' + "9" * 10_000 + "}",
    "NaN": '{"version": 1, "method": "fake", "params": {}, "record": {"a": NaN}}',
    "no version": '{"method": "fake", "params": {}, "record": {}}',
    "other version": '{"version": 2, "method": "fake", "params": {}, "record": {}}',
    "params": '{"version": 1, "method": "fake", "params": [], "record": {}}',
    "method": '{"version": 1, "method": ["fake"], "params": {}, "record": {}}',
    "record": '{"version": 1, "method": "fake", "params": {}, "record": "gASVAAAA"}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_attributes_are_ignored_with_one_warning(
    study: optuna.Study, text: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        study.add_trial(finished(0.5, 1.0, system_attrs={"hdbo:suggestion:0": text}))
        trial = study.ask()
        study._storage.set_trial_system_attr(trial._trial_id, "hdbo:suggestion:0", text)
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            seen = read(study, history=history, space=space)
    assert len(seen.y) == 2
    assert len(seen.records) == len(seen.pending) == 0
    assert len(caplog.messages) == 1
    assert "trial 0 are ignored" in caplog.messages[0]


@pytest.mark.parametrize(
    "numbers",
    [
        {"x": 2.0, "k": 1, "c": 0},
        {"x": 0.5, "k": 1, "c": 3},
        {"x": "0.5", "k": 1, "c": 0},
        {"x": [], "k": 1, "c": 0},
        {"x": 0.5, "k": 1.5, "c": 0},
    ],
)
def test_hostile_parameters_are_ignored_with_one_warning(
    study: optuna.Study, numbers: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    text = StoredSuggestion(numbers, None, None).to_text()
    for _ in range(2):
        trial = study.ask()
        study._storage.set_trial_system_attr(trial._trial_id, "hdbo:suggestion:0", text)
    with caplog.at_level(logging.WARNING):
        assert len(read(study).pending) == 0
    assert len(caplog.messages) == 1


def test_constraints(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 1.0))
    study.add_trial(finished(0.1, 1.0, system_attrs={"constraints": [1.0, -2.0]}))
    study.add_trial(finished(0.1, 1.0, system_attrs={"constraints": "?"}))
    expected = [[math.nan, math.nan], [1, -2], [math.nan, math.nan]]
    assert np.array_equal(read(study).constraints, expected, equal_nan=True)


@pytest.mark.skipif(
    not hasattr(FrozenTrial, "constraints"), reason="Optuna 5 brought named constraints"
)
def test_named_constraints(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 1.0, constraints={"size": 3.0}))
    study.add_trial(finished(0.1, 1.0, constraints={"time": -1.0, "size": 0.0}))
    expected = [[3, math.nan], [0, -1]]
    assert np.array_equal(read(study).constraints, expected, equal_nan=True)


def test_known_parameters_include_those_outside_the_space(study: optuna.Study) -> None:
    history = History("fake", use_pruned=True)
    study.add_trial(finished(0.1, 1.0))
    read(study, history=history, space=SearchSpace({"x": FloatDistribution(0, 1)}))
    assert history.known == SPACE


def test_a_trial_costs_the_same_however_many_there_are(
    study: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = []
    encode: Callable[[SearchSpace, Any], Any] = SearchSpace.encode

    def count(self: SearchSpace, params: Any) -> Any:
        encoded.append(params)
        return encode(self, params)

    monkeypatch.setattr(SearchSpace, "encode", count)
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    for i in range(50):
        study.add_trial(finished(i / 50, 1.0))
        read(study, history=history, space=space)
    assert len(encoded) == 50


def test_settled_trials_are_not_looked_at_again(study: optuna.Study) -> None:
    """Per trial a handful of trials is touched, not the thousands that are finished."""
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    late = study.ask(SPACE)
    for i in range(20):
        study.add_trial(finished(i / 20, float(i)))
        assert len(read(study, history=history, space=space).values) == i + 1
    study.enqueue_trial(params(0.3))
    read(study, history=history, space=space)
    trials = study.get_trials(deepcopy=False)
    assert [t.number for t in history._unsettled.among(trials)] == [0, 21]
    study.tell(late, 5.0)
    study.tell(study.ask(SPACE), 6.0)
    seen = read(study, history=history, space=space)
    assert seen.numbers.tolist() == list(range(22))
    assert seen.values[0] == 5.0
    assert seen.values[-1] == 6.0
    assert history._unsettled.among(study.get_trials(deepcopy=False)) == []


def test_what_was_handed_out_does_not_change_afterwards(study: optuna.Study) -> None:
    """Records are handed out without a copy, and later ones may come before and behind them."""
    space, history = SearchSpace(SPACE), History("fake", use_pruned=True)
    trials = [study.ask() for _ in range(4)]
    handed_out: list[tuple[Observations, list[int]]] = []
    for i in (1, 0, 3, 2):
        for trial in (trials[i],):
            frozen = study._storage.get_trial(trial._trial_id)
            stored = StoredSuggestion(space.to_json(params(0.1 * i)), "fake", {"i": i})
            write_suggestion(study, frozen, stored.to_text())
            for name, distribution in SPACE.items():
                study._storage.set_trial_param(
                    trial._trial_id,
                    name,
                    distribution.to_internal_repr(params(0.1 * i)[name]),
                    distribution,
                )
            study.tell(trial, float(i))
        seen = read(study, space=space, history=history)
        handed_out.append((seen, [record.number for record in seen.records]))
        assert seen.records[-1].number == max(r.number for r in seen.records)
        assert list(seen.records[1:]) == list(seen.records)[1:]
        assert [r.number for r in reversed(seen.records)] == handed_out[-1][1][::-1]
    for seen, numbers in handed_out:
        assert [record.number for record in seen.records] == numbers
        assert len(seen.records) == len(numbers)
    assert handed_out[-1][1] == [0, 1, 2, 3]


def test_a_second_look_is_quick_only_where_nothing_can_have_changed(study: optuna.Study) -> None:
    space, history = SearchSpace(SPACE), History("fake", use_pruned=True)
    study.add_trial(finished(0.1, 1.0))
    asking = study._storage.get_trial(study.ask()._trial_id)
    first = read(study, space=space, history=history, trial=asking)
    assert read(study, space=space, history=history, trial=asking) is first
    other = study.ask()
    assert read(study, space=space, history=history, trial=asking) is not first
    other.suggest_float("x", 0, 1)
    other.suggest_int("k", 1, 9)
    other.suggest_categorical("c", ["a", "b", "d"])
    assert len(read(study, space=space, history=history, trial=asking).pending) == 1
    study.tell(other, 2.0)
    assert len(read(study, space=space, history=history, trial=asking).values) == 2


def test_a_list_in_memory_is_not_copied() -> None:
    """Copying and dropping it touches every trial of the study, several times a trial."""
    study = optuna.create_study()
    study.add_trials([finished(0.1 * i, float(i)) for i in range(3)])
    assert read_trials(study) is read_trials(study)
    assert [t.value for t in read_trials(study)] == [t.value for t in study.trials]
    assert [t.number for t in read_trials(study, (TrialState.FAIL,))] == []


def test_storages_that_keep_no_list_are_asked_for_one() -> None:
    class Strange(optuna.storages.InMemoryStorage):
        pass

    storages = [Strange(), optuna.storages.RDBStorage("sqlite://")]
    for storage in storages:
        other = optuna.create_study(storage=storage)
        other.add_trial(finished(0.1, 1.0))
        assert [t.value for t in read_trials(other)] == [1.0]
        assert read_trials(other) is not read_trials(other)


class Forgetful(optuna.storages.InMemoryStorage):
    """Leaves a trial out of its list, as a proxy does that has missed it."""

    missed = 3
    can_find_it = True

    def get_all_trials(self, *args: Any, **kwargs: Any) -> list[FrozenTrial]:
        trials = super().get_all_trials(*args, **kwargs)
        return [trial for trial in trials if trial.number != self.missed]

    def get_trial_id_from_study_id_trial_number(self, study_id: int, trial_number: int) -> int:
        if trial_number == self.missed and not self.can_find_it:
            raise KeyError(trial_number)
        return super().get_trial_id_from_study_id_trial_number(study_id, trial_number)


def test_a_trial_that_a_list_has_missed_is_asked_for() -> None:
    storage = Forgetful()
    study = optuna.create_study(storage=storage)
    study.add_trials([finished(0.1 * i, float(i)) for i in range(6)])
    assert [t.value for t in read_trials(study)] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    storage.can_find_it = False  # nobody can see it yet
    assert [t.number for t in read_trials(study)] == [0, 1, 2]


@pytest.mark.parametrize("can_find_it", [True, False])
def test_a_study_goes_on_when_its_storage_misses_a_trial(can_find_it: bool) -> None:
    storage = Forgetful()
    study = optuna.create_study(storage=storage, sampler=FakeSampler(seed=0, n_startup_trials=2))

    def bowl(trial: optuna.Trial) -> float:
        storage.can_find_it = can_find_it or trial.number > 5
        return sum((trial.suggest_float(name, 0.0, 1.0) - 0.3) ** 2 for name in "xy")

    study.optimize(bowl, n_trials=9)
    trials = read_trials(study)
    assert [t.number for t in trials] == list(range(9))
    if can_find_it:  # otherwise some have not seen what others had tried
        assert len({tuple(t.params.values()) for t in trials}) == 9


def test_trials_that_come_while_others_are_read_are_read_next(study: optuna.Study) -> None:
    """The list in memory grows under the eyes of its readers."""
    study.add_trials([finished(0.1 * i, float(i)) for i in range(3)])
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)

    class Growing(list[FrozenTrial]):
        def __getitem__(self, index: Any) -> Any:
            found = super().__getitem__(index)
            if len(self) < 6:
                study.add_trial(finished(0.05, 9.0))
                self.append(study.get_trials(deepcopy=False)[-1])
            return found

    live = Growing(study.get_trials(deepcopy=False))
    assert history.read(study, ASKING, space, live).numbers.tolist() == [0, 1, 2]
    for _ in range(4):
        seen = history.read(study, ASKING, space, live)
    assert seen.numbers.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("record", "parsed"),
    [
        ({"a": [1, 2.5, "é", None, True, {"b": -0.0}]}, 0),
        ({"a": "long" * CHUNK_LENGTH}, 0),
        ({"a": (1, 2)}, 1),  # a list when read
        ({"a": [0.5, [1, (2, 3)]]}, 1),
        ({1: 2}, 1),  # text when read
        ({"a": np.float64(0.5)}, 1),
    ],
)
def test_what_was_just_written_is_parsed_only_if_that_changes_it(
    study: optuna.Study, monkeypatch: pytest.MonkeyPatch, record: Any, parsed: int
) -> None:
    calls = []

    def counted(trial: FrozenTrial, n_columns: int) -> StoredSuggestion | None:
        calls.append(trial.number)
        return read_suggestion(trial, n_columns)

    monkeypatch.setattr("optuna_hdbo._study.history.read_suggestion", counted)
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    history.read(study, ASKING, space)
    trial = study.ask(SPACE)
    mine = StoredSuggestion(space.to_json(trial.params), "fake", record)
    frozen = study._storage.get_trial(trial._trial_id)
    write_suggestion(study, frozen, mine.to_text())
    history.remember(frozen, mine.to_text(), mine)
    running = history.read(study, ASKING, space)
    study.tell(trial, 1.0)
    seen = history.read(study, ASKING, space)
    assert len(calls) == parsed
    fresh = History("fake", use_pruned=True).read(study, ASKING, space)
    for one in (running, seen):
        assert [repr(r.data) for r in one.records] == [repr(r.data) for r in fresh.records]
    assert (seen.X == fresh.X).all()


def test_what_another_has_written_in_its_place_counts(study: optuna.Study) -> None:
    history, space = History("fake", use_pruned=True), SearchSpace(SPACE)
    history.read(study, ASKING, space)
    trial = study.ask(SPACE)
    frozen = study._storage.get_trial(trial._trial_id)
    numbers = space.to_json(trial.params)
    mine, other = (StoredSuggestion(numbers, "fake", {"a": a}) for a in (1, 2))
    write_suggestion(study, frozen, mine.to_text())
    history.remember(frozen, mine.to_text(), mine)
    write_suggestion(study, frozen, other.to_text(), replaces=True)
    study.tell(trial, 1.0)
    assert [r.data for r in history.read(study, ASKING, space).records] == [{"a": 2}]


def failed_numbers(seen: Observations) -> list[int]:
    return [] if seen.failures is None else seen.failures.numbers.tolist()


def test_trials_without_a_value_are_failures(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 1.0))
    study.add_trial(finished(0.2, None, TrialState.FAIL))
    study.add_trial(pruned(0.3, {1: 2.0}))  # an observation
    study.add_trial(pruned(0.4, {}))
    study.add_trial(pruned(0.5, {1: 2.0, 2: math.nan}))
    seen = read(study)
    assert seen.numbers.tolist() == [0, 2]
    assert failed_numbers(seen) == [1, 3, 4]
    assert seen.failures is not None
    assert seen.failures.X[:, 2].tolist() == [0.2, 0.4, 0.5]
    np.testing.assert_array_equal(seen.known[-3:], seen.failures.X)
    assert failed_numbers(read(study, use_pruned=False)) == [1]


def test_a_failed_trial_counts_once_another_one_has_a_value(study: optuna.Study) -> None:
    study.add_trial(finished(0.2, None, TrialState.FAIL))
    study.add_trial(finished(0.3, None, TrialState.FAIL))
    history = History("fake", use_pruned=True)
    assert failed_numbers(read(study, history=history)) == [0, 1]
    study.add_trial(finished(0.2, 1.0))  # tried again
    assert failed_numbers(read(study, history=history)) == [1]


def test_a_failed_trial_without_all_parameters_is_no_failure(study: optuna.Study) -> None:
    study.add_trial(finished(0.1, 1.0))
    part = {"k": 3, "c": "a"}
    distributions = {name: SPACE[name] for name in part}
    for state in (TrialState.FAIL, TrialState.PRUNED):
        study.add_trial(optuna.create_trial(params=part, distributions=distributions, state=state))
    assert failed_numbers(read(study)) == []


def test_failures_are_elsewhere_if_they_depend_on_a_parameter(study: optuna.Study) -> None:
    rng = np.random.default_rng(0)
    for i, x in enumerate(rng.random(40)):
        value = None if x > 0.7 else float(i)
        state = TrialState.FAIL if x > 0.7 else TrialState.COMPLETE
        study.add_trial(finished(x, value, state))
    failures = read(study).failures
    assert failures is not None
    assert failures.are_elsewhere


def test_failures_of_several_objectives() -> None:
    study = optuna.create_study(directions=["maximize", "minimize"])
    for x, values in ((0.1, [1.0, 2.0]), (0.2, None), (0.3, None)):
        state = TrialState.COMPLETE if values else [TrialState.FAIL, TrialState.PRUNED][x > 0.2]
        study.add_trial(
            optuna.create_trial(params=params(x), distributions=SPACE, values=values, state=state)
        )
    assert failed_numbers(read(study)) == [1, 2]


@pytest.mark.parametrize("penalty", [-1e9, -math.inf])
@pytest.mark.parametrize("anywhere", [True, False])
def test_penalties_by_chance_are_failures(
    study: optuna.Study, penalty: float, anywhere: bool
) -> None:
    xs = [i / 40 for i in range(40)]
    fails = [i % 5 == 2 if anywhere else i >= 32 for i in range(40)]
    for x, fail in zip(xs, fails, strict=True):
        study.add_trial(finished(x, penalty if fail else -((x - 0.3) ** 2)))
    seen = read(study)
    lost = [i for i, fail in enumerate(fails) if fail]
    if anywhere:
        assert failed_numbers(seen) == lost
        assert seen.numbers.tolist() == [i for i in range(40) if i not in lost]
        assert seen.failures is not None
        assert not seen.failures.are_elsewhere
        assert seen.values.min() > -1.0
    else:
        assert failed_numbers(seen) == []
        assert len(seen.values) == 40
        assert (seen.y[lost] == seen.y.min()).all()


@pytest.mark.parametrize("time", [1e9, -1.0, math.inf])
def test_penalties_of_several_objectives_are_failures(time: float) -> None:
    study = optuna.create_study(directions=["maximize", "minimize"])
    for i in range(15):
        values = [-1e9, time] if i % 5 == 2 else [i / 40, i / 40]
        study.add_trial(
            optuna.create_trial(params=params(i / 40), distributions=SPACE, values=values)
        )
    seen = read(study)
    assert seen.numbers.tolist() == [i for i in range(15) if i % 5 != 2]
    assert seen.objectives is not None
    assert seen.objectives.min() > -1.0
    assert seen.failures is not None
    assert seen.failures.numbers.tolist() == [2, 7, 12]


@pytest.mark.parametrize("n_far", [1, 2, 3])
def test_a_first_end_of_the_front_has_not_failed(n_far: int) -> None:
    """Where a first trial has almost no error, its size may be far from all others."""
    study = optuna.create_study(directions=["minimize", "minimize"])
    for i in range(15):
        values = [1e9, -1.0] if i % 5 == 2 and i // 5 < n_far else [i / 40, 1.0 - i / 40]
        study.add_trial(
            optuna.create_trial(params=params(i / 40), distributions=SPACE, values=values)
        )
    assert (read(study).failures is None) == (n_far < 3)


def test_an_objective_that_spans_magnitudes_has_no_penalties_of_its_own() -> None:
    """The size of a model, and its error: failures are far from all others in both, or alike."""
    sizes = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1e3, 2e3, 1e6]
    errors = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    told = {i: (-size, -error) for i, (size, error) in enumerate(zip(sizes, errors, strict=True))}
    everywhere = np.ones(len(told), np.bool_)
    known = with_penalties_raised(np.array([*told.values()]), everywhere)
    assert [tuple(row) for row in known.tolist()] == list(told.values())
    told[9], told[10] = (-1e9, -1e4), (-1e9, -1e5)
    failed = with_penalties_raised(np.array([*told.values()]), np.ones(len(told), np.bool_))
    assert failed[9:].min() > -1e4
    assert np.array_equal(failed[:9], known)
