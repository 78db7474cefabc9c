"""Groupings: the incremental likelihood against the plain one, and whether the truth is found."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import THOROUGH
from histories import affordable
from histories import dear
from histories import make_domain
from histories import make_kernel
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.models.groupings import packed as decomposition
from optuna_hdbo._core.models.groupings.packed import PACKED_SEARCHES
from optuna_hdbo._core.models.groupings.packed import Scorer
from optuna_hdbo._core.models.groupings.packed import improved
from optuna_hdbo._core.models.groupings.packed import random_groups


def assert_partition(groups: Sequence[Sequence[int]], n_columns: int, size: int) -> None:
    assert sorted(c for group in groups for c in group) == list(range(n_columns))
    assert max(len(group) for group in groups) <= size


def plain_likelihood(kernel: Kernel, scorer: Scorer, X: np.ndarray, y: np.ndarray) -> float:
    """Return the likelihood of the scorer's groups, every place with its scale, from scratch."""
    filled = [(j, sorted(g)) for j, g in enumerate(scorer.groups) if g]
    groups = tuple(np.array(g, np.int64) for _, g in filled)
    scales = np.array([scorer.scales[j] for j, _ in filled])
    return log_likelihood(replace(kernel, groups=groups, scales=scales), X, y)[0]


# the score ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["se", "matern32", "matern52"])
@pytest.mark.parametrize("name", ["mixed", "continuous", "discrete"])
def test_a_change_scores_like_the_kernel_that_it_makes(kind: str, name: str) -> None:
    domain = DOMAINS[name]
    rng = np.random.default_rng(0)
    X, y = domain.sample(rng, 15), rng.standard_normal(15)
    kernel = make_kernel(domain, kind=kind, noise=0.1)
    groups = [[0, 1], [2], list(range(3, len(domain))), []]
    scorer = Scorer(kernel, X, y, groups, rng.uniform(0.2, 1.0, 4))
    assert scorer.value == pytest.approx(plain_likelihood(kernel, scorer, X, y), abs=1e-8)
    for change in (
        {0: [0, 2], 1: [1]},  # exchange
        {0: [0], 2: [1, *range(3, len(domain))]},  # move
        {1: [], 3: [2]},  # to an empty place
        {0: [2, 1, 0], 1: []},  # any order
    ):
        before, groups_before = scorer.value, [list(g) for g in scorer.groups]
        value, accept = scorer.try_change(change)
        assert scorer.value == before
        assert scorer.groups == groups_before
        accept()
        assert scorer.value == value
        assert value == pytest.approx(plain_likelihood(kernel, scorer, X, y), abs=1e-8)
        assert scorer.restart(groups) == scorer.value
        assert scorer.value == pytest.approx(plain_likelihood(kernel, scorer, X, y), abs=1e-8)


def test_many_changes_do_not_drift() -> None:
    domain = make_domain(*[None] * 8)
    rng = np.random.default_rng(1)
    X, y = domain.sample(rng, 20), rng.standard_normal(20)
    kernel = make_kernel(domain, noise=1e-2)
    scorer = Scorer(kernel, X, y, [[0, 1, 2, 3], [4, 5, 6, 7]], np.array([0.4, 0.7]))
    for _ in range(affordable(300, 60)):
        i, j = rng.integers(4, size=2)
        a, b = list(scorer.groups[0]), list(scorer.groups[1])
        a[i], b[j] = b[j], a[i]
        scorer.try_change({0: a, 1: b})[1]()
    assert scorer.value == pytest.approx(plain_likelihood(kernel, scorer, X, y), abs=1e-8)


def test_what_cannot_be_factorised_is_never_likely() -> None:
    X = np.full((6, 2), 0.5)
    kernel = replace(make_kernel(make_domain(None, None)), noise=0.0)
    scorer = Scorer(kernel, X, np.arange(6.0), [[0], [1]], np.ones(2))
    assert scorer.value == -np.inf or np.isfinite(scorer.value)
    for name in PACKED_SEARCHES:
        improved(name, kernel, X, np.arange(6.0), 1, 5, np.random.default_rng(0))


