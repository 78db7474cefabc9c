"""Which variables a sampler selected: counts, shares, and whether what it selected matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.report.curves import Result
from optuna_hdbo.benchmarks.report.illustrations import panels


SETTLED = 3
"""Number of the first selection that counts in the shares: earlier ones have few data."""

BLOCKS = ("main", "a tenth", "a hundredth", "inert")

N_SAMPLED, N_POINTS = 5, 256
"""Variables that are sampled together, and how many points of a Sobol sequence (the paper has
800000)."""


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


def table(rows: Sequence[tuple[str, str, Sequence[Result]]]) -> str:
    """Return the shares of (sampler, problem, runs) as Markdown."""
    lines = [
        "| sampler | problem | runs | main | " + " | ".join(BLOCKS[1:]) + " |",
        "|---|---|---:|---:|" + "---:|" * (len(BLOCKS) - 1),
    ]
    for label, problem, runs in rows:
        found = frequencies(runs)
        others = " | ".join(f"{x:.2f}" for x in found.per_selection.mean(axis=0)[1:])
        lines.append(
            f"| `{label}` | {problem} | {len(runs)} | {found.hit_rate():.0%} | {others} |"
        )
    return "\n".join(lines)


def draw(runs: Mapping[str, Sequence[Result]], path: Path) -> None:
    """Draw how often each variable was selected, a panel per problem with blocks."""
    plt, figure, axes = panels(len(runs))
    for axis, (problem, chosen) in zip(axes, runs.items(), strict=True):
        found = frequencies(chosen)
        start = 0
        for block, size in zip(BLOCKS, found.sizes, strict=True):
            stop = start + size
            axis.bar(range(start + 1, stop + 1), found.counts[start:stop], label=block)
            start = stop
        axis.set(title=problem, xlabel="variable", ylabel=f"of {found.n_selections} selections")
    axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def spreads(result: Result) -> tuple[FloatArray, FloatArray]:
    """Return the values when what was selected most often, and least often, is sampled.

    The other variables stay where the run's best trial has them (the paper's section 6.2).
    """
    problem = catalogue.make(result["problem"], result["seed"])
    counts = Counter(dict.fromkeys(problem.names, 0))
    counts.update(name for names in result["selections"] for name in names)
    ranked = [name for name, _ in counts.most_common()]
    index = {name: i for i, name in enumerate(problem.names)}
    points = qmc.Sobol(N_SAMPLED, seed=0).random(N_POINTS)
    low, high = problem.bounds.T
    found = []
    for chosen in (ranked[:N_SAMPLED], ranked[-N_SAMPLED:]):
        columns = [index[name] for name in chosen]
        X = np.tile(np.array(result["best_point"]), (N_POINTS, 1))
        X[:, columns] = low[columns] + (high - low)[columns] * points
        found.append(np.array([problem.evaluate(x) for x in X]))
    return found[0], found[1]


def draw_spreads(runs: Mapping[str, Sequence[Result]], path: Path) -> str:
    """Draw counts and values per problem, and return a table of their standard deviations.

    Runs on several seeds are on different instances. Variables are in the order of how often each
    run selected them, and values are relative to the run's best one.
    """
    lines = ["| problem | runs | selected most often | least often |", "|---|---:|---:|---:|"]
    plt, figure, axes = panels(2 * len(runs))
    for i, (name, chosen) in enumerate(runs.items()):
        ranked = [
            sorted(Counter(v for s in r["selections"] for v in s).values(), reverse=True)
            for r in chosen
        ]
        longest = max(len(counts) for counts in ranked)
        padded = [counts + [0] * (longest - len(counts)) for counts in ranked]
        axes[2 * i].bar(range(1, longest + 1), np.mean(padded, axis=0))
        axes[2 * i].set(title=name, xlabel="variable, by rank", ylabel="selections of a run")
        both = [spreads(r) for r in chosen]
        for k, label in enumerate(("selected most often", "least often")):
            values = np.concatenate([pair[k] - np.median(pair[k]) for pair in both])
            axes[2 * i + 1].hist(values, bins=60, alpha=0.6, label=label, density=True)
        axes[2 * i + 1].set(title=name, xlabel="value less its median", yscale="log")
        # "best" tries many places, and warns where that is slow.
        axes[2 * i + 1].legend(fontsize="small", loc="upper right")
        most, least = (np.median([pair[k].std() for pair in both]) for k in (0, 1))
        lines.append(f"| {name} | {len(chosen)} | {most:.3g} | {least:.3g} |")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return "\n".join(lines)
