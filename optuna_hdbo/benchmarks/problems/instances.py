"""Seeded instances of test functions with a known optimum.

A problem is a name and a seed. The name fixes the function and the number of parameters. The seed
draws what a sampler must not be able to exploit:

translated
    A function of all D parameters in its customary box. Function coordinate j is read from
    parameter p(j), p a random permutation, and the function is translated so that its optimum
    lies uniformly in the middle 20 % to 80 % of the box along every coordinate. Arguments
    outside of the customary box are evaluated by the same formula; for every function used here
    the minimum over the box is the minimum over all arguments that can occur.
embedded
    A function of d < D parameters. Parameters range over [0, 1]; d of them, drawn without
    replacement and in random order, are scaled to the customary box, each reversed with
    probability 1/2. The others are inert. ``sixhump``, whose optimum is close to the centre of
    its box, is translated as above as well.
grouped
    The additive trimodal function on [-1, 1]^D, its groups drawn by a random permutation, its
    optimum where the paper has it: at the second mode in each group. Parameters left over when
    the groups are dealt are inert.
"""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from typing import Literal

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems import trimodal
from optuna_hdbo.benchmarks.problems.functions import Function


Purpose = Literal["report", "tune"]
Names = tuple[str, ...]

TUNING = "-tune"
"""End of the names of problems for tuning, in families that also have reported ones."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One instance of a test problem.

    Parameters
    ----------
    name : str
        For example ``"levy-20"``.
    seed : int
        Seed of its random part.
    direction : {"maximize", "minimize"}
        Direction of the objective.
    bounds : FloatArray, shape (D, 2)
        Lower and upper bounds of the parameters.
    evaluate : callable
        A point of shape (D,), in the parameters' own units, to the objective's value.
    optimum : float
        The best value.
    argopt : FloatArray, shape (D,), or None
        A point that has it; ``None`` where ``optimum`` is only a bound.
    groups : tuple of tuples of str, or None
        The true additive groups, as parameter names, where the problem is about them.
    inert : tuple of str
        Parameters without any effect.
    purpose : {"report", "tune"}
        What results on it may be used for; set by :func:`optuna_hdbo.benchmarks.problems.make`.
    """

    name: str
    seed: int
    direction: Literal["maximize", "minimize"]
    bounds: FloatArray
    evaluate: Callable[[FloatArray], float]
    optimum: float
    argopt: FloatArray | None
    groups: tuple[Names, ...] | None = None
    inert: Names = ()
    purpose: Purpose = "report"

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return len(self.bounds)

    @property
    def names(self) -> Names:
        """Parameter names ``x0``, ``x1``, ..."""
        return names(range(self.dim))

    def suggest(self, trial: optuna.Trial) -> FloatArray:
        """Suggest every parameter of a trial, in order; shape (D,)."""
        pairs = zip(self.names, self.bounds, strict=True)
        return np.array([trial.suggest_float(name, low, high) for name, (low, high) in pairs])

    def regret(self, value: float) -> float:
        """Return the distance of a value from the optimum."""
        return abs(self.optimum - value)


def names(indices: range | list[int]) -> Names:
    """Return parameter names by index."""
    return tuple(f"x{i}" for i in indices)


def _moved(
    function: Function, rng: np.random.Generator
) -> tuple[Callable[[FloatArray], float], FloatArray]:
    low, high = function.box.T
    target = low + (high - low) * rng.uniform(0.2, 0.8, len(low))
    shift = target - function.argmin
    return lambda z: function.evaluate(z - shift), target


def _translated(function: Function, name: str, seed: int) -> Problem:
    rng = generator(name, seed)
    order = rng.permutation(len(function.box))
    evaluate, target = _moved(function, rng)
    bounds, argopt = np.empty_like(function.box), np.empty_like(target)
    bounds[order], argopt[order] = function.box, target
    return Problem(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=bounds,
        evaluate=lambda x: evaluate(x[order]),
        optimum=function.minimum,
        argopt=argopt,
    )


def _embedded(
    function: Function, name: str, seed: int, *, dim: int, translate: bool = False
) -> Problem:
    rng = generator(name, seed)
    active = rng.permutation(dim)[: len(function.box)]
    evaluate, target = _moved(function, rng) if translate else (function.evaluate, function.argmin)
    low, high = function.box.T
    reversed_ = rng.random(len(active)) < 0.5
    argopt = np.full(dim, 0.5)
    unit = (target - low) / (high - low)
    argopt[active] = np.where(reversed_, 1.0 - unit, unit)

    def objective(x: FloatArray) -> float:
        u = np.where(reversed_, 1.0 - x[active], x[active])
        return evaluate(low + (high - low) * u)

    return Problem(
        name=name,
        seed=seed,
        direction="minimize",
        bounds=np.tile([0.0, 1.0], (dim, 1)),
        evaluate=objective,
        optimum=function.minimum,
        argopt=argopt,
        inert=names(sorted(set(range(dim)) - set(active.tolist()))),
    )


def _grouped(name: str, seed: int, *, dim: int, d: int, n_groups: int) -> Problem:
    order = generator(name, seed).permutation(dim)
    groups = order[: n_groups * d].reshape(n_groups, d)
    argopt = np.zeros(dim)
    argopt[groups] = trimodal.centres(d)[1]
    return Problem(
        name=name,
        seed=seed,
        direction="maximize",
        bounds=np.tile([-1.0, 1.0], (dim, 1)),
        evaluate=partial(trimodal.additive_trimodal, groups=groups),
        optimum=n_groups * trimodal.group_maximum(d),
        argopt=argopt,
        groups=tuple(names(group) for group in groups.tolist()),
        inert=names(sorted(order[n_groups * d :].tolist())),
    )


Build = Callable[[str, int], Problem]


def whole(function: Function) -> Build:
    """Build translated instances of a function."""
    return lambda name, seed: _translated(function, name, seed)


def part(function: Function, dim: int, *, translate: bool = False) -> Build:
    """Build instances of a function embedded among inert parameters."""
    return lambda name, seed: _embedded(function, name, seed, dim=dim, translate=translate)


def modes(dim: int, d: int, n_groups: int) -> Build:
    """Build grouped instances of the trimodal function."""
    return lambda name, seed: _grouped(name, seed, dim=dim, d=d, n_groups=n_groups)


def imported(module: str, problem: str, package: str) -> Any:
    """Import what a problem needs; ``ValueError`` with the remedy where it is not installed."""
    if importlib.util.find_spec(module.split(".")[0]) is None:
        raise ValueError(
            f"problem {problem} needs the {package} package. Run `pip install {package}`."
        )
    return importlib.import_module(module)


def generator(name: str, seed: int) -> np.random.Generator:
    """Return the source of an instance's random part."""
    # The name enters the entropy so that a sampler seeded with the same number cannot draw the
    # numbers that the optimum was drawn from.
    return np.random.default_rng([zlib.crc32(name.encode()), seed])
