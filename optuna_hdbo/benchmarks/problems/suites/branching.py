"""Random functions whose parameters depend on choices, of several shapes.

models-3, models-6, models-10
    A choice of so many models with one to six parameters each, and up to three for all of them.
nested-7
    A choice of three kinds with a parameter each, and below it one of two or three models.
layers-6
    One to six layers, each with a width and an activation. Neighbouring widths interact.
parts-4
    Four independent choices, such as a pipeline's steps. Each option has up to three parameters,
    and neighbouring options suit each other more or less.

Parameters are real numbers on linear and logarithmic scales, integers and categories. The seed
draws them, their best values, what each option costs at its best, and whether a model's parameters
form a bowl, a valley, a ridge or ripples. The best setting of the best options has the value 0.
Problems for tuning have other sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import TUNING
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Names
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.suites.conditional import instance


CATEGORIES: Names = ("a", "b", "c", "d")
LARGEST = 64
"""Largest value of an integer."""

KINDS: Names = ("real", "real", "log", "integer", "category")
"""Kinds of parameters, as often as they are drawn."""

COSTS = (0.02, 0.3)
"""Between these is what an option costs at its best if it is not the best one."""


@dataclass(frozen=True)
class Knob:
    """A parameter with a name, a kind and its best value."""

    name: str
    kind: str
    best: Any

    def gap(self, trial: optuna.Trial) -> float:
        """Suggest the parameter; return how far it is from its best value, in ranges."""
        if self.kind == "real":
            return trial.suggest_float(self.name, 0.0, 1.0) - float(self.best)
        if self.kind == "log":
            return math.log10(trial.suggest_float(self.name, 1e-5, 1e-1, log=True) / self.best) / 4
        if self.kind == "integer":
            return (trial.suggest_int(self.name, 1, LARGEST) - int(self.best)) / (LARGEST - 1)
        choice = trial.suggest_categorical(self.name, CATEGORIES)
        # Without an order: the other categories are .2, .3 and .4 of a range away.
        away = (CATEGORIES.index(choice) - CATEGORIES.index(self.best)) % len(CATEGORIES)
        return 0.1 * (away + 1) if away else 0.0


def _knob(rng: np.random.Generator, name: str, kind: str) -> Knob:
    place = float(rng.uniform(0.1, 0.9))
    best = {
        "real": place,
        "log": 10.0 ** (4.0 * place - 5.0),
        "integer": round(1 + place * (LARGEST - 1)),
        "category": CATEGORIES[int(place * len(CATEGORIES))],
    }
    return Knob(name, kind, best[kind])


def _bowl(z: FloatArray) -> float:
    return float((z**2).sum())


def _valley(z: FloatArray) -> float:
    return float(0.2 * (z**2).sum() + 4.0 * ((z[1:] - z[:-1]) ** 2).sum())


def _ridge(z: FloatArray) -> float:
    return float(np.abs(z).sum() / 3.0)


def _ripples(z: FloatArray) -> float:
    return float((z**2).sum() + 0.02 * (1.0 - np.cos(8.0 * np.pi * z)).sum())


SHAPES: tuple[Callable[[FloatArray], float], ...] = (_bowl, _valley, _ridge, _ripples)


@dataclass(frozen=True)
class Model:
    """What an option costs at its best, and a function of the distances of its parameters."""

    knobs: Sequence[Knob]
    weights: FloatArray
    shape: Callable[[FloatArray], float]
    cost: float

    def loss(self, trial: optuna.Trial) -> float:
        """Suggest the parameters; return the loss."""
        gaps = np.array([knob.gap(trial) for knob in self.knobs])
        return self.cost + self.shape(self.weights * gaps)

    @property
    def answer(self) -> dict[str, Any]:
        """The best parameters."""
        return {knob.name: knob.best for knob in self.knobs}


def _model(rng: np.random.Generator, name: str, n: int, cost: float = 0.0) -> Model:
    weights = 10.0 ** rng.uniform(-0.7, 0.3, n)
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    knobs = [_knob(rng, f"{name}_{i}", str(rng.choice(KINDS))) for i in range(n)]
    return Model(knobs, weights, shape, cost)


def _options(
    rng: np.random.Generator, name: str, n: int, least: int, most: int
) -> tuple[list[Model], int]:
    """Return models with so many parameters each, and which one costs nothing."""
    costs, best = rng.uniform(*COSTS, n), int(rng.integers(n))
    costs[best] = 0.0
    sizes = rng.integers(least, most + 1, n)
    return [_model(rng, f"{name}{i}", int(sizes[i]), float(costs[i])) for i in range(n)], best


def _option(name: str, i: int) -> str:
    return f"{name}{i}"


def _choice(trial: optuna.Trial, name: str, n: int) -> int:
    options = [_option(name, i) for i in range(n)]
    return options.index(trial.suggest_categorical(name, options))


def _answer(chosen: Mapping[str, Any], *models: Model) -> dict[str, Any]:
    return {**chosen, **{name: v for model in models for name, v in model.answer.items()}}


def _n_knobs(models: Sequence[Model]) -> int:
    return sum(len(model.knobs) for model in models)


def _models(n: int) -> Build:
    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        models, best = _options(rng, "model", n, 1, 6)
        shared = _model(rng, "shared", int(rng.integers(0, 4)))

        def ask(trial: optuna.Trial) -> float:
            return models[_choice(trial, "model", n)].loss(trial) + shared.loss(trial)

        answer = _answer({"model": _option("model", best)}, models[best], shared)
        return instance(name, seed, 1 + _n_knobs([*models, shared]), ask, 0.0, answer)

    return build


def _nested(sizes: tuple[int, ...]) -> Build:
    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        kinds, best = _options(rng, "kind", len(sizes), 1, 1)
        below = [_options(rng, f"leaf{k}", size, 1, 4) for k, size in enumerate(sizes)]

        def ask(trial: optuna.Trial) -> float:
            k = _choice(trial, "kind", len(sizes))
            leaves, _ = below[k]
            return kinds[k].loss(trial) + leaves[_choice(trial, f"leaf{k}", sizes[k])].loss(trial)

        leaves, leaf = below[best]
        chosen = {"kind": _option("kind", best), f"leaf{best}": _option(f"leaf{best}", leaf)}
        n_own = _n_knobs([*kinds, *(model for models, _ in below for model in models)])
        answer = _answer(chosen, kinds[best], leaves[leaf])
        return instance(name, seed, 1 + len(sizes) + n_own, ask, 0.0, answer)

    return build


def _layers(most: int) -> Build:
    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        best = int(rng.integers(2, most))
        widths = [_knob(rng, f"width{i}", "integer") for i in range(most)]
        activations = [_knob(rng, f"activation{i}", "category") for i in range(most)]
        shared = _model(rng, "training", 3)

        def ask(trial: optuna.Trial) -> float:
            n = trial.suggest_int("n_layers", 1, most)
            z = np.array([knob.gap(trial) for knob in widths[:n]])
            a = np.array([knob.gap(trial) for knob in activations[:n]])
            # A layer that is too wide suits a next one that is too narrow.
            own = (z**2).sum() + ((z[1:] + z[:-1]) ** 2).sum() + (a**2).sum()
            return float(0.05 * abs(n - best) + own / n + shared.loss(trial))

        layers = Model([*widths[:best], *activations[:best]], np.empty(0), _bowl, 0.0)
        answer = _answer({"n_layers": best}, layers, shared)
        return instance(name, seed, 1 + 2 * most + len(shared.knobs), ask, 0.0, answer)

    return build


def _parts(sizes: tuple[int, ...]) -> Build:
    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        parts = [_options(rng, f"part{k}", size, 0, 3) for k, size in enumerate(sizes)]
        clashes = [rng.uniform(0.0, 0.1, pair) for pair in itertools.pairwise(sizes)]
        best = [option for _, option in parts]
        for clash, pair in zip(clashes, itertools.pairwise(best), strict=True):
            clash[pair] = 0.0

        def ask(trial: optuna.Trial) -> float:
            taken = [_choice(trial, f"part{k}", size) for k, size in enumerate(sizes)]
            own = sum(parts[k][0][option].loss(trial) for k, option in enumerate(taken))
            pairs = zip(clashes, itertools.pairwise(taken), strict=True)
            return float(own + sum(clash[pair] for clash, pair in pairs))

        chosen = {f"part{k}": _option(f"part{k}", option) for k, option in enumerate(best)}
        answer = _answer(chosen, *(models[option] for models, option in parts))
        n_own = _n_knobs([model for models, _ in parts for model in models])
        return instance(name, seed, len(sizes) + n_own, ask, 0.0, answer)

    return build


FAMILY: dict[str, Build] = {
    "models-3": _models(3),
    "models-6": _models(6),
    "models-10": _models(10),
    "nested-7": _nested((2, 2, 3)),
    "layers-6": _layers(6),
    "parts-4": _parts((3, 4, 3, 4)),
}
"""The problems that are reported."""

TUNED: dict[str, Build] = {
    f"models-4{TUNING}": _models(4),
    f"models-8{TUNING}": _models(8),
    f"nested-5{TUNING}": _nested((3, 2)),
    f"layers-5{TUNING}": _layers(5),
    f"parts-3{TUNING}": _parts((3, 4, 5)),
}
"""The same with other sizes, for tuning."""
