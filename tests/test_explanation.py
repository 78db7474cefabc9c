"""Studies in words: whose point, what was expected, what came of it, from untrusted storages."""

from __future__ import annotations

import copy
import datetime
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import TrialState
from test_structure import attributes

from optuna_hdbo import HDBOSampler
from optuna_hdbo import explain
from optuna_hdbo import visualization
from optuna_hdbo._core.models.ensemble import LEAST_POOLED
from optuna_hdbo._story import opinions
from optuna_hdbo._story.trial import WORDS
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.hdbo import SIDE
from optuna_hdbo.portfolio.searches.restart import KEY as RESTART


SPACE: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0.0, 10.0),
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "n": IntDistribution(1, 10),
    "kind": CategoricalDistribution(["a", "b"]),
}
START = {"x": 5.0, "rate": 1e-2, "n": 5, "kind": "a"}


def tell(
    study: optuna.Study,
    value: float | None,
    expert: str | None = None,
    record: Any = None,
    report: Any = None,
    state: TrialState = TrialState.COMPLETE,
    system_attrs: Any = None,
    **params: Any,
) -> None:
    """Add a trial of an expert, or a random one without any."""
    method = None if expert is None else "hdbo"
    data = None if expert is None else {"expert": expert, "query": "search", **(record or {})}
    study.add_trial(
        optuna.trial.create_trial(
            state=state,
            value=value,
            params={**START, **params},
            distributions=SPACE,
            system_attrs={**attributes(data, method=method), **(system_attrs or {})},
            user_attrs={f"hdbo:{k}": v for k, v in (report or {}).items()},
        )
    )


@pytest.fixture
def study() -> optuna.Study:
    study = optuna.create_study(study_name="tuning")
    tell(study, 3.0)
    tell(study, 2.0)
    credits = {"local": 0.5, "tree": 0.25, "nobody": 0.9, "global": "much"}
    report = {"predicted": 1.0, "std": 0.25, "region_length": 0.4}
    tell(
        study,
        1.5,
        "local",
        {"credits": credits},
        report,
        x=7.0,
        rate=1e-3,
        kind="b",
    )
    return study


def test_every_expert_has_words() -> None:
    assert set(WORDS) == set(EXPERTS)


def test_a_trial_of_an_expert(study: optuna.Study) -> None:
    found = explain(study, 2)
    assert found.trial == 2
    assert str(found).splitlines() == [
        "Trial 2 was suggested by the expert 'local' (a trust region around the best trial).",
        "It searched for a better point.",
        "The expert expected a value of 1, with a standard deviation of 0.25. The value is 1.5: "
        "2.0 standard deviations worse than expected, a surprise.",
        "The best trial then was 1 with 2; this one is better than all before. "
        "What changed most against it:",
        "  kind: 'a' -> 'b'",
        "  rate: 0.01 -> 0.001 (-25% of its range)",
        "  x: 5 -> 7 (+20% of its range)",
        "  1 other parameter moved by at most 1% of the range.",
        "Expected rates of success at that time: local 50%, tree 25%.",
    ]
    assert found.facts["error"] == 2.0
    assert found.facts["best_then"] == 1
    assert found.facts["credits"] == {"local": 0.5, "tree": 0.25}
    assert found.facts["moves"] == pytest.approx({"x": 0.2, "rate": -0.25, "n": 0.0, "kind": 1.0})
    json.dumps(found.facts, allow_nan=False)


def test_what_was_expected_of_another_point_is_no_error() -> None:
    study = optuna.create_study(sampler=HDBOSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=14)

    def moved(trial: optuna.Trial) -> float:
        return sum(trial.suggest_float(name, 7.0, 9.0) for name in "xy")

    study.optimize(moved, n_trials=1)
    assert "hdbo:predicted" in study.trials[-1].user_attrs
    facts = explain(study, 14).facts
    assert facts["predicted"] is facts["error"] is None
    assert explain(study, 13).facts["predicted"] is not None


