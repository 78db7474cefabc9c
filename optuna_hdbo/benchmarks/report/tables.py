"""Tables and plots of a results file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.instances import Purpose
from optuna_hdbo.benchmarks.rivals import registry


CHECKPOINTS = (50, 100, 200)
_SMALLEST = 1e-8  # regrets below are drawn here: a logarithmic axis has no zero

Result = Mapping[str, Any]
Grouped = dict[str, dict[str, list[Result]]]


def group(
    results: Sequence[Result],
    *,
    purpose: Purpose,
    labels: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    common_seeds: bool = False,
) -> Grouped:
    """Sort results by problem, then rival, both in the order of the package or the argument.

    Parameters
    ----------
    results : sequence of mappings
        What :func:`optuna_hdbo.benchmarks.runner.read` returns.
    purpose : {"report", "tune"}
        Which problems to keep.
    labels, names : sequence of str, optional
        The rivals and problems to keep; all by default.
    common_seeds : bool
        Keep only the seeds of a problem that all of its rivals have.

    Returns
    -------
    dict
        Of each problem and rival one result per seed: the longest, and of equals the latest.
    """
    found: dict[tuple[str, str], dict[int, Result]] = defaultdict(dict)
    for result in sorted(results, key=lambda r: r["n_trials"]):
        if result["purpose"] == purpose and _has_regret(result):
            found[result["problem"], result["rival"]][result["seed"]] = result
    if labels is None:
        order = {name: i for i, name in enumerate(registry.RIVALS)}
        labels = sorted({rival for _, rival in found}, key=lambda r: (order.get(r, len(order)), r))
    grouped: Grouped = {}
    known = [*catalogue.NAMES[purpose], *chain(*catalogue.FAMILIES.values())]
    for name in dict.fromkeys(known) if names is None else names:
        rows = {label: found[name, label] for label in labels if (name, label) in found}
        if not rows:
            continue
        seeds = set.union(*(set(row) for row in rows.values()))
        if common_seeds:
            seeds = set.intersection(*(set(row) for row in rows.values()))
        kept = {label: [row[s] for s in sorted(seeds & set(row))] for label, row in rows.items()}
        if seeds:
            grouped[name] = kept
    return grouped


def _has_regret(result: Result) -> bool:
    """Tell whether a result is one of a single objective, with its times."""
    return "regret" in result and "per_trial" in result.get("cpu", {})


def nothing(results: Sequence[Result]) -> str:
    """Return why results have no table: what they are of."""
    if not results:
        return "the files have no results."
    told = [
        f"{key} {', '.join(sorted({str(result[key]) for result in results}))}"
        for key in ("problem", "rival", "purpose")
    ]
    several = "" if any(map(_has_regret, results)) else " None has a regret: see 'page multi'."
    return f"no result matches. The files have {'; '.join(told)}.{several}"


def markdown(grouped: Grouped, *, baseline: str = "gp") -> str:
    """Return one Markdown table per problem, and a paragraph that says how to read them."""
    checkpoints = _checkpoints(grouped)
    head = ["sampler", "seeds", *(f"{t} trials" for t in checkpoints), "ms per trial", "mean"]
    head.insert(-2, "average")
    head.append(f"time / {baseline}")
    lines = [
        f"Regret after {_listed(checkpoints)} trials: median over seeds (lower quartile, upper "
        "quartile). The average is that of all trials of a run, R_T / T, and its mean over seeds. "
        "Time is the sampler's CPU time per trial on one thread, startup trials left "
        "out: the median and the mean over a run's trials, then the median over runs. The last "
        f"column divides the mean by that of {baseline}.",
    ]
    for name, rows in grouped.items():
        lines += ["", f"### {name}", "", _row(head), "|---|" + "---:|" * (len(head) - 1)]
        times = {label: _milliseconds(runs) for label, runs in rows.items()}
        base = times[baseline][1] if baseline in times else None
        for label, runs in rows.items():
            cells = [f"`{label}`", str(len(runs))]
            cells += [_regret(runs, t) for t in checkpoints]
            cells.append(f"{np.mean([run['mean_regret'] for run in runs]):.3g}")
            cells += [f"{ms:.3g}" for ms in times[label]]
            cells.append("—" if base is None else f"{times[label][1] / base:.2g}")
            lines.append(_row(cells))
    return "\n".join([*lines, "", _versions(grouped)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _listed(numbers: Sequence[int]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _all_runs(grouped: Grouped) -> list[Result]:
    return [run for rows in grouped.values() for runs in rows.values() for run in runs]


def _checkpoints(grouped: Grouped) -> list[int]:
    longest = max(
        r["n_trials"] for rows in grouped.values() for runs in rows.values() for r in runs
    )
    return [t for t in CHECKPOINTS if t <= longest] or [longest]


def _regret(runs: Sequence[Result], n_trials: int) -> str:
    reached = [run["regret"][n_trials - 1] for run in runs if len(run["regret"]) >= n_trials]
    if not reached:
        return "—"
    low, median, high = np.quantile(reached, [0.25, 0.5, 0.75])
    numbers = f"{median:.3g} ({low:.3g}, {high:.3g})"
    return numbers if len(reached) == len(runs) else f"{numbers}, {len(reached)} seeds"


def _milliseconds(runs: Sequence[Result]) -> tuple[float, float]:
    """Return the median and the mean CPU ms per trial; medians over runs.

    A worker's first run also pays for imports and compilation: in the median over runs that does
    not show.
    """
    rows = []
    for run in runs:
        seconds = np.array(run["cpu"]["per_trial"])
        n_startup = (
            registry.N_STARTUP_TRIALS if len(seconds) > 2 * registry.N_STARTUP_TRIALS else 0
        )
        rows.append([np.median(seconds[n_startup:]), seconds[n_startup:].mean()])
    median, mean = 1e3 * np.median(np.array(rows), axis=0)
    return float(median), float(mean)


def _versions(grouped: Grouped) -> str:
    found: dict[str, set[str]] = defaultdict(set)
    for run in _all_runs(grouped):
        for package, version in run["versions"].items():
            found[package].add(version)
    return "Versions: " + "; ".join(f"{p} {', '.join(sorted(v))}" for p, v in found.items()) + "."


def plot(grouped: Grouped, path: Path) -> None:
    """Draw regret against trials, one panel per problem: median and quartiles over seeds."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    n_columns = min(3, len(grouped))
    n_rows = -(-len(grouped) // n_columns)
    size = (4.5 * n_columns, 3.3 * n_rows + 0.6)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    labels = list(dict.fromkeys(label for rows in grouped.values() for label in rows))
    colours = {label: f"C{i % 10}" for i, label in enumerate(labels)}
    lines: dict[str, Any] = {}
    for axis, (name, rows) in zip(axes.flat, grouped.items(), strict=False):
        for label, runs in rows.items():
            low, median, high = np.quantile(_curves(runs), [0.25, 0.5, 0.75], axis=0)
            trials = np.arange(1, len(median) + 1)
            (lines[label],) = axis.plot(trials, median, color=colours[label], label=label)
            axis.fill_between(trials, low, high, color=colours[label], alpha=0.15, linewidth=0)
        axis.set(title=name, yscale="log", xlabel="trials", ylabel="regret")
    for axis in axes.flat[len(grouped) :]:
        axis.set_axis_off()
    columns = min(4, len(lines))
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=columns)
    figure.tight_layout(rect=(0.0, 0.04 * -(-len(lines) // columns), 1.0, 1.0))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _curves(runs: Sequence[Result]) -> FloatArray:
    """Return the regret curves of runs, cut to the shortest, shape (n_runs, n_trials)."""
    n_trials = min(len(run["regret"]) for run in runs)
    return np.maximum([run["regret"][:n_trials] for run in runs], _SMALLEST)
