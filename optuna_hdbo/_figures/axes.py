"""Axes of parameters in their own units, the points at which a figure looks, and bars."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.anova.features import by_frequency
from optuna_hdbo._story.words import visible
from optuna_hdbo._study.space import SearchSpace


MOST_CHARACTERS = 26
"""Longer names and choices are cut."""

FLAT, FEW_CHARACTERS = 4, 12
"""Where more choices than this are side by side, their names are upright, and cut to so many
characters."""

MOST_TICKS = 6
"""Numbers along the axis of a parameter."""

MOST_CHOICES_SHOWN = 16
"""Choices that have room side by side; of more, those that most trials have."""

WIDTH_OF_TITLE = 68
"""Characters after which the title is broken, so that it ends left of the buttons of plotly."""

WIDTH_OF_CARD_TITLE = 54
"""The same in optuna-dashboard, whose figures are narrower."""

HEIGHT_OF_CARD = 450
"""Height in pixels that optuna-dashboard gives a figure. The next one covers what is below."""

COLOUR, COLOUR_OF_REST = "#4c78a8", "#b8c4d0"

MOST_BARS = 25
"""More shares than this are added up in one last bar."""

WIDTH_OF_LABEL = 32
"""Characters after which the label of a bar is broken."""

MOST_OF_ROW = 40
"""Longer names of rows are cut. They would leave no room for what is beside them."""

JITTER = 0.22
"""How far the dots of a choice are spread around its place."""


def small_line(text: str) -> str:
    """Return a line in small letters, to be put below a title."""
    return f'<br><span style="font-size: 75%">{text}</span>'


def title_at_top(text: str, below: int) -> dict[str, Any]:
    """Return a title so many pixels below the top, whatever the height of the figure."""
    place = {"yref": "container", "y": 1.0, "yanchor": "top", "pad": {"t": below}}
    return {"text": text, **place}


@dataclass(frozen=True, eq=False)
class ParameterAxis:
    """One parameter along an axis.

    Parameters
    ----------
    name : str
    label : str
        The name, or a short text for it, and how many choices are shown if it is not all.
    column : int
    choices : tuple of str
        Those of a categorical parameter that are shown, whose places are 0, 1, ...; empty for all
        others.
    logarithmic : bool
    units : FloatArray, shape (m,)
        Points of the column.
    places : tuple of float
        The same in the parameter's units, or the numbers of the choices.
    """

    name: str
    label: str
    column: int
    choices: tuple[str, ...]
    logarithmic: bool
    units: FloatArray
    places: tuple[float, ...]

    @classmethod
    def of(cls, space: SearchSpace, column: int, x: FloatArray, n_points: int) -> ParameterAxis:
        """Return the axis of a column with values x (n,) at the trials.

        It has at most ``n_points`` points, or the choices that are shown.
        """
        name, grid = space.domain.names[column], space.domain.grids[column]
        label = distinct(space.domain.names)[column]
        distribution = space.distributions[name]
        units: FloatArray = np.linspace(0.0, 1.0, n_points) if grid is None else grid
        categorical, n = isinstance(distribution, CategoricalDistribution), len(units)
        if categorical:
            units = units[np.sort(by_frequency(x, units)[:MOST_CHOICES_SHOWN])]
        elif n > n_points:
            units = units[np.linspace(0, n - 1, n_points).astype(np.int64)]
        rows = np.zeros((len(units), len(space.domain)))
        rows[:, column] = units
        values = [space.decode(row)[name] for row in rows]
        if categorical:
            most = MOST_CHARACTERS if len(values) <= FLAT else FEW_CHARACTERS
            choices = tuple(distinct(told_apart(values), most))
            places = tuple(float(place) for place in range(len(values)))
            if len(values) < n:
                label += f" ({len(values)} of {n} choices)"
            return cls(name, label, column, choices, False, units, places)
        places = tuple(map(float, values))
        logarithmic = bool(getattr(distribution, "log", False))
        return cls(name, label, column, (), logarithmic, units, places)

    def of_trials(self, params: list[Any], column: FloatArray) -> list[float | None]:
        """Return the places of trials with these values, which the column encodes.

        ``None`` is the place of a choice that is not shown.
        """
        if not self.choices:
            return [float(value) for value in params]
        place = dict(zip(self.units.tolist(), self.places, strict=True))
        spread = np.random.default_rng(0).uniform(-JITTER, JITTER, len(column))
        return [
            place[x] + moved if x in place else None
            for x, moved in zip(column.tolist(), spread.tolist(), strict=True)
        ]

    def layout(self) -> dict[str, Any]:
        """Return what plotly needs to know of the axis."""
        axis: dict[str, Any] = {
            "title": {"text": plain(self.label), "standoff": 4},
            "zeroline": False,
            "gridcolor": "#ececec",
            "linecolor": "#bbbbbb",
            "automargin": True,
        }
        if self.choices:
            n = len(self.choices)
            axis |= {"tickvals": list(range(n)), "ticktext": [*map(plain, self.choices)]}
            return {**axis, "range": [-0.5, n - 0.5], "showgrid": False}
        low, high = min(self.places), max(self.places)
        if self.logarithmic:
            ends = np.log10([low, high]).tolist()
            decades = ends[1] - ends[0]
            ticks: dict[str, Any] = {"dtick": round(decades / 4), "exponentformat": "power"}
            if decades < 2.5:
                powers = [10.0**k for k in range(math.floor(ends[0]), math.ceil(ends[1]) + 1)]
                round_ones = [step * power for power in powers for step in (1, 2, 5)]
                ticks = {"tickvals": [x for x in round_ones if low <= x <= high]}
                if len(ticks["tickvals"]) < 2:  # a narrow range between two of them
                    ticks["tickvals"] = [float(f"{x:.2g}") for x in np.geomspace(low, high, 4)]
            return {**axis, **ticks, "type": "log", "range": ends}
        if len(self.places) <= MOST_TICKS:  # such as a few integers
            return {**axis, "tickvals": list(self.places), "range": [low, high]}
        return {**axis, "nticks": MOST_TICKS, "range": [low, high]}


def plain(text: str) -> str:
    """Return a text that plotly draws as it is.

    Plotly reads tags and entities, formulae between dollars, and places for data. Characters that
    cannot be seen, such as line breaks, are written as in Python.
    """
    escaped = html.escape(visible(text), quote=False).replace("$", "&#36;")
    return escaped.replace("%{", "&#37;{")


def told_apart(choices: Sequence[Any]) -> list[str]:
    """Return the texts of choices, with quotes if two would look the same or one is empty."""
    texts = [str(choice) for choice in choices]
    again = Counter(texts)
    return [
        text if again[text] == 1 and text.strip() else repr(choice)
        for text, choice in zip(texts, choices, strict=True)
    ]


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text that is not too long for the margin of a figure; names often differ last."""
    half = most // 2
    return text if len(text) <= most else f"{text[: half - 1]}…{text[-half:]}"


