"""Heat maps: verdicts on all pairs of parameters by groups, and which were selected when."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from optuna_hdbo._figures.axes import HEIGHT_OF_CARD
from optuna_hdbo._figures.axes import WIDTH_OF_CARD_TITLE
from optuna_hdbo._figures.axes import WIDTH_OF_TITLE
from optuna_hdbo._figures.axes import distinct
from optuna_hdbo._figures.axes import in_rows
from optuna_hdbo._figures.axes import plain
from optuna_hdbo._figures.axes import title_at_top
from optuna_hdbo.effects import natural
from optuna_hdbo.interactions import Interactions
from optuna_hdbo.structure import Selection


COLOURS = {
    "none": "#eef1f5",
    "too early to say": "#c3cad4",
    "weak": "#f2b45f",
    "strong": "#1f4e8c",
}

MOST_ROWS = 60
"""Parameters that are shown; of more, those with the largest shares."""

MOST_LOW_ROWS = 24
"""The same in a low figure, where more labels would overlap."""

MOST_WITH_TEXT = 24
"""Up to this many parameters, the share of a strong interaction is written into its cell."""

WIDTH_OF_CHARACTER = 8
"""In pixels. Names that are wider than a cell are upright."""


def ordered(found: Interactions, most: int = MOST_ROWS) -> list[str]:
    """Return the parameters to show: by groups, and the inert ones last if there is room."""
    shown = {effect.parameter for effect in found.effects[:most]}
    groups = sorted(found.groups, key=lambda group: (len(group) == 1, natural(group[0])))
    names = [name for group in groups for name in group]
    if len(names) < 2 or len(found.effects) <= MOST_WITH_TEXT:
        names += found.inert
    return [name for name in names if name in shown]


def _cells(
    found: Interactions, names: list[str]
) -> tuple[list[list[int | None]], list[list[str]], list[list[str]]]:
    """Return every cell's number of its verdict, its hover text, and what is written into it."""
    place = {name: i for i, name in enumerate(names)}
    n, verdicts = len(names), list(COLOURS)
    z: list[list[int | None]] = [[None] * n for _ in range(n)]
    hover = [[""] * n for _ in range(n)]
    written = [[""] * n for _ in range(n)]
    for pair in found.pairs:
        a, b = pair.parameters
        if a not in place or b not in place:
            continue
        text = (
            f"{plain(a)} and {plain(b)}: {pair.verdict}<br>probability {pair.probability:.1%}, "
            f"{pair.log_evidence:.1f} nats<br>{pair.share:.1%} of the function's variance"
        )
        share = f"{pair.share:.0%}" if pair.verdict == "strong" and n <= MOST_WITH_TEXT else ""
        for i, j in ((place[a], place[b]), (place[b], place[a])):
            z[i][j], hover[i][j], written[i][j] = verdicts.index(pair.verdict), text, share
    return z, hover, written


def heat_map(found: Interactions, *, low: bool = False) -> dict[str, Any]:
    """Return a figure with a row and a column per parameter; a low one fits the dashboard."""
    names = ordered(found, MOST_LOW_ROWS if low else MOST_ROWS)
    n, verdicts = len(names), list(COLOURS)
    z, hover, written = _cells(found, names)
    steps = [
        [(k + edge) / len(verdicts), COLOURS[verdict]]
        for k, verdict in enumerate(verdicts)
        for edge in (0, 1)
    ]
    cells = {
        "type": "heatmap",
        "z": z,
        "customdata": hover,
        "text": written,
        "texttemplate": "%{text}",
        "textfont": {"size": 11 if n <= MOST_WITH_TEXT // 2 else 9},
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": steps,
        "zmin": -0.5,
        "zmax": len(verdicts) - 0.5,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {
            "tickvals": list(range(len(verdicts))),
            "ticktext": verdicts,
            "lenmode": "pixels",
            "len": 180,
            "y": 1.0,
            "yanchor": "top",
        },
    }
    return {"data": [cells], "layout": _layout(found, names, low)}


def _layout(found: Interactions, names: list[str], low: bool) -> dict[str, Any]:
    n, inert = len(names), set(found.inert)
    rows = in_rows(names)
    labels = [plain(rows[name]) + " (inert)" * (name in inert) for name in names]
    axis = {
        "tickmode": "array",
        "tickvals": list(range(n)),
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "tickfont": {"size": 12 if n <= (16 if low else 30) else 9},
        "constrain": "domain",
    }
    side, below = min(max(30 * n, 260), 18 * MOST_ROWS), distinct(names)
    upright = n > 8 or WIDTH_OF_CHARACTER * max(map(len, below), default=0) > side / n
    wide = WIDTH_OF_CARD_TITLE if low else WIDTH_OF_TITLE
    title = [plain(line) for line in textwrap.wrap(found.summary, wide)]
    if len(names) < len(found.effects):
        title.append(f"{len(found.effects) - len(names)} parameters are not shown.")
    return {
        "title": {**title_at_top("<br>".join(title), 28), "font": {"size": 15}},
        "height": HEIGHT_OF_CARD if low else side + 190 + 20 * len(title),
        "margin": {"t": 50 + 20 * len(title)},
        "plot_bgcolor": "#ffffff",
        "xaxis": {**axis, "ticktext": [*map(plain, below)], "tickangle": -90 if upright else 0},
        "yaxis": {
            **axis,
            "ticktext": labels,
            "autorange": "reversed",
            "scaleanchor": "x",
            "constraintoward": "top",
        },
    }


def selections_figure(selections: Sequence[Selection]) -> dict[str, Any]:
    """Return a figure with a column per selection, the most often selected parameter on top."""
    times: dict[str, int] = {}
    for selection in selections:
        for name in selection.parameters:
            times[name] = times.get(name, 0) + 1
    # The first row is drawn at the bottom.
    names = sorted(times, key=lambda name: (-times[name], natural(name)))[::-1]
    ranks = [
        [s.parameters.index(name) + 1 if name in s.parameters else None for s in selections]
        for name in names
    ]
    rows = in_rows(names)
    labels = [f"{plain(rows[name])} ({times[name]} of {len(selections)})" for name in names]
    last = max(len(s.parameters) for s in selections)
    cells = {
        "type": "heatmap",
        "x": [str(selection.trial) for selection in selections],
        "y": labels,
        "z": ranks,
        "colorscale": "Blues_r",
        "zmin": 1,
        "zmax": last + 1,  # the palest colour looks like an empty cell
        "xgap": 2,
        "ygap": 2,
        "colorbar": {"title": "rank", "tickvals": list(range(1, last + 1, 1 + last // 12))},
        "hovertemplate": "%{y}<br>selected at trial %{x}, rank %{z}<extra></extra>",
    }
    layout = {
        "title": {"text": "Selected parameters"},
        "plot_bgcolor": "white",
        "height": 190 + max(20 * len(names), 260),
        "xaxis": {
            "title": {"text": "Trial of the selection"},
            "type": "category",
            "showgrid": False,
        },
        "yaxis": {"type": "category", "dtick": 1, "automargin": True, "showgrid": False},
    }
    return {"data": [cells], "layout": layout}
