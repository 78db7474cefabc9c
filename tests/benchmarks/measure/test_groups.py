"""Random sums have the groups that are asked for, and learned groupings are compared with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import groups
from optuna_hdbo.benchmarks.measure.groups import SUMS
from optuna_hdbo.benchmarks.measure.groups import Draw
from optuna_hdbo.benchmarks.measure.groups import Found
from optuna_hdbo.benchmarks.measure.lines import Lines


@pytest.mark.parametrize("name", SUMS)
def test_every_parameter_is_in_one_group(name: str) -> None:
    draw, kind = Draw.of(name, 1003, 20), SUMS[name]
    sizes = sorted(map(len, draw.groups), reverse=True)
    inert = kind.dim - sum(kind.sizes)
    assert sizes == sorted([*kind.sizes, *[1] * inert], reverse=True)
    assert sorted(c for group in draw.groups for c in group) == list(range(kind.dim))
    assert draw.X.shape == (20, kind.dim)
    assert (draw.y.mean(), draw.y.std()) == pytest.approx((0.0, 1.0))


def test_a_draw_is_that_of_its_seed() -> None:
    first, second = Draw.of("uneven", 1000, 9), Draw.of("uneven", 1000, 9)
    assert (first.y == second.y).all()
    assert (first.y != Draw.of("uneven", 1001, 9).y).any()
    assert (first.X != Draw.of("large", 1000, 9).X).any()


def test_draws_have_the_covariance_of_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whitened by the true kernel, values are independent and have the variance 1."""
    monkeypatch.setattr(groups, "standardise", lambda y: (y,))
    kind, total = SUMS["rough"], 0.0
    for seed in range(1000, 1030):
        draw = Draw.of("rough", seed, 60)
        true = join(draw.groups[: len(kind.sizes)])  # what follows has no effect
        scales = np.full(len(true), 1.0 / len(kind.sizes))
        kernel = Kernel("matern52", true, np.full(12, 0.3), scales, 1e-3, np.zeros(12, np.bool_))
        K = kernel.gram(draw.X) + 1e-3 * np.eye(60)
        total += float(draw.y @ np.linalg.solve(K, draw.y)) / 60
    assert total / 30 == pytest.approx(1.0, abs=0.1)


def test_the_fit_is_likelier_than_its_start() -> None:
    draw = Draw.of("uneven", 1000, 60)
    true = join(draw.groups)
    scales = np.full(len(true), 1.0 / len(true))
    start = Kernel("matern52", true, np.full(12, 0.5), scales, 1e-3, np.zeros(12, np.bool_))
    found = groups.best_likelihood("matern52", draw, draw.groups)
    assert found > log_likelihood(start, draw.X, draw.y)[0]


def test_what_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Draw.of("uneven", 1000, 30)
    monkeypatch.setattr(groups, "learned", lambda kernel, draw: draw.groups[::-1])
    same = groups.assess("uneven", 1000, 30)
    assert (same.rand, same.likelihood, same.posterior) == (1.0, 0.0, 0.0)
    monkeypatch.setattr(groups, "learned", lambda kernel, draw: [[c] for c in range(12)])
    monkeypatch.setattr(
        groups, "best_likelihood", lambda kernel, draw, found: 10.0 * (found == draw.groups)
    )
    alone = groups.assess("uneven", 1000, 30)
    assert alone.rand == 0.0
    assert alone.likelihood == -10.0
    assert alone.posterior == pytest.approx(-10.0 + 4 * np.log(66), abs=1e-3)
    assert sum(len(group) - 1 for group in draw.groups) == 4


def test_the_groups_of_the_sampler_are_learned() -> None:
    found = groups.learned("matern52", Draw.of("uneven", 1000, 60))
    assert sorted(c for group in found for c in group) == list(range(12))
    assert max(map(len, found)) <= 5


def test_rows_count_what_is_below_a_nat() -> None:
    lines = [
        {"sum": "large", "n_trials": 200, "seed": s, **vars(Found(1.0 - s, x, 2.0 * x, 0.5))}
        for s, x in enumerate([-0.9, -1.1])
    ]
    row = "| 200 | 2 | 0.50 | 0.00 | -1.1 | 1 | -2.2 | 2 | 0.5 s |"
    assert groups.rows(lines) == [f"| large {row}", f"| all {row}"]


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(groups, "assess", lambda *_: Found(1.0, 0.0, 0.0, 0.1))
    out = tmp_path / "groups.jsonl"
    words = ["groups", "--sums", "uneven,large", "--seeds", "0-1", "--trials", "200,300"]
    assert cli.main([*words, "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 8
    assert len(capsys.readouterr().out.splitlines()) == 2 + 6
    monkeypatch.setattr(groups, "assess", None)  # what the file has is not measured again
    assert cli.main([*words, "--out", str(out)]) == 0
    assert cli.main(["groups", "--sums", "uneven,odd", "--seeds", "0"]) == 2
    assert "but got odd" in capsys.readouterr().err
    assert cli.main(["groups", "--seeds", "0", "--trials", "1"]) == 2
    assert "but got 1" in capsys.readouterr().err


def test_other_files_are_not_appended_to(tmp_path: Path) -> None:
    out = tmp_path / "notes.txt"
    out.write_text("by hand")
    with pytest.raises(ValueError, match=r"notes\.txt is no file of JSON lines"):
        Lines(out)
    assert out.read_text() == "by hand"


@pytest.mark.parametrize("text", ["5", "[1, 2]", '{"a": 1}\nx\n{"a": 2}'])
def test_lines_of_other_things_are_refused(text: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text(text)
    with pytest.raises(ValueError, match="is no file of JSON lines"):
        Lines(out)


def test_half_written_lines_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text('{"a": 1, "b": 2}\n{"a": 2, "b"')
    lines = Lines(out)
    assert "Line 2 of out.jsonl is incomplete" in capsys.readouterr().err
    assert lines.get({"a": 1}, lambda: pytest.fail("it was known"))["b"] == 2
    assert lines.get({"a": 2}, lambda: {"b": 3})["b"] == 3
    capsys.readouterr()
    assert json.loads(out.read_text().splitlines()[-1]) == {"a": 2, "b": 3}
    again = Lines(out)  # the half-written one is in the middle now
    assert again.get({"a": 2}, lambda: pytest.fail("it was known"))["b"] == 3
    out.write_text('{"a": 1')
    assert Lines(out).get({"a": 1}, lambda: {"b": 4})["b"] == 4
