"""Examples that need more than the tests do, each where its packages are installed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import optuna
import pytest
from optuna.testing.pytest_samplers import BasicSamplerTestCase
from test_examples import EXAMPLES
from test_examples import load


pytestmark = pytest.mark.filterwarnings("default")  # of packages that are not ours
HUB = EXAMPLES / "optunahub"


def test_boosting_stops_early_and_prunes() -> None:
    pytest.importorskip("lightgbm")
    study = load("integrations/boosting").main(4)
    assert len(study.trials) == 4
    assert all(1 <= trial.user_attrs["rounds"] <= 200 for trial in study.trials)
    assert len(study.trials[0].params) == 12


def test_dask_workers_share_a_study() -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("optuna_integration")
    study = load("integrations/dask_workers").main(16, processes=False)
    assert len(study.trials) == 16
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 16
    assert any("hdbo:expert" in trial.user_attrs for trial in study.trials)


def test_ray_tunes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("ray.tune")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    results = load("integrations/ray_tune").main(3, n_cpus=1)
    assert len(results) == 3
    assert not results.errors


def hub() -> ModuleType:
    optunahub = pytest.importorskip("optunahub")
    module: ModuleType = optunahub.load_local_module("hdbo", registry_root=str(HUB))
    return module


class TestHub(BasicSamplerTestCase):
    """Optuna's own tests of samplers, of the sampler that OptunaHub loads."""

    @pytest.fixture
    def sampler(self) -> Any:
        return hub().HDBOSampler


def test_the_hub_has_what_it_asks_for() -> None:
    readme = (HUB / "hdbo" / "README.md").read_text(encoding="utf-8")
    front = re.match(r"---\n(.*?)\n---\n", readme, re.DOTALL)
    assert front is not None
    entries = dict(line.split(": ", 1) for line in front[1].splitlines())
    assert set(entries) == {
        "author",
        "title",
        "description",
        "tags",
        "optuna_versions",
        "license",
    }
    assert "sampler" in re.split(r"[\[\], ]+", entries["tags"])
    assert entries["license"] == "MIT License"
    for heading in ("Abstract", "APIs", "Installation", "Example"):
        assert f"\n## {heading}\n" in readme
    package = (HUB / "hdbo" / "LICENSE").read_text("utf-8")
    assert package == (EXAMPLES.parent / "LICENSE").read_text("utf-8")


def test_the_example_of_the_hub_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    optunahub = pytest.importorskip("optunahub")
    monkeypatch.setattr(optunahub, "load_module", lambda name: hub())
    example = load("optunahub/hdbo/example")
    module = example.optunahub.load_module("samplers/hdbo")
    study = optuna.create_study(sampler=module.HDBOSampler(seed=0, n_startup_trials=3))
    study.optimize(example.objective, n_trials=4)
    assert len(study.trials[-1].params) == 20