def test_what_is_better_depends_on_the_direction() -> None:
    study = optuna.create_study(direction="maximize")
    tell(study, 3.0)
    tell(study, 3.5, "tree", report={"predicted": 1.0, "std": 1.0})
    text = str(explain(study, 1))
    assert "2.5 standard deviations better than expected" in text
    assert "better than all before" in text


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (1.2, "0.2 standard deviations worse than expected, a small error"),
        (0.0, "1.0 standard deviations better than expected, a small error"),
        (2.5, "1.5 standard deviations worse than expected, an ordinary error"),
        (-1.5, "2.5 standard deviations better than expected, a surprise"),
        (9.0, "8.0 standard deviations worse than expected, far more than chance"),
    ],
)
def test_errors_have_names(value: float, word: str, study: optuna.Study) -> None:
    tell(study, value, "global", report={"predicted": 1.0, "std": 1.0})
    assert word in str(explain(study, 3))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("search", "searched"),
        ("refine", "It refined"),
        (
            "elsewhere",
            "too often, or asked for points that others evaluated; so this is the furthest",
        ),
        ("pending", "All experts asked for points that others evaluated; so this is the furthest"),
        ({}, ""),
    ],
)
def test_kinds_of_queries(kind: Any, words: str, study: optuna.Study) -> None:
    tell(study, 1.0, "tree", {"query": kind})
    assert words in str(explain(study, 3))
    assert explain(study, 3).facts["query"] == (kind if words else None)


def test_a_search_that_began_afresh_is_named(study: optuna.Study) -> None:
    tell(study, 1.0, "local", {"query": "search"}, report={"restart": 2})
    assert "It did so in a search that began afresh at trial 2." in str(explain(study, 3))
    tell(study, 1.0, "local", {"query": "search"})
    assert "afresh" not in str(explain(study, 4))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (TrialState.FAIL, "It failed"),
        (TrialState.RUNNING, "still running"),
        (TrialState.WAITING, "waits to be run"),
        (TrialState.PRUNED, "It was pruned."),
    ],
)
def test_trials_without_a_value(state: TrialState, words: str, study: optuna.Study) -> None:
    tell(study, None, "tree", report={"predicted": 1.0, "std": 1.0}, state=state)
    found = explain(study, 3)
    assert words in str(found)
    assert "expected a value of 1" in str(found)
    assert (found.facts["value"], found.facts["error"]) == (None, None)


def test_points_that_no_expert_suggested(study: optuna.Study) -> None:
    assert "Trial 0 is a startup trial" in str(explain(study, 0))
    tell(study, 1.0)  # the sampler falls back on a random point
    assert "no expert could compute" in str(explain(study, 3))
    tell(study, 1.0, "tree", system_attrs={"fixed_params": {"x": 1.0}})
    assert "was enqueued" in str(explain(study, 4))
    assert explain(study, 4).facts["expert"] is None
    study.add_trial(optuna.trial.create_trial(value=1.0, params=START, distributions=SPACE))
    assert "by no expert" in str(explain(study, 5))
    study.enqueue_trial({"x": 2.0})
    assert "was enqueued" in str(explain(study, 6))
    assert "waits to be run" in str(explain(study, 6))


def test_the_best_trial_is_the_one_that_was_known_then(study: optuna.Study) -> None:
    trials = copy.deepcopy(study.trials)
    assert trials[2].datetime_start is not None
    trials[1].datetime_complete = trials[2].datetime_start + datetime.timedelta(seconds=1)
    other = optuna.create_study()
    other.add_trials(trials)
    assert explain(other, 2).facts["best_then"] == 0  # trial 1 was not finished
    assert explain(study, 2).facts["best_then"] == 1


def test_the_story_of_a_study(study: optuna.Study) -> None:
    evidence = "plain:dimension-scaled:warped:evidence"
    report = {"predicted": 1.0, "std": 1.0}
    tell(study, 1.25, "tree", {evidence: [3.0, 0.0, 0.0]}, report)
    record = {"plain:inverse-square:evidence": [-1.0, 0.0, 0.0]}
    tell(study, 1.75, "tree", record, {"predicted": 0.0, "std": 1.0})  # off by 1.75: covered
    tell(study, None, "local", {evidence: [7.5, 0.0, 0.0]}, state=TrialState.FAIL)
    found = explain(study)
    assert found.trial is None
    assert str(found).splitlines() == [
        "Study 'tuning' has 6 trials: 4 suggested by experts, 2 drawn at random.",
        "  expert     trials  improvements",
        "  local           2             1",
        "  tree            2             1",
        "Last improvements, the latest first: trial 3 (tree), trial 2 (local), trial 1 (random).",
        "The study still improves: 3 of the last 6 finished trials improved on all before.",
        "1 trial failed. Its parameters do not tell why.",
        "2 of 3 values (67%) lie within 1.96 standard deviations of what the expert expected; "
        "honest intervals hold 95 %.",
        "The trust region is 0.4 times as wide as the ranges now.",
        "Beliefs of the global expert with the most evidence: few parameters matter, warped "
        "values (+7.5 nats); all parameters matter (-1.0 nats).",
    ]
    assert (found.facts["n_intervals"], found.facts["n_covered"]) == (3, 2)
    json.dumps(found.facts, allow_nan=False)


