"""The test problems by name, each with the purpose that its results have.

Problems and seeds are split: those for tuning defaults are never reported, and the other way
round. :mod:`optuna_hdbo.benchmarks.problems.instances` describes instances.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems import combinatorial
from optuna_hdbo.benchmarks.problems import functions
from optuna_hdbo.benchmarks.problems import landscapes
from optuna_hdbo.benchmarks.problems import lowdim
from optuna_hdbo.benchmarks.problems import selection
from optuna_hdbo.benchmarks.problems.data import cascade
from optuna_hdbo.benchmarks.problems.data import mopta
from optuna_hdbo.benchmarks.problems.data import ramp
from optuna_hdbo.benchmarks.problems.data import supernovae
from optuna_hdbo.benchmarks.problems.data import terms
from optuna_hdbo.benchmarks.problems.data import vehicle
from optuna_hdbo.benchmarks.problems.data.digits import output_layer
from optuna_hdbo.benchmarks.problems.instances import TUNING
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Names
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import Purpose
from optuna_hdbo.benchmarks.problems.instances import modes
from optuna_hdbo.benchmarks.problems.instances import part
from optuna_hdbo.benchmarks.problems.instances import whole
from optuna_hdbo.benchmarks.problems.lowdim import unmoved
from optuna_hdbo.benchmarks.problems.suites import bbob
from optuna_hdbo.benchmarks.problems.suites import branching
from optuna_hdbo.benchmarks.problems.suites import conditional
from optuna_hdbo.benchmarks.problems.suites import errors
from optuna_hdbo.benchmarks.problems.suites import learners
from optuna_hdbo.benchmarks.problems.suites import mixed
from optuna_hdbo.benchmarks.problems.suites import multi
from optuna_hdbo.benchmarks.problems.suites import nevergrad
from optuna_hdbo.benchmarks.problems.suites import simulators
from optuna_hdbo.benchmarks.problems.suites import training


SEEDS: dict[Purpose, range] = {"report": range(100), "tune": range(1000, 2000)}
_KIND: dict[Purpose, str] = {"report": "reported", "tune": "tuning"}


def _cube(d: int, high: float) -> FloatArray:
    return np.tile([0.0, high], (d, 1))


_BUILD: dict[Purpose, dict[str, Build]] = {
    "report": {
        "trimodal-10-3-3": modes(10, 3, 3),
        "trimodal-24-6-4": modes(24, 6, 4),
        "trimodal-40-5-8": modes(40, 5, 8),
        "levy-20": whole(functions.levy(20)),
        "ackley-50": whole(functions.ackley(50)),
        "ellipsoid-50": whole(functions.ellipsoid(50)),
        "hartmann6-50": part(functions.hartmann6(), 50),
        "styblinski4-50": part(functions.styblinski(4), 50),
        "branin-50": part(functions.branin(), 50),
        "fbranin-50": selection.copies(functions.branin(top=10.0), 50),
        "fhm6-50": selection.copies(functions.hartmann6(), 50),
        "fst4-50": selection.copies(functions.styblinski(4), 50),
        **{f"branin-{d}": part(functions.branin(), d) for d in (100, 1000)},
        **{f"hartmann6-{d}": part(functions.hartmann6(), d) for d in (100, 1000)},
        "hartmann6-200": part(functions.hartmann6(), 200),
        "rotatedhm6-100": selection.rotated(functions.hartmann6(), 100),
        "rover-60": selection.rover(60),
        "lasso-100": selection.lasso(100, 5, 50),
        "svm-32": selection.svm,
        "branin-2": unmoved(functions.branin()),
        "rosenbrock-2": unmoved(functions.rosenbrock(2)),
        "hartmann3-3": unmoved(functions.hartmann3()),
        "hartmann6-6": unmoved(functions.hartmann6()),
        "shekel-4": unmoved(lowdim.shekel10()),
        "himmelblau-2": part(functions.himmelblau(), 2),
        "goldstein-2": part(lowdim.goldstein_price(), 2),
        "mixture-2": landscapes.mixture(),
        "gp-2": landscapes.draw(_cube(2, 5.0), np.ones(2)),
        "gp-4": landscapes.draw(_cube(4, 40.0), np.full(4, 16.0)),
        "gp-5": landscapes.draw(_cube(5, 1.0), np.array([0.2, 0.3, 0.5, 1.0, 2.0])),
        "mackeyglass-6": landscapes.mackey_glass(),
        **{f"levy-{d}": whole(functions.levy(d)) for d in (50, 100, 500)},
        **{f"ackley-{d}": whole(functions.ackley(d)) for d in (20, 100, 500)},
        **{f"ellipsoid-{d}": whole(functions.ellipsoid(d)) for d in (20, 100, 500)},
        **{
            f"camelback-{d}": part(functions.sixhump(), d, translate=True)
            for d in (20, 50, 100, 500)
        },
        "digits-100": output_layer(10),
    },
    "tune": {
        "trimodal-11-3-3": modes(11, 3, 3),
        "trimodal-16-4-3": modes(16, 4, 3),
        "trimodal-18-3-5": modes(18, 3, 5),
        "trimodal-23-5-4": modes(23, 5, 4),
        "trimodal-30-5-5": modes(30, 5, 5),
        "ackley-10": whole(functions.ackley(10)),
        "dixonprice-20": whole(functions.dixonprice(20)),
        "griewank-50": whole(functions.griewank(50)),
        "michalewicz-10": whole(functions.michalewicz()),
        "rastrigin-20": whole(functions.rastrigin(20)),
        "rosenbrock-20": whole(functions.rosenbrock(20)),
        "zakharov-20": whole(functions.zakharov(20)),
        "hartmann3-30": part(functions.hartmann3(), 30),
        "gp-3": landscapes.draw(_cube(3, 1.0), np.full(3, 0.25)),
        "doublesum-50": whole(functions.doublesum(50)),
        "salomon-50": whole(functions.salomon(50)),
        "salomon-100": whole(functions.salomon(100)),
        "dixonprice-50": whole(functions.dixonprice(50)),
        "rastrigin-50": whole(functions.rastrigin(50)),
        "hartmann4-50": part(functions.hartmann4(), 50),
        "wells4-50": part(functions.wells(4), 50),
        "griewank-100": whole(functions.griewank(100)),
        "rastrigin-100": whole(functions.rastrigin(100)),
        "sixhump-50": part(functions.sixhump(), 50, translate=True),
        "fhm3-50": selection.copies(functions.hartmann3(), 50),
        "fcamel-50": selection.copies(functions.sixhump(), 50),
        "fwells4-50": selection.copies(functions.wells(4), 50),
        "flevy5-50": selection.copies(functions.levy(5), 50),
        "rover-30": selection.rover(30),
        "lasso-60": selection.lasso(60, 3, 30),
        "sixhump-2": whole(functions.sixhump()),
        "goldsteinprice-2": whole(lowdim.goldstein_price()),
        "dixonprice-2": whole(functions.dixonprice(2)),
        "michalewicz3-3": whole(lowdim.michalewicz3()),
        "bumps-3": lowdim.bumps3,
        "hartmann4-4": whole(functions.hartmann4()),
        "styblinski-4": whole(functions.styblinski(4)),
        "shekel5-4": whole(lowdim.shekel5()),
        "shekel7-4": whole(lowdim.shekel7()),
        "levy-6": whole(functions.levy(6)),
    },
}
_FAMILIES: dict[str, dict[str, Build]] = {
    "trimodal": {
        f"trimodal-{dim}-{d}-{n_groups}": modes(dim, d, n_groups)
        for dim, d, n_groups in (
            *((24, 11, 2), (40, 18, 2), (40, 35, 1)),
            *((96, 5, 19), (96, 29, 3), (120, 55, 2)),
        )
    },
    "data": {
        "supernovae-20": supernovae.supernovae(20),
        "cascade-22": cascade.cascade,
        "terms-4": terms.terms,
        "vehicle-124": vehicle.design(124, 68),
        "digits-500": output_layer(50),
        **{f"ramp{C}-5000": ramp.classifier(5000, C) for C in (1, 2, 5, 10)},
    },
    "program": {"mopta08-124": mopta.automobile},
    "valleys": {
        **{f"trid-{d}": whole(functions.trid(d)) for d in (10, 20)},
        **{f"powell-{d}": whole(functions.powell(d)) for d in (12, 20)},
    },
    **{f"bbob-{dim}": bbob.family(dim) for dim in bbob.DIMENSIONS},
    "conditional": conditional.FAMILY,
    "conditional-tune": conditional.TUNED,
    "branching": branching.FAMILY,
    "branching-tune": branching.TUNED,
    "learners": learners.FAMILY,
    "learners-tune": learners.TUNED,
    "mixed": mixed.FAMILY,
    "mixed-tune": mixed.TUNED,
    "combinatorial": combinatorial.FAMILY,
    "errors": errors.FAMILY,
    "errors-tune": errors.TUNED,
    "training": training.FAMILY,
    "simulators": simulators.FAMILY,
    "nevergrad": nevergrad.FAMILY,
}
NAMES: dict[Purpose, Names] = {purpose: tuple(builds) for purpose, builds in _BUILD.items()}
FAMILIES: dict[str, Names] = {family: tuple(builds) for family, builds in _FAMILIES.items()}
"""Suites by name. All but those for tuning are only reported."""


def purpose_of(name: str) -> Purpose:
    """Return what results on a problem may be used for."""
    if multi.is_known(name):
        return multi.purpose_of(name)
    for purpose, names in NAMES.items():
        if name in names:
            return purpose
    if any(name in names for names in FAMILIES.values()):
        return "tune" if name.endswith(TUNING) else "report"
    known = ", ".join(name for names in (*NAMES.values(), *FAMILIES.values()) for name in names)
    raise ValueError(f"problem must be one of {known}, but got {name}.")


def check_seed(name: str, seed: int) -> None:
    """Raise ``ValueError`` unless the seed has the problem's purpose."""
    purpose = purpose_of(name)
    seeds = SEEDS[purpose]
    if seed not in seeds:
        raise ValueError(
            f"seed must be in [{seeds[0]}, {seeds[-1]}] for a {_KIND[purpose]} problem, "
            f"but got {seed}."
        )


def make(name: str, seed: int) -> Problem:
    """Return the instance of a problem with one objective that belongs to a seed."""
    check_seed(name, seed)
    if multi.is_known(name):
        raise ValueError(f"problem must have one objective, but got {name}.")
    purpose = purpose_of(name)
    builds = [_BUILD[purpose], *_FAMILIES.values()]
    build = next(known[name] for known in builds if name in known)
    return replace(build(name, seed), purpose=purpose)
