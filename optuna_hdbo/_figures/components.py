"""What every group of parameters does to the values: curves and contours with the trials."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from optuna_hdbo._core.calibration import Z as HALF_WIDTH
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.anova.components import Components
from optuna_hdbo._core.models.anova.features import Term
from optuna_hdbo._figures.axes import ParameterAxis
from optuna_hdbo._figures.axes import distinct
from optuna_hdbo._figures.axes import plain
from optuna_hdbo._figures.axes import small_line
from optuna_hdbo._figures.axes import title_at_top
from optuna_hdbo.effects import Effects
from optuna_hdbo.interactions import Interactions


LINE, BAND, DOTS = "#1f4e8c", "rgba(31, 78, 140, 0.18)", "#9aa3ad"

COLOURS = [[0.0, "#2a6f97"], [0.5, "#f7f7f7"], [1.0, "#c8553d"]]
"""From effects that lower the value to those that raise it."""

COLOUR_BAR = {
    "title": {"text": "effect"},
    "thickness": 14,
    "lenmode": "pixels",
    "len": 200,
    "y": 1.0,
    "yanchor": "top",
}

N_LEVELS = 10
"""Contours on either side of no effect."""

MOST_PANELS = 12
"""Groups that are shown; of more, those with the largest shares."""

NEGLIGIBLE = 0.005
"""Share of the variance below which a group is not shown, unless all groups are so small."""

N_COLUMNS, HEIGHT_OF_ROW = 3, 290
"""Panels side by side, and the height of a row of panels in pixels."""

LINE_OF_HEADING, MOST_CHARACTERS = 18, 34
"""Height in pixels of a further line above a panel, and the characters that it has room for."""

POINTS_OF_CURVE, POINTS_OF_CONTOUR = 81, 33


@dataclass(frozen=True, eq=False)
class Panel:
    """One parameter, or two that interact, and their effect in the objective's units.

    Parameters
    ----------
    axes : tuple of ParameterAxis
    share : float
        Share of the function's variance in the terms of these parameters.
    others : tuple of str
        Parameters that these two interact with, and over which is averaged.
    mean, std : FloatArray, shape (m,) or (m2, m1)
    at_trials : tuple of list of (float or None)
        Places of the trials along the axes; ``None`` for those that are not shown.
    residuals : FloatArray, shape (n,)
        Values without the mean and the effects of all other groups.
    """

    axes: tuple[ParameterAxis, ...]
    share: float
    others: tuple[str, ...]
    mean: FloatArray
    std: FloatArray
    at_trials: tuple[list[float | None], ...]
    residuals: FloatArray


def panels(fitted: Effects, told: Interactions, most: int = MOST_PANELS) -> list[Panel]:
    """Return the panels to draw, at most so many, the largest share first."""
    place = {name: i for i, name in enumerate(fitted.space.domain.names)}
    wanted: list[tuple[tuple[int, ...], tuple[str, ...]]] = []
    for group in told.groups:
        if len(group) <= 2:
            wanted.append((tuple(sorted(place[name] for name in group)), ()))
            continue
        for pair in told.strong:
            if set(pair.parameters) <= set(group):
                rest = tuple(name for name in group if name not in pair.parameters)
                wanted.append((tuple(sorted(place[name] for name in pair.parameters)), rest))
    components, _, scale = fitted.components()
    parts = fitted.findings.parts
    total = fitted.findings.variance
    made: list[tuple[float, tuple[int, ...], tuple[str, ...], list[Term]]] = []
    for columns, others in wanted:
        terms = [term for k in (1, 2) for term in combinations(columns, k) if term in parts]
        made.append((sum(parts[term] for term in terms) / total, columns, others, terms))
    made.sort(key=lambda panel: -panel[0])
    large = [panel for panel in made if panel[0] >= NEGLIGIBLE] or made
    return [
        _panel(fitted, components, scale, columns, terms, share, others)
        for share, columns, others, terms in large[:most]
    ]


def _panel(
    fitted: Effects,
    components: Components,
    scale: float,
    columns: tuple[int, ...],
    terms: Sequence[Term],
    share: float,
    others: tuple[str, ...],
) -> Panel:
    n_points = POINTS_OF_CURVE if len(columns) == 1 else POINTS_OF_CONTOUR
    axes = tuple(ParameterAxis.of(fitted.space, i, fitted.X[:, i], n_points) for i in columns)
    grids = np.meshgrid(*[axis.units for axis in axes])
    Z = np.zeros((grids[0].size, len(fitted.space.domain)))
    for i, grid in zip(columns, grids, strict=True):
        Z[:, i] = grid.ravel()
    mean, variance = components.of(terms, Z)
    at_trials, _ = components.of(terms, fitted.X)
    return Panel(
        axes=axes,
        share=share,
        others=others,
        mean=scale * mean.reshape(grids[0].shape),
        std=scale * np.sqrt(variance).reshape(grids[0].shape),
        at_trials=tuple(
            axis.of_trials([t.params[axis.name] for t in fitted.trials], fitted.X[:, axis.column])
            for axis in axes
        ),
        residuals=scale * (at_trials + components.residuals),
    )


def components_figure(fitted: Effects, told: Interactions, *, low: bool = False) -> dict[str, Any]:
    """Return a figure with a panel per group; a low one has a single row of panels."""
    shown = panels(fitted, told, N_COLUMNS if low else MOST_PANELS)
    n_columns = min(N_COLUMNS, len(shown))
    n_rows = math.ceil(len(shown) / n_columns)
    height = HEIGHT_OF_ROW * n_rows + 130
    averaged = any(panel.others for panel in shown)
    explained = (
        "Lines and colours: posterior mean. Bands and bars: 95 %. Dots: trials, less the effects "
        "of all others."
    )
    layout: dict[str, Any] = {
        "title": title_at_top("Effect on the value, group by group" + small_line(explained), 20),
        "height": height,
        "margin": {"t": 100, "b": 50, "l": 60, "r": 40},
        "showlegend": False,
        "plot_bgcolor": "white",
        "hovermode": "closest",
        "annotations": [],
    }
    data: list[dict[str, Any]] = []
    reach, step = _reach(shown), _step(shown)
    names = fitted.space.domain.names
    short = dict(zip(names, distinct(names), strict=True))
    for k, panel in enumerate(shown):
        row, column = divmod(k, n_columns)
        number = "" if k == 0 else str(k + 1)
        above = 26.0 + (LINE_OF_HEADING if averaged else 0.0)
        x, y = _domains(row, column, n_rows, n_columns, height, above)
        layout[f"xaxis{number}"] = {**panel.axes[0].layout(), "domain": x, "anchor": f"y{number}"}
        vertical = (
            panel.axes[1].layout()
            if len(panel.axes) == 2
            else {"range": reach, "gridcolor": "#ececec", "zerolinecolor": "#cccccc", "nticks": 6}
        )
        layout[f"yaxis{number}"] = {**vertical, "domain": y, "anchor": f"x{number}"}
        text = f"{panel.share:.1%} of the variance"
        if panel.others:
            others = ", ".join(short[name] for name in panel.others)
            others = textwrap.shorten(others, MOST_CHARACTERS, placeholder=" …")
            text += f"<br>averaged over {plain(others)}"
        layout["annotations"].append(_heading(text, x, y))
        first = not any("colorbar" in trace for trace in data)
        traces = _surface(panel, step, first) if len(panel.axes) == 2 else _curve(panel)
        data += [{**trace, "xaxis": f"x{number}", "yaxis": f"y{number}"} for trace in traces]
    if averaged:
        told_of = "Panels with a common parameter both have its own effect."
        layout["title"]["text"] += small_line(told_of)
    if hidden := sum(len(group) for group in told.groups) + len(told.inert) - _n_shown(shown):
        told_of = "1 parameter is" if hidden == 1 else f"{hidden} parameters are"
        layout["title"]["text"] += small_line(f"{told_of} not shown, with smaller effects.")
    return {"data": data, "layout": layout}


def _n_shown(shown: Sequence[Panel]) -> int:
    return len({axis.name for panel in shown for axis in panel.axes})


def _domains(
    row: int, column: int, n_rows: int, n_columns: int, height: int, heading: float
) -> tuple[list[float], list[float]]:
    """Return the parts of the figure's width and height that a panel has below its heading."""
    gap = 0.11
    width = (1.0 - gap * (n_columns - 1)) / n_columns
    inner = height - 150.0
    above, below = heading / inner, 52.0 / inner  # the name of the axis is below
    each = 1.0 / n_rows
    top = 1.0 - row * each - above
    low = top - each + above + (below if row < n_rows - 1 else 0.0)
    left = column * (width + gap)
    return [left, min(left + width, 1.0)], [max(low, 0.0), top]