def test_a_study_that_avoids_failures(study: optuna.Study) -> None:
    assert "failed" not in str(explain(study))
    tell(study, None, "global", {"failures:inverse-square": []}, state=TrialState.PRUNED)
    tell(study, None, "global", state=TrialState.FAIL)
    found = explain(study)
    assert (found.facts["n_failed"], found.facts["avoids_failures"]) == (2, True)
    assert "\n2 trials failed. The models avoid points where that is likely.\n" in str(found)


def test_outliers_are_named(study: optuna.Study) -> None:
    for numbers in ([9], [], [1, 0, 5]):
        tell(study, 5.0, "global", {"outliers": {"n": 40, "numbers": numbers}})
        found = explain(study)
        assert found.facts["outliers"] == numbers
        assert ("leave out" in str(found)) == bool(numbers)
    sentence = (
        "Models leave out the values of 3 trials, which are far worse than the others suggest"
    )
    assert f"\n{sentence}: 1, 0, 5.\n" in str(found)
    tell(study, 5.0, "global", {"outliers": {"n": 80, "numbers": list(range(30))}})
    assert "suggest: ..., 20, 21, 22, 23, 24, 25, 26, 27, 28, 29." in str(explain(study))


def test_values_that_their_repeats_refute_are_named(study: optuna.Study) -> None:
    assert explain(study).facts["lucky"] == []
    tell(study, 5.0, "global", {"lucky": {"n": 40, "numbers": [3, 7]}})
    found = explain(study)
    assert found.facts["lucky"] == [3, 7]
    sentence = "Models leave out the values of 2 trials, which are far better than those of all"
    assert f"\n{sentence} repeats: 3, 7.\n" in str(found)


def test_bent_parameters_are_named(study: optuna.Study) -> None:
    for bends in ({"x": 2, "y": -1}, {}, {"y": -2}):
        tell(study, 5.0, "global", {"scales": {"n": 40, "bends": bends}})
        found = explain(study)
        assert found.facts["bends"] == bends
        text = str(found)
        assert ("The low end of 'x' is stretched, as on a log scale." in text) == ("x" in bends)
        assert ("The high end of 'y' is stretched, as on a log scale." in text) == ("y" in bends)


def test_a_study_that_no_longer_improves(study: optuna.Study) -> None:
    for _ in range(20):
        tell(study, 5.0, "global")
    assert "no longer improves: none of the last 20 finished trials did" in str(explain(study))


def test_infeasible_trials_improve_nothing(study: optuna.Study) -> None:
    tell(study, 0.0, "tree", system_attrs={"constraints": (1.0,)})
    assert explain(study).facts["experts"]["tree"]["improvements"] == 0


def test_a_study_without_feasible_trials() -> None:
    study = optuna.create_study()
    tell(study, 0.0, "tree", system_attrs={"constraints": (1.0,)})
    tell(study, 0.0, "tree", system_attrs={"constraints": (2.0,)})
    assert "\nNo trial with a value is feasible yet." in str(explain(study))


def test_the_first_value_is_no_improvement() -> None:
    study = optuna.create_study()
    for value in (1.0, 2.0, 1.5):
        tell(study, value, "tree")
    assert "None of the last 3 finished trials improved on all before." in str(explain(study))


def test_the_region_is_not_that_of_a_box_or_of_a_search_afresh(study: optuna.Study) -> None:
    length = explain(study).facts["region_length"]
    assert length is not None
    for apart in ({SIDE: 0.25}, {RESTART: 2.0}):
        tell(study, 9.0, "local", report={"region_length": length / 2, **apart})
        assert explain(study).facts["region_length"] == length
    tell(study, 9.0, "local", report={"region_length": 1.6})
    assert "The trust region is at least as wide as the ranges now." in str(explain(study))


@pytest.mark.parametrize("enqueued", [{"x": 0.5}, {"other": 1.0}, ["x"]])
def test_parameters_beside_enqueued_ones_are_not_the_users(
    enqueued: object, study: optuna.Study
) -> None:
    tell(study, 9.0, "local", system_attrs={"fixed_params": enqueued})
    told = str(explain(study, len(study.trials) - 1))
    named = "'x'" if enqueued == {"x": 0.5} else "no parameter that it has"
    assert f"was enqueued with {named}. The other values were suggested or sampled." in told


