"""The experts of one domain: whose point the next query is, and what is not worth a query."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.constraints import CONSTRAINT
from optuna_hdbo._core.acquisition.constraints import FAILURES
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.additive import ADDITIVE_FIT
from optuna_hdbo._core.models.ensemble import ENSEMBLE
from optuna_hdbo._core.models.ensemble import LOCAL
from optuna_hdbo._core.tree.surrogate import KEY as SURROGATE
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.base import shown_to
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio.credit import Kind
from optuna_hdbo.portfolio.experts import EXPERTS


REFINED = 1e-3
"""Root mean square distance from the best point, in shares of the ranges, within which a query
refines it."""

WINDOW, MOST_REFINED = 30, 1.0 / 6.0
"""At most this share of the last queries may refine the best point, by one more digit of it."""

QUERY, CREDITS = "query", "credits"
"""Keys under which a record keeps the kind of the query and every expert's expected rate of
success at that time, which :func:`optuna_hdbo.explain` reads."""

SIGNATURE = (credit.KEY, QUERY, CREDITS)
"""The entries of a record that say whose query it was, and why."""

FITS, SINGLE_FITS = (FAILURES, CONSTRAINT, f"{ENSEMBLE}:", f"{LOCAL}:"), {ADDITIVE_FIT, SURROGATE}
"""What the keys of fits begin with, and other such keys. Fits hold whether the point of their
suggestion is used or not."""

QueryKind = Literal["search", "refine", "elsewhere", "pending", "restart", "repeat"]
"""What a query is for: a better point, one more digit of the best point, the furthest point from
all known ones (experts refined too often, or all of them asked for pending points), a point of a
search that begins afresh or with a new option, or the best point again, to see whether values are
noisy."""


class Panel:
    """Experts that search a domain together."""

    def __init__(self, experts: Mapping[str, Method]) -> None:
        self.experts = experts

    def suggest(
        self,
        domain: Domain,
        seen: Observations,
        streams: Streams,
        names: tuple[str, ...],
        *,
        kind: Kind,
        may_refine: bool,
        share: float = 1.0,
    ) -> Suggestion:
        """Return the point of an expert, drawn by how often its points were improvements.

        Parameters
        ----------
        domain : Domain
        seen : Observations
            At least one.
        streams : Streams
        names : tuple of str
            The experts that may be asked.
        kind : Kind
            The kind of the domain, which decides how much each expert is asked.
        may_refine : bool
            Whether the point may be one more digit of the best one, see :func:`may_refine`.
        share : float
            Share of the parameters' ranges that the columns of the domain have.
        """
        rng = streams.generator("hdbo", seen.step)
        names = tuple(n for n in names if self._takes_part(n, domain, seen)) or names
        merit = merits(seen)
        earned = credit.credits(seen, merit, names)
        prior = {name: EXPERTS[name].prior_in(kind) for name in names}
        best = seen.X[int(np.argmax(merit))]
        rates = {name: credit.rate(earned[name], prior[name]) for name in names}
        first: str | None = None
        far: QueryKind = "pending"
        fits: dict[str, Any] = {}  # those of experts whose points are not used serve, too
        for name in self._ready(
            credit.order(earned, prior, rng, credit.FLOORS[kind]), domain, seen
        ):
            expert = self.experts[name]
            suggestion = expert.suggest(domain, shown_to(expert, seen), streams)
            near = refines(domain, suggestion.x, best, share)
            pending = is_under_way(domain, suggestion.x, seen, share)
            said = suggestion.record or {}
            fits |= {key: data for key, data in said.items() if _is_of_fit(key)}
            first = first or name
            if near and not may_refine:
                far = "elsewhere"
            elif not pending:
                asked = suggestion.keeping(fits)
                return _signed(name, asked, "refine" if near else "search", rates)
        assert first is not None
        x = _far_from(domain, seen, rng)  # all of them refine, or ask for pending points
        return _signed(first, Suggestion(x).keeping(fits), far, rates)

    def _takes_part(self, name: str, domain: Domain, seen: Observations) -> bool:
        expert = EXPERTS[name]
        if expert.least_observations(seen.X.shape[1]) > len(seen.X):
            return False
        return not expert.takes_over or self.is_ready(name, domain, seen)

    def _ready(self, order: list[str], domain: Domain, seen: Observations) -> Iterator[str]:
        """Yield the experts that can use the observations, the first one if none says so."""
        none = True
        for name in order:
            if self.is_ready(name, domain, seen):
                none = False
                yield name
        if none:
            yield order[0]

    def is_ready(self, name: str, domain: Domain, seen: Observations) -> bool:
        """Tell whether an expert can use the observations.

        An expert that has a method ``is_ready`` is asked for a point only where it is true.
        """
        expert = self.experts[name]
        ready = getattr(expert, "is_ready", None)
        return ready is None or bool(ready(domain, shown_to(expert, seen)))


def n_recent(seen: Observations, *kinds: QueryKind) -> int:
    """Return how many of the last queries were of these kinds."""
    recent = seen.records[max(0, len(seen.records) - WINDOW) :]
    return sum(record.data.get(QUERY) in kinds for record in recent)


def may_refine(seen: Observations) -> bool:
    """Tell whether few of the last queries were refinements."""
    return n_recent(seen, "refine") < MOST_REFINED * WINDOW


def _is_of_fit(key: str) -> bool:
    return key.startswith(FITS) or key in SINGLE_FITS


def _signed(
    name: str, suggestion: Suggestion, kind: QueryKind, rates: Mapping[str, float]
) -> Suggestion:
    """Return a suggestion whose record and report say which expert it is from, and why."""
    said = {credit.KEY: name, QUERY: kind}
    asked = suggestion.keeping({**said, CREDITS: dict(rates)})
    return replace(asked, report={**suggestion.report, **said})


def refines(domain: Domain, x: FloatArray, best: FloatArray, share: float = 1.0) -> bool:
    """Tell whether a query at x (D,) adds a digit to the best point (D,), see :data:`REFINED`.

    The columns of the domain have a ``share`` of the parameters' ranges.
    """
    distance = share * math.sqrt(float(((x - best) ** 2).mean()))
    return distance < REFINED and not bool(domain.discrete.all())


def is_under_way(domain: Domain, x: FloatArray, seen: Observations, share: float = 1.0) -> bool:
    """Tell whether a query at x (D,) hardly differs from a pending point, see :func:`refines`."""
    return any(refines(domain, x, other, share) for other in seen.pending)


def _far_from(domain: Domain, seen: Observations, rng: np.random.Generator) -> FloatArray:
    """Return the one of some random points that is furthest from all known points."""
    pool = domain.sample(rng, 64)
    gaps = np.array([(domain.gaps(x[None], seen.known) ** 2).mean(axis=2).min() for x in pool])
    return np.array(pool[int(np.argmax(gaps))])
