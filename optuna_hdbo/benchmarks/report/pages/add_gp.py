"""Figures 3, 4 and 5 of Kandasamy et al. (2015): regrets, with group sizes against the truth.

It needs runs of the nine settings (D, d', M') of the trimodal function with known groups, with
learned groups of several sizes, with GP-UCB, DIRECT and random search; and of the substitutes for
the paper's data::

    run --problems trimodal-10-3-3,trimodal-24-11-2 --seeds 0-19 --out add_gp.jsonl --rivals
        "random,DIRECTSampler,GPUCBSampler:published,
        AddGPUCBSampler:published,decomposition=known,max_group_size=60,ungrouped=centre,
        AddGPUCBSampler:published,max_group_size=1,AddGPUCBSampler:published,max_group_size=3"
    run --problems supernovae-20,cascade-22 --seeds 0-9 --trials 400 --out add_gp.jsonl --rivals
        "random,DIRECTSampler,GPUCBSampler:published,EISampler:maximiser=direct,REMBOSampler:d=9,
        AddGPUCBSampler:published,max_group_size=5"
    page add_gp add_gp.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from optuna_hdbo.benchmarks.report import curves
from optuna_hdbo.benchmarks.report.curves import Result


FIGURES = {
    3: ("10-3-3", "24-6-4", "24-11-2", "40-5-8", "40-18-2", "40-35-1"),
    4: ("96-5-19", "96-29-3", "120-55-2"),
}
SUBSTITUTES = {
    "supernovae-20": "nine parameters of twenty",
    "cascade-22": "22 thresholds",
}

DIFFERS = (
    "A problem's name has D, d' and M': the parameters, the true size of the groups and their "
    "number. `max_group_size` is the paper's d, and `decomposition=known` its Add-star. Random "
    "startup trials count, and the average regret includes them. The paper's figures have no "
    "numbers, and averages of 20 runs."
)
REPLACED = (
    "Both data sets are replaced, because no package has them. The galaxies are simulated "
    "supernovae: nine cosmological parameters among twenty, as in the paper. The face detector is "
    "a cascade of 22 stages on scikit-learn's digits. The paper shows the largest value so far; "
    "here it is the distance from the largest likelihood, and the share of wrong answers."
)


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figures to a folder and return the page."""
    settings = [f"trimodal-{name}" for names in FIGURES.values() for name in names]
    known = [*settings, *SUBSTITUTES]
    runs = [r for r in results if r["problem"] in known]
    if not runs:
        raise ValueError(
            f"results must hold runs on {', '.join(known)}, but none of {len(results)} is one."
        )
    lines = ["# Add-GP-UCB: the paper's figures", DIFFERS]
    for number, names in FIGURES.items():
        problems = [f"trimodal-{name}" for name in names]
        panels = [(p, rows) for p in problems if (rows := curves.by_label(runs, p))]
        if not panels:
            continue
        simple, average = f"add_gp_figure{number}.png", f"add_gp_figure{number}_average.png"
        curves.draw(panels, curves.regret, "simple regret", folder / simple)
        curves.draw(panels, curves.average_regret, "average regret", folder / average)
        lines += [
            f"## Synthetic functions (Figure {number})",
            "Simple regret after the last trial: median over seeds (quartiles), number of seeds.",
            curves.columns(runs, problems, curves.quartiles),
            f"![Simple regret]({simple})",
            "Average regret $R_T / T$ after the last trial: mean over seeds, number of seeds.",
            curves.columns(runs, problems, _mean),
            f"![Average regret]({average})",
        ]
    panels = [
        (f"{p}: {title}", rows)
        for p, title in SUBSTITUTES.items()
        if (rows := curves.by_label(runs, p))
    ]
    if panels:
        curves.draw(panels, curves.regret, "regret", folder / "add_gp_figure5.png")
        lines += [
            "## Astrophysics and cascade (Figure 5)",
            REPLACED,
            curves.columns(runs, list(SUBSTITUTES), curves.quartiles),
            "![Regret on the substitutes](add_gp_figure5.png)",
        ]
    return "\n\n".join(lines)


def _mean(results: Sequence[Result]) -> str:
    return f"{sum(r['mean_regret'] for r in results) / len(results):.3g}"
