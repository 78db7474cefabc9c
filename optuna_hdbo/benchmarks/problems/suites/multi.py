"""Problems with several objectives, all to be minimised, with a reference point for volumes.

The reported ones are those of ``pymoo`` (Blank & Deb 2020):

``multi``
    The ZDT, DTLZ and WFG suites with two or three objectives, in its default sizes. Reference
    points are those of BoTorch where it has the problem.
``multi-many``
    Problems of DTLZ and WFG with four to six objectives.
``multi-constrained``
    Problems with constraints: designs and small functions that Deb and others have used since
    1999, and problems of the suites MW (Ma & Wang 2019), C-DTLZ (Jain & Deb 2014) and DAS-CMOP
    (Fan et al. 2020). Reference points are just beyond the ends of the known fronts.

The problems for tuning, ``multi-tune``, are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import Purpose
from optuna_hdbo.benchmarks.problems.instances import imported


Evaluate = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Several:
    """A problem with several objectives.

    Parameters
    ----------
    name : str
    bounds : FloatArray, shape (D, 2)
    evaluate : callable
        A point (D,) in the parameters' units to the objectives' values (k,).
    reference : FloatArray, shape (k,)
        Only values below it in every objective count.
    purpose : {"report", "tune"}
    constraints : callable or None
        A point (D,) to the constraints' values (C,), each of which has to be at most 0.
    """

    name: str
    bounds: FloatArray
    evaluate: Evaluate
    reference: FloatArray
    purpose: Purpose
    constraints: Evaluate | None = None

    def first(self, seed: int) -> Problem:
        """Return the problem of the first objective, from which samplers are built."""
        return Problem(
            name=self.name,
            seed=seed,
            direction="minimize",
            bounds=self.bounds,
            evaluate=lambda x: float(self.evaluate(x)[0]),
            optimum=0.0,
            argopt=None,
            purpose=self.purpose,
        )

    def suggest(self, trial: optuna.Trial) -> FloatArray:
        """Suggest every parameter of a trial, in order; shape (D,)."""
        return self.first(0).suggest(trial)


def _pymoo(name: str, reference: FloatArray, **settings: Any) -> Several:
    problems = imported("pymoo.problems", name, "pymoo")
    problem = problems.get_problem(name.split("-")[0], **settings)

    def values(x: FloatArray, of: str) -> FloatArray:
        return np.asarray(problem.evaluate(x[None], return_values_of=[of])[0], np.float64)

    return Several(
        name,
        bounds=np.stack([problem.xl, problem.xu], axis=1).astype(np.float64),
        evaluate=lambda x: values(x, "F"),
        reference=reference,
        purpose="report",
        constraints=(lambda x: values(x, "G")) if problem.n_ieq_constr else None,
    )


ZDT4 = np.array([11.0, 200.0])
"""Reference point of ZDT4. Its second value is about that of a random point. No sampler comes
below 11 in some hundred trials, which is BoTorch's value for all problems of the suite."""


def _zdt(number: int) -> Callable[[str], Several]:
    return lambda name: _pymoo(name, ZDT4 if number == 4 else np.full(2, 11.0))


DTLZ = {1: 400.0, 2: 1.1, 3: 1e4, 4: 1.1, 5: 10.0, 6: 12.0, 7: 15.0}
"""BoTorch's reference points of DTLZ; it does not have the sixth."""


def _dtlz(number: int, n_objectives: int = 3) -> Callable[[str], Several]:
    reference = np.full(n_objectives, DTLZ[number])
    return lambda name: _pymoo(name, reference, n_obj=n_objectives)


def _wfg(n_objectives: int = 2) -> Callable[[str], Several]:
    # The worst optimal values are 2, 4, 6 and so on.
    reference = np.arange(3.0, 2.0 * n_objectives + 2.0, 2.0)
    return lambda name: _pymoo(name, reference, n_var=10, n_obj=n_objectives)


def _with_constraints(*reference: float, **settings: Any) -> Callable[[str], Several]:
    return lambda name: _pymoo(name, np.array(reference), **settings)


def _cube(d: int, evaluate: Evaluate, *reference: float) -> Callable[[str], Several]:
    bounds = np.tile([0.0, 1.0], (d, 1))
    return lambda name: Several(name, bounds, evaluate, np.array(reference), "tune")


def _centres(d: int, k: int) -> FloatArray:
    centres: FloatArray = np.random.default_rng(100 * d + k).uniform(0.2, 0.8, (k, d))
    return centres


def _spheres(d: int, k: int) -> Evaluate:
    """Squared distances from k points; what lies between these is optimal."""
    C = _centres(d, k)
    return lambda x: ((x - C) ** 2).sum(axis=1)


def _ackleys(d: int) -> Evaluate:
    """Ackley's function around two points."""
    C = _centres(d, 2)

    def evaluate(x: FloatArray) -> FloatArray:
        z = 10.0 * (x - C)
        wide = 20.0 * np.exp(-0.2 * np.sqrt((z**2).mean(axis=1)))
        return np.asarray(20.0 + np.e - wide - np.exp(np.cos(2.0 * np.pi * z).mean(axis=1)))

    return evaluate


def _curve(d: int, distance: Callable[[FloatArray], float], power: float) -> Evaluate:
    """Return a problem whose first column is an objective; the others have to reach a centre."""
    centre = np.random.default_rng(d).uniform(0.2, 0.8, d - 1)

    def evaluate(x: FloatArray) -> FloatArray:
        g = 1.0 + distance(x[1:] - centre)
        return np.array([x[0], g * (1.0 - (x[0] / g) ** power)])

    return evaluate


