"""One server of each kind for all tests of this folder."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from servers import grpc_proxy
from servers import open_storage
from servers import postgres


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture(scope="session")
def proxy_url(postgres_url: str) -> Iterator[str]:
    with grpc_proxy(postgres_url) as url:
        yield url


@pytest.fixture(params=["sqlite", "journal", "postgresql", "grpc"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where several processes may meet; SQL tables are there already."""
    kind: str = request.param
    if kind == "postgresql":
        found = request.getfixturevalue("postgres_url")
    elif kind == "grpc":
        found = request.getfixturevalue("proxy_url")
    else:
        path = tmp_path / "study"
        found = f"sqlite:///{path}" if kind == "sqlite" else f"journal://{path}"
    open_storage(found)
    assert isinstance(found, str)
    return found


_names = itertools.count()


@pytest.fixture
def create_name() -> Callable[[], str]:
    """Names that no other study of the session has."""
    return lambda: f"study {next(_names)}"


@pytest.fixture
def create_study(url: str, create_name: Callable[[], str]) -> Callable[[], optuna.Study]:
    return lambda: optuna.create_study(study_name=create_name(), storage=open_storage(url))
