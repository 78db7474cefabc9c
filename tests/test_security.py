"""What is read from a storage is data of strangers: never run, and never trusted."""

from __future__ import annotations

import ast
import copy
import json
import logging
import math
import pickle
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from exported import EVERY
from exported import SAMPLERS
from fakes import create_sqlite
from fakes import mixed_objective
from histories import affordable

import optuna_hdbo
from optuna_hdbo._study import attributes


SETTINGS: dict[str, Any] = {
    "seed": 0,
    "n_startup_trials": 4,
    "warn_independent_sampling": False,
}
N_TRIALS = 8

every_sampler = pytest.mark.parametrize("name", list(EVERY))

PACKAGE = Path(optuna_hdbo.__file__).parent
RUNS_DATA = {"pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "dbm"}
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_nothing_in_the_package_can_run_what_it_reads(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names)]
        assert not RUNS_DATA & {name.split(".")[0] for name in names}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in RUNS_TEXT
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant)
            assert node.value.value is False


@every_sampler
def test_no_pickle_is_read(
    name: str,
    genuine: Callable[[str], list[optuna.trial.FrozenTrial]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a pickle is read")

    genuine(
        name
    )  # Numba keeps compiled code in pickles, in a folder of the user's: now it is loaded
    study = optuna.create_study(sampler=EVERY[name](**SETTINGS), storage=create_sqlite())
    for function in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, function, refuse)
    study.optimize(mixed_objective, n_trials=5)
    study.sampler = EVERY[name](**SETTINGS)
    study.optimize(mixed_objective, n_trials=1)


@pytest.fixture(scope="module")
def genuine() -> Callable[[str], list[optuna.trial.FrozenTrial]]:
    """Return the trials of a study that a sampler made."""
    known: dict[str, list[optuna.trial.FrozenTrial]] = {}

    def get(name: str) -> list[optuna.trial.FrozenTrial]:
        if name not in known:
            study = optuna.create_study(sampler=EVERY[name](**SETTINGS))
            study.optimize(mixed_objective, n_trials=N_TRIALS)
            known[name] = study.trials
        return known[name]

    return get


def texts(trial: optuna.trial.FrozenTrial) -> str:
    return "".join(attributes.stored_chunks(trial))


@every_sampler
def test_attributes_are_json_of_a_version(
    name: str, genuine: Callable[[str], list[optuna.trial.FrozenTrial]]
) -> None:
    for trial in genuine(name)[1:]:
        fields = json.loads(texts(trial))
        assert fields["version"] == attributes.VERSION
        assert set(fields) == {"version", "method", "params", "record"}
        ours = {k for k in trial.system_attrs if k.startswith("hdbo:")}
        assert ours == {f"hdbo:suggestion:{i}" for i in range(len(ours))}
        said = {k: v for k, v in trial.user_attrs.items() if k.startswith("hdbo:")}
        texts_said = {k for k, v in said.items() if type(v) is not float}
        assert texts_said == ({"hdbo:expert", "hdbo:query"} if "hdbo:expert" in said else set())


NASTY: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    -1e300,
    1e-300,
    0.5,
    "",
    "x",
    "gASVJAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAlleGl0IDE=",
    "__import__('os').abort()",
    [],
    [[]],
    [0] * 500,
    [math.nan],
    {},
    {"x": {}},
    {"py/object": "os.system"},
]


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of a JSON object, inner ones included."""
    yield path
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, (*path, key))


def spoil(fields: dict[str, Any], rng: np.random.Generator) -> str:
    """Return a suggestion of which some values are something else."""
    fields = copy.deepcopy(fields)
    for _ in range(int(rng.integers(1, 4))):
        ways = [way for way in leaves(fields) if way and way[0] != "version"]
        if not ways:
            break
        *way, last = ways[int(rng.integers(len(ways)))]
        inner = fields
        for key in way:
            inner = inner[key]
        value = copy.deepcopy(NASTY[int(rng.integers(len(NASTY)))])
        kind = rng.integers(3)
        if kind == 0 and isinstance(inner, dict):
            del inner[last]
        elif kind == 1 and isinstance(inner, list):
            inner.append(value)
        else:
            inner[last] = value
    return json.dumps(fields)


@every_sampler
def test_spoiled_records_are_passed_over(
    name: str,
    genuine: Callable[[str], list[optuna.trial.FrozenTrial]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Well-formed JSON with nonsense in it: the study goes on, with a word or none."""
    rng = np.random.default_rng(0)
    for _ in range(affordable(4, 2)):
        caplog.clear()
        trials = copy.deepcopy(genuine(name))
        for trial in trials[1:]:
            if rng.random() < 0.7:
                text = spoil(json.loads(texts(trial)), rng)
                trial.system_attrs = {"hdbo:suggestion:0": text}
                trial.user_attrs = {"hdbo:predicted": "?", "hdbo:n_groups": [1]}
        go_on(name, trials, 2, caplog)
        assert len(caplog.messages) <= 1


MALFORMED: dict[str, Any] = {
    "number": 3,
    "none": None,
    "text": "{'version': 1}",
    "truncated": '{"version": 1, "method": "add-gp-ucb", "params": {"x": 1.0',
    "deep": "[" * 50_000,
    "newer": '{"version": 99, "method": "add-gp-ucb", "params": {}, "record": {}}',
    "pickle": "gASVJAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAlleGl0IDE=",
    "list": [{"version": 1}],
    "long": '{"version": 1, "method": null, "params": {}, "record": {"a": "' + "x" * 5_000_000,
}


@pytest.mark.parametrize("name", list(SAMPLERS))
@pytest.mark.parametrize("kind", list(MALFORMED))
def test_malformed_attributes_are_ignored_with_one_warning(
    name: str,
    kind: str,
    genuine: Callable[[str], list[optuna.trial.FrozenTrial]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    trials = copy.deepcopy(genuine(name))
    for trial in trials[1:]:
        trial.system_attrs = {"hdbo:suggestion:0": MALFORMED[kind]}
    go_on(name, trials, 1, caplog)
    assert len(caplog.messages) == (kind != "none")
    assert all("are ignored because they cannot be understood" in m for m in caplog.messages)


def go_on(
    name: str,
    trials: list[optuna.trial.FrozenTrial],
    n: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Let a new sampler take over; some of the trials are still running elsewhere."""
    study = optuna.create_study(sampler=EVERY[name](**SETTINGS))
    for i, trial in enumerate(trials):
        if i % 6 == 5:
            running = study.ask()
            for key, value in trial.system_attrs.items():
                study._storage.set_trial_system_attr(running._trial_id, key, value)
        else:
            study.add_trial(trial)
    with caplog.at_level(logging.WARNING):
        study.optimize(mixed_objective, n_trials=n)
    assert not [message for message in caplog.messages if "at random" in message]
    for trial in study.trials[-n:]:
        suggestion = attributes.read_suggestion(trial)
        assert suggestion is not None
        assert suggestion.method is not None
        assert set(suggestion.params) == set(trial.params)


def test_a_text_of_any_length_is_not_parsed() -> None:
    study = optuna.create_study()
    trial = study.ask()
    text = attributes.StoredSuggestion({}, None, {"a": "x" * attributes.MAX_LENGTH}).to_text()
    study._storage.set_trial_system_attr(trial._trial_id, "hdbo:suggestion:0", text)
    with pytest.raises(ValueError, match="longer than"):
        attributes.read_suggestion(study.trials[0])
