"""Problems whose values come step by step, with pruners: what a number of steps brings.

Models are trained step by step as they are. Functions of real parameters have curves that fall to
their values.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np
import optuna
from optuna.pruners import BasePruner

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.measure import noisy
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.suites.training import N_STEPS
from optuna_hdbo.benchmarks.problems.suites.training import Training
from optuna_hdbo.benchmarks.rivals import registry


PRUNERS: dict[str, Callable[[], BasePruner]] = {
    "median": optuna.pruners.MedianPruner,
    "halving": lambda: optuna.pruners.SuccessiveHalvingPruner(1, 3),
    "hyperband": lambda: optuna.pruners.HyperbandPruner(1, N_STEPS, 3),
}

NOISE = 0.01
"""Standard deviation of a function's reports, divided by :func:`noisy.spread`."""

Steps = Callable[[optuna.Trial], Iterator[tuple[float, float]]]
"""A trial to what it reports at every step, and its value without noise if it ended there."""


def _smooth(rng: np.random.Generator, dim: int) -> Callable[[FloatArray], float]:
    """Return a random smooth function of points (D,) of the unit cube, of deviation 1."""
    waves = rng.normal(0.0, 3.0 / np.sqrt(dim), (20, dim))
    phases, weights = rng.uniform(0.0, 2.0 * np.pi, 20), rng.normal(0.0, np.sqrt(0.1), 20)
    return lambda u: float(weights @ np.cos(waves @ u + phases))


def curves(problem: Problem, scale: float) -> Callable[[FloatArray], FloatArray]:
    """Return what trials at points (D,) report, shape (27,), less their final value.

    It falls to 0 as an exponential function, from half of ``scale`` to twice as much.
    How fast it falls depends on the parameters, too: most on the first one, as on a learning rate.
    """
    rng = np.random.default_rng([2, problem.seed])
    height, speed = _smooth(rng, problem.dim), _smooth(rng, problem.dim)
    low, high = problem.bounds.T
    times = np.arange(1, N_STEPS + 1) / N_STEPS

    def gaps(x: FloatArray) -> FloatArray:
        u = (x - low) / (high - low)
        rate = np.exp(1.2 + speed(u) + 1.5 * (u[0] - 0.5))
        size = scale * np.exp(0.5 * height(u))
        return np.asarray(size * (np.exp(-rate * times) - np.exp(-rate)))

    return gaps


def _steps(problem: Problem) -> Steps:
    if isinstance(problem, Training):
        return lambda trial: ((loss, loss) for loss in problem.losses(trial))
    spread = noisy.spread(problem)
    gaps, rng = curves(problem, spread), np.random.default_rng([3, problem.seed])
    sign = 1.0 if problem.direction == "minimize" else -1.0

    def fall(trial: optuna.Trial) -> Iterator[tuple[float, float]]:
        x = problem.suggest(trial)
        final = problem.evaluate(x)
        noise = NOISE * spread * rng.standard_normal(N_STEPS)
        for report in (final + sign * gaps(x) + noise).tolist():
            yield report, final

    return fall


def execute(name: str, label: str, pruner: str, seed: int, n_trials: int) -> list[float]:
    """Return the regret of the best completed trial, after a third of all steps and after all.

    There are as many steps as ``n_trials`` trials without pruning have. Regrets are those of final
    values without noise; that of a study without a completed trial is infinite.
    """
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    problem = catalogue.make(name, seed)
    steps, left, best = _steps(problem), n_trials * N_STEPS, np.inf
    found: list[float] = []
    study = optuna.create_study(
        study_name=f"{name}-{seed}",  # Hyperband draws its brackets from it
        direction=problem.direction,
        sampler=registry.parse(label).build(problem, seed),
        pruner=PRUNERS[pruner](),
    )
    limits = [left - left // 3, 0]
    while left > 0:
        trial = study.ask()
        pruned, before = False, best
        for step, reached in enumerate(steps(trial), 1):
            report, value = reached
            trial.report(report, step)
            left -= 1
            pruned = step < N_STEPS and trial.should_prune()
            if pruned:
                break
        if pruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, report)
            best = min(best, problem.regret(value))
        while len(found) < 2 and left <= limits[len(found)]:
            found.append(best if left == limits[len(found)] else before)
    return found


HEAD = """\
| problem | pruner | trials | seeds | sampler | after a third | after all steps |
|---|---|---:|---:|---|---:|---:|"""


def compare(
    names: Sequence[str],
    labels: Sequence[str],
    pruners: Sequence[str],
    seeds: Sequence[int],
    n_trials: int,
) -> str:
    """Return a Markdown table: medians and quartiles over seeds of the regrets, or of losses.

    Raises
    ------
    ValueError
        If a name or a setting is wrong. This is checked before any study begins.
    """
    for pruner in pruners:
        if pruner not in PRUNERS:
            raise ValueError(f"pruner must be one of {', '.join(PRUNERS)}, but got {pruner}.")
    must = "be trained step by step or have nothing but real parameters"
    noisy.check(names, labels, seeds, n_trials, (Problem, Training), must)
    lines = [HEAD]
    for name in names:
        for pruner in pruners:
            for label in labels:
                runs = [execute(name, label, pruner, seed, n_trials) for seed in seeds]
                cells = [noisy.quartiles(values) for values in zip(*runs, strict=True)]
                head = [name, pruner, str(n_trials), str(len(seeds)), f"`{label}`"]
                lines.append(f"| {' | '.join(head + cells)} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)
