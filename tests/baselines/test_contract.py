"""What every baseline owes its caller: the package's manners, in short studies."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

import numpy as np
import optuna
import pytest
from exported import BASELINES
from fakes import mixed_objective
from histories import DOMAINS
from histories import INTERPRETED
from histories import Ledger
from histories import affordable
from histories import is_admissible
from histories import make_domain

from optuna_hdbo._core.domain import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


QUICK: dict[str, dict[str, Any]] = {
    "ALEBOSampler": {"d": 2, "n_init": 2},
    "BAxUSSampler": {"n_init": 2, "budget": 9},
    "DropoutUCBSampler": {"d": 3},
    "HeSBOSampler": {"d": 3, "n_init": 3},
    "LineBOSampler": {"n_line": 3},
    "REMBOSampler": {"d": 3, "n_init": 3},
    "SRESampler": {"d": 2, "n_init": 2, "n_stage": 4},
}
"""Settings under which a short study asks the model."""

OTHERS: dict[str, list[dict[str, Any]]] = {
    "AllGroupsUCBSampler": [{"d": 9, "priors": False}],
    "DropoutUCBSampler": [{"d": 1, "fill": "copy"}, {"d": 9, "fill": "random"}],
    "EISampler": [{"maximiser": "direct"}],
    "LineBOSampler": [{"directions": "coordinate"}, {"directions": "descent", "n_line": 2}],
    "REMBOSampler": [{"d": 2, "n_init": 2, "n_embeddings": 2, "acquisition": "ucb"}],
}
"""Further settings that take other ways."""

CASES = {name: (name, QUICK.get(name, {})) for name in BASELINES}
CASES |= {
    f"{name}, {', '.join(f'{k}={v}' for k, v in settings.items())}": (name, settings)
    for name, more in OTHERS.items()
    for settings in more
    if not INTERPRETED
}
WITHOUT_PAPER_SETTINGS = {"AllGroupsUCBSampler", "DIRECTSampler", "DOOSampler", "SRESampler"}
"""Their defaults are those of the papers."""

every_baseline = pytest.mark.parametrize("name", list(BASELINES))
every_case = pytest.mark.parametrize(("name", "settings"), list(CASES.values()), ids=list(CASES))


def build(name: str, settings: dict[str, Any] | None = None) -> Method:
    settings = QUICK.get(name, {}) if settings is None else settings
    method: Method = BASELINES[name](seed=0, **settings)._method
    return method


def written(suggestion: Suggestion) -> str:
    return json.dumps(suggestion.record, allow_nan=False, sort_keys=True)


def assert_sane(domain: Domain, suggestion: Suggestion) -> None:
    assert is_admissible(domain, suggestion.x)
    numbers = [number for number in suggestion.report.values() if not isinstance(number, str)]
    assert all(math.isfinite(number) for number in numbers)
    assert len(written(suggestion)) < 600 + 300 * (len(domain) + 1)


@every_case
def test_memory_is_only_a_cache(name: str, settings: dict[str, Any]) -> None:
    """A fresh instance and a long-lived one agree exactly, with points pending now and then."""
    domain = DOMAINS["mixed"]
    ledger, old = Ledger.started(domain, 2), build(name, settings)
    for step in range(affordable(7, 4)):
        pending = domain.sample(np.random.default_rng(step), step % 3)
        suggestion, again = (
            method.suggest(domain, ledger.seen(pending=list(pending)), Streams(0))
            for method in (old, build(name, settings))
        )
        assert np.array_equal(suggestion.x, again.x)
        assert written(suggestion) == written(again)
        assert suggestion.report == again.report
        assert_sane(domain, suggestion)
        assert not (pending == suggestion.x).all(axis=1).any()
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)


@every_case
def test_an_exhausted_domain_is_searched_completely_first(
    name: str, settings: dict[str, Any]
) -> None:
    domain = make_domain(2, "2") if INTERPRETED else make_domain(2, "3", 2)
    n = affordable(12, 4)
    ledger = Ledger.started(domain, 1)
    ledger.run(build(name, settings), n + 1)
    assert len({x.tobytes() for x in ledger.X[:n]}) == n
    assert all(is_admissible(domain, x) for x in ledger.X)


@every_baseline
def test_one_column_and_equal_values_are_enough(name: str) -> None:
    for domain in (DOMAINS["single"], DOMAINS["continuous"]):
        ledger = Ledger.started(domain, 1, lambda x: 7.0)
        for suggestion in ledger.run(build(name), affordable(5, 4)):
            assert_sane(domain, suggestion)


NONSENSE: list[Any] = [None, True, -1.5, "text", [], [1], {}, {"key": 1}, {"u": [math.nan]}]
NONSENSE += [{"key": 1, "part": 0, "u": value} for value in ([], "1", [2.0], [None], [True])]
NONSENSE += [{"key": -1, "part": 0, "u": [0.5]}, {"key": 1.5, "part": 0, "u": [0.5]}]


@every_baseline
def test_records_of_others_do_no_harm(name: str) -> None:
    """What cannot be understood is passed over: the point is that without such records."""
    ledger = Ledger.started(DOMAINS["mixed"], 2)
    ledger.run(build(name), 4)
    clean = build(name).suggest(ledger.domain, ledger.seen(), Streams(0))
    keys = {key for record in ledger.records for key in record.data}
    for i, nonsense in enumerate(NONSENSE):
        data = dict.fromkeys([*keys, ""], nonsense)
        ledger.records.append(Record(len(ledger.X) + i, "failed", data))
    suggestion = build(name).suggest(ledger.domain, ledger.seen(), Streams(0))
    assert np.array_equal(clean.x, suggestion.x)
    assert written(clean) == written(suggestion)


@pytest.fixture
def no_fallback(caplog: pytest.LogCaptureFixture) -> Any:
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        yield
    assert not [message for message in caplog.messages if "at random" in message]


def create(name: str, **settings: Any) -> optuna.samplers.BaseSampler:
    quick = {"warn_independent_sampling": False, **QUICK.get(name, {}), **settings}
    return BASELINES[name](seed=0, **quick)


@pytest.mark.usefixtures("no_fallback")
@every_baseline
def test_another_sampler_goes_on(name: str) -> None:
    """A study is all that a sampler needs. What storages do to it is tested for all at once."""
    studies = []
    n = affordable(8, 5)
    for parts in ((n,), (n - 2, 2)):
        study = optuna.create_study()
        for n_trials in parts:
            study.sampler = create(name, n_startup_trials=2)
            study.optimize(mixed_objective, n_trials=n_trials)
        studies.append([trial.params for trial in study.trials])
    assert studies[0] == studies[1]


@pytest.mark.usefixtures("no_fallback")
@every_baseline
def test_a_study_survives_what_objectives_do(name: str) -> None:
    """Infinite and undefined values, failures, pruning, and a parameter that comes and goes."""

    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("n", 1, 9)
        if trial.number >= 3:
            value += trial.suggest_float("late", -1.0, 1.0)
        if trial.number % 3:
            value -= trial.suggest_float("sometimes", 0.0, 1.0 if trial.number < 7 else 2.0)
        if trial.number == 4:
            trial.report(value, 0)
            raise optuna.TrialPruned
        if trial.number == 5:
            raise RuntimeError
        return {6: math.nan, 7: math.inf, 8: 1e300}.get(trial.number, value)

    study = optuna.create_study(sampler=create(name, n_startup_trials=1))
    study.enqueue_trial({"x": 0.25})
    study.optimize(objective, n_trials=affordable(13, 10), catch=(RuntimeError,))
    assert len(study.trials) == affordable(13, 10)


@pytest.mark.usefixtures("no_fallback")
@every_baseline
def test_constraints_and_threads(name: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        if hasattr(trial, "set_constraint") and BASELINES[name].supports_constraints:
            trial.set_constraint("limit", x + y - 1.0)
        return -x - 2.0 * y

    study = optuna.create_study(sampler=create(name))
    study.optimize(objective, n_trials=affordable(10, 6), n_jobs=2)
    assert len({tuple(t.params.values()) for t in study.trials}) == affordable(10, 6)


@every_baseline
def test_as_published_can_be_built(name: str) -> None:
    sampler = BASELINES[name]
    assert hasattr(sampler, "as_published") == (name not in WITHOUT_PAPER_SETTINGS)
    if name not in WITHOUT_PAPER_SETTINGS:
        assert type(sampler.as_published(seed=0)) is sampler


WRONG: dict[str, dict[str, list[Any]]] = {
    "ALEBOSampler": {"d": [0], "n_init": [0, 1.5], "n_cyc": [0]},
    "BAxUSSampler": {"n_new_bins": [0], "budget": [0], "n_init": [0], "kernel": ["x"]},
    "SAASBOSampler": {"n_models": [0], "kernel": ["rbf"], "n_cyc": [0]},
    "SRESampler": {"d": [0], "n_stage": [1], "n_init": [0], "kernel": ["rbf"], "n_cyc": [0]},
    "AllGroupsUCBSampler": {"d": [0, 1.5], "beta": ["x"], "n_cyc": [0]},
    "DIRECTSampler": {"epsilon": [-1e-4, math.nan]},
    "DOOSampler": {"lipschitz": [0.0, math.inf], "branching": [4]},
    "DropoutUCBSampler": {"d": [0], "fill": ["best"], "p": [1.5], "beta": ["x"], "kernel": ["x"]},
    "EISampler": {"margin": [-1.0], "maximiser": ["lbfgs"], "kernel": ["rbf"], "n_cyc": [0]},
    "LineBOSampler": {"directions": ["up"], "n_line": [0], "tolerance": [-1], "beta": [-1.0]},
    "PISampler": {"margin": ["small"]},
    "HeSBOSampler": {"d": [0, 2.5], "n_init": [0], "acquisition": ["pi"], "kernel": ["rbf"]},
    "REMBOSampler": {"d": [0, True], "n_embeddings": [0, "4"], "beta": [-1.0], "n_cyc": [0]},
}


@every_baseline
def test_wrong_settings_are_named(name: str) -> None:
    for argument, values in {**WRONG[name], "n_startup_trials": [-1], "seed": ["x"]}.items():
        for value in values:
            with pytest.raises(ValueError, match=rf"^{argument} must be .* but got ") as error:
                BASELINES[name](**{argument: value})
            assert repr(value) in str(error.value)


def test_the_package_exports_what_it_says() -> None:
    import optuna_hdbo.baselines as package

    assert set(BASELINES) == {name for name in package.__all__ if name.endswith("Sampler")}
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        package.Nothing  # noqa: B018


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
@pytest.mark.parametrize(
    "name", ["AllGroupsUCBSampler", "BAxUSSampler", "HeSBOSampler", "REMBOSampler", "SRESampler"]
)
def test_no_study_is_caught_where_all_trials_fail(name: str) -> None:
    """A formula that goes on falling there makes models ask for the same points forever."""
    study = optuna.create_study(sampler=BASELINES[name](seed=1000))

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(4)]
        return math.nan if x[0] > 0.67 else sum((v - 0.62) ** 2 for v in x)

    study.optimize(objective, n_trials=50)
    assert sum(trial.value is None for trial in study.trials[20:]) < 24


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
def test_a_region_does_not_stay_on_a_plateau() -> None:
    """All first values are infinite, so that no point is the best one."""
    study = optuna.create_study(sampler=BASELINES["BAxUSSampler"](seed=1001))

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(3)]
        return math.inf if x[0] > 0.3 else sum((v - 0.25) ** 2 for v in x)

    study.optimize(objective, n_trials=40)
    values = [trial.value for trial in study.trials]
    assert np.isinf(values[:10]).all()
    assert np.isfinite(values).sum() > 10
