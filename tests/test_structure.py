"""Reading what was learned, from any storage, and from storages that others wrote to."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from fakes import FakeSampler
from fakes import mixed_objective
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import TrialState

from optuna_hdbo import AddGPUCBSampler
from optuna_hdbo import Groups
from optuna_hdbo import HDBOSampler
from optuna_hdbo import get_groups
from optuna_hdbo import get_interactions
from optuna_hdbo._study.attributes import CHUNK_LENGTH
from optuna_hdbo.structure import _sureness


FIT: dict[str, Any] = {
    "n": 30,
    "cycle": 2,
    "log_likelihood": -12.5,
    "kind": "matern52",
    "groups": [["a", "b"], ["c"]],
    "lengthscales": [0.5, 0.25, 2.0],
    "scales": [0.3, 0.9],
    "noise": 1e-4,
}
EXPECTED = Groups((("c",), ("a", "b")), (0.75, 0.25), -12.5, 30)


def attributes(record: Any, **fields: Any) -> dict[str, Any]:
    text = json.dumps({"version": 1, "method": "add-gp-ucb", "params": {}, "record": record})
    text = json.dumps({**json.loads(text), **fields})
    pieces = [text[i : i + CHUNK_LENGTH] for i in range(0, len(text), CHUNK_LENGTH)]
    return {f"hdbo:suggestion:{i}": piece for i, piece in enumerate(pieces)}


def add(study: optuna.Study, system_attrs: dict[str, Any], **settings: Any) -> None:
    names = ("a", "b", "c")
    study.add_trial(
        optuna.trial.create_trial(
            params=dict.fromkeys(names, 0.5),
            distributions=dict.fromkeys(names, FloatDistribution(0, 1)),
            system_attrs=system_attrs,
            **({"value": 0.0} | settings),
        )
    )


@pytest.fixture
def study(storage: optuna.storages.BaseStorage) -> optuna.Study:
    return optuna.create_study(storage=storage, study_name="tuning")


def test_the_largest_share_comes_first(study: optuna.Study) -> None:
    add(study, attributes({"additive": FIT}))
    found = get_groups(study, source="sampler")
    assert found.groups == EXPECTED.groups
    assert found.shares == pytest.approx(EXPECTED.shares)
    assert (found.log_likelihood, found.n_trials) == (-12.5, 30)


def test_the_latest_trial_that_carries_groups_counts(study: optuna.Study) -> None:
    add(study, attributes({"additive": {**FIT, "n": 10}}))
    add(study, attributes({"additive": FIT}), state=TrialState.FAIL, value=None)
    add(study, attributes({"plain:inverse-square": FIT}))
    add(study, attributes(None, method=None))
    add(study, {})
    assert get_groups(study, source="sampler").n_trials == 30


def test_a_table_for_people() -> None:
    assert str(EXPECTED).splitlines() == [
        "2 groups learned from 30 trials (log likelihood -12.5)",
        " share  parameters",
        " 75.0%  c",
        " 25.0%  a, b",
    ]
    sure = replace(EXPECTED, log_likelihood=None, probabilities=(0.5, 0.995), since=(3, 120))
    assert str(sure).splitlines() == [
        "2 groups learned from 30 trials",
        " share    sure  since trial  parameters",
        " 75.0%   50.0%            3  c",
        " 25.0%   99.5%          120  a, b",
    ]


def test_groups_have_stood_since_they_are_in_every_record(study: optuna.Study) -> None:
    other = {**FIT, "groups": [["a", "c"], ["b"]]}
    for fit in (FIT, other, {**FIT, "groups": [["b", "a"], ["c"]]}, FIT):
        add(study, attributes({"additive": fit}))
    assert get_groups(study, source="sampler").since == (2, 2)
    add(
        study,
        attributes({"additive": {**FIT, "groups": [["a"], ["b"], ["c"]], "scales": [1] * 3}}),
    )
    assert get_groups(study, source="sampler").since == (4, 4, 2)


@pytest.fixture(scope="module")
def sum_with_a_product() -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        a, b, c, _ = (trial.suggest_float(name, -1, 1) for name in "abcd")
        return a * b + 0.4 * c

    study.optimize(objective, n_trials=60)
    return study


def test_groups_are_learned_from_the_trials_of_any_sampler(
    sum_with_a_product: optuna.Study,
) -> None:
    found = get_groups(sum_with_a_product)
    assert found.groups[0] == ("a", "b")
    assert ("c",) in found.groups
    assert found.groups == get_interactions(sum_with_a_product).groups
    # Over [-1, 1], a b has variance 1 / 9, and 0.4 c has 0.16 / 3.
    assert found.shares[0] == pytest.approx((1 / 9) / (1 / 9 + 0.16 / 3), abs=0.05)
    assert found.probabilities[0] > 0.95
    assert found.since[0] in (14, 29, 44)
    assert (found.n_trials, found.log_likelihood) == (60, None)
    with pytest.raises(ValueError, match="source must be"):
        get_groups(sum_with_a_product, source="storage")  # type: ignore[arg-type]


def test_a_group_is_as_sure_as_its_weakest_link() -> None:
    pairs = {"ab": 0.9, "bc": 0.8, "ac": 0.1, "ad": 0.05, "bd": 0.3, "cd": 0.0}
    probability = {frozenset(pair): p for pair, p in pairs.items()}
    assert _sureness(("a", "b", "c"), probability) == pytest.approx(0.7)
    assert _sureness(("a", "b"), probability) == pytest.approx(0.2)
    assert _sureness(("d",), probability) == pytest.approx(0.7)
    assert _sureness(("a",), {}) == 1.0


def test_groups_are_learned_where_early_trials_did_not_vary() -> None:
    study = optuna.create_study()
    for i in range(40):
        low = IntDistribution(1, 1 if i < 12 else 5)
        value = 1 if i < 12 else i % 5 + 1
        study.add_trial(
            optuna.create_trial(params={"n": value}, distributions={"n": low}, value=float(value))
        )
    assert get_groups(study).groups == (("n",),)


def test_groups_of_several_objectives_are_refused_with_the_remedy() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match=r"single objective.* has 2\..*get_interactions\(study"):
        get_groups(study)


@pytest.mark.parametrize("n_trials", [0, 3])
def test_a_study_without_groups_is_refused(study: optuna.Study, n_trials: int) -> None:
    study.sampler = FakeSampler(seed=0)
    study.optimize(mixed_objective, n_trials=n_trials)
    with pytest.raises(ValueError, match=f"none of the {n_trials} trials of 'tuning'"):
        get_groups(study, source="sampler")


def test_groups_of_an_expert_are_not_promised_while_its_plain_model_makes_progress() -> None:
    study = optuna.create_study(sampler=HDBOSampler(experts=["groups"], seed=0))
    study.optimize(lambda t: sum(t.suggest_float(n, 0, 1) for n in "abc"), n_trials=12)
    assert study.trials[-1].user_attrs["hdbo:expert"] == "groups"
    said = (
        "HDBOSampler .* 'groups' is asked and that one's plain model has stopped making progress"
    )
    with pytest.raises(ValueError, match=said):
        get_groups(study, source="sampler")


HOSTILE: list[Any] = [
    None,
    7,
    "additive",
    [],
    {},
    {**FIT, "groups": "abc"},
    {**FIT, "groups": ["ab", "c"]},
    {**FIT, "groups": {"a": 1}},
    {**FIT, "groups": []},
    {**FIT, "groups": [["a", "b"], []]},
    {**FIT, "groups": [["a", "b"], ["a"]]},
    {**FIT, "groups": [["a", "b"], [["c"]]]},
    {**FIT, "groups": [["a", "b"], [None]]},
    {**FIT, "groups": [["a", "b"], ["not a parameter"]]},
    {**FIT, "scales": [0.3]},
    {**FIT, "scales": [0.3, -0.9]},
    {**FIT, "scales": [0.3, 10**400]},
    {**FIT, "scales": [0.3, "much"]},
    {**FIT, "scales": None},
    {**FIT, "lengthscales": [0.5, 0.25]},
    {**FIT, "noise": 0},
    {**FIT, "noise": {}},
    {**FIT, "kind": ["se"]},
    {**FIT, "kind": "periodic"},
    {**FIT, "n": -1},
    {**FIT, "n": "many"},
    {**FIT, "log_likelihood": None},
    {key: value for key, value in FIT.items() if key != "cycle"},
]


@pytest.mark.parametrize("fit", HOSTILE, ids=repr)
def test_what_is_no_fit_is_passed_over(fit: Any) -> None:
    study = optuna.create_study()
    add(study, attributes({"additive": FIT}))
    add(study, attributes({"additive": fit}))
    assert get_groups(study, source="sampler").groups == EXPECTED.groups


HUGE = json.dumps(FIT)
TEXTS = [
    "",
    "{",
    "[" * 100_000,
    "NaN",
    "[]",
    '{"version": 2}',
    '{"version": 1, "params": {}, "record": [], "method": null}',
    *(
        '{"version": 1, "params": {}, "method": "add-gp-ucb", "record": {"additive": '
        + HUGE.replace(old, new)
        + "}}"
        for old, new in [
            ('"n": 30', '"n": 1e999'),
            ('"cycle": 2', '"cycle": 1e999'),
            ("-12.5", "-1e999"),
            ("0.0001", "1e999"),
            ("-12.5", "NaN"),
        ]
    ),
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[-120:])
def test_what_is_no_suggestion_is_passed_over(text: str) -> None:
    study = optuna.create_study()
    add(study, attributes({"additive": FIT}))
    add(study, {"hdbo:suggestion:0": text})
    add(study, {"hdbo:suggestion:0": 3})
    assert get_groups(study, source="sampler").groups == EXPECTED.groups


def test_groups_of_a_running_trial_count() -> None:
    study = optuna.create_study()
    add(study, {})
    trial = study.ask()
    for key, value in attributes({"additive": FIT}).items():
        study._storage.set_trial_system_attr(trial._trial_id, key, value)
    assert get_groups(study, source="sampler").groups == EXPECTED.groups


def test_groups_are_read_and_not_changed() -> None:
    study = optuna.create_study()
    add(study, attributes({"additive": FIT}))
    before = copy.deepcopy(study.trials)
    get_groups(study, source="sampler")
    assert study.trials == before


def test_groups_have_no_share_of_equal_values() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: 3.0 + 0.0 * sum(t.suggest_float(n, 0, 1) for n in "ab"), n_trials=40)
    assert set(get_groups(study).shares) == {0.0}
    assert [effect.main for effect in get_interactions(study).effects] == [0.0, 0.0]


def sampled_at_random(fit: dict[str, Any], n: int = 40) -> optuna.Study:
    """Return a study in which only a and b interact, with the sampler's groups at its end."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
        return math.sin(6 * a * b) + (c - 0.3) ** 2

    study.optimize(objective, n_trials=n)
    add(study, attributes({"additive": fit}), state=TrialState.FAIL, value=None)
    return study


