"""Curves, contours and predictions as figures show them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import Trial
from test_explanation import tell

from optuna_hdbo import visualization
from optuna_hdbo._figures.axes import MOST_CHOICES_SHOWN
from optuna_hdbo._figures.calibration import SEEN
from optuna_hdbo._figures.calibration import Predictions
from optuna_hdbo._figures.calibration import calibration_figure
from optuna_hdbo._figures.components import MOST_PANELS


pytest.importorskip("plotly")


def drawn(objective: Callable[[Trial], float], n: int) -> dict[str, Any]:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=n)
    figure: dict[str, Any] = json.loads(visualization.plot_components(study).to_json())
    return figure


def mixed(trial: Trial) -> float:
    rate = math.log10(trial.suggest_float("rate", 1e-4, 1.0, log=True))
    depth = trial.suggest_int("depth", 1, 6)
    width = trial.suggest_float("width", 0.0, 1.0)
    kind = trial.suggest_categorical("kind", ["plain", None, "an extraordinarily long choice"])
    return 0.5 * rate**2 + 3.0 * (depth - 3.5) * (width - 0.5) + (kind is None)


@pytest.fixture(scope="module")
def figure() -> dict[str, Any]:
    return drawn(mixed, 80)


def axis_with(figure: dict[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    for key, axis in figure["layout"].items():
        if key.startswith(("xaxis", "yaxis")) and axis.get("title", {}).get("text") == name:
            return key.replace("axis", ""), axis
    raise KeyError(name)


def traces(figure: dict[str, Any], name: str) -> list[dict[str, Any]]:
    reference, _ = axis_with(figure, name)
    return [trace for trace in figure["data"] if trace[f"{reference[0]}axis"] == reference]


def test_a_curve_is_the_effect_in_the_units_of_both(figure: dict[str, Any]) -> None:
    _, axis = axis_with(figure, "rate")
    assert axis["type"] == "log"
    assert axis["range"] == pytest.approx([-4.0, 0.0])
    _, band, curve = traces(figure, "rate")
    x = np.array(curve["x"])
    truth = 0.5 * np.log10(x) ** 2
    truth -= np.mean(0.5 * np.linspace(-4.0, 0.0, 1001) ** 2)
    assert np.abs(np.array(curve["y"]) - truth).max() < 0.15
    half = np.array(curve["customdata"])
    np.testing.assert_allclose(band["y"][: len(x)], np.array(curve["y"]) + half)


def test_choices_have_bars_and_their_names(figure: dict[str, Any]) -> None:
    _, axis = axis_with(figure, "kind")
    assert axis["ticktext"][:2] == ["plain", "None"]
    assert axis["ticktext"][2] == "an extraordi…y long choice"
    dots, means = traces(figure, "kind")
    assert means["x"] == [0.0, 1.0, 2.0]
    assert means["y"] == pytest.approx([-1 / 3, 2 / 3, -1 / 3], abs=0.15)
    assert max(means["error_y"]["array"]) < 0.2
    assert len(dots["x"]) == 80


def test_names_of_more_choices_are_shorter() -> None:
    kinds = [f"a rather long name {i}" for i in range(5)]

    def objective(trial: Trial) -> float:
        return float(kinds.index(trial.suggest_categorical("kind", kinds)))

    _, axis = axis_with(drawn(objective, 30), "kind")
    assert axis["ticktext"] == [f"a rat…name {i}" for i in range(5)]


def test_long_names_that_differ_in_the_middle_look_different() -> None:
    names = [f"some_module.layer_{i}.learning_rate_multiplier" for i in range(2)]
    figure = drawn(lambda t: t.suggest_float(names[0], 0, 1) + t.suggest_float(names[1], 0, 1), 30)
    for i in range(2):
        assert traces(figure, f"…e.layer_{i}.learning_rate_…")


def test_of_many_choices_those_of_most_trials_are_shown() -> None:
    often = [choice for choice in range(40) if choice % 3 == 1]  # 13 of 40

    def objective(trial: Trial) -> float:
        kinds = [f"kind {i}" for i in range(40)]
        kind = trial.suggest_categorical("kind", kinds)
        return float(kinds.index(kind)) + trial.suggest_float("x", 0, 1)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for n in range(120):
        choice = often[n % 13] if n % 4 else n % 40
        study.enqueue_trial({"kind": f"kind {choice}"})
    study.optimize(objective, n_trials=120)
    figure = json.loads(visualization.plot_components(study).to_json())
    _, axis = axis_with(figure, f"kind ({MOST_CHOICES_SHOWN} of 40 choices)")
    dots, means = traces(figure, f"kind ({MOST_CHOICES_SHOWN} of 40 choices)")
    assert len(means["x"]) == len(axis["ticktext"]) == MOST_CHOICES_SHOWN
    assert {f"kind {choice}" for choice in often} <= set(axis["ticktext"])
    of_ticks = [float(text.split()[1]) for text in axis["ticktext"]]
    assert of_ticks == sorted(of_ticks)
    slopes = np.diff(means["y"]) / np.diff(of_ticks)
    assert np.abs(slopes - 1.0).max() < 0.2  # every bar is that of its choice
    for trial, x in zip(study.trials, dots["x"], strict=True):
        text = trial.params["kind"]
        assert (x is None) == (text not in axis["ticktext"])
        assert x is None or axis["ticktext"][round(x)] == text


def test_two_that_interact_have_a_contour(figure: dict[str, Any]) -> None:
    contour, dots = traces(figure, "depth")
    assert contour["type"] == "contour"
    assert contour["x"] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    x, y = np.meshgrid(contour["x"], contour["y"])
    assert np.abs(np.array(contour["z"]) - 3.0 * (x - 3.5) * (y - 0.5)).max() < 0.6
    np.testing.assert_allclose(
        dots["marker"]["color"],
        3.0 * (np.array(dots["x"]) - 3.5) * (np.array(dots["y"]) - 0.5),
        atol=0.6,
    )


def test_the_largest_share_comes_first(figure: dict[str, Any]) -> None:
    shares = [float(a["text"].split("%")[0]) for a in figure["layout"]["annotations"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100.0, abs=1.0)
    assert axis_with(figure, "rate")[0] == "x"


def test_panels_do_not_overlap(figure: dict[str, Any]) -> None:
    layout = figure["layout"]
    boxes = []
    for key in [key for key in layout if key.startswith("xaxis")]:
        x, y = layout[key]["domain"], layout[key.replace("x", "y", 1)]["domain"]
        assert 0.0 <= x[0] < x[1] <= 1.0
        assert 0.0 <= y[0] < y[1] <= 1.0
        boxes.append((x, y))
    for i, (x, y) in enumerate(boxes):
        for other_x, other_y in boxes[:i]:
            apart = x[0] >= other_x[1] or other_x[0] >= x[1]
            assert apart or y[0] >= other_y[1] or other_y[0] >= y[1]


def test_of_many_parameters_the_small_ones_are_left_out() -> None:
    def many(trial: Trial) -> float:
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(30)]
        return sum(math.cos(3.0 * v) * (1.0 + 0.01 * i) for i, v in enumerate(x[:20]))

    figure = drawn(many, 60)
    assert len(figure["layout"]["annotations"]) <= MOST_PANELS
    assert "not shown" in figure["layout"]["title"]["text"]


def test_a_triple_is_shown_by_its_pairs() -> None:
    def product(trial: Trial) -> float:
        return math.prod(trial.suggest_float(name, 0, 1) for name in "abc")

    figure = drawn(product, 60)
    texts = [a["text"] for a in figure["layout"]["annotations"]]
    assert {text.split("<br>")[1] for text in texts} == {f"averaged over {n}" for n in "abc"}
    assert [t["type"] for t in figure["data"]] == ["contour", "scatter"] * 3
    assert [t["showscale"] for t in figure["data"][::2]] == [True, False, False]


def test_a_few_integers_are_the_ticks_of_their_axis() -> None:
    def stepped(trial: Trial) -> float:
        return trial.suggest_int("n", 0, 4) ** 2 + trial.suggest_int("many", 0, 40) / 10.0

    figure = drawn(stepped, 60)
    axes = [a for name, a in figure["layout"].items() if name.startswith("xaxis")]
    ticks = {axis["title"]["text"]: axis.get("tickvals") for axis in axes}
    assert ticks == {"n": [0.0, 1.0, 2.0, 3.0, 4.0], "many": None}


def known(predicted: list[float], **settings: Any) -> dict[str, Any]:
    n = len(predicted)
    values = np.arange(float(n))
    found = Predictions("Values", tuple(range(n)), values, np.array(predicted), np.ones(n))
    return calibration_figure(found)


def test_intervals_that_hold_their_value_are_counted() -> None:
    figure = known([0.0, 1.0, 2.0, 6.0])
    assert figure["layout"]["title"]["text"].startswith("Values: 3 of 4 (75%) are within")
    _, inside, outside = figure["data"]
    assert inside["customdata"] == [0, 1, 2]
    assert (outside["x"], outside["y"]) == ([3.0], [6.0])
    assert outside["error_y"]["array"] == pytest.approx([1.96])


def test_extreme_values_do_not_widen_the_view() -> None:
    n = int(2.0 / SEEN)
    figure = known([1e9, *map(float, range(1, n))])
    assert figure["layout"]["xaxis"]["range"][1] < 2.0 * n
    assert "outside of the figure" in figure["layout"]["title"]["text"]


def test_recorded_predictions_are_shown_where_there_are_some() -> None:
    study = optuna.create_study()
    for i in range(8):
        tell(study, float(i), x=i / 8.0)
    figure = visualization.plot_calibration(study)
    assert "from all other trials" in figure.layout.title.text
    tell(study, 2.0, "tree", report={"predicted": 2.5, "std": 0.5})
    tell(study, 2.0, "tree", report={"predicted": "much", "std": 0.5})
    tell(study, 2.0, "tree", report={"predicted": 2.5, "std": -0.5})
    figure = visualization.plot_calibration(study)
    assert "the sampler's predictions: 1 of 1" in figure.layout.title.text
    assert figure.data[1].customdata == (8,)
    again = visualization.plot_calibration(study, target=lambda t: t.values[0])
    assert "from all other trials" in again.layout.title.text
