"""The page of a family: ranks, wins and runtime profiles of curves made up for the purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optuna_hdbo.benchmarks.report.pages import family


def result(problem: str, rival: str, seed: int, last: float) -> dict[str, Any]:
    regret = np.geomspace(100.0, last, 60).tolist()
    return {"problem": problem, "rival": rival, "seed": seed, "n_trials": 60, "regret": regret}


RESULTS = [
    result("f1", "good", 0, 1e-4),
    result("f1", "poor", 0, 1.0),
    result("f2", "good", 0, 0.1),
    result("f2", "poor", 0, 0.1),
    result("f3", "good", 0, 50.0),  # the other sampler has no run of it
    result("f1", "good", 1, 2.0),
    result("f1", "poor", 1, 1.0),
]


def test_only_what_every_sampler_has_run_counts() -> None:
    instances, curves = family.common(RESULTS)
    assert instances == [("f1", 0), ("f2", 0), ("f1", 1)]
    assert {len(c) for c in curves.values()} == {3}


def test_ties_share_a_rank() -> None:
    _, curves = family.common(RESULTS)
    np.testing.assert_array_equal(family.ranks(curves), [[1, 2], [1.5, 1.5], [2, 1]])


def test_a_profile_is_the_share_of_targets_reached() -> None:
    _, curves = family.common(RESULTS[:2])
    found = family.profiles(curves)
    assert found["good"][-1] == 1.0
    start, least = curves["good"][0, 9], curves["good"][0, -1]
    targets = np.geomspace(start, least, family.N_TARGETS + 1)[1:] * (1 + 1e-9)
    for label, regrets in curves.items():
        for t in (5, 20, 59):
            assert found[label][t] == np.mean(regrets[0, t] <= targets)
    assert np.all(np.diff(found["poor"]) >= 0)


def test_the_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = family.make(RESULTS, tmp_path)
    assert "2 problems, 3 instances." in page
    assert "| `good` | 1.50 ± 0.24 |" in page
    assert "| `good` |  | 1 |" in page
    assert (tmp_path / "family_profile.png").stat().st_size > 1000


def test_a_single_sampler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="an instance that two samplers have run"):
        family.make(RESULTS[:1], tmp_path)
