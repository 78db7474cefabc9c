from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import pytest

import optuna_hdbo
from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import clock
from optuna_hdbo.benchmarks.measure import overhead
from optuna_hdbo.benchmarks.measure import runner
from optuna_hdbo.benchmarks.problems import catalogue


def test_run_refuses_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out.jsonl")
    common = ["--rivals", "random", "--out", out]
    assert cli.main(["run", "--problems", "levy-20", "--seeds", "1000", *common]) == 2
    expected = "seed must be in [0, 99] for a reported problem, but got 1000.\n"
    assert capsys.readouterr().err == expected
    assert cli.main(["run", "--problems", "tune", "--seeds", "3", *common]) == 2
    assert "for a tuning problem, but got 3." in capsys.readouterr().err
    assert cli.main(["run", "--problems", "levy-20", "--seeds", "a", *common]) == 2
    assert "seeds must be like 0-4 or 0,2,5-7, but got a." in capsys.readouterr().err
    assert not Path(out).exists()


def test_run_refuses_a_file_that_it_cannot_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "run_all", lambda *_: pytest.fail("a run was started"))
    arguments = ["run", "--problems", "levy-20", "--rivals", "random", "--seeds", "0"]
    assert cli.main([*arguments, "--out", str(tmp_path)]) == 2
    assert f"--out must be a file, but {tmp_path} is a folder.\n" in capsys.readouterr().err
    assert cli.main([*arguments, "--out", str(tmp_path / "no" / "out.jsonl")]) == 2
    error = capsys.readouterr().err
    assert f"--out must be in a folder that exists, but {tmp_path / 'no'} does not.\n" in error


@pytest.mark.parametrize("seeds", ["0-999999999", "0-9999,10000", "5,0-9999"])
def test_a_typing_error_in_the_seeds_is_refused(
    seeds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "--problems", "levy-20", "--rivals", "random", "--seeds", seeds]
    assert cli.main([*arguments, "--out", str(tmp_path / "out.jsonl")]) == 2
    expected = f"seeds must be at most 10000 in number, but got {seeds}.\n"
    assert capsys.readouterr().err == expected


