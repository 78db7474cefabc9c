"""Studies with several objectives: what holds for one objective holds for them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from fakes import create_sqlite
from histories import affordable
from optuna._hypervolume import compute_hypervolume
from optuna.trial import TrialState


NAMES = [name for name, create in SAMPLERS.items() if create().supports_several_objectives]
every_sampler = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def no_fallback(caplog: pytest.LogCaptureFixture) -> Any:
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        yield
    assert not [record.message for record in caplog.records if "at random" in record.message]


def two(trial: optuna.Trial) -> tuple[float, float]:
    """Minimise the first and maximise the second; in conflict along a line."""
    x = np.array([trial.suggest_float(f"x{i}", -1.0, 1.0) for i in range(3)])
    k = trial.suggest_int("k", 0, 5)
    plain = trial.suggest_categorical("c", ["a", "b"]) == "a"
    return float(((x - 0.4) ** 2).sum()) + 0.1 * k, -float(((x + 0.4) ** 2).sum()) - 0.2 * plain


def three(trial: optuna.Trial) -> tuple[float, float, float]:
    a, b = two(trial)
    return a, b, abs(trial.params["x0"]) + 0.1 * trial.params["k"]


def create(name: str, n_objectives: int = 2, **settings: Any) -> optuna.Study:
    storage = settings.pop("storage", None)
    sampler = SAMPLERS[name](**{"seed": 0, "n_startup_trials": 4, **settings})
    directions = ["minimize", "maximize", "minimize"][:n_objectives]
    return optuna.create_study(directions=directions, sampler=sampler, storage=storage)


def points(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def volume(study: optuna.Study) -> float:
    """Return the hypervolume below two of the first and a loss of two of the others."""
    signs = np.array([1.0 if d.name == "MINIMIZE" else -1.0 for d in study.directions])
    losses = np.array([signs * trial.values for trial in study.trials])
    return float(compute_hypervolume(np.minimum(losses, 2.0), np.full(len(signs), 2.0)))


@every_sampler
@pytest.mark.parametrize("objective", [two, three])
def test_directions_are_followed(name: str, objective: Callable[[optuna.Trial], Any]) -> None:
    n_objectives = 2 if objective is two else 3
    study = create(name, n_objectives)
    study.optimize(objective, n_trials=affordable(24, 8))
    if affordable(1, 0):
        random = optuna.create_study(
            directions=study.directions, sampler=optuna.samplers.RandomSampler(seed=0)
        )
        random.optimize(objective, n_trials=100)
        assert volume(study) > volume(random)
    last = study.trials[-1]
    for j in range(n_objectives):
        assert math.isfinite(last.user_attrs[f"hdbo:predicted:{j}"])
        assert last.user_attrs[f"hdbo:std:{j}"] >= 0.0


@pytest.mark.skipif(affordable(0, 1), reason="too many trials for interpreted loops")
def test_predictions_are_in_the_objectives_units() -> None:
    study = create("GPUCBSampler")
    study.optimize(lambda trial: tuple(1e3 * v + 5e3 for v in two(trial)), n_trials=30)
    for j in range(2):
        errors = [
            abs(t.user_attrs[f"hdbo:predicted:{j}"] - t.values[j]) for t in study.trials[20:]
        ]
        assert np.median(errors) < 200.0


@every_sampler
def test_resuming_in_another_storage_is_going_on(name: str) -> None:
    whole = create(name)
    whole.optimize(two, n_trials=9)
    study = create(name, storage=create_sqlite())
    study.optimize(two, n_trials=6)
    study.sampler = SAMPLERS[name](seed=0, n_startup_trials=4)
    study.optimize(two, n_trials=3)
    assert points(study) == points(whole)


@every_sampler
def test_workers_get_different_points_and_pending_ones_count(name: str) -> None:
    study = create(name)
    study.optimize(two, n_trials=6)
    asked = []
    for _ in range(4):
        trial = study.ask()
        two(trial)
        asked.append(tuple(trial.params.values()))
    assert len(set(asked)) == 4
    study.optimize(two, n_trials=4, n_jobs=2)
    assert len({tuple(p.values()) for p in points(study)}) == len(study.trials)


@every_sampler
@pytest.mark.parametrize(
    "values",
    [
        lambda t: (1.0, 1.0),
        lambda t: (1.0, two(t)[1]),
        lambda t: (math.inf if t.number % 3 == 1 else two(t)[0], two(t)[1]),
        lambda t: (-math.inf, math.inf),
        lambda t: (two(t)[0], two(t)[0]),
        lambda t: (two(t)[0], -two(t)[0]),
        lambda t: (1e300 * two(t)[0], -1e-300 * two(t)[0]),
        lambda t: tuple(round(v) for v in two(t)),
    ],
    ids=["constant", "one constant", "inf", "all inf", "equal", "opposite", "huge", "ties"],
)
def test_degenerate_values(name: str, values: Callable[[optuna.Trial], tuple[float, ...]]) -> None:
    def objective(trial: optuna.Trial) -> tuple[float, ...]:
        two(trial)
        return values(trial)

    study = create(name)
    study.optimize(objective, n_trials=affordable(8, 6))
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert study.best_trials


@every_sampler
def test_a_penalty_is_as_good_as_an_infinite_value(name: str) -> None:
    def asked(penalty: float) -> list[dict[str, Any]]:
        def objective(trial: optuna.Trial) -> tuple[float, float]:
            told = two(trial)
            return (penalty, -penalty) if trial.params["x0"] > 0.5 else told

        study = create(name, n_startup_trials=8)
        study.optimize(objective, n_trials=affordable(14, 11))
        assert 1 <= sum(trial.values[0] == penalty for trial in study.trials[:8]) <= 4
        return points(study)

    assert asked(1e6) == asked(math.inf)


@every_sampler
def test_failed_pruned_and_nan_trials_are_no_observations(name: str) -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        values = two(trial)
        if trial.number % 4 == 1:
            raise optuna.TrialPruned
        if trial.number % 4 == 2:
            return math.nan, values[1]
        return values

    study = create(name)
    study.optimize(objective, n_trials=16)
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.COMPLETE) == 8
    assert "hdbo:predicted:0" in study.trials[-1].user_attrs


@every_sampler
def test_trials_of_other_samplers_are_learned_from(name: str) -> None:
    study = create(name)
    study.sampler = optuna.samplers.NSGAIISampler(seed=0)
    study.optimize(two, n_trials=8)
    study.sampler = SAMPLERS[name](seed=0, n_startup_trials=4)
    study.enqueue_trial({"x0": 0.0})
    study.optimize(two, n_trials=2)
    assert "hdbo:predicted:0" in study.trials[-1].user_attrs


def set_constraint(trial: optuna.Trial, violation: float) -> None:
    if hasattr(trial, "set_constraint"):
        trial.set_constraint("c", violation)
    else:  # Optuna before 5.0 reads what a sampler's constraints_func has left
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [violation])


def constrained(trial: optuna.Trial) -> tuple[float, float]:
    values = two(trial)
    set_constraint(trial, 0.3 - trial.params["x1"])
    return values


@every_sampler
def test_constraints_are_respected(name: str) -> None:
    study = create(name, seed=1)
    study.optimize(constrained, n_trials=affordable(24, 8))
    if affordable(1, 0):
        feasible = [trial.params["x1"] >= 0.3 for trial in study.trials]
        assert sum(feasible[12:]) >= 9


def hardly_feasible(trial: optuna.Trial) -> tuple[float, float]:
    """Only a thousandth of the space is feasible, and the first trial tells nothing of that."""
    values = two(trial)
    if trial.number:
        x = np.array([trial.params[f"x{i}"] for i in range(3)])
        set_constraint(trial, 1e3 * (float(np.abs(x - 0.3).max()) - 0.1))
    return values


@every_sampler
def test_violations_are_searched_until_a_trial_is_feasible(name: str) -> None:
    n = affordable(40, 12)
    whole = create(name)
    whole.optimize(hardly_feasible, n_trials=n)
    study = create(name)
    for _ in range(3):
        study.sampler = SAMPLERS[name](seed=0, n_startup_trials=4)
        study.optimize(hardly_feasible, n_trials=n // 3)
    assert points(study) == points(whole)[: n // 3 * 3]
    params = [trial.params for trial in whole.trials]
    met = [max(abs(p[f"x{i}"] - 0.3) for i in range(3)) <= 0.1 for p in params[1:]]
    first = met.index(True) + 1 if True in met else n
    if affordable(1, 0):
        assert 4 < first < 30
        assert sum(met) >= 4
    for trial in whole.trials[4:]:
        towards = trial.number <= first
        assert ("hdbo:predicted:0" in trial.user_attrs) != towards
        assert "hdbo:predicted" not in trial.user_attrs
        if name == "HDBOSampler" and towards:
            assert "hdbo:expert" in trial.user_attrs


@pytest.mark.parametrize("n_objectives", [4, 5])
def test_many_objectives(n_objectives: int) -> None:
    def objective(trial: optuna.Trial) -> list[float]:
        x = [trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(n_objectives)]
        return [sum(v for i, v in enumerate(x) if i != j) - x[j] for j in range(n_objectives)]

    sampler = SAMPLERS["HDBOSampler"](seed=0, n_startup_trials=4)
    study = optuna.create_study(directions=["minimize"] * n_objectives, sampler=sampler)
    study.optimize(objective, n_trials=8)
    assert f"hdbo:predicted:{n_objectives - 1}" in study.trials[-1].user_attrs


@pytest.mark.parametrize("name", [name for name in SAMPLERS if name not in NAMES])
def test_the_others_refuse_and_name_those_that_do_not(name: str) -> None:
    study = create(name)
    with pytest.raises(ValueError, match=f"^{name} needs .* but got one with 2. Use HDBOSampler"):
        study.optimize(two, n_trials=1)


def test_a_finite_space_is_exhausted_without_repetition() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        a, b = trial.suggest_int("a", 0, 3), trial.suggest_int("b", 0, 2)
        return float(a), float(-a * b)

    study = create("GPUCBSampler")
    study.optimize(objective, n_trials=12)
    assert len({tuple(trial.params.values()) for trial in study.trials[4:]}) == 8


def test_one_sampler_serves_studies_of_one_objective_and_of_several() -> None:
    study = create("HDBOSampler")
    single = optuna.create_study(sampler=study.sampler)
    alone = optuna.create_study(sampler=SAMPLERS["HDBOSampler"](seed=0, n_startup_trials=4))
    for _ in range(6):
        # The first study that a sampler begins has the random numbers of its seed.
        single.optimize(lambda trial: two(trial)[0], n_trials=1)
        study.optimize(two, n_trials=1)
        alone.optimize(lambda trial: two(trial)[0], n_trials=1)
    assert points(single) == points(alone)
