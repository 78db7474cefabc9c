"""HDBO: several methods share every observation, and the most successful one suggests points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import towards_feasible
from optuna_hdbo._core.checks import check_flag
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.base import for_feasible
from optuna_hdbo.methods.turbo import LENGTH
from optuna_hdbo.portfolio.credit import kind_of
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.noise import Ranking
from optuna_hdbo.portfolio.noise import repeat
from optuna_hdbo.portfolio.noise import without_refuted
from optuna_hdbo.portfolio.outliers import without_outliers
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.panel import SIGNATURE
from optuna_hdbo.portfolio.panel import Panel
from optuna_hdbo.portfolio.panel import is_under_way
from optuna_hdbo.portfolio.panel import may_refine
from optuna_hdbo.portfolio.quadratic import Quadratic
from optuna_hdbo.portfolio.scales import KEY
from optuna_hdbo.portfolio.scales import learned_scales
from optuna_hdbo.portfolio.searches import branches
from optuna_hdbo.portfolio.searches import few
from optuna_hdbo.portfolio.searches import focused
from optuna_hdbo.portfolio.searches import restart
from optuna_hdbo.portfolio.searches import zoom


SIDE = "box_side"
"""Key under which a report says how wide the box of a query was, in shares of the ranges."""


VALLEY = "quadratic"
"""The expert whose model tells a smooth valley, in which there are no boxes."""


class HDBO:
    """A portfolio of methods.

    The parameters are those of :class:`optuna_hdbo.HDBOSampler`, where they are described.
    """

    name = "hdbo"
    looks_outside = True
    models_constraints = True

    def __init__(
        self,
        *,
        experts: Sequence[str] | None = None,
        deterministic_objective: bool | None = None,
    ) -> None:
        self.names = _checked(experts)
        check_flag("deterministic_objective", deterministic_objective, optional=True)
        self._chosen = experts is not None
        # Two of them, since what experts remember holds for one domain.
        self._everywhere, self._in_box = (
            Panel({name: EXPERTS[name].build(deterministic_objective) for name in self.names})
            for _ in range(2)
        )
        # The expert itself where it takes part, so that its model is built once per trial.
        takes_part = VALLEY in self.names
        self._valley = self._everywhere if takes_part else Panel({VALLEY: Quadratic()})
        self._several = EXPERTS["global"].build(deterministic_objective)
        self._deterministic = deterministic_objective
        self._ranking = Ranking(deterministic_objective)

    def validate(self, domain: Domain) -> None:
        """Let every expert check its settings."""
        for name in self.experts_for(domain):
            self._everywhere.experts[name].validate(domain)

    def experts_for(self, domain: Domain) -> tuple[str, ...]:
        """Return the experts that suit a domain, or all that the user has chosen."""
        suited = tuple(name for name in self.names if EXPERTS[name].suits(domain))
        return self.names if self._chosen or not suited else suited

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of an expert, of models of several objectives, or a random one."""
        if seen.objectives is not None:
            return self._suggest_for_several(domain, seen, streams)
        memory = Memory(seen.records)
        scales = learned_scales(domain, seen, memory)
        if scales is None:
            return self._suggest_for_one(domain, seen, streams, memory)
        asked = self._suggest_for_one(scales.inner, scales.view(seen), streams, memory)
        rng = streams.generator(f"{self.name}:{KEY}", seen.step)
        x = unknown_near(domain, scales.outward(asked.x), seen.known, rng)
        return replace(asked, x=x)

    def _suggest_for_one(
        self, domain: Domain, seen: Observations, streams: Streams, memory: Memory
    ) -> Suggestion:
        if not self._deterministic:
            seen = without_refuted(domain, without_outliers(domain, seen, memory), memory)
        return self._suggest(domain, seen, streams).keeping(memory.kept)

    def _suggest_for_several(
        self, domain: Domain, seen: Observations, streams: Streams
    ) -> Suggestion:
        seen, towards = towards_feasible(seen)
        if towards:
            return for_feasible(self.suggest(domain, seen, streams))
        if not domain.gates:
            return self._several.suggest(domain, seen, streams)
        rng = streams.generator(f"{self.name}:branch", seen.step)
        search = branches.next_of_several(domain, seen, rng)
        if isinstance(search, Suggestion):
            return search
        if search.needs_random_points:
            return _random_point(domain, seen, search, rng)
        asked = self._several.suggest(search.domain, search.seen, streams)
        return _of_search(domain, search, asked)

    def _suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        # Where a new trust region begins, all values are poor, and have to be told apart.
        seen, in_doubt = self._ranking.of(domain, replace(seen, in_focus=False))
        if in_doubt:
            rng = streams.generator(f"{self.name}:repeat", seen.step)
            if (again := repeat(domain, seen, rng)) is not None:
                return again
        of_all = seen.without(zoom.KEY)
        rng = streams.generator(f"{self.name}:restart", seen.step)
        turn = None
        if not domain.gates:
            turn = restart.next_turn(domain, of_all, rng, allowed=self._may_begin_anew)
        settled = turn is not None and turn.settled
        zoomed = None if settled else self._zoom(domain, seen, of_all, streams)
        if zoomed is not None:
            return self._ask_in_box(domain, seen, streams, zoomed)
        if names := self._taking_over(domain, seen):
            return self._everywhere.suggest(
                domain, seen, streams, names, kind=kind_of(domain), may_refine=may_refine(seen)
            )
        memory = Memory(of_all.records)
        search = self._next_search(domain, of_all, turn, memory, rng)
        if isinstance(search, Suggestion):
            return search
        names = self.experts_for(search.domain)
        if domain.gates:
            names = tuple(name for name in names if not EXPERTS[name].takes_over) or names
        if search.needs_random_points:
            asked = _random_point(domain, seen, search, rng)
        else:
            if search.began is not None:
                names = tuple(name for name in names if EXPERTS[name].begins_anew)
                if settled and few.EXPERT in names:  # as good as all of them, and cheaper
                    names = (few.EXPERT,)
            asked = self._ask(domain, search, streams, names)
            if (knowing := search.knowing(domain, of_all, asked.x)) is not None:
                asked = self._ask(domain, knowing, streams, names)
            asked = _of_search(domain, search, asked)
        return asked.keeping(memory.kept)

    def _ask(
        self, domain: Domain, search: restart.Search, streams: Streams, names: tuple[str, ...]
    ) -> Suggestion:
        return self._everywhere.suggest(
            search.domain,
            search.seen,
            streams,
            names,
            kind=kind_of(search.domain, domain),
            may_refine=may_refine(search.seen),
        )

    def _next_search(
        self,
        domain: Domain,
        seen: Observations,
        turn: restart.Turn | None,
        memory: Memory,
        rng: np.random.Generator,
    ) -> restart.Search | Suggestion:
        """Return the search whose experts are asked, or a query that needs none of them."""
        if turn is None:
            return branches.next_search(domain, seen, rng, allowed=self._may_begin_anew)
        if few.EXPERT in self.names:
            short = few.next_search(domain, seen, turn, memory)
            if short is not None:
                query: Suggestion | None = short.suggest(domain, seen, rng)
            else:
                query = focused.next_query(domain, seen, turn, memory, rng)
            if query is not None and not is_under_way(domain, query.x, seen):
                return query
        return restart.next_search(domain, seen, turn, memory)

    def _taking_over(self, domain: Domain, seen: Observations) -> tuple[str, ...]:
        """Return the experts that are to make this query alone, if there are some."""
        if not domain.gates:
            return ()
        return tuple(
            name
            for name in self.experts_for(domain)
            if EXPERTS[name].takes_over and self._everywhere.is_ready(name, domain, seen)
        )

    @property
    def _may_begin_anew(self) -> bool:
        return any(EXPERTS[name].begins_anew for name in self.names)

    def _zoom(
        self, domain: Domain, seen: Observations, of_all: Observations, streams: Streams
    ) -> zoom.Zoom | None:
        """Return the search of a box if it is its turn."""
        if domain.gates or not self._may_begin_anew or not len(seen.inside.values):
            return None
        rng = streams.generator(f"{self.name}:zoom", seen.step)
        zoomed = zoom.next_zoom(domain, seen.inside, rng)
        if zoomed is None or self._valley.is_ready(VALLEY, domain, of_all):
            return None
        return zoomed

    def _ask_in_box(
        self, domain: Domain, seen: Observations, streams: Streams, zoomed: zoom.Zoom
    ) -> Suggestion:
        inner, side = zoomed.region.inner, zoomed.box.side
        names = self.experts_for(inner)
        asked = self._in_box.suggest(
            inner,
            zoomed.seen,
            streams,
            names,
            kind=kind_of(inner, domain),
            may_refine=may_refine(seen),
            share=side,
        )
        rng = streams.generator(f"{self.name}:box", seen.step)
        x = domain.snap(zoomed.region.outward(asked.x)[None])[0]
        x = unknown_near(domain, x, seen.known, rng)
        report = {**asked.report, SIDE: side}
        if LENGTH in report:
            report[LENGTH] = side * float(report[LENGTH])  # in shares of the whole ranges
        return Suggestion(x, zoomed.signed(asked.record or {}, SIGNATURE), report)


