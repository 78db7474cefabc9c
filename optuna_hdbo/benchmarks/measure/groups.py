"""How close the first grouping that a search learns comes to the true one of a random sum.

A sum has a draw from a Gaussian process for every true group, and a little noise. Points are
uniform. The parameters that are in no group have no effect.

Groupings are compared by their log marginal likelihood. The hyperparameters are fitted afresh to
each, from the same starts. The log prior is that of the search.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.models.additive import AdditiveModel
from optuna_hdbo._core.models.groupings.evidence import price_of_join
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo.benchmarks.measure.clock import Clock
from optuna_hdbo.benchmarks.measure.lines import Lines
from optuna_hdbo.benchmarks.measure.structure import adjusted_rand
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import names
from optuna_hdbo.methods.add_gp_ucb import AddGPUCB
from optuna_hdbo.methods.add_gp_ucb import KernelName


@dataclass(frozen=True)
class Sum:
    """How a random sum is drawn.

    Parameters
    ----------
    sizes : tuple of int
        Numbers of parameters of the groups.
    dim : int
        Number of all parameters.
    kernel : {"se", "matern52"}
        Of the draws, and of the model.
    lengthscales : tuple of two float
        The range from which the lengthscale of every parameter is drawn.
    """

    sizes: tuple[int, ...]
    dim: int
    kernel: KernelName
    lengthscales: tuple[float, float]


SUMS = {
    "uneven": Sum((3, 2, 2, 1, 1), 12, "matern52", (0.5, 0.5)),
    "triples": Sum((3, 3, 3, 3), 12, "matern52", (0.5, 0.5)),
    "smooth": Sum((3, 3, 3, 3), 12, "se", (1.0, 1.0)),
    "varied": Sum((3, 3, 2, 2, 1), 14, "matern52", (0.3, 0.9)),
    "rough": Sum((3, 3, 3, 1), 12, "matern52", (0.3, 0.3)),
    "large": Sum((5, 3, 2), 12, "matern52", (0.5, 1.0)),
}

NOISE = 1e-3
"""Variance of the noise of the draws, as a share of that of the function."""

FIT_STARTS, FIT_STEPS = (0.5, 0.3), 60
"""Lengthscales from which hyperparameters are fitted for the comparison, and steps of each fit."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Observations of a random sum.

    Parameters
    ----------
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
        Standardised.
    groups : list of lists of int
        The true groups. Columns without effect are alone.
    """

    X: FloatArray
    y: FloatArray
    groups: list[list[int]]

    @classmethod
    def of(cls, name: str, seed: int, n: int) -> Draw:
        """Draw a sum and ``n`` observations of it."""
        kind, rng = SUMS[name], generator(name, seed)
        order = rng.permutation(kind.dim).tolist()
        groups = []
        for size in kind.sizes:
            groups.append(sorted(order[:size]))
            order = order[size:]
        scales = np.full(len(groups), 1.0 / len(groups))
        lengthscales = rng.uniform(*kind.lengthscales, kind.dim)
        categorical = np.zeros(kind.dim, np.bool_)
        kernel = Kernel(kind.kernel, join(groups), lengthscales, scales, NOISE, categorical)
        X = rng.random((n, kind.dim))
        L = np.linalg.cholesky(kernel.gram(X) + NOISE * np.eye(n))
        y = standardise(L @ rng.standard_normal(n))[0]
        return cls(X, y, [*groups, *([c] for c in order)])


@dataclass(frozen=True)
class Found:
    """How close a learned grouping is to the truth.

    Parameters
    ----------
    rand : float
        Adjusted Rand index.
    likelihood, posterior : float
        Log likelihood of the learned grouping less that of the true one; the same with the log
        prior of groupings.
    seconds : float
        CPU time of learning.
    """

    rand: float
    likelihood: float
    posterior: float
    seconds: float


def learned(kernel: KernelName, draw: Draw) -> list[list[int]]:
    """Return the first grouping that AddGPUCBSampler learns from these observations."""
    method = AddGPUCB(kernel=kernel)
    search = method.decomposition_search
    model = AdditiveModel(kernel, method.max_group_size, search=search)
    domain, seen = Domain.continuous(draw.X.shape[1]), Observations.from_arrays(draw.X, draw.y)
    found = model.learn(domain, seen, None, np.random.default_rng(0))
    return [group.tolist() for group in found.kernel.groups]


def best_likelihood(kernel: str, draw: Draw, groups: Sequence[Sequence[int]]) -> float:
    """Return the log likelihood of a grouping under hyperparameters that are fitted to it."""
    domain = Domain.continuous(draw.X.shape[1])
    values = []
    for lengthscale in FIT_STARTS:
        start = cold_start(domain, kernel, join(groups), lengthscale, 1e-3)
        fitted, _ = fit(
            start,
            draw.X,
            draw.y,
            prior=Prior("inverse-square"),
            bounds=Bounds(),
            starts=[start],
            n_steps=FIT_STEPS,
        )
        values.append(log_likelihood(fitted, draw.X, draw.y)[0])
    return max(values)


def assess(name: str, seed: int, n: int) -> Found:
    """Return how close the first grouping is to the truth, from ``n`` observations."""
    draw, kernel = Draw.of(name, seed, n), SUMS[name].kernel
    clock = Clock()
    found = learned(kernel, draw)
    clock.pause()
    dim = draw.X.shape[1]
    first, second = ([names(group) for group in groups] for groups in (found, draw.groups))
    likelihood = 0.0
    if {*first} != {*second}:
        likelihood = best_likelihood(kernel, draw, found)
        likelihood -= best_likelihood(kernel, draw, draw.groups)
    n_joins = len(draw.groups) - len(found)  # more than the truth has
    return Found(
        rand=round(adjusted_rand(names(range(dim)), first, second), 4),
        likelihood=round(likelihood, 3),
        posterior=round(likelihood - price_of_join(dim) * n_joins, 3),
        seconds=round(clock.cpu, 3),
    )


def compare(
    sums: Sequence[str], seeds: Sequence[int], trials: Sequence[int], out: Path | None = None
) -> str:
    """Return a Markdown table, one row per kind of sum and number of trials.

    Draws that ``out`` has are not searched again.

    Raises
    ------
    ValueError
        For an unknown kind, fewer than two trials, and a file that cannot be used.
    """
    for name in sums:
        if name not in SUMS:
            raise ValueError(f"sums must be from {', '.join(SUMS)}, but got {name}.")
    if min(trials) < 2:
        raise ValueError(f"trials must be at least 2, but got {min(trials)}.")
    lines, found = Lines(out), []
    for n in trials:
        for name in sums:
            for seed in seeds:
                key = {"sum": name, "n_trials": n, "seed": seed}
                found.append(lines.get(key, partial(_line, name, seed, n)))
    head = "| Sum | Trials | Draws | Rand index | worst | Likelihood, worst | below by a nat |"
    head += " Posterior, worst | below by a nat | CPU |"
    return "\n".join([head, "|---" * 10 + "|", *rows(found)])


def _line(name: str, seed: int, n: int) -> Mapping[str, Any]:
    return asdict(assess(name, seed, n))


def rows(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a row for each kind of sum and number of trials, and one for all of each number."""
    found = []
    for n in dict.fromkeys(line["n_trials"] for line in lines):
        some = [line for line in lines if line["n_trials"] == n]
        for name in dict.fromkeys(line["sum"] for line in some):
            found.append(_row(f"{name} | {n}", [line for line in some if line["sum"] == name]))
        found.append(_row(f"all | {n}", some))
    return found


def _row(head: str, lines: Sequence[Mapping[str, Any]]) -> str:
    rand, likelihood, posterior, seconds = (
        np.array([line[key] for line in lines])
        for key in ("rand", "likelihood", "posterior", "seconds")
    )
    return (
        f"| {head} | {len(lines)} | {rand.mean():.2f} | {rand.min():.2f} "
        f"| {likelihood.min():.1f} | {(likelihood < -1.0).sum()} "
        f"| {posterior.min():.1f} | {(posterior < -1.0).sum()} | {np.median(seconds):.1f} s |"
    )
