"""Photographs of optuna-dashboard with a study of HDBOSampler."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
import tasks

from optuna_hdbo import HDBOSampler
from optuna_hdbo.visualization import report


HASHES = "4"
"""The dashboard shows figures in the order of a set. With these hashes the experts come first."""


def fill(url: str, *, quick: bool) -> None:
    """Store a study with the figures of a report."""
    study = optuna.create_study(
        storage=url,
        study_name="network",
        sampler=HDBOSampler(seed=1, n_startup_trials=3 if quick else 10),
    )
    study.optimize(tasks.network, n_trials=5 if quick else 80)
    report(study)


@contextmanager
def served(*, quick: bool) -> Iterator[str]:
    """Yield the address of a dashboard that shows the study."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder).as_posix()}/study.db"
        fill(url, quick=quick)
        code = f"import optuna_dashboard as d; d.run_server({url!r}, '127.0.0.1', {port})"
        server = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": HASHES},
            stderr=subprocess.DEVNULL,
        )
        try:
            yield _answering(f"http://127.0.0.1:{port}", server)
        finally:
            server.terminate()
            server.wait()


def _answering(address: str, server: subprocess.Popen[bytes]) -> str:
    """Return the address as soon as the server answers there."""
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError("optuna-dashboard has ended.")
        try:
            urllib.request.urlopen(f"{address}/dashboard").close()
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return address
    raise RuntimeError("optuna-dashboard does not answer.")
