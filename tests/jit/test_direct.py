"""DIRECT against a transcription of the paper, and against SciPy's."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import reference
import scipy.optimize
from compiled import entry
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._jit import acquisition
from optuna_hdbo._jit import direct as jit


half_diagonal = entry(jit.half_diagonal)


EPSILON = 1e-4


class Problem:
    """An acquisition of a random posterior, over columns of which some have grids."""

    def __init__(self, seed: int, sizes: Sequence[int | None], n: int = 12) -> None:
        rng = np.random.default_rng(seed)
        self.grids = [None if k is None else (np.arange(k) + 0.5) / k for k in sizes]
        kernel = reference.random_kernel(rng, sizes=(len(sizes),), noise=1e-3)
        kernel = kernel.only(0)
        kernel.lengthscales[:] = rng.uniform(0.15, 0.6, len(sizes))
        X = reference.random_points(rng, kernel, n)
        self.posterior = Posterior(Factor(kernel, X), rng.standard_normal(n))
        self.kernel = kernel
        self.code = [acquisition.UCB, acquisition.LOG_EI, acquisition.MI][seed % 3]
        self.p = np.array([1.0, 0.1])
        self.model = acquisition.Model(
            kernel.covariance, kernel.features(X), self.posterior.linv, self.posterior.alpha
        )
        self.work, self.unused = np.empty((4, n)), np.empty(len(sizes))

    def __call__(self, x: Sequence[float]) -> float:
        f = np.asarray(x) * self.kernel.inverse
        return acquisition.evaluate(
            self.model, f, self.code, self.p, self.work, False, self.unused
        )

    def args(self, n_evaluations: int, best_x: np.ndarray) -> tuple[object, ...]:
        values = np.concatenate([np.empty(0), *[g for g in self.grids if g is not None]])
        starts = np.cumsum([0, *[0 if g is None else len(g) for g in self.grids]])
        return (
            self.model,
            jit.Grids(values, starts),
            self.code,
            self.p,
            n_evaluations,
            EPSILON,
            best_x,
        )

    def direct(self, n_evaluations: int) -> tuple[float, np.ndarray]:
        best_x = np.full(len(self.grids), np.nan)
        return jit.direct(*self.args(n_evaluations, best_x)), best_x

    def sequence(self, n_evaluations: int, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
        """Return the points that the source of ``direct`` evaluates, in order."""
        seen = []

        def recorded(*args: object) -> float:
            seen.append(np.array(args[1]) / self.kernel.inverse)
            return acquisition.evaluate(*args)

        with monkeypatch.context() as patch:
            patch.setattr(jit, "evaluate", recorded)
            source = getattr(jit.direct, "py_func", jit.direct)
            source(*self.args(n_evaluations, np.empty(len(self.grids))))
        return seen


SPACES = {
    "line": (None,),
    "plane": (None, None),
    "cube": (None, None, None),
    "steps": (None, 4),
    "choices": (2, None, 3),
    "exhausted": (2, 3, 4),
}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_samples_the_points_of_the_transcription(
    seed: int, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(seed, SPACES[space])
    expected = reference.direct(problem, problem.grids, 60, EPSILON)
    sequence = problem.sequence(60, monkeypatch)
    assert len(sequence) == len(expected) <= 60
    np.testing.assert_allclose(sequence, [x for x, _ in expected], atol=1e-12)
    # What is compiled agrees with its source wherever the best point changes.
    values = np.maximum.accumulate([value for _, value in expected])
    for n in [1, *(np.flatnonzero(np.diff(values)) + 2).tolist(), 60]:
        best, best_x = problem.direct(n)
        first = int(np.argmax(values >= values[min(n, len(values)) - 1]))
        assert best == pytest.approx(values[first], rel=1e-12)
        np.testing.assert_allclose(best_x, expected[first][0], atol=1e-12)


small = st.integers(1, 6).map(float)


@given(st.lists(st.tuples(small, st.integers(-4, 4).map(float)), min_size=1, max_size=12))
def test_potentially_optimal_is_the_definition(points: list[tuple[float, float]]) -> None:
    sizes, values = map(list, zip(*points, strict=True))
    for epsilon in (0.0, 1e-4, 0.5):
        chosen = np.full(len(points), -1)
        n = jit.potentially_optimal(
            np.array(values), np.array(sizes), max(values), epsilon, chosen
        )
        expected = reference.potentially_optimal(values, sizes, max(values), epsilon)
        assert chosen[:n].tolist() == expected


def test_points_on_an_edge_of_the_hull_are_chosen() -> None:
    chosen = np.empty(4, np.int64)
    values, sizes = np.array([3.0, 2.0, 1.0, 1.5]), np.array([1.0, 2.0, 3.0, 1.5])
    assert jit.potentially_optimal(values, sizes, 3.0, 0.0, chosen) == 3
    assert chosen[:3].tolist() == [2, 1, 0]


def test_rectangles_that_cannot_be_cut_are_not_chosen() -> None:
    chosen = np.empty(3, np.int64)
    values, sizes = np.array([5.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.5])
    assert jit.potentially_optimal(values, sizes, 2.5, 0.0, chosen) == 2
    assert chosen[:2].tolist() == [1, 2]
    assert jit.potentially_optimal(values, sizes, 5.0, 0.0, chosen) == 1
    assert jit.potentially_optimal(values, np.zeros(3), 5.0, 0.0, chosen) == 0


@pytest.mark.parametrize(
    ("cuts", "most", "lengths"),
    [
        ([0, 0], [20, 20], [1, 1]),
        ([1, 0, 1], [20, 20, 20], [1 / 3, 1, 1 / 3]),
        ([1, 1, 1], [1, 20, 20], [0, 1 / 3, 1 / 3]),
        ([4, 1, 3], [20, 1, 20], [1 / 81, 0, 1 / 27]),
        ([1, 2], [1, 2], [0, 0]),
    ],
)
def test_half_diagonal(cuts: list[int], most: list[int], lengths: list[float]) -> None:
    size = half_diagonal(np.array(cuts), np.array(most))
    assert size == pytest.approx(0.5 * math.hypot(*lengths))
    assert size == pytest.approx(reference.half_diagonal(cuts, most))
    assert size == half_diagonal(np.array(cuts[::-1]), np.array(most[::-1]))


@pytest.mark.parametrize("n_evaluations", [-3, 0, 1, 2, 3, 4, 5, 20, 57])
def test_the_budget_is_strict(n_evaluations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(0, (None, None, None))
    sequence = problem.sequence(n_evaluations, monkeypatch)
    assert len(sequence) == max(n_evaluations, 1)
    assert np.array_equal(sequence[0], np.full(3, 0.5))


@pytest.mark.parametrize("sizes", [(2, 3, 4), (7, 9), (2,) * 4, (10,), (1, 5)])
def test_grids_are_enumerated(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends by itself, knows every point, and has not met any of them often."""
    problem = Problem(1, sizes, n=4)
    sequence = problem.sequence(10_000, monkeypatch)
    distinct = {tuple(np.round(x, 9)) for x in sequence}
    assert len(distinct) == math.prod(sizes)
    assert len(sequence) < 3 ** len(sizes) * len(distinct)
    for x in sequence:
        for c, grid in enumerate(problem.grids):
            assert np.abs(grid - x[c]).min() < 1e-12


