"""Cells of the partition tree against definitions in plain Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from compiled import entry
from histories import make_domain
from histories import steps
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.tree.nodes import make_columns
from optuna_hdbo._jit import cells
from optuna_hdbo._study.space import SearchSpace


edge = entry(cells.edge)
divide = entry(cells.divide)
last_before = entry(cells.last_before)
longest = entry(cells.longest)
middle_of = entry(cells.middle_of)


DISTRIBUTIONS: list[BaseDistribution] = [
    IntDistribution(0, 1),
    IntDistribution(1, 7),
    IntDistribution(1, 50, log=True),
    IntDistribution(1, 5000),
    IntDistribution(3, 5000, log=True),
    IntDistribution(1, 2**53, log=True),
    IntDistribution(0, 10**18),
    FloatDistribution(0, 10, step=0.001),
    FloatDistribution(1.7e9, 1.7e9 + 0.01),
    CategoricalDistribution(list("abcde")),
]
every_distribution = pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)


def size_of(distribution: BaseDistribution) -> int:
    return int(make_columns(SearchSpace({"p": distribution}).domain).sizes[0])


@every_distribution
@given(data=st.data())
def test_the_place_of_a_value_is_where_its_trial_is_observed(
    distribution: BaseDistribution, data: st.DataObject
) -> None:
    space = SearchSpace({"p": distribution})
    columns = make_columns(space.domain)
    k = data.draw(st.integers(0, min(size_of(distribution), 2**50) - 1))
    x = np.empty(1)
    cells.place(columns, np.array([float(k)]), x)
    assert abs(space.domain.observed_at(x)[0] - x[0]) <= 1e-12
    # It is inside the value's own share of the column.
    assert edge(columns, 0, float(k)) <= x[0] or space.domain.categorical[0]
    if space.domain.categorical[0]:
        assert x[0] == k


@every_distribution
@given(data=st.data())
def test_a_side_is_divided_into_parts_with_values_at_the_nearest_borders(
    distribution: BaseDistribution, data: st.DataObject
) -> None:
    columns = make_columns(SearchSpace({"p": distribution}).domain)
    n = min(size_of(distribution), 2**50)
    low = data.draw(st.integers(0, n - 2))
    high = data.draw(st.integers(low + 2, n))
    wanted = data.draw(st.sampled_from([2, 3]))
    ends = np.empty(4)
    k = divide(columns, 0, float(low), float(high), wanted, ends)
    assert k == min(wanted, high - low)
    found = ends[: k + 1].tolist()
    assert found[0] == low
    assert found[-1] == high
    assert all(a + 1 <= b and b == int(b) for a, b in itertools.pairwise(found))
    first, last = edge(columns, 0, float(low)), edge(columns, 0, float(high))
    if high - low <= 1000 and k == 2:
        u = (first + last) / 2
        inner = [edge(columns, 0, float(b)) for b in range(low + 1, high)]
        nearest = min(abs(b - u) for b in inner)
        assert abs(edge(columns, 0, found[1]) - u) <= nearest * (1 + 1e-6) + 1e-15


@every_distribution
@given(data=st.data())
def test_the_point_of_a_cell_is_the_value_that_owns_its_centre(
    distribution: BaseDistribution, data: st.DataObject
) -> None:
    columns = make_columns(SearchSpace({"p": distribution}).domain)
    n = min(size_of(distribution), 2**50)
    low = data.draw(st.integers(0, n - 1))
    high = data.draw(st.integers(low + 1, n))
    at = middle_of(columns, 0, float(low), float(high))
    assert low <= at < high
    assert at == int(at)
    first, last = edge(columns, 0, float(low)), edge(columns, 0, float(high))
    u, slack = (first + last) / 2, 1e-8 * (last - first) + 1e-15
    assert edge(columns, 0, at) <= u + slack
    assert edge(columns, 0, at + 1) >= u - slack


def test_edges_of_log_values_are_those_of_the_listed_ones() -> None:
    """Up to the difference between a share's end and the middle between two values."""
    for n in (1000, 1025):
        space = SearchSpace({"p": IntDistribution(1, n, log=True)})
        columns = make_columns(space.domain)
        assert (space.domain.grids[0] is None) == (n > 1024)
        for k in range(1, n):
            expected = math.log((k + 0.5) / 0.5) / math.log((n + 0.5) / 0.5)
            assert edge(columns, 0, float(k)) == pytest.approx(expected, abs=0.05 / k)
        assert edge(columns, 0, 0.0) == 0.0
        assert edge(columns, 0, float(n)) == 1.0


def test_the_longest_side_is_that_of_the_largest_share() -> None:
    columns = make_columns(make_domain(None, 4, "3", 5000))

    def longest_of(*bounds: tuple[float, float]) -> int:
        low, high = np.array(bounds).T.copy()
        return int(longest(columns, low, high))

    assert longest_of((0, 1), (0, 4), (0, 3), (0, 5000)) == 0
    assert longest_of((0, 0.5), (0, 4), (0, 3), (0, 5000)) == 1
    assert longest_of((0, 0.5), (0, 1), (0, 3), (0, 5000)) == 2
    assert longest_of((0, 0.5), (0, 1), (1, 3), (0, 5000)) == 3
    assert longest_of((0, 0.5), (0, 1), (1, 3), (0, 3000)) == 2
    assert longest_of((0, 1e-12), (3, 4), (1, 2), (7, 8)) == -1
    # The first of equals, whatever rounding says.
    third = make_columns(make_domain(None, 30))
    assert longest(third, np.array([1 / 3, 10.0]), np.array([2 / 3, 20.0])) == 0


def uneven() -> Domain:
    grid = np.array([0.05, 0.06, 0.9])
    return Domain(("x",), (grid,), np.zeros(1, dtype=np.bool_))


@pytest.mark.parametrize("domain", [uneven, lambda: make_domain(3)], ids=["uneven", "even"])
def test_listed_values_are_where_the_grid_says(domain: Callable[[], Domain]) -> None:
    columns = make_columns(domain())
    grid = domain().grids[0]
    assert grid is not None
    for k, value in enumerate(grid):
        x = np.empty(1)
        cells.place(columns, np.array([float(k)]), x)
        assert x[0] == value
        assert last_before(columns, 0, 0.0, 3.0, value) == k
    assert make_domain(3).grids[0].tolist() == steps(3).tolist()  # type: ignore[union-attr]
