"""Rules about which parameters a trial has, against a search through all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.variables.activity import Activity
from optuna_hdbo._core.variables.activity import Clause


Row = tuple[dict[str, float], bool]

DECIDERS = {"a": False, "b": True, "c": False}
VALUES = st.integers(0, 2).map(float)


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Trials in which c is nested below a, x and y depend on one parameter, and z on two."""
    table = {name: frozenset(draw(st.sets(VALUES, min_size=1, max_size=2))) for name in "cxyzw"}
    upper = draw(st.sampled_from(["a", "c"]))
    found = []
    for _ in range(draw(st.integers(1, 25))):
        values = {"a": draw(VALUES), "b": draw(VALUES)}
        if values["a"] in table["c"]:
            values["c"] = draw(VALUES)
        if values.get(upper) in table["x"]:
            values["x"] = 0.5
        if values["b"] in table["y"]:
            values["y"] = 0.5
        if values["a"] in table["z"] and values["b"] in table["w"]:
            values["z"] = 0.5
        complete = draw(st.sampled_from([True, True, True, False]))
        if not complete:
            asked = draw(st.integers(1, len(values)))
            values = dict(list(values.items())[:asked])
        found.append((values, complete))
    return found


def learned(trials: list[Row], at_once: bool = True) -> dict[str, tuple[Clause, ...]]:
    activity = Activity()
    for values, complete in trials:
        activity.take_in(values, complete=complete)
        if not at_once:
            activity.rules(DECIDERS)
    return activity.rules(DECIDERS)


def agrees(trials: list[Row], name: str, clauses: tuple[Clause, ...]) -> bool:
    """Tell whether a rule is right about every trial that had all that decides."""
    for values, complete in trials:
        here = all(
            clause.name in values
            and clause.holds(values[clause.name], ordered=DECIDERS[clause.name])
            for clause in clauses
        )
        if name in values and not here:
            return False
        if name not in values and complete and here:
            return False
    return True


@given(rows())
def test_rules_agree_with_every_trial(trials: list[Row]) -> None:
    for name, clauses in learned(trials).items():
        assert agrees(trials, name, clauses), (name, clauses)


@given(rows(), st.randoms(use_true_random=False))
def test_rules_do_not_depend_on_the_order_or_on_when_they_are_asked_for(
    trials: list[Row], random: object
) -> None:
    shuffled = list(trials)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    expected = learned(trials)
    assert learned(shuffled) == expected
    assert learned(shuffled, at_once=False) == expected


@given(rows())
def test_a_rule_is_found_wherever_one_parameter_explains_all_trials(trials: list[Row]) -> None:
    """Of all sets of values of one parameter, unless a list of the trials is shorter."""
    rules = learned(trials)
    for name in "cxyz":
        n_with = sum(name in values for values, _ in trials)
        if not 0 < n_with < len(trials) or name in rules:
            continue
        for other in DECIDERS:
            beside = [values for values, _ in trials if name in values]
            if other == name or not all(other in values for values in beside):
                continue
            passed = frozenset(values[other] for values in beside)
            without = [v[other] for v, full in trials if full and name not in v and other in v]
            if sum(other in values for values, _ in trials) <= n_with or not without:
                continue
            if passed.isdisjoint(without):
                n, m = n_with, len(without)
                entropy = -n * math.log2(n / (n + m)) - m * math.log2(m / (n + m))
                bits = Clause(other, passed, frozenset(without)).bits(ordered=DECIDERS[other])
                assert bits >= entropy, (name, other)


