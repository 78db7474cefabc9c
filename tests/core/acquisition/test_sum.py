"""Sums of acquisitions: compiled loops against NumPy, and their climb against one in NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import reference
from compiled import entry
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import Sum
from optuna_hdbo._core.acquisition.climb import climb_together
from optuna_hdbo._core.acquisition.climb import units_of
from optuna_hdbo._core.gp.known import Matern3
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.rotated import Rotated
from optuna_hdbo._jit import acquisition as jit


evaluate_sum = entry(jit.evaluate_sum)


D = 5
FREE = np.ones(D, np.bool_)


def term(rng: np.random.Generator, sizes: tuple[int, ...], n: int, code: int) -> Analytic:
    """An acquisition on a random posterior; of no groups for a rotated one."""
    kernel = reference.random_kernel(rng, sizes=sizes or (D,))
    if not sizes:
        kernel = Rotated.of(kernel, np.linalg.qr(rng.standard_normal((D, D)))[0])
    posterior = Posterior(Factor(kernel, rng.random((n, D))), rng.standard_normal(n))
    return [
        Analytic.ucb(posterior, 1.3),
        Analytic.log_ei(posterior, 0.4),
        Analytic.log_feasible(posterior, 0.2),
        Analytic.excess(posterior, 0.5, -1.0),
        Analytic(posterior, kernel, jit.MI, (1.2, 0.3, 0.8)),
    ][code]


def sums() -> st.SearchStrategy[Sum]:
    groups = st.sampled_from([(), (5,), (2, 2, 1), (4, 1)])
    shapes = st.lists(st.tuples(groups, st.integers(0, 12), st.integers(0, 4)), min_size=1)

    def build(shapes: list[tuple[tuple[int, ...], int, int]], seed: int) -> Sum:
        rng = np.random.default_rng(seed)
        return Sum([term(rng, *shape) for shape in shapes[:4]])

    return st.builds(build, shapes, st.integers(0, 99))


def slopes(terms: Sum, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values and the gradients in NumPy."""
    values, gradients = zip(*[term.slopes(X) for term in terms.terms], strict=True)
    return np.sum(values, axis=0), np.sum(gradients, axis=0)


@given(sums(), st.integers(1, 3), st.integers(0, 99))
def test_loops_give_the_values_and_slopes_of_numpy(terms: Sum, m: int, seed: int) -> None:
    """Terms have other numbers of points, groups and numbers, and mix columns or do not."""
    X = np.random.default_rng(seed).random((D, m)).T
    values, gradients = slopes(terms, X)
    found, by_column = terms.slopes(X)
    np.testing.assert_allclose(found, values, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(by_column, gradients, rtol=1e-5, atol=1e-6)


def test_slopes_are_in_the_units_that_are_given() -> None:
    terms, (x, units) = several(0), np.random.default_rng(1).uniform(0.1, 1.0, (2, D))
    compiled = terms.compiled_terms
    work, f, part = np.empty((4, compiled.alpha.shape[1])), np.empty(D), np.empty(D)
    grad = np.full(D, np.nan)
    evaluate_sum(compiled, x, 1.0 / units, work, f, part, grad)
    np.testing.assert_allclose(grad, terms.slopes(x[None])[1][0] * units, rtol=1e-9)


def test_no_terms_make_zeros() -> None:
    values, gradients = Sum([]).slopes(np.ones((2, D)))
    assert values.shape == (2,)
    assert gradients.shape == (2, D)
    assert not values.any()
    assert not gradients.any()


def several(seed: int) -> Sum:
    rng = np.random.default_rng(seed)
    return Sum([term(rng, (3, 2), 12, 1), term(rng, (), 9, 2), term(rng, (5,), 6, 2)])


@pytest.mark.parametrize("seed", range(5))
def test_climbs_end_as_high_as_those_in_numpy(seed: int) -> None:
    terms, starts = several(seed), np.random.default_rng(seed).random((6, D))
    free = FREE.copy()
    free[1] = False
    before = starts.copy()
    ends, heights = terms.ascend(starts, free, 200)
    assert np.array_equal(starts, before), "the argument is left as it was"
    assert np.array_equal(ends[:, 1], starts[:, 1])
    assert ((ends >= 0.0) & (ends <= 1.0)).all()
    np.testing.assert_allclose(heights, terms(ends), rtol=1e-7)
    units = units_of([term.kernel for term in terms.terms])
    _, slow = climb_together(partial(slopes, terms), starts, free, units, 200, 1e-5)
    assert (heights > terms(starts)).all()
    np.testing.assert_allclose(heights.max(), slow.max(), rtol=1e-3, atol=1e-3)


def test_a_sum_of_one_is_climbed_like_it() -> None:
    one = term(np.random.default_rng(0), (5,), 12, 1)
    starts = np.random.default_rng(1).random((4, D))
    np.testing.assert_allclose(
        Sum([one]).ascend(starts, FREE, 200)[1].max(), one.ascend(starts, FREE, 200)[1].max()
    )


def test_a_kernel_without_compiled_loops_is_climbed_in_numpy() -> None:
    kernel = Matern3("matern52", (np.arange(D),), FREE * 1.0, np.ones(1), 1e-4, ~FREE)
    rng = np.random.default_rng(2)
    X, starts = rng.random((10, D)), rng.random((3, D))
    posterior = Posterior(Factor(kernel, X), rng.standard_normal(10))
    terms = Sum([Analytic.ucb(posterior, 1.0), term(rng, (5,), 8, 2)])
    ends, heights = terms.ascend(starts, FREE)
    np.testing.assert_allclose(heights, terms(ends))
    assert (heights > terms(starts)).all()
