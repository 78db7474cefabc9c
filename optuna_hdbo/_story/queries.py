"""Which expert suggested each trial of a study, read from the storage alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal
from typing import get_args

from optuna.study import StudyDirection
from optuna.trial import TrialState

from optuna_hdbo._core.calibration import Z
from optuna_hdbo._study.attributes import REPORT
from optuna_hdbo._study.attributes import check_single_objective
from optuna_hdbo._study.attributes import check_study
from optuna_hdbo._study.attributes import is_enqueued
from optuna_hdbo._study.attributes import known_suggestion
from optuna_hdbo._study.attributes import read_trials
from optuna_hdbo._study.values import has_failed
from optuna_hdbo._study.values import is_feasible
from optuna_hdbo.portfolio.credit import KEY
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.panel import CREDITS
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.panel import QueryKind


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


Origin = Literal["expert", "random", "repeat", "enqueued", "unknown"]
"""An expert's point, a point drawn at random by one of our samplers, an earlier trial's point once
more, parameters that the user enqueued, or a trial without a suggestion of ours."""

AFRESH: QueryKind = "restart"
AGAIN: QueryKind = "repeat"
WITHOUT_EXPERT: Mapping[QueryKind | None, Origin] = MappingProxyType(
    {AFRESH: "random", AGAIN: "repeat"}
)
"""Kinds of points with which no expert is named, and their origins."""

HONEST = Z
"""Standard deviations within which 95 % of normal values lie."""


@dataclass(frozen=True, eq=False)
class Query:
    """A trial and where its point is from.

    Parameters
    ----------
    trial : FrozenTrial
    origin : {"expert", "random", "repeat", "enqueued", "unknown"}
    expert : str or None
        The expert that was asked; None unless the point is an expert's.
    kind : {"search", "refine", "elsewhere", "pending", "restart", "repeat"} or None
        What the expert was asked for, where it is known. Random points are restarts.
    credits : Mapping of str to float
        Every expert's expected rate of success at that time, where it is known.
    predicted, std : float or None
        What the expert expected, and the standard deviation of that.
    improves : bool
        Whether the value is better than those of all earlier trials.
    data : Mapping
        The whole record of the suggestion. It is untrusted input.
    """

    trial: FrozenTrial
    origin: Origin
    expert: str | None
    kind: QueryKind | None
    credits: Mapping[str, float]
    predicted: float | None
    std: float | None
    improves: bool
    data: Mapping[str, Any]

    @property
    def error(self) -> float | None:
        """Value less what was expected, in standard deviations; None where that is unknown."""
        value = value_of(self.trial)
        if value is None or self.predicted is None or self.std is None or self.std <= 0.0:
            return None
        error = (value - self.predicted) / self.std
        return error if math.isfinite(error) else None


def read_queries(study: Study) -> list[Query]:
    """Return where the trials of a study come from, by ascending number.

    Raises
    ------
    ValueError
        Where the study has several objectives, and where no trial is an expert's although
        another sampler had the time to suggest some.
    """
    check_study(study)
    check_single_objective(study, because="experts do not improve on several values")
    trials = list(read_trials(study))
    read = [_suggested(trial) for trial in trials]
    ours = {method for method, *_ in read if method != ""}
    if HDBO.name not in ours and ours != {None}:
        raise ValueError(_why_refused(study.study_name, trials))
    best = None
    queries = []
    for trial, (method, data, asked) in zip(trials, read, strict=True):
        improves = is_better(study, trial, best)
        best = trial if improves else best
        queries.append(_query(trial, method, data, asked, improves))
    return queries


def _why_refused(name: str, trials: list[FrozenTrial]) -> str:
    """Return what is wrong with a study none of whose trials HDBOSampler suggested."""
    if len(trials) == 1:
        return (
            f"study must have two trials or more, but {name!r} has 1. The first one is sampled "
            "parameter by parameter, because its parameters are not known before it runs."
        )
    ended = (TrialState.COMPLETE, TrialState.PRUNED)
    if not any(trial.state in ended and not has_failed(trial) for trial in trials):
        return (
            "study must have a trial that is complete, or that was pruned after a report, but "
            f"{name!r} has none among {len(trials)}. HDBOSampler asks no expert before that."
        )
    if all(d.single() for trial in trials for d in trial.distributions.values()):
        return (
            f"study must have a parameter with two values or more, but the {len(trials)} trials "
            f"of {name!r} have none. There is nothing to suggest."
        )
    return (
        f"study must have been sampled by HDBOSampler, but none of the {len(trials)} trials of "
        f"{name!r} was suggested by one of its experts. Create the study with "
        "sampler=optuna_hdbo.HDBOSampler(); every trial after the startup trials then says which "
        "expert suggested it."
    )


def value_of(trial: FrozenTrial) -> float | None:
    """Return the value of a completed trial, None if it has no finite one."""
    if trial.state != TrialState.COMPLETE:
        return None
    return number(trial.value)


def is_better(study: Study, trial: FrozenTrial, best: FrozenTrial | None) -> bool:
    """Tell whether a trial is completed and feasible, and better than the best one before."""
    value = value_of(trial)
    if value is None or not is_feasible(trial):
        return False
    if best is None:
        return True
    before = value_of(best)
    assert before is not None
    return value < before if study.direction == StudyDirection.MINIMIZE else value > before


def known_when(queries: list[Query], trial: FrozenTrial) -> list[Query]:
    """Return the queries whose trials were finished when a trial began."""
    known = []
    for query in queries:
        end, start = query.trial.datetime_complete, trial.datetime_start
        is_late = end is None or (start is not None and end > start)
        if query.trial.number < trial.number and not is_late:
            known.append(query)
    return known


def best_known_then(study: Study, queries: list[Query], trial: FrozenTrial) -> FrozenTrial | None:
    """Return the best trial that was completed when a trial began, None if there was none."""
    best: FrozenTrial | None = None
    for query in known_when(queries, trial):
        best = query.trial if is_better(study, query.trial, best) else best
    return best


def number(value: Any) -> float | None:
    """Return a finite number as a float, None if it is anything else."""
    if type(value) not in (int, float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer beyond floats
        return None


def reported(trial: FrozenTrial, name: str) -> float | None:
    """Return a number of a trial's report."""
    return number(trial.user_attrs.get(REPORT + name))


