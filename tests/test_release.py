"""What is published: complete archives, and a package that works with nothing beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest


ROOT = Path(__file__).parent.parent
NOT_PUBLISHED = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "*.nb?", "*.db", "build", "dist", "_build"
)
BUILD = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"

pytestmark = pytest.mark.skipif(
    int(version("setuptools").split(".")[0]) < 77, reason="setuptools is too old to build this"
)


def run(command: list[str], cwd: Path, **env: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**inherited, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source: Path, kind: str, out: Path) -> Path:
    printed = run([sys.executable, "-c", BUILD, f"build_{kind}", str(out)], source)
    return out / printed.splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "clone"
    shutil.copytree(ROOT, source, ignore=NOT_PUBLISHED)
    for name in (".ci", ".pre-commit-config.yaml", ".readthedocs.yaml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    return build(source, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source archive, which must therefore have everything that it takes."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        # Python 3.10 and 3.11 have filters since their later releases only.
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safe)  # type: ignore[arg-type]
    (source,) = folder.iterdir()
    return build(source, "wheel", tmp_path_factory.mktemp("wheel"))


def files(*folders: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and not {"__pycache__", "_build"} & set(path.parts)
        and path.suffix not in {".db", ".pyc"}
    }


def test_the_source_archive_has_tests_pages_and_examples(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    expected = files("optuna_hdbo", "tests", "docs", "examples")
    expected |= {"CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "SECURITY.md"}
    expected |= {".ci/run", "pyproject.toml", "tox.ini"}
    assert expected - found == set()


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        needed = archive.read(metadata).decode()
    assert found == files("optuna_hdbo") - files("optuna_hdbo/benchmarks")  # those are for clones
    assert "optuna_hdbo/py.typed" in found
    assert wheel.stat().st_size < 480_000
    required = [
        line
        for line in needed.splitlines()
        if line.startswith("Requires-Dist") and "extra ==" not in line
    ]
    assert not [line for line in required if "torch" in line]


def test_the_wheel_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Empty but for the dependencies, which are taken from here instead of from the network."""
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], tmp_path)
    script = """
import optuna, optuna_hdbo
study = optuna.create_study(sampler=optuna_hdbo.SOOSampler(seed=0))
study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=9)
print(optuna_hdbo.__file__, len(study.trials))
"""
    # Behind its own packages; .pth files there, such as of an editable install, are not read.
    dependencies = f"import sys; sys.path += {[p for p in sys.path if 'site-packages' in p]!r}\n"
    out = run([python, "-c", dependencies + script], tmp_path, NUMBA_DISABLE_JIT="1")
    path, n_trials = out.split()[-2:]
    assert folder in Path(path).parents
    assert n_trials == "9"


def test_versions_agree() -> None:
    import optuna_hdbo

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {optuna_hdbo.__version__}\n" in citation
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert optuna_hdbo.__version__ in changelog
