"""The worked example of docs/contributing.md: a method that is added as the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from histories import THOROUGH


ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCKS: dict[str, str] = dict(
    re.findall(r"<!-- code: (.+?) -->\n```\w+\n(.+?)\n```\n", PAGE, re.S)
)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, its tests and pages, in which the page was followed."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("optuna_hdbo", "tests", "docs", "examples", ".ci"):
        # With Numba's caches: files keep their times, so that nothing is compiled again.
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("_build"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy2(ROOT / name, folder)
    for name, text in BLOCKS.items():
        if "/" in name:
            assert not (folder / name).exists(), f"{name} is no longer new"
            (folder / name).write_text(text + "\n", encoding="utf-8")
    path = folder / "optuna_hdbo" / "__init__.py"
    package = path.read_text(encoding="utf-8")
    for after, name in (("_MODULES = {\n", "_MODULES"), ("for type checkers\n", "TYPE_CHECKING")):
        assert package.count(after) == 1
        package = package.replace(after, f"{after}{BLOCKS[name]}\n")
    path.write_text(package, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def passed(clone: Path) -> list[str]:
    """The tests that are about the new method, all of which pass: its own, and everybody's."""
    files = [
        "tests/methods/test_thompson.py",
        "tests/methods/test_method_contract.py",
        "tests/test_docs.py",
        "tests/test_layering.py",
        *(["tests/test_optuna_contract.py", "tests/test_samplers.py"] if THOROUGH else []),
    ]
    options = ["-v", "-p", "no:cacheprovider", "-k", "thompson or Thompson"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=clone,
        # Without options that were meant for this run.
        env={**os.environ, "PYTHONPATH": str(clone), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split(" ")[0] for line in done.stdout.splitlines() if " PASSED" in line]


def test_its_own_tests_pass(passed: list[str]) -> None:
    own = [name for name in passed if name.startswith("tests/methods/test_thompson.py::")]
    assert len(own) == BLOCKS["tests/methods/test_thompson.py"].count("\ndef test_") == 4


def test_everybodys_tests_find_it_and_pass(passed: list[str]) -> None:
    """As its own: most of the suite is about every method or every sampler."""
    expected = [
        "tests/methods/test_method_contract.py::test_memory_is_only_a_cache[mixed-thompson]",
        "tests/test_docs.py::test_every_parameter_is_described_with_its_default[ThompsonSampler]",
        "tests/test_layering.py::test_imports_point_downward[methods/thompson.py]",
    ]
    if THOROUGH:
        expected += [
            "tests/test_optuna_contract.py::test_resuming_in_another_storage_is_going_on",
            "tests/test_samplers.py::test_a_sampler_is_far_better_than_random[ThompsonSampler]",
        ]
    for test in expected:
        assert any(name.startswith(test) for name in passed), test


def test_the_page_says_which_files_there_are() -> None:
    assert {name for name in BLOCKS if "/" in name} == {
        "docs/thompson.md",
        "optuna_hdbo/methods/thompson.py",
        "optuna_hdbo/samplers/thompson.py",
        "tests/methods/test_thompson.py",
    }
