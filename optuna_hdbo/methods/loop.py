"""A loop that asks a method for points and tells it values, without Optuna."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_point
from optuna_hdbo._core.checks import check_seed
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import State
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.base import suggest


@dataclass(eq=False)
class Trial:
    """A point to evaluate, and what came of it.

    Parameters
    ----------
    number : int
        Trials are numbered from 0.
    x : FloatArray, shape (D,)
        The point in the columns of the domain. It is read-only, because the loop learns from it.
    record : Mapping
        JSON that the method will read at later trials; empty where it left nothing.
    report : Mapping of str to float or str
        Numbers about the suggestion, such as the predicted value; empty for random points.
    state : {"running", "complete", "failed"}
    value : float or None
        The objective's value once it is told.
    constraints : sequence of float
        Constraint values, feasible where <= 0.
    """

    number: int
    x: FloatArray
    record: Mapping[str, Any]
    report: Mapping[str, float | str]
    state: State = "running"
    value: float | None = None
    constraints: Sequence[float] = ()


class Loop:
    """A study in memory: ask for a point, evaluate it, tell its value.

    Several points may be asked for before their values are told, in any order.

    Parameters
    ----------
    method : Method
        Any class of ``optuna_hdbo.methods``, or one with the same two methods.
    domain : Domain
        The columns to search, such as ``Domain.continuous(5)`` for the cube [0, 1]^5.
    seed : int or None
        The same seed gives the same points; ``None`` draws one.
    n_init : int
        Values that must be told before the method suggests points; until then points are random.
        With 0 the first point is already the method's, which only trees support.
    direction : {"maximize", "minimize"}

    Attributes
    ----------
    trials : list of Trial
        By number.

    Raises
    ------
    ValueError
        For a setting outside of its range, and where the method's settings do not fit the domain.
    TypeError
        Where the method is a class, and where the domain is none.

    Examples
    --------
    >>> from optuna_hdbo.methods import Domain, Loop
    >>> from optuna_hdbo.methods.gp_ucb import GPUCB
    >>> loop = Loop(GPUCB(), Domain.continuous(2), seed=0)
    >>> for _ in range(15):
    ...     trial = loop.ask()
    ...     loop.tell(trial, -sum((trial.x - 0.3) ** 2))
    >>> x = loop.best.x
    """

    def __init__(
        self,
        method: Method,
        domain: Domain,
        *,
        seed: int | None = None,
        n_init: int = 10,
        direction: Literal["maximize", "minimize"] = "maximize",
    ) -> None:
        check_integer("n_init", n_init, 0)
        check_choice("direction", direction, ("maximize", "minimize"))
        if isinstance(method, type):
            raise TypeError(
                "method must be an instance, but got a class: write it with parentheses, such as "
                "GPUCB()."
            )
        if not isinstance(domain, Domain):
            raise TypeError(f"domain must be a Domain, but got {domain!r}.")
        method.validate(domain)
        self.method = method
        self.domain = domain
        self.trials: list[Trial] = []
        self._streams = Streams(check_seed(seed))
        self._n_init = n_init
        self._sign = 1.0 if direction == "maximize" else -1.0

    def ask(self) -> Trial:
        """Return a new trial with the point to evaluate.

        Raises
        ------
        ArithmeticError, ValueError
            Where the method fails, or suggests what is no point (D,). No trial begins then.
        """
        seen = self.observations()
        if len(seen.values) < self._n_init:
            rng = self._streams.generator("startup", seen.step)
            suggestion = Suggestion(self.domain.sample(rng, 1)[0])
        else:
            suggestion = suggest(self.method, self.domain, seen, self._streams)
        # As from a storage: a method gets no more than JSON back.
        record = json.loads(json.dumps(suggestion.record or {}, allow_nan=False))
        return self._begin(check_point(suggestion.x, len(self.domain)), record, suggestion.report)

    def _begin(
        self, x: FloatArray, record: Mapping[str, Any], report: Mapping[str, float | str]
    ) -> Trial:
        x = x.copy()  # not the method's own array, and not the user's
        x.setflags(write=False)
        trial = Trial(len(self.trials), x, record, report)
        self.trials.append(trial)
        return trial

    def tell(self, trial: Trial, value: float | None, constraints: Sequence[float] = ()) -> None:
        """End a trial.

        Parameters
        ----------
        trial : Trial
            From :meth:`ask`.
        value : float or None
            The objective's value, maybe infinite; ``None`` or NaN where the evaluation failed.
        constraints : sequence of float
            As many for every trial; the point is feasible where none is positive.

        Raises
        ------
        ValueError, TypeError
            If the trial has ended before, and where the value or a constraint is no number. The
            trial goes on then.
        """
        if trial.state != "running":
            raise ValueError(f"trial {trial.number} must be running, but is {trial.state}.")
        told = math.nan if value is None else float(value)
        # All of it is read before anything is kept.
        trial.constraints = tuple(map(float, constraints))
        if math.isnan(told):
            trial.state = "failed"
        else:
            trial.state, trial.value = "complete", told

    def add(self, x: FloatArray, value: float, constraints: Sequence[float] = ()) -> Trial:
        """Add a point that was evaluated elsewhere, for the method to learn from.

        Parameters
        ----------
        x : FloatArray, shape (D,)
            A point in the domain. It is copied.
        value : float
        constraints : sequence of float
            Both as for :meth:`tell`.

        Returns
        -------
        Trial

        Raises
        ------
        ValueError, TypeError
            Where the point is not one of the domain, and as from :meth:`tell`. Nothing is added
            then.
        """
        point, n_columns = np.asarray(x, np.float64), len(self.domain)
        is_row = point.shape == (n_columns,)
        if not is_row or not np.array_equal(point, self.domain.snap(point[None])[0]):
            raise ValueError(f"x must be a point ({n_columns},) of the domain, but got {x}.")
        trial = self._begin(point, {}, {})
        try:
            self.tell(trial, value, constraints)
        except BaseException:
            self.trials.pop()
            raise
        return trial

    def run(self, objective: Callable[[FloatArray], float], n_trials: int) -> Trial:
        """Evaluate ``objective`` at as many points, and return the best trial of the loop.

        The objective gets a copy of each point (D,), which it may change.
        """
        for _ in range(n_trials):
            trial = self.ask()
            self.tell(trial, objective(trial.x.copy()))
        return self.best

    @property
    def best(self) -> Trial:
        """The feasible trial of the best value; ``ValueError`` where there is none."""
        feasible = [
            t for t in self.trials if t.value is not None and all(c <= 0 for c in t.constraints)
        ]
        if not feasible:
            raise ValueError("No trial is complete and feasible.")
        return max(feasible, key=lambda t: self._sign * (t.value or 0.0))

    def observations(self) -> Observations:
        """Return everything that the method sees when it suggests the next point."""
        told = [t for t in self.trials if t.value is not None]
        pending = [t.x for t in self.trials if t.state == "running"]
        n_columns = len(self.domain)
        n_constraints = max((len(t.constraints) for t in self.trials), default=0)
        constraints = np.full((len(self.trials), n_constraints), np.nan)
        for row, trial in zip(constraints, self.trials, strict=True):
            row[: len(trial.constraints)] = trial.constraints
        failed = [t for t in self.trials if t.state == "failed"]
        seen = Observations(
            X=np.array([t.x for t in told]).reshape(-1, n_columns),
            values=self._sign * np.array([t.value for t in told], np.float64),
            numbers=np.array([t.number for t in told], np.int64),
            pruned=np.zeros(len(told), np.bool_),
            pending=np.array(pending).reshape(-1, n_columns),
            constraints=constraints[[t.number for t in told]],
            told_by_failed={t.number: constraints[t.number] for t in failed if t.constraints},
            records=[Record(t.number, t.state, t.record) for t in self.trials if t.record],
            step=len(self.trials),
            sign=self._sign,
        )
        return seen.with_failures(self.domain, {t.number: t.x for t in failed})
