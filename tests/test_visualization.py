"""Figures and what they hold, and reports that leave a study's own notes alone."""

from __future__ import annotations

import builtins
import json
import math
from typing import Any

import optuna
import pytest
from test_explanation import tell
from test_structure import add
from test_structure import attributes

from optuna_hdbo import VSBOSampler
from optuna_hdbo import visualization
from optuna_hdbo._figures import components
from optuna_hdbo._figures.axes import HEIGHT_OF_CARD
from optuna_hdbo._figures.axes import broken
from optuna_hdbo._figures.components import components_figure
from optuna_hdbo._figures.experts import experts_figure
from optuna_hdbo._figures.heat_maps import COLOURS
from optuna_hdbo._figures.heat_maps import heat_map
from optuna_hdbo.effects import fitted_effects
from optuna_hdbo.interactions import Effect
from optuna_hdbo.interactions import Interaction
from optuna_hdbo.interactions import Interactions
from optuna_hdbo.interactions import interactions_of


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
    assert bars["text"] == ["25.0%", "75.0%"]


def importances_of(shares: dict[str, float]) -> dict[str, Any]:
    class Known(optuna.importance.BaseImportanceEvaluator):
        def evaluate(self, *args: Any, **settings: Any) -> dict[str, float]:
            return shares

    study = optuna.create_study()
    add(study, {}, value=1.0)
    figure: dict[str, Any] = json.loads(
        visualization.plot_importances(study, evaluator=Known()).to_json()
    )
    return figure


def test_every_bar_has_its_name_and_equal_ones_are_in_natural_order() -> None:
    figure = importances_of({"x10": 0.25, "x2": 0.25, "x1": 0.5})
    assert figure["data"][0]["y"] == ["x10", "x2", "x1"]
    assert figure["layout"]["yaxis"]["dtick"] == 1


def test_many_small_importances_share_a_bar() -> None:
    figure = importances_of({f"x{i}": 1.0 for i in range(60)})
    bars = figure["data"][0]
    assert bars["y"][0] == "36 others together"
    assert bars["y"][-1] == "x0"
    assert len(bars["y"]) == 25
    assert sum(bars["x"]) == pytest.approx(1.0)
    assert figure["layout"]["height"] < 800


def test_long_labels_are_broken_between_names() -> None:
    assert broken(["a", "b"]) == "a, b"
    label = ", ".join(f"parameter_{i}" for i in range(5))
    lines = broken(label.split(", ")).split("<br>")
    assert " ".join(lines) == label
    assert len(lines) > 1
    assert max(map(len, lines)) <= 33


@pytest.fixture(scope="module")
def multiplied() -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: (
            t.suggest_float("x10", 0, 1) * t.suggest_float("x2", 0, 1)
            + t.suggest_int("depth", 1, 9)
            + 0.0 * t.suggest_float("dummy", 0, 1)
        ),
        n_trials=60,
    )
    return study


def test_interactions_are_a_heat_map_ordered_by_groups(multiplied: optuna.Study) -> None:
    figure = json.loads(visualization.plot_interactions(multiplied).to_json())
    (cells,) = figure["data"]
    assert figure["layout"]["xaxis"]["ticktext"] == ["x2", "x10", "depth", "dummy"]
    assert figure["layout"]["yaxis"]["ticktext"][-1].startswith("dummy")
    strong, early = list(COLOURS).index("strong"), list(COLOURS).index("too early to say")
    assert cells["z"][0][1] == cells["z"][1][0] == strong
    assert max(cells["z"][0][2:] + cells["z"][2][3:]) <= early
    assert [cells["z"][i][i] for i in range(4)] == [None] * 4
    assert "x2 and x10: strong" in cells["customdata"][0][1].replace("x10 and x2", "x2 and x10")
    assert figure["layout"]["title"]["text"].startswith("x2 and x10 interact")


