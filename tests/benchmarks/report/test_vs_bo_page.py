"""The page of Shen & Kingsford's figures: counts by hand, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optuna_hdbo.benchmarks.measure import runner
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.report import selections as counted
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
    found = counted.frequencies([result(seed, "VSBOSampler", selections(seed)) for seed in (0, 1)])
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
    assert "| authors' code | 0.59 |" in page
    assert "| `VSBOSampler` | 1.5 (1.25, 1.75), 2 |" in page
    assert "| `gp` | 1 (1, 1), 1 |" in page
    assert "| `VSBOSampler` | fbranin-50 | 2 | 75% | 0.50 | 0.00 | 1.00 |" in page
    for name in ("vs_bo_regret.png", "vs_bo_selected.png", "vs_bo_time.png"):
        assert "(Figure 10)" not in page
        assert f"({name})" in page
        assert (tmp_path / name).stat().st_size > 1000


def test_the_other_figures_appear_with_their_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = [f"x{i}" for i in range(60)]
    chosen = [names[:6], names[:5]]
    times = {"wall": {"per_trial": [0.1, 0.2, 0.3]}}
    rover = {"problem": "rover-60", "best_point": [0.5] * 60, **times}
    results = [result(seed, "VSBOSampler", chosen, **rover) for seed in (0, 1)]
    results += [result(0, "VSBOSampler", None, problem="rotatedhm6-100", **times)]
    results += [result(0, "VSBOSampler", selections(0), **times)]
    results += [result(0, "VSBOSampler:unimportant=mix", selections(0), **times)]
    page = vs_bo.make(results, tmp_path)
    for figure in range(2, 11):
        assert f"(Figure {figure})" in page
    *_, mix = page.split("## ")
    assert [line.split("|")[1].strip() for line in mix.splitlines() if line.startswith("| `")] == [
        "`VSBOSampler`",
        "`VSBOSampler:unimportant=mix`",
    ]
    assert "mix" not in page.split("## ")[1]
    most, least = counted.spreads(results[0])
    assert len(most) == len(least) == counted.N_POINTS
    problem = catalogue.make("rover-60", 0)
    assert most.max() <= problem.optimum
    for name in page.split("](")[1:]:
        assert (tmp_path / name.split(")")[0]).stat().st_size > 1000


def test_results_without_selections_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"results must hold runs of VSBOSampler .*none of 1 is"):
        vs_bo.make([result(0, "gp", None)], tmp_path)


def test_runs_file_what_was_selected() -> None:
    run = runner.Run("fbranin-50", "VSBOSampler:n_startup_trials=2,n_vs=2,n_is=20", 0, 6)
    done = runner.execute(run)
    filed, best = done["selections"], done["best_point"]
    assert len(filed) == 1
    assert set(filed[0]) <= set(catalogue.make("fbranin-50", 0).names)
    problem = catalogue.make("fbranin-50", 0)
    reached = problem.regret(problem.evaluate(np.array(best)))
    assert reached == pytest.approx(done["regret"][-1], rel=1e-3)
    assert "selections" not in runner.execute(runner.Run("fbranin-50", "random", 0, 3))
