"""Climbs over grids against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from histories import N_EXAMPLES
from histories import is_admissible
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.maximise import grids
from optuna_hdbo._core.maximise.grids import climb_grids
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.points import single_moves


class Table:
    """An acquisition with a value for every configuration, which counts what it is asked."""

    def __init__(self, domain: Domain, values: FloatArray) -> None:
        self.domain, self.values = domain, values
        self.n_calls, self.n_rows = 0, 0

    def __call__(self, X: FloatArray) -> FloatArray:
        self.n_calls += 1
        self.n_rows += len(X)
        return np.asarray(self.valued(X))

    def valued(self, X: FloatArray) -> FloatArray:
        rows = [np.searchsorted(self.domain.grid(c), X[:, c]) for c in range(len(self.domain))]
        return self.values[tuple(rows)]

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        raise AssertionError("there is nothing to climb")


class Linear(Table):
    """An acquisition that every column raises by as much as its value."""

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain, np.empty(0))

    def valued(self, X: FloatArray) -> FloatArray:
        return np.asarray(X.sum(axis=1))


def table(sizes: list[int | str], seed: int) -> Table:
    domain = make_domain(*sizes)
    rng = np.random.default_rng(seed)
    return Table(domain, rng.standard_normal([len(domain.grid(c)) for c in range(len(domain))]))


def climbs(
    acquisition: Table, starts: FloatArray, free: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    domain = acquisition.domain
    free = np.ones(len(domain), np.bool_) if free is None else free
    heights = acquisition(starts)
    return climb_grids(acquisition, domain, starts, heights, free, np.random.default_rng(0))


size = st.one_of(st.integers(2, 6), st.integers(2, 6).map(str))


@settings(max_examples=N_EXAMPLES, deadline=None)
@given(st.lists(size, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_the_highest_start_is_climbed_as_a_plain_loop_does(
    sizes: list[int | str], seed: int
) -> None:
    acquisition = table(sizes, seed)
    domain = acquisition.domain
    rng = np.random.default_rng(seed)
    starts = domain.sample(rng, 5)
    points, values = climbs(acquisition, starts)
    assert all(is_admissible(domain, x) for x in points)
    assert np.array_equal(values, acquisition(points))
    x = max(starts, key=lambda row: float(acquisition(row[None])[0]))
    while True:
        others = [
            np.where(np.arange(len(domain)) == c, value, x)
            for c in range(len(domain))
            for value in domain.grid(c)
        ]
        best = max(others, key=lambda row: float(acquisition(row[None])[0]))
        if np.array_equal(best, x):
            break
        x = best
    assert (points == x).all(axis=1).any()
    assert values.max() >= acquisition(x[None])[0]


def test_three_different_starts_are_climbed() -> None:
    acquisition = table(["9", "9", "9"], 0)
    four = np.repeat(np.arange(4.0)[:, None], 3, axis=1)
    heights = acquisition(four)
    lowest = int(np.argmin(heights))
    points, _ = climbs(acquisition, np.repeat(four, 4, axis=0))
    for i, start in enumerate(four):
        moves = single_moves(acquisition.domain, start, np.arange(3))
        tried = all((points == row).all(axis=1).any() for row in moves)
        assert tried == (i != lowest)


def test_only_free_columns_change() -> None:
    acquisition = table(["5", 5, "5", 5], 1)
    starts = acquisition.domain.sample(np.random.default_rng(1), 3)
    free = np.array([True, False, True, False])
    points, _ = climbs(acquisition, starts, free)
    assert len(points) > len(starts)
    held = {tuple(row) for row in starts[:, ~free].tolist()}
    assert {tuple(row) for row in points[:, ~free].tolist()} <= held


def test_columns_with_a_single_value_are_no_choice() -> None:
    acquisition = table(["1", "3"], 0)
    starts = acquisition.domain.sample(np.random.default_rng(0), 2)
    points, _ = climbs(acquisition, starts, np.array([True, False]))
    assert np.array_equal(points, starts)


def test_a_climb_makes_as_many_changes_as_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is one per column, up to the limit."""
    for n_columns, most in ((12, 30), (40, 30), (40, 7)):
        monkeypatch.setattr(grids, "MOST_CHANGES", most)
        acquisition = Linear(make_domain(*["2"] * n_columns))
        _, values = climbs(acquisition, np.zeros((1, n_columns)))
        assert values.max() == min(n_columns, most)
        assert acquisition.n_rows <= 1 + (most + 1) * n_columns


def test_with_many_choices_climbs_change_less() -> None:
    n_columns = 400
    acquisition = Linear(make_domain(*["10"] * n_columns))
    starts = np.zeros((2, n_columns))
    starts[1, 0] = 1.0
    _, values = climbs(acquisition, starts)
    assert values.max() == 1.0 + 9.0 * grids.LEAST_CHANGES
    assert acquisition.n_calls == 1 + grids.LEAST_CHANGES


def test_climbs_share_what_they_may_value(monkeypatch: pytest.MonkeyPatch) -> None:
    n_columns = 20
    monkeypatch.setattr(grids, "MOST_VALUED", 25 * n_columns**2)
    acquisition = Linear(make_domain(*["2"] * n_columns))
    starts = np.zeros((2, n_columns))
    starts[1, 0] = 1.0
    climbs(acquisition, starts)
    # Of the second start, 19 changes and the last look around. Six changes of the first one.
    assert acquisition.n_calls == 1 + 20 + 6


@pytest.mark.parametrize("seed", range(3))
def test_the_best_unknown_point_is_found(seed: int) -> None:
    """Where the top is known, the best of the others is returned, which brute force confirms."""
    domain = make_domain("3", "2", 3, "2")
    kernel = make_kernel(domain, seed=seed)
    posterior, X, y = make_posterior(domain, kernel, 12, seed)
    acquisition = Analytic.log_ei(posterior, float(y.max()))
    grid = np.array(list(itertools.product(*(domain.grid(c) for c in range(4)))))
    order = np.argsort(-acquisition(grid))
    for n_known in (0, 1, 4):
        known = np.concatenate([X, grid[order[:n_known]]])
        left = [row for row in grid if not (known == row).all(axis=1).any()]
        best = X[np.argsort(-y)[:3]]
        x = maximise(acquisition, domain, best, known, np.random.default_rng(seed))
        assert acquisition(x[None])[0] == pytest.approx(acquisition(np.array(left)).max())
