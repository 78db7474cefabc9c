"""Embeddings on Branin and Hartmann6 among many parameters without effect, as in their papers.

It wants runs of the embeddings, and whatever to compare them with, on these problems::

    run --problems branin-100,hartmann6-100 --seeds 0-4 --out embeddings.jsonl --rivals
        "random,HeSBOSampler:d=4,HeSBOSampler:d=20,REMBOSampler:d=4,BAxUSSampler"
    page embeddings embeddings.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
    curves.draw(panels, curves.regret, "regret", folder / image)
    return "\n\n".join(
        [
            "# Embeddings",
            "Regret after the last trial: median over seeds (quartiles), number of seeds.",
            curves.columns(runs, PROBLEMS, curves.quartiles),
            f"![Regret against trials]({image})",
        ]
    )
