"""Parameters whose range or scale changes while a study runs."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from fakes import FakeSampler
from histories import affordable
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

import optuna_hdbo
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.maximise.several import ranked
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._study import independent
from optuna_hdbo._study.attributes import known_suggestion
from optuna_hdbo._study.attributes import read_suggestion
from optuna_hdbo._study.columns import make_column
from optuna_hdbo._study.space import REACH
from optuna_hdbo._study.space import SearchSpace


class Looking(FakeSampler):
    """Its method also gets the trials outside of the present ranges."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.method.looks_outside = True  # type: ignore[attr-defined]


def ranged(low: float, high: float) -> Any:
    return lambda trial: (
        (trial.suggest_float("x", low, high) - 0.4) ** 2 + trial.suggest_float("y", 0, 1)
    )


@pytest.mark.parametrize(("low", "high"), [(0.0, 2.0), (0.25, 0.75)])
def test_trials_inside_a_changed_range_stay_observations(low: float, high: float) -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=5)
    study = optuna.create_study(sampler=sampler)
    study.optimize(ranged(0, 1), n_trials=12)
    study.optimize(ranged(low, high), n_trials=11)
    trial = study.ask()
    assert set(trial.relative_params) == {"x", "y"}
    assert trial.relative_search_space is not None
    assert trial.relative_search_space["x"] == FloatDistribution(low, high)
    inside = [t for t in study.trials[:-1] if low <= t.params["x"] <= high]
    assert len(sampler.method.seen[-1].X) == len(inside) > 12


def test_while_a_range_changes_the_nearest_value_is_taken() -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=5))
    study.optimize(ranged(0, 1), n_trials=12)
    trial = study.ask()
    asked = trial.relative_params["x"]
    assert trial.suggest_float("x", asked + 0.5, 3.0) == asked + 0.5
    trial = study.ask()
    asked = trial.relative_params["x"]
    assert trial.suggest_float("x", -3.0, asked - 0.5, step=0.125) == pytest.approx(
        asked - 0.5, abs=0.125
    )


def test_values_that_are_moved_into_a_range_are_the_models_and_not_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=5))
    with caplog.at_level(logging.WARNING):
        study.optimize(ranged(0, 1), n_trials=12)
        trial = study.ask()
        trial.suggest_float("x", trial.relative_params["x"] + 0.5, 3.0)
        trial.suggest_float("y", -2.0, -1.0)
    assert caplog.messages == []


def test_the_users_sampler_is_named_where_it_takes_the_place_of_a_model(
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = optuna.samplers.RandomSampler(seed=0)
    sampler = FakeSampler(seed=0, n_startup_trials=5, independent_sampler=other)
    study = optuna.create_study(sampler=sampler)
    with caplog.at_level(logging.WARNING):
        study.optimize(ranged(0, 1), n_trials=12)
        study.ask().suggest_float("x", 2.0, 3.0)
    (message,) = caplog.messages
    assert "'x' of trial 12 is sampled by RandomSampler" in message


def test_a_suggestion_is_parsed_once_however_many_ranges_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"x{i}" for i in range(8)]
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=5))
    study.optimize(lambda t: sum(t.suggest_float(n, 0, 1) for n in names), n_trials=8)
    n_read = 0

    def counted(trial: optuna.trial.FrozenTrial) -> Any:
        nonlocal n_read
        n_read += 1
        return known_suggestion(trial)

    monkeypatch.setattr(independent, "known_suggestion", counted)
    for n_trials in (1, 2):
        trial = study.ask()
        asked = dict(trial.relative_params)
        for name in names:  # each trial has its own values
            assert trial.suggest_float(name, -2, asked[name] - 0.5) == asked[name] - 0.5
        assert n_read == n_trials


def test_a_range_that_is_always_another_has_the_values_of_all() -> None:
    sampler = FakeSampler(seed=0, n_startup_trials=5)
    study = optuna.create_study(sampler=sampler)
    study.optimize(
        lambda t: t.suggest_int("n", 1, 9) + t.suggest_float("x", 0, 1 + t.number), n_trials=20
    )
    trial = study.ask()
    assert set(trial.relative_params) == {"n", "x"}
    assert trial.relative_search_space is not None
    assert trial.relative_search_space["x"] == FloatDistribution(0, 20)
    assert len(sampler.method.seen[-1].X) == 20


def present_of(ranges: list[tuple[float, float]]) -> tuple[float, float]:
    """The range that the next trial is asked for, when trials had these."""
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=1))
    for low, high in ranges:
        trial = study.ask()
        study.tell(trial, trial.suggest_float("x", low, high) + trial.suggest_float("y", 0, 1))
    trial = study.ask()
    assert set(trial.relative_params) == {"x", "y"}
    assert trial.relative_search_space is not None
    present = trial.relative_search_space["x"]
    assert isinstance(present, FloatDistribution)
    return present.low, present.high


WIDE, NARROW, OTHER = (0.0, 1.0), (0.4, 0.6), (0.5, 0.8)


