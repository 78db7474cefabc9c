"""Tables of who is better than HDBOSampler, and in how many studies."""

from __future__ import annotations

import numpy as np
from formats import listed
from kept import Kept


SIMULATED = {
    "tpe-default": "`TPESampler`",
    "gp": "`GPSampler`",
    "cmaes": "`CmaEsSampler`",
    "GPUCBSampler": "`GPUCBSampler`",
    "TuRBOSampler": "`TuRBOSampler`",
}
"""The rivals on the simulators, and what the page calls them."""


def simulators() -> list[str]:
    """Return a row for each rival: in how many studies it is better and worse, over trials."""
    kept = Kept("simulators")
    rows = []
    for rival, title in SIMULATED.items():
        gaps = []
        for problem in kept.problems():
            seeds, regrets = kept.runs(problem, "HDBOSampler")
            of_rival, others = kept.runs(problem, rival)
            gaps += [
                other - regrets[seeds.index(s)] for s, other in zip(of_rival, others, strict=True)
            ]
        better, worse = (np.array(gaps) < 0.0).sum(axis=0), (np.array(gaps) > 0.0).sum(axis=0)
        counts = [f"{a} : {b}" for a, b in zip(better, worse, strict=True)]
        rows.append(listed([title, str(len(gaps)), *counts]))
    return rows
