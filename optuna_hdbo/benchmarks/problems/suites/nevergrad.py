"""Some of Nevergrad's real-world problems (Rapin & Teytaud 2018), through ``nevergrad``.

bragg-16, chirped-16, morpho-16 and the same with 40 parameters
    Layers of a mirror, and the scales of a butterfly's wing: how far from the wanted reflection
    they are (Barry et al. 2018).
coating-10, coating-20, coating-40
    Permittivities of the layers of an antireflective coating: what it reflects.
fishing-20, fishing-60
    How much is fished over a year of predators and prey, in as many steps of equal length. A bound
    on the catch less the catch.
quadratic-10, sine-10, abs-10, heaviside-10
    Weights of a perceptron with three hidden units: its squared error on the function of the name
    (Gallagher & Saleem 2018).
mapping-12, mapping-24
    Places of six and twelve points in the plane that keep their distances in a space of four and
    six dimensions: Sammon's mapping.
transitions-22, transitions-30
    When the riders of a team pursuit change places, as binary parameters: the time of the race
    (Wagner et al. 2013).
pacing-31
    How hard they pedal. Where they are exhausted before the end, the time is 10 000 seconds.
tour-10, tour-20
    Keys that put places in an order: the length of a tour through them.

They are only reported: no default is tuned on them. Others of the package need programs or data
that it has not, have noise, or are team pursuits that hardly any point finishes. The seed draws
the points of the mappings and the places of the tours. The other problems are the same for all
seeds. 0 is a bound on all values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import imported
from optuna_hdbo.benchmarks.problems.suites.mixed import minimised


Objective = Callable[[FloatArray], float]

LAYERS = {
    "bragg": [(2.0, 3.0), (30.0, 180.0)],
    "chirped": [(30.0, 180.0)],
    "morpho": [(0.0, 300.0), (0.0, 600.0), (30.0, 600.0), (0.0, 300.0)],
}
"""The ranges of the numbers that each layer has."""
NEEDED = {"mlda": {"PIL": "pillow", "requests": "requests"}, "stsp": {"matplotlib": "matplotlib"}}
"""What parts of Nevergrad import but it does not install: modules, and their packages."""
DAYS = 360
MOST_CAUGHT = 72.0
"""In a year: a fifth of what there can be at most, every day."""


def _module(name: str, path: str) -> Any:
    for module, package in NEEDED.get(path, {}).items():
        imported(module, name, package)
    return imported(f"nevergrad.functions.{path}", name, "nevergrad")


def _built(
    dim: int,
    low: float,
    high: float,
    objective: Callable[[str, np.random.Generator], Objective],
    n_integers: int = 0,
) -> Build:
    """Build instances of an objective whose parameters all have one range."""
    return lambda name, seed: minimised(
        name,
        seed,
        np.tile([low, high], (dim, 1)),
        n_integers,
        objective(name, generator(name, seed)),
    )


def _photonics(kind: str, dim: int) -> Build:
    bounds = np.repeat(LAYERS[kind], dim // len(LAYERS[kind]), axis=0)

    def build(name: str, seed: int) -> Any:
        function = _module(name, "photonics").Photonics(kind, dim, bounding_method="clipping")

        def evaluate(x: FloatArray) -> float:
            return float(function.function(x.reshape(len(LAYERS[kind]), -1)))

        return minimised(name, seed, bounds, 0, evaluate)

    return build


def _coating(dim: int) -> Build:
    def objective(name: str, rng: np.random.Generator) -> Objective:
        function = _module(name, "arcoating").ARCoating(dim, 400)
        return lambda x: float(function.function(x))

    return _built(dim, 1.0, 9.0, objective)


def _fishing(dim: int) -> Build:
    def objective(name: str, rng: np.random.Generator) -> Objective:
        fishing = _module(name, "fishing")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the steps of Nevergrad's own optimisers
            function = fishing.OptimizeFish(DAYS)
        return lambda x: MOST_CAUGHT + float(function(np.repeat(x, DAYS // dim)))

    return _built(dim, 0.0, 2.0, objective)


def _perceptron(kind: str) -> Build:
    def objective(name: str, rng: np.random.Generator) -> Objective:
        function = _module(name, "mlda").Perceptron.from_mlda(kind)
        return lambda x: float(function(x))

    return _built(10, -4.0, 4.0, objective)


def _mapping(n_points: int, n_dimensions: int) -> Build:
    def objective(name: str, rng: np.random.Generator) -> Objective:
        points = rng.standard_normal((n_points, n_dimensions))
        gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
        function = _module(name, "mlda").SammonMapping(gaps)
        return lambda x: float(function(x.reshape(n_points, 2)))

    return _built(2 * n_points, -2.0, 2.0, objective)


def _race(dim: int, low: float, high: float, n_integers: int) -> Build:
    def objective(name: str, rng: np.random.Generator) -> Objective:
        simulate = _module(name, "cycling.cycling").team_pursuit_simulation
        if n_integers:
            return lambda x: float(simulate([bool(change) for change in x]))
        return lambda x: float(simulate(x))

    return _built(dim, low, high, objective, n_integers)


def _tour(dim: int) -> Build:
    def objective(name: str, rng: np.random.Generator) -> Objective:
        function = _module(name, "stsp").STSP(dim)
        function.x, function.y = rng.standard_normal((2, dim))
        return lambda x: float(function(x))

    return _built(dim, 0.0, 1.0, objective)


FAMILY: dict[str, Build] = {
    **{f"{kind}-{dim}": _photonics(kind, dim) for kind in LAYERS for dim in (16, 40)},
    **{f"coating-{dim}": _coating(dim) for dim in (10, 20, 40)},
    **{f"fishing-{dim}": _fishing(dim) for dim in (20, 60)},
    **{f"{kind}-10": _perceptron(kind) for kind in ("quadratic", "sine", "abs", "heaviside")},
    "mapping-12": _mapping(6, 4),
    "mapping-24": _mapping(12, 6),
    "transitions-22": _race(22, 0.0, 1.0, 22),
    "transitions-30": _race(30, 0.0, 1.0, 30),
    "pacing-31": _race(31, 200.0, 1200.0, 0),
    **{f"tour-{dim}": _tour(dim) for dim in (10, 20)},
}
"""The problems that are reported."""
