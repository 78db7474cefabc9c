"""Importances of any study: Optuna's own contract, known rankings, every kind of parameter."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from histories import affordable
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.importance import get_param_importances

import optuna_hdbo
from optuna_hdbo import GradISImportanceEvaluator


def small(**settings: Any) -> GradISImportanceEvaluator:
    return GradISImportanceEvaluator(**{"n_points": affordable(500, 20), **settings})


def conditional(**settings: Any) -> GradISImportanceEvaluator:
    return small(conditional=True, **settings)


try:
    from optuna.testing import pytest_importance as contract
except ImportError:  # Optuna 4.8
    pass
else:

    class _Default:
        @pytest.fixture
        def evaluator(self) -> Callable[..., BaseImportanceEvaluator]:
            return small

    class TestBasic(_Default, contract.BasicImportanceEvaluatorTestCase):
        pass

    class TestNonConditional(_Default, contract.NonConditionalImportanceEvaluatorTestCase):
        pass

    class TestConditional(contract.ConditionalImportanceEvaluatorTestCase):
        @pytest.fixture
        def evaluator(self) -> Callable[..., BaseImportanceEvaluator]:
            return conditional

        @pytest.fixture(autouse=True)
        def together(self, request: pytest.FixtureRequest) -> None:
            """Parameters that no trial has together are refused, as other evaluators do."""
            params = request.node.callspec.params.get("params")
            if params and {"x", "y"} <= set(params):
                pytest.skip("x and y are never there together")


def study_of(
    objective: Callable[[optuna.Trial], float], n: int, direction: str = "minimize"
) -> optuna.Study:
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=3))
    study.optimize(objective, n_trials=n)
    return study


N = affordable(120, 40)


def linear(trial: optuna.Trial) -> float:
    weights = {"a": 8.0, "b": -4.0, "c": 2.0, "d": 0.0}
    return sum(w * trial.suggest_float(name, 0, 1) for name, w in weights.items())


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_penalty_counts_as_the_worst_other_value(direction: str) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    study = study_of(lambda trial: sign * linear(trial), N, direction)
    raised, penalised = (
        optuna.create_study(direction=direction),
        optuna.create_study(direction=direction),
    )
    others = [sign * t.value for t in study.trials if t.params["d"] < 0.8 and t.value is not None]
    for told, value in ((raised, max(others)), (penalised, 1e6)):
        for trial in study.trials:
            copied = copy.deepcopy(trial)
            if trial.params["d"] >= 0.8:
                copied.value = sign * value
            told.add_trial(copied)
    found = small().evaluate(penalised)
    assert found == small().evaluate(raised)
    assert found["a"] > 0.2
    assert small().evaluate(penalised, target=lambda trial: trial.value or 0.0) != found


def test_a_step_that_matters_far_more_than_the_rest_is_seen() -> None:
    def step(trial: optuna.Trial) -> float:
        deep = trial.suggest_int("layers", 1, 10) >= 5
        return (0.1 if deep else 0.6) + 0.005 * trial.suggest_float("dropout", 0, 1)

    assert small().evaluate(study_of(step, N))["layers"] > 0.9


@pytest.mark.parametrize("conditional", [False, True])
def test_a_parameter_whose_range_has_changed_is_assessed(conditional: bool) -> None:
    rng, study = np.random.default_rng(0), optuna.create_study()
    for i in range(40):
        high = 1.0 if i < 20 else 2.0
        x, y = float(rng.uniform(0.0, high)), float(rng.random())
        ranges = {"x": FloatDistribution(0, high), "y": FloatDistribution(0, 1)}
        study.add_trial(
            optuna.create_trial(
                params={"x": x, "y": y}, distributions=ranges, value=10.0 * x + 0.1 * y
            )
        )
    found = GradISImportanceEvaluator(conditional=conditional).evaluate(study)
    assert list(found) == ["x", "y"]
    assert found["x"] > 0.9


def test_a_linear_function_has_the_importances_of_its_weights() -> None:
    found = small().evaluate(study_of(linear, N))
    assert list(found) == ["a", "b", "c", "d"]
    assert sum(found.values()) == pytest.approx(1.0)
    for name, weight in {"a": 8.0, "b": 4.0, "c": 2.0, "d": 0.0}.items():
        assert found[name] == pytest.approx(weight / 14.0, abs=0.02)


def test_a_range_counts_as_one_whatever_its_units_and_scale() -> None:
    def objective(trial: optuna.Trial) -> float:
        wide = trial.suggest_float("wide", -1000, 3000)
        log = trial.suggest_float("log", 1e-5, 1e-1, log=True)
        return wide / 4000 + (math.log10(log) + 5) / 2

    found = small().evaluate(study_of(objective, N))
    assert found["log"] / found["wide"] == pytest.approx(2.0, rel=0.05)


def test_the_sign_of_slopes_does_not_cancel() -> None:
    """Two thirds of the variance, but a mean slope of 0."""

    def objective(trial: optuna.Trial) -> float:
        return 4 * abs(trial.suggest_float("valley", -1, 1)) + trial.suggest_float("ramp", 0, 1)

    found = small().evaluate(study_of(objective, N))
    assert found["valley"] > 0.7


def test_discrete_parameters_score_as_continuous_ones_would() -> None:
    """The same slope over the range, in whatever steps, is the same importance."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("float", 0, 1)
        i = trial.suggest_int("int", 0, 9)
        s = trial.suggest_float("step", 0, 1, step=0.25)
        two = trial.suggest_int("two", 0, 1)
        c = trial.suggest_categorical("choice", ["p", "q"])
        return x + i / 9 + s + two + (c == "q")

    found = small().evaluate(study_of(objective, 2 * N))
    assert max(found.values()) / min(found.values()) < 1.25