def test_the_rules_of_a_tree_are_found() -> None:
    rng = np.random.default_rng(0)
    activity = Activity()
    for _ in range(40):
        values = {
            "kind": float(rng.integers(3)),
            "layers": float(rng.integers(1, 7)),
            "noise": 1.0,
        }
        for i in range(6):
            if values["layers"] > i:
                values[f"width{i}"] = 0.1
        if values["kind"] == 2:
            values["solver"] = float(rng.integers(2))
            if values["solver"] == 1:
                values["momentum"] = 0.5
        if values["kind"] < 2 and values["layers"] >= 4:
            values["both"] = 0.5
        activity.take_in(values, complete=True)
    ordered = {"kind": False, "layers": True, "solver": False}
    rules = activity.rules(ordered)
    assert {n: tuple(c.name for c in clauses) for n, clauses in rules.items()} == {
        **{f"width{i}": ("layers",) for i in range(1, 6)},
        "solver": ("kind",),
        "momentum": ("solver",),
        "both": ("layers", "kind"),
    }
    (width,) = rules["width3"]
    assert [width.holds(float(n), ordered=True) for n in range(1, 9)] == [False] * 3 + [True] * 5


def test_an_unknown_number_counts_as_the_nearest_one_and_an_unknown_choice_fails() -> None:
    clause = Clause("n", frozenset({4.0}), frozenset({1.0}))
    assert [clause.holds(float(n), ordered=True) for n in (0, 2, 3, 9)] == [
        False,
        False,
        True,
        True,
    ]
    assert not clause.holds(3.0, ordered=False)
    # As near to either: it is tried.
    assert Clause("n", frozenset({3.0}), frozenset({1.0})).holds(2.0, ordered=True)


def test_a_trial_that_was_stopped_early_proves_nothing() -> None:
    trials: list[Row] = [({"a": 0.0, "x": 1.0}, True), ({"a": 1.0}, False)] * 5
    assert learned(trials) == {}
    assert "x" in learned([*trials, *[({"a": 1.0}, True)] * 5])


def test_a_rule_that_is_longer_than_the_trials_explains_nothing() -> None:
    """A parameter that has another value in every trial explains anything."""
    trials: list[Row] = [({"a": float(i)} | ({"x": 1.0} if i % 2 else {}), True) for i in range(8)]
    assert learned(trials) == {}


def test_a_model_of_many_that_one_trial_had_is_known_by_the_choice_of_the_model() -> None:
    models = [0, 1, 2, 2, 3, 3, 3, 4, 5, 5, 6, 7]
    activity = Activity()
    for i, model in enumerate(models):
        values = {"model": float(model), "scaler": float(i % 3), f"own{model}": 0.5}
        activity.take_in(values, complete=True)
    rules = activity.rules({"model": False, "scaler": False})
    for model in set(models):
        (clause,) = rules[f"own{model}"]
        assert (clause.name, clause.passed) == ("model", {float(model)})


def test_one_trial_alone_proves_nothing_about_a_choice_of_many() -> None:
    trials: list[Row] = [({"a": float(i)}, True) for i in range(11)]
    assert learned([({"a": 11.0, "x": 1.0}, True), *trials]) == {}


@pytest.mark.parametrize("n", [1, 2, 6])
def test_no_rule_is_needed_for_what_every_trial_has(n: int) -> None:
    assert learned([({"a": float(i % 2), "x": 1.0}, True) for i in range(n)]) == {}


def test_parameters_that_always_come_together_do_not_decide_about_each_other() -> None:
    activity = Activity()
    for i in range(20):
        kind = {"kind": float(i % 2)}
        both = {"a": float(i % 3), "b": float(i % 5)} if i % 2 else {}
        activity.take_in({**kind, **both}, complete=True)
    rules = activity.rules({"kind": False, "a": True, "b": True})
    decided_by = {name: {clause.name for clause in rule} for name, rule in rules.items()}
    assert decided_by == {"a": {"kind"}, "b": {"kind"}}


def test_of_equally_long_rules_that_of_the_more_common_parameter_holds() -> None:
    activity = Activity()
    for i in range(12):
        activity.take_in({"z": 0.0}, complete=True)
        activity.take_in({"z": 1.0, "a": float(i % 3), "x": 0.5}, complete=True)
    activity.take_in({"z": 1.0, "a": 0.0}, complete=False)
    by_a = Clause("a", frozenset([0.0, 1.0, 2.0]), frozenset())
    by_z = Clause("z", frozenset([1.0]), frozenset([0.0]))
    assert by_a.bits(ordered=False) == by_z.bits(ordered=True)
    assert activity.rules({"a": False, "z": True})["x"] == (by_z,)