def expected(trial: FrozenTrial, asked: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return what was expected of a trial and the standard deviation, None where that is unknown.

    That is of the point that was ``asked`` for. Where a range or a branch is new, a trial has
    another one.
    """
    own = {n: d.to_internal_repr(trial.params[n]) for n, d in trial.distributions.items()}
    if any(asked.get(name, value) != value for name, value in own.items()):
        return None, None
    return reported(trial, "predicted"), reported(trial, "std")


def _suggested(trial: FrozenTrial) -> tuple[str | None, Mapping[str, Any], Mapping[str, Any]]:
    """Return the method that suggested a trial, its record, and the point that it asked for.

    The method is "" where there is no suggestion of ours.
    """
    suggestion = known_suggestion(trial)
    if suggestion is None:
        return "", {}, {}
    record = suggestion.record or {}
    if suggestion.record is None:  # a random point
        return None, {}, suggestion.params
    named = _named(record) is not None or _kind(record) in WITHOUT_EXPERT
    if suggestion.method == HDBO.name and not named:
        return "", {}, {}
    return suggestion.method, record, suggestion.params


def _named(record: Mapping[str, Any]) -> str | None:
    name = record.get(KEY)
    return name if isinstance(name, str) and name in EXPERTS else None


def _kind(record: Mapping[str, Any]) -> QueryKind | None:
    kind = record.get(QUERY)
    return next((known for known in get_args(QueryKind) if known == kind), None)


def _query(
    trial: FrozenTrial,
    method: str | None,
    data: Mapping[str, Any],
    asked: Mapping[str, Any],
    improves: bool,
) -> Query:
    """Return a query, of which nothing that does not parse is left."""
    if is_enqueued(trial):
        return Query(trial, "enqueued", None, None, {}, None, None, improves, data)
    if method != HDBO.name:
        origin: Origin = "random" if method is None else "unknown"
        return Query(trial, origin, None, None, {}, None, None, improves, data)
    kind, credits = _kind(data), data.get(CREDITS)
    if _named(data) is None:
        return Query(trial, WITHOUT_EXPERT[kind], None, kind, {}, None, None, improves, data)
    found = credits.items() if isinstance(credits, dict) else ()
    predicted, std = expected(trial, asked)
    rates = {name: number(rate) for name, rate in found if name in EXPERTS}
    return Query(
        trial=trial,
        origin="expert",
        expert=_named(data),
        kind=kind,
        credits={name: rate for name, rate in rates.items() if rate is not None},
        predicted=predicted,
        std=std,
        improves=improves,
        data=data,
    )
