"""SOO and BaMSOO in studies: what resume and workers rest on, and spaces that come to an end."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import fuzz
import optuna
import pytest
from histories import THOROUGH
from histories import affordable
from optuna.trial import TrialState
from work import counted

from optuna_hdbo import BaMSOOSampler
from optuna_hdbo import SOOSampler
from optuna_hdbo.samplers.base import MethodSampler


Create = Callable[..., MethodSampler]
Objective = Callable[[optuna.Trial], float]

SAMPLERS: dict[str, Create] = {
    "BaMSOO": BaMSOOSampler,
    "BaMSOO, published": BaMSOOSampler.as_published,
    "SOO": SOOSampler,
    "SOO, published": SOOSampler.as_published,
}
every_sampler = pytest.mark.parametrize("create", list(SAMPLERS.values()), ids=list(SAMPLERS))


def run(study: optuna.Study, objective: Objective, n: int, fresh: Create | None = None) -> None:
    """Run trials; compare each with what a sampler asks for that comes anew."""
    for _ in range(n):
        trial = study.ask()
        if fresh is not None:
            fuzz.compare(study, trial, fresh())
        try:
            value = objective(trial)
        except optuna.TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)
        except RuntimeError:
            study.tell(trial, state=TrialState.FAIL)
        else:
            if not math.isnan(value):  # else it goes on running
                study.tell(trial, value)


def points(study: optuna.Study) -> list[str]:
    return [repr(sorted(trial.params.items())) for trial in study.trials]


# a sampler that comes anew -----------------------------------------------------------------------


def log_integers(trial: optuna.Trial) -> float:
    n, x = trial.suggest_int("n", 1, 100_000, log=True), trial.suggest_float("x", -5, 5)
    return (math.log(n) - 3) ** 2 + (x - 1) ** 2


def failing_centre(trial: optuna.Trial) -> float:
    x = [trial.suggest_float(f"x{i}", -5, 5) for i in range(2)]
    if x == [0.0, 0.0]:
        raise RuntimeError
    return sum((v - 1.3) ** 2 for v in x)


def few_floats(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", 1.7e9, 1.7e9 + 0.01), trial.suggest_float("y", 0, 1)
    return (100 * (x - 1.7e9) - 0.3) ** 2 + (y - 0.2) ** 2


def equal_choices(trial: optuna.Trial) -> float:
    choice = trial.suggest_categorical("c", [True, 1, 1.0, "x"])
    return 0.5 * (choice == "x") + (trial.suggest_float("y", 0, 1) - 0.3) ** 2


def huge_first_value(trial: optuna.Trial) -> float:
    n = trial.suggest_int("n", 1, 2**53, log=True)
    return 1.797e308 if trial.number == 0 else (math.log(n) - 3) ** 2


def conditional(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    if trial.number % 5 == 3:
        trial.suggest_float("sometimes", 0, 1)
    return (x - 0.6) ** 2 + (trial.suggest_float("z", 0, 1) if x > 0.5 else 0)


def pruned(trial: optuna.Trial) -> float:
    x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 3000)
    value = (x - 0.3) ** 2 + (n - 1000) ** 2 / 1e6
    trial.report(value + 1, 1)
    if trial.number % 4 == 2:
        raise optuna.TrialPruned
    return value


def running(trial: optuna.Trial) -> float:
    x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 3000)
    return math.nan if trial.number % 6 == 2 else (x - 0.3) ** 2 + (n - 1000) ** 2 / 1e6


def constrained(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    n = trial.suggest_int("n", 0, 3)
    excess = [x + y - 0.4 - 0.1 * n]
    trial.storage.set_trial_system_attr(trial._trial_id, "constraints", excess)
    return -x - 2 * y + n


@every_sampler
@pytest.mark.parametrize(
    "objective",
    [
        log_integers,
        failing_centre,
        few_floats,
        equal_choices,
        huge_first_value,
        conditional,
        pruned,
        running,
        constrained,
    ],
)
def test_a_sampler_that_comes_anew_asks_for_the_same(objective: Objective, create: Create) -> None:
    """After every trial, not just at the end."""
    settings: dict[str, Any] = {"seed": 0, "warn_independent_sampling": False}
    if objective is huge_first_value:
        settings["seed"] = 849
    study = optuna.create_study(sampler=create(**settings))
    if objective is failing_centre:
        study.enqueue_trial({"x0": 0.0, "x1": 0.0})
    run(study, objective, affordable(14, 8), lambda: create(**settings))


# spaces that come to an end ----------------------------------------------------------------------


@every_sampler
@pytest.mark.parametrize("log", [False, True])
def test_no_integer_of_a_long_range_is_asked_for_twice(create: Create, log: bool) -> None:
    study = optuna.create_study(sampler=create(seed=0))
    n = affordable(60, 15)
    run(study, lambda t: (t.suggest_int("n", 1, 5000, log=log) - 3210.0) ** 2, n)
    assert len(set(points(study))) == n
    paths = {trial.system_attrs["hdbo:suggestion:0"] for trial in study.trials[1:]}
    assert len(paths) == n - 1
    if n == 60 and create is not SAMPLERS["SOO, published"]:  # its depth is limited
        assert study.best_value == 0.0


@pytest.mark.parametrize("target", [1, 808, 2501, 3210, 4999])
def test_soo_finds_the_best_integer_of_a_long_range(target: int) -> None:
    study = optuna.create_study(sampler=SOOSampler(seed=0))
    run(study, lambda t: abs(t.suggest_int("n", 1, 5000) - target), 60)
    assert study.best_value == 0
    assert len(set(points(study))) == 60


def test_the_depth_of_a_finite_tree_is_not_limited_by_default() -> None:
    depths = {}
    for exponent in (None, 0.5):
        for high in (5000, 2**53):
            study = optuna.create_study(sampler=SOOSampler(seed=0, depth_exponent=exponent))
            run(study, lambda t, high=high: t.suggest_int("n", 1, high), 20)  # type: ignore[misc]
            depths[exponent, high] = max(t.user_attrs.get("hdbo:depth", 0) for t in study.trials)
    assert depths[None, 5000] == 8
    assert depths[None, 2**53] > depths[0.5, 2**53]
    assert depths[0.5, 5000] <= 4


@every_sampler
def test_floats_of_a_fine_step_are_asked_for_once(create: Create) -> None:
    study = optuna.create_study(sampler=create(seed=0))
    n = affordable(60, 15)
    run(study, lambda t: (t.suggest_float("x", 0, 10, step=0.001) - 3.21) ** 2, n)
    assert len(set(points(study))) == n


@every_sampler
def test_all_settings_of_booleans_are_tried(create: Create) -> None:
    """Where the best one is the last of all cells, which once took the memory of the machine."""
    n = 9 if THOROUGH else affordable(7, 4)

    def objective(trial: optuna.Trial) -> float:
        return sum((trial.suggest_categorical(f"b{i}", [0, 1]) - 1) ** 2 for i in range(n))

    study = optuna.create_study(sampler=create(seed=0))
    run(study, objective, 2**n)
    assert len(set(points(study))) == 2**n
    assert study.trials[-1].user_attrs["hdbo:nodes"] <= 2 ** (n + 1)


def test_no_trial_of_a_finite_tree_is_dear() -> None:
    """Once, a fit to 416 observations handed 5 million numbers to compiled code."""
    n = affordable(9, 4)
    study = optuna.create_study(sampler=BaMSOOSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        return sum((trial.suggest_categorical(f"b{i}", [0, 1]) - 1) ** 2 for i in range(n))

    most = 0
    with counted() as work:
        for _ in range(2**n):
            before = work.numbers
            run(study, objective, 1)
            most = max(most, work.numbers - before)
    assert len(set(points(study))) == 2**n
    assert most < 1_500_000


@every_sampler
@pytest.mark.parametrize(("size", "n"), [(3, 3), (5, affordable(3, 2))])
def test_all_integers_are_tried(create: Create, size: int, n: int) -> None:
    def objective(trial: optuna.Trial) -> float:
        return sum((trial.suggest_int(f"n{i}", 1, size) - size) ** 2 for i in range(n))

    study = optuna.create_study(sampler=create(seed=0))
    run(study, objective, size**n)
    assert len(set(points(study))) == size**n
    assert study.trials[-1].user_attrs["hdbo:nodes"] <= 2 * size**n


@every_sampler
@pytest.mark.parametrize("seed", range(affordable(3, 1)))
def test_no_integer_is_tried_twice_after_penalties(create: Create, seed: int) -> None:
    """A tree that is grown anew without a penalised value asks for the point from another node."""
    values = random.Random(seed)
    penalties = [math.inf, -math.inf, 1e300]

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("a", 0, 12, step=3)
        trial.suggest_int("b", 0, 12, step=3)
        trial.suggest_int("c", 0, 1)
        return values.choice([*penalties, 1.0, *(values.random() for _ in range(4))])

    study = optuna.create_study(sampler=create(seed=seed))
    run(study, objective, 50, fresh=create)
    assert len(set(points(study))) == 50


@every_sampler
def test_what_failed_elsewhere_is_not_tried_again(create: Create) -> None:
    def objective(trial: optuna.Trial) -> float:
        if (x := trial.suggest_int("a", 0, 8)) > 5:
            raise ValueError
        return x

    study = optuna.create_study(sampler=create(seed=0))
    for x in range(9):
        if x % 3 != 1:
            study.enqueue_trial({"a": x})
    study.optimize(objective, n_trials=9, catch=ValueError)
    assert len(set(points(study))) == 9


@every_sampler
def test_equal_choices_are_tried_once(create: Create) -> None:
    def objective(trial: optuna.Trial) -> float:
        return float(trial.suggest_categorical("c", [True, 1, "x", 1.0]) == "x")

    study = optuna.create_study(sampler=create(seed=0))
    run(study, objective, 2)
    assert len(set(points(study))) == 2
    run(study, objective, 1)
    assert study.trials[-1].user_attrs["hdbo:nodes"] <= 4


@every_sampler
def test_the_floats_of_a_narrow_range_are_a_finite_space(create: Create) -> None:
    high = math.nextafter(math.nextafter(1.0, 2.0), 2.0)
    study = optuna.create_study(sampler=create(seed=0))
    run(study, lambda t: t.suggest_float("x", 1.0, high), 5)
    assert len(set(points(study))) == 3
    assert study.trials[-1].user_attrs["hdbo:nodes"] <= 6
