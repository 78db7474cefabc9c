"""What users of Optuna expect of a sampler: its log, its ``repr``, and helpful errors."""

from __future__ import annotations

import copy
import inspect
import io
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from exported import BASELINES
from exported import SAMPLERS

import optuna_hdbo
from optuna_hdbo import visualization
from optuna_hdbo._core.streams import Streams


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_repr_has_the_settings(name: str) -> None:
    sampler = SAMPLERS[name](seed=3, consider_pruned_trials=False)
    assert repr(sampler) == f"{name}(seed=3, consider_pruned_trials=False)"
    assert repr(copy.deepcopy(sampler)) == repr(sampler)
    assert str(sampler) == name


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_the_old_name_of_a_setting_works_with_a_warning(name: str) -> None:
    with pytest.warns(FutureWarning, match="use_pruned is now called consider_pruned_trials") as w:
        sampler = SAMPLERS[name](seed=3, use_pruned=False)
    assert w[0].filename == __file__
    assert repr(sampler) == f"{name}(seed=3, consider_pruned_trials=False)"
    assert sampler._use_pruned is False
    assert "use_pruned" not in inspect.signature(SAMPLERS[name]).parameters


def test_the_old_name_of_a_setting_of_one_sampler() -> None:
    with pytest.warns(FutureWarning, match="deterministic is now called deterministic_objective"):
        sampler = optuna_hdbo.BaMSOOSampler(deterministic=False)  # type: ignore[call-arg]
    assert repr(sampler) == "BaMSOOSampler(deterministic_objective=False)"
    with pytest.raises(TypeError, match="unexpected keyword argument 'deterministic'"):
        optuna_hdbo.SOOSampler(deterministic=False)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_constraints_function_has_a_substitute(name: str) -> None:
    expected = f"{name} has no setting constraints_func, but got .*lambda.*trial.set_constraint"
    with pytest.raises(TypeError, match=expected):
        SAMPLERS[name](constraints_func=lambda trial: (1.0,))


def test_the_published_sampler_of_another_class_says_so() -> None:
    with pytest.warns(FutureWarning, match="consider_pruned_trials"):
        sampler = optuna_hdbo.GPUCBSampler.as_published(seed=1, use_pruned=False)
    assert type(sampler) is optuna_hdbo.AddGPUCBSampler
    with pytest.raises(TypeError, match=r"returns an AddGPUCBSampler.*no setting warp.*max_group"):
        optuna_hdbo.GPUCBSampler.as_published(warp=True)


@pytest.mark.parametrize("value", ["x", 1, 0.0])
def test_determinism_is_true_false_or_unknown(value: Any) -> None:
    with pytest.raises(ValueError, match="deterministic_objective must be True or False or None"):
        optuna_hdbo.HDBOSampler(deterministic_objective=value)
    for known in (True, False, None):
        optuna_hdbo.HDBOSampler(deterministic_objective=known)


FLAGS = [
    (name, setting)
    for name, create in {**SAMPLERS, **BASELINES}.items()
    for setting, parameter in inspect.signature(create).parameters.items()
    if isinstance(parameter.default, bool)
]


@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_flags_are_true_or_false(name: str, flag: str) -> None:
    with pytest.raises(ValueError, match=f"^{flag} must be True or False, but got 'no'"):
        {**SAMPLERS, **BASELINES}[name](**{flag: "no"})


