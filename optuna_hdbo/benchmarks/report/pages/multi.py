"""Several objectives: hypervolumes, seconds, and fronts beside those of other samplers.

It needs runs of the family ``multi``, or of another one of several objectives::

    run --problems multi --rivals HDBOSampler,gp,tpe-default,nsga2 --seeds 0-9 --out multi.jsonl
    page multi multi.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo.benchmarks.problems.suites import multi
from optuna_hdbo.benchmarks.rivals import registry


Result = Mapping[str, Any]
Runs = dict[str, dict[str, list[Result]]]

SHOWN = ("zdt1", "zdt3", "wfg4", "wfg9")
"""Problems of two objectives whose fronts are drawn, where there are results."""


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figure to a folder and return the page."""
    kept = [r for r in results if "hypervolume" in r and multi.is_known(r["problem"])]
    if not kept:
        raise ValueError(
            "results must hold runs on problems with several objectives, but none of "
            f"{len(results)} is one."
        )
    names = [n for p in multi.NAMES.values() for n in p if any(r["problem"] == n for r in kept)]
    order = {label: i for i, label in enumerate(registry.RIVALS)}
    labels = sorted({r["rival"] for r in kept}, key=lambda r: (order.get(r, -1), r))
    runs: Runs = {n: {label: _common(kept, n, label) for label in labels} for n in names}
    n_trials = max(r["n_trials"] for r in kept)
    lines = [
        f"Median hypervolume after {n_trials} trials, and how many runs there are. The largest of "
        "a row is bold.",
        "",
        "| problem | " + " | ".join(f"`{label}`" for label in labels) + " |",
        "|---|" + "---:|" * len(labels),
        *(_row(name, runs[name], labels) for name in names),
        "",
        "CPU seconds of a run, on the problems that both have, and how many of these problems the "
        f"first sampler, `{labels[0]}`, is at or above the other on.",
        "",
        "| sampler | at or above | CPU s | CPU s of the first |",
        "|---|---:|---:|---:|",
        *(_comparison(runs, labels[0], label) for label in labels[1:]),
    ]
    shown = [name for name in SHOWN if name in names]
    if shown:
        lines += ["", _draw({name: runs[name] for name in shown}, folder)]
    return "\n".join(lines)


def _common(results: Sequence[Result], name: str, label: str) -> list[Result]:
    """Return the runs of a sampler on a problem: by seed, of each the longest one."""
    found: dict[int, Result] = {}
    for result in sorted(results, key=lambda r: r["n_trials"]):
        if (result["problem"], result["rival"]) == (name, label):
            found[result["seed"]] = result
    return [found[seed] for seed in sorted(found)]


def _reached(runs: Sequence[Result]) -> float:
    return float(np.median([run["hypervolume"][-1] for run in runs]))


def _row(name: str, runs: Mapping[str, list[Result]], labels: Sequence[str]) -> str:
    best = max(_reached(of_label) for of_label in runs.values() if of_label)
    cells = []
    for label in labels:
        if not runs[label]:
            cells.append("")
            continue
        reached = _reached(runs[label])
        text = f"{reached:.5g}"
        cells.append(f"{f'**{text}**' if reached == best else text} ({len(runs[label])})")
    return f"| {name} | " + " | ".join(cells) + " |"


def _comparison(runs: Runs, ours: str, other: str) -> str:
    """Compare on the seeds that both samplers have."""
    wins, seconds = [], []
    for of_problem in runs.values():
        pairs = [
            (a, b) for a in of_problem[ours] for b in of_problem[other] if a["seed"] == b["seed"]
        ]
        if pairs:
            wins.append(_reached([a for a, _ in pairs]) >= _reached([b for _, b in pairs]))
            seconds += [(a["cpu"]["total"], b["cpu"]["total"]) for a, b in pairs]
    if not wins:
        return f"| `{other}` | | | |"
    mine, theirs = np.mean(seconds, axis=0)
    return f"| `{other}` | {sum(wins)} of {len(wins)} | {theirs:.3g} | {mine:.3g} |"


def _draw(runs: Runs, folder: Path) -> str:
    """Draw every sampler's front in its run of median hypervolume."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    size = (4.0 * len(runs), 3.4)
    figure, axes = plt.subplots(1, len(runs), figsize=size, squeeze=False, layout="constrained")
    for axis, (name, of_problem) in zip(axes[0], runs.items(), strict=True):
        for i, (label, of_label) in enumerate(of_problem.items()):
            if of_label:
                ranked = sorted(of_label, key=lambda run: run["hypervolume"][-1])
                front = np.array(sorted(ranked[len(ranked) // 2]["front"]))
                axis.plot(*front.T[:2], ".-", color=f"C{i}", label=label, lw=0.6, ms=4)
        axis.set(title=name, xlabel="first objective")
    axes[0, 0].set_ylabel("second objective")
    axes[0, -1].legend(fontsize=7)
    figure.savefig(folder / "multi_fronts.png", dpi=120)
    plt.close(figure)
    return "![Fronts after the last trial, in the run of median hypervolume](multi_fronts.png)"
