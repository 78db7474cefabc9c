"""Functions whose interactions are known, to check how well they are found.

Each is a sum of terms over disjoint groups of parameters, among inert ones. Parameters range over
[0, 1], and which of them are in a group is drawn from the seed. A term is scaled to the standard
deviation 1 under uniform points, times a weight between 0.7 and 1.4 drawn from the seed.

Names say which functions the terms are and how many parameters there are. Their optimum is not
known, so these functions are not for comparing samplers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Names
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import Purpose
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import names
from optuna_hdbo.benchmarks.problems.landscapes import Draw


Term = Callable[[FloatArray], FloatArray]
"""Points (m, d) of the unit cube to values (m,)."""

Make = Callable[[np.random.Generator], tuple[int, Term]]
"""Draw a term: the number of its parameters, and its function."""

LENGTHSCALES = (0.3, 0.9)
"""Range of the lengthscales of drawn terms, as shares of a parameter's range."""


def interacting(problem: Problem) -> frozenset[frozenset[str]]:
    """Return all pairs of parameters that are in a group."""
    groups = problem.groups or ()
    return frozenset(frozenset(pair) for group in groups for pair in combinations(group, 2))


def draw(d: int) -> Make:
    """Return a maker of draws from a Gaussian process over d parameters."""

    def make(rng: np.random.Generator) -> tuple[int, Term]:
        return d, Draw.of(rng.uniform(*LENGTHSCALES, d), rng)

    return make


def fixed(d: int, term: Term) -> Make:
    """Return a maker of the same term every time."""
    return lambda rng: (d, term)


def product(d: int) -> Make:
    """Return a maker of the product of d parameters."""
    return fixed(d, lambda U: np.asarray(U.prod(axis=1), np.float64))


_LINE = fixed(1, lambda U: U[:, 0])
_BOWL = fixed(1, lambda U: (U[:, 0] - 0.4) ** 2)
_WAVE = fixed(1, lambda U: np.sin(2.0 * math.pi * U[:, 0]))
_HINGE = fixed(1, lambda U: np.maximum(U[:, 0] - 0.5, 0.0))
_FRIEDMAN = fixed(2, lambda U: np.sin(math.pi * U[:, 0] * U[:, 1]))
_RATIO = fixed(2, lambda U: (0.2 + U[:, 0]) / (0.5 + U[:, 1]))
_VALLEY = fixed(2, lambda U: (2.0 * U[:, 0] - 1.0 - (2.0 * U[:, 1] - 1.0) ** 2) ** 2)
_SADDLE = fixed(2, lambda U: (U[:, 0] - 0.5) * (U[:, 1] - 0.5))
_RIDGE = fixed(3, lambda U: np.tanh(3.0 * (U.sum(axis=1) - 1.5)))
_DISTANCE = fixed(3, lambda U: np.sqrt(((U - 0.3) ** 2).sum(axis=1)))

_TERMS: dict[Purpose, dict[str, tuple[int, tuple[Make, ...]]]] = {
    "report": {
        "draws-12": (12, (draw(3), draw(2), draw(2), draw(1), draw(1))),
        "uneven-12": (12, (draw(3), draw(2), draw(1), draw(1), draw(1))),
        "friedman-12": (12, (_FRIEDMAN, _BOWL, _LINE, _LINE)),
        "twice-12": (12, (_FRIEDMAN, _BOWL, _LINE, _FRIEDMAN, _BOWL, _LINE)),
        "products-12": (12, (product(3), product(2), _BOWL, _LINE)),
        "mixed-12": (12, (product(3), _FRIEDMAN, draw(2), _BOWL, draw(1))),
        "draws-30": (30, (draw(3), draw(2), draw(2), draw(1), draw(1))),
        "uneven-30": (30, (draw(3), *[draw(2)] * 3, *[draw(1)] * 5)),
        "friedman-30": (30, (_FRIEDMAN, _BOWL, _LINE, _LINE)),
        "twice-30": (30, (_FRIEDMAN, _BOWL, _LINE, _FRIEDMAN, _BOWL, _LINE)),
        "products-30": (30, (product(3), product(2), product(2), _BOWL, _LINE)),
        "mixed-30": (30, (product(3), _FRIEDMAN, draw(2), _BOWL, draw(1))),
        "singles-12": (12, (*[draw(1)] * 5, _LINE, _BOWL)),
        "singles-30": (30, (*[draw(1)] * 8, _LINE, _BOWL, _WAVE)),
    },
    "tune": {
        "ridge-10": (10, (_RIDGE, _VALLEY, _WAVE, _HINGE)),
        "distance-14": (14, (_DISTANCE, _RATIO, _SADDLE, _WAVE, _HINGE)),
        "trio-14": (14, (draw(3), draw(3), draw(2), _WAVE, draw(1))),
        "ridge-25": (25, (_RIDGE, _VALLEY, _SADDLE, _WAVE, _HINGE, draw(1))),
        "distance-28": (28, (_DISTANCE, _RATIO, _VALLEY, _HINGE, _HINGE)),
        "trio-26": (26, (draw(3), draw(2), draw(2), _WAVE, draw(1), draw(1))),
        "apart-12": (12, (draw(1), draw(1), _WAVE, _HINGE, _BOWL, draw(1))),
        "apart-26": (26, (*[draw(1)] * 5, _WAVE, _HINGE, _BOWL)),
    },
}

SEEDS: dict[Purpose, range] = {"report": range(1000), "tune": range(1000, 2000)}
NAMES: dict[Purpose, Names] = {purpose: tuple(terms) for purpose, terms in _TERMS.items()}


def make(name: str, seed: int) -> Problem:
    """Return the function that belongs to a name and a seed, without its optimum.

    Raises
    ------
    ValueError
        For an unknown name, and for a seed that does not have its purpose.
    """
    known = _TERMS["report"] | _TERMS["tune"]
    if name not in known:
        raise ValueError(f"problem must be one of {', '.join(known)}, but got {name}.")
    purpose: Purpose = "report" if name in _TERMS["report"] else "tune"
    if seed not in SEEDS[purpose]:
        first, last = SEEDS[purpose][0], SEEDS[purpose][-1]
        raise ValueError(f"seed must be in [{first}, {last}] for {name}, but got {seed}.")
    dim, makers = known[name]
    rng = generator(name, seed)
    order = rng.permutation(dim).tolist()
    terms: list[tuple[list[int], Term, float]] = []
    for maker in makers:
        d, term = maker(rng)
        columns, order = order[:d], order[d:]
        spread = float(term(rng.random((4096, d))).std())
        terms.append((columns, term, rng.uniform(0.7, 1.4) / spread))
    return Problem(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=np.tile([0.0, 1.0], (dim, 1)),
        evaluate=lambda x: float(sum(w * term(x[None, c])[0] for c, term, w in terms)),
        optimum=-math.inf,
        argopt=None,
        groups=tuple(names(sorted(columns)) for columns, _, _ in terms),
        inert=names(sorted(order)),
        purpose=purpose,
    )