def test_right_groups_of_the_sampler_are_sure() -> None:
    study = sampled_at_random(FIT)
    plain = get_groups(study, source="sampler")
    found = get_groups(study, source="sampler", n_sweeps=5)
    assert plain.probabilities == ()
    assert (found.groups, found.shares) == (plain.groups, plain.shares)
    assert min(found.probabilities) > 0.9
    assert found == get_groups(study, source="sampler", n_sweeps=5)


def test_right_groups_are_sure_where_trials_crowd_around_an_optimum() -> None:
    rng = np.random.default_rng(1)
    study = optuna.create_study()
    for i in range(80):
        x = rng.random(3) if i < 15 else np.clip(rng.normal([0.9, 0.1, 0.6], 0.06), 0.0, 1.0)
        value = 10 * (x[0] - 0.5) * (x[1] - 0.3) + 5 * (x[2] - 0.6) ** 2
        study.add_trial(
            optuna.trial.create_trial(
                params=dict(zip("abc", x.tolist(), strict=True)),
                distributions=dict.fromkeys("abc", FloatDistribution(0, 1)),
                value=value,
            )
        )
    add(study, attributes({"additive": FIT}), state=TrialState.FAIL, value=None)
    assert min(get_groups(study, source="sampler", n_sweeps=20).probabilities) > 0.9


