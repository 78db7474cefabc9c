"""Trust regions: boxes by lengthscale, there and back, and posteriors seen from inside."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from histories import CONDITIONAL
from histories import DOMAINS
from histories import make_domain
from hypothesis import given

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.region import MOST_UNEQUAL
from optuna_hdbo._core.maximise.region import Region


names = st.sampled_from(sorted(DOMAINS))


def region_of(domain: Domain, seed: int, length: float = 0.3) -> Region:
    rng = np.random.default_rng(seed)
    centre = domain.sample(rng, 1)[0]
    return Region.around(domain, centre, length, np.exp(rng.standard_normal(len(domain))))


@given(names, st.integers(0, 50), st.sampled_from([0.01, 0.3, 1.6]))
def test_points_of_the_region_are_admissible(name: str, seed: int, length: float) -> None:
    domain = DOMAINS[name]
    region = region_of(domain, seed, length)
    rng = np.random.default_rng(seed)
    for u in region.inner.sample(rng, 20):
        x = region.outward(u)
        np.testing.assert_array_equal(domain.snap(x[None])[0], x)
        np.testing.assert_allclose(region.inward(x[None])[0], u, atol=1e-6)
        assert region.contains(x[None])[0]


@given(names, st.integers(0, 50))
def test_corners_are_reached_exactly(name: str, seed: int) -> None:
    domain = DOMAINS[name]
    region = region_of(domain, seed)
    free = ~domain.discrete
    here = region.inward(region.centre[None])[0]
    for end, bound in ((0.0, region.low), (1.0, region.high)):
        x = region.outward(np.where(free, end, here))
        np.testing.assert_array_equal(x[free], bound[free])
        np.testing.assert_array_equal(region.inward(x[None])[0, free], end)


def test_sides_follow_lengthscales() -> None:
    domain = Domain.continuous(3)
    region = Region.around(domain, np.full(3, 0.5), 0.2, np.array([0.5, 1.0, 2.0]))
    np.testing.assert_allclose(region.high - region.low, [0.1, 0.2, 0.4])
    extreme = Region.around(domain, np.full(3, 0.5), 0.02, np.array([1e-9, 1.0, 1e9]))
    np.testing.assert_allclose(extreme.high - extreme.low, 0.02 * MOST_UNEQUAL ** np.arange(-1, 2))


def test_a_small_region_still_moves_on_a_grid() -> None:
    domain = make_domain(10, "3")
    region = Region.around(domain, np.array([0.45, 1.0]), 1e-3, np.ones(2))
    grid, choices = region.inner.grids
    assert grid is not None
    assert choices is not None
    np.testing.assert_allclose(grid, [0.35, 0.45, 0.55])
    assert len(choices) == 3


@given(names, st.integers(0, 30))
def test_a_posterior_is_the_same_from_inside(name: str, seed: int) -> None:
    domain = DOMAINS[name]
    rng = np.random.default_rng(seed)
    X, y = domain.sample(rng, 9), rng.standard_normal(9)
    n_columns = len(domain)
    kernel = Kernel(
        "matern52",
        (np.arange(n_columns),),
        np.exp(rng.standard_normal(n_columns)),
        np.ones(1),
        1e-3,
        domain.categorical,
    )
    posterior = Posterior(Factor(kernel, X), y)
    region = region_of(domain, seed)
    U = region.inner.sample(rng, 7)
    there = np.array([region.outward(u) for u in U])
    for found, expected in zip(
        region.view(posterior).predict(U), posterior.predict(there), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert posterior.X is not region.view(posterior).X


def test_a_point_outside_is_not_contained() -> None:
    region = Region.around(Domain.continuous(2), np.array([0.5, 0.5]), 0.2, np.ones(2))
    assert region.contains(np.array([[0.5, 0.55], [0.5, 0.7]])).tolist() == [True, False]
    assert region.inward(np.array([[0.5, 0.7]]))[0, 1] == pytest.approx(1.5)


def test_a_region_contains_points_of_the_branch_of_its_centre_only() -> None:
    X = CONDITIONAL.sample(np.random.default_rng(0), 200)
    region = Region.around(CONDITIONAL, X[0], 2.0, np.ones(len(CONDITIONAL)))  # all of it
    same = (X[:, CONDITIONAL.deciding] == X[0, CONDITIONAL.deciding]).all(axis=1)
    assert 1 < same.sum() < len(X)
    assert region.contains(X).tolist() == same.tolist()


def test_a_cube_is_pushed_inward() -> None:
    centre = np.array([0.05, 0.5, 1.0])
    cube = Region.cube(Domain.continuous(3), centre, 0.2)
    np.testing.assert_allclose(cube.low, [0.0, 0.4, 0.8])
    np.testing.assert_allclose(cube.high - cube.low, 0.2)
    assert cube.contains(centre[None])[0]


def test_the_largest_value_is_searched_in_the_regions_coordinates() -> None:
    domain = Domain.continuous(2)
    X = np.random.default_rng(0).random((30, 2))
    kernel = Kernel("se", (np.arange(2),), np.full(2, 0.5), np.ones(1), 1e-6, domain.categorical)
    posterior = Posterior(Factor(kernel, X), -((X - [0.9, 0.3]) ** 2).sum(axis=1))
    cube = Region.cube(domain, np.array([0.5, 0.3]), 0.4)
    bound = Analytic.ucb(cube.view(posterior), 0.0)
    good, rng = cube.centre[None], np.random.default_rng(0)
    x = cube.maximise(bound, good, X, rng, Effort())
    np.testing.assert_allclose(x, [0.7, 0.3], atol=0.02)
