"""Parameters whose range depends on a choice."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from fakes import FakeSampler
from histories import affordable
from histories import make_domain
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import TrialState

import optuna_hdbo
from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._study.attributes import read_suggestion
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.splits import learned


CHOSEN = {
    "sgd": FloatDistribution(0.01, 1, log=True),
    "adam": FloatDistribution(1e-5, 1e-3, log=True),
}


def rated(trial: optuna.Trial) -> float:
    """The range of the rate depends on the choice; the second one is the better one."""
    kind = trial.suggest_categorical("kind", list(CHOSEN))
    d = CHOSEN[kind]
    rate = math.log10(trial.suggest_float("rate", d.low, d.high, log=True))
    other = sum((trial.suggest_float(f"x{i}", 0, 1) - 0.3) ** 2 for i in range(2))
    return other + ((rate + 1) ** 2 / 10 + 0.2 if kind == "sgd" else 2 * (rate + 4.5) ** 2)


SPLITTING = ["HDBOSampler", "GPUCBSampler", "TuRBOSampler"]


@pytest.mark.parametrize("name", SPLITTING)
def test_a_range_that_depends_on_a_choice_is_never_left(name: str) -> None:
    study = optuna.create_study(sampler=getattr(optuna_hdbo, name)(seed=0))
    study.optimize(rated, n_trials=affordable(40, 16))
    for trial in study.trials[13:]:
        suggestion = read_suggestion(trial)
        assert suggestion is not None
        assert suggestion.params["rate"] == trial.params["rate"]
    if affordable(True, False):
        assert study.best_value < 0.05
        assert study.best_params["kind"] == "adam"


@pytest.mark.parametrize("kind", ["float", "int"])
def test_what_is_split_comes_together_again(kind: str) -> None:
    low: BaseDistribution = FloatDistribution(0, 1) if kind == "float" else IntDistribution(1, 9)
    high: BaseDistribution = (
        FloatDistribution(2, 4) if kind == "float" else IntDistribution(50, 99)
    )
    both: BaseDistribution = FloatDistribution(0, 4) if kind == "float" else IntDistribution(1, 99)
    had = dict(enumerate([low, high, low, low, high, low, high]))
    choices = {n: {"c": 0 if had[n] == low else n % 2 + 1} for n in had}
    split = learned("x", had, choices)
    assert split is not None
    assert [sorted(own) for _, own in split.ranges] == [[0], [1, 2]]
    c = CategoricalDistribution(["p", "q", "r", "s"])
    space = SearchSpace({"c": c, "x": both}, splits=[split])
    assert len(space.domain) == 3
    for u in np.random.default_rng(0).random((60, 3)):
        params = space.decode(space.domain.canonical(space.domain.from_unit(u[None]))[0])
        if params["c"] == "s":  # no trial has had it
            assert params.keys() == {"c"}
            continue
        assert (low if params["c"] == "p" else high)._contains(float(params["x"]))
        row = space.encode(params)
        assert row is not None
        assert space.decode(row) == params
        assert space.from_json(space.to_json(params)) == params
    drawn = [space.draw(np.random.default_rng(i)) for i in range(40)]
    assert all(
        (low if d["c"] == "p" else high)._contains(float(d["x"])) for d in drawn if "x" in d
    )


def test_ranges_that_no_choice_explains_have_one_column() -> None:
    a, b = FloatDistribution(0, 1), FloatDistribution(0, 2)
    mixed = {n: {"c": n % 2} for n in range(9)}
    assert learned("x", dict(enumerate([a] * 4 + [b] * 5)), mixed) is None  # it changed in time
    few = {n: {"c": n} for n in range(4)}
    assert learned("x", dict(enumerate([a, b, a, b])), few) is None  # each choice once
    assert learned("x", {n: (a, b)[n % 2] for n in range(9)}, {n: {} for n in range(9)}) is None


def layered(trial: optuna.Trial) -> float:
    """How many layers there may be depends on the model."""
    small = trial.suggest_categorical("model", ["small", "large"]) == "small"
    n = trial.suggest_int("n", 1, 2 if small else 3)
    return sum(trial.suggest_int(f"units{i}", 1, 6) for i in range(n)) + small


def test_a_parameter_with_several_columns_decides_about_others() -> None:
    """One of its columns is active, and what that has counts."""
    sampler = optuna_hdbo.HDBOSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(layered, n_trials=affordable(34, 20))
    space = sampler._space_of(sampler.infer_relative_search_space(study, study.ask()))
    domain = space.domain
    assert domain.names == ("model", "units0", "units1", "units2", "n[0]", "n[1]")
    for u in np.random.default_rng(0).random((60, len(domain))):
        params = space.decode(domain.canonical(domain.from_unit(u[None]))[0])
        assert params["n"] <= (2 if params["model"] == "small" else 3)
        assert {f"units{i}" for i in range(params["n"])} == params.keys() - {"model", "n"}
    asked = [tuple(sorted(trial.params.items())) for trial in study.trials[10:-1]]
    assert len(set(asked)) == len(asked)


def test_a_trial_with_another_choice_costs_at_most_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Optuna itself refuses the old choices in the first trial after it."""

    def ranged(trial: optuna.Trial) -> float:
        choice = trial.suggest_categorical("c", ["a", "b"])
        return trial.suggest_float("x", 0, 1 if choice == "a" else 2)

    study = optuna.create_study(sampler=optuna_hdbo.HDBOSampler(seed=0, n_startup_trials=5))
    study.optimize(ranged, n_trials=9)
    choices = CategoricalDistribution(["a", "b", "c"])
    distributions = {"c": choices, "x": FloatDistribution(0, 3)}
    params = {"c": "c", "x": 0.3}
    study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=1.0))
    study.optimize(ranged, n_trials=6, catch=ValueError)
    states = [trial.state for trial in study.trials[10:]]
    assert states == [TrialState.FAIL, *[TrialState.COMPLETE] * 5]


