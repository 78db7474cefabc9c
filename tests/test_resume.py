"""A study stops and goes on: in another process, storage, copy of the sampler, or sampler."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from exported import EVERY
from exported import SAMPLERS
from fakes import mixed_objective
from histories import INTERPRETED
from histories import affordable

from optuna_hdbo._study.attributes import read_suggestion


SETTINGS: dict[str, Any] = {
    "seed": 1,
    "n_startup_trials": 4,
    "warn_independent_sampling": False,
}

every_sampler = pytest.mark.parametrize("name", list(EVERY))


def eventful_objective(trial: optuna.Trial) -> float:
    """Prune, fail, and have conditional parameters now and then."""
    value = mixed_objective(trial)
    trial.report(value + 1.0, 1)
    if trial.number % 5 == 3:
        value += trial.suggest_float("sometimes", 0, 1)
    if trial.number % 7 == 5:
        raise optuna.TrialPruned
    if trial.number % 11 == 8:
        raise RuntimeError
    return value


def run(study: optuna.Study, n: int) -> None:
    study.optimize(eventful_objective, n_trials=n, catch=(RuntimeError,))


def points(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


N = affordable(10, 8)


@pytest.fixture(scope="module")
def whole() -> Callable[[str], optuna.Study]:
    """Return the study that a sampler makes in one go."""
    known: dict[str, optuna.Study] = {}

    def get(name: str) -> optuna.Study:
        if name not in known:
            known[name] = optuna.create_study(sampler=EVERY[name](**SETTINGS))
            run(known[name], N)
        return known[name]

    return get


@every_sampler
def test_a_study_may_stop_after_any_trial(name: str, whole: Callable[[str], optuna.Study]) -> None:
    """A sampler that knows nothing but the first trials makes the next one as it was made."""
    trials = whole(name).trials
    for stop in range(N):
        study = optuna.create_study(sampler=EVERY[name](**SETTINGS))
        study.add_trials(trials[:stop])
        run(study, 1)
        assert study.trials[stop].params == trials[stop].params
        assert study.trials[stop].system_attrs == trials[stop].system_attrs


@every_sampler
def test_copies_of_a_used_sampler_go_on(name: str, whole: Callable[[str], optuna.Study]) -> None:
    study = optuna.create_study(sampler=EVERY[name](**SETTINGS))
    run(study, N - 7)
    study.sampler = copy.deepcopy(study.sampler)
    run(study, 3)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    run(study, 4)
    assert points(study) == points(whole(name))


SCRIPT = """
import sys
import optuna
from test_resume import go_on
optuna.logging.set_verbosity(optuna.logging.ERROR)
go_on(sys.argv[1], int(sys.argv[2]))
"""


def go_on(path: str, n: int) -> None:
    """Run trials in a study of every sampler."""
    storage = open_journal(path)
    for name, create in SAMPLERS.items():
        study = optuna.create_study(
            storage=storage, study_name=name, sampler=create(**SETTINGS), load_if_exists=True
        )
        run(study, n)


def open_journal(path: str) -> optuna.storages.BaseStorage:
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(path))


@pytest.mark.skipif(INTERPRETED, reason="is about processes, which compiled code shares")
def test_another_process_goes_on(tmp_path: Path, whole: Callable[[str], optuna.Study]) -> None:
    path = str(tmp_path / "journal.log")
    go_on(path, N // 2)
    command = [sys.executable, "-c", SCRIPT, path, str(N - N // 2)]
    subprocess.run(command, check=True, cwd=Path(__file__).parent)
    for name in SAMPLERS:
        study = optuna.load_study(storage=open_journal(path), study_name=name)
        assert points(study) == points(whole(name)), name


# other samplers ----------------------------------------------------------------------------------


def bowl(trial: optuna.Trial) -> float:
    return sum((trial.suggest_float(f"x{i}", -1, 1) - 0.3) ** 2 for i in range(5))


def asked_by(study: optuna.Study, number: int) -> str | None:
    """Return the method that made a trial's point, None for a random draw or a stranger."""
    suggestion = read_suggestion(study.trials[number])
    return None if suggestion is None else suggestion.method


OTHERS: dict[str, Callable[[], optuna.samplers.BaseSampler]] = {
    "TPE": lambda: optuna.samplers.TPESampler(seed=0, multivariate=True),
    "CMA-ES": lambda: optuna.samplers.CmaEsSampler(seed=0, warn_independent_sampling=False),
    "random": lambda: optuna.samplers.RandomSampler(seed=0),
    "QMC": lambda: optuna.samplers.QMCSampler(seed=0, warn_independent_sampling=False),
}


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@every_sampler
def test_samplers_take_turns(name: str) -> None:
    """Each goes on from the trials of the others."""
    study = optuna.create_study()
    ours = []
    for other in OTHERS.values():
        study.sampler = other()
        study.optimize(bowl, n_trials=6)
        study.sampler = EVERY[name](**SETTINGS)
        ours += [len(study.trials), len(study.trials) + 1]
        study.optimize(bowl, n_trials=2)
    assert len(study.trials) == 8 * len(OTHERS)
    for trial in study.trials:
        made_by = asked_by(study, trial.number)
        assert (made_by is not None) == (trial.number in ours)


@pytest.mark.skipif(INTERPRETED, reason="needs more trials than plain Python can pay for")
@pytest.mark.parametrize("name", [name for name in SAMPLERS if name != "SOOSampler"])
def test_imported_trials_are_learned_from(name: str) -> None:
    """From random trials of another study, a few more lead further than as many random ones.

    Not with SOO: it has no model, and what its tree has not asked for is no node. A study ends
    once it is twice as good, and two of three have to be.
    """
    n_better = 0
    for seed in range(3):
        random = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        random.optimize(bowl, n_trials=40)
        study = optuna.create_study(sampler=EVERY[name](seed=seed))
        study.add_trials(random.trials)
        random.optimize(bowl, n_trials=20)
        goal = 0.5 * random.best_value

        def end(study: optuna.Study, trial: optuna.trial.FrozenTrial, goal: float = goal) -> None:
            if study.best_value < goal:
                study.stop()

        study.optimize(bowl, n_trials=20, callbacks=[end])
        assert asked_by(study, 40) is not None
        n_better += study.best_value < goal
        if n_better == 2:
            break
    assert n_better == 2
