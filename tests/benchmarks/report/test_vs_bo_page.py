"""The page of Shen & Kingsford's figures: counts by hand, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optuna_hdbo.benchmarks.measure import runner
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.report.pages import vs_bo


def result(seed: int, rival: str, selections: list[list[str]] | None, **fields: Any) -> Any:
    base = {
        "problem": "fbranin-50",
        "rival": rival,
        "seed": seed,
        "n_trials": 3,
        "regret": [3.0, 2.0, 1.0 + seed],
        "cpu": {"per_trial": [0.1, 0.2, 0.3]},
        **fields,
    }
    return base if selections is None else {**base, "selections": selections}


def selections(seed: int) -> list[list[str]]:
    """Three selections that do not count as settled, and two that do."""
    problem = catalogue.make("fbranin-50", seed)
    assert problem.groups is not None
    main, tenth, _ = problem.groups
    early = [[problem.inert[0]]] * 3
    return [*early, [*main, tenth[0]], [main[0], *problem.inert[:2]]]


def test_variables_are_counted_in_the_order_of_the_paper() -> None:
    found = vs_bo.frequencies([result(seed, "VSBOSampler", selections(seed)) for seed in (0, 1)])
    assert found.n_selections == 10
    assert found.sizes == (2, 2, 2, 44)
    assert found.counts[:8].tolist() == [4, 2, 2, 0, 0, 0, 8, 2]
    assert found.per_selection.tolist() == [[2, 1, 0, 0], [1, 0, 0, 2]] * 2
    assert found.hit_rate() == 0.75


def test_the_page_has_tables_and_images(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = [result(seed, "VSBOSampler", selections(seed)) for seed in (0, 1)]
    results += [result(0, "gp", None), result(0, "gp", None, problem="levy-20")]
    page = vs_bo.make(results, tmp_path)
    assert "| authors' code | 0.59 | 0.4 | 7.3 |" in page
    assert "| `VSBOSampler` | 1.5 (1.25, 1.75), 2 seeds |  |  |" in page
    assert "| `gp` | 1 (1, 1), 1 seeds |" in page
    assert "| `VSBOSampler` | fbranin-50 | 2 | 75% | 0.50 | 0.00 | 1.00 |" in page
    for name in ("vs_bo_regret.png", "vs_bo_selected.png", "vs_bo_time.png"):
        assert f"({name})" in page
        assert (tmp_path / name).stat().st_size > 1000


def test_results_without_selections_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"results must hold runs of VSBOSampler .*none of 1 is"):
        vs_bo.make([result(0, "gp", None)], tmp_path)


def test_runs_file_what_was_selected() -> None:
    run = runner.Run("fbranin-50", "VSBOSampler:n_startup_trials=2,n_vs=2,n_is=20", 0, 6)
    filed = runner.execute(run)["selections"]
    assert len(filed) == 1
    assert set(filed[0]) <= set(catalogue.make("fbranin-50", 0).names)
    assert "selections" not in runner.execute(runner.Run("fbranin-50", "random", 0, 3))
