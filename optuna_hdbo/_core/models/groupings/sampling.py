"""Gibbs sampling of groupings: how probable it is that two columns share a group.

Each step takes one column out of its group and draws where it goes: into one of the other groups,
or alone. The probabilities of all places are exact, given the groups of the other columns. What is
returned is the mean of these probabilities, which varies less than the mean of what is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.groupings.evidence import Evidence
from optuna_hdbo._core.models.groupings.evidence import Group


def together(
    evidence: Evidence,
    groups: Sequence[Sequence[int]],
    size: int,
    n_sweeps: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the probability that two columns share a group, for all pairs of columns.

    Parameters
    ----------
    evidence : Evidence
        Gives the log posterior of groupings.
    groups : sequence of sequences of int
        Where the chain starts, which should be a likely grouping: no step is discarded.
    size : int
        Largest number of columns in a group.
    n_sweeps : int
        How often the place of every column is drawn, at least once.
    rng : numpy.random.Generator

    Returns
    -------
    FloatArray, shape (D, D)
        Symmetric; the diagonal is 1.
    """
    D = evidence.n_columns
    here: list[Group] = [tuple(sorted(group)) for group in groups]
    total = np.zeros((D, D))
    for _ in range(n_sweeps):
        for column in rng.permutation(D).tolist():
            places, chances = conditional(evidence, here, column, size)
            for (_, group), chance in zip(places, chances.tolist(), strict=True):
                total[column, list(group)] += chance
            here = places[int(rng.choice(len(places), p=chances))][0]
    total = 0.5 * (total + total.T) / n_sweeps
    np.fill_diagonal(total, 1.0)
    return total


def conditional(
    evidence: Evidence, groups: Sequence[Group], column: int, size: int
) -> tuple[list[tuple[list[Group], Group]], FloatArray]:
    """Return where a column may go, and how probable each place is, given all other groups.

    A place is the grouping with the column there, and the group that the column joins, which is
    empty where it stays alone.
    """
    rest = [tuple(c for c in group if c != column) for group in groups]
    rest = [group for group in rest if group]
    joined = [(), *(group for group in rest if len(group) < size)]
    places: list[tuple[list[Group], Group]] = []
    for group in joined:
        others = [other for other in rest if other != group]
        places.append(([*others, tuple(sorted((*group, column)))], group))
    values = np.array([evidence.log_posterior(grouping) for grouping, _ in places])
    if values.max() == -np.inf:  # no covariance matrix can be factorised: all places are equal
        values = np.zeros(len(values))
    chances = np.exp(values - values.max())
    return places, np.asarray(chances / chances.sum(), np.float64)
