"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import os


# Before NumPy is imported. Two workers with two threads each wait for each other in every small
# product of matrices, which made the suite several times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import logging
from collections.abc import Iterator

import hypothesis
import optuna
import pytest
from fakes import STORAGES
from histories import INTERPRETED
from histories import THOROUGH

from optuna_hdbo.samplers.base import STRICT


# No test passes because a random point hid an exception, here or in a process started from here.
os.environ[STRICT] = "1"

if INTERPRETED and not THOROUGH:
    # What is about storages, processes, Optuna and whole studies: there, loops that are a hundred
    # times slower show nothing but patience. The loops themselves have their tests below.
    collect_ignore = [
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

# The same examples every time: a failure that comes and goes helps nobody.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None, max_examples=100)
hypothesis.settings.load_profile("suite")
optuna.logging.set_verbosity(optuna.logging.WARNING)


LONGEST = ("distributed", "test_hostile", "test_samplers", "test_optuna_contract", "test_resume")
"""The files and folders that take longest. A worker that began one of them last would be waited
for by all others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, everything else in its order."""

    def rank(item: pytest.Item) -> int:
        names = [part.removesuffix(".py") for part in item.path.parts]
        return next((i for i, name in enumerate(LONGEST) if name in names), len(LONGEST))

    items.sort(key=rank)


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