def distinct(names: Sequence[str], most: int = MOST_CHARACTERS) -> list[str]:
    """Return short texts of different names that are different, too.

    Names that would look the same are cut around the place where they begin to differ. They stay
    as they are if that is not enough.
    """
    short = [shortened(name, most) for name in names]
    for text, n in Counter(short).items():
        if n > 1:
            group = [name for name, s in zip(names, short, strict=True) if s == text]
            letters = enumerate(zip(*group, strict=False))
            first = next((i for i, each in letters if len(set(each)) > 1), min(map(len, group)))
            cut = {name: _around(name, first, most) for name in group}
            if len({*cut.values()} - {other for other in short if other != text}) < n:
                cut = {name: name for name in group}
            short = [cut.get(name, s) for name, s in zip(names, short, strict=True)]
    return short


def _around(name: str, place: int, most: int) -> str:
    """Return a part of a long name that has a place in it."""
    end = min(len(name), max(place - most // 3, 0) + most - 2)
    begin = max(0, end - (most - 2))
    return "…" * (begin > 0) + name[begin:end] + "…" * (end < len(name))


def in_rows(names: Sequence[str]) -> dict[str, str]:
    """Return the text by which a row shows each of some names."""
    return dict(zip(names, distinct(names, MOST_OF_ROW), strict=True))


def bars(shares: Mapping[tuple[str, ...], float], title: str, of: str) -> dict[str, Any]:
    """Return a figure of the shares of some names: horizontal bars, the largest on top.

    Parameters
    ----------
    shares : Mapping of tuple of str to float
        By names of parameters, the largest first.
    title : str
    of : str
        What they are shares of, for the axis.
    """
    shown = list(shares.items())
    rest = shown[MOST_BARS - 1 :] if len(shown) > MOST_BARS else []
    if rest:
        shown = shown[: MOST_BARS - 1]
    rows = in_rows([name for names, _ in shown for name in names])
    labels = [broken([plain(rows[name]) for name in names]) for names, _ in shown]
    values = [value for _, value in shown]
    colours = [COLOUR] * len(shown)
    if rest:
        labels.append(f"{len(rest)} others together")
        values.append(sum(value for _, value in rest))
        colours.append(COLOUR_OF_REST)
    lines = sum(label.count("<br>") + 1 for label in labels)
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": values[::-1],
        "y": labels[::-1],
        "text": [f"{value:.1%}" for value in values[::-1]],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": colours[::-1]},
        "hovertemplate": "%{y}: %{x:.2%}<extra></extra>",
    }
    layout = {
        "title": {"text": title},
        "height": 170 + 25 * max(lines, 4),
        "margin": {"r": 70, "t": 80},
        "bargap": 0.25,
        "xaxis": {
            "title": {"text": of},
            "tickformat": ".0%",
            "range": [0.0, 1.05 * max(values, default=0.0) or 1.0],
        },
        "yaxis": {"type": "category", "dtick": 1, "automargin": True},
    }
    return {"data": [bar], "layout": layout}


def broken(names: Sequence[str]) -> str:
    """Return a label of several names with line breaks between them."""
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) > WIDTH_OF_LABEL:
            lines[-1] += ","
            lines.append(name)
        else:
            lines[-1] += f", {name}" if lines[-1] else name
    return "<br>".join(lines)
