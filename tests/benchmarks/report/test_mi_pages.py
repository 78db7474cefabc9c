"""The pages of Add-GP-UCB, GP-MI, MS-UCB and embeddings, from results made up for the purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optuna_hdbo.benchmarks.report.pages import add_gp
from optuna_hdbo.benchmarks.report.pages import embeddings
from optuna_hdbo.benchmarks.report.pages import gp_mi
from optuna_hdbo.benchmarks.report.pages import ms_ucb


def result(problem: str, rival: str, seed: int, regret: float) -> dict[str, Any]:
    return {
        "problem": problem,
        "rival": rival,
        "seed": seed,
        "n_trials": 3,
        "regret": [3 * regret, 2 * regret, regret],
        "mean_regret": 2 * regret,
        "average_regret": [3 * regret, 2.5 * regret, 2 * regret],
    }


def test_gp_mi(tmp_path: Path) -> None:
    mi, ucb = "GPMISampler:alternate=False", "GPMISampler:alternate=False,exploration=ucb"
    results = [result("gp-2", mi, s, 1.0 + s) for s in range(2)]
    results += [result("gp-2", ucb, s, 4.0) for s in range(3)]
    results += [result("himmelblau-2", mi, 0, 1.0)]
    results += [result("himmelblau-2", f"{mi},delta=0.1", 0, 7.0)]
    text = gp_mi.make(results, tmp_path)
    assert "| gp-2 | 3 | 2 | 3 ± 0.71 | 8 ± 0 |" in text
    assert "| himmelblau-2 | 3 | 1 | 14 ± 0 | 2 ± 0 |" in text
    assert {path.name for path in tmp_path.iterdir()} == {
        "gp_mi_figure1.png",
        "gp_mi_figure2.png",
        "gp_mi_figure3.png",
        "gp_mi_figure4.png",
    }
    with pytest.raises(ValueError, match="results must hold runs on gp-2"):
        gp_mi.make([result("levy-20", mi, 0, 1.0)], tmp_path)


def test_add_gp(tmp_path: Path) -> None:
    known = "AddGPUCBSampler:published,decomposition=known,ungrouped=centre"
    results = [result("trimodal-24-11-2", known, s, 1.0 + s) for s in range(3)]
    results += [result("trimodal-96-5-19", "random", 0, 9.0)]
    results += [result("cascade-22", "random", s, 0.1) for s in range(2)]
    small, large, data = add_gp.make(results, tmp_path).split("## ")[1:]
    assert f"| `{known}` | 2 (1.5, 2.5), 3 |" in small
    assert f"| `{known}` | 4, 3 |" in small
    assert "| sampler | trimodal-96-5-19 |" in large
    assert "| `random` | 0.1 (0.1, 0.1), 2 |" in data
    assert {path.name for path in tmp_path.iterdir()} == {
        "add_gp_figure3.png",
        "add_gp_figure3_average.png",
        "add_gp_figure4.png",
        "add_gp_figure4_average.png",
        "add_gp_figure5.png",
    }
    with pytest.raises(ValueError, match="results must hold runs on trimodal-10-3-3"):
        add_gp.make([result("levy-20", known, 0, 1.0)], tmp_path)


def test_embeddings(tmp_path: Path) -> None:
    results = [result("branin-100", "HeSBOSampler:d=4", s, 1.0 + s) for s in range(3)]
    results += [result("branin-100", "random", 0, 9.0), result("branin-1000", "random", 0, 8.0)]
    text = embeddings.make(results, tmp_path)
    assert "| sampler | branin-100 | branin-1000 |" in text
    assert "| `HeSBOSampler:d=4` | 2 (1.5, 2.5), 3 |  |" in text
    assert "| `random` | 9 (9, 9), 1 | 8 (8, 8), 1 |" in text
    assert [path.name for path in tmp_path.iterdir()] == ["embeddings.png"]
    with pytest.raises(ValueError, match="results must hold runs on branin-100"):
        embeddings.make([result("levy-20", "random", 0, 1.0)], tmp_path)


def test_ms_ucb(tmp_path: Path) -> None:
    results = [
        result(problem, rival, seed, regret)
        for problem in ("ackley-50", "ackley-100")
        for rival, regret in [
            ("MSUCBSampler", 1.0),
            ("MSUCBSampler:d=1000,anchors=None", 2.0),
            ("MSUCBSampler:n0=10", 3.0),
            ("MSUCBSampler:d=2", 4.0),
        ]
        for seed in range(3)
    ]
    text = ms_ucb.make(results, tmp_path)
    one, two, three = text.split("## ")[1:]
    assert "| ackley-50 | 3 | 3 | 1 (1, 1) | 2 (2, 2) |" in one
    assert "n0" not in one
    assert "| ackley-100 | 3 | 3 | 1 (1, 1) | 3 (3, 3) |" in two
    assert "ackley-50" not in two
    assert "| ackley-100 | 3 | 3 | 1 (1, 1) | 4 (4, 4) |" in three
    assert len(list(tmp_path.iterdir())) == 3
    published = "MSUCBSampler:published"
    results += [result("ackley-100", f"{published}{more}", 0, 5.0) for more in ("", ",n0=10")]
    one, two, three = ms_ucb.make(results, tmp_path).split("## ")[1:]
    assert "`MSUCBSampler:published` |" in one
    assert "n0" not in one
    assert (
        "| `MSUCBSampler:published` | `MSUCBSampler:n0=10` | `MSUCBSampler:published,n0=10` |"
        in two
    )
    assert "published" not in three
    on_data = [result(p, "MSUCBSampler", 0, 6.0) for p in ("digits-500", "ramp10-5000")]
    on_data = [{**r, "cpu": {"per_trial": [0.1, 0.2, 0.1]}} for r in on_data]
    network, ramp = ms_ucb.make(on_data, tmp_path).split("## ")[1:]
    assert "(Figure 4)" in network
    assert "| sampler | digits-500 |" in network
    assert "| `MSUCBSampler` | 6 (6, 6), 1 |" in ramp
    with pytest.raises(ValueError, match="results must hold runs of MSUCBSampler"):
        ms_ucb.make([result("ackley-50", "gp", 0, 1.0)], tmp_path)
