"""How well interactions are found, and the numbers that say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import structure
from optuna_hdbo.benchmarks.problems import structured


NAMES = ["a", "b", "c", "d", "e"]


def test_equal_groupings_have_the_rand_index_one() -> None:
    groups = [("a", "b"), ("c", "d", "e")]
    assert structure.adjusted_rand(NAMES, groups, groups[::-1]) == 1.0
    assert structure.adjusted_rand(NAMES, [], [("a",)]) == 1.0


def test_the_rand_index_is_that_of_the_contingency_table() -> None:
    """Hubert & Arabie (1985): by pairs within the cells, rows and columns of the table."""
    found = structure.adjusted_rand(NAMES, [("a", "b"), ("c", "d", "e")], [("a", "b", "c")])
    cells, rows, columns = 1.0, 1.0 + 3.0, 3.0
    expected = rows * columns / 10.0
    assert found == pytest.approx((cells - expected) / (0.5 * (rows + columns) - expected))


def test_random_groupings_have_the_rand_index_zero() -> None:
    rng = np.random.default_rng(0)
    names = [str(i) for i in range(12)]
    found = []
    for _ in range(300):
        first, second = rng.permutation(names).tolist(), rng.permutation(names).tolist()
        found.append(structure.adjusted_rand(names, [first[:5]], [second[:4], second[4:7]]))
    assert np.mean(found) == pytest.approx(0.0, abs=0.03)


def test_pairs_are_counted() -> None:
    problem = structured.make("products-12", 0)
    found = structure.assess(problem, structure.studied(problem, "random", 90))
    assert found.right + found.missed == 4
    assert found.n_pairs == 66
    assert found.wrong == 0
    assert found.right >= 3


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(structure, "TRIALS", {12: 20})
    arguments = ["structure", "--problems", "friedman-12,apart-12", "--seeds"]
    assert cli.main([*arguments, "0"]) == 2
    words = ["structure", "--problems", "friedman-12", "--seeds", "0-1"]
    words += ["--out", str(tmp_path / "found.jsonl")]
    assert cli.main(words) == 0
    monkeypatch.setattr(structure, "assess", None)  # what the file has is not measured again
    first = capsys.readouterr().out
    assert cli.main(words) == 0
    second = capsys.readouterr().out
    assert first == second
    lines = first.splitlines()
    assert lines[2].startswith("| friedman-12 | random | 20 | 2 |")
    assert lines[-1].startswith("| all |")


@pytest.mark.parametrize(
    ("names", "labels"),
    [(["singles-12", "nope"], ["random"]), (["singles-12"], ["random", "nope"])],
)
def test_unknown_names_are_refused_before_anything_is_measured(
    names: list[str], labels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structure, "assess", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(ValueError, match="nope"):
        structure.compare(names, labels, [0])
