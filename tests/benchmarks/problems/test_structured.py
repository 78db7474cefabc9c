"""Functions of known structure have that structure."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from optuna_hdbo.benchmarks.problems import structured


ALL = [(name, seed) for p, seed in (("report", 3), ("tune", 1003)) for name in structured.NAMES[p]]


@pytest.mark.parametrize(("name", "seed"), ALL)
def test_only_the_named_pairs_interact(name: str, seed: int) -> None:
    """A mixed difference f(a, b) - f(a', b) - f(a, b') + f(a', b') is zero without interaction."""
    problem = structured.make(name, seed)
    rng = np.random.default_rng(0)
    X, Z = rng.random((2, 3, problem.dim))

    def f(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([problem.evaluate(x) for x in points])

    def moved(*columns: int) -> NDArray[np.float64]:
        points = X.copy()
        points[:, columns] = Z[:, columns]
        return f(points)

    none, one = f(X), [moved(i) for i in range(problem.dim)]
    found = set()
    for i in range(problem.dim):
        for j in range(i + 1, problem.dim):
            if np.abs(moved(i, j) - one[i] - one[j] + none).max() > 1e-9:
                found.add(frozenset((f"x{i}", f"x{j}")))
    assert found == structured.interacting(problem)


def test_terms_weigh_about_the_same() -> None:
    problem = structured.make("products-12", 0)
    rng = np.random.default_rng(0)
    base = rng.random(problem.dim)
    for group in problem.groups or ():
        X = np.tile(base, (2000, 1))
        columns = [int(name[1:]) for name in group]
        X[:, columns] = rng.random((2000, len(columns)))
        assert 0.6 < np.std([problem.evaluate(x) for x in X]) < 1.5


def test_seeds_differ_and_repeat() -> None:
    x = np.random.default_rng(0).random(12)
    first = structured.make("draws-12", 0).evaluate(x)
    assert first == structured.make("draws-12", 0).evaluate(x)
    assert abs(first - structured.make("draws-12", 1).evaluate(x)) > 1e-3


def test_a_wrong_name_is_told() -> None:
    with pytest.raises(ValueError, match=r"^problem must be one of .* but got levy-20"):
        structured.make("levy-20", 0)
    with pytest.raises(ValueError, match=r"^seed must be in .* but got 1000"):
        structured.make("draws-12", 1000)


def test_reported_functions_are_not_tuned_on() -> None:
    assert not set(structured.NAMES["report"]) & set(structured.NAMES["tune"])
    assert len([n for n in structured.NAMES["report"] if not n.startswith("singles")]) == 12
