"""Every example runs, as short as it can."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import ModuleType

import optuna
import pytest

from optuna_hdbo import HDBOSampler


EXAMPLES = Path(__file__).parent.parent / "examples"

SHORT = {
    "hand_over": "HDBOSampler    best of   9 trials",
    "network": "log loss ",
    "own_loop": "round  3: best yield",
    "pipeline": "error ",
}
"""Examples that run three trials of each kind -> what they print then."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_run_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"bamsoo_tree", "quickstart", *SHORT}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_quickstart_resumes_what_it_started(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("plotly")
    quickstart = load("quickstart")
    quickstart.main(n_trials=2)
    first = capsys.readouterr().out
    assert "Study 'hdbo': 0 trials so far, 2 more." in first
    assert "RandomSampler" in first
    assert "optuna-dashboard sqlite:///quickstart.db" in first
    quickstart.main(n_trials=1)
    assert "Study 'random': 2 trials so far, 1 more." in capsys.readouterr().out
    url = f"sqlite:///{here / 'quickstart.db'}"
    for name in ("hdbo", "random"):
        study = optuna.load_study(study_name=name, storage=url)
        assert len(study.trials) == 3
        assert len(study.trials[0].params) >= 12


def test_quickstart_shows_what_was_learned(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    quickstart = load("quickstart")
    monkeypatch.setattr(
        quickstart, "HDBOSampler", functools.partial(HDBOSampler, n_startup_trials=4)
    )
    quickstart.main(n_trials=5)
    assert "Study 'hdbo' has 5 trials" in capsys.readouterr().out
    page = (here / "quickstart.html").read_text(encoding="utf-8")
    assert page.count("Plotly.newPlot(") >= 3
    assert "<script src" not in page  # it needs no network


def test_trees_are_drawn_and_bamsoo_sees_more(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = load("bamsoo_tree")
    trees.main()
    soo, bamsoo = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert bamsoo >= soo
    assert (here / "bamsoo_tree.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", list(SHORT))
def test_short_examples(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(name).main(3)
    assert SHORT[name] in capsys.readouterr().out
