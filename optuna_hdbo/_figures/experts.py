"""The figure of who suggested which trial, as the plain data that plotly takes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_hdbo._figures.axes import HEIGHT_OF_CARD
from optuna_hdbo._figures.axes import title_at_top
from optuna_hdbo._story.queries import Query
from optuna_hdbo._story.queries import read_queries
from optuna_hdbo._story.queries import value_of
from optuna_hdbo._story.words import count
from optuna_hdbo._story.words import numeral
from optuna_hdbo.portfolio.experts import EXPERTS


if TYPE_CHECKING:
    from optuna.study import Study


BLUE, GREEN, VERMILION, GREY, INK = "#0072B2", "#009E73", "#D55E00", "#8c8c8c", "#333333"
"""Colours of Okabe & Ito, which colour-blind readers can tell apart, beside two greys."""

MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    "search": ("search", {"symbol": "circle", "color": BLUE}),
    "refine": (
        "refinement of the best point",
        {"symbol": "circle-open", "color": BLUE, "line": {"width": 1.5}},
    ),
    "elsewhere": ("far from all points", {"symbol": "triangle-up", "color": GREEN}),
    "pending": ("far from pending points", {"symbol": "triangle-down", "color": GREEN}),
    "restart": ("search begun afresh", {"symbol": "square", "color": GREEN}),
    "repeat": ("repeat of a trial", {"symbol": "cross", "color": GREEN}),
    "other": ("no expert", {"symbol": "circle", "color": GREY}),
    "improvement": (
        "improvement",
        {"symbol": "diamond", "color": VERMILION, "line": {"width": 1, "color": "white"}},
    ),
}
"""Kind of a dot -> its name in the legend and its marker; later ones are drawn on top."""

OTHERS = {
    "random": "no expert",
    "repeat": "no expert",
    "unknown": "no expert",
    "enqueued": "enqueued",
}
"""Origin of a trial that is no expert's -> the label of its row."""

LOG_FROM = 50.0
"""The axis of values is logarithmic if the best value changes by at least this factor."""

HEIGHT_OF_VALUES, HEIGHT_OF_MARGINS, GAP = 200, 160, 24
"""In pixels: the upper part, what is above and below both parts, and between them."""

HEIGHT_OF_ROW, HEIGHT_OF_LOW_ROW = 34, 19
"""In pixels: a row with a label of two lines, and of one line."""

SEEN = 0.9
"""Share of the values that the axis shows. A few very poor ones would hide all differences."""


def experts_figure(study: Study, *, low: bool = False) -> dict[str, Any]:
    """Return data and layout: values over trials above, a row per expert below.

    A low figure fits the dashboard, and has labels of one line.

    Raises
    ------
    ValueError
        Where no expert has suggested a trial of the study.
    """
    queries = read_queries(study)
    if all(query.expert is None for query in queries):
        raise ValueError(
            f"study must have been sampled by HDBOSampler beyond its startup trials, but no "
            f"expert has suggested any of the {len(queries)} trials of {study.study_name!r}."
        )
    rows = _rows(queries)
    size = min(10.0, max(4.5, 700.0 / len(queries)))
    above, value_axis = _values(study, queries, size)
    below = [_dots(kind, queries, rows, size) for kind in MARKS]
    n_rows = len(rows)
    height_of_rows = n_rows * (HEIGHT_OF_LOW_ROW if low else HEIGHT_OF_ROW)
    height = HEIGHT_OF_CARD if low else HEIGHT_OF_MARGINS + HEIGHT_OF_VALUES + GAP + height_of_rows
    inner = height - HEIGHT_OF_MARGINS
    first, last = queries[0].trial.number, queries[-1].trial.number
    margin = 0.02 * (last - first) + 0.5
    grid = {"gridcolor": "#ececec", "zeroline": False, "linecolor": "#bbbbbb"}
    labels = [_label(name, queries, low=low) for name in rows]
    return {
        "data": [*above, *(trace for trace in below if trace["x"])],
        "layout": {
            "title": {**title_at_top("Which expert suggested which trial", 16), "x": 0.02},
            "height": height,
            "font": {"color": INK, "size": 13},
            "plot_bgcolor": "white",
            "paper_bgcolor": "white",
            "hovermode": "closest",
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 190 if low else 150, "r": 30, "t": 100, "b": 60},
            "xaxis": {
                **grid,
                "title": {"text": "Trial", "font": {"size": 13}},
                "anchor": "y2",
                "range": [first - margin, last + margin],
            },
            "yaxis": {**grid, **value_axis, "domain": [(height_of_rows + GAP) / inner, 1.0]},
            "yaxis2": {
                **grid,
                "domain": [0.0, height_of_rows / inner],
                "range": [n_rows - 0.4, -0.6],
                "tickmode": "array",
                "tickvals": list(range(n_rows)),
                "ticktext": labels,
            },
        },
    }


