from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from histories import PATIENCE

from optuna_hdbo.benchmarks.measure import runner
from optuna_hdbo.benchmarks.measure.clock import timed_trials
from optuna_hdbo.benchmarks.measure.runner import Run
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.rivals import registry


def test_a_run_reports_regret_and_times() -> None:
    run = Run("trimodal-10-3-3", "random", 1, 12)
    result = json.loads(json.dumps(runner.execute(run)))
    assert [result[k] for k in ("problem", "rival", "seed", "n_trials")] == [
        "trimodal-10-3-3",
        "random",
        1,
        12,
    ]
    assert result["purpose"] == "report"
    regret = np.array(result["regret"])
    assert regret.shape == (12,)
    assert np.all(np.diff(regret) <= 0.0)
    assert regret[-1] > 0.0
    assert result["mean_regret"] >= regret.mean()
    assert set(result["versions"]) == {"optuna", "optuna_hdbo", "numpy"}
    for clock in ("wall", "cpu"):
        times = result[clock]
        assert len(times["per_trial"]) == 12
        assert times["total"] == pytest.approx(sum(times["per_trial"]), rel=1e-2)
        assert times["median"] == pytest.approx(np.median(times["per_trial"]), rel=1e-2)
    again = runner.execute(run)
    assert again["regret"] == result["regret"]


def test_plan_checks_everything_before_it_starts() -> None:
    runs = runner.plan(["levy-20", "ackley-50"], ["random", "tpe"], [0, 1], 20)
    assert runs[:3] == [
        Run("levy-20", "random", 0, 20),
        Run("levy-20", "tpe", 0, 20),
        Run("levy-20", "random", 1, 20),
    ]
    assert len(runs) == 8
    with pytest.raises(ValueError, match=r"seed must be in \[0, 99\] for a reported problem"):
        runner.plan(["levy-20"], ["random"], [0, 1000], 20)
    with pytest.raises(ValueError, match=r"seed must be in \[1000, 1999\] for a tuning problem"):
        runner.plan(["ackley-10"], ["random"], [0], 20)
    with pytest.raises(ValueError, match="rival must be one of"):
        runner.plan(["levy-20"], ["nobody"], [0], 20)
    with pytest.raises(ValueError, match="n_trials must be an integer of at least 1, but got 0"):
        runner.plan(["levy-20"], ["random"], [0], 0)


def test_resuming_skips_finished_runs_and_survives_a_half_written_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results.jsonl"
    runs = runner.plan(["trimodal-10-3-3"], ["random"], [0, 1], 3)
    assert runner.run_all(runs[:1], out) == 0
    first = out.read_text()
    out.write_text(first + first[:40])  # killed while writing
    assert runner.run_all(runs, out) == 0
    assert "1 of 2 runs to do." in capfd.readouterr().err
    assert [result["seed"] for result in runner.read(out)] == [0, 1]
    assert "Line 2 of results.jsonl is incomplete" in capfd.readouterr().err
    before = out.read_text()
    assert before.startswith(first)
    assert runner.run_all(runs, out) == 0
    assert out.read_text() == before


RESULT = {"problem": "levy-20", "rival": "random", "seed": 0, "n_trials": 3, "purpose": "report"}


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({**RESULT, "problem": ["a"]}).encode(),
        json.dumps({**RESULT, "rival": {}}).encode(),
        json.dumps({**RESULT, "seed": "0"}).encode(),
        json.dumps({**RESULT, "n_trials": None}).encode(),
        json.dumps({k: v for k, v in RESULT.items() if k != "purpose"}).encode(),
        json.dumps(RESULT).encode().replace(b"levy", b"\xff"),
        b"[]",
        b"1",
    ],
)
def test_lines_that_are_no_results_are_left_out(
    line: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    good = json.dumps(RESULT).encode()
    path.write_bytes(good + b"\n" + line + b"\n" + good + b"\n")
    assert runner.read(path) == [RESULT, RESULT]
    assert "Line 2 of results.jsonl is incomplete and is left out." in capfd.readouterr().err


def test_a_failing_run_is_reported_and_not_filed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results.jsonl"
    runs = [Run("levy-20", "nobody", 0, 3), Run("levy-20", "random", 0, 3)]
    assert runner.run_all(runs, out) == 1
    assert "levy-20 nobody seed 0: failed: ValueError" in capfd.readouterr().err
    assert [result["rival"] for result in runner.read(out)] == ["random"]


def test_results_name_no_machine(tmp_path: Path) -> None:
    text = json.dumps(runner.execute(Run("levy-20", "random", 0, 2)))
    assert "/" not in text
    assert runner.read(tmp_path / "nothing.jsonl") == []


def test_several_workers_have_their_trials_under_way() -> None:
    problem = catalogue.make("levy-20", 0)
    for n_trials, n_workers in ((9, 4), (3, 8), (5, 1)):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        pending = [
            sum(t.state == optuna.trial.TrialState.RUNNING for t in study.trials)
            for _ in timed_trials(study, problem, n_trials, n_workers)
        ]
        assert len(pending) == n_trials
        assert max(pending, default=0) == min(n_workers, n_trials) - 1
        assert pending[-1] == 0
        assert all(t.state == optuna.trial.TrialState.COMPLETE for t in study.trials)


def test_workers_are_part_of_a_rivals_name() -> None:
    one, many = registry.parse("random"), registry.parse("8*AddGPUCBSampler:published,n_cyc=5")
    assert (one.n_workers, many.n_workers, many.name) == (1, 8, "AddGPUCBSampler")
    assert many.published
    results = [runner.execute(runner.Run("levy-20", r, 0, 6)) for r in ("random", "3*random")]
    assert sorted(results[0]) == sorted(results[1])
    assert results[0]["mean_regret"] == pytest.approx(results[1]["mean_regret"])


@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, time\n"
        "from optuna_hdbo.benchmarks.measure import runner\n"
        "if __name__ == '__main__':\n"
        "    pool = runner._workers(1)\n"
        "    assert pool.submit(os.getpid).result() != os.getpid()\n"
        f"    pool.submit(time.sleep, {2 * PATIENCE})\n"
        "    print('started', flush=True)\n"
        f"    time.sleep({2 * PATIENCE})\n"
    )
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"started\n"
    parent.kill()
    # The worker inherited the pipe: it is at its end when no process is left to write to it.
    parent.communicate(timeout=PATIENCE)