def _valley(z: FloatArray) -> float:
    """Rosenbrock's valley."""
    w = 2.0 * z
    return float((10.0 * (w[1:] - w[:-1] ** 2) ** 2 + w[:-1] ** 2).sum())


def _waves(z: FloatArray) -> float:
    """Rastrigin's waves."""
    return float((40.0 * z**2 + 3.0 * (1.0 - np.cos(8.0 * np.pi * z))).sum())


def _fonseca(x: FloatArray) -> FloatArray:
    """Fonseca & Fleming (1995): flat far away from the front."""
    z, a = 8.0 * x - 4.0, 1.0 / np.sqrt(len(x))
    return np.array([1.0 - np.exp(-((z - s * a) ** 2).sum()) for s in (1.0, -1.0)])


def _kursawe(x: FloatArray) -> FloatArray:
    """Kursawe (1991): a front in several pieces."""
    z = 10.0 * x - 5.0
    first = -10.0 * np.exp(-0.2 * np.sqrt(z[:-1] ** 2 + z[1:] ** 2))
    return np.array([first.sum(), (np.abs(z) ** 0.8 + 5.0 * np.sin(z**3)).sum()])


def _shell(d: int) -> Evaluate:
    """Three objectives; the front is an eighth of a sphere."""
    centre = np.random.default_rng(d).uniform(0.3, 0.7, d - 2)

    def evaluate(x: FloatArray) -> FloatArray:
        a, b = 0.5 * np.pi * x[:2]
        radius = 1.0 + ((x[2:] - centre) ** 2).sum()
        return np.asarray(
            radius * np.array([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])
        )

    return evaluate


_BUILD: Mapping[str, Mapping[str, Callable[[str], Several]]] = {
    "multi": {
        **{f"zdt{i}": _zdt(i) for i in (1, 2, 3, 4, 6)},
        **{f"dtlz{i}": _dtlz(i) for i in DTLZ},
        **{f"wfg{i}": _wfg() for i in range(1, 10)},
    },
    "multi-many": {
        "dtlz2-4": _dtlz(2, 4),
        "dtlz2-6": _dtlz(2, 6),
        "dtlz4-4": _dtlz(4, 4),
        "dtlz5-4": _dtlz(5, 4),
        "dtlz7-4": _dtlz(7, 4),
        "wfg4-4": _wfg(4),
        "wfg7-5": _wfg(5),
        "wfg9-4": _wfg(4),
    },
    "multi-constrained": {
        "bnh": _with_constraints(140.0, 55.0),
        "tnk": _with_constraints(1.1, 1.1),
        "osy": _with_constraints(0.0, 80.0),
        "truss2d": _with_constraints(0.06, 1.1e5),
        "welded_beam": _with_constraints(40.0, 0.02),
        "carside": _with_constraints(43.0, 4.1, 13.0),
        "mw1": _with_constraints(1.1, 1.1),
        "mw2": _with_constraints(1.1, 1.1),
        "mw3": _with_constraints(1.1, 1.1),
        "mw7": _with_constraints(1.3, 1.3),
        "c1dtlz1": _with_constraints(1.0, 1.0, 1.0),
        "c2dtlz2": _with_constraints(1.1, 1.1, 1.1),
        "c3dtlz4": _with_constraints(2.2, 2.2, 2.2),
        "dascmop1": _with_constraints(2.0, 2.0, difficulty=5),
    },
    "multi-tune": {
        "spheres-10": _cube(10, _spheres(10, 2), 2.0, 2.0),
        "spheres3-8": _cube(8, _spheres(8, 3), 2.0, 2.0, 2.0),
        "ackleys-6": _cube(6, _ackleys(6), 10.0, 10.0),
        "ackleys-20": _cube(20, _ackleys(20), 12.0, 12.0),
        "cone-20": _cube(20, _curve(20, lambda z: 9.0 * float(np.abs(z).mean()), 0.5), 1.1, 3.0),
        "bowl-30": _cube(30, _curve(30, lambda z: 9.0 * float((z**2).mean()), 2.0), 1.1, 3.0),
        "valley-10": _cube(10, _curve(10, _valley, 2.0), 1.1, 10.0),
        "waves-10": _cube(10, _curve(10, _waves, 0.5), 1.1, 20.0),
        "fonseca-6": _cube(6, _fonseca, 1.1, 1.1),
        "kursawe-3": _cube(3, _kursawe, -12.0, 2.0),
        "shell-8": _cube(8, _shell(8), 1.5, 1.5, 1.5),
    },
}
NAMES: Mapping[str, tuple[str, ...]] = {family: tuple(builds) for family, builds in _BUILD.items()}
"""The problems of each family. All but those for tuning are only reported."""


def is_known(name: str) -> bool:
    """Tell whether this is a problem with several objectives."""
    return any(name in names for names in NAMES.values())


def purpose_of(name: str) -> Purpose:
    """Return what results on a problem may be used for."""
    return "tune" if name in NAMES["multi-tune"] else "report"


def make(name: str) -> Several:
    """Return a problem by name; ``ValueError`` where pymoo is needed and missing."""
    return next(builds[name] for builds in _BUILD.values() if name in builds)(name)
