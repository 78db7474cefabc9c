"""The interface of a method: arrays and plain data, without Optuna."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any
from typing import Protocol

import numpy as np

from optuna_hdbo._core.calibration import calibrated
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.memory import TOWARDS
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.observations import State
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo._core.streams import Streams
from optuna_hdbo._core.variables.repeats import Repeats


__all__ = [
    "Domain",
    "Method",
    "Observations",
    "Record",
    "State",
    "Streams",
    "Suggestion",
    "standardise",
]


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The point to evaluate next.

    Parameters
    ----------
    x : FloatArray, shape (D,)
        The point, admissible in the domain.
    record : Mapping or None
        A small JSON object, stored with the trial and given back as a :class:`Record`.
    report : Mapping of str to float or str
        Numbers and short texts about the point for people, such as the predicted value.
    """

    x: FloatArray
    record: Mapping[str, Any] | None = None
    report: Mapping[str, float | str] = field(default_factory=dict)

    def keeping(self, data: Mapping[str, Any]) -> Suggestion:
        """Return the same with further entries of its record."""
        return replace(self, record={**(self.record or {}), **data})


class Method(Protocol):
    """An optimisation method: takes a history and returns one point.

    All state of a method is a cache: a fresh instance and a long-lived one, given the same
    arguments, return the same point.
    """

    name: str

    def validate(self, domain: Domain) -> None:
        """Raise ``ValueError`` where the method's settings cannot serve this domain.

        It has every parameter of the study so far, so a setting that names another one is wrong.
        The domain of a suggestion may have fewer columns, because parameters may be conditional or
        fixed for a while. Methods that do not write it accept all.
        """
        return

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point; called with at least one observation."""


def looks_outside(method: Method) -> bool:
    """Tell whether a method also learns from rows outside of the domain."""
    return bool(getattr(method, "looks_outside", False))


def shown_to(method: Method, seen: Observations) -> Observations:
    """Return what a method can use of the observations.

    Only methods that say so with ``looks_outside`` get rows outside of the domain.
    """
    if seen.outside is None or looks_outside(method):
        return seen
    return seen.inside


def is_blind(seen: Observations) -> bool:
    """Tell whether all trials violate a constraint alike, so that nothing says where it holds."""
    if not seen.constraints.shape[1]:
        return False
    told = np.vstack([seen.constraints, *seen.told_by_failed.values()])
    least, most = np.fmin.reduce(told, initial=np.inf), np.fmax.reduce(told, initial=-np.inf)
    return bool(((least == most) & (least > 0.0)).any())


def for_feasible(suggestion: Suggestion) -> Suggestion:
    """Return a query for a feasible point. What it predicts are no values of objectives."""
    report = {k: v for k, v in suggestion.report.items() if k not in ("predicted", "std")}
    return replace(suggestion.keeping({TOWARDS: True}), report=report)


MOST_HELD = 4
"""How often columns are held in which a query would only repeat a trial; see :class:`Repeats`."""


def suggest(
    method: Method,
    domain: Domain,
    seen: Observations,
    streams: Streams,
    repeats: Repeats | None = None,
) -> Suggestion:
    """Return a method's next point, its reported interval widened until it is honest.

    Where the point differs from one of the ``repeats`` only in columns that this trial lacks, the
    method is asked again with one value in these columns, that of trials that lack them.

    Where models know of a constraint only that it was never met, the likeliest points to meet it
    are those furthest from all others: corners. So every other point is random then.
    """
    if seen.step % 2 and getattr(method, "models_constraints", False) and is_blind(seen):
        rng = streams.generator("blind", seen.step)
        return Suggestion(unknown_near(domain, domain.sample(rng, 1)[0], seen.known, rng))
    suggestion = method.suggest(domain, shown_to(method, seen), streams)
    for _ in range(MOST_HELD):
        if not repeats:
            break
        idle = repeats.idle(domain.observed_at(suggestion.x), domain.absent)
        if idle is None:
            break
        domain = domain.holding(idle)
        differ = (domain.absent != seen.X)[:, idle].any(axis=1)
        seen = replace(seen, outside=differ if seen.outside is None else differ | seen.outside)
        suggestion = method.suggest(domain, shown_to(method, seen), streams)
    if "predicted" not in suggestion.report:
        return suggestion
    report, kept = calibrated(suggestion.report, seen)
    if not kept:
        return suggestion
    return replace(suggestion.keeping(kept), report=report)
