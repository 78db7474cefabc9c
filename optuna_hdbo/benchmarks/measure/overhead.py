"""Time that samplers take per trial, at given sizes, in one process and interleaved."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.distributions import FloatDistribution

from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.measure.clock import Metered
from optuna_hdbo.benchmarks.measure.clock import timed_trial
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.rivals import registry


_SEED = 0


@dataclass(frozen=True)
class Size:
    """Number of parameters, and of trials that the study holds when timing starts."""

    dim: int
    n_trials: int

    @classmethod
    def parse(cls, text: str) -> Size:
        """Parse ``20x150``."""
        dim, cross, n_trials = text.partition("x")
        if not (cross and dim.isdigit() and n_trials.isdigit() and int(dim) and int(n_trials)):
            raise ValueError(f"a size must be like 20x150 (parameters x trials), but got {text}.")
        return cls(int(dim), int(n_trials))


@dataclass(frozen=True, eq=False)
class Overhead:
    """Seconds of each timed trial of one rival at one size.

    Parameters
    ----------
    size : Size
    rival : str
    wall, cpu : FloatArray, shape (n_timed,)
        Of ask, every suggest, and tell: Optuna's part is in them.
    sampler : FloatArray, shape (n_timed,)
        CPU seconds of the sampler alone.
    """

    size: Size
    rival: str
    wall: FloatArray
    cpu: FloatArray
    sampler: FloatArray


def _smooth(x: FloatArray, *, centre: FloatArray, weights: FloatArray) -> float:
    return float(weights @ (x - centre) ** 2 + 0.1 * np.sum(np.sin(4.0 * x[1:] * x[:-1])))


def _problem(dim: int) -> Problem:
    """Return a smooth function whose parameters matter unequally. Its optimum is not known."""
    centre = np.random.default_rng(_SEED).uniform(0.2, 0.8, dim)
    return Problem(
        name=f"smooth-{dim}",
        seed=_SEED,
        direction="minimize",
        bounds=np.tile([0.0, 1.0], (dim, 1)),
        evaluate=partial(_smooth, centre=centre, weights=1.0 / np.arange(1, dim + 1)),
        optimum=np.nan,
        argopt=centre,
    )


def _filled_study(label: str, size: Size) -> tuple[optuna.Study, Metered]:
    problem = _problem(size.dim)
    sampler = Metered(registry.parse(label).build(problem, _SEED))
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    distributions: dict[str, BaseDistribution] = {
        name: FloatDistribution(0.0, 1.0) for name in problem.names
    }
    rng = np.random.default_rng(_SEED + 1)
    for x in rng.random((size.n_trials, size.dim)):
        params = dict(zip(problem.names, x.tolist(), strict=True))
        value = problem.evaluate(x)
        study.add_trial(
            optuna.create_trial(params=params, distributions=distributions, value=value)
        )
    return study, sampler


def measure(labels: Sequence[str], size: Size, n_timed: int = 12) -> list[Overhead]:
    """Time ``n_timed`` trials of every rival, in studies that hold ``size.n_trials`` already.

    Rivals take turns trial by trial, and each round reverses their order. So other work on the
    machine affects all of them alike, and each finds the processor's caches full of another's
    numbers. Two trials in a small study of their own come first, for imports and compilation.
    Eight trials in the large study follow, for its history and the first fits of a model, which a
    study that grew to that size would have done along the way. None of these are timed.
    """
    check_integer("n_timed", n_timed, 1)
    problem = _problem(size.dim)
    for label in labels:
        small, _ = _filled_study(label, Size(size.dim, min(size.n_trials, 20)))
        for _ in range(2):
            timed_trial(small, problem)
    studies = [_filled_study(label, size) for label in labels]
    for study, _ in studies:
        for _ in range(8):
            timed_trial(study, problem)
    wall, cpu, alone = np.empty((3, len(labels), n_timed))
    order = list(range(len(labels)))
    for t in range(n_timed):
        for i in order:
            study, sampler = studies[i]
            before = sampler.cpu
            _, clock = timed_trial(study, problem)
            wall[i, t], cpu[i, t], alone[i, t] = clock.wall, clock.cpu, sampler.cpu - before
        order.reverse()
    return [Overhead(size, label, wall[i], cpu[i], alone[i]) for i, label in enumerate(labels)]


_HEAD = """\
| parameters | trials | sampler | wall ms, median | mean | CPU ms, median | mean \
| of the sampler alone, median | mean | ratio of CPU means | sampler alone |
|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def table(measured: Sequence[Overhead]) -> str:
    """Return a Markdown table; ratios are to the first rival of each size."""
    lines = [_HEAD]
    first: dict[Size, Overhead] = {}
    for row in measured:
        base = first.setdefault(row.size, row)
        seconds = (row.wall, row.cpu, row.sampler)
        cells = [f"{1e3 * f(s):.3g}" for s in seconds for f in (np.median, np.mean)]
        for ours, theirs in ((row.cpu, base.cpu), (row.sampler, base.sampler)):
            cells.append(f"{ours.mean() / max(theirs.mean(), 1e-9):.3g}")
        start = f"| {row.size.dim} | {row.size.n_trials} | {row.rival} | "
        lines.append(start + " | ".join(cells) + " |")
    return "\n".join(lines)


def measure_all(labels: Sequence[str], sizes: Sequence[Size], n_timed: int) -> list[Overhead]:
    """Measure size by size, with a line of progress for each."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for label in labels:
        registry.parse(label)  # a wrong one is refused before anything is measured
    measured = []
    for size in sizes:
        print(f"{size.dim} parameters, {size.n_trials} trials ...", file=sys.stderr, flush=True)
        measured += measure(labels, size, n_timed)
    return measured
