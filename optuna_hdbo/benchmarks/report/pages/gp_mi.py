"""Figures 1 to 4 of Contal et al. (2014): average regret, and what delta does to it.

Figures 1 and 2 need no runs. The others need runs of the eight problems with GP-MI, with GP-UCB
and with expected improvements on the same model, and of ``himmelblau-2`` with other deltas::

    run --problems himmelblau-2,branin-2,goldstein-2,mixture-2,gp-2,gp-4,gp-5,mackeyglass-6
        --rivals "GPMISampler:alternate=False,GPMISampler:alternate=False,exploration=ucb"
        --seeds 0-19 --out gp_mi.jsonl
    run --problems himmelblau-2,branin-2,goldstein-2,mixture-2,gp-2,gp-4,gp-5,mackeyglass-6
        --rivals "GPMISampler:published,GPMISampler:published,exploration=ucb,EISampler:published"
        --seeds 0-19 --out gp_mi.jsonl
    run --problems himmelblau-2 --seeds 0-19 --out gp_mi.jsonl --rivals
        "GPMISampler:alternate=False,delta=1e-9,GPMISampler:alternate=False,delta=0.1"
    page gp_mi gp_mi.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optuna_hdbo.benchmarks.report import curves
from optuna_hdbo.benchmarks.report import illustrations
from optuna_hdbo.benchmarks.report.curves import Result


PROBLEMS = {
    "gp-2": "(a) generated, d = 2",
    "gp-4": "(b) generated, d = 4",
    "mixture-2": "(c) Gaussian mixture",
    "himmelblau-2": "(d) Himmelblau, tilted",
    "branin-2": "(e) Branin",
    "goldstein-2": "(f) Goldstein-Price",
    "gp-5": "(g) generated, d = 5, for the tsunami data",
    "mackeyglass-6": "(h) Mackey-Glass",
}

SURFACES = ("mixture-2", "himmelblau-2", "branin-2", "goldstein-2")

DIFFERS = (
    "The paper's figures have no numbers. It fits hyperparameters beforehand, on half of a data "
    "set, and knows those of generated functions. Here the sampler fits them while it runs, "
    "unless its settings have `kernel_params`. The tsunami data are not public: a draw of a "
    "process in five dimensions replaces them. The peaks of the mixture and the domain of the "
    "generated functions are ours, because the paper does not say them."
)


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figures to a folder and return the page."""
    runs = [r for r in results if r["problem"] in PROBLEMS and "average_regret" in r]
    if not runs:
        raise ValueError(
            f"results must hold runs on {', '.join(PROBLEMS)} with average_regret, but none of "
            f"{len(results)} is one."
        )
    of_delta = [r for r in runs if "delta=" in r["rival"]]
    plain = [r for r in runs if "delta=" not in r["rival"]]
    illustrations.inference(folder / "gp_mi_figure1.png")
    illustrations.surfaces(SURFACES, folder / "gp_mi_figure2.png")
    lines = [
        "# GP-MI: the paper's figures",
        DIFFERS,
        "![Inference in one dimension (Figure 1)](gp_mi_figure1.png)",
        "![The functions of two parameters (Figure 2)](gp_mi_figure2.png)",
    ]
    panels = [(PROBLEMS[p], rows) for p in PROBLEMS if (rows := curves.by_label(plain, p))]
    if panels:
        curves.draw(panels, curves.average_regret, "average regret", folder / "gp_mi_figure3.png")
        lines += [
            "## Average regret (Figure 3)",
            "$R_T / T$ at the last trial, startup included: mean over seeds, and the standard "
            "error of the mean.",
            table(plain),
            "![Average regret](gp_mi_figure3.png)",
        ]
    base = [r for r in plain if r["rival"].startswith("GPMISampler") and "ucb" not in r["rival"]]
    deltas = curves.by_label([*of_delta, *base], "himmelblau-2")
    if of_delta and deltas:
        path = folder / "gp_mi_figure4.png"
        curves.draw(
            [(PROBLEMS["himmelblau-2"], deltas)], curves.average_regret, "average regret", path
        )
        lines += [
            "## The influence of delta (Figure 4)",
            "Without a setting, delta is 1e-6.",
            table([r for rows in deltas.values() for r in rows]),
            "![The influence of delta](gp_mi_figure4.png)",
        ]
    return "\n\n".join(lines)


def _mean(results: Sequence[Result]) -> str:
    values = [r["mean_regret"] for r in results]
    return f"{np.mean(values):.3g} ± {np.std(values) / np.sqrt(len(values)):.2g}"


def table(results: Sequence[Result]) -> str:
    """Return the mean average regret of every sampler on every problem, as Markdown."""
    return curves.table(results, list(PROBLEMS), _mean)
