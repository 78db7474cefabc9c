"""Random functions that branch: their answers, and what the seed draws."""

from __future__ import annotations

from functools import partial

import optuna
import pytest
from instances import instance

from optuna_hdbo.benchmarks.problems.suites import branching
from optuna_hdbo.benchmarks.problems.suites.conditional import Conditional


NAMES = [*branching.FAMILY, *branching.TUNED]


made = partial(instance, Conditional)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("further", range(5))
def test_the_answer_has_the_value_0_and_no_other_point_less(name: str, further: int) -> None:
    problem = made(name, further)
    best = optuna.trial.FixedTrial(dict(problem.answer))
    assert problem.ask(best) == pytest.approx(0.0, abs=1e-12)  # type: ignore[arg-type]
    assert best.params == problem.answer
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem.ask, n_trials=100)
    assert study.best_value > 0.0


@pytest.mark.parametrize("name", NAMES)
def test_a_change_of_a_single_answer_costs_something(name: str) -> None:
    problem = made(name)
    own = {k: v for k, v in problem.answer.items() if k.rpartition("_")[2].isdigit()}
    assert own
    for parameter, best in own.items():
        if isinstance(best, str):
            other = "a" if best != "a" else "b"
        else:
            other = best + 1 if isinstance(best, int) else best * 0.99
        changed = optuna.trial.FixedTrial({**problem.answer, parameter: other})
        assert problem.ask(changed) > 1e-9  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_trials_have_the_parameters_of_their_branch(name: str) -> None:
    problem = made(name, 1)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem.ask, n_trials=400)
    assert len({parameter for trial in study.trials for parameter in trial.params}) == problem.dim
    assert len({frozenset(trial.params) for trial in study.trials}) > 2


def test_the_seed_draws_the_function() -> None:
    answers = [made(name, i).answer for name in ("models-3", "models-4-tune") for i in (0, 1)]
    assert all(answer != other for i, answer in enumerate(answers) for other in answers[:i])
