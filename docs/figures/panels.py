"""Plots of several problems side by side, with one legend."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

import style
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter
from matplotlib.ticker import LogLocator
from matplotlib.ticker import NullFormatter


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SAMPLERS = {
    "gp": ("GPSampler", style.BLUE),
    "tpe": ("TPESampler, multivariate", style.ORANGE),
    "cmaes": ("CmaEsSampler", style.GREEN),
}
"""Name in the tables -> label and colour, the same on all pages."""

Spread = tuple[float, float, float]


def grid(n: int, n_columns: int, *, height: float = 2.5) -> tuple[Figure, list[Axes]]:
    """Return a figure with n panels and place for a legend at its lower end."""
    n_rows = -(-n // n_columns)
    size = (10.2, height * n_rows + 0.6)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    for axis in axes.flat[n:]:
        axis.remove()
    return figure, list(axes.flat[:n])


def logarithmic(axis: Axes, which: str) -> None:
    """Make axis "x" or "y" logarithmic, with few plain numbers."""
    low, high = sorted(axis.get_xlim() if which == "x" else axis.get_ylim())
    axis.set(**{f"{which}scale": "log"})
    scale = axis.xaxis if which == "x" else axis.yaxis
    scale.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 20.0 * low else (1.0,)))
    scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    scale.set_minor_formatter(NullFormatter())


def lines(axis: Axes, x: Sequence[float], found: Mapping[str, tuple[str, Any, Any]]) -> None:
    """Draw a line per sampler: name -> (colour, values at x, lower and upper ends or None)."""
    for name, (colour, y, ends) in found.items():
        axis.plot(x, y, color=colour, marker="o", markersize=3.5, linewidth=1.6, label=name)
        if ends is not None:
            axis.fill_between(x, ends[0], ends[1], color=colour, alpha=0.13, linewidth=0)


def dots(axis: Axes, found: Mapping[str, Spread], *, named: bool, colours: Sequence[str]) -> None:
    """Draw a row per sampler: a dot at the median, a bar between the quartiles."""
    for row, ((middle, low, high), colour) in enumerate(zip(found.values(), colours, strict=True)):
        axis.plot([low, high], [row, row], color=colour, linewidth=2.2, alpha=0.6)
        axis.plot([middle], [row], color=colour, marker="o", markersize=5.5)
    axis.set(ylim=(len(found) - 0.5, -0.5), yticks=range(len(found)))
    axis.set_yticklabels(list(found) if named else [])
    axis.grid(visible=False, axis="y")


def legend(figure: Figure, axes: Sequence[Axes], n_columns: int) -> None:
    """Put one legend below all panels."""
    entries = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    room = (0.25 + 0.25 * -(-len(entries) // n_columns)) / figure.get_figheight()
    figure.tight_layout(rect=(0, room, 1, 1))
    figure.legend(
        entries.values(), entries.keys(), loc="lower center", ncols=n_columns, fontsize=9
    )
