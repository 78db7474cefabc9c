"""Figures 2 to 10 of Shen & Kingsford (2023), beside ours.

It needs runs of ``fbranin-50``, ``fhm6-50`` and ``fst4-50`` with ``VSBOSampler``, with or without
settings, and other samplers to compare with. The paper's rivals are among the baselines::

    run --problems fbranin-50,fhm6-50,fst4-50 --rivals gp,tpe,VSBOSampler,VSBOSampler:published
        --seeds 0-19 --out vs_bo.jsonl
    run --problems fbranin-50,fhm6-50,fst4-50 --seeds 0-19 --out vs_bo.jsonl --rivals
        "HeSBOSampler:d=4,HeSBOSampler:d=6,REMBOSampler:d=4,REMBOSampler:d=6,EISampler,
        VSBOSampler:published,unimportant=mix"
    run --problems rover-60,vehicle-124,rotatedhm6-100 --seeds 0-4 --out vs_bo.jsonl --rivals
        "VSBOSampler:published,REMBOSampler:d=6,HeSBOSampler:d=6,EISampler"
    page vs_bo vs_bo.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optuna_hdbo.benchmarks.report import curves
from optuna_hdbo.benchmarks.report import selections
from optuna_hdbo.benchmarks.report.curves import Result
from optuna_hdbo.benchmarks.report.illustrations import panels


AUTHORS = {"fbranin-50": 0.59, "fhm6-50": 0.40, "fst4-50": 7.3}
"""Median regret of the authors' code after 205 trials: three, three and one runs."""

REAL = ("rover-60", "vehicle-124", "mopta08-124")
ROTATED = ("rotatedhm6-100",)
MIX = "unimportant=mix"

