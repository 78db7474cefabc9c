"""The page of Wang et al. (2014) from made-up results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optuna_hdbo.benchmarks.report.pages import bamsoo


def result(problem: str, rival: str, seed: int, loss: float) -> dict[str, Any]:
    return {
        "problem": problem,
        "rival": rival,
        "seed": seed,
        "regret": [1.0] * 19 + [loss] * 81,
        "cpu": {"total": 0.25 * (1 + seed)},
    }


def test_the_page_has_losses_and_times(tmp_path: Path) -> None:
    results = [
        result("branin-2", rival, seed, loss)
        for rival, loss in (("SOOSampler", 1e-2), ("BaMSOOSampler", 1e-5))
        for seed in range(3)
    ]
    text = bamsoo.make([*results, result("levy-20", "gp", 0, 1.0)], tmp_path)
    assert "| branin-2 | `SOOSampler` | 3 | -2.0 | -2.0 | -2.0 | — |" in text
    assert "| branin-2 | `BaMSOOSampler` | 3 | -5.0 | -5.0 | -5.0 | — |" in text
    assert "| branin-2 | best public | 1-2 | -0.1 | -3.2 | -4.4 | -5.4 |" in text
    assert "| `SOOSampler` | 0.5 | — | — | — | — |" in text
    assert "levy" not in text
    assert (tmp_path / "bamsoo_loss.png").stat().st_size > 1000
    assert "Figure 5)" not in text
    text = bamsoo.make([result("terms-4", "SOOSampler", s, 0.1) for s in range(2)], tmp_path)
    assert "| `SOOSampler` | 0.1 (0.1, 0.1), 2 |" in text
    assert (tmp_path / "bamsoo_terms.png").stat().st_size > 1000


def test_other_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="results must hold runs on branin-2"):
        bamsoo.make([result("levy-20", "gp", 0, 1.0)], tmp_path)
