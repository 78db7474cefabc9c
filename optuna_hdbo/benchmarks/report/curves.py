"""Panels of curves against trials, a line per sampler: the mean over seeds and its confidence."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray


Result = Mapping[str, Any]
Panel = tuple[str, Mapping[str, Sequence[Result]]]


def draw(
    panels: Sequence[Panel],
    curve: Callable[[Result], FloatArray],
    ylabel: str,
    path: Path,
    *,
    log: bool = True,
    against: Callable[[Result], FloatArray] | None = None,
    xlabel: str = "trials",
) -> None:
    """Write an image with a panel per (title, runs by label).

    Lines are means over runs, cut to the shortest; bands are 95 % confidence intervals of them.
    They are drawn over trials, or over the mean of what ``against`` returns for a run.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    n_columns = min(3, len(panels))
    n_rows = -(-len(panels) // n_columns)
    size = (4.5 * n_columns, 3.3 * n_rows + 0.8)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    lines: dict[str, Any] = {}
    labels = list(dict.fromkeys(label for _, rows in panels for label in rows))
    for axis, (title, rows) in zip(axes.flat, panels, strict=False):
        for label, runs in rows.items():
            curves = [curve(run) for run in runs]
            shortest = min(len(c) for c in curves)
            values = np.array([c[:shortest] for c in curves])
            mean = values.mean(axis=0)
            error = 1.96 * values.std(axis=0) / np.sqrt(len(values))
            trials = np.arange(1.0, shortest + 1.0)
            if against is not None:
                trials = np.mean([against(run)[:shortest] for run in runs], axis=0)
            place = labels.index(label)
            colour, style = f"C{place % 10}", "-" if place < 10 else "--"
            (lines[label],) = axis.plot(trials, mean, style, color=colour, label=label)
            axis.fill_between(trials, mean - error, mean + error, color=colour, alpha=0.15)
        axis.set(title=title, xlabel=xlabel, ylabel=ylabel)
        if log:
            axis.set_yscale("log")
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=min(3, len(lines)))
    figure.tight_layout(rect=(0.0, 0.05 * -(-len(lines) // 3), 1.0, 1.0))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def regret(result: Result) -> FloatArray:
    """Return the regret of the best trial so far, after every trial, shape (n_trials,)."""
    return np.array(result["regret"], np.float64)


def average_regret(result: Result) -> FloatArray:
    """Return R_t / t after every trial, shape (n_trials,)."""
    return np.array(result["average_regret"], np.float64)


def seconds(result: Result) -> FloatArray:
    """Return the CPU seconds of the sampler up to every trial, shape (n_trials,)."""
    return np.asarray(np.cumsum(result["cpu"]["per_trial"]), np.float64)


def wall_seconds(result: Result) -> FloatArray:
    """Return the wall seconds of the sampler up to every trial, shape (n_trials,)."""
    return np.asarray(np.cumsum(result["wall"]["per_trial"]), np.float64)


def quartiles(results: Sequence[Result]) -> str:
    """Return median and quartiles of the regret after the last trial, as text."""
    low, middle, high = np.quantile([r["regret"][-1] for r in results], [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g}, {high:.3g})"


def by_label(
    results: Sequence[Result], problem: str, labels: Sequence[str] | None = None
) -> dict[str, list[Result]]:
    """Return the runs on a problem by sampler, in the order of ``labels`` or of appearance."""
    runs = [r for r in results if r["problem"] == problem]
    labels = list(dict.fromkeys(r["rival"] for r in runs)) if labels is None else labels
    rows = {label: [r for r in runs if r["rival"] == label] for label in labels}
    return {label: row for label, row in rows.items() if row}


def columns(
    results: Sequence[Result], problems: Sequence[str], cell: Callable[[list[Result]], str]
) -> str:
    """Return a Markdown table, a row per sampler and a column per problem with results.

    A cell has the text that ``cell`` returns, and the number of seeds.
    """
    shown = [problem for problem in problems if by_label(results, problem)]
    lines = ["| sampler | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    for label in dict.fromkeys(r["rival"] for r in results if r["problem"] in shown):
        cells = []
        for problem in shown:
            rows = by_label(results, problem, [label]).get(label, [])
            cells.append(f"{cell(rows)}, {len(rows)}" if rows else "")
        lines.append(f"| `{label}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table(
    results: Sequence[Result], problems: Sequence[str], cell: Callable[[list[Result]], str]
) -> str:
    """Return a Markdown table, a row per problem and a cell per sampler.

    A cell has the text that ``cell`` returns for a sampler's results on the seeds that all have.
    """
    labels = list(dict.fromkeys(r["rival"] for r in results))
    lines = [
        "| problem | trials | seeds | " + " | ".join(f"`{label}`" for label in labels) + " |",
        "|---|---:|---:|" + "---:|" * len(labels),
    ]
    for problem in problems:
        rows = by_label(results, problem, labels)
        if not rows:
            continue
        common = set.intersection(*({r["seed"] for r in row} for row in rows.values()))
        if not common:
            continue
        cells = []
        for label in labels:
            kept = [r for r in rows.get(label, []) if r["seed"] in common]
            cells.append(cell(kept) if kept else "—")
        n_trials = min(r["n_trials"] for row in rows.values() for r in row)
        lines.append(f"| {problem} | {n_trials} | {len(common)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