def test_where_all_trials_failed_nobody_was_asked() -> None:
    study = optuna.create_study(sampler=HDBOSampler(seed=0))

    def fails(trial: optuna.Trial) -> float:
        raise RuntimeError(str(trial.suggest_float("x", 0, 1)))

    study.optimize(fails, n_trials=3, catch=(RuntimeError,))
    with pytest.raises(ValueError, match="must have a trial that is complete, or that was"):
        explain(study)


def test_a_study_of_the_sampler_is_not_said_to_be_anothers() -> None:
    def stopped(trial: optuna.Trial) -> float:
        raise optuna.TrialPruned(str(trial.suggest_float("x", 0, 1)))

    for objective, words in (
        (stopped, "pruned after a report, but 'tuning' has none among 3"),
        (lambda trial: trial.suggest_float("x", 1, 1), "two values or more, but the 3 trials"),
    ):
        study = optuna.create_study(study_name="tuning", sampler=HDBOSampler(seed=0))
        study.optimize(objective, n_trials=3)
        with pytest.raises(ValueError, match=words):
            explain(study)


@pytest.mark.parametrize("number", [-1, 3, "1", 1.5, True])
def test_a_trial_that_is_not_there_is_refused(number: Any, study: optuna.Study) -> None:
    with pytest.raises(ValueError, match="trial_number must be the number of one of the 3"):
        explain(study, number)


def test_studies_of_other_samplers_are_refused_with_the_remedy() -> None:
    for sampler in (optuna.samplers.RandomSampler(seed=0), optuna.samplers.TPESampler(seed=0)):
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
        for number in (None, 1):
            with pytest.raises(ValueError, match=r"sampler=optuna_hdbo\.HDBOSampler\(\)"):
                explain(study, number)
    several = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="single objective"):
        explain(several)


def test_the_first_trial_is_no_samplers_yet() -> None:
    study = optuna.create_study(sampler=HDBOSampler(seed=0))
    study.optimize(bowl, n_trials=1)
    with pytest.raises(ValueError, match="study must have two trials or more"):
        explain(study)
    study.optimize(bowl, n_trials=1)
    assert "No expert has been asked yet" in str(explain(study))
    assert "1 without a suggestion of HDBOSampler, as the first one" in str(explain(study))


def test_a_study_that_is_still_in_its_startup() -> None:
    study = optuna.create_study()
    tell(study, 1.0)
    assert "No expert has been asked yet" in str(explain(study))
    assert "startup trial" in str(explain(study, 0))


HOSTILE: list[Any] = [None, True, "?", [1], {"a": 1}, 10**400, float("nan"), float("inf")]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_what_others_wrote_is_passed_over(value: Any, study: optuna.Study) -> None:
    before = explain(study).facts
    stranger = optuna.trial.create_trial(
        value=4.0,
        params=START,
        distributions=SPACE,
        system_attrs={"hdbo:suggestion:0": value, "fixed_params": {}},
        user_attrs={f"hdbo:{name}": value for name in ("predicted", "std", "region_length")},
    )
    study.add_trial(stranger)
    report = dict.fromkeys(("predicted", "std", "region_length"), value)
    json_value = value if value == value and value not in (float("inf"),) else None
    record = dict.fromkeys(("query", "credits", "plain:inverse-square:evidence"), json_value)
    tell(study, 4.0, "tree", record, report)
    tell(study, 4.0, "tree", {"expert": json_value})
    for number in (3, 4, 5):
        assert str(explain(study, number))
    after = explain(study).facts
    kept = ("n_intervals", "n_covered", "region_length", "beliefs", "last_improvements")
    assert {k: after[k] for k in kept} == {k: before[k] for k in kept}
    # A record with a number beyond floats is ignored as a whole.
    n_read = 0 if value == 10**400 else 1
    assert after["experts"].get("tree", {"trials": 0})["trials"] == n_read


