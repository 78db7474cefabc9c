"""The arrows between the floors point downward; read from the imports, not from good will."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import optuna_hdbo


ROOT = Path(optuna_hdbo.__file__).parent

OPTUNA_FLOORS = {
    "__main__",
    "_figures",
    "_story",
    "_study",
    "baselines",
    "believed",
    "benchmarks",
    "effects",
    "explanation",
    "importance",
    "interactions",
    "samplers",
    "sharing",
    "structure",
    "visualization",
}
BELOW = {
    "_jit": set(),
    "_core": {"_jit"},
    "methods": {"_core"},
    "portfolio": {"_core", "methods"},
    "_study": {"_core", "methods"},
    "samplers": {"_core", "_study", "methods", "portfolio"},
    "baselines": {"methods", "samplers"},
    "_story": {"_core", "_study", "methods", "portfolio"},
    "_figures": {
        "_core",
        "_story",
        "_study",
        "effects",
        "interactions",
        "portfolio",
        "structure",
    },
    "believed": {"_core", "_study", "importance", "portfolio"},
    "explanation": {"_story"},
    "importance": {"_core", "_study", "methods"},
    "effects": {"_core", "_study", "importance"},
    "interactions": {"_core", "_study", "effects"},
    "sharing": {"_core", "_study", "effects"},
    "structure": {"_core", "_study", "methods", "effects", "interactions", "sharing"},
    "visualization": {
        "_core",
        "_figures",
        "_story",
        "_study",
        "effects",
        "importance",
        "interactions",
        "methods",
        "samplers",
        "structure",
    },
    "__main__": {"_jit"},
    "__init__": {
        "baselines",
        "believed",
        "explanation",
        "importance",
        "interactions",
        "methods",
        "samplers",
        "structure",
        "visualization",
    },
}
"""Floor -> the floors it may import, beside itself. The benchmarks may import anything."""

GROUND = {
    "blas": set(),
    "lazy": set(),
    "calibration": {"observations"},
    "checks": set(),
    "descent": {"domain"},
    "domain": {"lazy"},
    "fronts": {"domain"},
    "memory": {"observations"},
    "observations": {"domain", "lazy", "outputs", "points"},
    "outputs": {"domain"},
    "points": {"domain"},
    "streams": set(),
}
ROOMS = {
    "gp": set(GROUND),
    "variables": {*GROUND, "gp"},
    "models": {*GROUND, "gp", "variables"},
    "tree": {*GROUND, "gp"},
    "acquisition": {*GROUND, "gp", "models"},
    "maximise": {*GROUND, "gp", "models", "acquisition"},
    "embeddings": {*GROUND, "gp", "models", "acquisition", "maximise"},
}
"""Room or file of _core -> those of _core that it may import, beside itself."""


BENCHMARK_ROOMS = {
    "problems": set(),
    "rivals": {"problems"},
    "measure": {"problems", "rivals"},
    "report": {"problems", "rivals"},
}
"""Room of the benchmarks -> those that it may import, beside itself."""


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the parts of a file's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path: Path) -> Iterator[str]:
    """Yield the absolute names that a file imports, wherever in the file."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_point_downward(path: Path) -> None:
    floor = path.parts[0].removesuffix(".py")
    for name in imports(ROOT / path):
        package, *rest = name.split(".")
        if package == "optuna":
            assert floor in OPTUNA_FLOORS, f"{path} imports {name}"
        if package == "scipy":
            assert floor in {"_core", "benchmarks"}, f"{path} imports {name}"
        if package == "numba":
            assert floor == "_jit", f"{path} imports {name}"
        if package == "optuna_hdbo" and rest and floor != "benchmarks":
            assert rest[0] in BELOW[floor] | {floor}, f"{path} imports {name}"
        if package == "optuna_hdbo" and floor == "methods" and rest[0] == "methods":
            allowed = {"base", "loop"} if path.name == "__init__.py" else {"base"}
            assert rest[1] in allowed, f"{path}: a method does not import a method"


def test_private_names_of_optuna_stay_in_one_file() -> None:
    private = {"_storage", "_study_id", "_trial_id", "_get_trials", "_contains"}
    for path in FILES:
        if path.parts[0] == "benchmarks" or path == Path("_study/attributes.py"):
            continue
        for node in nodes(ROOT / path):
            assert not (isinstance(node, ast.Attribute) and node.attr in private), (
                f"{path}:{getattr(node, 'lineno', '?')} touches a private name of Optuna"
            )
        assert not any(
            part.startswith("_")
            for name in imports(ROOT / path)
            if name.startswith("optuna.")
            for part in name.split(".")
        ), path


@pytest.mark.parametrize("path", [p for p in FILES if p.parts[0] == "_core"], ids=str)
def test_rooms_of_core_import_downward(path: Path) -> None:
    if path.name == "__init__.py":
        assert not list(imports(ROOT / path))
        return
    room = path.parts[1].removesuffix(".py")
    allowed = {**GROUND, **ROOMS}[room] | {room}
    for name in imports(ROOT / path):
        if name.startswith("optuna_hdbo._core."):
            assert name.split(".")[2] in allowed, f"{path} imports {name}"


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.parts[0] == "benchmarks" and len(p.parts) > 2], ids=str
)
def test_rooms_of_the_benchmarks_import_downward(path: Path) -> None:
    allowed = BENCHMARK_ROOMS[path.parts[1]] | {path.parts[1], "use_one_thread"}
    for name in imports(ROOT / path):
        if name.startswith("optuna_hdbo.benchmarks."):
            assert name.split(".")[2] in allowed, f"{path} imports {name}"


def test_rooms_do_not_run_in_a_circle_inside() -> None:
    within: dict[str, set[str]] = {}
    for path in FILES:
        module = ".".join(["optuna_hdbo", *path.with_suffix("").parts])
        within[module] = {n.rpartition(".")[0] for n in imports(ROOT / path)} - {module}
    done: set[str] = set()
    while left := {m for m in within if m not in done}:
        free = {m for m in left if not within[m] & left}
        assert free, f"these import each other: {sorted(left)}"
        done |= free


def test_no_folder_and_no_file_is_crowded() -> None:
    folders: dict[Path, int] = {}
    for path in FILES:
        folders[path.parent] = folders.get(path.parent, 0) + (path.name != "__init__.py")
        n_lines = len((ROOT / path).read_text(encoding="utf-8").splitlines())
        assert n_lines <= 350, f"{path} has {n_lines} lines"
    assert {folder: n for folder, n in folders.items() if n > 12} == {}


def test_the_tests_of_core_have_its_rooms() -> None:
    """So that the test of a formula is found where the formula is."""
    tests = Path(__file__).parent / "core"
    for path in tests.rglob("test_*.py"):
        where = path.relative_to(tests).parent
        assert (ROOT / "_core" / where / "__init__.py").exists(), path


def test_no_function_is_longer_than_sixty_lines() -> None:
    for path in FILES:
        for node in nodes(ROOT / path):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
                assert node.end_lineno is not None
                n_lines = node.end_lineno - first.lineno + 1
                assert n_lines <= 60, f"{path}:{node.lineno} {node.name} has {n_lines} lines"
