"""Figures 1 to 5 of Tran-The et al. (2020): dimensions, subspaces, a network, and the ramp loss.

It needs runs with MS-UCB and with the whole cube as its only subspace, which is GP-UCB at as many
evaluations of the acquisition, and on ``ackley-100`` and ``ellipsoid-100`` with other settings,
one at a time. Settings may be around the default or around the published ones, as below::

    run --problems ackley-50,levy-50,ellipsoid-50,camelback-50,ackley-100,levy-100,ellipsoid-100
        --rivals "MSUCBSampler,MSUCBSampler:d=1000,anchors=None" --seeds 0-9 --out ms_ucb.jsonl
    run --problems ackley-50,levy-50 --seeds 0-4 --out ms_ucb.jsonl --rivals
        "MSUCBSampler:published,d=1000,anchors=None,LineBOSampler,DropoutUCBSampler:published"
    run --problems ackley-100,ellipsoid-100 --seeds 0-9 --out ms_ucb.jsonl --rivals
        "MSUCBSampler:published,MSUCBSampler:published,n0=10,MSUCBSampler:published,alpha=1"
    run --problems ackley-100,ellipsoid-100 --seeds 0-9 --out ms_ucb.jsonl --rivals
        "MSUCBSampler:d=1,MSUCBSampler:d=2,MSUCBSampler:d=10"
    run --problems digits-100,digits-500,ramp1-5000,ramp10-5000 --seeds 0-4 --out ms_ucb.jsonl
        --rivals "MSUCBSampler:published,d=10,alpha=1,LineBOSampler,REMBOSampler:d=10"
    page ms_ucb ms_ucb.jsonl --out pages
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.report import curves
from optuna_hdbo.benchmarks.report.curves import Result
from optuna_hdbo.benchmarks.rivals import registry


FAMILIES = ("ackley", "levy", "ellipsoid", "camelback")
SIZES = (20, 50, 100, 500)
VARIED = ("ellipsoid-100", "ackley-100")
LAYERS = ("digits-100", "digits-500")
RAMPS = ("ramp1-5000", "ramp2-5000", "ramp5-5000", "ramp10-5000")

DIFFERS = (
    "The paper's figures have no numbers, 30 runs, and one standard deviation around the mean. "
    "Here bands are 95 % confidence intervals of the mean. The functions are translated, so that "
    "no optimum is at the centre of the box, where the embeddings of the paper's rivals begin. "
    "GP-UCB is `MSUCBSampler` with the whole cube as its only subspace."
)
NETWORK = (
    "The weights between a hidden layer of 10 or 50 nodes and ten outputs, above the smallest "
    "loss. MNIST is replaced by scikit-learn's digits. The hidden layer is trained once, "
    "beforehand. The paper trains it along with every query."
)
RAMP = (
    "Gisette is replaced by 400 generated examples with as many features, because no package has "
    "it. A problem's name has C. The loss is at least 0. The paper's left panel is over time, and "
    "so is ours: CPU time of the sampler."
)


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figures to a folder and return the page."""
    problems = [f"{family}-{size}" for size in SIZES for family in FAMILIES]
    data = [r for r in results if r["problem"] in LAYERS + RAMPS]
    runs = [r for r in results if r["problem"] in problems]
    if not any(r["rival"].startswith("MSUCBSampler") for r in runs + data):
        raise ValueError(
            f"results must hold runs of MSUCBSampler on {', '.join(problems)}, but none of "
            f"{len(results)} is one."
        )
    varied = [r for r in runs if _setting(r) is not None]
    plain = [r for r in runs if _setting(r) is None]
    starts = [r for r in plain if r["rival"] in ("MSUCBSampler", "MSUCBSampler:published")]
    lines = ["# MS-UCB: the paper's figures", DIFFERS]
    for number, title, chosen, only in (
        (1, "Dimensions", plain, problems),
        (2, "Numbers of subspaces", _around(starts, varied, "n0", "alpha"), VARIED),
        (3, "Dimension of the subspaces", _around(starts, varied, "d"), VARIED),
    ):
        panels = [(p, rows) for p in only if (rows := curves.by_label(chosen, p))]
        if not panels:
            continue
        image = f"ms_ucb_figure{number}.png"
        curves.draw(panels, _log_regret, "log10 regret", folder / image, log=False)
        lines += [
            f"## {title} (Figure {number})",
            "Regret after the last trial: median over seeds (quartiles).",
            table(chosen, only),
            f"![{title}]({image})",
        ]
    return "\n\n".join([*lines, *_on_data(data, folder)])


def _on_data(runs: Sequence[Result], folder: Path) -> list[str]:
    """Return the sections of Figures 4 and 5, as far as there are runs."""
    lines = []
    for number, title, text, problems in (
        (4, "A network's output layer", NETWORK, LAYERS),
        (5, "Ramp loss in 5000 dimensions", RAMP, RAMPS),
    ):
        panels = [(p, rows) for p in problems if (rows := curves.by_label(runs, p))]
        if not panels:
            continue
        image = f"ms_ucb_figure{number}.png"
        if number == 4:
            curves.draw(panels, curves.regret, "loss above the smallest", folder / image)
        else:
            curves.draw(
                panels,
                curves.regret,
                "loss",
                folder / image,
                against=curves.seconds,
                xlabel="CPU seconds of the sampler",
            )
        lines += [
            f"## {title} (Figure {number})",
            text,
            curves.columns(runs, problems, curves.quartiles),
            f"![{title}]({image})",
        ]
    return lines


def _setting(result: Result) -> str | None:
    """Return which of N0, alpha and d alone was set, if exactly one was."""
    rival = registry.parse(result["rival"])
    if rival.name != "MSUCBSampler" or len(rival.settings) != 1:
        return None
    (key,) = rival.settings
    return key if key in ("n0", "alpha", "d") else None


def _around(starts: Sequence[Result], varied: Sequence[Result], *keys: str) -> list[Result]:
    """Return the runs in which one of the keys was set, after those that they depart from."""
    chosen = [r for r in varied if _setting(r) in keys]
    published = {registry.parse(r["rival"]).published for r in chosen}
    return [r for r in starts if registry.parse(r["rival"]).published in published] + chosen


def _log_regret(result: Result) -> FloatArray:
    return np.log10(np.maximum(np.array(result["regret"], np.float64), 1e-8))


def table(results: Sequence[Result], problems: Sequence[str]) -> str:
    """Return the regrets of every sampler on every problem, over the seeds that all have."""
    return curves.table(results, problems, curves.quartiles)
