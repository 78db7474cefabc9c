"""Where people run things: an empty cache, no place for one, other start methods.

The suite begins with this file, and all other tests load what it compiles.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compiled
import optuna
import pytest
from histories import INTERPRETED

import optuna_hdbo
from optuna_hdbo._jit import kernels


PACKAGE = Path(optuna_hdbo.__file__).parent

STUDY = """
import json, sys
import optuna
import optuna_hdbo

optuna.logging.set_verbosity(optuna.logging.ERROR)

def objective(trial):
    return sum((trial.suggest_float(f"x{i}", 0, 1) - 0.3) ** 2 for i in range(3))

def points(name, n=7):
    study = optuna.create_study(sampler=getattr(optuna_hdbo, name)(seed=0, n_startup_trials=4))
    study.optimize(objective, n_trials=n)
    return [list(trial.params.values()) for trial in study.trials]

NAMES = [name for name in optuna_hdbo.__all__ if name.endswith("Sampler")]
"""
ALL = STUDY + "print(json.dumps({name: points(name) for name in NAMES}))"
ONE = STUDY + 'print(json.dumps({"GPUCBSampler": points("GPUCBSampler")}))'
LITTLE = (
    STUDY
    + """
from optuna_hdbo.baselines import DIRECTSampler  # for which little has to be compiled

optuna_hdbo.DIRECTSampler = DIRECTSampler
print(json.dumps(points("DIRECTSampler", n=9)))
"""
)

START = (
    STUDY
    + """
import multiprocessing

def work(name):
    return points(name)

if __name__ == "__main__":
    here = {name: points(name) for name in NAMES}  # compiled code is loaded before the fork
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(2) as pool:
            there = dict(zip(NAMES, pool.map(work, NAMES)))
        assert there == here, method
    print(json.dumps(here))
"""
)

Points = dict[str, list[list[float]]]


def environment(**changes: str) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "COV_"))}
    return {**inherited, **changes}


def start(script: str, **changes: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", script]
    changes.setdefault("PYTHONPATH", str(PACKAGE.parent))
    return subprocess.Popen(
        command,
        env=environment(**changes),
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Any:
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def usual() -> Points:
    """What all samplers do in the environment of these tests."""
    return finish(start(ALL))


pytestmark = pytest.mark.skipif(INTERPRETED, reason="is about compiled code")


# from an empty cache -----------------------------------------------------------------------------


WARMUP = """
import json
from compiled import compiled_functions
from optuna_hdbo.__main__ import main

assert main(["warmup"]) == 0
print(json.dumps({name: len(function.signatures) for name, function in compiled_functions()}))
"""

SPARED = (
    STUDY
    + """
def mixed(trial):
    value = trial.suggest_int("k", 0, 9) + trial.suggest_float("y", 1, 9, log=True)
    return value + objective(trial) + len(trial.suggest_categorical("c", ["a", "bc", "def"]))

for name in ("AddGPUCBSampler", "VSBOSampler"):  # whose trials change most as studies grow
    study = optuna.create_study(sampler=getattr(optuna_hdbo, name)(seed=0))
    study.optimize(mixed, n_trials=40)
print(json.dumps({name: points(name) for name in NAMES}))
"""
)


@pytest.fixture(scope="module", autouse=True)
def compiled_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file for which other workers wait (``conftest.py``), also if nothing is compiled."""
    path = tmp_path_factory.getbasetemp().parent / "compiled"
    yield path
    path.touch()


@dataclass
class Cold:
    """What the command did that compiles everything, from an empty cache."""

    folder: Path
    said: list[str]
    n_signatures: dict[str, int]


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory, compiled_for_all: Path) -> Cold:
    folder = tmp_path_factory.mktemp("cache") / "named by the user"
    path = os.pathsep.join([str(PACKAGE.parent), str(Path(compiled.__file__).parent)])
    out, error = start(WARMUP, NUMBA_CACHE_DIR=str(folder), PYTHONPATH=path).communicate()
    *said, n_signatures = out.splitlines() or [error]
    hand_over(folder)
    compiled_for_all.touch()
    return Cold(folder, said, json.loads(n_signatures))