def test_the_best_point_is_admissible() -> None:
    problem = Problem(2, (3, None, 8))
    value, x = problem.direct(100)
    assert x[0] in problem.grids[0]
    assert x[2] in problem.grids[2]
    assert 0.0 < x[1] < 1.0
    assert value == pytest.approx(problem(x), rel=1e-12)


def test_categorical_columns() -> None:
    rng = np.random.default_rng(0)
    kernel = reference.random_kernel(rng, sizes=(2,), n_categorical=1)
    X = np.array([[c, u] for c in range(3) for u in (0.2, 0.8)], dtype=float)
    post = Posterior(Factor(kernel, X), np.array([0.0, 0.0, 0.0, 3.0, 0.0, 0.0]))
    best_x = np.empty(2)
    jit.direct(
        acquisition.Model(kernel.covariance, kernel.features(X), post.linv, post.alpha),
        jit.Grids(np.arange(3.0), np.array([0, 3, 3])),
        acquisition.UCB,
        np.array([0.1, 0.0]),
        100,
        EPSILON,
        best_x,
    )
    assert best_x[0] == 1.0
    assert 0.6 < best_x[1] < 1.0


@pytest.mark.filterwarnings("ignore:invalid value")
def test_nan_is_survived() -> None:
    problem = Problem(0, (None, 3))
    problem.posterior.alpha[:] = np.nan
    value, x = problem.direct(30)
    assert value == -np.inf
    assert np.array_equal(x, [0.5, 0.5])


def test_a_constant_function_is_survived() -> None:
    problem = Problem(0, (None, None))
    problem.posterior.alpha[:] = 0.0
    problem.p[:] = 0.0
    value, x = problem.direct(200)
    assert value == 0.0
    assert np.array_equal(x, [0.5, 0.5])


def test_at_least_as_good_as_scipy() -> None:
    """With the same budget; and close to the best value known, on average."""
    gaps, regrets = [], []
    n_problems = 3 if hasattr(jit.direct, "py_func") else 1
    for n_columns in range(1, 7):
        for seed in range(n_problems):
            problem = Problem(10 * n_columns + seed, (None,) * n_columns)
            budget = 60 * n_columns
            value, x = problem.direct(budget)
            assert value == pytest.approx(problem(x), rel=1e-12)
            count = 0

            def negated(x: np.ndarray, problem: Problem = problem) -> float:
                nonlocal count
                count += 1
                return -problem(x)

            theirs = scipy.optimize.direct(
                negated,
                [(0.0, 1.0)] * n_columns,
                eps=EPSILON,
                maxfun=budget,
                maxiter=10_000,
                locally_biased=False,
                vol_tol=0.0,
                len_tol=0.0,
            )
            assert count >= 0.9 * budget
            uniform = np.random.default_rng(seed).random((200, n_columns))
            spread = np.std([problem(x) for x in uniform])
            gaps.append((value + theirs.fun) / spread)
            start = x
            best = -scipy.optimize.minimize(
                lambda x, problem=problem: -problem(x), start, bounds=[(0, 1)] * n_columns
            ).fun
            regrets.append((best - value) / spread)
    assert np.median(gaps) > -1e-3
    assert np.mean(gaps) > -0.05
    assert np.median(regrets) < 0.2
