"""Domains, and studies without Optuna: what tests of methods and of their core start from."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any
from typing import TypeVar

import numpy as np
import pytest

from optuna_hdbo import methods
from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import Steps
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.streams import Streams
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import State
from optuna_hdbo.methods.base import Suggestion


Case = TypeVar("Case")

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether compiled functions run as plain Python, a hundred times slower."""


THOROUGH = os.environ.get("HDBO_THOROUGH", "0") not in ("", "0")
"""Whether tests run with every sampler, every setting and many examples, which takes hours."""


N_EXAMPLES = 100 if THOROUGH else 10 if INTERPRETED else 30
"""Examples of a property, the same ones every time. They have had more of them when it was new."""


PATIENCE = 900.0
"""Seconds for which a test waits for a process, a thread or a server. Whatever takes longer hangs.

A busy machine with an empty cache takes minutes.
"""


def method_classes() -> dict[str, Callable[..., Method]]:
    """Return the methods of the package by name: every class of ``methods`` that suggests."""
    found = {}
    for info in pkgutil.iter_modules(methods.__path__):
        module = importlib.import_module(f"{methods.__name__}.{info.name}")
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ == module.__name__ and isinstance(getattr(cls, "name", None), str):
                found[cls.name] = cls
    return found


def published(method: Callable[..., Method], **changes: Any) -> dict[str, Any]:
    """Return the settings of a method's paper, without those that only its sampler has."""
    settings: dict[str, Any] = {**method.published, **changes}  # type: ignore[attr-defined]
    known = inspect.signature(method).parameters
    return {name: value for name, value in settings.items() if name in known}


def affordable(compiled: int, interpreted: int) -> int:
    return interpreted if INTERPRETED else compiled


