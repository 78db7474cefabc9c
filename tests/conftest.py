"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import gc
import os


# Before NumPy is imported. Two workers with two threads each wait for each other in every small
# product of matrices, which made the suite several times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import logging
import sqlite3
import sys
import time
from collections.abc import Generator
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import optuna
import pytest
import sqlalchemy
from fakes import STORAGES
from histories import INTERPRETED
from histories import N_EXAMPLES
from histories import PATIENCE
from histories import THOROUGH
from hypothesis.internal.conjecture import providers

from optuna_hdbo.samplers.notices import STRICT


# No test passes because a random point hid an exception, here or in a process started from here.
os.environ[STRICT] = "1"

HERE = Path(__file__).parent

WHOLE = [
    "benchmarks",
    "distributed",
    "jit/test_compile.py",
    "test_docs.py",
    "test_environments.py",
    "test_examples.py",
    "test_hostile.py",
    "test_new_method.py",
    "test_optuna_contract.py",
    "test_pruning.py",
    "test_release.py",
    "test_resume.py",
    "test_samplers.py",
    "test_security.py",
]
"""What is about storages, processes, Optuna and whole studies."""

if INTERPRETED and not THOROUGH:
    # There, loops that are a hundred times slower show nothing but patience. The loops themselves
    # have their tests elsewhere.
    collect_ignore = WHOLE

# The same examples every time: a failure that comes and goes helps nobody.
hypothesis.settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    max_examples=N_EXAMPLES,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # a busy machine is no failure
)
hypothesis.settings.load_profile("suite")
# Hypothesis also tries numbers from the sources of all modules that a worker has imported so far.
# Then examples depend on the order of the tests, and reading the sources takes seconds per worker.
providers._get_local_constants = lambda: providers._local_constants
optuna.logging.set_verbosity(optuna.logging.WARNING)


UNCOMPILED = (
    "test_release",
    "test_compile",
    "problems",
    "test_sampler_base",
    "test_space",
    "test_history",
    "test_layering",
    "test_docs",
)
"""Tests that need nothing compiled, while ``test_environments`` compiles everything for all."""

FIRST = (
    "test_environments",
    *UNCOMPILED,
    # The longest: a worker that began one of them last would be waited for by all others.
    "test_hostile",
    "test_optuna_contract",
    "test_samplers",
    "test_resume",
    "test_method_contract",
    "test_interleaving",
    "test_figures",
    "test_new_method",
    "test_documented_commands",
    "test_soo",
    "test_trees",
    "test_several_objectives",
    "test_constraints",
    "test_security",
)
"""The files and folders that the suite begins with, in this order."""


def pytest_configure(config: pytest.Config) -> None:
    """Allow the features that Optuna's own tests use, and collect without a garbage collector.

    In pyproject.toml, the filter would make pytest import Optuna and NumPy before this file.
    """
    config.addinivalue_line("filterwarnings", "ignore::optuna.exceptions.ExperimentalWarning")
    gc.disable()  # collecting tests makes a million objects and no garbage


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Let one worker collect first: it rewrites the asserts of all files, which others then load.

    Rewriting them takes longer than everything else that a worker does before its first test.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return (yield)
    if worker["workerid"] == "gw0":
        try:
            return (yield)
        finally:
            shared(session.config, "collected").touch()
    wait_for(shared(session.config, "collected"))
    return (yield)


def shared(config: pytest.Config, name: str) -> Path:
    """Return a file by which one worker tells the others that it has done something."""
    return Path(config.option.basetemp).parent / name


def wait_for(path: Path) -> None:
    """Wait for a file of another worker; if that one has died, once for all."""
    deadline = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    path.touch()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let one worker compile, and the others wait for it instead of compiling the same."""
    among_others = hasattr(item.config, "workerinput")
    compiling = rank(item.session.items[0]) == 0 and not INTERPRETED
    if among_others and compiling and rank(item) > len(UNCOMPILED):
        wait_for(shared(item.config, "compiled"))


@sqlalchemy.event.listens_for(sqlalchemy.engine.Engine, "connect")
def without_waiting_for_the_disk(connection: object, _: object) -> None:
    """Tell SQLite not to wait for the disk after every statement: no test ends the system."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF").close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Let the garbage collector work again, on what is made from here on."""
    gc.enable()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have to come first, and keep the order of everything else."""

    items.sort(key=rank)


def rank(item: pytest.Item) -> int:
    names = [part.removesuffix(".py") for part in item.path.parts]
    return next((i for i, name in enumerate(FIRST) if name in names), len(FIRST))


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Let ``caplog`` see the package's lines, which Optuna's logger does not pass on.

    New releases of pytest do so by themselves.
    """
    logger = logging.getLogger("optuna")
    missing = caplog.handler not in logger.handlers
    if missing:
        logger.addHandler(caplog.handler)
    yield
    if missing:
        logger.removeHandler(caplog.handler)


@pytest.fixture
def forgiving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let studies survive exceptions in a method, as they do for users."""
    monkeypatch.delenv(STRICT)


@pytest.fixture(params=list(STORAGES))
def storage(request: pytest.FixtureRequest) -> optuna.storages.BaseStorage:
    return STORAGES[request.param]()
