"""How samplers compare over a whole family of problems, such as BBOB in one dimension.

It needs runs of several samplers on the same problems and seeds::

    run --problems bbob-20 --rivals gp,tpe-default,cmaes,GPUCBSampler,HDBOSampler --seeds 0
        --out bbob.jsonl
    page family bbob.jsonl --out pages

An instance is a problem and a seed; those that every sampler has run count. Targets of an instance
are regrets in equal steps of their logarithm, from the best one after the startup trials to the
best one that any sampler reached (a runtime profile as COCO draws it, with targets of its own).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.report.curves import Result
from optuna_hdbo.benchmarks.rivals.registry import N_STARTUP_TRIALS


N_TARGETS = 20
SMALLEST = 1e-8
"""Smaller regrets count as this one."""

CHECKPOINTS = (50, 100, 200)

Curves = Mapping[str, FloatArray]
"""Sampler -> regrets, shape (instances, trials)."""


def make(results: Sequence[Result], folder: Path) -> str:
    """Write the figure to a folder and return the page."""
    instances, curves = common(results)
    if len(curves) < 2 or not instances:
        raise ValueError(
            "results must hold an instance that two samplers have run, but they are of "
            f"{len(curves)} samplers with {len(instances)} instances in common."
        )
    _draw(profiles(curves), folder / "family_profile.png")
    n_problems = len({problem for problem, _ in instances})
    return "\n\n".join(
        [
            "# Samplers over a family of problems",
            f"{n_problems} problems, {len(instances)} instances.",
            "## Ranks",
            "Rank of the regret after the last trial, mean over instances, and its standard "
            "error; then the share of all targets reached.",
            _rank_table(curves),
            "## Pairwise",
            "On how many instances the sampler of the row ends better than that of the column.",
            _wins_table(curves),
            "## Runtime profile",
            "![Share of targets reached over trials](family_profile.png)",
        ]
    )


def common(results: Sequence[Result]) -> tuple[list[tuple[str, int]], Curves]:
    """Return the instances that every sampler has run, and the curves on them."""
    labels = list(dict.fromkeys(r["rival"] for r in results))
    found = {(r["rival"], r["problem"], r["seed"]): r["regret"] for r in results}
    instances = [
        pair
        for pair in dict.fromkeys((r["problem"], r["seed"]) for r in results)
        if all((label, *pair) in found for label in labels)
    ]
    if not instances:
        return [], dict.fromkeys(labels, np.empty((0, 0)))
    n = min(len(found[(label, *pair)]) for label in labels for pair in instances)
    return instances, {
        label: np.maximum([found[(label, *pair)][:n] for pair in instances], SMALLEST)
        for label in labels
    }


def ranks(curves: Curves) -> FloatArray:
    """Return the rank of every sampler's last regret, shape (instances, samplers)."""
    last = np.array([regrets[:, -1] for regrets in curves.values()]).T
    return np.asarray(rankdata(last, axis=1), np.float64)


def profiles(curves: Curves) -> dict[str, FloatArray]:
    """Return the share of targets that each sampler has reached, by trial."""
    stacked = np.array(list(curves.values()))
    start = min(N_STARTUP_TRIALS, stacked.shape[2]) - 1
    highest = np.log(stacked[:, :, start].min(axis=0))
    lowest = np.log(stacked[:, :, -1].min(axis=0))
    steps = np.linspace(0.0, 1.0, N_TARGETS + 1)[1:]
    targets = np.exp(highest[:, None] + (lowest - highest)[:, None] * steps) * (1.0 + 1e-12)
    return {
        label: (regrets[:, None, :] <= targets[:, :, None]).mean(axis=(0, 1))
        for label, regrets in curves.items()
    }


def _rank_table(curves: Curves) -> str:
    found, reached = ranks(curves), profiles(curves)
    n = len(next(iter(reached.values())))
    checkpoints = [t for t in CHECKPOINTS if t <= n] or [n]
    lines = [
        "| sampler | mean rank | " + " | ".join(f"targets at {t}" for t in checkpoints) + " |",
        "|---|---:|" + "---:|" * len(checkpoints),
    ]
    for rank, label in zip(found.T, curves, strict=True):
        error = rank.std() / np.sqrt(len(rank))
        shares = " | ".join(f"{reached[label][t - 1]:.2f}" for t in checkpoints)
        lines.append(f"| `{label}` | {rank.mean():.2f} ± {error:.2f} | {shares} |")
    return "\n".join(lines)


def _wins_table(curves: Curves) -> str:
    lines = [
        "| | " + " | ".join(f"`{label}`" for label in curves) + " |",
        "|---|" + "---:|" * len(curves),
    ]
    for label, ours in curves.items():
        wins = [
            "" if other == label else str(int((ours[:, -1] < theirs[:, -1]).sum()))
            for other, theirs in curves.items()
        ]
        lines.append(f"| `{label}` | " + " | ".join(wins) + " |")
    return "\n".join(lines)


def _draw(reached: Mapping[str, FloatArray], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(7.0, 4.2))
    ordered = sorted(reached, key=lambda label: -float(reached[label][-1]))
    for i, label in enumerate(ordered):
        shares = reached[label]
        trials = np.arange(1, len(shares) + 1)
        width = 2.4 if label.startswith("HDBO") else 1.3
        axis.plot(trials, shares, color=f"C{i % 10}", linewidth=width, label=label)
    axis.set(xlabel="trials", ylabel="share of targets reached", ylim=(0.0, 1.0))
    axis.grid(alpha=0.3)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
