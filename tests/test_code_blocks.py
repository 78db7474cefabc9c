"""Every block of Python in the documentation runs, in the order of its page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from documented import PAGES as DOCUMENTED
from documented import ROOT

import optuna_hdbo


ELSEWHERE = {
    "README.md": "test_the_first_example_runs",
    "docs/contributing.md": "test_the_first_example_runs and test_new_method.py",
    "docs/distributed.md": "distributed/test_recipe.py",
}
"""Pages whose blocks other tests run."""


def blocks(page: Path) -> list[str]:
    """Return the blocks of a page, with as few trials as possible."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^( *)```python\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    code = [textwrap.dedent(block) for _, block in found]
    return [re.sub(r"n_trials=\d+(, show_progress_bar=True)?", "n_trials=4", c) for c in code]


PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in (*DOCUMENTED, *ROOT.glob("*.md"), *ROOT.glob("examples/*/*/*.md"))
    if blocks(path)
}


def objective(trial: optuna.Trial) -> float:
    x, y, z = (trial.suggest_float(name, 0, 1) for name in ("x0", "x1", "x2"))
    return (x - y) ** 2 + z


def finished(sampler: optuna.samplers.BaseSampler, **where: Any) -> optuna.Study:
    study = optuna.create_study(sampler=sampler, **where)
    study.optimize(objective, n_trials=8)
    return study


def selected() -> optuna.Study:
    return finished(optuna_hdbo.VSBOSampler(seed=0, n_startup_trials=5, n_vs=2))


def trained(trial: optuna.Trial) -> Any:
    """Return what a page calls a model."""

    class Model:
        gigabytes = 4.0
        loss = trial.suggest_float("rate", 0, 1)

    return Model


GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    "docs/add-gp-ucb.md": lambda: {"AddGPUCBSampler": optuna_hdbo.AddGPUCBSampler},
    "docs/coming-from.md": lambda: {
        "HDBOSampler": optuna_hdbo.HDBOSampler,
        "optuna": optuna,
        "train": trained,
    },
    "docs/vs-bo.md": lambda: {"study": selected()},
    "docs/which-sampler.md": lambda: {
        "HDBOSampler": optuna_hdbo.HDBOSampler,
        "optuna": optuna,
    },
}
"""What the blocks of a page take for granted, beside an objective and a stored study."""


@pytest.mark.parametrize("name", sorted(PAGES.keys() - ELSEWHERE.keys()))
def test_blocks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    show: list[Any] = []
    if "visualization" in "".join(blocks(PAGES[name])):
        plotly = pytest.importorskip("plotly.graph_objects")
        pytest.importorskip("optuna_dashboard")
        monkeypatch.setattr(plotly.Figure, "show", lambda figure: show.append(figure))
    if "optunahub" in "".join(blocks(PAGES[name])):
        pytest.importorskip("optunahub")
        pytest.skip("test_integrations.py loads the package from its folder")
    stored = {"storage": "sqlite:///tuning.db", "study_name": "tuning"}
    finished(optuna.samplers.RandomSampler(seed=0), **stored)
    namespace: dict[str, Any] = {"objective": objective, **GIVEN.get(name, dict)()}
    for block in blocks(PAGES[name]):
        exec(compile(block, name, "exec"), namespace)
    has_constraints = hasattr(optuna.Trial, "set_constraint")  # from Optuna 5 on
    if "objective" in namespace and name == "docs/coming-from.md" and has_constraints:
        namespace["objective"](optuna.create_study().ask())
    assert (name == "docs/vs-bo.md") == bool(show)


@pytest.mark.parametrize(
    ("page", "start"),
    [("README.md", "import|from"), ("docs/contributing.md", "from optuna_hdbo")],
)
def test_the_first_example_runs(page: str, start: str) -> None:
    found = re.findall(r"```python\n(.+?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    code = "\n".join(block for block in found if re.match(start, block))
    assert code
    # As many trials as it takes until groups are learned, not as many as tuning takes.
    code = code.replace("n_trials=100", "n_trials=5")
    code = code.replace("HDBOSampler(seed=0)", "HDBOSampler(seed=0, n_startup_trials=3)")
    code = code.replace(
        "AddGPUCBSampler(seed=0)",
        "AddGPUCBSampler(seed=0, n_startup_trials=3, update='all_groups')",
    )
    exec(compile(code, page, "exec"), {})


def test_pages_that_other_tests_run_exist() -> None:
    assert ELSEWHERE.keys() <= PAGES.keys()
    assert len(PAGES) >= 12
