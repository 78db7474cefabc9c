from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.report import tables


def result(
    rival: str, seed: int, final: float, ms: float, n_trials: int = 100, **changes: Any
) -> dict[str, Any]:
    curve = [final * 2.0] * (n_trials - 1) + [final]
    times = {"median": ms / 1e3, "mean": ms / 1e3, "total": ms, "per_trial": [ms / 1e3] * n_trials}
    return {
        "problem": "levy-20",
        "rival": rival,
        "seed": seed,
        "n_trials": n_trials,
        "purpose": "report",
        "regret": curve,
        "mean_regret": final,
        "wall": times,
        "cpu": times,
        "versions": {"optuna": "5.0.0"},
        **changes,
    }


RESULTS = [
    *(result("gp", seed, 1.0 + seed, 100.0) for seed in range(3)),
    *(result("ASampler:n=1", seed, 0.5 + seed, 10.0) for seed in range(5)),
    result("tpe", 0, 9.0, 5.0, 60),
    result("gp", 1000, 7.0, 1.0, problem="ackley-10", purpose="tune"),
]


def rows(text: str) -> dict[str, list[str]]:
    cells = [
        [c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if "`" in line
    ]
    return {row[0].strip("`"): row[1:] for row in cells}


def test_table() -> None:
    text = tables.markdown(tables.group(RESULTS, purpose="report"))
    assert "### levy-20" in text
    assert "ackley-10" not in text
    assert "Regret after 50 and 100 trials" in text
    table = rows(text)
    assert list(table) == ["tpe", "gp", "ASampler:n=1"]
    assert table["gp"] == ["3", "4 (3, 5)", "2 (1.5, 2.5)", "2", "100", "100", "1"]
    assert table["ASampler:n=1"] == ["5", "5 (3, 7)", "2.5 (1.5, 3.5)", "2.5", "10", "10", "0.1"]
    assert table["tpe"] == ["1", "18 (18, 18)", "—", "9", "5", "5", "0.05"]
    assert text.endswith("Versions: optuna 5.0.0.")


def test_filters() -> None:
    grouped = tables.group(
        RESULTS, purpose="report", labels=["ASampler:n=1", "gp"], common_seeds=True
    )
    assert list(grouped["levy-20"]) == ["ASampler:n=1", "gp"]
    assert [r["seed"] for r in grouped["levy-20"]["ASampler:n=1"]] == [0, 1, 2]
    assert list(tables.group(RESULTS, purpose="tune")) == ["ackley-10"]
    assert tables.group(RESULTS, purpose="report", names=["branin-50"]) == {}
    no_gp = tables.markdown(tables.group(RESULTS, purpose="report", labels=["tpe"]))
    assert rows(no_gp)["tpe"][-1] == "—"


def test_the_longest_and_latest_result_of_a_seed_counts() -> None:
    results = [
        result("gp", 0, 3.0, 1.0, 200),
        result("gp", 0, 2.0, 1.0, 100),
        result("gp", 0, 1.0, 1.0, 200),
    ]
    (kept,) = tables.group(results, purpose="report")["levy-20"]["gp"]
    assert kept is results[2]


def test_startup_trials_and_one_slow_first_run_do_not_count() -> None:
    runs = [result("gp", seed, 1.0, 100.0) for seed in range(3)]
    for run in runs:
        run["cpu"]["per_trial"][:10] = [0.0] * 10
    runs[0]["cpu"]["per_trial"][10] = 60.0  # compilation
    table = rows(tables.markdown(tables.group(runs, purpose="report")))
    assert table["gp"][-3:] == ["100", "100", "1"]


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, image = tmp_path / "results.jsonl", tmp_path / "regret.png"
    path.write_text("".join(json.dumps(r) + "\n" for r in RESULTS))
    assert (
        cli.main(["report", str(path), "--plot", str(image), "--rivals", "gp,ASampler:n=1"]) == 0
    )
    assert list(rows(capsys.readouterr().out)) == ["gp", "ASampler:n=1"]
    assert image.read_bytes().startswith(b"\x89PNG")
    assert cli.main(["report", str(path), "--purpose", "tune", "--baseline", "tpe"]) == 0
    assert "### ackley-10" in capsys.readouterr().out
    assert cli.main(["report", str(tmp_path / "nothing.jsonl")]) == 2
    assert "there is no results file" in capsys.readouterr().err
    arguments = ["report", str(path), "--problems", "branin-50", "--plot", str(image)]
    assert cli.main(arguments) == 2
    assert "no result matches" in capsys.readouterr().err
