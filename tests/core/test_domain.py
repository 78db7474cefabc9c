"""Every point that a domain hands out is one that it admits, and the nearest there is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from histories import make_domain
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.domain import Domain


inside = st.floats(0.0, 1.0, exclude_min=True, exclude_max=True)


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    grids: list[np.ndarray | None] = []
    categorical = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["interval", "even", "uneven", "choices"]))
        k = draw(st.integers(2, 9))
        categorical.append(kind == "choices")
        if kind == "interval":
            grids.append(None)
        elif kind == "even":
            grids.append((np.arange(k) + 0.5) / k)
        elif kind == "uneven":
            values = draw(st.lists(inside, min_size=2, max_size=9, unique=True))
            grids.append(np.sort(values))
        else:
            grids.append(np.arange(float(k)))
    names = tuple(f"p{i}" for i in range(len(grids)))
    return Domain(names, tuple(grids), np.array(categorical))


def matrices(domain: Domain, values: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    row = st.lists(values, min_size=len(domain), max_size=len(domain))
    return st.lists(row, min_size=1, max_size=4).map(np.array)


def assert_admissible(domain: Domain, X: np.ndarray) -> None:
    assert X.dtype == np.float64
    assert X.flags["C_CONTIGUOUS"]
    for x, grid in zip(X.T, domain.grids, strict=True):
        if grid is None:
            assert np.all((x >= 0.0) & (x <= 1.0))
        else:
            assert np.all(np.isin(x, grid))


@given(st.data())
def test_from_unit(data: st.DataObject) -> None:
    domain = data.draw(domains())
    U = data.draw(matrices(domain, st.floats(0.0, 1.0)))
    before = U.copy()
    X = domain.from_unit(U)
    assert np.array_equal(U, before)
    assert X.shape == U.shape
    assert_admissible(domain, X)
    assert np.array_equal(domain.snap(X), X)
    for x, u, grid, choices in zip(X.T, U.T, domain.grids, domain.categorical, strict=True):
        if grid is None:
            assert np.array_equal(x, u)
        elif choices:
            assert np.array_equal(x, np.minimum(np.floor(u * len(grid)), len(grid) - 1))
        else:
            assert np.array_equal(np.abs(x - u), np.abs(grid[:, None] - u).min(axis=0))


@given(st.data())
def test_snap(data: st.DataObject) -> None:
    domain = data.draw(domains())
    Z = data.draw(matrices(domain, st.floats(-3.0, 12.0)))
    before = Z.copy()
    X = domain.snap(Z)
    assert np.array_equal(Z, before)
    assert_admissible(domain, X)
    assert np.array_equal(domain.snap(X), X)
    for x, z, grid in zip(X.T, Z.T, domain.grids, strict=True):
        if grid is None:
            assert np.array_equal(x, np.clip(z, 0.0, 1.0))
        else:
            z = np.clip(z, 0.0, grid[-1])
            assert np.array_equal(np.abs(x - z), np.abs(grid[:, None] - z).min(axis=0))


@given(domains(), st.integers(0, 2**32))
def test_sample(domain: Domain, seed: int) -> None:
    X = domain.sample(np.random.default_rng(seed), 7)
    assert X.shape == (7, len(domain))
    assert_admissible(domain, X)
    assert np.array_equal(X, domain.sample(np.random.default_rng(seed), 7))
    assert domain.sample(np.random.default_rng(seed), 0).shape == (0, len(domain))


def test_different_choices_are_one_apart() -> None:
    domain = make_domain(None, "5")
    X, Z = np.array([[0.2, 0.0], [0.5, 4.0]]), np.array([[0.9, 3.0], [0.1, 0.0]])
    expected = [[[0.7, 1.0], [0.1, 0.0]], [[0.4, 1.0], [0.4, 1.0]]]
    assert domain.gaps(X, Z) == pytest.approx(np.array(expected))


def test_sample_gives_choices_equal_shares_and_grids_what_is_nearest() -> None:
    uneven = np.array([0.1, 0.2, 0.8])
    domain = Domain(("a", "b"), (np.arange(4.0), uneven), np.array([True, False]))
    X = domain.sample(np.random.default_rng(0), 20_000)
    shares = [(X[:, 0] == choice).mean() for choice in range(4)]
    np.testing.assert_allclose(shares, 0.25, atol=0.015)
    shares = [(X[:, 1] == value).mean() for value in uneven]
    np.testing.assert_allclose(shares, [0.15, 0.35, 0.5], atol=0.015)


@pytest.mark.parametrize("k", [2, 3, 7, 1000])
def test_the_ends_of_the_cube(k: int) -> None:
    domain = Domain(
        ("a", "b", "c"),
        ((np.arange(k) + 0.5) / k, np.arange(float(k)), None),
        np.array([False, True, False]),
    )
    X = domain.from_unit(np.array([[0.0] * 3, [1.0] * 3]))
    assert np.array_equal(X, [[0.5 / k, 0.0, 0.0], [(k - 0.5) / k, k - 1.0, 1.0]])
    X = domain.snap(np.array([[-math.inf] * 3, [math.inf] * 3]))
    assert np.array_equal(X, [[0.5 / k, 0.0, 0.0], [(k - 0.5) / k, k - 1.0, 1.0]])


@given(domains())
def test_what_a_domain_knows_of_itself(domain: Domain) -> None:
    assert len(domain) == len(domain.names) == len(domain.discrete)
    assert domain.discrete.tolist() == [grid is not None for grid in domain.grids]
    values, starts = domain.flat_grids
    assert starts.dtype == np.int64
    assert len(starts) == len(domain) + 1
    for i, grid in enumerate(domain.grids):
        own = values[starts[i] : starts[i + 1]]
        assert np.array_equal(own, [] if grid is None else grid)
        assert grid is None or domain.grid(i) is grid
    assert len(values) == starts[-1]


@pytest.mark.parametrize("n_columns", [1, 4])
def test_continuous(n_columns: int) -> None:
    domain = Domain.continuous(n_columns)
    assert domain.names == tuple(f"x{i}" for i in range(n_columns))
    assert not domain.discrete.any()
    assert not domain.categorical.any()
    U = np.random.default_rng(0).random((3, n_columns))
    assert np.array_equal(domain.from_unit(U), U)


@given(domains(), domains())
def test_domains_are_the_same_if_their_columns_are(one: Domain, other: Domain) -> None:
    copy = Domain(
        one.names,
        tuple(None if g is None else g.copy() for g in one.grids),
        one.categorical.copy(),
    )
    assert one.is_same_as(one)
    assert one.is_same_as(copy)
    same = one.names == other.names and one.categorical.tolist() == other.categorical.tolist()
    same = same and all(
        (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))
        for a, b in zip(one.grids, other.grids, strict=True)
    )
    assert one.is_same_as(other) == other.is_same_as(one) == same


def test_a_domain_has_columns() -> None:
    with pytest.raises(ValueError, match="n_columns must be"):
        Domain.continuous(0)