DIFFERS = (
    "The paper shows best values in figures without numbers: means of 20 runs with 1/8 of a "
    "standard deviation. Here they are regrets, and bands are 95 % confidence intervals. "
    "Positions and directions of the variables are drawn for every seed. Vanilla BO is "
    "`EISampler`, and Dragonfly's Add-GP is `AddGPUCBSampler:published`."
)
REPLACED = (
    "Rover's obstacles are drawn for every seed. The program of MOPTA08 is in no package. Where "
    "it is at hand, `mopta08-124` runs it. `vehicle-124` replaces it by a convex design of 124 "
    "sizes under 68 constraints, with the same penalty and a known optimum. The optima of the "
    "other two are not known, and their regrets are distances from bounds."
)


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figures to a folder and return the page."""
    known = [*AUTHORS, *REAL, *ROTATED]
    every = [r for r in results if r["problem"] in known]
    if not any("selections" in r for r in every):
        raise ValueError(
            f"results must hold runs of VSBOSampler on {', '.join(known)}, but none of "
            f"{len(results)} is one."
        )
    runs = [r for r in every if MIX not in r["rival"]]
    mixed = [r for r in every if MIX in r["rival"]]
    mixed_from = {r["rival"].replace(f",{MIX}", "").replace(f":{MIX}", "") for r in mixed}
    pairs = [*(r for r in runs if r["rival"] in mixed_from), *mixed]
    lines = ["# VS-BO: the paper's figures", DIFFERS]
    lines += _regrets(runs, list(AUTHORS), "Regret (Figure 2)", "regret", folder, AUTHORS)
    lines += _times(runs, list(AUTHORS), "Regret over time (Figure 4)", "time_of_regret", folder)
    lines += _selected(runs, folder)
    lines += _per_trial(runs, folder)
    real = _regrets(runs, list(REAL), "Rover and a design (Figure 3)", "real", folder)
    lines += [*real[:1], REPLACED, *real[1:]] if real else []
    lines += _times(runs, list(REAL), "Rover and a design over time (Figure 8)", "real", folder)
    lines += _sampled(runs, folder)
    lines += _regrets(runs, list(ROTATED), "Rotated Hartmann6 (Figure 7)", "rotated", folder)
    if mixed:
        lines += _regrets(pairs, list(AUTHORS), "VSBO mix (Figure 10)", "mix", folder)
    return "\n\n".join(lines)


def _panels(runs: Sequence[Result], problems: Sequence[str]) -> list[curves.Panel]:
    return [(p, rows) for p in problems if (rows := curves.by_label(runs, p))]


def _regrets(
    runs: Sequence[Result],
    problems: Sequence[str],
    title: str,
    name: str,
    folder: Path,
    authors: dict[str, float] | None = None,
) -> list[str]:
    """Return a section with a table of the last regrets and an image of all."""
    shown = _panels(runs, problems)
    if not shown:
        return []
    image = f"vs_bo_{name}.png"
    curves.draw(shown, curves.regret, "regret", folder / image)
    table = curves.columns(runs, problems, curves.quartiles).split("\n")
    text = "Median over seeds after the last trial (quartiles), number of seeds."
    if authors:
        cells = [f"{authors[p]:g}" for p, _ in shown]
        table.insert(2, "| authors' code | " + " | ".join(cells) + " |")
        text += (
            " The authors' code was run once, with 5 + 200 trials, on three seeds "
            "(Styblinski-Tang: one)."
        )
    return [f"## {title}", text, "\n".join(table), f"![Regret against trials]({image})"]


def _times(
    runs: Sequence[Result], problems: Sequence[str], title: str, name: str, folder: Path
) -> list[str]:
    """Return a section with images of regrets over wall and CPU seconds of the sampler."""
    shown = _panels(runs, problems)
    if not shown:
        return []
    lines = [
        f"## {title}",
        "Seconds of the sampler, without those of the objective, on one thread.",
    ]
    for kind, against in (("wall", curves.wall_seconds), ("cpu", curves.seconds)):
        if not all(
            "per_trial" in r.get(kind, {}) for _, rows in shown for s in rows.values() for r in s
        ):
            continue
        image = f"vs_bo_{name}_{kind}.png"
        curves.draw(
            shown,
            curves.regret,
            "regret",
            folder / image,
            against=against,
            xlabel=f"{kind} seconds",
        )
        lines.append(f"![Regret against {kind} seconds]({image})")
    return lines


def _of(runs: Sequence[Result], problem: str, label: str) -> list[Result]:
    return [r for r in runs if r["problem"] == problem and r["rival"] == label]


def _selecting(runs: Sequence[Result], problem: str, label: str) -> list[Result]:
    return [r for r in _of(runs, problem, label) if "selections" in r]


def _labels(runs: Sequence[Result], problems: Sequence[str]) -> list[str]:
    chosen = [r for r in runs if r["problem"] in problems and "selections" in r]
    return list(dict.fromkeys(r["rival"] for r in chosen))


def _selected(runs: Sequence[Result], folder: Path) -> list[str]:
    labels = _labels(runs, list(AUTHORS))
    if not labels:
        return []
    rows = [(label, p, _selecting(runs, p, label)) for label in labels for p in AUTHORS]
    first = {p: found for p in AUTHORS if (found := _selecting(runs, p, labels[0]))}
    selections.draw(first, folder / "vs_bo_selected.png")
    return [
        "## Selected variables (Figure 5)",
        f"Selections after number {selections.SETTLED}; `main` is the share of the main variables "
        "that a selection holds, the other columns count variables per selection.",
        selections.table([row for row in rows if row[2]]),
        "![How often each variable was selected](vs_bo_selected.png)",
    ]


def _per_trial(runs: Sequence[Result], folder: Path) -> list[str]:
    problem = next((p for p in AUTHORS if any(r["problem"] == p for r in runs)), None)
    if problem is None:
        return []
    plt, figure, axes = panels(1)
    for label in dict.fromkeys(r["rival"] for r in runs):
        chosen = [r["cpu"]["per_trial"] for r in _of(runs, problem, label)]
        if chosen:
            shortest = min(len(c) for c in chosen)
            medians = np.median([c[:shortest] for c in chosen], axis=0)
            axes[0].plot(range(1, shortest + 1), medians, label=label, linewidth=1.0)
    axes[0].set(title=problem, xlabel="trial", ylabel="seconds", yscale="log")
    axes[0].legend(fontsize="small", loc="upper left")
    figure.savefig(folder / "vs_bo_time.png", dpi=120)
    plt.close(figure)
    return [
        "## Time per trial (Figure 6)",
        "CPU time of a trial on one thread, median over seeds. The paper has separate times for "
        "the fit and for the acquisition function; here they are together.",
        "![Time per trial](vs_bo_time.png)",
    ]


def _sampled(runs: Sequence[Result], folder: Path) -> list[str]:
    with_points = [r for r in runs if "best_point" in r]
    labels = _labels(with_points, REAL)
    if not labels:
        return []
    chosen = {p: found for p in REAL if (found := _selecting(with_points, p, labels[0]))}
    return [
        "## What was selected, sampled (Figure 9)",
        f"`{labels[0]}`: standard deviation of the values when the five variables that a run "
        "selected most often, or least often, are sampled around its best point. Median over "
        f"runs. The paper has 800000 points of a Sobol sequence; here there are "
        f"{selections.N_POINTS}.",
        selections.draw_spreads(chosen, folder / "vs_bo_sampled.png"),
        "![Counts of selections, and values](vs_bo_sampled.png)",
    ]
