"""Records that no sampler of this package has written are ignored, once, at little cost."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import optuna
import pytest
from fakes import go_on

import optuna_hdbo
from optuna_hdbo._core.memory import MOST_UNREADABLE
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Record
from optuna_hdbo._study import attributes


def trial_with(text: str) -> optuna.trial.FrozenTrial:
    return optuna.create_trial(value=0.0, system_attrs={"hdbo:suggestion:0": text})


@pytest.mark.parametrize("number", ["9" * 4300, "9" * 400, "-" + "9" * 310, "1e999", "-1e400"])
def test_numbers_that_could_not_be_written_again_are_refused(number: str) -> None:
    text = f'{{"version": 1, "method": null, "params": {{}}, "record": {{"cycle": {number}}}}}'
    with pytest.raises(ValueError, match="beyond floats"):
        attributes.read_suggestion(trial_with(text))


def test_large_integers_of_parameters_are_read() -> None:
    text = f'{{"version": 1, "method": null, "params": {{"n": {10**300}}}, "record": null}}'
    read = attributes.read_suggestion(trial_with(text))
    assert read is not None
    assert read.params == {"n": 10**300}


def test_a_text_much_longer_than_its_parameters_need_is_not_parsed() -> None:
    text = attributes.StoredSuggestion({}, None, {"a": "x" * 200_000}).to_text()
    assert attributes.read_suggestion(trial_with(text)) is not None
    assert attributes.read_suggestion(trial_with(text), 20) is not None
    with pytest.raises(ValueError, match="longer than"):
        attributes.read_suggestion(trial_with(text), 2)


def test_few_entries_that_do_not_parse_are_tried() -> None:
    tried = []

    def parse(data: Any) -> None:
        tried.append(data)

    records = [Record(i, "complete", {"a": i}) for i in range(1000)]
    assert Memory(records).recall("a", parse) is None
    assert tried == list(range(999, 999 - MOST_UNREADABLE, -1))


def test_constraints_beyond_floats() -> None:
    trial = optuna.create_trial(value=0.0, system_attrs={"constraints": [10**400, -(10**400), 1]})
    assert list(attributes.constraints_of(trial).values()) == [math.inf, -math.inf, 1.0]


def objective(trial: optuna.Trial) -> float:
    return sum((trial.suggest_float(f"x{i}", -1, 1) - 0.3) ** 2 for i in range(3))


@pytest.mark.parametrize(
    ("sampler", "key", "value"),
    [
        (optuna_hdbo.GPUCBSampler, "cycle", 10**4299),
        (optuna_hdbo.GPUCBSampler, "cycle", 1e300),
        (optuna_hdbo.GPUCBSampler, "n", 10**300),
        (optuna_hdbo.AddGPUCBSampler.as_published, "cap", [5e-324, 0]),
    ],
    ids=["long-cycle", "float-cycle", "long-n", "tiny-cap"],
)
def test_a_hostile_record_makes_no_trial_random(sampler: Any, key: str, value: Any) -> None:
    """The suite runs in strict mode, in which the method's exception would end the study."""
    study = optuna.create_study(sampler=sampler(seed=0, n_startup_trials=4))
    study.optimize(objective, n_trials=8)
    trials = study.trials
    texts = ["".join(attributes.stored_chunks(trial)) for trial in trials[4:]]
    fields = next(fields for fields in map(json.loads, reversed(texts)) if fields["record"])
    if key == "cap":
        fields["record"]["cap"] = value
    for data in fields["record"].values():
        if isinstance(data, dict) and key in data:
            data[key] = value
    trials[-1].system_attrs = {"hdbo:suggestion:0": json.dumps(fields)}
    go_on(sampler(seed=0, n_startup_trials=4), trials, objective)


def test_constraints_near_the_largest_float_overflow_nowhere(
    recwarn: pytest.WarningsRecorder,
) -> None:
    from optuna_hdbo._core.acquisition.feasibility import merits
    from optuna_hdbo._core.observations import Observations

    seen = Observations(
        X=np.zeros((3, 1)),
        values=np.arange(3.0),
        numbers=np.arange(3),
        pruned=np.zeros(3, np.bool_),
        pending=np.empty((0, 1)),
        constraints=np.full((3, 2), 1e308),
    )
    with np.errstate(all="raise"):
        assert np.isfinite(merits(seen)).all()
    assert not recwarn.list
