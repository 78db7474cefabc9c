"""Fits of subsets: likelihoods by scikit-learn, warm starts, and the domain of some columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from histories import INTERPRETED
from histories import affordable
from histories import make_domain
from histories import make_kernel

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.models import subsets
from optuna_hdbo._core.models.subsets import SubsetFits
from optuna_hdbo._core.models.subsets import fit_columns
from optuna_hdbo._core.models.subsets import observed_in
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.points import Failures


FLAT = Prior("flat", scale=False, noise=False)


def data(n: int, n_columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two columns matter: the first a lot, the third less."""
    rng = np.random.default_rng(0)
    X = rng.random((n, n_columns))
    y = np.sin(5 * X[:, 0]) + 0.3 * X[:, 2] ** 2 + 0.02 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


@pytest.mark.parametrize("columns", [(0,), (0, 2), (3, 1, 4)])
def test_losses_are_negative_log_likelihoods(columns: tuple[int, ...]) -> None:
    gaussian_process = pytest.importorskip("sklearn.gaussian_process")
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    X, y = data(affordable(40, 15))
    whole = make_kernel(Domain.continuous(5))
    fits = SubsetFits(whole, X, y, Prior("inverse-square"), n_steps=affordable(10, 3))
    kernel = fits.kernel(columns)
    assert [g.tolist() for g in kernel.groups] == [sorted(columns)]
    own = sorted(columns)
    theirs = gaussian_process.GaussianProcessRegressor(
        kernel.variance * kernels.Matern(kernel.lengthscales[own], nu=2.5)
        + kernels.WhiteKernel(kernel.noise),
        optimizer=None,
        alpha=0.0,
    ).fit(X[:, own], y)
    assert fits.loss(columns) == pytest.approx(-theirs.log_marginal_likelihood_value_, rel=1e-8)


@pytest.mark.skipif(INTERPRETED, reason="fits to convergence")
def test_a_fit_without_priors_reaches_the_likelihood_that_scikit_learn_finds() -> None:
    gaussian_process = pytest.importorskip("sklearn.gaussian_process")
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    X, y = data(40)
    fits = SubsetFits(make_kernel(Domain.continuous(5)), X, y, FLAT, warm=False, n_steps=50)
    theirs = gaussian_process.GaussianProcessRegressor(
        kernels.ConstantKernel(1.0, (1e-4, 1e3)) * kernels.Matern([0.5, 0.5], (5e-3, 1e3), nu=2.5)
        + kernels.WhiteKernel(0.1, (1e-8, 1.0)),
        alpha=0.0,
        n_restarts_optimizer=3,
        random_state=0,
    ).fit(X[:, [0, 2]], y)
    assert fits.loss((0, 2)) < -theirs.log_marginal_likelihood_value_ + 0.1


def test_a_column_that_matters_lowers_the_loss_and_an_idle_one_does_not() -> None:
    X, y = data(affordable(60, 25))
    fits = SubsetFits(
        make_kernel(Domain.continuous(5)), X, y, Prior("inverse-square"), n_steps=affordable(10, 5)
    )
    base = fits.loss((0,))
    assert fits.loss((0, 2)) < base - 6.0
    assert fits.loss((0, 1)) > base - 3.0


def test_every_subset_is_fitted_once_and_its_order_does_not_matter() -> None:
    X, y = data(12)
    fits = SubsetFits(make_kernel(Domain.continuous(5)), X, y, FLAT, n_steps=2)
    kernel = fits.kernel((2, 0))
    assert fits.kernel((0, 2)) is kernel
    part = fits.part(np.array([0, 2]), restricted(Domain.continuous(5), np.array([0, 2])))
    assert part.kernel.lengthscales.tolist() == kernel.lengthscales[[0, 2]].tolist()
    assert part.kernel.columns.tolist() == [0, 1]
    own = np.ascontiguousarray(X[:, [0, 2]])
    assert part.kernel.gram(own) == pytest.approx(kernel.gram(X))


def test_warm_fits_start_where_the_nearest_one_ended() -> None:
    X, y = data(30)
    warm = SubsetFits(make_kernel(Domain.continuous(5)), X, y, FLAT, n_steps=affordable(20, 5))
    first = warm.kernel((0,))
    start = warm._start(((0, 3),), first)
    assert start.lengthscales[0] == first.lengthscales[0]
    assert start.noise == first.noise
    cold = SubsetFits(
        make_kernel(Domain.continuous(5)), X, y, FLAT, warm=False, n_steps=affordable(20, 5)
    )
    assert cold._start(((0, 3),), None).lengthscales.tolist() == [0.5] * 5


def test_the_domain_of_some_columns() -> None:
    domain = make_domain(None, "3", 5, "2")
    part = restricted(domain, np.array([1, 2]))
    assert part.names == ("x1", "x2")
    assert part.categorical.tolist() == [True, False]
    assert part.grids[0] is domain.grids[1]
    assert len(part) == 2


def test_a_fit_of_all_columns_goes_on_from_another() -> None:
    X, y = data(affordable(40, 12))
    domain = Domain.continuous(5)
    first = fit_columns(domain, X, y, "matern52", Prior("inverse-square", 5))
    assert first.cycle == 0
    assert first.n == len(y)
    second = fit_columns(domain, X, y, "matern52", Prior("inverse-square", 5), first)
    assert second.cycle == 1
    assert second.log_likelihood >= first.log_likelihood - 1e-3


# sums over groups --------------------------------------------------------------------------------


