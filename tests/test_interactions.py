"""What is said about the interactions of a study."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from histories import thorough
from optuna.distributions import FloatDistribution
from optuna.trial import Trial
from optuna.trial import create_trial

import optuna_hdbo
from optuna_hdbo import Interactions
from optuna_hdbo import get_interactions
from optuna_hdbo.effects import conditional
from optuna_hdbo.effects import natural
from optuna_hdbo.effects import ordinary


def studied(
    objective: Callable[[Trial], float], n: int, seed: int = 0, **settings: str
) -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed), **settings)
    study.optimize(objective, n_trials=n)
    return study


def readme(trial: Trial) -> float:
    """The README's example."""
    x = [trial.suggest_float(f"x{i}", -5, 5) for i in range(20)]
    kind = trial.suggest_categorical("kind", ["plain", "fancy"])
    return (x[0] * x[1] - 4) ** 2 + sum(v**2 for v in x[2:]) + (kind == "plain")


def mixed(trial: Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    depth = trial.suggest_int("depth", 1, 9)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    trial.suggest_float("dummy", 0.0, 1.0)
    trial.suggest_float("fixed", 1.0, 1.0)
    if kind == "a":
        trial.suggest_int("only_a", 0, 3)
    return (np.log10(rate) + 3.0) * {"a": 1.0, "b": -1.0, "c": 0.0}[kind] + 0.3 * depth


@pytest.fixture(scope="module")
def example() -> Interactions:
    return get_interactions(studied(readme, 100))


def test_the_readme_is_answered_truly(example: Interactions) -> None:
    assert [pair.parameters for pair in example.strong] == [("x0", "x1")]
    assert ("x0", "x1") in example.groups
    assert example.summary.startswith("x0 and x1 interact")
    assert len(example.pairs) == 21 * 20 / 2
    assert {pair.n_trials for pair in example.pairs} == {100}


@pytest.mark.parametrize("seed", [5, pytest.param(8, marks=thorough)])
def test_trials_that_crowd_are_no_evidence(seed: int) -> None:
    """Of ten seeds, these two had a false strong pair, and missed the true one, at 100 trials."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(readme, n_trials=100)
    found = get_interactions(study)
    assert [set(pair.parameters) for pair in found.strong] == [{"x0", "x1"}]
    assert ("x0", "x1") in found.groups


def test_shares_are_those_of_the_function(example: Interactions) -> None:
    """The variance of x0^2 x1^2 - 8 x0 x1 and its parts, by the moments of uniform values."""
    second, fourth = 25 / 3, 125.0
    main = second**2 * (fourth - second**2)  # of x0^2 E[x1^2], and as much of x1
    pair = (fourth - second**2) ** 2 + 64 * second**2
    total = 2 * main + pair + 18 * (fourth - second**2) + 0.25
    assert example.between("x1", "x0").share == pytest.approx(pair / total, rel=0.15)
    effects = {effect.parameter: effect for effect in example.effects}
    assert effects["x0"].main == pytest.approx(main / total, rel=0.15)
    assert effects["x0"].joint == pytest.approx(pair / total, rel=0.15)
    assert {example.effects[0].parameter, example.effects[1].parameter} == {"x0", "x1"}


def test_the_words_say_the_same(example: Interactions) -> None:
    lines = str(example).splitlines()
    assert lines[0] == example.summary
    assert re.match(r"x0, x1 +strong +100.0%", lines[2])
    assert len(lines) == 3


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_all_kinds_of_parameters(direction: str) -> None:
    found = get_interactions(studied(mixed, 80, direction=direction))
    assert found.groups == (("kind", "rate"), ("depth",))
    assert found.inert == ("dummy",)
    assert dict(found.left_out) == {
        "fixed": "which has a single value",
        "only_a": f"which only {sum_of_a()} of 80 completed trials have",
    }
    assert found.between("depth", "dummy").verdict == "none"
    assert "1 of 4 parameters does not matter" in found.summary
    assert "left out: only_a, which only" in str(found)


@pytest.mark.parametrize(
    ("n", "end"), [(10, "left out: a9"), (11, "and 1 other"), (40, "and 30 o")]
)
def test_ten_parameters_that_are_left_out_are_named_and_others_counted(n: int, end: str) -> None:
    reasons = {f"a{i}": "which only 4 of 400 completed trials have" for i in range(n)}
    lines = str(Interactions((), (), (), reasons, 0.0, 300, 400)).splitlines()
    assert len(lines) == 1 + min(n, 11)
    assert lines[0].endswith("(from 300 of 400 completed trials).")
    assert lines[-1].startswith(end)


def sum_of_a() -> int:
    return sum(trial.params["kind"] == "a" for trial in studied(mixed, 80).trials)


def test_few_trials_are_too_early() -> None:
    found = get_interactions(studied(readme, 15))
    assert not found.strong
    assert found.pairs[0].verdict == "too early to say"
    assert found.summary == "No interaction is established yet (from 15 trials)."
    assert found.inert == ()


def test_a_sum_interacts_nowhere() -> None:
    def objective(trial: Trial) -> float:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(4)]
        return float(np.sin(4 * x[0]) + x[1] ** 2 + x[2])

    found = get_interactions(studied(objective, 80))
    assert {pair.verdict for pair in found.pairs} == {"none"}
    assert found.summary.startswith("No parameters interact; 1 of 4 parameters does not matter")
    assert set(found.groups) == {("x0",), ("x1",), ("x2",)}


def test_a_diverged_trial_does_not_hide_the_others() -> None:
    def objective(trial: Trial) -> float:
        value = mixed(trial)
        return 1e12 if trial.number == 7 else float("inf") if trial.number == 9 else value

    found = get_interactions(studied(objective, 80))
    assert found.groups[0] == ("kind", "rate")
    assert found.n_trials == 78


def test_a_range_that_varies_is_that_of_all_trials() -> None:
    def objective(trial: Trial) -> float:
        a = trial.suggest_float("a", 0, 2 if trial.number % 2 else 1)
        return a * trial.suggest_float("b", 0, 1)

    study = studied(objective, 40)
    found = get_interactions(study)
    assert not found.left_out
    assert [pair.parameters for pair in found.strong] == [("a", "b")]
    same = optuna.create_study()
    wide = {name: FloatDistribution(0, high) for name, high in (("a", 2), ("b", 1))}
    for trial in study.trials:
        same.add_trial(create_trial(params=trial.params, distributions=wide, value=trial.value))
    assert found == get_interactions(same)


@pytest.mark.parametrize("n_others", [0, 3])
def test_a_parameter_that_hardly_varies_explains_nothing(n_others: int) -> None:
    rng = np.random.default_rng(0)
    study = optuna.create_study()
    names = ("k", "x", "y")
    for i in range(60):
        k = 0.5 if i >= n_others else float(rng.random())
        params = {"k": k, "x": float(rng.random()), "y": float(rng.random())}
        value = 4 * (params["x"] - 0.5) * (params["y"] - 0.3)
        ranges = dict.fromkeys(names, FloatDistribution(0, 1))
        study.add_trial(create_trial(params=params, distributions=ranges, value=value))
    found = get_interactions(study)
    assert found.left_out == {"k": "whose value hardly varies"}
    assert [set(pair.parameters) for pair in found.strong] == [{"x", "y"}]


@pytest.mark.parametrize("n_penalties", [3, 6, 15])
def test_penalties_hide_nothing(n_penalties: int) -> None:
    rng = np.random.default_rng(0)
    study = optuna.create_study()
    for i in range(100):
        x = {name: float(rng.random()) for name in "abc"}
        value = 4 * (x["a"] - 0.5) * (x["b"] - 0.3) + x["c"] ** 2
        ranges = dict.fromkeys(x, FloatDistribution(0, 1))
        value = 1e6 if 10 <= i < 10 + n_penalties else value
        study.add_trial(create_trial(params=x, distributions=ranges, value=value))
    found = get_interactions(study)
    assert found.n_trials == 100 - n_penalties
    assert found.between("a", "b").verdict == "strong"


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_choice_that_matters_far_more_than_the_rest_is_no_failure(direction: str) -> None:
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: (
            float(t.suggest_categorical("c", ["a", "b"]) == "a")
            + 1e-3 * t.suggest_float("z", 0, 1)
        ),
        n_trials=60,
    )
    found = get_interactions(study)
    assert found.n_trials == 60
    assert found.effects[0].parameter == "c"
    assert found.effects[0].main > 0.99


def test_long_numbers_in_names_are_sorted() -> None:
    names = ["x" + "9" * 5000, "x10", "x9", "x007", "x"]
    assert sorted(names, key=natural) == ["x", "x007", "x9", "x10", names[0]]


def test_scales_that_vary_are_left_out() -> None:
    study = studied(lambda t: t.suggest_float("b", 0, 1) + t.suggest_float("a", 1, 2), 20)
    for trial in study.trials[:5]:
        on_log_scale = trial.distributions | {"a": FloatDistribution(1, 2, log=True)}
        study.add_trial(
            create_trial(params=trial.params, distributions=on_log_scale, value=trial.value)
        )
    found = get_interactions(study)
    assert dict(found.left_out) == {"a": "whose scale or choices vary between trials"}
    assert [effect.parameter for effect in found.effects] == ["b"]


def test_what_a_branch_does_is_no_interaction_of_the_others() -> None:
    def objective(trial: Trial) -> float:
        x, y = (trial.suggest_float(name, 0, 1) for name in "xy")
        kind = trial.suggest_categorical("kind", ["a", "b"])
        own = trial.suggest_float(f"rate_{kind}", 0, 1)
        return float(x * y + 2.0 * np.sin(6.0 * own))

    found = get_interactions(studied(objective, 120))
    assert [pair.parameters for pair in found.strong] == [("x", "y")]
    assert set(found.left_out) == {"rate_a", "rate_b"}
    assert found.noise < 0.01


def test_conditional_parameters_are_those_that_enough_trials_have() -> None:
    def objective(trial: Trial) -> float:
        n = trial.number
        if n % 3:
            trial.suggest_float("often", 0, 1)
            trial.suggest_float("varies", 0, 1 + n % 2)
            trial.suggest_float("single", 1, 1)
        if n % 2 == 0:
            trial.suggest_categorical("less", ["u", "v"])
        if n < 4:
            trial.suggest_float("seldom", 0, 1)
        return trial.suggest_float("always", 0, 1)

    trials = studied(objective, 30).trials
    found = conditional(trials)
    assert found is not None
    assert found.domain.names == ("often", "varies", "less")
    expected = [[t.number % 3 > 0, t.number % 3 > 0, t.number % 2 == 0] for t in trials]
    assert found.active.tolist() == expected
    for column, (name, width) in enumerate((("often", 1.0), ("varies", 2.0))):
        assert found.X[found.active[:, column], column].tolist() == pytest.approx(
            [t.params[name] / width for t in trials if name in t.params]
        )
    assert conditional(trials[3:4]) is None


def test_columns_of_many_choices_may_interact() -> None:
    rng = np.random.default_rng(0)
    own, both = rng.standard_normal((2, 20)), rng.standard_normal((20, 20))

    def objective(trial: Trial) -> float:
        a, b = (trial.suggest_categorical(name, list(range(20))) for name in "ab")
        x, y = (trial.suggest_float(name, 0, 1) for name in "xy")
        return float(own[0, a] + own[1, b] + 1.5 * both[a, b] + x + y**2)

    found = get_interactions(studied(objective, 150))
    assert [pair.parameters for pair in found.strong] == [("a", "b")]


def test_a_target_may_be_assessed() -> None:
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(lambda t: (t.suggest_float("a", 0, 1) * t.suggest_float("b", 0, 1), 0.0), 60)
    with pytest.raises(ValueError, match=r"^target must be given"):
        get_interactions(study)
    found = get_interactions(study, target=lambda trial: float(trial.values[0]))
    assert found.groups == (("a", "b"),)


def test_more_trials_than_asked_for_are_drawn_from() -> None:
    found = get_interactions(studied(mixed, 60), n_trials=50)
    assert found.n_trials == 50
    assert found == get_interactions(studied(mixed, 60), n_trials=50)
    assert "(from 50 of 60 completed trials)" in found.summary


def test_wrong_arguments_are_named() -> None:
    study = studied(mixed, 3)
    with pytest.raises(ValueError, match=r"^n_trials must be .* but got 1"):
        get_interactions(study, n_trials=1)
    with pytest.raises(ValueError, match=r"^study must have two completed trials"):
        get_interactions(optuna.create_study())
    found = get_interactions(study)
    with pytest.raises(ValueError, match=r"^a and b must be .*'fixed', which has a single value"):
        found.between("rate", "fixed")
    with pytest.raises(ValueError, match=r"^a and b must be .*Assessed are depth, dummy, kind"):
        found.between("rate", "rate")


def test_wrong_targets_are_named() -> None:
    study = studied(mixed, 3)
    evaluator = optuna_hdbo.GradISImportanceEvaluator()
    for assess in (get_interactions, evaluator.evaluate):
        with pytest.raises(ValueError, match=r"^target must be a function .* but got 5"):
            assess(study, target=5)  # type: ignore[arg-type]
        for told in ("much", [1.0]):
            with pytest.raises(ValueError, match=r"^target must return a number"):
                assess(study, target=lambda _, told=told: told)  # type: ignore[misc]
        with pytest.raises(ValueError, match=r"for trial 0\. .*t\.duration\.total_seconds\(\)"):
            assess(study, target=lambda t: t.duration)  # type: ignore[arg-type, return-value]


def test_long_names_keep_the_table_in_columns() -> None:
    def product(trial: Trial) -> float:
        x, y, z = (trial.suggest_float(name, -1, 1) for name in ("a", "b" * 30, "c" * 40))
        return x * y + 2.0 * y * z

    lines = str(get_interactions(studied(product, 60))).splitlines()[1:]
    assert len(lines) >= 3
    ends = {line.index("strong") + len("strong") for line in lines[1:]}
    assert len(ends) == 1
    assert {len(line) for line in lines} == {len(lines[0])}


def test_names_sort_naturally() -> None:
    names = ["x10", "x2", "x1", "depth", "2b", "10b"]
    assert sorted(names, key=natural) == ["2b", "10b", "depth", "x1", "x2", "x10"]


def test_values_far_outside_are_left_out() -> None:
    values = np.append(np.linspace(0.0, 1.0, 41), [9.0, 12.0])
    assert ordinary(values).tolist() == list(range(42))
    assert ordinary(np.full(4, 2.0)).tolist() == [0, 1, 2, 3]
    assert ordinary(np.empty(0)).tolist() == []


@pytest.mark.parametrize("outlier", [20.0, 100.0])
def test_a_single_trial_is_no_evidence(outlier: float) -> None:
    def objective(trial: Trial) -> float:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(6)]
        return outlier if trial.number == 7 else x[0] + x[1] ** 2

    assert not get_interactions(studied(objective, 60)).strong


def test_the_functions_are_public() -> None:
    assert optuna_hdbo.get_interactions is get_interactions
