"""Failed points: which of them there are, and whether they are elsewhere than the others."""

from __future__ import annotations

import numpy as np
import pytest
from histories import make_domain
from scipy.stats import pearsonr

from optuna_hdbo._core import points
from optuna_hdbo._core.points import FEWEST_BY_CHANCE
from optuna_hdbo._core.points import N_DEALT
from optuna_hdbo._core.points import Failures
from optuna_hdbo._core.points import are_elsewhere
from optuna_hdbo._core.points import by_chance


CUBE = make_domain(*[None] * 6)
MIXED = make_domain(None, "3", "4")
"""An interval and two categorical columns."""


def dependence(X: np.ndarray, fails: np.ndarray) -> float:
    """The statistic by its definition: SciPy's correlations, one column each."""
    total = 0.0
    for column in X.T:
        total += pearsonr(column, fails).statistic ** 2
        total += pearsonr((column - column.mean()) ** 2, fails).statistic ** 2 / 2.0
    return total


def test_the_test_compares_correlations_with_those_of_failures_dealt_at_random() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        X = rng.random((16, 3))
        failed = 0.6 * rng.random((7, 3)) + rng.choice([0.0, 0.2, 0.4])
        both = np.concatenate([failed, X])
        fails = np.repeat([1.0, 0.0], [7, 16])
        dealt = np.random.default_rng(23).permuted(np.tile(fails, (N_DEALT, 1)), axis=1)
        true = dependence(both, fails)
        as_far = 1 + sum(dependence(both, row) >= true - 1e-9 for row in dealt)
        expected = as_far / (1 + N_DEALT) <= points.LEVEL
        assert are_elsewhere(make_domain(None, None, None), failed, X) == expected
        found.append(expected)
    assert 5 < sum(found) < 35


@pytest.mark.parametrize(
    "fails",
    [
        lambda X: X @ [1.0, 1.0, 1.0, 0.0, 0.0, 0.0] > 1.9,
        lambda X: X[:, 0] > 0.75,
        lambda X: ((X[:, :2] - 0.5) ** 2).sum(axis=1) < 0.12,
        lambda X: np.abs(X[:, 0] - 0.5) > 0.38,
    ],
    ids=["oblique half", "one side", "middle", "both ends"],
)
def test_failures_of_a_region_are_elsewhere(fails: object) -> None:
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(20):
        X = rng.random((60, 6))
        failed = fails(X)  # type: ignore[operator]
        found += are_elsewhere(CUBE, X[failed], X[~failed])
    assert found >= 14


def test_failures_of_two_choices_together_are_elsewhere() -> None:
    rng = np.random.default_rng(2)
    X = np.stack([rng.random(60), rng.integers(3, size=60), rng.integers(4, size=60)], axis=1)
    failed = (X[:, 1] == 2) & (X[:, 2] >= 2)
    assert are_elsewhere(MIXED, X[failed], X[~failed])


def test_failures_by_chance_are_not_elsewhere() -> None:
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(200):
        X, failed = rng.random((40, 6)), rng.random(40) < 0.2
        found += are_elsewhere(CUBE, X[failed], X[~failed])
    assert found <= 10


@pytest.mark.parametrize(("n_failed", "n"), [(0, 20), (1, 20), (5, 0)])
def test_too_few_points_tell_nothing(n_failed: int, n: int) -> None:
    assert not are_elsewhere(CUBE, np.zeros((n_failed, 6)), np.ones((n, 6)))


def test_equal_points_tell_nothing() -> None:
    assert not are_elsewhere(CUBE, np.full((5, 6), 0.3), np.full((9, 6), 0.3))


def test_only_the_last_points_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    X, failed = rng.random((400, 6)), rng.random((400, 6))
    failed[:-20, 0] += 1.0
    assert are_elsewhere(CUBE, failed, X)
    monkeypatch.setattr(points, "MOST_TESTED", 20)
    assert not are_elsewhere(CUBE, failed, X)
    failed[-20:, 0] += 1.0
    X[:-20, 0] += 1.0
    assert are_elsewhere(CUBE, failed, X)


def test_a_failed_point_that_has_a_value_now_is_left_out() -> None:
    X = np.random.default_rng(5).random((8, 6))
    failed = {9: X[2].copy(), 7: np.full(6, 0.5), 3: np.full(6, 0.25)}
    found = Failures.among(CUBE, X, failed)
    assert found is not None
    assert found.numbers.tolist() == [3, 7]
    assert found.X.tolist() == [[0.25] * 6, [0.5] * 6]
    assert found.at(np.array([1])).numbers.tolist() == [7]
    assert Failures.among(CUBE, X, {9: X[2]}) is None
    assert Failures.among(CUBE, X, {}) is None


def test_penalties_anywhere_are_due_to_chance() -> None:
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(100):
        X, penalties = rng.random((40, 6)), rng.random(40) < 0.25
        marked = by_chance(CUBE, X, penalties)
        assert not marked.any() or np.array_equal(marked, penalties)
        found += marked.any()
    assert 60 <= found <= 90  # the level is .2


def test_penalties_of_a_region_are_not_due_to_chance() -> None:
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(50):
        X = rng.random((40, 6))
        found += by_chance(CUBE, X, X[:, 0] + X[:, 1] > 1.3).any()
    assert found <= 2


def test_few_penalties_or_nothing_else_tell_nothing_of_chance() -> None:
    X = np.random.default_rng(8).random((30, 6))
    few = np.arange(30) % 8 == 0
    assert few.sum() == FEWEST_BY_CHANCE - 1
    assert not by_chance(CUBE, X, few).any()
    assert not by_chance(CUBE, X, np.ones(30, np.bool_)).any()
    assert not by_chance(CUBE, X[:0], few[:0]).any()
    some = np.arange(30) % 5 == 0
    assert by_chance(CUBE, X, some).any()
    assert not by_chance(CUBE, X[:-1], some[:-1]).any()
