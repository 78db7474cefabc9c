"""Whatever a record says, no recall raises, and the next trials are not drawn at random.

Records of real studies are spoiled at one place. The suite runs in strict mode, in which an
exception in a method ends the study.
"""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Iterator
from typing import Any

import optuna
import pytest
from exported import EVERY
from fakes import go_on
from histories import affordable
from hypothesis import HealthCheck
from hypothesis import Phase
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from optuna_hdbo._study import attributes


N_EXAMPLES = int(os.environ.get("HDBO_FUZZ", "0"))
SETTINGS: dict[str, Any] = {"seed": 0, "n_startup_trials": 4}
N_TRIALS = affordable(18, 9)

Path = tuple[Any, ...]
Record = dict[str, Any]


def nested(depth: int) -> Any:
    value: Any = 1.0
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: dict[str, Any] = {
    "huge integer": 10**300,
    "index beyond int64": 2**63,
    "negative": -1,
    "zero": 0,
    "one": 1,
    "many": 10**6,
    "tiny": 5e-324,
    "large": 1e308,
    "negative large": -1e308,
    "half": 0.5,
    "true": True,
    "null": None,
    "text": "?",
    "digits": "012" * 20,
    "surrogate": "\ud800",
    "empty list": [],
    "empty object": {},
    "list": [0],
    "list of lists": [[0], [1]],
    "names": ["x0", "x0"],
    "floats": [5e-324, 1e308],
    "wrong types": [None, "1", {}, []],
    "objects": {"0": {"n": 3}},
    "nested": nested(400),
    "long list": [0.5] * 5000,
}


def objective(trial: optuna.Trial) -> float:
    x = [trial.suggest_float(f"x{i}", -1, 1) for i in range(2)]
    n, kind = trial.suggest_int("n", 1, 9), trial.suggest_categorical("kind", ["a", "b", "c"])
    return sum((v - 0.3) ** 2 for v in x) + (n - 4) ** 2 / 50 + (kind == "b")


WHOLE = ["9" * 4300, f"[{'0.5,' * 500_000}0.5]", "NaN", "1e999", "[" * 5000, '"', "\\"]
"""Texts in the place of a number after which nothing of a record can be used."""


@functools.cache
def played(name: str) -> list[optuna.trial.FrozenTrial]:
    study = optuna.create_study(sampler=EVERY[name](**SETTINGS))
    study.optimize(objective, n_trials=N_TRIALS)
    return study.trials


def fields_of(trial: optuna.trial.FrozenTrial) -> Record:
    found: Record = json.loads("".join(attributes.stored_chunks(trial)))
    return found


def places(data: Any, path: Path = ()) -> Iterator[Path]:
    """Return the ways to everything in a record, and to two elements of every list."""
    yield path
    if isinstance(data, dict):
        for key in data:
            yield from places(data[key], (*path, key))
    elif isinstance(data, list):
        for i in sorted({0, len(data) - 1} & set(range(len(data)))):
            yield from places(data[i], (*path, i))


def spoil(data: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


@functools.cache
def merged(name: str) -> Record:
    """Return the newest entry under every key of the records, and the parameters, as one."""
    newest: Record = {}
    for trial in played(name):
        if attributes.stored_chunks(trial):
            newest |= fields_of(trial)["record"] or {}
    return newest


@functools.cache
def ways(name: str) -> dict[str, dict[Path, list[Path]]]:
    """Return for every key all places below it, those that differ in indices only together."""
    found: dict[str, dict[Path, list[Path]]] = {}
    for path in places(merged(name)):
        if path:
            kind = tuple(part for part in path if isinstance(part, str))
            found.setdefault(path[0], {}).setdefault(kind, []).append(path)
    return found


@pytest.mark.parametrize("name", list(EVERY))
def test_no_record_makes_a_later_trial_random(name: str) -> None:
    """The last trial has all entries, each of which is spoiled at one place."""

    @settings(
        max_examples=N_EXAMPLES or affordable(8, 2),
        derandomize=not N_EXAMPLES,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        trials = copy.deepcopy(played(name))
        fields = fields_of(trials[-1])
        fields["record"] = copy.deepcopy(merged(name))
        for kinds in ways(name).values():
            paths = kinds[data.draw(st.sampled_from(sorted(kinds)))]
            value = HOSTILE[data.draw(st.sampled_from(sorted(HOSTILE)))]
            spoil(fields["record"], data.draw(st.sampled_from(paths)), copy.deepcopy(value))
        text = json.dumps(fields)
        if data.draw(st.integers(0, 19)) == 0:
            text = text.replace("0", data.draw(st.sampled_from(WHOLE)), 1)
        trials[-1].system_attrs = {"hdbo:suggestion:0": text}
        go_on(EVERY[name](**SETTINGS), trials, objective)

    run()
