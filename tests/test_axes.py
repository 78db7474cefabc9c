"""Short texts for long names."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_hdbo import visualization
from optuna_hdbo._figures.axes import MOST_CHARACTERS
from optuna_hdbo._figures.axes import MOST_OF_ROW
from optuna_hdbo._figures.axes import WIDTH_OF_CARD_TITLE
from optuna_hdbo._figures.axes import WIDTH_OF_TITLE
from optuna_hdbo._figures.axes import ParameterAxis
from optuna_hdbo._figures.axes import distinct
from optuna_hdbo._figures.axes import in_rows
from optuna_hdbo._figures.axes import plain
from optuna_hdbo._figures.axes import shortened
from optuna_hdbo._figures.calibration import Predictions
from optuna_hdbo._figures.calibration import calibration_figure
from optuna_hdbo._figures.heat_maps import MOST_LOW_ROWS
from optuna_hdbo._figures.heat_maps import heat_map
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo.interactions import Effect
from optuna_hdbo.interactions import Interactions


def test_short_names_stay_and_long_ones_are_cut_in_the_middle() -> None:
    assert distinct(["a", "b" * MOST_CHARACTERS]) == ["a", "b" * MOST_CHARACTERS]
    assert distinct(["abcdefghij", "x"], 6) == ["ab…hij", "x"]


def test_names_that_differ_in_the_middle_are_cut_around_it() -> None:
    names = [f"some_module.layer_{i}.learning_rate_multiplier" for i in (0, 1, 12)]
    assert distinct(names) == [
        "…e.layer_0.learning_rate_…",
        "…e.layer_1.learning_rate_…",
        "…e.layer_12.learning_rate…",
    ]
    assert distinct([*names[:2], "rate"])[2] == "rate"


@pytest.mark.parametrize(
    "d",
    [
        FloatDistribution(1.1, 1.9, log=True),
        FloatDistribution(0.0011, 0.0019, log=True),
        IntDistribution(6, 9, log=True),
        FloatDistribution(3.0, 4.5, log=True),
    ],
)
def test_a_narrow_logarithmic_range_has_ticks(d: FloatDistribution | IntDistribution) -> None:
    axis = ParameterAxis.of(SearchSpace({"x": d}), 0, np.array([0.5]), 9)
    assert len(axis.layout()["tickvals"]) >= 2


def test_names_that_no_part_tells_apart_stay() -> None:
    names = ["a" * 30 + x + "b" * 30 + y + "c" * 30 for x in "pq" for y in "rs"]
    assert distinct(names) == names


def test_names_that_differ_in_two_places_look_different() -> None:
    names = [x + "a" * 30 + y + "b" * 30 for x in "pq" for y in "rs"]
    short = distinct(names)
    assert short[:2] == ["…aaaaaaaarbbbbbbbbbbbbbbb…", "…aaaaaaaasbbbbbbbbbbbbbbb…"]
    assert short[2:] == names[2:]  # their parts would be the same


@given(st.lists(st.text("ab", min_size=1, max_size=40), unique=True), st.integers(6, 30))
def test_what_is_different_looks_different(names: list[str], most: int) -> None:
    short = distinct(names, most)
    assert len(set(short)) == len(names)
    for name, text in zip(names, short, strict=True):
        assert text == name or len(text) <= most
        assert len(name) > most or text == name
        assert len(shortened(name, most)) <= most


def test_plotly_draws_names_as_they_are() -> None:
    assert plain("plain name_1 ü") == "plain name_1 ü"
    assert plain("<b>&$x$") == "&lt;b&gt;&amp;&#36;x&#36;"
    assert plain("%{x}%") == "&#37;{x}%"
    assert plain("two\nlines") == "two\\nlines"


def test_choices_that_are_equal_or_look_alike_have_their_own_labels() -> None:
    space = SearchSpace({"c": CategoricalDistribution((None, 1, True, "1", "", "<b>"))})
    axis = ParameterAxis.of(space, 0, space.domain.grids[0], 9)  # 1 and True are equal
    assert axis.choices == ("None", "1", "'1'", "''", "<b>")
    assert axis.layout()["ticktext"][-1] == "&lt;b&gt;"


def test_long_names_of_rows_are_cut() -> None:
    names = [f"model.encoder.layers.{i}." + "projection." * 9 for i in range(3)]
    shown = in_rows(names)
    assert len(set(shown.values())) == 3
    assert max(map(len, shown.values())) <= MOST_OF_ROW


@pytest.mark.parametrize("plot", ["importances", "interactions", "components"])
def test_figures_show_odd_names_as_they_are(plot: str) -> None:
    pytest.importorskip("plotly")
    names = ("<b>a</b>", "$b$", "%{q}")
    ranges = dict.fromkeys(names, FloatDistribution(0.0, 1.0))
    study = optuna.create_study()
    for i in range(12):
        params = {name: i * step % 12 / 12.0 for name, step in zip(names, (1, 5, 7), strict=True)}
        value = params["<b>a</b>"] + params["$b$"] * params["%{q}"]
        study.add_trial(optuna.create_trial(params=params, distributions=ranges, value=value))
    drawn = getattr(visualization, f"plot_{plot}")(study).to_json()
    assert not any(name in drawn for name in names)
    assert "&#36;b&#36;" in drawn


def test_a_low_heat_map_has_room_for_its_labels() -> None:
    effects = tuple(Effect(f"x{i}", "matters", 0.02, 0.0) for i in range(50))
    found = Interactions((), effects, tuple((e.parameter,) for e in effects), {}, 0.0, 50)
    for low, n in ((False, 50), (True, MOST_LOW_ROWS)):
        layout = heat_map(found, low=low)["layout"]
        assert len(layout["yaxis"]["ticktext"]) == n
        assert ("26 parameters are not shown." in layout["title"]["text"]) == low


def test_titles_of_the_dashboard_end_before_the_buttons() -> None:
    found = Predictions("Values against predictions", (0,), *np.ones((3, 1)))
    for narrow, most in ((True, WIDTH_OF_CARD_TITLE), (False, WIDTH_OF_TITLE)):
        lines = calibration_figure(found, narrow=narrow)["layout"]["title"]["text"].split("<br>")
        assert 0.6 * most < max(map(len, lines)) <= most


def test_a_dot_tells_its_values_as_precisely_as_they_were_predicted() -> None:
    exact = (np.array([1000.25]), np.array([1000.3]), np.array([0.1]))
    (dots,) = calibration_figure(Predictions("Values", (7,), *exact))["data"][1:2]
    assert dots["text"] == ["trial 7: observed 1000.25, predicted 1000.3"]
