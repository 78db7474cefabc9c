"""Long studies: the cost of trials after thousands of them, the memory, and the regret."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.measure.clock import timed_trials
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.rivals import registry


PARTS = 6
"""Parts of a study. Each has a median time of its own."""


@dataclass(frozen=True, eq=False)
class Endurance:
    """A long study of one sampler.

    Parameters
    ----------
    cpu : FloatArray, shape (n,)
        Seconds of each trial, the objective left out.
    regret : FloatArray, shape (n,)
        Of the best trial so far.
    memory : FloatArray, shape (n,)
        Megabytes that the process holds after each trial.
    """

    cpu: FloatArray
    regret: FloatArray
    memory: FloatArray

    def slope(self) -> float:
        """Return megabytes per 1000 trials, without the first third, in which caches fill."""
        n = len(self.memory)
        trials = np.arange(n // 3, n)
        return float(np.polyfit(trials / 1000.0, self.memory[n // 3 :], 1)[0])


def _resident() -> float:
    """Return the megabytes of memory that this process holds; NaN where Linux does not say."""
    path = Path("/proc/self/statm")
    if not path.exists():
        return np.nan
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(label: str, name: str, seed: int, n_trials: int) -> Endurance:
    """Run one study in memory."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    problem = catalogue.make(name, seed)
    sampler = registry.parse(label).build(problem, seed)
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    cpu, regret, memory = np.empty((3, n_trials))
    for t, (value, clock) in enumerate(timed_trials(study, problem, n_trials)):
        if t % 250 == 249:
            gc.collect()
        cpu[t], regret[t], memory[t] = clock.cpu, problem.regret(value), _resident()
    return Endurance(cpu, np.minimum.accumulate(regret), memory)


def head(n_trials: int) -> str:
    """Return the first lines of the table."""
    third = [n_trials // 3, 2 * n_trials // 3, n_trials]
    regrets = " | ".join(f"regret at {n}" for n in third)
    return (
        f"| problem | sampler | CPU ms per trial, by {n_trials // PARTS} trials | MB | "
        f"MB per 1000 trials | {regrets} |\n|---|---|---|---:|---:|---:|---:|---:|"
    )


def row(label: str, name: str, found: Endurance) -> str:
    """Return the line of a study."""
    n = len(found.cpu)
    times = [f"{1e3 * np.median(part):.3g}" for part in np.array_split(found.cpu, PARTS)]
    regrets = [f"{found.regret[k - 1]:.4g}" for k in (n // 3, 2 * n // 3, n)]
    cells = [", ".join(times), f"{found.memory[-1]:.0f}", f"{found.slope():.3g}", *regrets]
    return f"| {name} | `{label}` | " + " | ".join(cells) + " |"


def compare(names: Sequence[str], labels: Sequence[str], seed: int, n_trials: int) -> str:
    """Return a Markdown table; every study runs in a process of its own, one after the other.

    Raises
    ------
    ValueError
        If a problem has several objectives. This is checked before any study begins.
    """
    for name in names:
        catalogue.make(name, seed)
    lines = [head(n_trials)]
    for name in names:
        for label in labels:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found = pool.submit(measure, label, name, seed, n_trials).result()
            lines.append(row(label, name, found))
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)