def test_points_at_which_a_search_begins_afresh_are_random_ones() -> None:
    """On a constant objective nothing ever improves."""
    study = optuna.create_study(sampler=HDBOSampler(seed=0, n_startup_trials=3))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 0, n_trials=26)
    began = [t.number for t in study.trials if t.user_attrs.get("hdbo:query") == "restart"]
    assert began
    for number in began:
        found = explain(study, number)
        assert found.facts["origin"] == "random"
        assert found.facts["query"] == "restart"
        assert found.text.startswith(f"Trial {number} comes from no expert.\nA search began")
    origins = explain(study).facts["origins"]
    assert origins["random"] == 2 + len(began)
    assert origins["unknown"] == 1  # the first trial, whose parameters nobody knew before
    afresh = [d for d in visualization.plot_experts(study).data if d.name == "search begun afresh"]
    assert [sorted(d.x) for d in afresh] == [began]


NOISE = np.random.default_rng(0).standard_normal(40)


@pytest.mark.parametrize(("noise", "n_repeats"), [(0.3, 2), (0.0, 1)])
def test_the_best_point_is_repeated_to_see_whether_values_are_noisy(
    noise: float, n_repeats: int
) -> None:
    def waves(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return float(np.sin(300.0 * np.array(x)).sum() + noise * NOISE[trial.number])

    sampler = HDBOSampler(seed=0, n_startup_trials=30, experts=["global"])
    study = optuna.create_study(sampler=sampler)
    study.optimize(waves, n_trials=36)
    again = [t for t in study.trials if t.user_attrs.get("hdbo:query") == "repeat"]
    assert [t.number for t in again] == list(range(31, 31 + n_repeats))
    best = min(study.trials[:31], key=lambda t: t.values)
    for trial in again:
        assert trial.params == pytest.approx(best.params, abs=2e-5)
        assert trial.params != best.params
        found = explain(study, trial.number)
        assert found.facts["origin"] == found.facts["query"] == "repeat"
        assert found.text.startswith(
            f"Trial {trial.number} repeats trial {best.number} to see whether values are noisy.\n"
        )
    assert explain(study).facts["origins"]["repeat"] == n_repeats
    assert f"{n_repeats} repeated to see whether values are noisy" in explain(study).text
    names = {d.name: list(d.x) for d in visualization.plot_experts(study).data}
    worse = [t.number for t in again if t.value > best.value]
    assert names.get("repeat of a trial", []) == worse


@pytest.mark.parametrize("number", [None, "0", -1, True])
def test_a_repeat_of_nobody_knows_what(number: Any, study: optuna.Study) -> None:
    study.add_trial(
        optuna.trial.create_trial(
            value=1.0,
            params=START,
            distributions=SPACE,
            system_attrs=attributes({"query": "repeat", "repeated": number}, method="hdbo"),
        )
    )
    assert str(explain(study, 3)).startswith("Trial 3 repeats an earlier trial to see")


def test_a_study_of_the_sampler_explains_itself(storage: optuna.storages.BaseStorage) -> None:
    sampler = HDBOSampler(seed=0, n_startup_trials=3, experts=["local", "tree"])
    study = optuna.create_study(sampler=sampler, storage=storage, study_name="tuning")
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1) ** 2 + trial.suggest_float("y", 0, 1),
        n_trials=6,
    )
    before = copy.deepcopy(study.trials)
    facts = [explain(study, trial.number).facts for trial in study.trials]
    assert [f["origin"] for f in facts] == ["unknown", *["random"] * 2, *["expert"] * 3]
    for trial, fact in zip(study.trials[3:], facts[3:], strict=True):
        assert fact["expert"] == trial.user_attrs["hdbo:expert"]
        assert fact["query"] == trial.user_attrs["hdbo:query"]
        assert set(fact["credits"]) == {"local", "tree"}
    assert sum(e["trials"] for e in explain(study).facts["experts"].values()) == 3
    assert study.trials == before


def bowl(trial: optuna.Trial) -> float:
    x, n = trial.suggest_float("x", -1, 1), trial.suggest_int("n", 1, 9)
    return float(10.0 * x**2 + n + (trial.suggest_categorical("kind", ["a", "b"]) == "a"))


