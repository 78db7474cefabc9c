"""Covariances and the growing factor against their slow twins and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference
from compiled import entry
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._jit import kernels
from optuna_hdbo._jit import radial


distances = entry(kernels.distances)
slopes = entry(kernels.slopes)
exp = entry(radial.exp)


LAYOUTS = {
    "plain": ((3,), 0),
    "additive": ((2, 1, 1), 0),
    "columns": ((1, 1, 1), 1),
    "mixed": ((1, 3, 2), 3),
    "wide": ((9,), 0),
    "wide and mixed": ((12, 5), 3),
}


@pytest.fixture(params=list(LAYOUTS))
def layout(request: pytest.FixtureRequest) -> tuple[tuple[int, ...], int]:
    return LAYOUTS[request.param]


@pytest.fixture(params=list(KINDS))
def kernel(request: pytest.FixtureRequest, layout: tuple[tuple[int, ...], int]) -> Kernel:
    sizes, n_categorical = layout
    rng = np.random.default_rng(sum(sizes))
    return reference.random_kernel(rng, request.param, sizes, n_categorical=n_categorical)


@given(st.floats(-699.0, 0.0))
def test_exp_is_exact_to_the_last_bits(x: float) -> None:
    assert exp(x) == pytest.approx(math.exp(x), rel=4e-16)


def test_exp_at_its_ends() -> None:
    assert exp(0.0) == 1.0
    assert exp(-0.0) == 1.0
    assert exp(-1e-300) == 1.0
    assert 0.0 < exp(-1e300) < 1e-300
    assert 0.0 < exp(-math.inf) < 1e-300


def test_exp_never_increases_with_distance() -> None:
    values = [exp(x) for x in np.linspace(-2.0, 0.0, 301)]
    assert np.all(np.diff(values) > 0)


def test_distances(kernel: Kernel) -> None:
    X = reference.random_points(np.random.default_rng(1), kernel, 5)
    _, F, hamming, starts, scales = reference.loops(kernel, X)
    for j in range(len(scales)):
        lo, hi = starts[j], starts[j + 1]
        r2 = np.full(5, np.nan)
        distances(F, F[:, 0].copy(), hamming, lo, hi, 4, r2)
        expected = reference.distances(F, F[:, 0], hamming, lo, hi)
        np.testing.assert_allclose(r2[:4], expected[:4], rtol=1e-14)
        assert r2[0] == 0.0
        assert np.isnan(r2[4]), "points beyond the first m are not touched"


def test_categorical_columns_count_differences(kernel: Kernel) -> None:
    X = reference.random_points(np.random.default_rng(2), kernel, 4)
    renamed = X.copy()
    renamed[:, kernel.categorical] = 7.0 - 2.0 * X[:, kernel.categorical]
    np.testing.assert_allclose(kernel.gram(renamed), kernel.gram(X), rtol=1e-14)


def test_gram_and_cross(kernel: Kernel) -> None:
    rng = np.random.default_rng(3)
    X, Z = reference.random_points(rng, kernel, 6), reference.random_points(rng, kernel, 3)
    kind, F, hamming, starts, scales = reference.loops(kernel, X)
    G = kernel.features(Z)
    K, C = np.empty((6, 6)), np.empty((3, 6))
    K.fill(np.nan)
    kernels.fill(kernel.covariance, F, F, True, K)
    kernels.fill(kernel.covariance, F, G, False, C)
    expected = reference.gram(kind, F, hamming, starts, scales)
    np.testing.assert_allclose(np.tril(K), np.tril(expected), rtol=1e-13)
    assert np.isnan(K[np.triu_indices(6, 1)]).all()
    np.testing.assert_allclose(C, reference.cross(kind, F, G, hamming, starts, scales), rtol=1e-13)
    K = kernel.gram(X)
    np.testing.assert_allclose(K, expected, rtol=1e-13)
    assert np.array_equal(K, K.T)
    assert np.all(np.diag(K) == K[0, 0])
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_columns_outside_the_groups_have_no_influence() -> None:
    kernel = reference.random_kernel(np.random.default_rng(4), sizes=(2, 1), n_columns=6)
    X = np.random.default_rng(5).random((4, 6))
    moved = X.copy()
    others = np.setdiff1d(np.arange(6), kernel.columns)
    assert len(others) == 3
    moved[:, others] = 0.5
    assert np.array_equal(kernel.gram(moved), kernel.gram(X))


@pytest.mark.parametrize("kind", ["se", "matern32", "matern52"])
def test_formulas(kind: str) -> None:
    """Each stands once; it holds the covariance and its slope."""
    for r2 in [0.0, 1e-3, 0.7, 4.0, 30.0]:
        decay, p, q = radial.radial(KINDS[kind], r2)
        assert p * decay == pytest.approx(float(reference.radial(KINDS[kind], np.array(r2))))
        if r2 > 0.0:
            slope = float(reference.slopes(KINDS[kind], np.array([r2]))[0])
            assert q * decay == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_slopes(kind: str) -> None:
    r2 = np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 12), [np.nan]])
    expected = reference.slopes(KINDS[kind], r2[:-1])
    slopes(KINDS[kind], r2, len(r2) - 1)
    assert r2[0] == pytest.approx({"se": 1.0, "matern32": 3.0, "matern52": 5.0 / 3.0}[kind])
    np.testing.assert_allclose(r2[1:-1], expected[1:], rtol=1e-5)


@pytest.mark.parametrize("starts", [[0, 2], [0, 1, 2]])
@pytest.mark.parametrize("lengthscale", [1e-100, 1e-6, 2e-3, 5e-3, 1.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_extreme_lengthscales_stay_finite(
    kind: str, lengthscale: float, starts: list[int]
) -> None:
    X = np.random.default_rng(6).random((4, 2))
    X[0] = [0.0, 1.0]
    F = np.ascontiguousarray(X.T / lengthscale)
    K = np.empty((4, 4))
    n_groups = len(starts) - 1
    scales = np.full(n_groups, 1.0 / n_groups)
    covariance = kernels.Covariance(KINDS[kind], np.zeros(2), np.array(starts), scales, np.ones(2))
    kernels.fill(covariance, F, F, True, K)
    expected = {1e-100: np.eye(4), 1e-6: np.eye(4), 1e6: np.ones((4, 4))}
    K = np.tril(K)
    np.testing.assert_allclose(K, np.tril(expected.get(lengthscale, K)), atol=1e-10)
    assert np.isfinite(K).all()
    by_lengthscale, by_scale = np.empty(2), np.empty(n_groups)
    trace = kernels.gram_gradient(covariance, F, np.zeros(4), -np.eye(4), by_lengthscale, by_scale)
    assert np.all(np.isfinite(by_lengthscale))
    assert by_scale.sum() == pytest.approx(2.0)
    assert trace == pytest.approx(4.0)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_their_own_of_all_ranges_beside_each_other(kind: str) -> None:
    """Products of exponentials stand for one, but not for ranges where they would overflow."""
    rng = np.random.default_rng(8)
    ranges = np.array([1e-3, 1.0, 200.0, 260.0, 300.0, 1e4, 1.0])
    F = ranges[:, None] * rng.random((len(ranges), 9))
    F[:, 4] = F[:, 3] + 1e-3
    hamming = np.array([0.0] * 6 + [0.7])
    F[6] = np.round(3.0 * F[6])
    starts, scales = np.arange(len(ranges) + 1), rng.random(len(ranges))
    args = KINDS[kind], F, hamming, starts, scales
    covariance = kernels.Covariance(KINDS[kind], hamming, starts, scales, np.ones(len(ranges)))
    K, C = np.empty((9, 9)), np.empty((4, 5))
    kernels.fill(covariance, F, F, True, K)
    np.testing.assert_allclose(np.tril(K), np.tril(reference.gram(*args)), rtol=1e-12)
    few = np.ascontiguousarray(F[:, 5:])
    rest = np.ascontiguousarray(F[:, :5])
    kernels.fill(covariance, rest, few, False, C)
    np.testing.assert_allclose(C, K[5:, :5], rtol=1e-12)
    W = rng.standard_normal((9, 9))
    W += W.T
    by_lengthscale, by_scale = np.empty(len(ranges)), np.empty(len(ranges))
    kernels.gram_gradient(covariance, F, np.zeros(9), -W, by_lengthscale, by_scale)
    expected = reference.gram_gradient(*args, W)
    np.testing.assert_allclose(by_lengthscale, expected[0], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(by_scale, expected[1], rtol=1e-5, atol=1e-9)


def test_gram_gradient(kernel: Kernel) -> None:
    rng = np.random.default_rng(7)
    X = reference.random_points(rng, kernel, 7)
    X[3] = X[2]
    args = reference.loops(kernel, X)
    alpha, inverse = rng.standard_normal(7), rng.standard_normal((7, 7))
    inverse += inverse.T
    W = np.outer(alpha, alpha) - inverse
    by_lengthscale, by_scale = np.full(len(kernel.columns), np.nan), np.full(len(args[4]), np.nan)
    lower = np.where(np.tri(7) > 0, inverse, np.nan)
    trace = kernels.gram_gradient(
        kernel.covariance, args[1], alpha, lower, by_lengthscale, by_scale
    )
    assert trace == pytest.approx(np.trace(W))
    expected = reference.gram_gradient(*args, W)
    np.testing.assert_allclose(by_lengthscale, expected[0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(by_scale, expected[1], rtol=1e-7, atol=1e-8)


def test_append_rows(kernel: Kernel) -> None:
    X = reference.random_points(np.random.default_rng(8), kernel, 9)
    K = kernel.gram(X) + 0.1 * np.eye(9)
    expected = reference.append_rows(K)
    linv = np.full((12, 12), np.nan)
    linv[0] = 0.0
    linv[0, 0] = 1.0 / math.sqrt(K[0, 0])
    kernels.append_rows(linv, K[1:4, :4].copy(), 1, K[0, 0])
    kernels.append_rows(linv, K[4:].copy(), 4, K[0, 0])
    np.testing.assert_allclose(linv[:9, :9], expected, rtol=1e-9, atol=1e-11)
    assert np.all(linv[:9, 9:] == 0.0)
    assert np.isnan(linv[9:]).all()


def test_append_rows_from_nothing() -> None:
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    linv = np.empty((2, 2))
    kernels.append_rows(linv, K, 0, 2.0)
    np.testing.assert_allclose(linv, reference.append_rows(K), rtol=1e-14)


def test_a_duplicate_gets_the_smallest_legal_pivot() -> None:
    linv = np.zeros((2, 2))
    kernels.append_rows(linv, np.ones((2, 2)), 0, 1.0)
    assert 1.0 / linv[1, 1] ** 2 == pytest.approx(1e-10)
    assert np.all(np.isfinite(linv))


class Watched(np.ndarray):
    """An array that counts how often one of its kind is read."""

    reads = 0

    def __getitem__(self, key: Any) -> Any:
        Watched.reads += 1
        return super().__getitem__(key)


def test_appending_is_quadratic() -> None:
    """Eight times the points take 64 times the reads, not 512 times."""
    append_rows = getattr(kernels.append_rows, "py_func", kernels.append_rows)

    def reads(n: int) -> int:
        before = Watched.reads
        append_rows(np.eye(n + 1).view(Watched), np.zeros((1, n + 1)), n, 1.0)
        return Watched.reads - before

    assert 32 * reads(8) < reads(64) < 64 * reads(8)
