"""Who is better than HDBOSampler, and in how many studies."""

from __future__ import annotations

import numpy as np
from formats import counted
from formats import listed
from kept import FloatArray
from kept import Kept


SIMULATED = {
    "tpe-default": "`TPESampler`",
    "gp": "`GPSampler`",
    "cmaes": "`CmaEsSampler`",
    "GPUCBSampler": "`GPUCBSampler`",
    "TuRBOSampler": "`TuRBOSampler`",
}
"""The rivals on the simulators, and what the page calls them."""

NUMERALS = ("none", "one", "two", "three", "four")


def _gaps(rival: str) -> FloatArray:
    """Return what a rival's regrets on the simulators are larger by, a row per study of both."""
    kept = Kept("simulators")
    gaps = []
    for problem in kept.problems():
        seeds, regrets = kept.runs(problem, "HDBOSampler")
        of_rival, others = kept.runs(problem, rival)
        gaps.append(others - regrets[[seeds.index(seed) for seed in of_rival]])
    return np.concatenate(gaps)


def simulators() -> list[str]:
    """Return a row for each rival: in how many studies it is better and worse, over trials."""
    rows = []
    for rival, title in SIMULATED.items():
        gaps = _gaps(rival)
        rows.append(listed([title, str(len(gaps)), *counted(gaps)]))
    return rows


def in_readme() -> list[str]:
    """Return what the README says of the simulators and the valleys."""
    tpe, gp = (_gaps(rival)[:, -1] for rival in ("tpe-default", "gp"))
    valleys = Kept("valleys")
    n_lost = sum(
        np.median(valleys.last(problem, "TuRBOSampler"))
        < np.median(valleys.last(problem, "HDBOSampler"))
        for problem in valleys.problems()
    )
    return [
        f"better than `TPESampler` in {(tpe > 0.0).sum()} of {len(tpe)} studies of 200 trials, "
        f"and than `GPSampler` in {(gp > 0.0).sum()} of {len(gp)}.",
        f"better [in {NUMERALS[n_lost]} of {NUMERALS[len(valleys.problems())]} smooth valleys]",
    ]
