"""Keep what the tables of the pages need of a benchmark's results, and read it again.

    python docs/results/kept.py embeddings emb.jsonl --at 200

writes ``docs/results/embeddings.jsonl``: a line for each problem and sampler, with the numbers of
every seed. Other lines of the file stay. ``--measure`` says which numbers: ``regret`` or
``average_regret`` after the trials of ``--at``, the last ``hypervolume``, or ``cpu``, the CPU
seconds of a whole run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


FOLDER = Path(__file__).resolve().parent

FloatArray = NDArray[np.float64]

DIGITS = 5
"""Of a regret. The tables have at most three."""

MEASURES = ("regret", "average_regret", "hypervolume", "cpu")


def keep(
    results: Iterable[Mapping[str, Any]], measure: str, at: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the lines of a file: the numbers of every problem, sampler and seed.

    A run that was repeated counts once, and the last one counts.
    """
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for run in results:
        line = lines.setdefault(
            (run["problem"], run["rival"]),
            {"problem": run["problem"], "rival": run["rival"], "measure": measure, "runs": {}},
        )
        if measure == "cpu":
            numbers = [run["cpu"]["total"]]
        elif measure == "hypervolume":
            numbers = run[measure][-1:]
        else:
            numbers = [float(f"{run[measure][t - 1]:.{DIGITS}g}") for t in at]
            line["at"] = list(at)
        line["runs"][str(run["seed"])] = numbers
    return list(lines.values())


def read(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file of this folder, which is named without its ending."""
    text = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


class Kept:
    """The results of a file of this folder.

    Parameters
    ----------
    name : str
        Of the file, without its ending.
    """

    def __init__(self, name: str) -> None:
        self.lines = read(name)

    def problems(self) -> list[str]:
        """Return the problems in their order."""
        return list(dict.fromkeys(line["problem"] for line in self.lines))

    def rivals(self) -> list[str]:
        """Return the samplers in their order."""
        return list(dict.fromkeys(line["rival"] for line in self.lines))

    def runs(
        self, problem: str, rival: str, measure: str = "regret"
    ) -> tuple[list[int], FloatArray]:
        """Return the seeds, and the numbers, shape (seeds, trials of ``at``).

        Both are empty where there are no runs.
        """
        for line in self.lines:
            if (line["problem"], line["rival"], line["measure"]) == (problem, rival, measure):
                seeds = sorted(map(int, line["runs"]))
                return seeds, np.array([line["runs"][str(seed)] for seed in seeds], np.float64)
        return [], np.empty((0, 1))

    def last(self, problem: str, rival: str, measure: str = "regret") -> FloatArray:
        """Return the numbers after the last trial, shape (seeds,)."""
        return self.runs(problem, rival, measure)[1][:, -1]


def write(name: str, new: Sequence[dict[str, Any]]) -> None:
    """Write lines into a file of this folder, in place of those of the same runs."""
    path = FOLDER / f"{name}.jsonl"
    old = read(name) if path.exists() else []
    lines = {(line["problem"], line["rival"], line["measure"]): line for line in [*old, *new]}
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines.values())
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the command line."""
    from optuna_hdbo.benchmarks.measure import runner

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("name", help="of the file in docs/results, without its ending")
    parser.add_argument("results", type=Path, nargs="+", help="results files of benchmarks")
    parser.add_argument("--measure", default="regret", choices=MEASURES)
    parser.add_argument("--at", default="200", help="trials, such as 50,100,200")
    args = parser.parse_args()
    results = [run for path in args.results for run in runner.read(path)]
    write(args.name, keep(results, args.measure, [int(t) for t in args.at.split(",")]))


if __name__ == "__main__":
    main()