def some(cases: Iterable[Case], n: int) -> list[Case]:
    """Return n of the cases, spread evenly from the first to the last; all with ``THOROUGH``."""
    found = list(cases)
    if THOROUGH or len(found) <= n:
        return found
    return [found[i * (len(found) - 1) // (n - 1)] for i in range(n)]


dear = pytest.mark.skipif(INTERPRETED and not THOROUGH, reason="takes long in plain Python")
thorough = pytest.mark.skipif(not THOROUGH, reason="takes long: set HDBO_THOROUGH=1")


def steps(n: int) -> np.ndarray:
    """Return the grid of an integer parameter with n values."""
    return (np.arange(n) + 0.5) / n


def make_domain(*columns: int | str | None) -> Domain:
    """Return a domain: None is continuous, 5 an integer with 5 values, "3" three choices.

    As in a search space, more than 1024 values are not listed.
    """
    grids: list[np.ndarray | None] = []
    many = {i: Steps(n) for i, n in enumerate(columns) if isinstance(n, int) and n > 1024}
    for i, column in enumerate(columns):
        if column is None or i in many:
            grids.append(None)
        elif isinstance(column, str):
            grids.append(np.arange(int(column), dtype=np.float64))
        else:
            grids.append(steps(column))
    categorical = np.array([isinstance(column, str) for column in columns], dtype=np.bool_)
    names = tuple(f"x{i}" for i in range(len(columns)))
    return Domain(names, tuple(grids), categorical, many)


DOMAINS: dict[str, Domain] = {
    "continuous": make_domain(*[None] * 5),
    "mixed": make_domain(None, 7, "3", None, 100, "2", None),
    "discrete": make_domain(4, "5", 60, "2", 9, "40"),
    "single": make_domain(None),
}


CONDITIONAL = replace(
    make_domain("3", None, None, "2", None, 4, None),
    gates={
        2: (Condition(0, (0.0,)),),
        3: (Condition(0, (1.0,)),),
        4: (Condition(3, (0.0,)),),
        5: (Condition(0, (1.0, 2.0)),),
        6: (Condition(0, (2.0,)),),
    },
)
"""A domain with a column per choice, and a nested one."""


def is_admissible(domain: Domain, x: np.ndarray) -> bool:
    if x.shape != (len(domain),) or x.dtype != np.float64:
        return False
    if not np.array_equal(domain.canonical(x[None])[0], x):
        return False
    return all(
        (0.0 <= value <= 1.0) if grid is None else bool(np.any(grid == value))
        for value, grid in zip(x.tolist(), domain.grids, strict=True)
    )


def bowl(x: np.ndarray) -> float:
    """Return a smooth value with interactions; the best point is inside the cube."""
    z = x - 0.4
    return float(-(z**2).sum() + 0.5 * (z[:-1] * z[1:]).sum())


class Ledger:
    """A history to be written by hand: what a method gets to see, and what it left behind.

    The package's own loop keeps to histories that can happen; tests also need the others.
    """

    def __init__(self, domain: Domain, f: Callable[[np.ndarray], float] = bowl) -> None:
        self.domain = domain
        self.f = f
        self.X: list[np.ndarray] = []
        self.values: list[float] = []
        self.records: list[Record] = []

    @classmethod
    def started(
        cls,
        domain: Domain,
        n: int = 6,
        f: Callable[[np.ndarray], float] = bowl,
        seed: int = 0,
    ) -> Ledger:
        ledger = cls(domain, f)
        for x in domain.sample(np.random.default_rng(seed), n):
            ledger.observe(x)
        return ledger

    def observe(self, x: np.ndarray) -> None:
        self.X.append(x)
        self.values.append(self.f(x))

    def keep(self, suggestion: Suggestion, state: State = "complete") -> None:
        """Keep what a suggestion recorded as a storage would."""
        if suggestion.record is not None:
            data = json.loads(json.dumps(suggestion.record, allow_nan=False))
            self.records.append(Record(len(self.X), state, data))

    def seen(self, pending: Sequence[np.ndarray] = (), step: int | None = None) -> Observations:
        return Observations.from_arrays(
            np.array(self.X),
            np.array(self.values),
            pending=np.array(pending).reshape(-1, len(self.domain)),
            records=tuple(self.records),
            step=step,
        )

    def run(self, method: Method, n: int, seed: int = 0, goal: float = np.inf) -> list[Suggestion]:
        """Ask and observe n times, or until a value is above the goal."""
        suggestions: list[Suggestion] = []
        while len(suggestions) < n and not any(value > goal for value in self.values):
            suggestion = method.suggest(self.domain, self.seen(), Streams(seed))
            suggestions.append(suggestion)
            self.keep(suggestion)
            self.observe(suggestion.x)
        return suggestions


def make_kernel(
    domain: Domain,
    groups: Sequence[Sequence[int]] | None = None,
    kind: str = "matern52",
    seed: int = 0,
    noise: float = 1e-3,
) -> Kernel:
    """Return a kernel with lengthscales and scales all different."""
    rng = np.random.default_rng(seed)
    groups = [list(range(len(domain)))] if groups is None else groups
    return Kernel(
        kind,
        join(groups),
        rng.uniform(0.3, 1.5, len(domain)),
        rng.uniform(0.5, 1.5, len(groups)) / len(groups),
        noise,
        domain.categorical,
    )


def make_posterior(
    domain: Domain, kernel: Kernel, n: int = 20, seed: int = 0
) -> tuple[Posterior, np.ndarray, np.ndarray]:
    """Return a posterior of a draw from the prior, and its observations."""
    rng = np.random.default_rng(seed)
    X = domain.sample(rng, n)
    K = kernel.gram(X) + 1e-6 * np.eye(n)
    y = np.linalg.cholesky(K) @ rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    return Posterior(Factor(kernel, X), y), X, y


def bowl_at(X: np.ndarray) -> np.ndarray:
    """Return a bowl at points (n, D), best at .4 in every column."""
    return np.asarray(-((X - 0.4) ** 2).sum(axis=1))


def noisy_bowl(X: np.ndarray) -> np.ndarray:
    return bowl_at(X) + 0.1 * np.random.default_rng(9).standard_normal(len(X))


def fit_sizes(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[int]:
    """Return a list that gets the number of points of every fit that a module makes."""
    told: list[int] = []
    true_fit = module.fit

    def fit(template: Any, X: np.ndarray, *args: Any, **settings: Any) -> Any:
        told.append(len(X))
        return true_fit(template, X, *args, **settings)

    monkeypatch.setattr(module, "fit", fit)
    return told
