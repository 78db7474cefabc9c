"""How often the interactions of functions with a known structure are found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from optuna_hdbo.benchmarks.measure.clock import Clock
from optuna_hdbo.benchmarks.measure.lines import Lines
from optuna_hdbo.benchmarks.problems import structured
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.rivals import registry
from optuna_hdbo.interactions import get_interactions


TRIALS = {12: 200, 30: 300}
"""Smallest number of parameters -> trials of a study that has at least so many."""


@dataclass(frozen=True)
class Found:
    """How well the interactions of one study were found.

    Parameters
    ----------
    right, wrong, missed : int
        Numbers of pairs: called strong and interacting, called strong and not interacting,
        interacting and not called strong.
    n_pairs : int
    rand : float
        Adjusted Rand index of the groups against the true ones, inert parameters one by one.
    seconds : float
        CPU time of ``get_interactions``.
    """

    right: int
    wrong: int
    missed: int
    n_pairs: int
    rand: float
    seconds: float


def studied(problem: Problem, label: str, n_trials: int) -> optuna.Study:
    """Return a study of a problem by a sampler."""
    sampler = registry.parse(label).build(problem, problem.seed)
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    study.optimize(lambda trial: problem.evaluate(problem.suggest(trial)), n_trials=n_trials)
    return study


def assess(problem: Problem, study: optuna.Study) -> Found:
    """Return how well the interactions of a study are found."""
    clock = Clock()
    told = get_interactions(study)
    clock.pause()
    strong = {frozenset(pair.parameters) for pair in told.strong}
    truth = structured.interacting(problem)
    return Found(
        right=len(strong & truth),
        wrong=len(strong - truth),
        missed=len(truth - strong),
        n_pairs=len(told.pairs),
        rand=adjusted_rand(problem.names, told.groups, problem.groups or ()),
        seconds=clock.cpu,
    )


def adjusted_rand(
    names: Sequence[str], first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]
) -> float:
    """Return the adjusted Rand index (Hubert & Arabie 1985) of two groupings of names.

    Names that are in no group are groups by themselves.
    """
    a, b = (
        {frozenset(pair) for group in groups for pair in combinations(group, 2)}
        for groups in (first, second)
    )
    total = math.comb(len(names), 2)
    expected = len(a) * len(b) / total
    most = (len(a) + len(b)) / 2.0
    return 1.0 if most == expected else (len(a & b) - expected) / (most - expected)


def compare(
    names: Sequence[str],
    labels: Sequence[str],
    seeds: Sequence[int],
    out: Path | None = None,
) -> str:
    """Return a Markdown table, one row per function and sampler.

    Studies that ``out`` has are not run again.

    Raises
    ------
    ValueError
        For an unknown name, a seed that does not have its purpose, and a file that cannot be used.
    """
    lines = [
        "| Function | Sampler | Trials | Studies | F1 of pairs | False | Rand index | CPU |",
        "|---|---|---|---|---|---|---|---|",
    ]
    kept, every = Lines(out), []
    made = {name: [structured.make(name, seed) for seed in seeds] for name in names}
    for label in labels:
        for problems in made.values():
            registry.parse(label).build(problems[0], seeds[0])
    for name, problems in made.items():
        for label in labels:
            n = max(n for dim, n in TRIALS.items() if dim <= max(12, problems[0].dim))
            found = []
            for problem in problems:
                key = {"function": name, "sampler": label, "n_trials": n, "seed": problem.seed}
                found.append(kept.get(key, partial(_line, problem, label, n)))
            every += found
            lines.append(_row(f"{name} | {label} | {n}", found))
    lines.append(_row("all | | ", every))
    return "\n".join(lines)


def _line(problem: Problem, label: str, n: int) -> Mapping[str, Any]:
    found = assess(problem, studied(problem, label, n))
    return {**asdict(found), "rand": round(found.rand, 4), "seconds": round(found.seconds, 3)}


def _row(head: str, found: Sequence[Mapping[str, Any]]) -> str:
    right, wrong, missed, n_pairs = (
        sum(line[key] for line in found) for key in ("right", "wrong", "missed", "n_pairs")
    )
    relevant = 2 * right + wrong + missed
    f1 = f"{2 * right / relevant:.2f}" if relevant else ""
    rand = np.mean([line["rand"] for line in found])
    seconds = np.median([line["seconds"] for line in found])
    return (
        f"| {head} | {len(found)} | {f1} | {wrong / n_pairs:.2%} | {rand:.2f} | {seconds:.1f} s |"
    )