def test_wrong_groups_of_the_sampler_are_unlikely() -> None:
    study = sampled_at_random({**FIT, "groups": [["a", "c"], ["b"]]})
    found = get_groups(study, source="sampler", n_sweeps=20)
    assert max(found.probabilities) < 0.2


def test_groups_without_trials_have_no_probabilities() -> None:
    """Neither have groups of other parameters than those of the trials, or of other ranges."""
    study = optuna.create_study()
    add(study, attributes({"additive": FIT}), state=TrialState.FAIL, value=None)
    assert get_groups(study, source="sampler", n_sweeps=2).probabilities == ()
    study = sampled_at_random(FIT)
    study.add_trial(optuna.trial.create_trial(value=0.0))
    assert get_groups(study, source="sampler", n_sweeps=2).probabilities == ()
    study = sampled_at_random(FIT)
    ranges = {name: optuna.distributions.FloatDistribution(0, 2) for name in "abc"}
    params = dict.fromkeys("abc", 0.5)
    study.add_trial(optuna.trial.create_trial(value=0.0, params=params, distributions=ranges))
    assert get_groups(study, source="sampler", n_sweeps=2).probabilities == ()


def test_sweeps_are_for_the_groups_of_the_sampler() -> None:
    with pytest.raises(ValueError, match=r"^n_sweeps must be 0 with .* but got 3"):
        get_groups(optuna.create_study(), n_sweeps=3)
    with pytest.raises(ValueError, match=r"^n_sweeps must be .* but got -1"):
        get_groups(optuna.create_study(), source="sampler", n_sweeps=-1)


def test_a_learned_study_tells_another_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    sampler = AddGPUCBSampler(
        seed=0, n_startup_trials=8, max_group_size=2, update="all_groups", n_decompositions=4
    )
    study = optuna.create_study(study_name="tuning", storage=url, sampler=sampler)
    study.optimize(
        lambda trial: sum((trial.suggest_float(name, 0, 1) - 0.3) ** 2 for name in "uvwx"),
        n_trials=10,
    )
    here = get_groups(study, source="sampler")
    assert sorted(name for group in here.groups for name in group) == list("uvwx")
    assert max(map(len, here.groups)) <= 2
    assert sum(here.shares) == pytest.approx(1.0)
    assert 8 <= here.n_trials < 10
    script = (
        "import optuna, optuna_hdbo; "
        f"study = optuna.load_study(study_name='tuning', storage={url!r}); "
        "print(optuna_hdbo.get_groups(study, source='sampler'))"
    )
    there = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == str(here)


def test_hand_made_text_is_what_the_sampler_writes() -> None:
    sampler = AddGPUCBSampler(
        seed=0, n_startup_trials=4, update="all_groups", maximiser="gradient", n_decompositions=0
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("a", 0, 1), n_trials=5)
    texts = [v for k, v in study.trials[-1].system_attrs.items() if k == "hdbo:suggestion:0"]
    assert set(json.loads(texts[0])["record"]["additive"]) == set(FIT)