def test_the_flag_of_the_evaluator_is_true_or_false() -> None:
    with pytest.raises(ValueError, match=r"^conditional must be True or False, but got 'no'"):
        optuna_hdbo.GradISImportanceEvaluator(conditional="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("unknown", ["nearby", ["local"]])
def test_unknown_experts_are_named(unknown: Any) -> None:
    with pytest.raises(
        ValueError, match=r"experts must be names out of local, .*got .*(nearby|local)"
    ):
        optuna_hdbo.HDBOSampler(experts=["global", unknown])


@pytest.mark.parametrize("name", ["baselines.DOOSampler", "methods.Loop", "visualization.report"])
def test_submodules_are_reached_through_the_package(name: str) -> None:
    subprocess.run([sys.executable, "-c", f"import optuna_hdbo; optuna_hdbo.{name}"], check=True)
    assert name.split(".")[0] in dir(optuna_hdbo)


def test_the_package_shows_public_names_only() -> None:
    shown = {name for name in dir(optuna_hdbo) if not name.startswith("_")}
    assert shown == {*optuna_hdbo.__all__, *optuna_hdbo._SUBMODULES} - {"__version__"}


FACTS = {
    "meant_for",
    "models_conditional",
    "multiplies_matrices",
    "splits_ranges",
    "supports_constraints",
    "supports_several_objectives",
}
"""Attributes of the classes that say what a sampler can do."""


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_other_members_of_samplers_are_private(name: str) -> None:
    sampler = SAMPLERS[name](seed=0)
    public = {member for member in dir(sampler) if not member.startswith("_")}
    assert public - set(dir(optuna.samplers.BaseSampler)) - FACTS <= {"as_published"}
    assert {member for member in vars(sampler) if not member.startswith("_")} <= FACTS


def test_the_verbosity_of_optuna_holds() -> None:
    def say() -> str:
        heard = io.StringIO()
        handler = logging.StreamHandler(heard)
        logging.getLogger("optuna").addHandler(handler)
        study = optuna.create_study(sampler=optuna_hdbo.SOOSampler(seed=0, n_startup_trials=1))
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
        study.optimize(lambda trial: trial.suggest_float(f"y{trial.number}", 0, 1), n_trials=2)
        logging.getLogger("optuna").removeHandler(handler)
        return heard.getvalue()

    before = optuna.logging.get_verbosity()
    assert "independently" in say()
    try:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        assert say() == ""
    finally:
        optuna.logging.set_verbosity(before)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_class_is_no_sampler(name: str) -> None:
    study = optuna.create_study(sampler=SAMPLERS[name])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"must be an instance.*parentheses"):
        study.ask()


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_seeds_are_numbers(name: str) -> None:
    with pytest.raises(ValueError, match="seed must be an integer or None, but got True"):
        SAMPLERS[name](seed=True)


@pytest.mark.parametrize("beta", [lambda: 1.0, lambda t, d: 1.0])
def test_beta_has_one_argument(beta: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="beta must be callable with one argument"):
        optuna_hdbo.GPUCBSampler(beta=beta)
    optuna_hdbo.GPUCBSampler(beta=lambda t, scale=2.0: scale)


@pytest.mark.parametrize("name", ["AddGPUCBSampler", "GPMISampler"])
def test_groups_fit_their_limit(name: str) -> None:
    groups = [["a", "b", "c"], ["d"]]
    with pytest.raises(ValueError, match=r"at most max_group_size=2 .* pass max_group_size=3"):
        SAMPLERS[name](decomposition=groups, max_group_size=2)
    SAMPLERS[name](decomposition=groups, max_group_size=3)


@pytest.mark.parametrize(
    "ask",
    [
        optuna_hdbo.explain,
        optuna_hdbo.get_believed_best,
        optuna_hdbo.get_groups,
        optuna_hdbo.get_interactions,
        optuna_hdbo.get_selections,
        optuna_hdbo.GradISImportanceEvaluator().evaluate,
        visualization.plot_calibration,
        visualization.plot_components,
        visualization.plot_experts,
        visualization.plot_groups,
        visualization.plot_importances,
        visualization.plot_interactions,
        visualization.plot_selections,
        visualization.report,
    ],
)
def test_an_address_is_no_study(ask: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"study must be an optuna.Study, but got 'sqlite.*Load"):
        ask("sqlite:///x.db")


def test_any_string_names_a_parameter() -> None:
    draws = [Streams(0).generator(f"independent:{name}", 0).random() for name in "\ud800\ud801"]
    assert draws[0] != draws[1]


def test_errors_of_the_independent_sampler_reach_the_user() -> None:
    class Broken(optuna.samplers.RandomSampler):
        def sample_independent(self, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("the user's own")

    sampler = optuna_hdbo.SOOSampler(independent_sampler=Broken())
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(RuntimeError, match="the user's own"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
