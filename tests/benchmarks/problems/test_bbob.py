"""The BBOB family: every function's optimum is where the suite says, and instances differ."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_hdbo.benchmarks.problems import catalogue


pytest.importorskip("ioh")


@pytest.mark.parametrize("name", catalogue.FAMILIES["bbob-10"])
def test_the_optimum_is_the_best_value(name: str) -> None:
    problem = catalogue.make(name, 0)
    assert problem.purpose == "report"
    assert problem.argopt is not None
    assert problem.evaluate(problem.argopt) == pytest.approx(problem.optimum, abs=1e-6)
    rng = np.random.default_rng(0)
    low, high = problem.bounds.T
    values = [problem.evaluate(low + (high - low) * rng.random(10)) for _ in range(50)]
    assert min(values) > problem.optimum


def test_a_seed_is_an_instance() -> None:
    first, again, other = (catalogue.make("bbob-f1-20", seed) for seed in (0, 0, 1))
    assert first.argopt is not None
    assert other.argopt is not None
    np.testing.assert_array_equal(first.argopt, again.argopt)
    assert not np.array_equal(first.argopt, other.argopt)


def test_families_are_not_for_tuning() -> None:
    with pytest.raises(ValueError, match="seed must be in"):
        catalogue.make("bbob-f1-20", 1000)