def hand_over(folder: Path) -> None:
    """Put compiled code where the rest of the suite looks for it, and does not compile it again.

    The indices come last: what they name has to be there. A function that the suite has already
    compiled is left alone.
    """
    suite = getattr(getattr(kernels.fill, "stats", None), "cache_path", None)
    if suite is None:
        return
    os.makedirs(suite, exist_ok=True)
    there = {path.name for path in Path(suite).glob("*.nbi")}
    for suffix in ("nbc", "nbi"):
        for path in folder.rglob(f"*.{suffix}"):
            index = path.name if suffix == "nbi" else path.name.rsplit(".", 2)[0] + ".nbi"
            if index not in there:
                shutil.copy(path, f"{suite}/{path.name}.new")
                os.replace(f"{suite}/{path.name}.new", f"{suite}/{path.name}")


def test_the_command_says_how_long_it_took_and_where_the_code_is(cold: Cold) -> None:
    announced, first, second = cold.said
    assert announced.startswith("Compiling.")
    assert first.startswith("Compiled or loaded everything in ")
    assert second.startswith(f"The compiled code is cached in {cold.folder}")
    assert len(list(cold.folder.rglob("*.nbi"))) > 20


def test_every_function_is_compiled_once(cold: Cold) -> None:
    """Compile time is the first impression: no function is compiled for two kinds of arguments.

    One is: climbs of one acquisition, which all studies need, and of a sum, for constraints.
    Functions that compiled ones call show theirs only while compiled, hence the empty cache.
    """
    assert len(cold.n_signatures) > 20
    expected = dict.fromkeys(cold.n_signatures, 1)
    if hasattr(optuna.Trial, "set_constraint"):
        expected["ascent.ascend"] = 2
    else:  # before Optuna 5
        expected["acquisition.evaluate_sum"] = expected["acquisition.evaluate_sums"] = 0
    assert cold.n_signatures == expected


def test_after_the_warmup_nothing_is_compiled(cold: Cold, usual: Points) -> None:
    before = {path: path.stat().st_mtime_ns for path in cold.folder.rglob("*.nb?")}
    assert finish(start(SPARED, NUMBA_CACHE_DIR=str(cold.folder))) == usual
    after = {path: path.stat().st_mtime_ns for path in cold.folder.rglob("*.nb?")}
    assert before == after


# from the usual cache ----------------------------------------------------------------------------


def test_without_compilation(usual: Points) -> None:
    """Sums in another order: the same points up to rounding, as far as that carries."""
    interpreted = finish(start(ONE, NUMBA_DISABLE_JIT="1"))
    assert interpreted["GPUCBSampler"][:4] == usual["GPUCBSampler"][:4]
    assert len(interpreted["GPUCBSampler"]) == 7


def as_others_do() -> list[str]:
    """Return what to put before a command, so that permissions hold even for root."""
    if not hasattr(os, "getuid") or os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere, and there is no setpriv to change that")
    return ["setpriv", "--bounding-set", "-dac_override", "--"]


def test_read_only_packages_and_home(tmp_path: Path) -> None:
    """Installed by an administrator, run by an account that may write nothing."""
    prefix = as_others_do()
    home = tmp_path / "home"
    home.mkdir()
    shutil.copytree(
        PACKAGE, tmp_path / "optuna_hdbo", ignore=shutil.ignore_patterns("__pycache__")
    )
    folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]
    try:
        for folder in folders:
            folder.chmod(0o555)
        probe = subprocess.run(
            [*prefix, "touch", str(home / "x")], capture_output=True, check=False
        )
        if probe.returncode == 0:
            pytest.skip("permissions do not hold here")
        done = subprocess.run(
            [*prefix, sys.executable, "-c", LITTLE],
            env=environment(
                PYTHONPATH=str(tmp_path), HOME=str(home), XDG_CACHE_HOME=str(home / ".cache")
            ),
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == finish(start(LITTLE))
    assert list(tmp_path.rglob("__pycache__")) == list(home.iterdir()) == []


def test_start_methods(tmp_path: Path, usual: Points) -> None:
    """Workers forked from a process that has used every sampler, and fresh ones."""
    script = tmp_path / "start.py"
    script.write_text(START)
    done = subprocess.run(
        [sys.executable, str(script), "fork", "spawn"],
        env=environment(PYTHONPATH=str(PACKAGE.parent)),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == usual
