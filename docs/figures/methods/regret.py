"""Regret against trials, and time per trial: HDBOSampler beside Optuna's samplers.

The figure is drawn from stored results of these commands:

    python -m optuna_hdbo.benchmarks run --problems levy-20,ackley-20,hartmann6-50 --trials 150 \
        --rivals random,tpe-default,cmaes,gp,HDBOSampler --seeds 0-4 --out results.jsonl
    python docs/figures/keep.py results.jsonl
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import style
from keep import STORED
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter
from matplotlib.ticker import LogLocator
from matplotlib.ticker import NullFormatter


if TYPE_CHECKING:
    from matplotlib.axes import Axes


PROBLEMS = {
    "levy-20": "Levy, 20 parameters",
    "ackley-20": "Ackley, 20 parameters",
    "hartmann6-50": "Hartmann, 6 of 50 parameters",
}

LINES = {
    "HDBOSampler": ("HDBOSampler (this package)", style.VERMILION, 2.6),
    "gp": ("GPSampler (needs torch)", style.BLUE, 1.6),
    "cmaes": ("CmaEsSampler", style.GREEN, 1.6),
    "tpe-default": ("TPESampler", style.ORANGE, 1.6),
    "random": ("RandomSampler", style.GREY, 1.6),
}
"""Name in the results -> label, colour and width of its line."""

Run = Mapping[str, Any]


def curve(run: Run) -> Any:
    """Return the best regret after each trial, shape (n_trials,)."""
    best = np.empty(run["n_trials"])
    for trial, regret in run["improvements"]:
        best[trial:] = regret
    return best


def draw_problem(axis: Axes, runs: list[Run], title: str) -> None:
    """Draw the median and the quartiles over seeds, a line per sampler."""
    for rival, (_, colour, width) in LINES.items():
        curves = np.array([curve(run) for run in runs if run["rival"] == rival])
        if not len(curves):
            continue
        low, middle, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
        trials = np.arange(1, len(middle) + 1)
        axis.fill_between(trials, low, high, color=colour, alpha=0.13, linewidth=0)
        axis.plot(trials, middle, color=colour, linewidth=width, zorder=2 + width)
    axis.set(title=title, xlabel="trials", yscale="log", xlim=(1, None))
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if low.min() > 1 else (1.0,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def draw_times(axis: Axes, runs: list[Run]) -> None:
    """Draw a bar per sampler: the median time per trial. The bars' labels are the legend."""
    for row, (rival, (label, colour, _)) in enumerate(LINES.items()):
        times = [run["ms"] for run in runs if run["rival"] == rival]
        if not times:
            continue
        ms = float(np.median(times))
        axis.barh(row, ms, color=colour, height=0.62)
        bold = "bold" if rival == "HDBOSampler" else "normal"
        axis.text(ms * 1.07, row, f"{float(f'{ms:.2g}'):g} ms", va="center", weight=bold)
        axis.text(0.165, row, label, va="center", ha="right", weight=bold)
    axis.set(xscale="log", xlim=(0.18, 700), yticks=[], ylim=(len(LINES) - 0.4, -0.6))
    axis.set_title("Time of the sampler per trial (logarithmic)", fontsize=10)
    axis.set_xticks([])
    axis.minorticks_off()
    axis.grid(visible=False)
    axis.spines[["left", "bottom"]].set_visible(False)


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw the figure; stored results make it quick in any case."""
    del quick
    runs = json.loads(STORED.read_text(encoding="utf-8"))
    figure = plt.figure(figsize=(10.2, 5.4))
    above = figure.add_gridspec(1, 3, left=0.065, right=0.985, top=0.94, bottom=0.45, wspace=0.24)
    for i, (name, title) in enumerate(PROBLEMS.items()):
        axis = figure.add_subplot(above[i])
        draw_problem(axis, [run for run in runs if run["problem"] == name], title)
        if i == 0:
            axis.set_ylabel("regret of the best trial")
    below = figure.add_gridspec(1, 1, left=0.26, right=0.985, top=0.29, bottom=0.03)
    draw_times(figure.add_subplot(below[0]), runs)
    return style.save(figure, path)