@pytest.mark.parametrize(
    ("ranges", "present"),
    [
        ([WIDE] * 10 + [NARROW], NARROW),
        ([WIDE] * 10 + [NARROW] * 5, NARROW),
        ([NARROW] + [WIDE] * 10 + [OTHER], OTHER),
        ([WIDE] * 9 + [NARROW], WIDE),  # it had not lasted
        ([WIDE] * 10 + [NARROW, OTHER], WIDE),  # they have changed twice
        ([WIDE] * 10 + [NARROW, WIDE, NARROW], WIDE),  # it comes back, as by two workers
        ([NARROW] + [WIDE] * 10 + [NARROW], WIDE),
        ([NARROW] + [WIDE] * 10 + [NARROW] * 10, NARROW),
        ([NARROW] * 10 + [WIDE], WIDE),
        ([NARROW] * 10 + [OTHER], OTHER),
        ([NARROW, OTHER] * 5, (0.4, 0.8)),
    ],
)
def test_a_range_that_lasted_is_over_once_there_is_a_new_one(
    ranges: list[tuple[float, float]], present: tuple[float, float]
) -> None:
    assert present_of(ranges) == present


def test_no_trial_is_repeated_after_all_ranges_became_narrower() -> None:
    """The best point is outside of them, and what is asked for there ends at their bounds."""

    def corner(low: float, high: float) -> Any:
        return lambda trial: sum(trial.suggest_float(name, low, high) ** 2 for name in "xyz")

    study = optuna.create_study(sampler=optuna_hdbo.HDBOSampler(seed=0))
    study.optimize(corner(0, 1), n_trials=affordable(20, 12))
    study.optimize(corner(0.4, 0.6), n_trials=affordable(10, 4))
    narrow = [tuple(t.params.values()) for t in study.trials if max(t.params.values()) <= 0.6]
    assert len(set(narrow)) == len(narrow)


# what is outside ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 2.0), (0.25, 0.75), (0.5, 1.5), (0.6, 0.7), (-0.1, 0.3)]
)
def test_trials_close_to_a_changed_range_are_marked_as_outside(low: float, high: float) -> None:
    sampler = Looking(seed=0, n_startup_trials=12)
    study = optuna.create_study(sampler=sampler)
    study.optimize(ranged(0, 1), n_trials=12)
    study.optimize(ranged(low, high), n_trials=11)
    assert set(study.ask().relative_params) == {"x", "y"}
    seen = sampler.method.seen[-1]
    at = [(t.params["x"] - low) / (high - low) for t in study.trials[:-1]]
    close = [x for x in at if -REACH <= x <= 1 + REACH]
    np.testing.assert_allclose(seen.X[:, 0], close, atol=1e-12)
    outside = [not 0 <= x <= 1 for x in close]
    assert (seen.outside is not None) == any(outside)
    if seen.outside is not None:
        assert seen.outside.tolist() == outside
    assert len(seen.inside.X) == len(close) - sum(outside)


def linear(rate: float) -> optuna.trial.FrozenTrial:
    return optuna.create_trial(
        params={"rate": rate, "y": 0.5},
        distributions={"rate": FloatDistribution(1e-5, 1), "y": FloatDistribution(0, 1)},
        value=rate,
    )