@pytest.mark.parametrize(("suffix", "angle"), [("", 0), (".learning_rate_multiplier", -90)])
def test_names_that_are_wider_than_a_cell_are_upright(suffix: str, angle: int) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: math.prod(t.suggest_float(f"layer_{i}{suffix}", 0, 1) for i in range(3)),
        n_trials=30,
    )
    axis = json.loads(visualization.plot_interactions(study).to_json())["layout"]["xaxis"]
    assert axis["tickangle"] == angle
    assert len(set(axis["ticktext"])) == 3
    assert all(text.startswith("layer_") and len(text) <= 26 for text in axis["ticktext"])


def test_inert_parameters_are_not_shown_among_many() -> None:
    pairs = tuple(
        Interaction((f"x{i}", f"x{j}"), "none", 0.0, -1.0, 0.0, 50)
        for i in range(30)
        for j in range(i)
    )
    effects = tuple(Effect(f"x{i}", "inert" if i > 2 else "matters", 0.0, 0.0) for i in range(30))
    figure = heat_map(Interactions(pairs, effects, (("x2",), ("x0",), ("x1",)), {}, 0.0, 50))
    assert figure["layout"]["xaxis"]["ticktext"] == ["x0", "x1", "x2"]
    assert figure["layout"]["title"]["text"].endswith("27 parameters are not shown.")


def test_the_figures_of_a_report_fit_the_dashboard(
    multiplied: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(components, "N_COLUMNS", 1)
    fitted = fitted_effects(multiplied)
    told = interactions_of(fitted)
    assert components_figure(fitted, told)["layout"]["height"] > HEIGHT_OF_CARD
    assert components_figure(fitted, told, low=True)["layout"]["height"] <= HEIGHT_OF_CARD
    saved: list[Any] = []
    dashboard = pytest.importorskip("optuna_dashboard")
    monkeypatch.setattr(
        dashboard, "save_plotly_graph_object", lambda _, figure, **__: saved.append(figure)
    )
    names = visualization.report(multiplied)
    assert len(saved) == len(names) == 4
    assert all((figure.layout.height or 0) <= HEIGHT_OF_CARD for figure in saved)


def test_a_single_parameter_has_no_interactions() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=5)
    with pytest.raises(ValueError, match=r"^study must have two parameters"):
        visualization.plot_interactions(study)


def test_a_report_has_the_interactions(multiplied: optuna.Study) -> None:
    pytest.importorskip("optuna_dashboard")
    assert visualization.report(multiplied) == [
        "hdbo-interactions",
        "hdbo-components",
        "hdbo-calibration",
        "hdbo-importances",
    ]


def test_several_objectives_have_no_report() -> None:
    pytest.importorskip("optuna_dashboard")
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match=r"study must have a single objective.* has 2"):
        visualization.report(study)


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
    figures = ("interactions", "components", "calibration", "importances", "groups")
    assert saved == ["hdbo-selections", *(f"hdbo-{name}" for name in figures)]
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


@pytest.fixture
def asked() -> optuna.Study:
    study = optuna.create_study()
    tell(study, 3.0)
    tell(study, 2.0, "tree", report={"predicted": 2.5, "std": 0.5})
    tell(study, 2.0, "local", {"query": "refine"})
    tell(study, None, "tree", {"query": "elsewhere"}, state=optuna.trial.TrialState.FAIL)
    tell(study, 4.0, system_attrs={"fixed_params": {"x": 1.0}})
    tell(study, 1.0, "tree")
    return study


def test_experts_are_rows_with_a_dot_per_trial(asked: optuna.Study) -> None:
    figure = json.loads(visualization.plot_experts(asked).to_json())
    rows = [label.split("<br>") for label in figure["layout"]["yaxis2"]["ticktext"]]
    assert [name for name, _ in rows] == ["local", "tree", "no expert", "enqueued"]
    assert "3 trials, 2 improved" in rows[1][1]
    dots = {t["name"]: t for t in figure["data"] if t.get("yaxis") == "y2"}
    assert {name: list(zip(t["x"], t["y"], strict=True)) for name, t in dots.items()} == {
        "refinement of the best point": [(2, 0)],
        "far from all points": [(3, 1)],
        "no expert": [(4, 3)],
        "improvement": [(0, 2), (1, 1), (5, 1)],
    }
    assert dots["improvement"]["text"][1] == (
        "trial 1, tree: value 2<br>expected 2.5, standard deviation 0.5"
    )
    assert "fail" in dots["far from all points"]["text"][0]


