"""Children have the columns of their parents, but for a few mutations."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from histories import DOMAINS
from hypothesis import given

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.maximise import several
from optuna_hdbo._core.maximise.several import children


@given(st.sampled_from(sorted(DOMAINS)), st.integers(0, 50), st.sampled_from([1, 2, 5]))
def test_children_are_admissible(name: str, seed: int, n_parents: int) -> None:
    domain, rng = DOMAINS[name], np.random.default_rng(seed)
    found = children(domain, domain.sample(rng, n_parents), 40, rng)
    assert found.shape == (40, len(domain))
    np.testing.assert_array_equal(domain.snap(found.copy()), found)


def test_most_columns_are_those_of_a_parent() -> None:
    rng = np.random.default_rng(0)
    parents = rng.random((2, 20))
    found = children(Domain.continuous(20), parents, 4000, rng)
    inherited = [(found == parent).mean() for parent in parents]
    n_mutated = (~(found[:, None] == parents).any(axis=1)).sum(axis=1)
    assert n_mutated.min() == 1
    # One column, and those of the others that the mean of the rates takes.
    assert n_mutated.mean() == pytest.approx(1.0 + 19.0 * 7.0 / 3.0 / 20.0, rel=0.05)
    assert inherited[0] == pytest.approx(inherited[1], rel=0.1)


def test_mutations_are_reflected_at_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "STEPS", (0.1,))
    rng = np.random.default_rng(0)
    for bound in (0.0, 1.0):
        found = children(Domain.continuous(1), np.full((1, 1), bound), 4000, rng)[:, 0]
        assert (found != bound).all()
        gaps = np.abs(found - bound)
        assert np.sqrt((gaps**2).mean()) == pytest.approx(0.1, rel=0.05)
