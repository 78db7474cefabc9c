"""Methods simple enough to be their own oracle, storages, and an objective with everything."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import numpy as np
import optuna
from sqlalchemy.pool import StaticPool

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.streams import Streams
from optuna_hdbo._study import attributes
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.samplers.base import MethodSampler


class FakeMethod:
    """Move one coordinate of the best point; the next one in turn, as the records have it."""

    name = "fake"

    def __init__(self) -> None:
        self.seen: list[Observations] = []
        self.domains: list[Domain] = []
        self.validated: list[Domain] = []

    def validate(self, domain: Domain) -> None:
        self.validated.append(domain)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        self.seen.append(seen)
        self.domains.append(domain)
        turn = max((record.data["turn"] for record in seen.records), default=-1) + 1
        rng = streams.generator("fake", seen.step)
        x = seen.X[np.argmax(seen.y)].copy()
        x[turn % len(x)] = domain.sample(rng, 1)[0, turn % len(x)]
        report: Mapping[str, float | str] = {
            "best": float(seen.y.max()),
            "unknown": float("nan"),
            "said": "so " * 100,
        }
        return Suggestion(x, record={"turn": turn}, report=report)


class FakeSampler(MethodSampler):
    def __init__(self, **settings: Any) -> None:
        super().__init__(FakeMethod(), **settings)

    @property
    def method(self) -> FakeMethod:
        assert isinstance(self._method, FakeMethod)
        return self._method


def create_sqlite() -> optuna.storages.BaseStorage:
    """Return a real SQL storage that need not wait for a disk."""
    connection = _connect()
    empty, _ = _empty_tables()
    empty.backup(connection)
    return _sqlite_storage(connection)


@functools.cache
def _empty_tables() -> tuple[sqlite3.Connection, optuna.storages.BaseStorage]:
    """Return the tables that Optuna makes, once: that takes longer than most studies."""
    connection = _connect()
    return connection, _sqlite_storage(connection)


def _connect() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _sqlite_storage(connection: sqlite3.Connection) -> optuna.storages.BaseStorage:
    engine = {"poolclass": StaticPool, "creator": lambda: connection}
    return optuna.storages.get_storage(
        optuna.storages.RDBStorage("sqlite://", engine_kwargs=engine)
    )


STORAGES: dict[str, Callable[[], optuna.storages.BaseStorage]] = {
    "memory": optuna.storages.InMemoryStorage,
    "sqlite": create_sqlite,
}


def mixed_objective(trial: optuna.Trial) -> float:
    """Use every kind of parameter once."""
    x = trial.suggest_float("x", -5, 5)
    rate = trial.suggest_float("rate", 1e-5, 1, log=True)
    depth = trial.suggest_int("depth", 1, 9, step=2)
    width = trial.suggest_int("width", 1, 1000, log=True)
    shift = trial.suggest_float("shift", -10.2, 10.2, step=0.1)
    kind = trial.suggest_categorical("kind", ["a", None, 2.5, True])
    return x**2 + rate + depth + width / 1000 + shift**2 + (kind is not None)


def go_on(
    sampler: MethodSampler,
    trials: list[optuna.trial.FrozenTrial],
    objective: Callable[[optuna.Trial], float],
) -> None:
    """Go on after these trials for two more, and check that the method suggests their points."""
    study = optuna.create_study(sampler=sampler)
    study.add_trials(trials)
    study.optimize(objective, n_trials=2)
    for trial in study.trials[-2:]:
        read = attributes.read_suggestion(trial)
        assert read is not None
        assert read.method is not None
