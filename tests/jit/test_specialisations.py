"""Compile time is the first impression: no function is compiled for two kinds of arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import compiled
import pytest


SCRIPT = """
import warnings
import optuna
from compiled import compiled_functions
from optuna_hdbo import AddGPUCBSampler, MSUCBSampler, VSBOSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")

def objective(trial):
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(4)]
    return sum(x) + trial.suggest_int("k", 0, 5) + len(trial.suggest_categorical("c", ["a", "bc"]))

for sampler in (AddGPUCBSampler.as_published(seed=0), MSUCBSampler(seed=0), VSBOSampler(seed=0)):
    optuna.create_study(sampler=sampler).optimize(objective, n_trials=34)
for name, function in compiled_functions():
    print(name, len(function.signatures))
"""


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="NUMBA_DISABLE_JIT is set")
def test_every_function_is_compiled_once(tmp_path: Path) -> None:
    # From an empty cache: functions that compiled ones call show theirs only while compiled.
    path = [str(Path(compiled.__file__).parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    counts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert (
        counts["acquisition.evaluate"] == counts["kernels.fill"] == counts["direct.direct"] == "1"
    )
    assert {name: count for name, count in counts.items() if int(count) > 1} == {}
