"""The trial that a model takes for the best, against the one with the luckiest value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_hdbo import get_believed_best
from optuna_hdbo.portfolio import outliers


def tell(study: optuna.Study, value: float, x: float, **attributes: Any) -> None:
    study.add_trial(
        optuna.trial.create_trial(
            value=value,
            params={"x": x, "kind": "a", "fixed": 3},
            distributions={
                "x": FloatDistribution(0.0, 1.0),
                "kind": CategoricalDistribution(["a", "b"]),
                "fixed": IntDistribution(3, 3),
            },
            **attributes,
        )
    )


def noisy(direction: str = "minimize", n: int = 60) -> optuna.Study:
    """Return a study of a bowl around .3 with an alternating error, and a lucky value at .95."""
    study = optuna.create_study(direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    for i in range(n):
        x = (i + 0.5) / n
        error = 0.15 * (-1) ** (i // 2)
        tell(study, sign * (5.0 * (x - 0.3) ** 2 + error), x)
    tell(study, sign * -0.5, 0.95)
    return study


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_lucky_value_is_not_believed(direction: str) -> None:
    study = noisy(direction)
    assert study.best_trial.params["x"] == 0.95
    assert abs(get_believed_best(study).params["x"] - 0.3) < 0.1


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_penalty_does_not_hide_the_best_trial(direction: str) -> None:
    study, same = optuna.create_study(direction=direction), noisy(direction)
    for trial in same.trials:
        x, value = trial.params["x"], trial.value
        failed = 0.5 < x < 0.8
        tell(study, 1e6 * (1 if direction == "minimize" else -1) if failed else value, x)
    assert abs(get_believed_best(study).params["x"] - 0.3) < 0.1


def test_a_range_that_has_changed_counts() -> None:
    study, same = optuna.create_study(), noisy()
    for i, trial in enumerate(same.trials):
        narrow = trial.distributions | {"x": FloatDistribution(0.0, trial.params["x"])}
        study.add_trial(
            optuna.trial.create_trial(
                value=trial.value,
                params=trial.params,
                distributions=narrow if i % 2 else trial.distributions,
            )
        )
    assert get_believed_best(study).params == get_believed_best(same).params
    assert abs(get_believed_best(study).params["x"] - 0.3) < 0.1


def test_long_studies_are_thinned_but_all_trials_compared() -> None:
    study = noisy(n=520)
    assert abs(get_believed_best(study).params["x"] - 0.3) < 0.1


def test_without_noise_it_is_the_best_trial() -> None:
    study = optuna.create_study()
    for i in range(20):
        tell(study, (i / 19 - 0.4) ** 2, i / 19)
    assert get_believed_best(study).number == study.best_trial.number


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_trial_beside_outliers_is_believed(sign: float, monkeypatch: pytest.MonkeyPatch) -> None:
    study = optuna.create_study(direction="minimize" if sign > 0.0 else "maximize")
    for i in range(60):
        x = (37 * i % 60 + 0.5) / 60
        # Of the best point's two neighbours on each side, one is an outlier.
        is_poor = i in (1, 14, 26, 43) or round(60 * x - 0.5) in (16, 20)
        tell(study, sign * (1.5 + 0.01 * i if is_poor else 5.0 * (x - 0.306) ** 2), x)
    assert get_believed_best(study).number == study.best_trial.number
    monkeypatch.setattr(outliers, "LEAST_OBSERVATIONS", 1000)
    assert get_believed_best(study).number != study.best_trial.number


@pytest.mark.parametrize("seed", range(4))
def test_a_trial_that_the_model_leaves_out_is_not_believed(seed: int) -> None:
    """Beside the optimum, the model expects a splendid value of a trial that it was not shown."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    def cliff(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
        value = (x - 0.3) ** 2 + (y - 0.3) ** 2
        return value if x < 0.3 or value > 0.02 else 8.0

    study.optimize(cliff, n_trials=60)
    assert get_believed_best(study).value != 8.0


def test_constraints_are_respected() -> None:
    study = optuna.create_study()
    for i in range(40):
        x = (i + 0.5) / 40
        tell(study, (x - 0.3) ** 2, x, system_attrs={"constraints": (0.6 - x,)})
    assert get_believed_best(study).params["x"] == pytest.approx(0.6125)


def test_values_that_are_not_finite_are_passed_over() -> None:
    study = noisy()
    tell(study, -math.inf, 0.5)
    assert abs(get_believed_best(study).params["x"] - 0.3) < 0.1


@pytest.mark.parametrize("n", [1, 3])
def test_few_or_equal_trials(n: int) -> None:
    study = optuna.create_study()
    for _ in range(n):
        tell(study, 1.0, 0.5)
    assert get_believed_best(study).number == 0


def test_trials_without_common_parameters_are_compared_by_value() -> None:
    study = optuna.create_study()
    for i, name in enumerate("abc"):
        study.add_trial(
            optuna.trial.create_trial(
                value=float((i - 1) ** 2),
                params={name: 0.5},
                distributions={name: FloatDistribution(0.0, 1.0)},
            )
        )
    assert get_believed_best(study).number == 1


@pytest.mark.parametrize("is_narrowed", [False, True])
def test_parameters_of_single_branches_count(is_narrowed: bool) -> None:
    """Two kinds with a parameter each, and a lucky value of the better one."""
    study = optuna.create_study()
    kinds = CategoricalDistribution(["a", "b"])
    for i in range(80):
        kind, x = "ab"[i % 2], (37 * i % 80 + 0.5) / 80
        error = 0.15 * (-1) ** (i // 4) - 0.9 * (abs(x - 0.9) < 0.01)
        study.add_trial(
            optuna.trial.create_trial(
                value=5.0 * (x - (0.2 if kind == "a" else 0.6)) ** 2 + (kind == "a") + error,
                params={"kind": kind, kind: x},
                distributions={
                    "kind": kinds,
                    kind: FloatDistribution(0.0, x if is_narrowed and i > 40 else 1.0),
                },
            )
        )
    assert abs(study.best_trial.params["b"] - 0.9) < 0.01
    assert abs(get_believed_best(study).params["b"] - 0.6) < 0.1


def test_the_answer_is_a_copy() -> None:
    study = noisy()
    get_believed_best(study).user_attrs["mine"] = 1
    assert all("mine" not in trial.user_attrs for trial in study.trials)


def test_studies_without_an_answer_are_refused() -> None:
    study = optuna.create_study(study_name="tuning")
    with pytest.raises(ValueError, match="'tuning' has none among its 0 completed"):
        get_believed_best(study)
    tell(study, math.inf, 0.5)
    tell(study, 1.0, 0.5, system_attrs={"constraints": (1.0,)})
    with pytest.raises(ValueError, match="none among its 2 completed"):
        get_believed_best(study)
    with pytest.raises(ValueError, match="single objective"):
        get_believed_best(optuna.create_study(directions=["minimize", "minimize"]))


def test_where_values_span_magnitudes_a_good_trial_is_believed() -> None:
    """Beside values of up to e^16, all good ones would be alike."""
    study = optuna.create_study()
    for x, y in np.random.default_rng(0).uniform(-5.0, 5.0, (40, 2)):
        value = math.exp(0.4 * (x**2 + y**2))
        study.add_trial(
            optuna.trial.create_trial(
                value=value,
                params={"x": x, "y": y},
                distributions=dict.fromkeys("xy", FloatDistribution(-5.0, 5.0)),
            )
        )
    assert get_believed_best(study).number == study.best_trial.number
