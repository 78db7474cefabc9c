"""The exported samplers inside Optuna: bad input, hard objectives, resuming, usefulness."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from exported import EVERY
from exported import PUBLISHED
from exported import SAMPLERS
from fakes import mixed_objective
from histories import INTERPRETED
from histories import affordable
from histories import dear

from optuna_hdbo import AddGPUCBSampler
from optuna_hdbo import BaMSOOSampler
from optuna_hdbo import GPUCBSampler
from optuna_hdbo import HDBOSampler
from optuna_hdbo import SOOSampler
from optuna_hdbo import VSBOSampler
from optuna_hdbo._core import points
from optuna_hdbo._core.calibration import KEY
from optuna_hdbo._study.attributes import read_suggestion
from optuna_hdbo.samplers import base
from optuna_hdbo.samplers.base import MethodSampler


every_sampler = pytest.mark.parametrize("create", list(EVERY.values()), ids=list(EVERY))


@pytest.fixture
def fallbacks(caplog: pytest.LogCaptureFixture) -> Any:
    """Return what was said about points drawn at random instead of asked for."""
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        yield lambda: [m for m in caplog.messages if "at random" in m]


# bad input ---------------------------------------------------------------------------------------


WRONG: list[tuple[str, Any]] = [
    ("max_group_size", 0),
    ("max_group_size", -3),
    ("max_group_size", 2.5),
    ("max_group_size", 2.0),
    ("max_group_size", True),
    ("max_group_size", "3"),
    ("max_group_size", None),
    ("n_cyc", 0),
    ("n_cyc", 1.5),
    ("n_decompositions", -1),
    ("n_small_bandwidth", -1),
    ("beta", -1),
    ("beta", math.nan),
    ("beta", math.inf),
    ("beta", "x"),
    ("beta", True),
    ("beta", None),
    ("kernel", "rbf"),
    ("kernel", None),
    ("update", "both"),
    ("decomposition_search", "greedy"),
    ("maximiser", "lbfgs"),
    ("ungrouped", "drop"),
    ("n_startup_trials", -1),
    ("n_startup_trials", 2.5),
    ("n_startup_trials", True),
    ("seed", "x"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_wrong_settings_are_named(name: str, value: Any) -> None:
    """Argument, rule and value, when the sampler is built."""
    with pytest.raises(ValueError, match=rf"^{name} must be .* but got ") as error:
        AddGPUCBSampler(**{name: value})
    assert repr(value) in str(error.value)
    if name in ("kernel", "n_cyc", "beta", "n_startup_trials", "seed"):
        with pytest.raises(ValueError, match=rf"^{name} must be .* but got "):
            GPUCBSampler(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_vs", 1),
        ("n_vs", 2.5),
        ("criterion", "both"),
        ("gain", 0.0),
        ("gain", math.inf),
        ("gain", math.nan),
        ("gain", "6"),
        ("gain", True),
        ("n_is", 0),
        ("unimportant", "uniform"),
        ("n_draws", 0),
        ("whole_every", -1),
        ("n_cyc", 0),
        ("kernel", "rbf"),
        ("n_startup_trials", -1),
        ("n_startup_trials", 2.5),
        ("n_startup_trials", True),
        ("seed", "x"),
    ],
)
def test_wrong_settings_of_vs_bo_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be .* but got ") as error:
        VSBOSampler(**{name: value})
    assert repr(value) in str(error.value)


WRONG_TREES: list[tuple[str, Any]] = [
    ("branching", 4),
    ("branching", True),
    ("branching", "2"),
    ("branching", None),
    ("depth_exponent", 0),
    ("depth_exponent", 1.5),
    ("depth_exponent", math.nan),
    ("depth_exponent", None),
    ("depth_limit", "late"),
    ("n_startup_trials", -1),
    ("width", 0),
    ("width", math.inf),
    ("width", "B_N"),
    ("explore", 0),
    ("explore", 2.5),
    ("eta", 0.0),
    ("eta", 2),
    ("penalty", -1),
    ("penalty", math.nan),
    ("kernel", "rbf"),
    ("n_cyc", 0),
    ("patience", 0),
    ("kernel_params", 3),
    ("kernel_params", {}),
    ("kernel_params", {"lengthscale": 1.0, "nose": 1.0}),
]


@pytest.mark.parametrize(("name", "value"), WRONG_TREES)
def test_wrong_settings_of_trees_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be .* but got ") as error:
        BaMSOOSampler(**{name: value})
    assert repr(value) in str(error.value)
    own = {"branching", "depth_exponent", "depth_limit", "n_startup_trials"}
    if name in own and (name, value) != ("depth_exponent", None):  # None: SOO's own rule
        with pytest.raises(ValueError, match=rf"^{name} must be .* but got "):
            SOOSampler(**{name: value})


@pytest.mark.parametrize(
    "params",
    [
        {"lengthscale": -1.0},
        {"lengthscale": "long"},
        {"lengthscale": {"x": 0.0}},
        {"lengthscale": 1.0, "noise": 0.0},
        {"lengthscale": 1.0, "scale": math.inf},
    ],
)
def test_wrong_kernel_params_are_named(params: Any) -> None:
    with pytest.raises(ValueError, match=r"^kernel_params\['.*must be .*number.*but got "):
        BaMSOOSampler(kernel_params=params)


def test_lengthscales_of_other_parameters_are_refused_as_soon_as_that_shows() -> None:
    sampler = BaMSOOSampler(kernel_params={"lengthscale": {"x": 1.0, "z": 1.0}})
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(ValueError, match=r"must name every parameter.*\['x', 'z'\]"):
        study.optimize(two_parameters, n_trials=5)
    assert len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))) == 1


@pytest.mark.parametrize(
    ("decomposition", "message"),
    [
        ([["x", "y"], ["y"]], r"repeats \['y'\]"),
        ([["x", "x"]], r"repeats \['x'\]"),
        ([["x"], []], "empty groups"),
        ([], "empty groups"),
        ("xy", "lists of parameter names"),
        (["x", "y"], "lists of parameter names"),
        (["x", ["y"]], "lists of parameter names"),
        (5, "lists of parameter names"),
        ([5], "lists of parameter names"),
        (np.array([["x"], ["y"]])[:0], "empty groups"),
        ([[1, 2]], "lists of parameter names"),
        ([["x", None]], "lists of parameter names"),
    ],
)
def test_wrong_decompositions_are_refused(decomposition: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^decomposition must .*{message}"):
        AddGPUCBSampler(decomposition=decomposition)


def two_parameters(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0, 1) - trial.suggest_float("y", 0, 1) ** 2


@pytest.mark.parametrize(
    ("decomposition", "message"),
    [
        ([["x", "y", "z"]], r"name parameters of the study, but got \['z'\].*\['x', 'y'\]"),
        ([["x"]], r"leaves out \['y'\].*ungrouped=\"single\""),
    ],
)
def test_decompositions_that_do_not_fit_are_refused_as_soon_as_that_shows(
    decomposition: Any, message: str
) -> None:
    study = optuna.create_study(sampler=AddGPUCBSampler(decomposition=decomposition))
    with pytest.raises(ValueError, match=f"^decomposition must .*{message}"):
        study.optimize(two_parameters, n_trials=5)
    assert len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))) == 1


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_a_schedule_that_returns_nonsense_does_not_end_a_study(
    value: float, fallbacks: Any
) -> None:
    """Points are drawn at random, and the warning names the argument and the value."""
    sampler = GPUCBSampler(beta=lambda t: value, n_startup_trials=3, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(two_parameters, n_trials=5)
    assert len(study.trials) == 5
    assert len(fallbacks()) == 2
    assert all("beta must return" in m and repr(value) in m for m in fallbacks())


def test_gp_ucb_as_published_has_one_group() -> None:
    study = optuna.create_study(sampler=GPUCBSampler.as_published(seed=0, n_startup_trials=3))
    study.optimize(mixed_objective, n_trials=5)
    suggestion = read_suggestion(study.trials[3])
    assert suggestion is not None
    assert suggestion.record is not None
    (group,) = suggestion.record["additive"]["groups"]
    assert sorted(group) == sorted(study.trials[0].params)


# hard objectives ---------------------------------------------------------------------------------


def learned(study: optuna.Study) -> list[int]:
    """Return the trials whose suggestion recorded a fit."""
    suggestions = [(t.number, read_suggestion(t)) for t in study.trials]
    return [n for n, s in suggestions if s is not None and set(s.record or {}) - {KEY}]


HARD: dict[str, Callable[[int, float], float]] = {
    "inf": lambda i, v: math.inf if i % 4 == 1 else v,
    "-inf": lambda i, v: -math.inf if i % 4 == 1 else v,
    "both": lambda i, v: (math.inf, -math.inf)[i % 2] if i % 4 > 1 else v,
    "all infinite": lambda i, v: math.inf,
    "huge": lambda i, v: 1e300 if i % 4 == 1 else v,
    "huge and opposite": lambda i, v: (-1) ** i * 1e308,
    "equal": lambda i, v: 7.0,
    "nan": lambda i, v: math.nan if i % 4 == 1 else v,
    "tiny": lambda i, v: v * 1e-300,
}


@every_sampler
@pytest.mark.parametrize("change", list(HARD.values()), ids=list(HARD))
def test_hard_values_end_no_study(
    create: Callable[..., MethodSampler], change: Callable[[int, float], float], fallbacks: Any
) -> None:
    study = optuna.create_study(sampler=create(seed=0, n_startup_trials=4))
    n = affordable(8, 6)
    study.optimize(lambda t: change(t.number, mixed_objective(t)), n_trials=n)
    assert len(study.trials) == n
    assert not fallbacks()
    assert learned(study)


@every_sampler
def test_a_penalty_is_as_good_as_an_infinite_value(create: Callable[..., MethodSampler]) -> None:
    """An objective may return a large number where it fails. Other values stay apart."""

    def points(penalty: float) -> list[dict[str, float]]:
        def objective(trial: optuna.Trial) -> float:
            x, y = (trial.suggest_float(name, -1.0, 1.0) for name in "xy")
            return penalty if x + y > 0.9 else (x - 0.3) ** 2 + (y - 0.4) ** 2

        study = optuna.create_study(sampler=create(seed=1, n_startup_trials=8))
        study.optimize(objective, n_trials=affordable(20, 12))
        assert 1 <= sum(trial.value == penalty for trial in study.trials[:8]) <= 4
        return [trial.params for trial in study.trials]

    assert points(1e6) == points(math.inf)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, math.nan])
def test_nothing_already_learned_is_lost(value: float, fallbacks: Any) -> None:
    """After a hard value the next suggestion goes on from the fit that was there."""
    study = optuna.create_study(
        sampler=AddGPUCBSampler(seed=0, n_startup_trials=4, n_cyc=50, update="all_groups")
    )
    study.optimize(mixed_objective, n_trials=6)
    assert learned(study) == [4]
    n_groups = study.trials[-1].user_attrs["hdbo:n_groups"]
    study.optimize(lambda t: mixed_objective(t) * 0 + value, n_trials=2)
    study.optimize(mixed_objective, n_trials=2)
    assert learned(study) == [4]
    assert not fallbacks()
    assert study.trials[-1].user_attrs["hdbo:n_groups"] == n_groups
    assert study.best_value is not None


def test_a_fit_survives_the_failure_of_its_trial(fallbacks: Any) -> None:
    def objective(trial: optuna.Trial) -> float:
        value = mixed_objective(trial)
        if trial.number == 4:
            raise RuntimeError
        return value

    study = optuna.create_study(
        sampler=AddGPUCBSampler(seed=0, n_startup_trials=4, n_cyc=50, update="all_groups")
    )
    study.optimize(objective, n_trials=7, catch=(RuntimeError,))
    assert study.trials[4].state == optuna.trial.TrialState.FAIL
    assert learned(study) == [4]
    assert not fallbacks()


# whether they help -------------------------------------------------------------------------------


def shifted_bowl(trial: optuna.Trial) -> float:
    x = [trial.suggest_float(f"x{i}", -5, 5) for i in range(10)]
    return sum((value - (i % 5 - 2)) ** 2 for i, value in enumerate(x))


def median_of_random(n: int, n_seeds: int) -> float:
    """Return the best value of n random trials."""
    best = []
    for seed in range(n_seeds):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        study.optimize(shifted_bowl, n_trials=n)
        best.append(study.best_value)
    return float(np.median(best))


def median_is_below(value: float, create: Callable[[int], Any], n: int, n_seeds: int) -> bool:
    """Say whether the median of the best of n trials is below a value.

    A study ends where that is decided, and so do the studies.
    """

    def end(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if study.best_value < value:
            study.stop()

    n_below = 0
    for seed in range(n_seeds):
        study = optuna.create_study(sampler=create(seed))
        study.optimize(shifted_bowl, n_trials=n, callbacks=[end])
        n_below += study.best_value < value
        if 2 * n_below > n_seeds:
            return True
    return False


# A tree halves one side at a time: 40 trials in 10 dimensions are few.
SHARE_OF_RANDOM = {"SOOSampler": 0.5, "BaMSOOSampler": 0.5}


@pytest.mark.skipif(INTERPRETED, reason="needs more trials than plain Python can pay for")
@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_sampler_is_far_better_than_random(name: str) -> None:
    value = SHARE_OF_RANDOM.get(name, 0.3) * median_of_random(40, 3)
    assert median_is_below(value, lambda seed: SAMPLERS[name](seed=seed), 40, 3)


@pytest.mark.skipif(INTERPRETED, reason="needs more trials than plain Python can pay for")
@pytest.mark.parametrize("name", list(PUBLISHED))
def test_the_published_settings_are_better_than_random(name: str) -> None:
    settings = {"n_small_bandwidth": 0} if "GPUCB" in name else {}
    value = median_of_random(60, 5)
    assert median_is_below(value, lambda seed: PUBLISHED[name](seed=seed, **settings), 60, 3)


def test_a_study_in_a_file_is_resumed_exactly(tmp_path: Path) -> None:
    """16 trials at once are 10, another sampler and connection, and 6."""
    create = AddGPUCBSampler
    n, first = affordable(16, 9), affordable(10, 6)
    whole = optuna.create_study(sampler=create(seed=3, n_startup_trials=5))
    whole.optimize(mixed_objective, n_trials=n)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    for count in (first, n - first):
        study = optuna.create_study(
            study_name="resumed",
            storage=optuna.storages.RDBStorage(url),
            sampler=create(seed=3, n_startup_trials=5),
            load_if_exists=True,
        )
        study.optimize(mixed_objective, n_trials=count)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]


class EveryThird(optuna.pruners.BasePruner):
    """Stops every third trial, whatever its values."""

    def prune(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> bool:
        return trial.number % 3 == 2


@every_sampler
def test_pruners(create: Callable[..., MethodSampler], fallbacks: Any) -> None:
    def objective(trial: optuna.Trial) -> float:
        value = mixed_objective(trial)
        for step in range(3):
            trial.report(value * (3 - step), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study = optuna.create_study(
        sampler=create(seed=0, n_startup_trials=3),
        pruner=EveryThird(),
    )
    study.optimize(objective, n_trials=14)
    assert {t.state.name for t in study.trials} == {"COMPLETE", "PRUNED"}
    assert not fallbacks()


@every_sampler
def test_threads(create: Callable[..., MethodSampler], fallbacks: Any) -> None:
    study = optuna.create_study(sampler=create(seed=0, n_startup_trials=3))
    n = affordable(10, 6)
    study.optimize(mixed_objective, n_trials=n, n_jobs=2)
    assert len(study.trials) == n
    assert all(t.state == optuna.trial.TrialState.COMPLETE for t in study.trials)
    assert len({tuple(t.params.values()) for t in study.trials}) == n
    assert not fallbacks()


def test_conditional_and_fixed_parameters_come_and_go(fallbacks: Any) -> None:
    """What was learned while a parameter was fixed must not break what comes after."""
    for create in SAMPLERS.values():
        study = optuna.create_study(
            sampler=create(seed=0, n_startup_trials=3, warn_independent_sampling=False)
        )

        def objective(trial: optuna.Trial) -> float:
            high = 1.0 if 6 <= trial.number < 9 else 2.0
            return trial.suggest_float("x", 0, high) + two_parameters_of(trial)

        study.optimize(objective, n_trials=12)
        assert len(study.trials) == 12
    assert not fallbacks()


def two_parameters_of(trial: optuna.Trial) -> float:
    return trial.suggest_float("u", 0, 1) - trial.suggest_int("k", 0, 5)


@dear
def test_searches_afresh_do_not_ask_for_a_known_corner_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = []

    def perturbed(*args: Any) -> Any:
        moved.append(args[1])
        return points.perturbed(*args)

    monkeypatch.setattr(base, "perturbed", perturbed)
    study = optuna.create_study(sampler=HDBOSampler(seed=0))
    study.optimize(lambda t: sum(t.suggest_float(x, 0, 1) ** 1.5 for x in "abc"), n_trials=90)
    queries = [trial.user_attrs.get("hdbo:restart") for trial in study.trials]
    assert sum(began is not None for began in queries) > 20
    assert len(moved) <= 2
