"""Shares as horizontal bars, the largest on top, every bar with its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


COLOUR, COLOUR_OF_REST = "#4c78a8", "#b8c4d0"

MOST_BARS = 25
"""More shares than this are added up in one last bar."""

WIDTH_OF_LABEL = 32
"""Characters after which the label of a bar is broken."""


def bars(shares: Mapping[str, float], title: str, of: str) -> dict[str, Any]:
    """Return a figure of shares by label.

    Parameters
    ----------
    shares : Mapping of str to float
        The largest first.
    title : str
    of : str
        What they are shares of, for the axis.
    """
    shown = list(shares.items())
    rest = shown[MOST_BARS - 1 :] if len(shown) > MOST_BARS else []
    if rest:
        shown = shown[: MOST_BARS - 1]
        shown.append((f"{len(rest)} others together", sum(value for _, value in rest)))
    labels = [broken(label) for label, _ in shown]
    values = [value for _, value in shown]
    colours = [COLOUR] * len(shown)
    if rest:
        colours[-1] = COLOUR_OF_REST
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
        "xaxis": {"title": {"text": of}, "tickformat": ".0%", "rangemode": "tozero"},
        "yaxis": {"type": "category", "dtick": 1, "automargin": True},
    }
    return {"data": [bar], "layout": layout}


def broken(label: str) -> str:
    """Return a label of several names with line breaks between them."""
    lines = [""]
    for name in label.split(", "):
        if lines[-1] and len(lines[-1]) + len(name) > WIDTH_OF_LABEL:
            lines[-1] += ","
            lines.append(name)
        else:
            lines[-1] += f", {name}" if lines[-1] else name
    return "<br>".join(lines)
