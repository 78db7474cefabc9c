"""Figures and what they hold, and reports that leave a study's own notes alone."""

from __future__ import annotations

import builtins
import json
from typing import Any

import optuna
import pytest
from test_structure import add
from test_structure import attributes

from optuna_hdbo import VSBOSampler
from optuna_hdbo import visualization


pytest.importorskip("plotly")


FIT: dict[str, Any] = {
    "n": 2,
    "cycle": 0,
    "log_likelihood": -1.0,
    "kind": "matern52",
    "groups": [["a", "b"], ["c"]],
    "lengthscales": [0.5, 0.25, 2.0],
    "scales": [0.25, 0.75],
    "noise": 1e-4,
}


@pytest.fixture
def study() -> optuna.Study:
    study = optuna.create_study()
    add(study, attributes({"selection": {"n": 1, "names": ["b"]}}))
    add(study, {}, value=1.0)
    add(study, attributes({"selection": {"n": 2, "names": ["c", "b"]}, "additive": FIT}))
    return study


def test_selections_are_a_row_per_parameter_and_a_column_per_selection(
    study: optuna.Study,
) -> None:
    (heatmap,) = json.loads(visualization.plot_selections(study).to_json())["data"]
    assert heatmap["x"] == ["0", "2"]
    assert heatmap["y"] == ["c (1 of 2)", "b (2 of 2)"]
    assert heatmap["z"] == [[None, 1], [1, 2]]


def test_importances_are_bars_with_the_longest_on_top(study: optuna.Study) -> None:
    class Known(optuna.importance.BaseImportanceEvaluator):
        def evaluate(self, *args: Any, **settings: Any) -> dict[str, float]:
            return {"c": 3.0, "a": 1.0}

    figure = visualization.plot_importances(study, evaluator=Known())
    (bars,) = json.loads(figure.to_json())["data"]
    assert bars["y"] == ["a", "c"]
    assert bars["x"] == [0.25, 0.75]


def test_groups_are_bars_by_their_share(study: optuna.Study) -> None:
    (bars,) = json.loads(visualization.plot_groups(study).to_json())["data"]
    assert bars["y"] == ["a, b", "c"]
    assert bars["x"] == [0.25, 0.75]


def test_what_was_not_learned_cannot_be_plotted() -> None:
    study = optuna.create_study()
    with pytest.raises(ValueError, match="VSBOSampler"):
        visualization.plot_selections(study)
    with pytest.raises(ValueError, match="AddGPUCBSampler"):
        visualization.plot_groups(study)


@pytest.mark.parametrize("missing", ["plotly", "optuna_dashboard"])
def test_a_missing_package_is_named_with_the_remedy(
    missing: str, study: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__
    monkeypatch.setattr(
        visualization.importlib,
        "import_module",
        lambda name: _raise(name) if name.split(".")[0] == missing else real(name),
    )
    action = visualization.plot_groups if missing == "plotly" else visualization.report
    with pytest.raises(ImportError, match=r"extra \[dashboard\]"):
        action(study)


def _raise(name: str) -> None:
    raise ImportError(name)


def kept_with(study: optuna.Study) -> dict[str, Any]:
    return dict(study._storage.get_study_system_attrs(study._study_id))


def test_a_report_is_saved_twice_under_the_same_ids_and_touches_no_note(
    study: optuna.Study,
) -> None:
    dashboard = pytest.importorskip("optuna_dashboard")
    dashboard.save_note(study, "my own words")
    before = kept_with(study)
    saved = visualization.report(study)
    assert saved == ["hdbo-selections", "hdbo-importances", "hdbo-groups"]
    after = kept_with(study)
    assert {k: after[k] for k in before} == before
    assert visualization.report(study) == saved
    assert kept_with(study).keys() == after.keys()
    assert study.user_attrs == {}


def test_reports_say_what_there_is() -> None:
    pytest.importorskip("optuna_dashboard")
    study = optuna.create_study()
    assert visualization.report(study) == []
    study.add_trial(optuna.trial.create_trial(value=1.0))
    add(study, {}, value=2.0)
    assert visualization.report(study) == ["hdbo-importances"]


def test_a_study_of_the_sampler_reports_its_selections() -> None:
    pytest.importorskip("optuna_dashboard")
    study = optuna.create_study(sampler=VSBOSampler(n_vs=2, n_startup_trials=2, seed=0, n_is=20))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=6)
    assert "hdbo-selections" in visualization.report(study)
