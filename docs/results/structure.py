"""Tables of what is found where interactions and groups are known, made from the kept results."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
from formats import listed
from kept import read

from optuna_hdbo.benchmarks.measure import groups


def first_groupings() -> list[str]:
    """Return rows of how close first groupings come to the true ones."""
    return groups.rows(read("groups"))


FUNCTIONS = {
    "six with interactions": ("draws", "uneven", "friedman", "twice", "products", "mixed"),
    "one without": ("singles",),
}


def structures() -> list[str]:
    """Return rows of how often known interactions are found."""
    lines = read("structures")
    rows = []
    for title, families in FUNCTIONS.items():
        for sampler in ("random", "tpe"):
            for dim in (12, 30):
                runs = [
                    line
                    for line in lines
                    if line["sampler"] == sampler
                    and line["function"] in {f"{f}-{dim}" for f in families}
                ]
                rows.append(
                    _structure([title, str(dim), "TPE" if sampler == "tpe" else sampler], runs)
                )
    return rows


def _structure(head: list[str], runs: Sequence[Mapping[str, Any]]) -> str:
    right, wrong, missed, n_pairs = (
        sum(run[key] for run in runs) for key in ("right", "wrong", "missed", "n_pairs")
    )
    f1 = f"{2 * right / (2 * right + wrong + missed):.2f}" if right else ""
    rand, seconds = np.mean([r["rand"] for r in runs]), [r["seconds"] for r in runs]
    cells = [str(len(runs)), f1, f"{wrong} of {n_pairs}", f"{rand:.2f}"]
    return listed([*head, *cells, f"{np.median(seconds):.1f} s", f"{max(seconds):.1f} s"])


SAMPLERS = {"random": "random", "tpe": "TPE", "AddGPUCBSampler": "`AddGPUCBSampler`"}


def readme_example() -> list[str]:
    """Return rows of the interactions that are found in the README's example."""
    lines = read("readme_example")
    rows = []
    for sampler, title in SAMPLERS.items():
        for n_trials in (100, 200):
            runs = [
                line
                for line in lines
                if (line["sampler"], line["n_trials"]) == (sampler, n_trials)
            ]
            found = sum(run["group"] for run in runs)
            false = sum(run["false"] for run in runs)
            rows.append(listed([title, str(n_trials), f"{found} of {len(runs)}", str(false)]))
    return rows
