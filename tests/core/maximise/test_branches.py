"""Domains whose columns are not always active, and the search through their branches."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

import numpy as np
import pytest
from histories import CONDITIONAL
from histories import is_admissible
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.maximise.branches import best_of_branches
from optuna_hdbo._core.maximise.branches import branches
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.multistart import along_axes
from optuna_hdbo._core.maximise.multistart import maximise


EVERY_COLUMN = np.ones(len(CONDITIONAL), np.bool_)


def is_active(x: FloatArray, column: int) -> bool:
    """Follow the conditions of one column by hand."""
    return all(
        is_active(x, k.column) and x[k.column] in k.values
        for k in CONDITIONAL.gates.get(column, ())
    )


@given(st.integers(0, 2**31))
def test_active_columns_are_those_whose_conditions_all_hold(seed: int) -> None:
    X = replace(CONDITIONAL, gates={}).sample(np.random.default_rng(seed), 20)
    expected = [[is_active(x, c) for c in range(len(CONDITIONAL))] for x in X]
    assert np.array_equal(CONDITIONAL.active(X), expected)
    canonical = CONDITIONAL.canonical(X)
    assert np.array_equal(canonical, np.where(expected, X, CONDITIONAL.absent))
    assert np.array_equal(CONDITIONAL.canonical(canonical), canonical)
    assert np.array_equal(CONDITIONAL.active(canonical), expected)


def test_drawn_points_are_canonical_and_reach_every_branch() -> None:
    X = CONDITIONAL.sample(np.random.default_rng(0), 300)
    assert np.array_equal(CONDITIONAL.canonical(X), X)
    # Column 0 has three choices; the nested one, below choice 1, has two.
    assert len(np.unique(CONDITIONAL.active(X), axis=0)) == 4


def test_breadth_counts_the_columns_of_one_branch() -> None:
    active = CONDITIONAL.active(CONDITIONAL.sample(np.random.default_rng(0), 4000))
    assert CONDITIONAL.breadth == pytest.approx(active.sum(axis=1).mean(), abs=0.6)
    assert make_domain(None, 7, "3").breadth == 3


def test_columns_that_decide_come_along() -> None:
    assert CONDITIONAL.with_deciding([4]) == (0, 3, 4)
    assert CONDITIONAL.with_deciding([1]) == (1,)


def test_columns_must_not_decide_about_each_other() -> None:
    gates = {0: (Condition(1, (0.0,)),), 1: (Condition(0, (0.0,)),)}
    domain = replace(make_domain("2", "2"), gates=gates)
    with pytest.raises(ValueError, match="in a cycle"):
        domain.active(np.zeros((1, 2)))


@dataclass(frozen=True, eq=False)
class Peaks:
    """A paraboloid in each branch, with a height of its own; climbing reaches its top."""

    heights: dict[bytes, float]

    def top(self, active: BoolArray) -> FloatArray:
        return np.where(CONDITIONAL.discrete, CONDITIONAL.absent, 0.7)

    def __call__(self, X: FloatArray) -> FloatArray:
        active = CONDITIONAL.active(X)
        gaps = np.where(active & ~CONDITIONAL.discrete, X - 0.7, 0.0)
        heights = np.array([self.heights.get(row.tobytes(), 0.0) for row in active])
        return heights - (gaps**2).sum(axis=1)

    def ascend(
        self, X: FloatArray, free: BoolArray, n_steps: int = 50, tol: float = 1e-5
    ) -> tuple[FloatArray, FloatArray]:
        """Climb as if every column mattered, as a model's gradient does."""
        climbed = np.where(free, 0.7, X)
        return climbed, self(climbed)


def patterns() -> list[BoolArray]:
    X = CONDITIONAL.sample(np.random.default_rng(0), 300)
    return list(np.unique(CONDITIONAL.active(X), axis=0))