def _heading(text: str, x: list[float], y: list[float]) -> dict[str, Any]:
    return {
        "text": text,
        "x": x[0],
        "y": y[1],
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
        "align": "left",
    }


def _reach(shown: Sequence[Panel]) -> list[float]:
    """Return the range of effects that all curves share, without the most extreme dots."""
    curves = [panel for panel in shown if len(panel.axes) == 1]
    ends = [0.0]
    for panel in curves:
        ends += [(panel.mean - HALF_WIDTH * panel.std).min()]
        ends += [(panel.mean + HALF_WIDTH * panel.std).max()]
        ends += np.quantile(panel.residuals, [0.02, 0.98]).tolist()
    margin = 0.06 * max(ends) - 0.06 * min(ends) or 1.0
    return [float(min(ends) - margin), float(max(ends) + margin)]


def _step(shown: Sequence[Panel]) -> float:
    """Return the distance of contours: a round number that divides the largest effect well."""
    sizes = [float(np.abs(panel.mean).max()) for panel in shown if len(panel.axes) == 2]
    least = (max(sizes, default=0.0) or 1.0) / N_LEVELS
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= 0.999 * least)


def _curve(panel: Panel) -> list[dict[str, Any]]:
    """Return a curve with its band, or a bar for every choice."""
    (axis,) = panel.axes
    x = list(axis.places)
    half = HALF_WIDTH * panel.std
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": panel.at_trials[0],
        "y": panel.residuals.tolist(),
        "marker": {"color": DOTS, "size": 4, "opacity": 0.7},
        "hoverinfo": "skip",
    }
    curve: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": panel.mean.tolist(),
        "line": {"color": LINE, "width": 2.5},
        "customdata": half.tolist(),
        "hovertemplate": f"{plain(axis.name)} %{{x}}: "
        "%{y:.4g} ± %{customdata:.2g}<extra></extra>",
    }
    if axis.choices:
        bars = {"type": "data", "array": half.tolist(), "color": LINE, "thickness": 2, "width": 8}
        return [
            dots,
            {**curve, "mode": "markers", "marker": {"color": LINE, "size": 10}, "error_y": bars},
        ]
    band = {
        "type": "scatter",
        "mode": "lines",
        "x": x + x[::-1],
        "y": (panel.mean + half).tolist() + (panel.mean - half).tolist()[::-1],
        "fill": "toself",
        "fillcolor": BAND,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    return [dots, band, curve]


def _surface(panel: Panel, step: float, first: bool) -> list[dict[str, Any]]:
    """Return a contour of two parameters, or cells if one has choices, and the trials.

    A shared ``coloraxis`` would be simpler, but plotly.js 3 does not come to an end with one for
    contours and markers. So the first surface has the bar of colours.
    """
    a, b = panel.axes
    most = N_LEVELS * step
    surface: dict[str, Any] = {
        "type": "heatmap" if a.choices or b.choices else "contour",
        "x": list(a.places),
        "y": list(b.places),
        "z": panel.mean.tolist(),
        "customdata": (HALF_WIDTH * panel.std).tolist(),
        "colorscale": COLOURS,
        "zmin": -most,
        "zmax": most,
        "showscale": first,
        "hovertemplate": f"{plain(a.name)} %{{x}}, {plain(b.name)} %{{y}}: "
        "%{z:.4g} ± %{customdata:.2g}<extra></extra>",
    }
    if first:
        surface["colorbar"] = COLOUR_BAR
    if surface["type"] == "contour":
        surface["contours"] = {"start": step - most, "end": most - step, "size": step}
        surface["line"] = {"width": 0.6, "color": "rgba(60, 60, 60, 0.45)"}
    marker = {
        "color": panel.residuals.tolist(),
        "colorscale": COLOURS,
        "cmin": -most,
        "cmax": most,
        "size": 5,
        "line": {"width": 0.8, "color": "#555555"},
    }
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": panel.at_trials[0],
        "y": panel.at_trials[1],
        "marker": marker,
        "hoverinfo": "skip",
    }
    return [surface, dots]
