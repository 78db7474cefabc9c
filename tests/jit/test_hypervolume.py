"""Expected improvements of fronts against brute force over cells, quadrature and sampling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from histories import affordable
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from optuna_hdbo._core.acquisition.several import DirectedImprovement
from optuna_hdbo._core.acquisition.several import HypervolumeImprovement
from optuna_hdbo._core.fronts import Boxes
from optuna_hdbo._jit import hypervolume as jit


def excess(level: float, mean: float, std: float) -> float:
    if math.isinf(level):
        return 0.0
    z = (mean - level) / std
    return std * (norm.pdf(z) + z * norm.cdf(z))


def by_cells(Y: np.ndarray, reference: np.ndarray, mean: np.ndarray, std: np.ndarray) -> float:
    """The expected improvement as a sum over all cells of the grid through all coordinates."""
    axes = [
        sorted({r, *(y for y in column if y > r), np.inf})
        for r, column in zip(reference, Y.T, strict=True)
    ]
    total = 0.0
    for cell in itertools.product(*(itertools.pairwise(axis) for axis in axes)):
        upper = np.array([high for _, high in cell])
        if (upper <= Y).all(axis=1).any():
            continue
        total += math.prod(
            excess(low, m, s) - excess(high, m, s)
            for (low, high), m, s in zip(cell, mean, std, strict=True)
        )
    return total


numbers = st.integers(-3, 4).map(float)


@st.composite
def fronts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    k = draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(numbers, min_size=k, max_size=k), min_size=1, max_size=6))
    return np.array(rows), np.array(draw(st.lists(numbers, min_size=k, max_size=k)))


@given(fronts(), st.integers(0, 10**6))
def test_hypervolume_improvement_is_a_sum_over_cells(
    front: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    Y, reference = front
    rng = np.random.default_rng(seed)
    means = rng.normal(scale=3.0, size=(4, len(reference)))
    variances = 10.0 ** rng.uniform(-2.0, 1.0, size=means.shape)
    got, _, _ = HypervolumeImprovement(Boxes.above(Y, reference)).slopes(means, variances)
    for value, mean, variance in zip(got, means, variances, strict=True):
        expected = by_cells(Y, reference, mean, np.sqrt(variance))
        if expected > 1e-12:  # below, the sum over cells cancels
            assert value == pytest.approx(math.log(expected), abs=1e-5)


def test_hypervolume_improvement_is_the_mean_over_samples() -> None:
    rng = np.random.default_rng(0)
    Y, reference = np.array([[0.2, 0.9], [0.6, 0.5], [0.9, 0.1]]), np.array([-0.1, -0.2])
    means, variances = np.array([[0.5, 0.6]]), np.array([[0.09, 0.04]])
    drawn = means + np.sqrt(variances) * rng.standard_normal((affordable(200_000, 50_000), 2))

    def volume(points: np.ndarray) -> np.ndarray:
        """The area that three points and one more dominate, for each of these."""
        area = np.zeros(len(points))
        xs = np.linspace(reference[0], 2.5, 801)
        for left, right in itertools.pairwise(xs):
            at = 0.5 * (left + right)
            old = max([y for x, y in Y if x >= at], default=reference[1])
            new = np.where(points[:, 0] >= at, np.maximum(points[:, 1], old), old)
            area += (right - left) * (new - old)
        return area

    got, _, _ = HypervolumeImprovement(Boxes.above(Y, reference)).slopes(means, variances)
    assert math.exp(got[0]) == pytest.approx(volume(drawn).mean(), rel=0.02)


def make_hypervolume(k: int) -> HypervolumeImprovement:
    Y = np.random.default_rng(k).uniform(0.0, 1.0, (7, k))
    return HypervolumeImprovement(Boxes.above(Y, np.full(k, -0.1)))


def make_directed(k: int) -> DirectedImprovement:
    rng = np.random.default_rng(k)
    return DirectedImprovement.drawn(rng.uniform(0.0, 1.0, (7, k)), np.full(k, -0.1), rng)


@pytest.mark.parametrize("make", [make_hypervolume, make_directed])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_derivatives(
    make: Callable[[int], HypervolumeImprovement | DirectedImprovement], k: int
) -> None:
    improvement = make(k)
    rng = np.random.default_rng(1)
    means, variances = rng.normal(0.3, 0.5, (12, k)), 10.0 ** rng.uniform(-2.5, 0.0, (12, k))
    _, by_mean, by_variance = improvement.slopes(means, variances)
    for j in range(k):
        for which, slope in ((0, by_mean), (1, by_variance)):
            ends = []
            for sign in (1.0, -1.0):
                moved = [means.copy(), variances.copy()]
                h = 1e-5 * np.sqrt(variances[:, j]) if which == 0 else 1e-5 * variances[:, j]
                moved[which][:, j] += sign * h
                ends.append(improvement.slopes(*moved)[0])
            numeric = (ends[0] - ends[1]) / (2.0 * h)
            np.testing.assert_allclose(slope[:, j], numeric, rtol=2e-3, atol=2e-3)


def test_improvements_that_underflow_are_flat() -> None:
    improvement = make_hypervolume(2)
    values, by_mean, by_variance = improvement.slopes(
        np.array([[-50.0, -50.0], [0.1, 0.1], [-1.0, 0.2]]), np.full((3, 2), 1e-8)
    )
    assert np.isfinite(values).all()
    assert values[0] == pytest.approx(math.log(jit.LEAST))
    assert not by_mean[0].any()
    assert not by_variance[0].any()


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_directed_improvement_is_an_integral(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    improvement = make_directed(k)
    mean, std = rng.normal(0.3, 1.0, k), 10.0 ** rng.uniform(-2.0, 0.5, k)
    reference, direction = improvement.reference, improvement.direction

    def height(s: float) -> float:
        return float(np.exp(norm.logsf((reference + direction * s - mean) / std).sum()))

    ends = (mean - reference + 9.0 * std) / direction
    end = max(float(ends.min()), improvement.best)
    middle = (mean - reference) / direction
    points = [p for p in middle if improvement.best < p < end]
    expected, _ = quad(height, improvement.best, end, points=points or None, limit=500)
    got, _, _ = improvement.slopes(mean[None], std[None] ** 2)
    if expected > 1e-13:
        assert got[0] == pytest.approx(math.log(expected), abs=2e-3)
    assert np.isfinite(got[0])


def test_directed_improvement_of_one_objective_is_the_expected_improvement() -> None:
    improvement = DirectedImprovement(np.array([0.0]), np.array([1.0]), 0.7)
    z = np.array([5.0, 0.0, -3.0, -10.0, -30.0])
    means = 0.7 + 0.2 * z[:, None]
    got, _, _ = improvement.slopes(means, np.full((5, 1), 0.04))
    expected = np.log([excess(0.7, m, 0.2) for m in means[:3, 0]])
    np.testing.assert_allclose(got[:3], expected, atol=1e-4)
    far = norm.logpdf(z[3:]) - 2.0 * np.log(-z[3:]) + np.log(0.2)  # its asymptote
    np.testing.assert_allclose(got[3:], far, atol=0.03)


@given(fronts(), st.integers(0, 2**6 - 1))
def test_count_dominating(front: tuple[np.ndarray, np.ndarray], marks: int) -> None:
    Y, _ = front
    counts = np.array([bool(marks >> i & 1) for i in range(len(Y))])
    out = np.empty(len(Y), np.int64)
    jit.count_dominating(Y, counts, out)
    expected = [
        sum(bool(c and (z >= y).all() and (z > y).any()) for z, c in zip(Y, counts, strict=True))
        for y in Y
    ]
    assert out.tolist() == expected
