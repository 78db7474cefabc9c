"""The loop for methods without Optuna gives what a sampler gives, and keeps the books."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from histories import INTERPRETED
from histories import bowl
from histories import method_classes

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.methods import Domain
from optuna_hdbo.methods import Loop
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.base import is_blind
from optuna_hdbo.methods.base import suggest
from optuna_hdbo.methods.gp_ucb import GPUCB
from optuna_hdbo.methods.soo import SOO
from optuna_hdbo.portfolio.hdbo import HDBO


class Centre:
    """Ask for the centre, and remember what was seen."""

    name = "centre"

    def __init__(self, record: Any = None) -> None:
        self.record = record
        self.seen: list[Observations] = []

    def validate(self, domain: Domain) -> None:
        if len(domain) > 3:
            raise ValueError("d must be at most 3")

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        self.seen.append(seen)
        return Suggestion(np.full(len(domain), 0.5), self.record, {"n": float(len(seen.y))})


@pytest.mark.skipif(INTERPRETED, reason="needs whole studies")
@pytest.mark.parametrize("name", list(method_classes()))
def test_a_loop_is_a_sampler_without_optuna(name: str) -> None:
    """On the unit cube, where parameters are columns, the points are the same bit for bit."""
    method = method_classes()[name]
    sampler = next(create for create in SAMPLERS.values() if create()._method.name == name)
    study = optuna.create_study(sampler=sampler(seed=5, n_startup_trials=4), direction="maximize")
    study.optimize(
        lambda t: bowl(np.array([t.suggest_float(f"x{i}", 0, 1) for i in range(3)])), 12
    )
    expected = [list(trial.params.values()) for trial in study.trials]
    loop = Loop(method(), Domain.continuous(3), seed=5, n_init=4)
    loop.add(np.array(expected[0]), bowl(np.array(expected[0])))  # a study's first parameters
    loop.run(bowl, 11)
    assert [trial.x.tolist() for trial in loop.trials] == expected


def test_points_under_way_are_pending_and_their_records_are_seen() -> None:
    method = Centre(record={"a": (1, 2)})
    loop = Loop(method, Domain.continuous(2), seed=0, n_init=2)
    first, second, third = (loop.ask() for _ in range(3))
    assert method.seen == []
    loop.tell(third, 3.0)
    loop.tell(first, 1.0)
    fourth, _ = loop.ask(), loop.ask()
    seen = method.seen[-1]
    assert seen.step == 4
    assert seen.numbers.tolist() == [0, 2]
    assert seen.values.tolist() == [1.0, 3.0]
    assert np.array_equal(seen.X, [first.x, third.x])
    assert np.array_equal(seen.pending, [second.x, fourth.x])
    assert [(r.number, r.state, r.data) for r in seen.records] == [(3, "running", {"a": [1, 2]})]
    assert fourth.report == {"n": 2.0}


@pytest.mark.parametrize("value", [None, math.nan])
def test_failed_trials_are_no_observations_but_keep_their_records(value: float | None) -> None:
    method = Centre(record={"a": 1})
    loop = Loop(method, Domain.continuous(1), n_init=0)
    loop.tell(loop.ask(), value)
    seen = loop.observations()
    assert len(seen.values) == len(seen.pending) == 0
    assert [r.state for r in seen.records] == ["failed"]
    assert seen.failures is not None
    assert np.array_equal(seen.failures.X, [loop.trials[0].x])
    with pytest.raises(ValueError, match="complete and feasible"):
        _ = loop.best


def test_minimising_turns_the_values_and_nothing_else() -> None:
    loops = [
        Loop(GPUCB(), Domain.continuous(2), seed=1, n_init=3, direction=direction)
        for direction in ("maximize", "minimize")  # type: ignore[arg-type]
    ]
    for sign, loop in zip((1.0, -1.0), loops, strict=True):
        loop.run(lambda x, sign=sign: sign * bowl(x), 6)
    for one, other in zip(*(loop.trials for loop in loops), strict=True):
        assert np.array_equal(one.x, other.x)
    assert loops[0].best.number == loops[1].best.number
    up, down = (loop.trials[-1].report["predicted"] for loop in loops)
    assert up == -down


def test_constraints_reach_the_method_and_the_best() -> None:
    method = Centre()
    loop = Loop(method, Domain.continuous(1), n_init=0)
    loop.add(np.array([0.25]), 9.0, [1.0])
    loop.add(np.array([0.75]), 1.0, [-1.0])
    loop.add(np.array([0.5]), 0.0)
    loop.ask()
    assert np.array_equal(method.seen[0].constraints, [[1.0], [-1.0], [np.nan]], equal_nan=True)
    assert loop.best.x == 0.75


def test_the_same_seed_gives_the_same_points() -> None:
    def points(seed: int | None) -> list[FloatArray]:
        loop = Loop(Centre(), Domain.continuous(2), seed=seed, n_init=3)
        loop.run(bowl, 3)
        return [trial.x for trial in loop.trials]

    assert np.array_equal(points(4), points(4))
    assert not np.array_equal(points(4), points(5))
    assert not np.array_equal(points(None), points(None))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_init": -1}, "n_init must be an integer of at least 0, but got -1"),
        ({"direction": "up"}, 'direction must be one of "maximize", "minimize", but got \'up\''),
        ({"domain": Domain.continuous(4)}, "d must be at most 3"),
    ],
)
def test_settings_are_refused_before_the_first_trial(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Loop(**{"method": Centre(), "domain": Domain.continuous(2), **settings})


def test_a_record_that_is_no_json_is_refused() -> None:
    loop = Loop(Centre(record={"a": math.nan}), Domain.continuous(1), n_init=0)
    with pytest.raises(ValueError, match="JSON"):
        loop.ask()
    assert loop.trials == []


def test_a_trial_ends_once() -> None:
    loop = Loop(GPUCB(), Domain.continuous(1), seed=0)
    trial = loop.ask()
    loop.tell(trial, 1.0)
    with pytest.raises(ValueError, match="trial 0 must be running, but is complete"):
        loop.tell(trial, None)
    assert loop.best is trial


def test_what_is_added_must_be_a_point_of_the_domain() -> None:
    loop = Loop(GPUCB(), Domain.continuous(2), seed=0, n_init=2)
    for x in ([0.5], [[0.5, 0.5]], [0.5, 1.5], [-1.0, 0.5], [math.nan, 0.5], ["a", "b"]):
        with pytest.raises(ValueError, match=r"x must be a point|convert"):
            loop.add(x, 1.0)  # type: ignore[arg-type]
    for told in (("a", ()), (None, (None,)), (1.0, 0.5)):
        with pytest.raises((ValueError, TypeError)):
            loop.add(np.array([0.5, 0.5]), *told)  # type: ignore[arg-type]
    assert loop.trials == []
    loop.add(np.array([0, 1]), np.float32(1.0))  # type: ignore[arg-type]
    loop.run(bowl, 4)
    assert len(loop.trials) == 5


def test_a_trial_goes_on_if_what_is_told_is_no_number() -> None:
    loop = Loop(GPUCB(), Domain.continuous(1), seed=0)
    trial = loop.ask()
    for value, constraints in (("a", ()), (1.0, ("a",)), (1.0, (None,))):
        with pytest.raises((ValueError, TypeError)):
            loop.tell(trial, value, constraints)  # type: ignore[arg-type]
        assert (trial.state, trial.value, trial.constraints) == ("running", None, ())
    loop.ask()
    loop.tell(trial, 1.0, np.array([0.0]))  # type: ignore[arg-type]
    assert loop.best is trial


def test_points_of_the_loop_stay_what_they_are() -> None:
    def objective(x: FloatArray) -> float:
        value = bowl(x)
        x *= 100.0
        return value

    method = Centre()
    loop = Loop(method, Domain.continuous(2), seed=0, n_init=1)
    loop.run(objective, 3)
    assert all(((t.x >= 0.0) & (t.x <= 1.0)).all() for t in loop.trials)
    with pytest.raises(ValueError, match="read-only"):
        loop.ask().x[0] = 2.0
    mine = np.array([0.5, 0.5])
    added = loop.add(mine, 1.0)
    mine[0] = 2.0
    assert added.x.tolist() == [0.5, 0.5]


def test_the_method_must_be_an_instance_and_the_domain_a_domain() -> None:
    with pytest.raises(TypeError, match="method must be an instance"):
        Loop(GPUCB, Domain.continuous(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="domain must be a Domain, but got 3"):
        Loop(GPUCB(), 3)  # type: ignore[arg-type]


def test_constraints_of_failed_trials_reach_the_method() -> None:
    loop = Loop(GPUCB(), Domain.continuous(1), seed=0)
    for value, constraints in ((1.0, ()), (None, (0.5, 2.0)), (None, ())):
        loop.tell(loop.ask(), value, constraints)
    seen = loop.observations()
    assert {n: told.tolist() for n, told in seen.told_by_failed.items()} == {1: [0.5, 2.0]}
    assert np.isnan(seen.constraints).tolist() == [[True, True]]


def test_every_other_point_is_random_while_all_trials_violate_a_constraint_alike() -> None:
    X = np.array([[0.1, 0.2], [0.7, 0.3], [0.4, 0.9]])
    constraints = np.array([[1.0, -1.0], [1.0, 2.0], [np.nan, 0.5]])
    seen = replace(Observations.from_arrays(X, np.arange(3.0)), constraints=constraints)
    assert is_blind(seen)
    assert not is_blind(replace(seen, constraints=seen.constraints[:, 1:]))
    assert not is_blind(replace(seen, constraints=seen.constraints[:, :0]))
    assert not is_blind(replace(seen, constraints=-seen.constraints[:, :1]))
    assert not is_blind(replace(seen, told_by_failed={7: np.array([0.5, np.nan])}))
    domain, streams = Domain.continuous(2), Streams(0)
    records = [
        suggest(method, domain, replace(seen, step=step), streams).record
        for method in (GPUCB(), HDBO(), SOO())
        for step in (3, 4)
    ]
    assert [record is None for record in records] == [True, False, True, False, False, False]