def test_report_and_page_refuse_the_wrong_kind_of_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "a results file is needed" in capsys.readouterr().err
    path = tmp_path / "file"
    path.touch()
    assert cli.main(["page", "bamsoo", "--out", str(path)]) == 2
    assert f"--out must be a folder, but {path} is a file.\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run --problems levy-20 --rivals random --seeds 0 --out {out} --jobs 0", "jobs must be"),
        ("run --problems , --rivals random --seeds 0 --out {out}", "problems must have at least"),
        ("run --problems levy-20 --rivals , --seeds 0 --out {out}", "rivals must have at least"),
        ("constraints --rivals , --seeds 0", "rivals must have at least"),
        ("noise --rivals , --seeds 0", "rivals must have at least"),
        ("pruning --rivals , --seeds 0", "rivals must have at least"),
        ("overhead --rivals ,", "rivals must have at least"),
        ("overhead --rivals nobody", "nobody"),
        ("speed --rivals random --sizes 3x15 --times 0", "times must be"),
        ("groups --seeds 0 --trials abc", "but got 'abc'"),
        ("groups --seeds 0 --trials 200,0", "trials must be an integer of at least 1, but got 0"),
        ("report {results} --plot {folder}/no/x.png", "--plot must be in a folder that exists"),
        ("report {results} --problems nope", "no result matches. The files have problem levy-20;"),
        ("report {results} --rivals nope", "rival random; purpose report."),
        ("report {results} --purpose tune", "no result matches."),
        ("report {empty}", "the files have no results."),
        ("report {several}", "None has a regret: see 'page multi'."),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_done(
    arguments: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = {"rival": "random", "seed": 0, "n_trials": 1, "purpose": "report"}
    numbers = {"regret": [1.0], "mean_regret": 1.0, "cpu": {"per_trial": [0.1]}, "versions": {}}
    files = {
        "results": [{"problem": "levy-20", **key, **numbers}],
        "several": [{"problem": "zdt1", **key, "hypervolume": [1.0]}],
        "empty": [],
    }
    paths = {"out": tmp_path / "out.jsonl", "folder": tmp_path}
    for name, lines in files.items():
        paths[name] = tmp_path / name
        paths[name].write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert cli.main(arguments.format(**paths).split()) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""


def test_all_families_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results"
    for family, names in catalogue.FAMILIES.items():
        key = {"problem": names[0], "rival": "random", "seed": 0, "n_trials": 1}
        purpose = catalogue.purpose_of(names[0])
        numbers = {"regret": [1.0], "mean_regret": 1.0, "cpu": {"per_trial": [0.1]}}
        line = {**key, "purpose": purpose, **numbers, "versions": {}}
        path.write_text(json.dumps(line) + "\n")
        assert cli.main(["report", str(path), "--purpose", purpose]) == 0, family
        assert f"### {names[0]}" in capsys.readouterr().out


def test_run_passes_the_grid_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def run_all(runs: list[runner.Run], out: Path, jobs: int) -> int:
        seen.update(runs=runs, out=out, jobs=jobs)
        return 0

    monkeypatch.setattr(runner, "run_all", run_all)
    out = tmp_path / "out.jsonl"
    arguments = ["--rivals", "random,cmaes", "--seeds", "0,2-3", "--trials", "7", "--jobs", "2"]
    assert cli.main(["run", "--problems", "report", *arguments, "--out", str(out)]) == 0
    runs = seen["runs"]
    assert len(runs) == len(catalogue.NAMES["report"]) * 3 * 2
    assert runs[0] == runner.Run("trimodal-10-3-3", "random", 0, 7)
    assert {run.seed for run in runs} == {0, 2, 3}
    assert (seen["out"], seen["jobs"]) == (out, 2)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    out = capsys.readouterr().out
    for names in catalogue.NAMES.values():
        for name in names:
            assert name in out
    assert "report (seeds 0-99)" in out
    assert "tune (seeds 1000-1999)" in out
    assert "rivals: random, tpe-default" in out


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["overhead", "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(arguments)
    assert "usage: python -m optuna_hdbo.benchmarks" in capsys.readouterr().out


def test_overhead(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]  # on a clock that goes on only where a trial of a rival begins

    def read() -> float:
        return seconds[0]

    def one_more(*_: Any) -> None:
        seconds[0] += 1.0

    def three_more(*_: Any) -> None:
        seconds[0] += 3.0

    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=read, process_time=read))
    monkeypatch.setattr(optuna.samplers.RandomSampler, "before_trial", one_more)
    monkeypatch.setattr(optuna.samplers.TPESampler, "before_trial", three_more)
    arguments = ["--rivals", "random,tpe", "--sizes", "5x12,3x4", "--trials", "2"]
    assert cli.main(["overhead", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in lines[2:]]
    one, three = ["1e+03"] * 6 + ["1", "1"], ["3e+03"] * 6 + ["3", "3"]
    assert cells == [
        ["5", "12", "random", *one],
        ["5", "12", "tpe", *three],
        ["3", "4", "random", *one],
        ["3", "4", "tpe", *three],
    ]


def test_overhead_times_every_trial_of_every_rival() -> None:
    measured = overhead.measure(["random", "cmaes"], overhead.Size(4, 6), n_timed=3)
    assert [row.rival for row in measured] == ["random", "cmaes"]
    for row in measured:
        assert row.wall.shape == row.cpu.shape == row.sampler.shape == (3,)
        assert np.all(row.wall > 0.0)
        assert np.all(row.sampler > 0.0)
        assert np.all(row.sampler < row.cpu)


def test_a_metered_sampler_is_the_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Same points, every callback reaches it, and time is counted even where it raises."""
    calls = []
    seconds = [0.0]  # on a clock that goes on only where the test says so
    monkeypatch.setattr(clock.time, "process_time", lambda: seconds[0])

    class Spy(optuna.samplers.RandomSampler):
        def before_trial(self, *args: Any) -> None:
            calls.append("before")

        def after_trial(self, *args: Any) -> None:
            calls.append("after")
            seconds[0] += 1.0
            if len(calls) == 6:
                raise RuntimeError

        def reseed_rng(self) -> None:
            calls.append("reseed")
            seconds[0] += 10.0

    def objective(trial: optuna.Trial) -> float:
        seconds[0] += 100.0
        return trial.suggest_float("x", 0, 1)

    sampler = clock.Metered(Spy(seed=0))
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(RuntimeError):
        study.optimize(objective, n_trials=3)
    sampler.reseed_rng()
    assert calls == ["before", "after"] * 3 + ["reseed"]
    assert sampler.cpu == 3.0
    plain = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    plain.optimize(objective, n_trials=3)
    assert [t.value for t in study.trials[:2]] == [t.value for t in plain.trials[:2]]
    for build in (optuna_hdbo.SOOSampler, optuna.samplers.TPESampler):
        values = []
        for one in (clock.Metered(build(seed=1)), build(seed=1)):
            other = optuna.create_study(sampler=one)
            other.optimize(objective, n_trials=14)
            values.append([t.value for t in other.trials])
        assert values[0] == values[1]


@pytest.mark.parametrize("size", ["20", "0x5", "5x0", "ax5", "20x", "-1x3"])
def test_overhead_sizes(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["overhead", "--rivals", "random", f"--sizes={size}"]) == 2
    assert f"like 20x150 (parameters x trials), but got {size}." in capsys.readouterr().err


def test_the_command_line_needs_no_optional_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("matplotlib", "tqdm", "botorch", "optunahub", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
    assert cli.main(["list"]) == 0
