"""Every figure of the documentation can be drawn again by the documented command."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import optuna
import pytest
from documented import DOCS
from documented import PAGES
from histories import some


pytest.importorskip("matplotlib")
pytest.importorskip("plotly")

FIGURES = DOCS / "figures"
IN_A_BROWSER = {"dashboard_study", "dashboard_trial"}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"figures_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make() -> Iterator[ModuleType]:
    before = set(sys.modules)
    sys.path.insert(0, str(FIGURES))
    try:
        yield load(FIGURES / "make.py")
    finally:
        sys.path.remove(str(FIGURES))
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None)
            if origin is not None and FIGURES in Path(origin).parents:
                del sys.modules[name]


@pytest.fixture(scope="module")
def one_dashboard(make: ModuleType) -> Iterator[None]:
    """Serve one dashboard to all of its photographs."""
    dashboard: Any = importlib.import_module("dashboard")
    with dashboard.served(quick=True) as address, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dashboard, "served", lambda *, quick: nullcontext(address))
        yield


NAMES = sorted(path.stem for path in FIGURES.glob("*/*.py"))


@pytest.mark.parametrize("name", some(NAMES, 6))
def test_every_script_draws_its_figure(
    name: str, make: ModuleType, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    import browser

    if name in IN_A_BROWSER:
        pytest.importorskip("optuna_dashboard")
        if browser.find() is None:
            pytest.skip("there is no browser")
        request.getfixturevalue("one_dashboard")
    if name == "constraints" and not hasattr(optuna.Trial, "set_constraint"):
        pytest.skip("needs Optuna 5")
    path = make.draw(name, tmp_path, quick=True)
    assert path.parent == tmp_path
    assert path.stem == name
    assert path.stat().st_size > 2000


def test_a_misspelt_name_is_refused(make: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make.main(["grops"])
    assert "there are no figures grops" in capsys.readouterr().err


def test_images_and_scripts_are_the_same_and_are_shown() -> None:
    images = {path.stem for path in (DOCS / "images").glob("*.png")}
    assert images == set(NAMES)
    assert len(images) >= 10
    pages = [page for page in PAGES if page.stem != "CHANGELOG"]
    shown = re.findall(r"images/(\w+)\.png", "".join(p.read_text("utf-8") for p in pages))
    assert set(shown) == images
    assert all(path.stat().st_size < 150_000 for path in (DOCS / "images").iterdir())


def test_stored_results_are_shrunk_without_loss(make: ModuleType) -> None:
    regret: Any = importlib.import_module("methods.regret")
    keep: Any = importlib.import_module("keep")
    result = {
        "problem": "levy-20",
        "rival": "gp",
        "seed": 3,
        "n_trials": 14,
        "regret": [5.0, 5.0, 3.0, 3.0, 2.5] + [2.5] * 9,
        "cpu": {"per_trial": [9.0] * 10 + [0.001, 0.002, 0.003, 0.002]},
    }
    (kept,) = json.loads(json.dumps(keep.keep([result, result])))
    assert regret.curve(kept).tolist() == result["regret"]
    assert kept["ms"] == 2.0
    assert kept["improvements"] == [[0, 5.0], [2, 3.0], [4, 2.5]]


def test_tables_of_pages_are_read(make: ModuleType) -> None:
    cells: Any = importlib.import_module("cells")
    (_, rows), *_ = cells.tables("ms-ucb", "sampler")
    assert len(rows) == 6
    assert cells.spread(rows[0]["ackley-50"]) == (19.1, 15.7, 20.2)
    assert cells.spread("7.3") == (7.3, 7.3, 7.3)
    assert cells.spread("3.64e+03 (2.88e+03, 4.75e+03), 10 seeds") == (3640, 2880, 4750)
    assert (cells.number("-2.5"), str(cells.number("—"))) == (-2.5, "nan")
    _, rows = cells.tables("gp-mi", "problem", "GP-MI", "GP-UCB")[0]
    assert rows[0]["GP-UCB"] == "0.247 ± 0.042"  # without emphasis; the first such column
    with pytest.raises(ValueError, match="no table"):
        cells.tables("gp-mi", "nothing")
