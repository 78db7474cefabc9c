"""Runs with several objectives, from the command line to the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import multi
from optuna_hdbo.benchmarks.problems.suites import multi as multi_problems
from optuna_hdbo.benchmarks.report.pages import multi as page


def test_a_run_files_volumes_that_grow() -> None:
    result = multi.execute("spheres-10", "random", 1000, 30)
    volumes = result["hypervolume"]
    assert len(volumes) == 3
    assert volumes == sorted(volumes)
    assert volumes[-1] > 0.0
    assert result["purpose"] == "tune"
    for a in result["front"]:
        assert not any(b[0] < a[0] and b[1] < a[1] for b in result["front"])


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "multi.jsonl"
    runs = ["--rivals", "random,nsga2", "--seeds", "1000-1001", "--trials", "20"]
    assert cli.main(["run", "--problems", "kursawe-3", *runs, "--out", str(out)]) == 0
    assert "hypervolume" in capsys.readouterr().err
    assert len(out.read_text().splitlines()) == 4
    assert cli.main(["page", "multi", str(out), "--out", str(tmp_path)]) == 0
    text = (tmp_path / "multi.md").read_text()
    assert "| kursawe-3 | " in text
    assert "| `nsga2` | " in text
    assert cli.main(["list"]) == 0
    assert "multi" in capsys.readouterr().out


def test_only_feasible_trials_count(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = multi_problems.make("spheres-10")
    # What is optimal without the constraint is between .43 and .76.
    narrow = replace(problem, constraints=lambda x: np.array([x[0] - 0.3, -1.0]))
    free = multi.execute("spheres-10", "random", 1000, 40)
    monkeypatch.setattr(multi_problems, "make", lambda name: narrow)
    bound = multi.execute("spheres-10", "random", 1000, 40)
    assert 0 < bound["feasible"] < free["feasible"] == 40
    assert 0.0 < bound["hypervolume"][-1] < free["hypervolume"][-1]
    # Nothing else is feasible, so the front of all points is not the front of these.
    assert bound["front"] != free["front"]
    learned = multi.execute("spheres-10", "HDBOSampler", 1000, 40)
    assert learned["feasible"] > 20 > bound["feasible"]


def test_volumes_of_few_and_of_many_objectives() -> None:
    values = np.array([[0.0, 0.5], [0.5, 0.0], [2.0, 0.0]])
    assert multi.volume_below(values, np.ones(2)) == pytest.approx(0.75)
    pytest.importorskip("pymoo")
    tall = np.hstack([values, np.zeros((3, 2))])
    assert multi.volume_below(tall, np.ones(4)) == pytest.approx(0.75)
    assert multi.volume_below(tall + 3.0, np.ones(4)) == 0.0


def fake(problem: str, rival: str, seed: int, reached: float, seconds: float) -> dict[str, Any]:
    return {
        "problem": problem,
        "rival": rival,
        "seed": seed,
        "n_trials": 20,
        "purpose": "report",
        "hypervolume": [0.0, reached],
        "front": [[0.0, 1.0], [1.0, 0.0]],
        "cpu": {"total": seconds},
    }


def test_the_page_compares_common_seeds(tmp_path: Path) -> None:
    results = [
        fake("zdt1", "HDBOSampler", 0, 3.0, 1.0),
        fake("zdt1", "HDBOSampler", 1, 1.0, 9.0),
        fake("zdt1", "gp", 0, 2.0, 10.0),
        fake("wfg4", "HDBOSampler", 0, 1.0, 1.0),
        fake("wfg4", "gp", 0, 2.0, 10.0),
    ]
    text = page.make(results, tmp_path)
    assert "| zdt1 | **2** (2) | **2** (1) |" in text
    assert "| wfg4 | 1 (1) | **2** (1) |" in text
    assert "| `gp` | 1 of 2 | 10 | 1 |" in text
    assert (tmp_path / "multi_fronts.png").exists()
    with pytest.raises(ValueError, match="but none of 1 is one"):
        page.make([{"problem": "levy-20"}], tmp_path)


def test_results_are_json() -> None:
    json.dumps(multi.execute("fonseca-6", "random", 1000, 10), allow_nan=False)
