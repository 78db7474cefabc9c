"""The index of rows against a search from end to end, and changes of single columns."""

from __future__ import annotations

import numpy as np
import pytest
from histories import make_domain

from optuna_hdbo._core import points
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.points import SAME
from optuna_hdbo._core.points import RowIndex
from optuna_hdbo._core.points import are_near
from optuna_hdbo._core.points import is_beside


def lattice(rng: np.random.Generator, n: int, dim: int) -> np.ndarray:
    """Points that often are the same, up to some ulps, or nearly the same."""
    X = rng.integers(0, 4, (n, dim)) / rng.choice([3.0, 8.0, 729.0, 1.0])
    return X + rng.choice([0.0, 1e-16, 0.6 * SAME, -0.9 * SAME, 3 * SAME], (n, dim))


def find_row(X: np.ndarray, x: np.ndarray) -> int:
    """The search from end to end."""
    same = (np.abs(X - x) <= SAME).all(axis=1)
    return int(same.argmax()) if same.any() else -1


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_the_index_finds_what_a_search_finds(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for _ in range(30):
        X, index = lattice(rng, 40, dim), RowIndex()
        for n in (0, 1, 7, 40):
            index.follow(X[:n])
            for x in np.concatenate([lattice(rng, 10, dim), X[:5]]):
                for first in (0, n // 2, n):
                    assert index.find(x, first) == find_row(X[:first], x)


@pytest.mark.parametrize("dim", [1, 3, 20])
def test_points_on_borders_of_cells_are_found(dim: int) -> None:
    from optuna_hdbo._core.points import _WIDTH
    from optuna_hdbo._core.points import _direction

    direction, tol = _direction(dim)
    X = np.random.default_rng(dim).random((50, dim))
    cells = np.round(X @ direction / (_WIDTH * tol))
    X[:, 0] += (cells * (_WIDTH * tol) - X @ direction) / direction[0]
    index = RowIndex()
    index.follow(X)
    near = 0
    for i, x in enumerate(X):
        for step in (-0.9 * SAME, 0.9 * SAME):
            assert index.find(x + step, 50) == i
            assert index.find(x + 1.2 * step, 50) == -1
        near += len({index._cell(float((x + s) @ direction)) for s in (-SAME, SAME)}) == 2
    assert near == 50  # all of them were on borders


def test_rows_in_one_cell_are_told_apart() -> None:
    X = 0.3 + np.arange(5.0)[:, None] * 2 * SAME + np.zeros((5, 2))
    index = RowIndex()
    for n in (1, 3, 5):
        index.follow(X[:n])
    assert len(index._rows) < 5
    assert [index.find(x, 5) for x in X] == [0, 1, 2, 3, 4]
    assert [index.find(x, 2) for x in X] == [0, 1, -1, -1, -1]


def test_rows_that_change_are_read_again() -> None:
    index, X = RowIndex(), np.arange(12.0).reshape(6, 2) / 12
    index.follow(X)
    index.follow(X[:4])
    assert index.find(X[5], 4) == -1
    other = X + 0.01
    index.follow(other)
    assert index.find(X[0], 6) == -1
    assert index.find(other[5], 6) == 5


def test_near_is_near_in_every_column() -> None:
    assert are_near([0.0, 1.0], [0.1, 0.9], 0.11)
    assert not are_near([0.0, 1.0], [0.1, 0.8], 0.11)


def test_single_changes_are_drawn_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    grids = (np.array([0.0, 0.5, 1.0]), None, np.array([0.0, 1.0]), np.arange(4.0) / 3.0)
    domain = Domain(("a", "b", "c", "d"), grids, np.zeros(4, np.bool_))
    x = np.array([0.5, 0.3, 0.0, 1.0])
    columns, rng = np.array([0, 2, 3]), np.random.default_rng(0)
    whole = points.single_moves(domain, x, columns)
    changes = [(int(j), float(row[j])) for row in whole for j in np.flatnonzero(row != x)]
    assert changes == [(0, 0.0), (0, 1.0), (2, 1.0), (3, 0.0), (3, 1 / 3), (3, 2 / 3)]
    np.testing.assert_array_equal(points.single_moves(domain, x, columns, rng), whole)
    monkeypatch.setattr(points, "MAX_CELLS", 4 * len(x))
    seen = set()
    for _ in range(40):
        some = points.single_moves(domain, x, columns, rng)
        assert 1 <= len(some) <= 4
        changed = {int(j) for row in some for j in np.flatnonzero(row != x)}
        assert len(some) == sum(len(domain.grid(j)) - 1 for j in changed)
        seen |= changed
    assert seen == {0, 2, 3}
    assert len(points.single_moves(domain, x, columns)) == len(whole)


def test_how_close_to_a_pending_point_is_measured_by_what_is_known_around_it() -> None:
    domain = make_domain(None, "3")
    pending, X = np.array([[0.5, 1.0]]), np.array([[0.3, 1.0], [0.5, 0.0]])
    for gap, beside in ((0.019, True), (0.021, False)):
        assert is_beside(domain, np.array([0.5 + gap, 1.0]), pending, X) is beside
    assert not is_beside(domain, np.array([0.5, 2.0]), pending, X)
    assert not is_beside(domain, pending[0], pending[:0], X)
    assert not is_beside(make_domain("3", "3"), pending[0], pending, X)
