"""Benchmark commands of the documentation are understood, and run at their smallest settings."""

from __future__ import annotations

import shlex
from concurrent.futures import Executor
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import documented
import pytest
from histories import THOROUGH

from optuna_hdbo.benchmarks import cli
from optuna_hdbo.benchmarks.measure import endurance
from optuna_hdbo.benchmarks.measure import runner
from optuna_hdbo.benchmarks.measure import structure
from optuna_hdbo.benchmarks.rivals import registry


PREFIX = ["python", "-m", "optuna_hdbo.benchmarks"]
TRIALS = {
    "run": "2",
    "constraints": "2",
    "noise": "2",
    "pruning": "2",
    "overhead": "1",
    "endurance": "12",
    "groups": "12",
}


def arguments_of(page: Path) -> list[list[str]]:
    """Return what the benchmark commands of a page are called with."""
    found = [shlex.split(command, comments=True) for command in documented.commands(page)]
    return [words[3:] for words in found if words[:3] == PREFIX]


WRITERS = {
    words[words.index("--out") + 1]: words
    for page in documented.PAGES
    for words in arguments_of(page)
    if words[0] in {"run", "speed"} and "--out" in words
}
"""Name of a results file -> the last command that writes it."""


STATUSES = {"calibration": {2}, "vs_bo": {2}, "--against": {0, 1}}
"""First argument -> the exit statuses that are right, unless it is 0.

Two pages refuse studies of two trials: test_calibration_page.py and test_vs_bo_page.py have longer
ones. And a computer may have become slower.
"""

FINISHED: set[tuple[str, ...]] = set()
"""Commands that have run, or the first of each kind. Many pages have the same ones."""


def shrunk(words: list[str]) -> list[str]:
    """Return a command with one problem, one seed, the smallest size, and few trials."""
    args = cli.make_parser().parse_args(words)
    small = list(words)

    def put(option: str, value: str) -> None:
        if option in small:
            small[small.index(option) + 1] = value
        else:
            small.extend([option, value])

    if args.command in {"run", "endurance", "noise", "pruning"}:
        put("--problems", cli.problem_names(args.problems)[0])
    elif args.command == "structure":
        put(
            "--problems",
            args.problems.split(",")[0].replace("report", "draws-12").replace("-30", "-12"),
        )
    elif args.command == "constraints":
        put("--problems", args.problems.split(",")[0])
    elif args.command == "groups":
        put("--sums", args.sums.split(",")[0])
    if "--seeds" in words:
        put("--seeds", str(cli.parse_seeds(args.seeds)[0]))
    if args.command in TRIALS:
        put("--trials", TRIALS[args.command])
    if args.command in {"overhead", "speed"}:
        put("--sizes", "2x3")
    if args.command == "speed":
        put("--times", "1")
    if "--rivals" in words:
        labels = registry.split(args.rivals)
        put("--rivals", ",".join(label for label in labels if is_installed(label)) or "random")
    return small


def is_installed(label: str, problem: str = "trimodal-10-3-3", seed: int = 0) -> bool:
    """Tell whether the packages of a rival and of a problem are there; the default has groups."""
    try:
        runner.plan([problem], [label], [seed], 2)
    except ValueError as error:
        if "package" not in str(error):
            raise
        return False
    return True


def has_its_packages(words: list[str]) -> bool:
    """Tell whether the packages of a command's problems are there, and of those it reads."""
    args = cli.make_parser().parse_args(words)
    if args.command == "run":
        problem, seed = cli.problem_names(args.problems)[0], cli.parse_seeds(args.seeds)[0]
        return is_installed("random", problem, seed)
    return all(has_its_packages(written) for written in needed(words))


def needed(words: list[str]) -> list[list[str]]:
    """Return the commands that write the files which a command reads."""
    args = cli.make_parser().parse_args(words)
    files = [*getattr(args, "results", ()), getattr(args, "against", None)]
    return [WRITERS[file.name] for file in files if file is not None and not file.exists()]


def pool(n: int = 1, **_: Any) -> Executor:
    """Return a pool that stays in this process: a new one would import everything again."""
    return ThreadPoolExecutor(n)


@pytest.mark.filterwarnings("ignore:greenlet is not installed")  # no time is measured here
@pytest.mark.parametrize(
    "page", [p for p in documented.PAGES if arguments_of(p)], ids=lambda page: page.name
)
def test_benchmark_commands_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "_workers", pool)
    monkeypatch.setattr(endurance, "ProcessPoolExecutor", pool)
    monkeypatch.setattr(structure, "TRIALS", {12: 12, 30: 12})
    for words in filter(has_its_packages, arguments_of(page)):
        small = shrunk(words)  # which refuses what it does not understand
        kind = tuple(small) if THOROUGH else tuple(small[:1])
        if kind not in FINISHED:
            for written in needed(words):
                assert cli.main(shrunk(written)) == 0
            assert cli.main(small) in STATUSES.get(" ".join(small[1:2]), {0}), small
        FINISHED.add(kind)