def test_points_far_from_pending_ones_have_a_mark_of_their_own(asked: optuna.Study) -> None:
    tell(asked, 5.0, "local", {"query": "pending"})
    (dots,) = (t for t in experts_figure(asked)["data"] if t["name"] == "far from pending points")
    assert (dots["x"], dots["y"]) == ([6], [0])


def test_every_expert_has_room_for_its_label(asked: optuna.Study) -> None:
    tell(asked, 5.0, "global")
    tell(asked, 5.0, "groups")
    tell(asked, 5.0, "quadratic")
    layout = experts_figure(asked)["layout"]
    low, high = layout["yaxis2"]["domain"]
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    n_rows = len(layout["yaxis2"]["ticktext"])
    assert n_rows == 7
    assert (high - low) * inner / n_rows >= 33
    card = experts_figure(asked, low=True)["layout"]
    assert card["height"] == HEIGHT_OF_CARD
    assert not any("<br>" in label for label in card["yaxis2"]["ticktext"])


def test_the_best_value_is_a_line_above_the_experts(asked: optuna.Study) -> None:
    figure = json.loads(visualization.plot_experts(asked).to_json())
    values, best = figure["data"][:2]
    assert values["x"] == best["x"] == [0, 1, 2, 4, 5]
    assert values["y"] == [3.0, 2.0, 2.0, 4.0, 1.0]
    assert best["y"] == [3.0, 2.0, 2.0, 2.0, 1.0]
    low, high = figure["layout"]["yaxis"]["range"]
    assert low < 1.0
    assert high > 3.0
    assert figure["layout"]["yaxis"]["domain"][0] > figure["layout"]["yaxis2"]["domain"][1]


@pytest.mark.parametrize(
    ("first", "last", "direction", "logarithmic"),
    [
        (1e4, 1.0, "minimize", True),
        (10.0, 1.0, "minimize", False),
        (1e4, -1.0, "minimize", False),
        (1.0, 1e4, "maximize", True),
    ],
)
def test_values_of_many_magnitudes_have_a_logarithmic_axis(
    first: float, last: float, direction: str, logarithmic: bool
) -> None:
    study = optuna.create_study(direction=direction)
    tell(study, first)
    tell(study, last, "tree")
    axis = json.loads(visualization.plot_experts(study).to_json())["layout"]["yaxis"]
    assert (axis.get("type") == "log") == logarithmic


def test_very_poor_values_do_not_flatten_the_figure() -> None:
    study = optuna.create_study()
    for i in range(40):
        tell(study, 1e9 if i in (7, 9) else -float(i), "tree")
    axis = json.loads(visualization.plot_experts(study).to_json())["layout"]["yaxis"]
    assert axis["range"][1] < 10.0


def test_experts_without_a_value_can_be_plotted() -> None:
    study = optuna.create_study()
    tell(study, None, "tree", state=optuna.trial.TrialState.RUNNING)
    assert len(visualization.plot_experts(study).data) == 3


def test_studies_without_experts_are_refused(study: optuna.Study) -> None:
    startup = optuna.create_study()
    tell(startup, 1.0)
    for other in (study, startup, optuna.create_study()):
        with pytest.raises(ValueError, match="HDBOSampler"):
            visualization.plot_experts(other)


def test_a_report_has_the_experts(asked: optuna.Study) -> None:
    pytest.importorskip("optuna_dashboard")
    assert visualization.report(asked)[0] == "hdbo-experts"


def test_the_best_value_is_that_of_feasible_trials(asked: optuna.Study) -> None:
    study = optuna.create_study()
    tell(study, 0.0, "tree", system_attrs={"constraints": (1.0,)})
    assert visualization.plot_experts(study).data[1].y == ()
    study.add_trials(asked.trials)
    line = visualization.plot_experts(study).data[1]
    assert (line.x[0], line.y) == (1, (3.0, 2.0, 2.0, 2.0, 1.0))
