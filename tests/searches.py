"""Studies that have converged, and searches afresh of them, written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from histories import make_domain

from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.portfolio.credit import KEY as EXPERT
from optuna_hdbo.portfolio.searches import influence
from optuna_hdbo.portfolio.searches import restart


START = [0.0, 1.0, 2.0, 3.0, 10.0]
FLAT = [5.0] * restart.PATIENCE
FEW_OF_MANY = [0.5] * 3 + [1e3] * 21
"""Lengthscales under which three columns matter."""


class Always:
    """A generator that always draws the same number."""

    def __init__(self, drawn: float) -> None:
        self.drawn = drawn

    def random(self) -> float:
        return self.drawn


def next_turn(domain: Any, seen: Observations, drawn: float) -> restart.Turn:
    return restart.next_turn(domain, seen, Always(drawn))  # type: ignore[arg-type]


def said(began: int, names: Any = ("x0", "x1")) -> dict[str, Any]:
    return {restart.KEY: began, restart.COLUMNS: list(names)}


def fit_of(domain: Any, lengthscales: list[float]) -> dict[str, Any]:
    """Return a record of a fit under the belief that few columns matter, which explains enough."""
    numbers = {
        "n": len(START + FLAT),
        "cycle": 0,
        "log_likelihood": 0.0,
        "noise": 1e-4,
        "scales": [1.0],
    }
    fit = {**numbers, "kind": "matern52", "groups": [list(domain.names)]}
    return {influence.FIT: {**fit, "lengthscales": lengthscales}, influence.EXPLAINED: 0.9}


def wide(lengthscales: list[float]) -> tuple[Any, Observations]:
    """Return a converged study in many columns, with a fit of these lengthscales."""
    domain = make_domain(*[None] * len(lengthscales))
    values = np.array(START + FLAT)
    X = np.random.default_rng(1).random((len(values), len(domain)))
    records = [Record(i, "complete", {EXPERT: "global"}) for i in range(5, len(values))]
    data = {**records[-1].data, **fit_of(domain, lengthscales)}
    records[-1] = Record(records[-1].number, "complete", data)
    return domain, Observations.from_arrays(X, values, records=records)


def with_later(
    seen: Observations, shift: float, values: list[float], began: int | None = None
) -> Observations:
    """Return a study with trials of a search of columns 0 to 2, by ``shift`` from the best one."""
    n = len(seen.values)
    began = n if began is None else began
    x = seen.X[int(np.argmax(seen.values))].copy()
    x[0] += shift if x[0] < 0.5 else -shift
    records = [
        Record(n + i, "complete", said(began, ("x0", "x1", "x2"))) for i in range(len(values))
    ]
    X = np.vstack([seen.X, *[x] * len(values)])
    known = np.concatenate([seen.values, values])
    return Observations.from_arrays(X, known, records=[*seen.records, *records])


def converged(values: Callable[[Any], Any]) -> tuple[Any, Observations]:
    """Return a study of 24 columns that begins with its best point, without a fit."""
    X = np.random.default_rng(1).random((60, 24))
    X = np.ascontiguousarray(X[np.argsort(-values(X))])
    records = [Record(i, "complete", {EXPERT: "global"}) for i in range(5, len(X))]
    return make_domain(*[None] * 24), Observations.from_arrays(X, values(X), records=records)
