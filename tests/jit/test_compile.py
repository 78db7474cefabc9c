"""What is compiled: cached by the content of all sources, and without a cache if need be."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from compiled import compiled_functions
from compiled import entry
from histories import thorough

from optuna_hdbo._jit import compile as jit
from optuna_hdbo._jit import radial


CALLEE = """
from optuna_hdbo._jit.compile import compiled

@compiled
def callee(x):
    return x + 1.0
"""
CALLER = """
import math
from optuna_hdbo._jit.callee import callee
from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.compile import compiled_in_order

@compiled
def caller(x):
    return math.nan if math.isnan(x) else callee(x)

@compiled_in_order
def cancels(x):
    return (x + 1e30) - 1e30
"""
SCRIPT = """
from optuna_hdbo._jit.caller import caller, cancels
value, nan, zero = caller(1.0), caller(float("nan")), cancels(1.0)
print(value, nan, zero, sum(caller.stats.cache_hits.values()), caller.stats.cache_path)
"""


LOUD = f"import logging, sys; logging.basicConfig(level='INFO', stream=sys.stdout){SCRIPT}"


def make_package(parent: Path) -> Path:
    """Return a copy of the compiled sources, with two small ones added."""
    folder = parent / "optuna_hdbo" / "_jit"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    for path in Path(jit.__file__).parent.glob("*.py"):
        shutil.copy(path, folder)
    (folder / "callee.py").write_text(CALLEE)
    (folder / "caller.py").write_text(CALLER)
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources for all tests, which leave them as they are."""
    return make_package(tmp_path_factory.mktemp("package"))


@dataclass
class Cold:
    """What a process said that had an empty cache, and the cache that it left."""

    said: list[str]
    folder: Path


@pytest.fixture(scope="module")
def cold(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Cold:
    folder = tmp_path_factory.mktemp("cache") / "cold"
    script = f"{LOUD}\nfrom optuna_hdbo._jit.callee import callee\nprint(callee(1))"
    return Cold(run(package, script, NUMBA_CACHE_DIR=str(folder)), folder)


@pytest.fixture
def cache(cold: Cold, tmp_path: Path) -> Path:
    """A cache with everything that two processes with the same sources compile."""
    return Path(shutil.copytree(cold.folder, tmp_path / "cache"))


def start(package: Path, script: str = SCRIPT, **env: str) -> subprocess.Popen[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "COV_"))}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script],
        env={**inherited, "PYTHONPATH": str(package.parents[1]), **env},
        cwd=package.parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, error = process.communicate()
    assert process.returncode == 0, error
    return out.split()


def run(package: Path, script: str = SCRIPT, **env: str) -> list[str]:
    return finish(start(package, script, **env))


def test_an_empty_cache_is_filled(cold: Cold) -> None:
    assert cold.said[-6:-2] == ["2.0", "nan", "0.0", "0"]
    assert len(list(cold.folder.glob("**/*.nbc"))) == 4


def test_an_upgraded_callee_is_not_served_stale(package: Path, cache: Path) -> None:
    env = {"NUMBA_CACHE_DIR": str(cache)}
    assert run(package, **env)[:4] == ["2.0", "nan", "0.0", "1"], "unchanged: from the cache"
    callee = package / "callee.py"
    kept = shutil.copy2(callee, cache / "callee.py")
    try:
        callee.write_text(CALLEE.replace("1.0", "2.0"))
        assert run(package, **env)[:4] == ["3.0", "nan", "0.0", "0"]
    finally:
        shutil.copy2(kept, callee)


def test_without_a_folder_for_the_cache(tmp_path: Path) -> None:
    """As in a read-only tree with no home; files where folders should be stop even root."""
    package = make_package(tmp_path)
    (package / "__pycache__").touch()
    nowhere = str(package / "caller.py")
    done = run(
        package, HOME=nowhere, XDG_CACHE_HOME=nowhere, LOCALAPPDATA=nowhere, IPYTHONDIR=nowhere
    )
    assert done == ["2.0", "nan", "0.0", "0", "None"]


@pytest.mark.parametrize("content", [b"?"])
def test_spoiled_files_are_compiled_anew(package: Path, cache: Path, content: bytes) -> None:
    env = {"NUMBA_CACHE_DIR": str(cache)}
    for path in cache.glob("**/*.nbc"):
        path.write_bytes(content)
    assert run(package, **env)[:3] == ["2.0", "nan", "0.0"]
    for path in cache.glob("**/*.nbi"):
        path.write_bytes(content)
    assert run(package, **env)[:4] == ["2.0", "nan", "0.0", "0"]
    assert run(package, **env)[:4] == ["2.0", "nan", "0.0", "1"], "mended"