# the searches ------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(1, 45), st.integers(0, 1000))
def test_random_groups_are_a_partition(n_columns: int, size: int, seed: int) -> None:
    groups = random_groups(n_columns, size, np.random.default_rng(seed))
    assert_partition(groups, n_columns, size)
    assert all(groups)
    assert len(groups) == -(-n_columns // size)
    assert all(group == sorted(group) for group in groups)


def test_random_groups_are_random() -> None:
    rng = np.random.default_rng(0)
    together = np.zeros((6, 6))
    for _ in range(2000):
        for group in random_groups(6, 2, rng):
            together[np.ix_(group, group)] += 1
    np.testing.assert_allclose(together[~np.eye(6, dtype=bool)] / 2000, 0.2, atol=0.04)


@pytest.mark.parametrize("kind", list(PACKED_SEARCHES))
@given(
    n_columns=st.integers(1, 9),
    size=st.integers(1, 10),
    n=st.integers(0, 12),
    seed=st.integers(0, 100),
)
def test_a_search_returns_a_partition_and_never_a_less_likely_one(
    kind: str, n_columns: int, size: int, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    domain = make_domain(*[None] * n_columns)
    X, y = domain.sample(rng, 8), rng.standard_normal(8)
    start = random_groups(n_columns, size, rng)
    scorer = Scorer(
        make_kernel(domain),
        X,
        y,
        [*start, []] if seed % 2 else start,
        rng.uniform(0.1, 1.0, len(start) + 1)[: len(start) + seed % 2],
    )
    before = scorer.value
    PACKED_SEARCHES[kind](scorer, size, n, rng)
    assert_partition(scorer.groups, n_columns, size)
    assert scorer.value >= before - 1e-9
    assert scorer.value == pytest.approx(
        plain_likelihood(make_kernel(domain), scorer, X, y), abs=1e-7
    )


@dear
@pytest.mark.parametrize("kind", list(PACKED_SEARCHES))
def test_a_kernel_is_likelier_at_what_groupings_are_compared_at(kind: str) -> None:
    X, y, _ = draw(3, n_columns=6, size=2, n=40)
    domain = make_domain(*[None] * 6)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        kernel = make_kernel(domain, random_groups(6, 2, rng))
        other = improved(kind, kernel, X, y, 2, 10, rng)
        if other is None:
            continue
        assert_partition([g.tolist() for g in other.groups], 6, 2)
        again = [g.tolist() for g in join([g.tolist() for g in other.groups])]
        assert [g.tolist() for g in other.groups] == again
        before = replace(other, groups=kernel.groups)
        assert log_likelihood(other, X, y)[0] > log_likelihood(before, X, y)[0]


@pytest.mark.parametrize("kind", list(PACKED_SEARCHES))
def test_the_same_numbers_find_the_same_groups(kind: str) -> None:
    X, y, _ = draw(0, n_columns=6, size=2, n=30)
    kernel = make_kernel(make_domain(*[None] * 6), [[0, 1], [2, 3], [4, 5]])
    first, second = (
        improved(kind, kernel, X, y, 2, 10, np.random.default_rng(5)) or kernel for _ in range(2)
    )
    assert [g.tolist() for g in first.groups] == [g.tolist() for g in second.groups]


def test_random_search_keeps_the_likeliest_of_its_draws() -> None:
    X, y, _ = draw(1, n_columns=6, size=2, n=30)
    kernel = make_kernel(make_domain(*[None] * 6), [[0, 1], [2, 3], [4, 5]])
    scales = np.full(3, 0.5)
    scorer = Scorer(kernel, X, y, [g.tolist() for g in kernel.groups], scales)
    PACKED_SEARCHES["random"](scorer, 2, 20, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    draws = [[[0, 1], [2, 3], [4, 5]], *[random_groups(6, 2, rng) for _ in range(20)]]
    values = [
        log_likelihood(replace(kernel, groups=join(g), scales=scales), X, y)[0] for g in draws
    ]
    assert scorer.value == pytest.approx(max(values), abs=1e-8)
    assert join(scorer.groups)[0].tolist() == join(draws[int(np.argmax(values))])[0].tolist()


@pytest.mark.parametrize("kind", ["swap", "gibbs", "random"])
def test_a_search_costs_what_it_may(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = make_domain(*[None] * 7)
    rng = np.random.default_rng(0)
    X, y = domain.sample(rng, 8), rng.standard_normal(8)
    scorer = Scorer(make_kernel(domain), X, y, [[0, 1, 2], [3, 4], [5, 6]], np.ones(3))
    spent = []
    plain = scorer._likelihood
    monkeypatch.setattr(scorer, "_likelihood", lambda K: (spent.append(1), plain(K))[1])
    PACKED_SEARCHES[kind](scorer, 3, 50, rng)
    # Going back to the best costs one more; the swaps go back after every climb.
    assert len(spent) <= 51 + (20 if kind == "swap" else 0)


# the truth ---------------------------------------------------------------------------------------


def draw(
    seed: int,
    kind: str = "matern52",
    lengthscale: float = 0.5,
    n_columns: int = 12,
    size: int = 3,
    n: int = 200,
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """Return points, values of a function drawn from an additive prior, and its groups."""
    rng = np.random.default_rng(seed)
    truth = join(random_groups(n_columns, size, rng))
    X = rng.random((n, n_columns))
    kernel = cold(truth, kind, lengthscale)
    y = np.linalg.cholesky(kernel.gram(X) + kernel.noise * np.eye(n)) @ rng.standard_normal(n)
    return X, (y - y.mean()) / y.std(), truth


def cold(groups: tuple[np.ndarray, ...], kind: str, lengthscale: float = 0.5) -> Kernel:
    n_columns = sum(len(g) for g in groups)
    return Kernel(
        kind,
        groups,
        np.full(n_columns, lengthscale),
        np.full(len(groups), 1.0 / len(groups)),
        1e-3,
        np.zeros(n_columns, np.bool_),
    )


def refit(start: Kernel, X: np.ndarray, y: np.ndarray) -> Kernel:
    prior = Prior("inverse-square")
    return fit(start, X, y, prior=prior, bounds=Bounds(), starts=[start], n_steps=30)[0]


def labels(groups: Sequence[np.ndarray]) -> np.ndarray:
    found = np.empty(sum(len(g) for g in groups), np.int64)
    for j, group in enumerate(groups):
        found[group] = j
    return found


@pytest.mark.parametrize("seed", range(3 if THOROUGH else 1))
@pytest.mark.parametrize(
    ("search_kind", "n", "kind", "lengthscale"),
    [
        ("swap", 250, "matern52", 0.5),
        ("gibbs", 400, "matern52", 0.5),
        pytest.param("swap", 250, "se", 1.0, marks=dear),
    ],
)
def test_the_true_groups_are_found(
    search_kind: str, n: int, kind: str, lengthscale: float, seed: int
) -> None:
    """D = 12, d = 3, n = 200 from a random grouping and hyperparameters that were fitted to it."""
    size, n_columns, points = (2, 4, 24) if INTERPRETED else (3, 12, 200)
    n = affordable(n, 20)
    X, y, truth = draw(seed, kind, lengthscale, n_columns, size, points)
    rng = np.random.default_rng(1000 + seed)
    groups = join(random_groups(n_columns, size, rng))
    while adjusted_rand_score(labels(truth), labels(groups)) >= 0.9:  # likely with few columns
        groups = join(random_groups(n_columns, size, rng))
    start = refit(cold(groups, kind), X, y)
    found = refit(improved(search_kind, start, X, y, size, n, rng) or start, X, y)
    assert adjusted_rand_score(labels(truth), labels(found.groups)) >= 0.9
    expected = log_likelihood(refit(cold(truth, kind), X, y), X, y)[0]
    assert log_likelihood(found, X, y)[0] >= expected - 1.0


# very many columns -------------------------------------------------------------------------------


def test_changes_of_very_many_columns_are_drawn_instead_of_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is an exchange of two columns of different groups, or a move to a group with room."""
    monkeypatch.setattr(decomposition, "MOST_LISTED", 10)
    groups = [[0, 1, 2], [3, 4, 5], [6, 7], [8]]
    seen = set()
    changes = decomposition._single_changes(groups, 3, np.random.default_rng(0))
    for change in itertools.islice(changes, 3000):
        assert len(change) == 2
        after = [change.get(place, group) for place, group in enumerate(groups)]
        assert sorted(c for group in after for c in group) == list(range(9))
        assert max(map(len, after)) <= 3
        seen.add(repr([sorted(group) for group in after]))
    monkeypatch.setattr(decomposition, "MOST_LISTED", 1000)
    listed = decomposition._single_changes(groups, 3, np.random.default_rng(0))
    everything = {
        repr([sorted(change.get(place, group)) for place, group in enumerate(groups)])
        for change in listed
    }
    assert seen == everything


def test_a_search_keeps_few_covariances_of_very_many_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = []
    plain = decomposition.Scorer

    def counting(kernel: Any, X: np.ndarray, *rest: Any) -> Any:
        rows.append(len(X))
        return plain(kernel, X, *rest)

    monkeypatch.setattr(decomposition, "Scorer", counting)
    monkeypatch.setattr(decomposition, "MOST_NUMBERS", 4 * 12**2)
    domain = make_domain(*[None] * 8)
    rng = np.random.default_rng(0)
    X, y = domain.sample(rng, 30), rng.standard_normal(30)
    start = cold(tuple(np.array([2 * j, 2 * j + 1]) for j in range(4)), "se")
    improved("swap", start, X, y, 2, 5, rng)
    assert rows == [12]