def _rows(queries: list[Query]) -> list[str]:
    """Return the rows from top to bottom: the experts that were asked, then other origins."""
    named = {_row(query) for query in queries}
    return [name for name in (*EXPERTS, *dict.fromkeys(OTHERS.values())) if name in named]


def _row(query: Query) -> str:
    return OTHERS[query.origin] if query.expert is None else query.expert


def _label(name: str, queries: list[Query], *, low: bool) -> str:
    mine = [query for query in queries if _row(query) == name]
    improved = sum(query.improves for query in mine)
    told = str(len(mine)) if low else count(len(mine), "trial")
    small = f'<span style="font-size:11px;color:{GREY}">{told}, {improved} improved</span>'
    return f"{name}{'  ' if low else '<br>'}{small}"


def _kind(query: Query) -> str:
    if query.improves:
        return "improvement"
    if query.expert is None and query.kind is None:
        return "other"
    return query.kind or "search"


def _dots(kind: str, queries: list[Query], rows: list[str], size: float) -> dict[str, Any]:
    """Return the dots of one kind in the rows of their experts."""
    mine = [query for query in queries if _kind(query) == kind]
    label, marker = MARKS[kind]
    larger = {"improvement": 1.5, "elsewhere": 1.3, "pending": 1.3}.get(kind, 1.0)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": label,
        "x": [query.trial.number for query in mine],
        "y": [rows.index(_row(query)) for query in mine],
        "yaxis": "y2",
        "marker": {**marker, "size": size * larger},
        "text": [_hover(query) for query in mine],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover(query: Query) -> str:
    value = value_of(query.trial)
    step = None if query.std is None else query.std / 10.0
    told = query.trial.state.name.lower() if value is None else f"value {numeral(value, step)}"
    lines = [f"trial {query.trial.number}, {_row(query)}: {told}"]
    if query.predicted is not None:
        std = "" if query.std is None else f", standard deviation {query.std:.3g}"
        lines.append(f"expected {numeral(query.predicted, step)}{std}")
    return "<br>".join(lines)


def _values(
    study: Study, queries: list[Query], size: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the traces of values and of the best value, and the axis that suits them."""
    valued = [(q, value) for q in queries if (value := value_of(q.trial)) is not None]
    best: list[float] = []  # from the first feasible trial on
    for query, value in valued:
        if query.improves or best:
            best.append(value if query.improves else best[-1])
    numbers = [query.trial.number for query, _ in valued]
    values = [value for _, value in valued]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "name": "value",
        "x": numbers,
        "y": values,
        "marker": {"color": "#bdbdbd", "size": 0.6 * size},
        "text": [_hover(query) for query, _ in valued],
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "best value",
        "x": numbers[len(numbers) - len(best) :],
        "y": best,
        "line": {"shape": "hv", "color": INK, "width": 2},
        "hoverinfo": "skip",
    }
    minimised = study.direction.name == "MINIMIZE"
    return [dots, line], _value_axis(values, best or values, minimised=minimised)


def _value_axis(values: list[float], best: list[float], *, minimised: bool) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": "Objective value", "font": {"size": 13}}}
    if not values:
        return axis
    logarithmic = min(values) > 0.0 and max(best) >= LOG_FROM * min(best)
    shown = np.log10(values) if logarithmic else np.array(values)
    bests = np.log10(best) if logarithmic else np.array(best)
    poor = float(np.quantile(shown, SEEN if minimised else 1.0 - SEEN))
    low, high = float(min(bests.min(), poor)), float(max(bests.max(), poor))
    margin = 0.06 * (high - low) or 0.5
    axis["range"] = [low - margin, high + margin]
    if logarithmic:
        axis["type"] = "log"
        axis["dtick"] = max(1, round((high - low) / 5))  # in decades
        axis["exponentformat"] = "power"
        axis["tickfont"] = {"size": 10}  # plotly enlarges powers of ten
    return axis
