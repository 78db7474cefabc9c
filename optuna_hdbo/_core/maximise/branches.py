"""The branches of a domain in which some columns are active only under values of others.

A branch is a set of columns that are active together. Within it, the domain is a box like any
other, so that gradients can be followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray


MOST_BRANCHES = 12
"""At most this many branches are searched, those of the most promising points."""

N_SAMPLED = 256
"""Random points that show which branches there are."""

MOST_GOOD = 5
"""Good points from which the search of a branch starts."""


@dataclass(frozen=True, eq=False)
class Branch:
    """A part of the domain in which the same columns are active.

    Parameters
    ----------
    active, free : BoolArray, shape (D,)
        Its columns, and those of them that may move.
    best : FloatArray, shape (b, D)
        Good points, the best first.
    sampled : FloatArray, shape (k, D)
        Other points, for their values of the deciding columns.
    """

    active: BoolArray
    free: BoolArray
    best: FloatArray
    sampled: FloatArray

    def hold(self, domain: Domain, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return points (m, D), moved to this branch where they are not in it."""
        outside = (domain.active(X) != self.active).any(axis=1)
        chosen = self.sampled[rng.integers(len(self.sampled), size=len(X))]
        X = np.where(outside[:, None] & domain.deciding, chosen, X)
        return domain.canonical(X)

    def has(self, domain: Domain, X: FloatArray) -> BoolArray:
        """Mark the points (m, D) that are in this branch."""
        return np.asarray((domain.active(X) == self.active).all(axis=1), np.bool_)


def best_of_branches(domain: Domain, X: FloatArray, merit: FloatArray) -> FloatArray:
    """Return the best point of each branch out of points (n, D) with a ranking (n,)."""
    return X[[int(rows[np.argmax(merit[rows])]) for _, rows in _by_branch(domain, X)]]


def _by_branch(domain: Domain, X: FloatArray) -> list[tuple[BoolArray, IntArray]]:
    """Return the sets of columns that are active at points (m, D), and the rows of each."""
    patterns, of_row = np.unique(domain.active(X), axis=0, return_inverse=True)
    return [(active, np.flatnonzero(of_row.ravel() == i)) for i, active in enumerate(patterns)]


def branches(
    acquisition: Acquisition,
    domain: Domain,
    best: FloatArray,
    known: FloatArray,
    free: BoolArray,
    rng: np.random.Generator,
) -> list[Branch]:
    """Return the branches that can be reached, the most promising first.

    Columns that are not free have the values of ``best[0]``, except for those that are inactive
    there: these are free wherever they are active. Where all free columns are inactive, all others
    are free. ``best (b, D)`` are good points, the best first, and ``known (n, D)`` all known ones.
    """
    here = domain.active(best[:1])[0]
    held = ~free & here if (free & here).any() else np.zeros_like(here)
    pool = np.concatenate([best, known, domain.sample(rng, N_SAMPLED)])
    pool[:, held & domain.deciding] = best[0, held & domain.deciding]
    pool = domain.canonical(pool)
    values = acquisition(pool)
    every = sorted(_by_branch(domain, pool), key=lambda branch: -values[branch[1]].max())
    found = []
    for active, rows in every[:MOST_BRANCHES]:
        # The good points of the study come first, then what the model thinks good.
        given, other = rows[rows < len(best)], rows[rows >= len(best)]
        other = other[np.argsort(-values[other], kind="stable")]
        chosen = [*given.tolist(), *other.tolist()][: max(MOST_GOOD, len(given))]
        good = pool[chosen]
        good[:, active & held] = best[0, active & held]
        found.append(Branch(active, active & ~held, good, pool[rows]))
    return found