@pytest.mark.parametrize("race", range(int(os.environ.get("HDBO_RACES", "1"))))
def test_two_processes_compile_at_once(package: Path, tmp_path: Path, race: int) -> None:
    """From one empty cache: they take the same names for the files of the same functions."""
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    both = [start(package, **env) for _ in range(2)]
    assert [finish(process)[:3] for process in both] == [["2.0", "nan", "0.0"]] * 2
    assert run(package, **env)[:4] == ["2.0", "nan", "0.0", "1"]


@thorough
def test_a_folder_that_vanishes_is_done_without(package: Path, tmp_path: Path) -> None:
    """Between the import and the first call: a full disk, a cleaned-up temporary folder."""
    folder = tmp_path / "cache"
    vanish = f"import shutil; shutil.rmtree({str(folder)!r}); open({str(folder)!r}, 'w').close()\n"
    first, rest = SCRIPT.strip().split("\n", 1)
    done = run(package, f"{first}\n{vanish}{rest}", NUMBA_CACHE_DIR=str(folder))
    assert done[:4] == ["2.0", "nan", "0.0", "0"]


def exchange(one: Path, two: Path) -> None:
    content = one.read_bytes(), two.read_bytes()
    two.write_bytes(content[0])
    one.write_bytes(content[1])


def test_files_of_another_signature_are_not_run(package: Path, cache: Path) -> None:
    """Two processes may give the same name to code for different arguments."""
    exchange(*cache.glob("**/*callee*.nbc"))
    script = "from optuna_hdbo._jit.callee import callee\nprint(callee(1.5), callee(3))"
    assert run(package, script, NUMBA_CACHE_DIR=str(cache)) == ["2.5", "4.0"]


@thorough
def test_files_of_another_function_are_not_run(package: Path, cache: Path) -> None:
    """Even of the same signature: it may read arrays of other shapes."""
    exchange(*cache.glob("**/*callee*.1.nbc"), *cache.glob("**/*cancels*.1.nbc"))
    script = (
        "from optuna_hdbo._jit.caller import cancels\n"
        "from optuna_hdbo._jit.callee import callee\n"
        "print(callee(1.0), cancels(1.0))"
    )
    assert run(package, script, NUMBA_CACHE_DIR=str(cache)) == ["2.0", "0.0"]


@pytest.mark.parametrize(
    "function",
    [pytest.param(value, id=name) for name, value in compiled_functions()] or [None],
)
def test_options(function: Any) -> None:
    """Threads run beside each other, NaN and inf keep their meaning, all sources are the key."""
    if function is None:
        pytest.skip("NUMBA_DISABLE_JIT is set")
    options = function.targetoptions
    assert options["nogil"]
    assert options["error_model"] == "numpy"
    assert not options.get("parallel", False)
    assert not options["fastmath"] or options["fastmath"] == {"reassoc", "contract"}
    assert function.py_func.__qualname__.endswith(jit._DIGEST)


def test_python_cannot_call_what_only_compiled_code_may() -> None:
    """Not even where it has been compiled for these arguments. The process would crash."""
    if not hasattr(radial.exp, "py_func"):
        pytest.skip("NUMBA_DISABLE_JIT is set")
    assert entry(radial.exp)(-1.0) == pytest.approx(math.exp(-1.0))
    assert radial.exp.signatures
    with pytest.raises(TypeError, match="Only compiled code can call exp"):
        radial.exp(-1.0)


def test_the_first_compilation_is_announced_once(package: Path, cold: Cold) -> None:
    """One line for several functions; none where they are in the cache."""
    said = " ".join(cold.said)
    assert said.count("INFO:optuna.optuna_hdbo._jit.compile:Numba compiles") == 1
    assert "INFO" not in " ".join(run(package, LOUD, NUMBA_CACHE_DIR=str(cold.folder)))


@thorough
def test_functions_of_others_are_compiled_in_silence(package: Path) -> None:
    script = """
import logging, sys
logging.basicConfig(level="INFO", stream=sys.stdout)
import optuna_hdbo._jit.compile
from numba import njit
print(njit(lambda x: x + 1)(1))
"""
    assert run(package, script) == ["2"]
