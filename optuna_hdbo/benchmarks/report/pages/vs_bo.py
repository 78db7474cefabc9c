"""Figures 2, 5 and 6 of Shen & Kingsford (2023), beside ours.

It needs runs of ``fbranin-50``, ``fhm6-50`` and ``fst4-50`` with ``VSBOSampler``, with or without
settings, and other samplers to compare with. The paper's rivals are among the baselines::

    run --problems fbranin-50,fhm6-50,fst4-50 --rivals gp,tpe,VSBOSampler,VSBOSampler:published
        --seeds 0-19 --out vs_bo.jsonl
    run --problems fbranin-50,fhm6-50,fst4-50 --seeds 0-19 --out vs_bo.jsonl --rivals
        "HeSBOSampler:d=4,HeSBOSampler:d=6,REMBOSampler:d=4,REMBOSampler:d=6,EISampler"
    page vs_bo vs_bo.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.report import curves


Result = Mapping[str, Any]

AUTHORS = {"fbranin-50": 0.59, "fhm6-50": 0.40, "fst4-50": 7.3}
"""Median regret of the authors' code after 205 trials: three, three and one runs."""

SETTLED = 3
"""Number of the first selection that counts in the shares: earlier ones have few data."""

BLOCKS = ("main", "a tenth", "a hundredth", "inert")


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often each variable was selected, over all runs of a sampler on a problem.

    Parameters
    ----------
    counts : FloatArray, shape (D,)
        Selections that hold the variable, in the paper's order: the main block, its copies,
        inert variables.
    n_selections : int
        How many selections there are.
    sizes : tuple of int
        Variables of each block.
    per_selection : FloatArray, shape (settled selections, 4)
        Variables of each block in every selection from the third on.
    """

    counts: FloatArray
    n_selections: int
    sizes: tuple[int, ...]
    per_selection: FloatArray

    def hit_rate(self) -> float:
        """Return the share of the main variables that settled selections hold."""
        return float(self.per_selection[:, 0].mean()) / self.sizes[0]


def frequencies(results: Sequence[Result]) -> Frequencies:
    """Count the selections of runs on one problem, each with its own order of the variables."""
    counts: FloatArray = np.zeros(0)
    n_selections, settled = 0, []
    sizes: tuple[int, ...] = ()
    for result in results:
        problem = catalogue.make(result["problem"], result["seed"])
        assert problem.groups is not None
        blocks = (*problem.groups, problem.inert)
        sizes = tuple(len(block) for block in blocks)
        place = {name: i for i, name in enumerate(n for block in blocks for n in block)}
        counts = np.zeros(problem.dim) if n_selections == 0 else counts
        for k, names in enumerate(result["selections"], start=1):
            n_selections += 1
            counts[[place[name] for name in names]] += 1
            if k > SETTLED:
                settled.append([len(set(names) & set(block)) for block in blocks])
    return Frequencies(counts, n_selections, sizes, np.array(settled).reshape(-1, 4))


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figures to a folder and return the page."""
    runs = [r for r in results if r["problem"] in AUTHORS]
    if not any("selections" in r for r in runs):
        raise ValueError(
            f"results must hold runs of VSBOSampler on {', '.join(AUTHORS)}, but none of "
            f"{len(results)} is one."
        )
    labels = list(dict.fromkeys(r["rival"] for r in runs))
    selecting = [
        label for label in labels if any(r["rival"] == label and "selections" in r for r in runs)
    ]
    return "\n\n".join(
        [
            "# VS-BO: the paper's figures",
            "## Regret (Figure 2)",
            "Median over seeds after the last trial (quartiles). The authors' code was run once, "
            "with 5 + 200 trials, on three seeds (Styblinski-Tang: one).",
            _regrets(runs, labels),
            _draw_best(runs, folder),
            "## Selected variables (Figure 5)",
            f"Selections after number {SETTLED}; `main` is the share of the main variables that a "
            "selection holds, the other columns count variables per selection.",
            _shares(runs, selecting),
            _draw_frequencies(runs, selecting[0], folder),
            "## Time per trial (Figure 6)",
            "CPU time of a trial on one thread, median over seeds.",
            _draw_times(runs, labels, folder),
        ]
    )


