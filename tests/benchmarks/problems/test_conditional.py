"""Problems that branch: their optimum, and what their trials have."""

from __future__ import annotations

import math

import optuna
import pytest

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.suites import conditional


NAMES = [*conditional.FAMILY, *conditional.TUNED]
COMPUTED = [name for name in NAMES if not name.startswith("models")]


def study_of(
    name: str, seed: int, n_trials: int, enough: float = -math.inf
) -> tuple[optuna.Study, conditional.Conditional]:
    """Run a study, until a loss is small enough and its branches have been seen."""
    problem = catalogue.make(name, seed)
    assert isinstance(problem, conditional.Conditional)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
    study = optuna.create_study(sampler=sampler, direction=problem.direction)

    def end(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        branches = {frozenset(trial.params) for trial in study.trials}
        all_seen = len(branches) > 2 and len(frozenset.union(*branches)) == problem.dim
        if all_seen and study.best_value - problem.optimum < enough:
            study.stop()

    study.optimize(
        lambda trial: problem.evaluate(problem.suggest(trial)), n_trials=n_trials, callbacks=[end]
    )
    return study, problem


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("name", COMPUTED)
def test_the_optimum_is_approached_and_never_passed(name: str) -> None:
    seed = catalogue.SEEDS[catalogue.purpose_of(name)][1]
    study, problem = study_of(name, seed, 80, enough=0.5)
    values = [trial.value - problem.optimum for trial in study.trials]  # type: ignore[operator]
    assert min(values) >= 0.0
    assert min(values) < 0.5
    names = {name for trial in study.trials for name in trial.params}
    assert len(names) == problem.dim
    assert len({frozenset(trial.params) for trial in study.trials}) > 2


def test_the_best_point_of_each_computed_problem_has_its_value() -> None:
    jenatton = catalogue.make("jenatton", 0)
    fixed = optuna.trial.FixedTrial({"x1": 0, "x2": 0, "x4": 0.0, "r8": 0.0})
    assert jenatton.evaluate(jenatton.suggest(fixed)) == jenatton.optimum == 0.1  # type: ignore[arg-type]


def test_instances_differ_by_seed_and_purpose() -> None:
    fixed = {f"units{i}": 40 for i in range(6)} | {"n_layers": 6, "lr": 1e-3, "dropout": 0.4}
    trial = optuna.trial.FixedTrial(fixed)
    values = {
        (name, seed): float(catalogue.make(name, seed).suggest(trial)[0])  # type: ignore[arg-type]
        for name, seed in (("network", 0), ("network", 1), ("network-tune", 1000))
    }
    assert len(set(values.values())) == 3
    with pytest.raises(ValueError, match="tuning problem"):
        catalogue.make("network-tune", 0)


def test_the_choice_of_models_is_an_error_rate() -> None:
    pytest.importorskip("sklearn")
    study, _ = study_of("models-tune", 1000, 8)
    assert all(0.0 <= trial.value <= 1.0 for trial in study.trials)  # type: ignore[operator]
