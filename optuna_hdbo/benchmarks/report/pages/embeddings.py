"""Embeddings on Branin and Hartmann6 among many parameters without effect, as in their papers.

It wants runs of the embeddings, and whatever to compare them with, on these problems::

    run --problems branin-100,hartmann6-100 --seeds 0-4 --out embeddings.jsonl --rivals
        "random,HeSBOSampler:d=4,HeSBOSampler:d=20,REMBOSampler:d=4,BAxUSSampler"
    page embeddings embeddings.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optuna_hdbo.benchmarks.report import curves
from optuna_hdbo.benchmarks.report.curves import Result


PROBLEMS = ("branin-100", "hartmann6-100", "branin-1000", "hartmann6-1000")


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figure to a folder and return the page."""
    runs = [r for r in results if r["problem"] in PROBLEMS]
    if not runs:
        raise ValueError(
            f"results must hold runs on {', '.join(PROBLEMS)}, but none of {len(results)} is one."
        )
    panels = [(p, rows) for p in PROBLEMS if (rows := curves.by_label(runs, p))]
    image = "embeddings.png"
    curves.draw(panels, lambda r: np.array(r["regret"], np.float64), "regret", folder / image)
    labels = list(dict.fromkeys(r["rival"] for r in runs))
    shown = [problem for problem, _ in panels]
    lines = ["| sampler | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    for label in labels:
        cells = [_cell(curves.by_label(runs, problem).get(label, [])) for problem in shown]
        lines.append(f"| `{label}` | " + " | ".join(cells) + " |")
    return "\n\n".join(
        [
            "# Embeddings",
            "Regret after the last trial: median over seeds (quartiles), number of seeds.",
            "\n".join(lines),
            f"![Regret against trials]({image})",
        ]
    )


def _cell(results: Sequence[Result]) -> str:
    if not results:
        return ""
    low, middle, high = np.quantile([r["regret"][-1] for r in results], [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g}, {high:.3g}), {len(results)}"