def test_a_range_that_is_turned_to_a_log_scale_is_searched_on_it() -> None:
    """Optuna refuses the change in a study, but trials can be copied to another one."""
    sampler = Looking(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    rates = [0.00005, 0.02, 0.2, 0.9]
    study.add_trials([linear(rate) for rate in rates])
    log = {"rate": FloatDistribution(0.01, 0.1, log=True), "y": FloatDistribution(0, 1)}
    params = {"rate": 0.05, "y": 0.2}
    study.add_trial(optuna.create_trial(params=params, distributions=log, value=0.0))
    trial = study.ask()
    assert set(trial.relative_params) == {"rate", "y"}
    assert trial.relative_search_space == log
    assert 0.01 <= trial.suggest_float("rate", 0.01, 0.1, log=True) <= 0.1
    seen = sampler.method.seen[-1]
    on_log_scale = [math.log10(rate / 0.01) for rate in [*rates[1:], 0.05]]
    np.testing.assert_allclose(seen.X[:, 0], on_log_scale)  # the first one is too far away
    assert seen.outside is not None
    assert seen.outside.tolist() == [False, True, True, False]


def test_a_range_that_moves_away_altogether_leaves_the_nearest_points() -> None:
    sampler = Looking(seed=0, n_startup_trials=5)
    study = optuna.create_study(sampler=sampler)
    study.optimize(ranged(0, 1), n_trials=12)
    space = SearchSpace({"x": FloatDistribution(1.0, 3.0), "y": FloatDistribution(0, 1)})
    trial = study._storage.get_trial(study.ask()._trial_id)
    seen = sampler._history.read(study, trial, space)
    assert seen.outside is None
    assert seen.X.tolist() == [[0.0, t.params["y"]] for t in study.trials[:12]]


@pytest.mark.parametrize("name", ["AddGPUCB", "GPMI", "GPUCB", "HDBO", "TuRBO"])
@pytest.mark.parametrize(("low", "high"), [(0.25, 0.75), (0.6, 1.6)])
def test_suggestions_stay_in_the_range_and_do_not_start_over(
    name: str, low: float, high: float
) -> None:
    sampler = getattr(optuna_hdbo, f"{name}Sampler")(seed=0, n_startup_trials=12)
    study = optuna.create_study(sampler=sampler)
    study.optimize(ranged(0, 1), n_trials=13)
    log = {"x": FloatDistribution(low, high), "y": FloatDistribution(0, 1)}
    for x in (low, 0.7):  # the range that a restarted program has
        study.add_trial(optuna.create_trial(params={"x": x, "y": 1.0}, distributions=log, value=9))
    study.optimize(ranged(low, high), n_trials=affordable(4, 1))
    for trial in study.trials[15:]:
        assert low <= trial.params["x"] <= high
        suggestion = read_suggestion(trial)
        assert suggestion is not None
        assert suggestion.method is not None  # a random point has none


def test_what_is_outside_is_evidence_but_nothing_to_improve_on() -> None:
    """The best trials are outside: the model knows them, and the nearest point inside is asked."""
    domain = Domain.continuous(1)
    X = np.array([[-0.4], [-0.3], [-0.2], [-0.1], [0.3], [0.7], [1.0]])
    seen = replace(Observations.from_arrays(X, -X[:, 0]), outside=X[:, 0] < 0.0)
    queries = EnsembleQueries(Ensemble("matern52", True, (ALL_MATTER,)), "log-ei")
    memory, rng = Memory([]), np.random.default_rng(0)
    x, model = queries.query(domain, seen, memory, 1.0, rng, ConstraintModels())
    assert 0.0 <= x[0] < 0.05
    assert model.posterior.X.shape == X.shape
    feasibility = ConstraintModels().fit(domain, seen, memory)
    incumbent = feasibility.incumbent(model.posterior)
    assert incumbent == pytest.approx(seen.y[4], abs=0.05)
    assert int(np.argmax(merits(seen))) == 4
    assert (merits(seen)[:4] < seen.y.min()).all()


def test_what_is_outside_dominates_nothing() -> None:
    seen = Observations.from_arrays(np.array([[-0.1], [0.1], [0.9]]), np.zeros(3))
    objectives = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    seen = replace(seen, objectives=objectives, outside=np.array([True, False, False]))
    assert ranked(seen).values.tolist() == [0.0, 0.0, -1.0]
    assert ranked(seen).feasible.tolist() == [False, True, True]


RANGES = [
    FloatDistribution(-3.0, 5.0),
    FloatDistribution(1e-4, 1e-1, log=True),
    FloatDistribution(0.0, 3.0, step=0.25),
    IntDistribution(3, 9),
    IntDistribution(2, 100, step=7),
    IntDistribution(4, 512, log=True),
    IntDistribution(1, 10**6),
]


@given(st.sampled_from(RANGES), st.floats(0, 1, exclude_max=True))
def test_an_admissible_value_is_where_the_column_has_it(d: BaseDistribution, u: float) -> None:
    column = make_column("x", d)
    value = column.draw(u)
    assert column.extend(value) == pytest.approx(column.encode(value), abs=1e-9)


@pytest.mark.parametrize("d", RANGES)
def test_a_scale_goes_on_beyond_its_ends(d: FloatDistribution | IntDistribution) -> None:
    column = make_column("x", d)
    below, above = column.extend(d.low * 0.9 - (not d.log)), column.extend(d.high * 1.1 + 1)
    assert below is not None and below < 0.1  # noqa: PT018
    assert above is not None and above > 0.9  # noqa: PT018
    assert below < column.extend(d.low) < column.extend(d.high) < above  # type: ignore[operator]


@pytest.mark.parametrize(
    ("d", "value"),
    [
        (FloatDistribution(0.1, 1, log=True), 0.0),
        (FloatDistribution(0.1, 1, log=True), -1),
        (IntDistribution(1, 9, log=True), 0),
        (FloatDistribution(0, 1), math.inf),
        (FloatDistribution(0, 1), math.nan),
        (FloatDistribution(0, 1), "0.5"),
        (IntDistribution(0, 9), None),
        (CategoricalDistribution(["a", "b"]), "c"),
    ],
)
def test_what_a_scale_does_not_have_is_nowhere(d: BaseDistribution, value: Any) -> None:
    assert make_column("x", d).extend(value) is None
    space = SearchSpace({"x": d, "y": FloatDistribution(0, 1)})
    assert space.extend({"x": value, "y": 0.5}) is None


def test_rows_outside_need_what_other_rows_need() -> None:
    space = SearchSpace({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}, ["x"])
    near, far = space.extend({"x": 1.25}), space.extend({"x": -REACH - 0.25})
    assert near is not None
    assert far is not None
    assert near.tolist() == [1.25, 0.5]
    assert space.is_close(near)
    assert not space.is_close(far)
    assert space.extend({"y": 1.25}) is None
    assert SearchSpace({"x": FloatDistribution(0, 1)}, []).extend({"z": 1.0}) is None
