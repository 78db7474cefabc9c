"""Times of kernels and trials are compared with earlier ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import speed
from optuna_hdbo.benchmarks.measure.overhead import Size


def test_a_file_of_times_is_written_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "before.json"
    command = ["speed", "--sizes", "2x12", "--times", "1", "--rivals", "SOOSampler"]
    assert cli.main([*command, "--out", str(before)]) == 0
    times = json.loads(before.read_text("utf-8"))
    assert len(times) == len(speed.kernels(Size(2, 12))) + 1
    assert all(ms >= 0.0 for ms in times.values())
    before.write_text(json.dumps(dict.fromkeys(times, 1e9)), "utf-8")
    assert cli.main([*command, "--against", str(before)]) == 0
    slow = "2 parameters, 12 trials: trial of SOOSampler"
    before.write_text(json.dumps({**dict.fromkeys(times, 1e9), slow: -1.0}), "utf-8")
    capsys.readouterr()
    assert cli.main([*command, "--against", str(before)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"Slower than before: {slow}"


def test_only_what_is_clearly_slower_is_worse() -> None:
    earlier = {"a": 1.0, "b": 1.0, "gone": 1.0}
    assert speed.worse({"a": 1.25, "b": 1.4, "new": 9.0}, earlier) == ["b"]
    assert "| b | 1.4 | 1 | 1.40 |" in speed.table({"b": 1.4}, earlier)
    assert "| new | 9 | | |" in speed.table({"new": 9.0}, earlier)


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": null}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match="must be a file that --out has written"):
        speed.read(path)
