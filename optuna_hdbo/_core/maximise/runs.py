"""The life of a trust region, read from what became of its queries.

Nothing is remembered between suggestions: the length of the region, its centre and its counts are
a function of the study's trials. So a study can be resumed, and workers share one region.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import field

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.memory import is_count
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record


KEY = "region"
"""Key under which a query's record keeps its run and the trial that the run began with."""

ELSEWHERE = 0.15
"""Least root mean square distance of a new run's first point from earlier runs' best points."""

LONG = 200
"""From this many observations on, every second new run begins at the best point of all. The one
that found it may have ended too early, as in a narrow valley."""


@dataclass(frozen=True)
class Rule:
    """The numbers that govern a trust region (Eriksson et al. 2019, section 2.2 and appendix).

    Parameters
    ----------
    length, min_length, max_length : float
        First side of the region, the side below which the run ends, and the largest side.
    n_successes : int
        Successes in a row after which the side doubles.
    patience : float
        Failures in a row per column after which the side is halved, but at least four failures.
    """

    length: float = 0.8
    min_length: float = 2.0**-7
    max_length: float = 1.6
    n_successes: int = 3
    patience: float = 0.25

    def n_failures(self, n_columns: int) -> int:
        """Return the failures in a row after which the side is halved."""
        return max(4, math.ceil(self.patience * n_columns))


@dataclass
class Run:
    """A trust region from its first point to its end.

    Parameters
    ----------
    number : int
        0 for the first run, which begins with the best point of all.
    root : int
        Row of the point that it began with, -1 in the first run.
    length : float
        Side of the region now.
    centre : int
        Row of the best point of the run, -1 while there is none.
    """

    number: int
    root: int
    length: float
    centre: int
    n_successes: int = 0
    n_failures: int = 0

    def count(self, *, success: bool, rule: Rule, n_failures: int) -> None:
        """Count the outcome of one query. The side is halved after ``n_failures`` in a row."""
        self.n_successes = self.n_successes + 1 if success else 0
        self.n_failures = 0 if success else self.n_failures + 1
        if self.n_successes >= rule.n_successes:
            self.length, self.n_successes = min(2.0 * self.length, rule.max_length), 0
        elif self.n_failures >= n_failures:
            self.length, self.n_failures = self.length / 2.0, 0


@dataclass
class Life:
    """The run that goes on, and the rows of the best points where earlier ones have ended."""

    run: Run
    ends: list[int] = field(default_factory=list)


def follow(seen: Observations, rule: Rule, n_columns: int | None = None) -> Life:
    """Return the state of the trust region after all finished trials.

    A query is a success if its point is better than all earlier ones of its run; in the first run,
    than all earlier points of the study. One that has no value is a failure. A region of
    ``n_columns`` columns, all by default, is given so much patience.
    """
    n_failures = rule.n_failures(seen.X.shape[1] if n_columns is None else n_columns)
    merit = merits(seen)
    best_row = _best_so_far(merit)
    life = Life(Run(0, -1, rule.length, int(best_row[-1])))
    for record in seen.records:
        parsed = _parse(record)
        if parsed is None:
            continue
        number, root = parsed
        run = life.run
        if number > run.number and root in seen.row_of:
            if run.number == 0:  # the best of what was known then
                run.centre = int(
                    best_row[max(int(seen.numbers.searchsorted(record.number)) - 1, 0)]
                )
            life.ends.append(run.centre)
            run = life.run = Run(number, seen.row_of[root], rule.length / 2.0, seen.row_of[root])
        if number != run.number or record.state == "running":
            continue
        row = seen.row_of.get(record.number, -1)
        before = run.centre if number else int(best_row[row - 1]) if row > 0 else -1
        success = row >= 0 and (before < 0 or merit[row] > merit[before])
        if success and number:
            run.centre = row
        run.count(success=bool(success), rule=rule, n_failures=n_failures)
    return life


def _best_so_far(merit: FloatArray) -> list[int]:
    rows = np.arange(len(merit))
    better = merit > np.concatenate([[-np.inf], np.maximum.accumulate(merit)[:-1]])
    better[0] = True
    found: list[int] = np.maximum.accumulate(np.where(better, rows, 0)).tolist()
    return found


def next_run(seen: Observations, life: Life, rule: Rule) -> Run | None:
    """Return the run of the next query: the one that goes on or, where that has ended, a new one.

    A new run begins at the best point that is far from where earlier runs have ended; ``None``
    where there is no such point yet.
    """
    run = life.run
    if run.length >= rule.min_length:
        return run
    goes_back = run.number % 2 == 1 and len(seen.X) >= LONG
    ends = seen.X[[*life.ends, run.centre]]
    for row in np.argsort(-merits(seen), kind="stable").tolist():
        if goes_back or np.sqrt(((ends - seen.X[row]) ** 2).mean(axis=1)).min() >= ELSEWHERE:
            return Run(run.number + 1, row, rule.length / 2.0, row)
    return None


def to_json(run: Run, seen: Observations) -> dict[str, int | float]:
    """Return what a query's record keeps; the length is for people."""
    root = -1 if run.root < 0 else int(seen.numbers[run.root])
    return {"run": run.number, "root": root, "length": float(f"{run.length:.6g}")}


def _parse(record: Record) -> tuple[int, int] | None:
    """Return the run that a record names and the number of the trial that it began with."""
    data = record.data.get(KEY)
    if not isinstance(data, dict):
        return None
    run, root = data.get("run"), data.get("root")
    return (run, root) if is_count(run) and type(root) is int else None
