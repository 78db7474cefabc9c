"""Which parameters were selected when, as cells that are coloured by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optuna_hdbo.effects import natural
from optuna_hdbo.structure import Selection


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
    labels = [f"{name} ({times[name]} of {len(selections)})" for name in names]
    cells = {
        "type": "heatmap",
        "x": [str(selection.trial) for selection in selections],
        "y": labels,
        "z": ranks,
        "colorscale": "Blues_r",
        "zmin": 1,
        "zmax": max(len(s.parameters) for s in selections) + 1,
        "xgap": 2,
        "ygap": 2,
        "colorbar": {"title": "rank"},
        "hovertemplate": "%{y}<br>selected at trial %{x}, rank %{z}<extra></extra>",
    }
    layout = {
        "title": {"text": "Selected parameters"},
        "height": 190 + max(20 * len(names), 260),
        "xaxis": {"title": {"text": "Trial of the selection"}, "type": "category"},
        "yaxis": {"type": "category", "dtick": 1, "automargin": True},
    }
    return {"data": [cells], "layout": layout}
