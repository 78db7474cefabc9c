"""Figures 3 to 5 and Table 1 of Wang et al. (2014), beside ours.

It needs runs of the paper's five functions with SOO, BaMSOO and other samplers to compare with::

    run --problems branin-2,rosenbrock-2,hartmann3-3,hartmann6-6,shekel-4 --seeds 0-49
        --rivals SOOSampler,BaMSOOSampler,BaMSOOSampler:published,GPUCBSampler,gp,tpe
        --out bamsoo.jsonl
    run --problems branin-2,rosenbrock-2,hartmann3-3,hartmann6-6,shekel-4,terms-4 --seeds 0-4
        --rivals GPUCBSampler:published,maximiser=direct+gradient,kernel=matern52
        --out bamsoo.jsonl
    run --problems terms-4 --seeds 0-9 --rivals SOOSampler:published,BaMSOOSampler:published
        --trials 100 --out bamsoo.jsonl
    page bamsoo bamsoo.jsonl --out pages
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.report import curves


Result = Mapping[str, Any]
Runs = dict[str, dict[str, list[Result]]]

TERMS = "terms-4"
PROBLEMS = ("branin-2", "rosenbrock-2", "hartmann3-3", "hartmann6-6", "shekel-4")

TABLE_1 = {
    "GP-UCB": (29.9438, 29.5716, 34.0311, 115.2402, 100.7770),
    "BaMSOO": (3.0680, 3.4693, 3.9722, 2.0918, 3.8951),
    "SOO": (0.1810, 0.1835, 0.1871, 0.4313, 0.4350),
}
"""Seconds that the authors measured, on their machine of 2014."""

BEST_PUBLIC = {
    "branin-2": (-0.1, -3.2, -4.4, -5.4),
    "rosenbrock-2": (0.8, 0.0, -1.3, -2.5),
    "hartmann3-3": (-0.1, -1.6, -4.0, -7.5),
    "hartmann6-6": (0.3, -0.1, -1.0, -3.9),
    "shekel-4": (1.0, 1.0, 0.9, -1.0),
}
"""log10 of the loss of the best public BaMSOO (trained Matern-5/2, in two) at CHECKPOINTS."""

DIFFERS = (
    "The paper shows its losses in figures without numbers. It takes hyperparameters as known; "
    "here they are fitted. Its GP-UCB is `GPUCBSampler:published,maximiser=direct+gradient`."
)
REPLACED = (
    "The corpus and the extractor of the paper are in no package. They are replaced by a corpus "
    "that is generated, and an extractor with a support threshold for terms of each length, from "
    "one word to four. The paper shows the F-score; here it is its distance from the "
    "best one: median over seeds after the last trial (quartiles), number of seeds."
)

CHECKPOINTS = (20, 50, 100, 200)
FLOOR = 1e-12


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figures to a folder and return the page."""
    runs: Runs = defaultdict(dict)
    for result in results:
        if result["problem"] in PROBLEMS:
            runs[result["problem"]].setdefault(result["rival"], []).append(result)
    of_terms = [result for result in results if result["problem"] == TERMS]
    if not runs and not of_terms:
        known = ", ".join([*PROBLEMS, TERMS])
        raise ValueError(f"results must hold runs on {known}, but none of {len(results)} is one.")
    lines = ["# Wang et al. (2014): Figures 3 to 5, Table 1", DIFFERS]
    if runs:
        _draw(runs, folder / "bamsoo_loss.png")
        image = "![log10 of the loss, mean and one standard deviation](bamsoo_loss.png)"
        lines += [image, _losses(runs), _times(runs)]
    if of_terms:
        curves.draw(
            [(TERMS, curves.by_label(of_terms, TERMS))],
            curves.regret,
            "F-score below the best",
            folder / "bamsoo_terms.png",
            log=False,
        )
        lines += [
            "## Term extraction (Figure 5)",
            REPLACED,
            curves.columns(of_terms, [TERMS], curves.quartiles),
            "![F-score below the best one](bamsoo_terms.png)",
        ]
    return "\n\n".join(lines)


def log_loss(runs: Sequence[Result]) -> FloatArray:
    """Return log10 of the loss, shape (n_runs, n_trials), cut to the shortest run."""
    n = min(len(run["regret"]) for run in runs)
    return np.log10(np.maximum([run["regret"][:n] for run in runs], FLOOR))


def _losses(runs: Runs) -> str:
    head = [f"after {t}" for t in CHECKPOINTS]
    lines = [
        "Median log10 of the loss over seeds; the last row of each function is the best public "
        "implementation that we know, as measured by running it.",
        "",
        "| function | sampler | seeds | " + " | ".join(head) + " |",
        "|---|---|" + "---:|" * (1 + len(CHECKPOINTS)),
    ]
    for problem in PROBLEMS:
        for rival, of_rival in sorted(runs.get(problem, {}).items()):
            median = np.median(log_loss(of_rival), axis=0)
            cells = [f"{median[t - 1]:.1f}" if t <= len(median) else "—" for t in CHECKPOINTS]
            row = [problem, f"`{rival}`", str(len(of_rival)), *cells]
            lines.append("| " + " | ".join(row) + " |")
        public = [f"{x:.1f}" for x in BEST_PUBLIC[problem]]
        lines.append("| " + " | ".join([problem, "best public", "1-2", *public]) + " |")
    return "\n".join(lines)


def _times(runs: Runs) -> str:
    lines = [
        "CPU seconds of a run, median over seeds, beside the authors' Table 1 (another machine).",
        "",
        "| sampler | " + " | ".join(PROBLEMS) + " |",
        "|---|" + "---:|" * len(PROBLEMS),
    ]
    for rival in sorted({rival for of_problem in runs.values() for rival in of_problem}):
        cells = []
        for problem in PROBLEMS:
            found = runs.get(problem, {}).get(rival)
            total = np.median([r["cpu"]["total"] for r in found]) if found else np.nan
            cells.append(f"{total:.3g}" if found else "—")
        lines.append("| " + " | ".join([f"`{rival}`", *cells]) + " |")
    for name, seconds in TABLE_1.items():
        cells = [f"{s:.3g}" for s in seconds]
        lines.append("| " + " | ".join([f"{name}, the paper", *cells]) + " |")
    return "\n".join(lines)


def _draw(runs: Runs, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = [problem for problem in PROBLEMS if problem in runs]
    figure, axes = plt.subplots(
        1, len(shown), figsize=(4.0 * len(shown), 3.6), squeeze=False, layout="constrained"
    )
    rivals = sorted({rival for problem in shown for rival in runs[problem]})
    for axis, problem in zip(axes[0], shown, strict=True):
        for i, rival in enumerate(rivals):
            if rival not in runs[problem]:
                continue
            curves = log_loss(runs[problem][rival])
            mean, deviation = curves.mean(axis=0), curves.std(axis=0)
            trials = np.arange(1, len(mean) + 1)
            axis.plot(trials, mean, color=f"C{i}", label=rival, linewidth=1.2)
            low, high = mean - deviation, mean + deviation
            axis.fill_between(trials, low, high, color=f"C{i}", alpha=0.15, linewidth=0)
        axis.set(title=problem, xlabel="evaluations")
    axes[0, 0].set_ylabel("log10 of the loss")
    axes[0, -1].legend(fontsize=7)
    figure.savefig(path, dpi=130)
    plt.close(figure)