def test_many_ranges_of_mixed_kinds_are_no_split() -> None:
    """Only the first of them are told apart where they are many."""
    names = list("abcdefg")
    ranges: list[BaseDistribution] = [FloatDistribution(0, 1 + k) for k in range(5)]
    ranges += [FloatDistribution(1e-4, 9, log=True), IntDistribution(1, 9)]
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=5))
    for number in range(21):
        distributions = {"c": CategoricalDistribution(names), "x": ranges[number % 7]}
        params = {"c": names[number % 7], "x": 1}
        trial = optuna.create_trial(
            params=params, distributions=distributions, value=float(number)
        )
        study.add_trial(trial)
    assert "c" in study.ask({"c": CategoricalDistribution(names)}).params


@pytest.mark.parametrize("unknown", ["c", ["a"], 10**400])
@pytest.mark.parametrize("high", [1, 2])
def test_an_unknown_choice_that_was_enqueued_costs_one_trial(unknown: Any, high: int) -> None:
    def ranged(trial: optuna.Trial) -> float:
        choice = trial.suggest_categorical("c", ["a", "b"])
        return trial.suggest_float("x", 0, 1 if choice == "a" else high)

    study = optuna.create_study(sampler=optuna_hdbo.HDBOSampler(seed=0, n_startup_trials=5))
    study.optimize(ranged, n_trials=9)
    study.enqueue_trial({"c": unknown, "x": 0.5})
    study.optimize(ranged, n_trials=3, catch=Exception)
    assert [trial.state for trial in study.trials[10:]] == [TrialState.COMPLETE] * 2


def test_one_of_several_conditions_is_enough() -> None:
    """Column 3 is active where column 1 or 2 is and has the right value, also among fewer."""
    second = Condition(2, (0.5,))
    gates = {
        1: (Condition(0, (0.0,)),),
        2: (Condition(0, (1.0,)),),
        3: (Condition(1, (0.25, 0.75), (second,)),),
    }
    domain = replace(make_domain("3", 2, 3, None, None), gates=gates)
    places = [domain.grid(c).tolist() for c in range(3)]
    X = np.array([[*at, 0.3, 0.3] for at in itertools.product(*places)])
    first = (X[:, 0] == 0.0) & np.isin(X[:, 1], (0.25, 0.75))
    expected = first | ((X[:, 0] == 1.0) & (X[:, 2] == 0.5))
    np.testing.assert_array_equal(domain.active(X)[:, 3], expected)
    assert domain.deciding.tolist() == [True, True, True, False, False]
    columns = np.array(domain.with_deciding([3]))
    assert columns.tolist() == [0, 1, 2, 3]
    part = restricted(domain, columns)
    np.testing.assert_array_equal(part.active(X[:, columns]), domain.active(X)[:, columns])