def _of(runs: Sequence[Result], problem: str, label: str) -> list[Result]:
    return [r for r in runs if r["problem"] == problem and r["rival"] == label]


def _regrets(runs: Sequence[Result], labels: Sequence[str]) -> str:
    lines = ["| sampler | " + " | ".join(AUTHORS) + " |", "|---|" + "---|" * len(AUTHORS)]
    lines.append("| authors' code | " + " | ".join(f"{v:g}" for v in AUTHORS.values()) + " |")
    for label in labels:
        cells = []
        for problem in AUTHORS:
            last = [r["regret"][-1] for r in _of(runs, problem, label)]
            if not last:
                cells.append("")
                continue
            low, middle, high = np.quantile(last, [0.25, 0.5, 0.75])
            cells.append(f"{middle:.3g} ({low:.3g}, {high:.3g}), {len(last)} seeds")
        lines.append(f"| `{label}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _draw_best(runs: Sequence[Result], folder: Path) -> str:
    """Draw Figure 2, with regrets instead of best values."""
    panels = [(p, rows) for p in AUTHORS if (rows := curves.by_label(runs, p))]
    path = folder / "vs_bo_regret.png"
    curves.draw(panels, lambda r: np.array(r["regret"], np.float64), "regret", path)
    return "![Regret against trials](vs_bo_regret.png)"


def _shares(runs: Sequence[Result], labels: Sequence[str]) -> str:
    lines = [
        "| sampler | problem | runs | main | " + " | ".join(BLOCKS[1:]) + " |",
        "|---|---|---:|---:|" + "---:|" * (len(BLOCKS) - 1),
    ]
    for label in labels:
        for problem in AUTHORS:
            chosen = [r for r in _of(runs, problem, label) if "selections" in r]
            if not chosen:
                continue
            found = frequencies(chosen)
            others = " | ".join(f"{x:.2f}" for x in found.per_selection.mean(axis=0)[1:])
            lines.append(
                f"| `{label}` | {problem} | {len(chosen)} | {found.hit_rate():.0%} | {others} |"
            )
    return "\n".join(lines)


def _axes(n: int) -> tuple[Any, Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, n, figsize=(4.5 * n, 3.2), layout="constrained", squeeze=False)
    return plt, figure, axes[0]


def _draw_frequencies(runs: Sequence[Result], label: str, folder: Path) -> str:
    shown = [p for p in AUTHORS if any("selections" in r for r in _of(runs, p, label))]
    plt, figure, axes = _axes(len(shown))
    for axis, problem in zip(axes, shown, strict=True):
        chosen = [r for r in _of(runs, problem, label) if "selections" in r]
        found = frequencies(chosen)
        start = 0
        for block, size in zip(BLOCKS, found.sizes, strict=True):
            stop = start + size
            axis.bar(range(start + 1, stop + 1), found.counts[start:stop], label=block)
            start = stop
        axis.set(title=problem, xlabel="variable", ylabel=f"of {found.n_selections} selections")
    axes[0].legend(fontsize="small")
    figure.savefig(folder / "vs_bo_selected.png", dpi=120)
    plt.close(figure)
    return "![How often each variable was selected](vs_bo_selected.png)"


def _draw_times(runs: Sequence[Result], labels: Sequence[str], folder: Path) -> str:
    plt, figure, axes = _axes(1)
    problem = next(p for p in AUTHORS if any(r["problem"] == p for r in runs))
    for label in labels:
        chosen = [r["cpu"]["per_trial"] for r in _of(runs, problem, label)]
        if chosen:
            shortest = min(len(c) for c in chosen)
            medians = np.median([c[:shortest] for c in chosen], axis=0)
            axes[0].plot(range(1, shortest + 1), medians, label=label, linewidth=1.0)
    axes[0].set(title=problem, xlabel="trial", ylabel="seconds", yscale="log")
    axes[0].legend(fontsize="small")
    figure.savefig(folder / "vs_bo_time.png", dpi=120)
    plt.close(figure)
    return "![Time per trial](vs_bo_time.png)"