def test_opinions_are_those_of_the_trials_known_then() -> None:
    study = optuna.create_study(sampler=HDBOSampler(seed=0))
    study.optimize(bowl, n_trials=24)
    found = explain(study, 22)
    then = found.facts["opinions"]
    assert len(then) == 6
    assert "from the trials known then:\n  " in str(found)
    value = study.trials[22].value
    assert value is not None
    close = [abs(mean - value) < 3.0 * std + 0.5 for mean, std in then.values()]
    assert sum(close) >= 5
    # Later trials do not matter, trials that were under way do not either, known ones do.
    again = optuna.create_study(sampler=HDBOSampler(seed=0))
    for trial in study.trials:
        changed = copy.deepcopy(trial)
        changed.value = -100.0 if trial.number > 22 else trial.value
        again.add_trial(changed)
    assert explain(again, 22).facts["opinions"] == then
    parallel = optuna.create_study(sampler=HDBOSampler(seed=0))
    for trial in study.trials:
        changed = copy.deepcopy(trial)
        if trial.number == 21:
            changed.value, changed.datetime_complete = -100.0, study.trials[23].datetime_complete
        parallel.add_trial(changed)
    without = explain(parallel, 22).facts["opinions"]
    assert without != then
    assert all(mean > -20.0 for mean, _ in without.values())


def test_opinions_follow_the_direction_and_need_data() -> None:
    means = []
    for direction, sign in (("minimize", 1.0), ("maximize", -1.0)):
        study = optuna.create_study(direction=direction, sampler=HDBOSampler(seed=0))
        study.optimize(lambda trial, sign=sign: sign * bowl(trial), n_trials=14)
        means.append([sign * mean for mean, _ in explain(study, 13).facts["opinions"].values()])
        assert explain(study, 2).facts["opinions"] == {}
        assert "known then:" not in str(explain(study, 2))
    assert means[0] == pytest.approx(means[1])


def opinions_if(value: Callable[[float], float]) -> dict[str, list[float]]:
    """Return the opinions of a trial close to the optimum, of a function of a study's values."""
    study, told = (optuna.create_study(sampler=HDBOSampler(seed=0)) for _ in range(2))
    study.optimize(bowl, n_trials=20)
    for trial in study.trials:
        assert trial.value is not None
        changed = copy.deepcopy(trial)
        changed.value = value(trial.value)
        told.add_trial(changed)
    close = max(trial.number for trial in study.trials if (trial.value or 0.0) < 1.001)
    assert close > 15
    found = explain(told, close).facts["opinions"]
    assert isinstance(found, dict)
    assert len(found) == 6
    return found


def test_opinions_are_no_further_apart_than_the_values() -> None:
    """A model that warps three values would undo its standard deviation to 1e10 and more."""
    study = optuna.create_study(sampler=HDBOSampler(seed=0))
    study.optimize(
        lambda t: math.exp(5.0 * t.suggest_float("x", 0, 1)) + t.suggest_float("y", 0, 1),
        n_trials=4,
    )
    found = explain(study, 3).facts["opinions"]
    values = [trial.value for trial in study.trials[:3]]
    assert len(found) == 6
    assert max(std for _, std in found.values()) <= 2.0 * np.ptp(values)


def test_pooled_lengthscales_have_an_opinion() -> None:
    for n_columns in (LEAST_POOLED - 1, LEAST_POOLED):
        study = optuna.create_study(sampler=HDBOSampler(seed=0, experts=["global"]))
        names = [f"x{i}" for i in range(n_columns)]
        study.optimize(lambda t, n=names: sum(t.suggest_float(x, 0, 1) for x in n), n_trials=14)
        opinions, beliefs = explain(study, 13).facts["opinions"], explain(study).facts["beliefs"]
        assert opinions.keys() == beliefs.keys()
        alike = {belief for belief in opinions if "matter alike" in belief}
        assert len(alike) == (2 if n_columns == LEAST_POOLED else 0)


def test_penalties_do_not_spoil_opinions() -> None:
    raised = opinions_if(lambda value: 1e6 if value > 10.0 else value)
    assert all(abs(mean - 1.0) < 0.01 and std < 0.01 for mean, std in raised.values())


def test_opinions_know_of_skewed_values(monkeypatch: pytest.MonkeyPatch) -> None:
    skewed = opinions_if(lambda value: math.exp(value))
    monkeypatch.setattr(opinions, "are_skewed", lambda values: False)
    unaware = opinions_if(lambda value: math.exp(value))
    differ = {belief for belief in skewed if skewed[belief] != unaware[belief]}
    assert differ == {belief for belief in skewed if "warped" in belief}
    assert len(differ) == 3


def test_random_points_for_a_constraint_that_never_held_are_named() -> None:
    study = optuna.create_study(sampler=HDBOSampler(seed=0, n_startup_trials=4))

    def objective(trial: optuna.Trial) -> float:
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [1.0])
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=8)
    assert "2 suggested by experts, 5 drawn at random, 1 without" in str(explain(study))
    assert "never met" in str(explain(study, 7))
