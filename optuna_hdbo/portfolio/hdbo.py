"""HDBO: several methods share every observation, and the most successful one suggests points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flag
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.base import shown_to
from optuna_hdbo.portfolio import branches
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio import restart
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.experts import FEW_COLUMNS


REFINED = 1e-3
"""Root mean square distance from the best point within which a query refines it."""

WINDOW, MOST_REFINED = 30, 1.0 / 6.0
"""At most this share of the last queries may refine the best point, by one more digit of it."""

QUERY, CREDITS = "query", "credits"
"""Keys under which a record keeps the kind of the query and every expert's expected rate of
success at that time, which :func:`optuna_hdbo.explain` reads."""

QueryKind = Literal["search", "refine", "elsewhere", "restart"]
"""What a query is for: a better point, one more digit of the best point, the furthest point from
all known ones, or a random point of a search that begins afresh."""


class HDBO:
    """A portfolio of methods.

    The parameters are those of :class:`optuna_hdbo.HDBOSampler`, where they are described.
    """

    name = "hdbo"
    looks_outside = True

    def __init__(
        self,
        *,
        experts: Sequence[str] | None = None,
        deterministic_objective: bool | None = None,
    ) -> None:
        self.names = _checked(experts)
        check_flag("deterministic_objective", deterministic_objective, optional=True)
        self._chosen = experts is not None
        self._experts: Mapping[str, Method] = {
            name: EXPERTS[name].build(deterministic_objective) for name in self.names
        }
        self._several = EXPERTS["global"].build(deterministic_objective)

    def validate(self, domain: Domain) -> None:
        """Let every expert check its settings."""
        for name in self.experts_for(domain):
            self._experts[name].validate(domain)

    def experts_for(self, domain: Domain) -> tuple[str, ...]:
        """Return the experts that suit a domain, or all that the user has chosen."""
        suited = tuple(name for name in self.names if EXPERTS[name].suits(domain))
        return self.names if self._chosen or not suited else suited

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of an expert, or a random one where a search begins afresh.

        For several objectives it comes from one model per objective instead of from an expert.
        """
        if seen.objectives is not None:
            return self._several.suggest(domain, seen, streams)
        rng = streams.generator(f"{self.name}:restart", seen.step)
        searches = branches if domain.gates else restart
        search = searches.next_search(domain, seen, rng, allowed=self._may_begin_anew)
        names = self.experts_for(search.domain)
        if search.began is None:
            return self._ask(domain, search.seen, streams, names)
        if search.needs_random_points:
            x = domain.snap(search.whole(search.domain.sample(rng, 1)[0])[None])[0]
            x = unknown_near(domain, x, seen.known, rng, np.ones(len(domain), np.bool_))
            record = {QUERY: "restart", **search.said}
            return Suggestion(x, record, {QUERY: "restart", restart.KEY: search.began})
        names = tuple(name for name in names if EXPERTS[name].begins_anew)
        asked = self._ask(search.domain, search.seen, streams, names)
        x = domain.canonical(search.whole(asked.x)[None])[0]
        record = {**(asked.record or {}), **search.said}
        return Suggestion(x, record, {**asked.report, restart.KEY: search.began})

    @property
    def _may_begin_anew(self) -> bool:
        return any(EXPERTS[name].begins_anew for name in self.names)

    def _ask(
        self, domain: Domain, seen: Observations, streams: Streams, names: tuple[str, ...]
    ) -> Suggestion:
        """Return the point of an expert, drawn by how often its points were improvements."""
        rng = streams.generator(self.name, seen.step)
        n, D = seen.X.shape
        names = tuple(name for name in names if EXPERTS[name].least_observations(D) <= n) or names
        merit = merits(seen)
        earned = credit.credits(seen, merit, names)
        prior = {name: EXPERTS[name].prior_in(domain) for name in names}
        floor = credit.FLOOR_OF_FEW if domain.breadth < FEW_COLUMNS else credit.FLOOR
        best = seen.X[int(np.argmax(merit))]
        may_refine = self._may_refine(seen)
        rates = {n: credit.rate(earned[n], prior[n]) for n in names}
        first: tuple[str, Suggestion] | None = None
        for name in self._ready(credit.order(earned, prior, rng, floor), domain, seen):
            expert = self._experts[name]
            suggestion = expert.suggest(domain, shown_to(expert, seen), streams)
            refines = bool(_distance(suggestion.x, best) < REFINED) and not domain.discrete.all()
            if first is None:
                first = name, suggestion
            if may_refine or not refines:
                return _signed(name, suggestion, "refine" if refines else "search", rates)
        assert first is not None
        name, suggestion = first  # all of them refine
        x = _far_from(domain, seen, rng)
        return _signed(name, Suggestion(x, suggestion.record), "elsewhere", rates)

    def _ready(self, order: list[str], domain: Domain, seen: Observations) -> Iterator[str]:
        """Yield the experts that can use the observations, the first one if none says so.

        An expert that has a method ``is_ready`` is asked for a point only where it is true.
        """
        none = True
        for name in order:
            expert = self._experts[name]
            is_ready = getattr(expert, "is_ready", None)
            if is_ready is None or is_ready(domain, shown_to(expert, seen)):
                none = False
                yield name
        if none:
            yield order[0]

    @staticmethod
    def _may_refine(seen: Observations) -> bool:
        recent = seen.records[max(0, len(seen.records) - WINDOW) :]
        refined = sum(record.data.get(QUERY) == "refine" for record in recent)
        return bool(refined < MOST_REFINED * WINDOW)


def _signed(
    name: str, suggestion: Suggestion, kind: QueryKind, rates: Mapping[str, float]
) -> Suggestion:
    """Return a suggestion whose record and report say which expert it is from, and why."""
    said = {credit.KEY: name, QUERY: kind}
    record = {**(suggestion.record or {}), **said, CREDITS: dict(rates)}
    return Suggestion(suggestion.x, record, {**suggestion.report, **said})


def _checked(experts: object) -> tuple[str, ...]:
    if experts is None:
        return tuple(name for name, expert in EXPERTS.items() if expert.default)
    if isinstance(experts, str) or not isinstance(experts, Sequence) or not experts:
        raise ValueError(
            f"experts must be a list of names out of {', '.join(EXPERTS)}, or None, "
            f"but got {experts!r}."
        )
    for name in experts:
        check_choice("experts", name, tuple(EXPERTS))
    if len(set(experts)) < len(experts):
        raise ValueError(f"experts must name every expert once, but got {experts!r}.")
    return tuple(experts)


def _distance(x: FloatArray, z: FloatArray) -> float:
    return math.sqrt(float(((x - z) ** 2).mean()))


def _far_from(domain: Domain, seen: Observations, rng: np.random.Generator) -> FloatArray:
    """Return the one of some random points that is furthest from all known points."""
    pool = domain.sample(rng, 64)
    gaps = np.array([((seen.known - x) ** 2).mean(axis=1).min() for x in pool])
    return np.array(pool[int(np.argmax(gaps))])
