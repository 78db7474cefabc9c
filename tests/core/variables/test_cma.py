"""The Gaussian that follows a history: another implementation, and textbook conditioning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histories import make_domain

from optuna_hdbo._core.variables import cma
from optuna_hdbo._core.variables.cma import Gaussian
from optuna_hdbo._core.variables.cma import Strategy
from optuna_hdbo._core.variables.cma import generations


def follow(U: np.ndarray, y: np.ndarray, n_init: int, size: int) -> Gaussian:
    return cma.follow(U, generations(y, n_init, size), size)


def valley(U: np.ndarray) -> np.ndarray:
    """Larger is better; long along the first two columns' diagonal."""
    return -((U[:, 0] - U[:, 1]) ** 2) * 30 - ((U - 0.6) ** 2).sum(axis=1)


def assert_same_updates(ours: Strategy, theirs: Any, size: int) -> None:
    """Tell both the same points, of the other package."""
    ours.longest = np.inf  # all points are its own
    for _ in range(8):
        U = np.array([theirs.ask() for _ in range(size)])
        values = valley(U)
        theirs.tell([(u, -v) for u, v in zip(U, values, strict=True)])
        ours.update(U[np.argsort(-values)])
        assert ours.mean == pytest.approx(theirs.mean, rel=1e-8)
        assert ours.sigma == pytest.approx(theirs._sigma, rel=1e-8)
        assert pytest.approx(theirs._C, rel=1e-6, abs=1e-10) == ours.C


@pytest.mark.parametrize(("n_columns", "size"), [(2, 6), (5, 9), (12, 20)])
def test_updates_are_those_of_the_cmaes_package(n_columns: int, size: int) -> None:
    """It has negative weights as well, which are taken away."""
    package = pytest.importorskip("cmaes")
    theirs = package.CMA(mean=np.full(n_columns, 0.5), sigma=0.2, population_size=size, seed=1)
    ours = Strategy(n_columns, size)
    theirs._weights = np.concatenate([ours.weights, np.zeros(size - len(ours.weights))])
    theirs._c1, theirs._cmu = ours.c_1, ours.c_mu
    assert theirs._mu_eff == pytest.approx(ours.mu_eff)
    assert theirs._cc == pytest.approx(ours.c_c)
    assert theirs._c_sigma == pytest.approx(ours.c_sigma)
    assert theirs._d_sigma == pytest.approx(ours.d_sigma)
    assert_same_updates(ours, theirs, size)


@pytest.mark.parametrize(("n_columns", "size"), [(2, 6), (12, 20)])
def test_very_many_columns_have_the_diagonal_of_sep_cma_es(
    n_columns: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = pytest.importorskip("cmaes")
    monkeypatch.setattr(cma, "MOST_FULL", 1)
    theirs = package.SepCMA(mean=np.full(n_columns, 0.5), sigma=0.2, population_size=size, seed=1)
    ours = Strategy(n_columns, size)
    assert ours.C.shape == (n_columns,)
    theirs._weights = np.concatenate([ours.weights, np.zeros(size - len(ours.weights))])
    theirs._c1, theirs._cmu = ours.c_1, ours.c_mu
    theirs._cc, theirs._mu_eff = ours.c_c, ours.mu_eff  # its rates are of an older tutorial
    theirs._c_sigma, theirs._d_sigma = ours.c_sigma, ours.d_sigma
    assert_same_updates(ours, theirs, size)


def test_diagonal_rates_are_larger_by_a_third_of_the_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ros & Hansen (2008), section 3."""
    assert Strategy(2000, 20).C.shape == (2000,)
    small = Strategy(12, 20)
    monkeypatch.setattr(cma, "MOST_FULL", 1)
    assert Strategy(12, 20).c_1 == pytest.approx(small.c_1 * 14 / 3)
    assert Strategy(12, 20).c_mu == pytest.approx(small.c_mu * 14 / 3)


def test_a_diagonal_gaussian_is_not_changed_by_other_columns() -> None:
    gaussian = Gaussian(np.array([0.1, 0.5, 0.9]), np.array([1.0, 4.0, 9.0]))
    conditional = gaussian.given(np.array([1]))
    drawn = conditional.draw(np.array([7.0]), np.random.default_rng(0), 20000)
    assert drawn.mean(axis=0) == pytest.approx([0.1, 0.9], abs=0.06)
    assert np.cov(drawn.T) == pytest.approx(np.diag([1.0, 9.0]), rel=0.1, abs=0.1)


@pytest.mark.parametrize(("factor", "stalls"), [(0.999, False), (1.001, True)])
def test_the_first_step_is_long_by_its_expected_length(factor: float, stalls: bool) -> None:
    """Hansen (2016), eq. (45): of one generation the path has the step's own distribution."""
    strategy = Strategy(3, 6)
    longest = (1.4 + 2.0 / 4.0) * strategy.length / np.sqrt(strategy.mu_eff)
    step = np.array([factor * longest, 0.0, 0.0])
    strategy.update(np.tile(strategy.mean + strategy.sigma * step, (6, 1)))
    assert bool((strategy.p_c == 0.0).all()) == stalls


def test_foreign_points_are_shrunk() -> None:
    """A point a thousand standard deviations off moves the mean by a few."""
    strategy = Strategy(3, 2)
    strategy.update(np.array([[200.0, 0.5, 0.5], [0.5, 0.5, 0.5]]))
    limit = np.sqrt(3.0) + 2 * 3 / 5
    assert strategy.mean[0] - 0.5 == pytest.approx(0.2 * limit)


def test_the_gaussian_moves_to_the_good_points_and_along_the_valley() -> None:
    rng = np.random.default_rng(0)
    U = rng.random((400, 4))
    gaussian = follow(U, valley(U), 10, 20)
    assert abs(gaussian.mean[0] - gaussian.mean[1]) < 0.15
    assert np.abs(gaussian.mean - 0.6).max() < 0.2
    C = gaussian.covariance
    assert C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]) > 0.2
    assert np.linalg.eigvalsh(C).min() > 0.0


