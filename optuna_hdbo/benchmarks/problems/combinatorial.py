"""Combinatorial problems: all parameters are categorical, and values of several act together.

maxsat-60
    The weight of the clauses of three literals that 60 booleans do not satisfy. There are 600
    clauses with weights from an exponential distribution, which sum to 1. An assignment that
    satisfies all of them is drawn first.
labs-50
    The energy of a sequence of 50 signs: the sum of its squared autocorrelations (Packebusch &
    Mertens 2016, "Low autocorrelation binary sequences", who give the least energy, 153). Which
    of a parameter's values is positive is drawn.
nk-40
    An NK landscape: the mean of 36 tables with values from [0, 1], one for every five successive
    booleans of 40 in an order that is drawn (Kauffman & Weinberger 1989, K = 4).
potts-20
    The energy of a chain of 20 spins with eight values each, in an order that is drawn: normal
    terms for every spin, and .7 times as large ones for every pair of neighbours.
knapsack-50
    Which of 50 things to take; what they are worth exceeds their weight by a part that is drawn.
    A set that is too heavy is worth as much less than nothing as it is too heavy.

The optima are exact. Those of chains and knapsacks are found by dynamic programming.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


N_CLAUSES = 600
LEAST_ENERGY = {50: 153.0}
"""Of sequences, by their length (Packebusch & Mertens 2016)."""

COUPLING = 0.7
CAPACITY = 0.3
"""Of a knapsack, as a share of the weight of all things."""


@dataclass(frozen=True, eq=False)
class Choices(Problem):
    """An instance whose parameters are categorical. Points are indices of their choices."""

    def suggest(self, trial: optuna.Trial) -> FloatArray:
        """Ask a trial for every parameter, in order; shape (D,)."""
        found = []
        for name, high in zip(self.names, self.bounds[:, 1].astype(int).tolist(), strict=True):
            choices: list[int] = [False, True] if high == 1 else list(range(high + 1))
            found.append(choices.index(trial.suggest_categorical(name, choices)))
        return np.array(found, np.float64)


def _choices(
    name: str,
    seed: int,
    n: int,
    evaluate: Callable[[IntArray], float],
    optimum: float,
    argopt: IntArray | None,
    *,
    n_choices: int = 2,
    direction: Literal["minimize", "maximize"] = "minimize",
) -> Choices:
    return Choices(
        name=name,
        seed=seed,
        direction=direction,
        bounds=np.tile([0.0, n_choices - 1.0], (n, 1)),
        evaluate=lambda x: evaluate(x.astype(np.int64)),
        optimum=optimum,
        argopt=None if argopt is None else argopt.astype(np.float64),
    )


def _maxsat(n: int) -> Build:
    """Build instances with n booleans."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        best = rng.integers(0, 2, n)
        variables = np.array([rng.choice(n, 3, replace=False) for _ in range(N_CLAUSES)])
        wanted = rng.integers(0, 2, variables.shape)
        # Where the best assignment satisfies no literal of a clause, the clause is turned round.
        wanted ^= (best[variables] != wanted).all(axis=1, keepdims=True)
        weights = rng.exponential(size=N_CLAUSES)
        weights /= weights.sum()

        def evaluate(x: IntArray) -> float:
            return float(weights[(x[variables] != wanted).all(axis=1)].sum())

        return _choices(name, seed, n, evaluate, 0.0, best)

    return build


def _labs(n: int) -> Build:
    """Build instances with sequences of n signs."""

    def build(name: str, seed: int) -> Problem:
        signs = generator(name, seed).choice([-1, 1], n)

        def evaluate(x: IntArray) -> float:
            s = signs * (2 * x - 1)
            return float(sum(int(s[lag:] @ s[: n - lag]) ** 2 for lag in range(1, n)))

        return _choices(name, seed, n, evaluate, LEAST_ENERGY[n], None)

    return build


def best_of_chain(tables: FloatArray) -> tuple[float, IntArray]:
    """Return the least sum of tables of successive parameters, and where it is.

    Parameters
    ----------
    tables : FloatArray, shape (m, q, ..., q)
        The i-th has an axis for each of the w parameters from the i-th on, with q values each.

    Returns
    -------
    least : float
    x : IntArray, shape (m + w - 1,)
    """
    w = tables.ndim - 1
    q = tables.shape[1]
    least = np.zeros((q,) * (w - 1))  # by the first w - 1 parameters of the rest of the chain
    chosen = []
    for table in tables[::-1]:
        # Of the table's parameters, the last one is not among those that are still to come.
        total = table + least[None]
        chosen.append(total.argmin(axis=w - 1))
        least = total.min(axis=w - 1)
    x = [int(i) for i in np.unravel_index(int(least.argmin()), least.shape)]
    for i, choice in enumerate(reversed(chosen)):
        x.append(int(choice[tuple(x[i:])]))
    return float(least.min()), np.array(x)


def _chain(
    n: int,
    draw: Callable[[np.random.Generator], FloatArray],
    direction: Literal["minimize", "maximize"],
) -> Build:
    """Build instances with n parameters in a chain."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        tables, order = draw(rng), rng.permutation(n)
        m, w = len(tables), tables.ndim - 1
        windows = np.arange(m)[:, None] + np.arange(w)
        sign = 1.0 if direction == "minimize" else -1.0
        least, best = best_of_chain(sign * tables)
        argopt = np.empty(n, np.int64)
        argopt[order] = best

        def evaluate(x: IntArray) -> float:
            return float(tables[(np.arange(m), *x[order][windows].T)].sum())

        return _choices(
            name,
            seed,
            n,
            evaluate,
            sign * least,
            argopt,
            n_choices=tables.shape[1],
            direction=direction,
        )

    return build


def _landscape(n: int, w: int) -> Build:
    def draw(rng: np.random.Generator) -> FloatArray:
        m = n - w + 1
        return rng.random((m, *(2,) * w)) / m

    return _chain(n, draw, "maximize")


def _potts(n: int, q: int) -> Build:
    def draw(rng: np.random.Generator) -> FloatArray:
        single = rng.standard_normal((n, q))
        tables = COUPLING * rng.standard_normal((n - 1, q, q)) + single[:-1, :, None]
        tables[-1] += single[-1]
        return tables

    return _chain(n, draw, "minimize")


def _knapsack(n: int) -> Build:
    """Build instances with n things."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        weights = rng.integers(1, 101, n)
        worth = weights + rng.integers(0, 51, n)
        capacity = int(CAPACITY * weights.sum())
        most = np.zeros((n + 1, capacity + 1), np.int64)  # with the first things, by what is left
        for i, (weight, value) in enumerate(zip(weights.tolist(), worth.tolist(), strict=True)):
            most[i + 1] = most[i]
            if weight <= capacity:
                with_it = most[i, : capacity + 1 - weight] + value
                most[i + 1, weight:] = np.maximum(most[i, weight:], with_it)
        best, left = np.zeros(n, np.int64), capacity
        for i in reversed(range(n)):
            if most[i + 1, left] > most[i, left]:
                best[i], left = 1, left - int(weights[i])

        def evaluate(x: IntArray) -> float:
            excess = int(weights @ x) - capacity
            return float(-excess if excess > 0 else worth @ x)

        optimum = float(most[n, capacity])
        return _choices(name, seed, n, evaluate, optimum, best, direction="maximize")

    return build


FAMILY: dict[str, Build] = {
    "maxsat-60": _maxsat(60),
    "labs-50": _labs(50),
    "nk-40": _landscape(40, 5),
    "potts-20": _potts(20, 8),
    "knapsack-50": _knapsack(50),
}
"""The problems, which are reported."""