def _random_point(
    domain: Domain, seen: Observations, search: restart.Search, rng: np.random.Generator
) -> Suggestion:
    """Return a point with which a search begins, in its columns."""
    x = domain.snap(search.whole(search.domain.sample(rng, 1)[0])[None])[0]
    x = unknown_near(domain, x, seen.known, rng)
    return _signed(Suggestion(x, {QUERY: "restart"}, {QUERY: "restart"}), search)


def _of_search(domain: Domain, search: restart.Search, asked: Suggestion) -> Suggestion:
    """Return a suggestion for the columns of a search as one for the domain."""
    if search.began is None:
        return asked
    x = domain.canonical(search.whole(asked.x)[None])[0]
    return _signed(replace(asked, x=x), search)


def _signed(asked: Suggestion, search: restart.Search) -> Suggestion:
    assert search.began is not None
    return replace(asked.keeping(search.said), report={**asked.report, restart.KEY: search.began})


def _checked(experts: object) -> tuple[str, ...]:
    if experts is None:
        return tuple(name for name, expert in EXPERTS.items() if expert.default)
    if isinstance(experts, str) or not isinstance(experts, Sequence) or not experts:
        raise ValueError(
            f"experts must be a list of names out of {', '.join(EXPERTS)}, or None, "
            f"but got {experts!r}."
        )
    if unknown := [name for name in experts if name not in list(EXPERTS)]:
        raise ValueError(f"experts must be names out of {', '.join(EXPERTS)}, but got {unknown}.")
    if len(set(experts)) < len(experts):
        raise ValueError(f"experts must name every expert once, but got {experts!r}.")
    return tuple(experts)