def test_only_complete_generations_count_and_the_start_is_their_better_half() -> None:
    rng = np.random.default_rng(1)
    U, y = rng.random((29, 3)), rng.standard_normal(29)
    early = follow(U[:9], y[:9], 10, 20)
    best = np.argsort(-y[:9])[:4]
    assert early.mean == pytest.approx(U[best].mean(axis=0))
    assert early.covariance == pytest.approx(0.04 * np.eye(3))
    start = follow(U[:10], y[:10], 10, 20)
    assert follow(U, y, 10, 20).mean == pytest.approx(start.mean)
    assert follow(U[:1], y[:1], 0, 20).mean == pytest.approx(U[0])


def test_a_conditional_is_kept_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    U, y = rng.random((60, 3)), rng.standard_normal(60)
    cache, columns = cma.ConditionalCache(), np.array([1])

    def ask(n: int, y: np.ndarray = y, U: np.ndarray = U, columns: np.ndarray = columns) -> object:
        found = cache.conditional(U[:n], generations(y[:n], 10, 20), 20, columns)
        expected = follow(U[:n], y[:n], 10, 20).given(columns)
        assert np.array_equal(found.gain, expected.gain)
        assert np.array_equal(found.mean, expected.mean)
        return found

    first = ask(35)
    assert ask(49) is first  # no generation more
    assert ask(50) is not first
    second = ask(50)
    assert ask(50, U=np.where(np.arange(60)[:, None] == 3, 0.1, U)) is not second
    assert ask(50, y=-y) is not second
    assert ask(50, columns=np.array([0, 2])) is not second


def test_values_matter_by_their_order_only() -> None:
    rng = np.random.default_rng(2)
    U, y = rng.random((70, 3)), rng.standard_normal(70)
    one, other = follow(U, y, 10, 20), follow(U, np.exp(3 * y) - 5, 10, 20)
    assert np.array_equal(one.mean, other.mean)
    assert np.array_equal(one.covariance, other.covariance)


def test_conditioning_is_the_textbook_formula() -> None:
    rng = np.random.default_rng(3)
    A = rng.standard_normal((5, 5))
    gaussian = Gaussian(rng.random(5), A @ A.T)
    columns = np.array([1, 4])
    known = np.array([0.3, 0.9])
    conditional = gaussian.given(columns)
    assert conditional.rest.tolist() == [0, 2, 3]
    P = np.linalg.inv(gaussian.covariance)  # the precision matrix gives it another way
    P_rr = P[np.ix_([0, 2, 3], [0, 2, 3])]
    P_rc = P[np.ix_([0, 2, 3], [1, 4])]
    expected = gaussian.mean[[0, 2, 3]] - np.linalg.solve(
        P_rr, P_rc @ (known - gaussian.mean[columns])
    )
    assert conditional.root @ conditional.root.T == pytest.approx(np.linalg.inv(P_rr))
    drawn = conditional.draw(known, np.random.default_rng(0), 20000)
    assert drawn.mean(axis=0) == pytest.approx(expected, abs=0.05)
    assert np.cov(drawn.T) == pytest.approx(np.linalg.inv(P_rr), rel=0.1, abs=0.05)


def test_choices_are_the_middle_of_their_share() -> None:
    domain = make_domain(None, "4", 3)
    X = np.array([[0.2, 0.0, 0.5], [1.0, 3.0, 5 / 6]])
    U = cma.to_unit(domain, X)
    assert U.tolist() == [[0.2, 0.125, 0.5], [1.0, 0.875, 5 / 6]]
    assert np.array_equal(domain.from_unit(U), X)
