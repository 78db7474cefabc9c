"""Gibbs sampling of groupings, against the exact posterior over all partitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from histories import affordable
from histories import make_domain
from histories import make_kernel

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.groupings.evidence import Evidence
from optuna_hdbo._core.models.groupings.evidence import Group
from optuna_hdbo._core.models.groupings.sampling import conditional
from optuna_hdbo._core.models.groupings.sampling import together


def undecided(seed: int, n_columns: int = 4, n: int = 14) -> Evidence:
    """Return the evidence of few points, under which many groupings are likely."""
    rng = np.random.default_rng(seed)
    domain = make_domain(*[None] * n_columns)
    X = domain.sample(rng, n)
    y = 3.0 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + 0.2 * rng.standard_normal(n)
    return Evidence(make_kernel(domain), X, (y - y.mean()) / y.std())


def partitions(columns: Sequence[int], size: int) -> list[list[Group]]:
    if not columns:
        return [[]]
    first, rest = columns[0], columns[1:]
    out = []
    for groups in partitions(rest, size):
        out.append([(first,), *groups])
        for i, g in enumerate(groups):
            if len(g) < size:
                out.append([*groups[:i], (first, *g), *groups[i + 1 :]])
    return out


def exact(evidence: Evidence, size: int) -> FloatArray:
    """Return the probability of all pairs to share a group, from all partitions."""
    D = evidence.n_columns
    every = partitions(list(range(D)), size)
    values = np.array([evidence.log_posterior(groups) for groups in every])
    chances = np.exp(values - values.max())
    chances /= chances.sum()
    shared = np.zeros((D, D))
    for groups, chance in zip(every, chances, strict=True):
        for group in groups:
            shared[np.ix_(group, group)] += chance
    return shared


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("seed", range(affordable(2, 1)))
def test_probabilities_are_those_of_all_partitions(seed: int, size: int) -> None:
    evidence = undecided(seed)
    expected = exact(evidence, size)
    assert ((expected > 0.03) & (expected < 0.97)).any()
    alone = [(c,) for c in range(4)]
    found = together(evidence, alone, size, 800, np.random.default_rng(0))
    np.testing.assert_allclose(found, expected, atol=0.03)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_column_goes_where_it_is_likely(size: int) -> None:
    """The chances of places are those of the groupings, given the other columns' groups."""
    evidence = undecided(1, 5)
    groups: list[Group] = [(0, 1), (2, 4), (3,)][: 3 if size > 1 else 0] or [
        (c,) for c in range(5)
    ]
    for column in range(5):
        places, chances = conditional(evidence, groups, column, size)
        rest = {tuple(c for c in g if c != column) for g in groups} - {()}
        for grouping, _ in places:
            assert sorted(c for g in grouping for c in g) == list(range(5))
            assert max(map(len, grouping)) <= size
            assert {tuple(c for c in g if c != column) for g in grouping} - {()} == rest
        assert len(places) == 1 + sum(len(g) < size for g in rest)
        ratio = evidence.log_posterior(places[-1][0]) - evidence.log_posterior(places[0][0])
        assert np.log(chances[-1] / chances[0]) == pytest.approx(ratio)
        assert chances.sum() == pytest.approx(1.0)


def test_without_evidence_all_places_are_equal() -> None:
    evidence = Evidence(
        make_kernel(make_domain(None, None, None)), np.full((3, 3), np.nan), np.ones(3)
    )
    _, chances = conditional(evidence, [(0, 1), (2,)], 0, 3)
    np.testing.assert_allclose(chances, 1 / 3)
