"""A perturbed point is new, admissible, and near or far as it happens."""

from __future__ import annotations

import numpy as np
import pytest
from histories import DOMAINS
from histories import is_admissible
from histories import make_domain

from optuna_hdbo._core.points import STEPS
from optuna_hdbo._core.points import perturbed


@pytest.mark.parametrize("corner", [0.0, 1.0])
def test_only_continuous_columns_move_and_stay_inside(corner: float) -> None:
    domain = DOMAINS["mixed"]
    x = domain.from_unit(np.full((1, len(domain)), corner))[0]
    distances = []
    for seed in range(200):
        near = perturbed(domain, x, lambda row: False, np.random.default_rng(seed))
        assert is_admissible(domain, near)
        assert np.array_equal(near[domain.discrete], x[domain.discrete])
        assert (near != x)[~domain.discrete].all()
        distances.append(np.abs(near - x)[~domain.discrete].max())
    assert min(distances) < 10 * STEPS[0]
    assert max(distances) > STEPS[1] / 2


def test_taken_points_are_avoided_while_that_is_possible() -> None:
    x = np.array([0.25])
    taken: list[float] = []
    for _ in range(5):
        near = perturbed(
            make_domain(None), x, lambda row: float(row[0]) in taken, np.random.default_rng(0)
        )
        assert float(near[0]) not in taken
        taken.append(float(near[0]))
    assert perturbed(make_domain(None), x, lambda row: True, np.random.default_rng(0)) is x


def test_every_point_of_a_grid_is_found_before_one_comes_again() -> None:
    domain = make_domain(5, "7")
    x = domain.sample(np.random.default_rng(0), 1)[0]
    taken = {x.tobytes()}
    for k in range(1, 35):
        near = perturbed(domain, x, lambda row: row.tobytes() in taken, np.random.default_rng(k))
        taken.add(near.tobytes())
        assert len(taken) == k + 1
    assert perturbed(domain, x, lambda row: True, np.random.default_rng(0)) is x
