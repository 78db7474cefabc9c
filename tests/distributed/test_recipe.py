"""The recipe of the documentation, as it is written there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
import sqlalchemy
from histories import INTERPRETED
from histories import PATIENCE
from optuna.trial import TrialState
from servers import free_port
from servers import open_storage


PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"


def code(name: str) -> str:
    (found,) = re.findall(rf"<!-- code: {name} -->\n```python\n(.+?)```", PAGE.read_text(), re.S)
    assert isinstance(found, str)
    return found


@pytest.mark.skipif(INTERPRETED, reason="is about processes, which compiled code shares")
def test_the_recipe_for_a_cluster(postgres_url: str) -> None:
    engine = sqlalchemy.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("CREATE DATABASE recipe"))
    engine.dispose()
    pytest.importorskip("grpc")
    url = postgres_url.rsplit("/", 1)[0] + "/recipe"
    port = free_port()
    env = {
        **os.environ,
        "DATABASE_URL": url,
        "PROXY_HOST": "localhost",
        "PROXY_PORT": str(port),
        "TRIALS_PER_WORKER": "5",
        "HOURS": "0",
    }

    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-W", "ignore", "-c", code(name)]
        return subprocess.Popen(command, env=env, stderr=subprocess.PIPE)

    proxy = start("proxy.py")
    try:
        storage = open_storage(f"grpc://localhost:{port}")
        storage.wait_server_ready(timeout=PATIENCE)  # type: ignore[attr-defined]
        for worker in [start("worker.py") for _ in range(2)]:
            _, error = worker.communicate(timeout=PATIENCE)
            assert worker.returncode == 0, error
        study = optuna.load_study(study_name="tune", storage=storage)
        points = {tuple(t.params.values()) for t in study.trials}
        assert len(points) == len(study.trials) == 10
        lost = study.ask()
        lost.suggest_float("x0", -5, 5)
        _, error = (tidy := start("tidy.py")).communicate(timeout=PATIENCE)
        assert tidy.returncode == 0, error
        assert study.trials[lost.number].state == TrialState.FAIL
        assert study.trials[-1].state == TrialState.WAITING
        assert study.trials[-1].system_attrs["fixed_params"] == lost.params
    finally:
        proxy.send_signal(signal.SIGKILL)
        proxy.communicate()
