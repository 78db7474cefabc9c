"""Which expert makes the next query: the one that has lately improved the best value most often.

Every expert has a Beta distribution of its rate of success, in which old queries count less. The
expert with the largest draw suggests the point (Thompson sampling). So an expert that may be good
is tried, and one that is not good makes few queries.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from types import MappingProxyType
from typing import Literal
from typing import NamedTuple

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.observations import Observations
from optuna_hdbo.methods.base import Domain


KEY = "expert"
"""Key under which a record keeps the name of the expert that suggested the point."""

FORGETTING = 0.9
"""Factor by which a query counts less after each later one. So about ten queries count."""

WORTHWHILE = 1e-3
"""Smallest gain that counts as a success, divided by the distance of the best value to the median
of the better half. Smaller gains refine what is known."""

FEW_COLUMNS = 10
"""Below this many columns the whole domain can be searched: least shares are larger."""

MANY_COLUMNS = 60
"""From this many columns on, and with branches, the local expert gets less credit."""

Kind = Literal["few", "few real", "few mixed", "medium", "many"]
"""How many columns there are, and whether few ones are real or mixed, see :func:`is_mixed`."""

FLOORS: Mapping[Kind, float] = MappingProxyType(
    {"few": 0.1, "few real": 0.1, "few mixed": 0.04, "medium": 0.02, "many": 0.02}
)
"""Share of the queries that every expert makes at least."""


class Credit(NamedTuple):
    """An expert's discounted successes and failures.

    A named tuple, because every suggestion makes one per trial.
    """

    wins: float
    losses: float

    def after(self, *, success: bool) -> Credit:
        """Return the credit with one more query taken in."""
        return Credit(
            FORGETTING * self.wins + float(success), FORGETTING * self.losses + float(not success)
        )


def rate(earned: Credit, prior: Credit) -> float:
    """Return an expert's expected rate of success, to four digits."""
    wins, losses = earned.wins + prior.wins, earned.losses + prior.losses
    return float(f"{wins / (wins + losses):.4g}")


def successes(merit: FloatArray) -> BoolArray:
    """Return which observations, ranked by ``merit (n,)``, are a worthwhile gain, shape (n,)."""
    found = np.zeros(len(merit), np.bool_)
    earlier: list[float] = []  # in ascending order
    for row, value in enumerate(merit.tolist()):
        if not earlier:
            found[row] = True
        elif value > (best := earlier[-1]):
            start = row // 2  # of the better half
            low, high = (row + start - 1) // 2, (row + start) // 2
            median = (earlier[low] + earlier[high]) / 2.0
            found[row] = value > best + WORTHWHILE * (best - median)
        insort(earlier, value)
    return found


def gains(seen: Observations, merit: FloatArray) -> set[int]:
    """Return the numbers of the trials that were worthwhile gains."""
    return set(seen.numbers[successes(merit)].tolist())


def credits(seen: Observations, merit: FloatArray, names: Sequence[str]) -> dict[str, Credit]:
    """Return the credit that each expert has earned by observations ranked by ``merit (n,)``.

    A query without a value is a failure.
    """
    earned = dict.fromkeys(names, Credit(0.0, 0.0))
    better = gains(seen, merit)
    for record in seen.records:
        name = record.data.get(KEY)
        if record.state != "running" and isinstance(name, str) and name in earned:
            earned[name] = earned[name].after(success=record.number in better)
    return earned


def is_ahead(
    queries: Iterable[tuple[bool, bool]], prior: Credit, rng: np.random.Generator
) -> bool:
    """Draw whether the next query is of the first of two kinds, by the rates of success of both.

    ``queries`` say whether each one that has ended is of the first kind, and was a success.
    ``prior`` has the pseudo-counts that both kinds begin with.
    """
    earned = {True: Credit(0.0, 0.0), False: Credit(0.0, 0.0)}
    for of_first, success in queries:
        earned[of_first] = earned[of_first].after(success=success)
    drawn = {
        of_first: rng.beta(prior.wins + counts.wins, prior.losses + counts.losses)
        for of_first, counts in earned.items()
    }
    return bool(drawn[True] >= drawn[False])


def order(
    earned: Mapping[str, Credit],
    prior: Mapping[str, Credit],
    rng: np.random.Generator,
    floor: float,
) -> list[str]:
    """Return the experts in the order in which they may suggest the point of this query.

    Each expert makes at least a share ``floor`` of the queries. ``prior`` has the pseudo-counts
    that it began with.
    """
    names = list(earned)
    drawn = [
        rng.beta(prior[name].wins + earned[name].wins, prior[name].losses + earned[name].losses)
        for name in names
    ]
    ranked = [names[i] for i in np.argsort(-np.array(drawn), kind="stable")]
    if rng.random() < floor * len(names):
        first = names[int(rng.integers(len(names)))]
        ranked = [first, *(name for name in ranked if name != first)]
    return ranked


def is_mixed(domain: Domain) -> bool:
    """Tell whether a domain has few columns at a time, some but not all discrete.

    Those that decide about others do not count. Most tuned models have such a domain.
    """
    discrete = domain.discrete[~domain.deciding]
    some = bool(discrete.any() and not discrete.all())
    return some and domain.breadth < FEW_COLUMNS


def kind_of(domain: Domain, whole: Domain | None = None) -> Kind:
    """Return the kind of a domain, which may be a part of a whole one.

    A part of a mixed one, like a box in which integers have one value only, is mixed as well.
    """
    whole = whole or domain
    if is_mixed(whole):
        return "few mixed"
    if len(whole) < FEW_COLUMNS and not (whole.gates or whole.discrete.any()):
        return "few real"
    if domain.breadth < FEW_COLUMNS:
        return "few"
    return "many" if domain.breadth >= MANY_COLUMNS or whole.gates else "medium"