@pytest.mark.parametrize("i", range(4))
def test_the_best_branch_is_found(i: int) -> None:
    pattern = patterns()[i]
    acquisition = Peaks({pattern.tobytes(): 0.5})
    rng = np.random.default_rng(i)
    known = CONDITIONAL.sample(rng, 10)
    x = maximise(acquisition, CONDITIONAL, known[:2], known, rng)
    assert is_admissible(CONDITIONAL, x)
    assert np.array_equal(CONDITIONAL.active(x[None])[0], pattern)
    moved = pattern & ~CONDITIONAL.discrete
    assert x[moved] == pytest.approx(0.7)


def test_every_branch_has_points_of_its_own() -> None:
    rng = np.random.default_rng(0)
    known = CONDITIONAL.sample(rng, 8)
    acquisition = Peaks({})
    found = branches(acquisition, CONDITIONAL, known[:3], known, EVERY_COLUMN, rng)
    assert len(found) == 4
    for branch in found:
        for X in (branch.best, branch.sampled):
            assert len(X)
            assert (CONDITIONAL.active(X) == branch.active).all()
        held = branch.hold(CONDITIONAL, CONDITIONAL.sample(rng, 50), rng)
        assert branch.has(CONDITIONAL, held).all()
        assert np.array_equal(CONDITIONAL.canonical(held), held)
        assert np.array_equal(branch.free, branch.active)


def test_the_best_point_of_each_branch_is_known() -> None:
    X = CONDITIONAL.sample(np.random.default_rng(0), 40)
    merit = np.random.default_rng(1).standard_normal(40)
    best = best_of_branches(CONDITIONAL, X, merit)
    active = CONDITIONAL.active(X)
    assert len(best) == len(np.unique(active, axis=0))
    for x, pattern in zip(best, CONDITIONAL.active(best), strict=True):
        rows = (active == pattern).all(axis=1)
        assert np.array_equal(x, X[rows][np.argmax(merit[rows])])


def test_columns_that_are_not_free_stay() -> None:
    """Unless they become active by a move of the free ones."""
    rng = np.random.default_rng(1)
    known = CONDITIONAL.sample(rng, 20)
    best = known[known[:, 0] == 2.0][:2]
    free = np.zeros(len(CONDITIONAL), np.bool_)
    free[[0, 2]] = True
    for branch in branches(Peaks({}), CONDITIONAL, best, known, free, rng):
        assert not branch.free[1]
        assert (branch.best[:, 1] == best[0, 1]).all()
        newly = branch.active & ~CONDITIONAL.active(best[:1])[0]
        assert branch.free[newly].all()
    x = maximise(Peaks({}), CONDITIONAL, best, known, rng, free=free)
    assert x[1] == best[0, 1]


def test_where_no_free_column_is_active_all_others_are_free() -> None:
    rng = np.random.default_rng(1)
    known = CONDITIONAL.sample(rng, 20)
    best = known[known[:, 0] == 2.0][:2]
    free = np.zeros(len(CONDITIONAL), np.bool_)
    free[4] = True  # of another branch
    x = maximise(Peaks({}), CONDITIONAL, best, known, rng, free=free)
    assert is_admissible(CONDITIONAL, x)
    assert x.tobytes() not in {row.tobytes() for row in known}


def test_moves_along_one_column_fill_what_they_activate() -> None:
    posterior, X, _ = make_posterior(CONDITIONAL, make_kernel(CONDITIONAL))
    rng = np.random.default_rng(0)
    for centre in X[:6]:
        x = along_axes(CONDITIONAL, centre, Analytic.ucb(posterior, 2.0), rng, X)
        assert is_admissible(CONDITIONAL, x)
        both = CONDITIONAL.active(np.array([x, centre])).all(axis=0)
        assert (x[both] != centre[both]).sum() <= 1


def test_an_exhausted_branch_is_left() -> None:
    domain = replace(make_domain("2", "2"), gates={1: (Condition(0, (1.0,)),)})
    rng = np.random.default_rng(0)
    posterior, _, _ = make_posterior(domain, make_kernel(domain), n=6)
    known = np.array([[0.0, 0.0], [1.0, 0.0]])
    x = maximise(
        Analytic.ucb(posterior, 2.0), domain, known, known, rng, effort=Effort(n_uniform=40)
    )
    assert x.tolist() == [1.0, 1.0]
