"""What the documentation says of commands, parameters and defaults is so."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from documented import DOCS
from documented import PAGES
from documented import ROOT
from exported import BASELINES
from exported import PUBLISHED
from exported import PUBLISHED_BASELINES
from exported import SAMPLERS

import optuna_hdbo
from optuna_hdbo import visualization


DOCUMENTED = {**SAMPLERS, **BASELINES}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)


def command(name: str) -> str:
    found = re.findall(rf"<!-- command: {name} -->\n```bash\n(.+)\n```\n", read("README.md"))
    assert len(found) == 1, f"README.md must have one one-line command '{name}'"
    return str(found[0])


def table(sampler: str) -> dict[str, list[str]]:
    """Return the cells of a page's parameter table by parameter, without code marks."""
    mark = f"<!-- parameters: {sampler} -->\n"
    texts = [
        re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S) for page in PAGES
    ]
    (text,) = (text.split(mark)[1] for text in texts if mark in text)
    rows = text.split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]
    return {name: rest for name, *rest in cells}


def defaults(sampler: str) -> dict[str, Any]:
    parameters = inspect.signature(DOCUMENTED[sampler]).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def test_the_commands_make_environments_of_their_own() -> None:
    quickstart, tests = command("quickstart"), command("tests")
    assert quickstart.startswith("python3 -m venv .venv && ")
    assert quickstart.endswith("examples/quickstart.py")
    assert tests.startswith("python3 -m venv .venv-test && ")
    assert "-m pytest" in tests
    assert quickstart in read("docs/quickstart.md")


def test_continuous_integration_runs_the_readme_command() -> None:
    script = read(".ci/run")
    assert "'/^<!-- command: tests -->$/,/^```$/p' README.md" in script
    for half in ("${command% && *}", "${command##* && }"):
        assert f'bash -euo pipefail -c "{half}"' in script


every_sampler = pytest.mark.parametrize("sampler", list(DOCUMENTED))


@every_sampler
def test_every_parameter_is_described_with_its_default(sampler: str) -> None:
    documented = {name: cells[0] for name, cells in table(sampler).items()}
    assert documented == {name: repr(value) for name, value in defaults(sampler).items()}
    docstring = inspect.getdoc(DOCUMENTED[sampler])
    assert docstring is not None
    assert all(name in docstring for name in documented)


@every_sampler
def test_the_published_settings_are_as_the_page_has_them(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        DOCUMENTED[sampler], "__init__", lambda self, **settings: given.update(settings)
    )
    build = {**PUBLISHED, **PUBLISHED_BASELINES}.get(f"{sampler}, published")
    if build is None or type(build()) is not DOCUMENTED[sampler]:
        return  # the published algorithm is another sampler, which has its own page
    monkeypatch.undo()
    expected = {**defaults(sampler), **given}
    documented = {name: cells[1] for name, cells in table(sampler).items()}
    assert documented == {name: repr(value) for name, value in expected.items()}


def formulas(page: Path) -> list[str]:
    """Return the formulas of a page, in TeX."""
    text = re.sub(r"`[^`\n]+`", "", prose(page))
    blocks = re.findall(r"^\$\$\n(.*?)\n\$\$$", text, re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\$\$\n.*?\n\$\$$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in re.split(r"\\\\\n", block)]
    return lines + re.findall(r"\$([^$\n]+)\$", text)


@pytest.fixture(scope="module")
def mathml() -> Callable[..., str]:
    pytest.importorskip("latex2mathml")
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("docs_mathml", ROOT / "docs" / "mathml.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    write: Callable[..., str] = module.mathml
    return write


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_formulas_are_drawn_without_a_network(page: Path, mathml: Callable[..., str]) -> None:
    """As MathML. Where pages are not built, such as on PyPI, there are no formulas."""
    found = formulas(page)
    assert page.parent.name == "docs" or not found
    for tex in found:
        assert ElementTree.fromstring(mathml(tex)).tag.endswith("}math"), tex


def test_formulas_are_found_and_faulty_ones_refused(mathml: Callable[..., str]) -> None:
    assert len(formulas(ROOT / "docs" / "gp-mi.md")) > 30
    assert "<msqrt>" in mathml(r"\sqrt{\beta_t}")
    for tex in (r"\notacommand{x}", "x_"):
        with pytest.raises(Exception, match="The formula"):
            mathml(tex)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_elsewhere_are_well_formed(page: Path) -> None:
    """Whether they can be reached is checked by ``tox -e links``, which needs a network."""
    for target in re.findall(r"https?://[^\s<>`\"]*", prose(page)):
        link = target.rstrip(").,;:*")
        assert re.fullmatch(r"https://[\w-]+(\.[\w-]+)+(/[\w.~/%-]*)?(#[\w-]+)?", link), link


def test_every_page_is_in_the_table_of_contents_once() -> None:
    texts = [page.read_text("utf-8") for page in PAGES]
    trees = re.findall(r"```{toctree}\n(.*?)```", "".join(texts), re.DOTALL)
    listed = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
    pages = {
        page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if DOCS in page.parents
    } - {"index"}
    assert len(listed) == len(set(listed))
    # A page that was added as contributing.md says is named there.
    assert set(listed) <= pages
    assert pages - set(listed) <= set(
        re.findall(r"<!-- code: docs/(\w+)\.md", read("docs/contributing.md"))
    )


def public_names() -> list[str]:
    figures = [name for name in vars(visualization) if name.startswith("plot_")]
    return [*optuna_hdbo.__all__[1:], *figures, "report"]  # the first one is the version


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_has_a_page(name: str) -> None:
    """One that shows what it is for; the API reference has the rest from the docstrings."""
    value = getattr(optuna_hdbo, name, None) or getattr(visualization, name)
    assert inspect.getdoc(value)
    others = [page for page in PAGES if page.stem not in {"api", "CHANGELOG", "README"}]
    if not inspect.isclass(value) or name.endswith(("Sampler", "Evaluator")):  # not results
        assert any(re.search(rf"\b{name}\b", page.read_text("utf-8")) for page in others)


def test_the_api_reference_has_every_public_module() -> None:
    reference = read("docs/api.md")
    for module in ("optuna_hdbo", "optuna_hdbo.visualization", "optuna_hdbo.methods"):
        assert f".. automodule:: {module}\n   :members:" in reference