def test_choices_that_do_nothing_score_near_nothing() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("idle", ["p", "q", "r"])
        kind = trial.suggest_categorical("kind", ["p", "q", "r"])
        return {"p": 0.0, "q": 1.0, "r": 3.0}[kind] + trial.suggest_float("x", 0, 1)

    found = small().evaluate(study_of(objective, N))
    assert list(found) == ["kind", "x", "idle"]
    assert found["idle"] < 0.05


def branches(trial: optuna.Trial) -> float:
    value = trial.suggest_float("common", 0, 1)
    if trial.suggest_categorical("kind", ["p", "q"]) == "p":
        return value + 4 * trial.suggest_float("only_p", 0, 1)
    return value + 0.01 * trial.suggest_float("only_q", 0, 1)


def test_conditional_parameters_on_request() -> None:
    study = study_of(branches, N)
    assert set(small().evaluate(study)) == {"common", "kind"}
    found = conditional().evaluate(study)
    assert set(found) == {"common", "kind", "only_p", "only_q"}
    assert found["only_p"] > found["common"] > found["only_q"]
    assert sum(found.values()) == pytest.approx(1.0)
    named = small().evaluate(study, params=["only_p", "common"])
    assert list(named) == ["only_p", "common"]


def test_a_target_and_other_states() -> None:
    study = study_of(linear, N // 2)
    study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL))
    found = small().evaluate(study, target=lambda t: t.params["d"])
    assert next(iter(found)) == "d"
    assert found["d"] > 0.9


def test_several_objectives_need_a_target() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="target must be given"):
        small().evaluate(study)


@pytest.mark.parametrize(
    ("params", "error"), [(["nobody"], ValueError), ("a", TypeError), ([1], TypeError)]
)
def test_wrong_params_are_refused(params: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="params must "):
        small().evaluate(study_of(linear, 3), params=params)


@pytest.mark.parametrize(
    ("name", "value"), [("n_points", 0), ("n_trials", 1), ("n_trials", 2.5), ("seed", "x")]
)
def test_wrong_settings_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be .* but got "):
        GradISImportanceEvaluator(**{name: value})


def test_more_trials_than_asked_for_are_thinned() -> None:
    study = study_of(linear, affordable(150, 60))
    thin = small(n_trials=affordable(60, 30)).evaluate(study)
    assert list(thin)[:3] == ["a", "b", "c"]


def test_the_same_seed_gives_the_same_numbers() -> None:
    study = study_of(linear, 20)
    evaluator = small(seed=4)
    first = evaluator.evaluate(study)
    assert first == evaluator.evaluate(study) == small(seed=4).evaluate(study)
    assert first != small(seed=5).evaluate(study)


@pytest.mark.parametrize("value", [1.0, 1e300, -1e-300])
def test_extreme_and_constant_values_give_numbers(value: float) -> None:
    distributions: dict[str, Any] = {
        "x": FloatDistribution(0, 1),
        "i": IntDistribution(1, 1000, log=True),
        "c": CategoricalDistribution(["p", None]),
    }
    study = optuna.create_study()
    for k in range(6):
        params = {"x": k / 5, "i": 10**k // 1000 + 1, "c": [None, "p"][k % 2]}
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=distributions, value=value * k)
        )
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=distributions, value=value)
        )
    found = get_param_importances(study, evaluator=small())
    assert set(found) == set(distributions)
    assert np.isfinite(list(found.values())).all()


def test_it_is_exported() -> None:
    assert optuna_hdbo.GradISImportanceEvaluator is GradISImportanceEvaluator
