"""Which columns matter: subsets searched by a loss, in the order of an importance ranking.

Algorithms 2 to 5 of Shen & Kingsford (2023), and a search by significant gains. They are pure:
a loss is called with the columns of a subset, and smaller is better; all lists of columns are
ordered, the most important first.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.memory import is_count


Columns = tuple[int, ...]

Loss = Callable[[Columns], float]

SELECTIONS = "selection"
"""Key of the selections in records."""


@dataclass(frozen=True)
class Selection:
    """The columns that matter, as one trial chose them.

    Parameters
    ----------
    n : int
        Observations that it was made from.
    names : tuple of str
        The most important first.
    """

    n: int
    names: tuple[str, ...]

    def columns(self, domain: Domain) -> IntArray:
        """Return the selected columns of a domain, ascending."""
        return np.sort([domain.names.index(name) for name in self.names])

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"n": self.n, "names": list(self.names)}

    @classmethod
    def from_json(cls, data: Any) -> Selection | None:
        """Return what an object describes, None if it is no selection."""
        if not isinstance(data, dict):
            return None
        n, names = data.get("n"), data.get("names")
        if not is_count(n) or n < 1 or not isinstance(names, list):
            return None
        if not names or not all(isinstance(name, str) for name in names):
            return None
        return cls(n, tuple(names)) if len(set(names)) == len(names) else None


def recall_selection(memory: Memory, domain: Domain, n: int) -> Selection | None:
    """Return the newest selection from at most n observations, of the columns that are left."""

    def parse(data: Any) -> Selection | None:
        selection = Selection.from_json(data)
        if selection is None or selection.n > n:
            return None
        names = tuple(name for name in selection.names if name in domain.names)
        left = [domain.names.index(name) for name in names]
        deciding = [c for c in domain.with_deciding(left) if c not in left]
        names += tuple(domain.names[c] for c in deciding)
        return Selection(selection.n, names) if names else None

    return memory.recall(SELECTIONS, parse)


def forward(ranking: Sequence[int], loss: Loss, first: int = 1) -> Columns:
    """Return the leading columns of a ranking, up to where one more is not worth it.

    With ``first`` = 1 Algorithm 2; otherwise lines 10 to 18 of Algorithm 4, whose n it is. Two
    losses must come before the one that may stop the search.
    """
    losses: list[float] = []
    for m in range(first, len(ranking) + 1):
        losses.append(loss(tuple(ranking[:m])))
        if m - first >= 2 and _is_flat(losses[-3], losses[-2], losses[-1]):
            return tuple(ranking[: m - 1])
    return tuple(ranking)


def after_failure(ranking: Sequence[int], old: Sequence[int], loss: Loss) -> Columns:
    """Algorithm 4, for a selection under which no better value was found.

    Of the ``old`` columns only those stay that lead the new ranking.
    """
    kept = next((i for i, c in enumerate(ranking) if c not in old), len(ranking))
    return forward(ranking, loss, kept + 1)


def after_success(ranking: Sequence[int], old: Sequence[int], loss: Loss) -> Columns:
    """Algorithm 5, for a selection under which a better value was found.

    ``old`` is ordered by the importances within that set (the paper's s'): columns are eliminated
    from its end as long as the loss does not grow, then others are added in the order of
    ``ranking``.
    """
    kept = list(old)
    value = loss(tuple(kept))
    while len(kept) > 1:
        smaller = loss(tuple(kept[:-1]))
        if smaller > value:
            break
        kept.pop()
        value = smaller
    # L_{m-1} and L_{m-2}; the paper leaves L_{-1} open, which is asked for when s(1) is kept.
    last, last_but_one = value, value
    for m, column in enumerate(ranking, start=1):
        if column in kept:
            # L_m = L_{m-1} and L_{m-1} = L_{m-2}: the pair is as before.
            continue
        value = loss((*kept, column))
        if m >= 2 and _is_flat(last_but_one, last, value):
            break
        kept.append(column)
        last_but_one, last = last, value
    return tuple(kept)


def _is_flat(last_but_one: float, last: float, value: float) -> bool:
    gain = last - value
    return gain <= 0.0 or gain < (last_but_one - last) / 10.0


def significant(
    ranking: Sequence[int],
    old: Sequence[int],
    loss: Loss,
    *,
    gain: float,
    patience: int,
    rest: Callable[[Columns], Sequence[int]] | None = None,
) -> Columns:
    """Return the columns that each lower the loss by ``gain`` or more.

    The search starts from the ``old`` columns. The columns of the ranking are tried one by one,
    until ``patience`` of them in a row add less than ``gain``. Then columns that are no longer
    worth the gain are removed, the least important first. The loss is in nats: a gain of 5 is
    evidence of 150 to 1. ``rest`` may rank the remaining columns by how much they could still
    explain. The first of these are tried at the end, and the rest is ranked again after each
    success.
    """
    place = {column: i for i, column in enumerate(ranking)}
    kept = sorted(old, key=place.__getitem__) or [ranking[0]]
    value = loss(tuple(kept))

    def extend(candidates: Sequence[int], most: int) -> int:
        """Try candidates until ``most`` are found or patience runs out; return how many were."""
        nonlocal value
        failures = found = 0
        for column in candidates:
            if found == most or failures == patience:
                break
            if column in kept:
                continue
            larger = loss((*kept, column))
            if value - larger >= gain:
                kept.append(column)
                value, failures, found = larger, 0, found + 1
            else:
                failures += 1
        return found

    extend(ranking, len(ranking))
    for column in sorted(kept, key=place.__getitem__, reverse=True):
        if len(kept) == 1:
            break
        fewer = [c for c in kept if c != column]
        smaller = loss(tuple(fewer))
        if smaller - value < gain:
            kept.remove(column)
            value = smaller
    while rest is not None and extend(rest(tuple(kept)), 1):
        pass
    return tuple(sorted(kept, key=place.__getitem__))
