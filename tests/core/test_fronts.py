"""The boxes that nothing dominates fill what nothing dominates, and do not overlap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.fronts import Boxes
from optuna_hdbo._core.fronts import n_dominating
from optuna_hdbo._core.fronts import volume


numbers = st.integers(-2, 5).map(float)


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    k = draw(st.integers(1, 3))
    row = st.lists(numbers, min_size=k, max_size=k)
    Y = np.array(draw(st.lists(row, max_size=8))).reshape(-1, k)
    # Halves are never on the border of a box.
    Z = np.array(draw(st.lists(row, min_size=1, max_size=20))) + 0.5
    return Y, np.array(draw(row)), Z


@given(cases())
def test_every_point_that_is_not_dominated_is_in_one_box(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    Y, reference, Z = case
    boxes = Boxes.above(Y, reference)
    levels = np.append(boxes.levels, np.inf)
    low, high = levels[boxes.low], levels[boxes.high]
    for z in Z:
        inside = ((low < z) & (z < high)).all(axis=1)
        dominated = (z <= Y).all(axis=1).any()
        assert inside.sum() == int((z > reference).all() and not dominated)


@given(cases())
def test_levels_belong_to_their_objective(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    Y, reference, _ = case
    boxes = Boxes.above(Y, reference)
    for j in range(len(reference)):
        own = range(int(boxes.starts[j]), int(boxes.starts[j + 1]))
        assert set(boxes.low[:, j].tolist()) <= set(own)
        assert set(boxes.high[:, j].tolist()) <= {*own, len(boxes.levels)}


@given(cases())
def test_volume(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Coordinates are integers, so the volume is a number of unit cells."""
    Y, reference, _ = case
    axes = [np.arange(r + 0.5, 5.5) for r in reference]
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(reference))
    expected = sum((cell <= Y).all(axis=1).any() for cell in cells)
    assert volume(Y, reference) == pytest.approx(expected)


def test_boxes_are_few() -> None:
    """A sweep makes a few boxes per point, not the square of their number."""
    U = np.random.default_rng(0).exponential(size=(60, 3))
    Y = U / np.linalg.norm(U, axis=1)[:, None]
    assert len(Boxes.above(Y, np.zeros(3)).low) <= 3 * 60


def test_too_many_objectives_are_refused() -> None:
    with pytest.raises(ValueError, match="At most 3 objectives can be decomposed, but got 4"):
        Boxes.above(np.ones((2, 4)), np.zeros(4))


def test_n_dominating() -> None:
    Y = np.array([[1.0, 1.0], [0.0, 2.0], [0.0, 0.0], [1.0, 1.0]])
    assert n_dominating(Y, np.ones(4, np.bool_)).tolist() == [0, 0, 3, 0]
    assert n_dominating(Y, np.array([True, False, False, False])).tolist() == [0, 0, 1, 0]