def additive_data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns 0 and 1 interact, column 3 adds to them, the others are idle."""
    rng = np.random.default_rng(1)
    X = rng.random((n, 5))
    y = np.sin(6 * X[:, 0] * X[:, 1]) + 0.5 * np.sin(9 * X[:, 3])
    return X, (y - y.mean()) / y.std()


def groups_of(fits: SubsetFits, columns: tuple[int, ...]) -> set[tuple[int, ...]]:
    return {tuple(g.tolist()) for g in fits.kernel(columns).groups}


@pytest.mark.skipif(INTERPRETED, reason="needs many fits of many points")
def test_groups_are_learned_as_columns_come() -> None:
    X, y = additive_data(90)
    whole = make_kernel(Domain.continuous(5))
    fits = SubsetFits(whole, X, y, Prior("inverse-square"), additive=True)
    together = SubsetFits(whole, X, y, Prior("inverse-square"))
    for columns in ((0,), (0, 1), (0, 1, 3)):
        fits.loss(columns)
    assert groups_of(fits, (0, 1, 3)) == {(0, 1), (3,)}
    assert fits.loss((0, 1, 3)) < together.loss((0, 1, 3)) - 6.0
    assert groups_of(together, (0, 1, 3)) == {(0, 1, 3)}


@pytest.mark.skipif(INTERPRETED, reason="needs many fits of many points")
@pytest.mark.parametrize("first", [((0,), (1, 3)), ((0, 1, 3),), ((0,), (1,), (3,))])
def test_wrong_groups_are_mended_in_time(first: tuple[tuple[int, ...], ...]) -> None:
    """Selection by selection: each tries a few other groupings, and different ones."""
    X, y = additive_data(90)
    groups = first
    for n in range(78, 91, 2):
        fits = SubsetFits(
            make_kernel(Domain.continuous(5)),
            X[:n],
            y[:n],
            Prior("inverse-square"),
            additive=True,
            first=groups,
        )
        assert groups_of(fits, (0, 1, 3)) == set(groups)
        before = fits.loss((0, 1, 3))
        fits.regroup((0, 1, 3))
        assert fits.loss((0, 1, 3)) <= before
        groups = tuple(sorted(groups_of(fits, (0, 1, 3))))
    assert groups == ((0, 1), (3,))


def test_neighbours_are_all_merges_and_all_columns_taken_out() -> None:
    found = {frozenset(groups) for groups in subsets._neighbours(((0, 1, 2), (3, 4), (5,)))}
    assert found == {
        frozenset({(0, 1, 2, 3, 4), (5,)}),
        frozenset({(0, 1, 2, 5), (3, 4)}),
        frozenset({(3, 4, 5), (0, 1, 2)}),
        frozenset({(1, 2), (0,), (3, 4), (5,)}),
        frozenset({(0, 2), (1,), (3, 4), (5,)}),
        frozenset({(0, 1), (2,), (3, 4), (5,)}),
        frozenset({(0, 1, 2), (3,), (4,), (5,)}),
    }
    assert subsets._neighbours(((2,),)) == []


def test_leaving_columns_leave_the_groups_as_they_are() -> None:
    X, y = additive_data(20)
    fits = SubsetFits(
        make_kernel(Domain.continuous(5)),
        X,
        y,
        Prior("inverse-square"),
        additive=True,
        first=((0, 1), (3, 4)),
        n_steps=3,
    )
    fits.loss((0, 1, 3, 4))
    assert groups_of(fits, (0, 1, 4)) == {(0, 1), (4,)}
    part = fits.part(
        np.array([0, 1, 3, 4]), restricted(Domain.continuous(5), np.array([0, 1, 3, 4]))
    )
    assert [g.tolist() for g in part.kernel.groups] == [[0, 1], [2, 3]]
    # Groups of other columns than the first subset's are of no use.
    others = SubsetFits(
        make_kernel(Domain.continuous(5)), X, y, FLAT, additive=True, first=((0,),), n_steps=2
    )
    assert groups_of(others, (0, 1)) == {(0, 1)}


def test_what_is_left_is_ranked_by_the_slope_of_the_likelihood() -> None:
    """Against differences: a group of each column alone, its scale raised a little from 0."""
    X, y = additive_data(affordable(60, 20))
    fits = SubsetFits(
        make_kernel(Domain.continuous(5)), X, y, Prior("inverse-square"), n_steps=affordable(10, 3)
    )
    order = fits.rest((0, 1))
    assert sorted(order) == [2, 3, 4]
    assert order[0] == 3
    kernel = fits.kernel((0, 1))
    base = -fits.loss((0, 1))
    slopes = {}
    for c in (2, 3, 4):
        rises = []
        for lengthscale in subsets.TRIAL_LENGTHSCALES:
            lengthscales = kernel.lengthscales.copy()
            lengthscales[c] = lengthscale
            more = replace(
                kernel,
                groups=(*kernel.groups, np.array([c])),
                lengthscales=lengthscales,
                scales=np.append(kernel.scales, 1e-7),
            )
            rises.append((log_likelihood(more, X, y)[0] - base) / 1e-7)
        slopes[c] = max(rises)
    assert order == sorted(slopes, key=lambda c: -slopes[c])


def test_observations_in_some_columns() -> None:
    X, y = data(6)
    failures = Failures(X[4:] + 1.0, np.array([7, 9]), are_elsewhere=True)
    seen = replace(Observations.from_arrays(X[:4], y[:4], pending=X[4:]), failures=failures)
    part = observed_in(seen, np.array([3, 1]))
    np.testing.assert_array_equal(part.X, X[:4, [3, 1]])
    np.testing.assert_array_equal(part.pending, X[4:, [3, 1]])
    assert part.failures is not None
    np.testing.assert_array_equal(part.failures.X, X[4:, [3, 1]] + 1.0)
    assert part.failures.numbers.tolist() == [7, 9]
    assert observed_in(replace(seen, failures=None), np.array([0])).failures is None
