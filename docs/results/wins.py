"""Who is better than HDBOSampler, and in how many studies."""

from __future__ import annotations

import numpy as np
from formats import counted
from formats import listed
from formats import two_digits
from kept import FloatArray
from kept import Kept


OTHERS = {
    "tpe-default": "`TPESampler`",
    "gp": "`GPSampler`",
    "cmaes": "`CmaEsSampler`",
    "GPUCBSampler": "`GPUCBSampler`",
    "TuRBOSampler": "`TuRBOSampler`",
}
"""The rivals on simulators, and what the page calls them."""

BRANCHING = {
    "tpe-default": "TPE",
    "tpe-group": "TPE, `group=True`",
    "GPUCBSampler": "`GPUCBSampler`",
    "random": "random",
}
"""The same on problems that branch."""

NUMERALS = ("none", "one", "two", "three", "four")


def _gaps(name: str, rival: str) -> FloatArray:
    """Return what a rival's regrets in kept results are larger by, a row per study of both."""
    kept = Kept(name)
    gaps = []
    for problem in kept.problems():
        seeds, regrets = kept.runs(problem, "HDBOSampler")
        of_rival, others = kept.runs(problem, rival)
        gaps.append(others - regrets[[seeds.index(seed) for seed in of_rival]])
    return np.concatenate(gaps)


def studies(name: str) -> list[str]:
    """Return a row for each rival: in how many studies it is better and worse, over trials."""
    rivals = Kept(name).rivals()
    gaps = {title: _gaps(name, rival) for rival, title in OTHERS.items() if rival in rivals}
    return [listed([title, str(len(found)), *counted(found)]) for title, found in gaps.items()]


def branching() -> list[str]:
    """Return a row for each rival: the same on functions that branch and on learners."""
    families = ("branching", "learners")
    return [
        listed([title, *(cell for name in families for cell in counted(_gaps(name, rival)))])
        for rival, title in BRANCHING.items()
    ]


def in_readme() -> list[str]:
    """Return what the README says of the simulators and the valleys."""
    tpe, gp = (_gaps("simulators", rival)[:, -1] for rival in ("tpe-default", "gp"))
    valleys = Kept("valleys")
    n_lost = sum(
        float(np.median(valleys.last(problem, "TuRBOSampler")))
        < float(np.median(valleys.last(problem, "HDBOSampler")))
        for problem in valleys.problems()
    )
    return [
        f"better than `TPESampler` in {(tpe > 0.0).sum()} of {len(tpe)} studies of 200 trials, "
        f"and than `GPSampler` in {(gp > 0.0).sum()} of {len(gp)}.",
        f"better [in {NUMERALS[n_lost]} of {NUMERALS[len(valleys.problems())]} smooth valleys]",
    ]


def on_combinatorial() -> list[str]:
    """Return what is said of HDBOSampler beside its rivals on combinatorial problems."""
    kept = Kept("combinatorial")
    *others, knapsack = kept.problems()

    def share(better: str, worse: str, *names: str) -> str:
        a, b = (np.concatenate([kept.last(n, rival) for n in names]) for rival in (better, worse))
        return f"{int((a < b).sum())} of {len(a)}"

    ours, tpe, other = "HDBOSampler", "tpe-default", "GPUCBSampler"
    pairs, behind, n = [], 0, 0
    for name in (*others, knapsack):
        gp = kept.last(name, "gp")
        own = kept.last(name, ours)[: len(gp)]
        behind, n = behind + int((gp < own).sum()), n + len(gp)
        medians = [two_digits(float(np.median(values))) for values in (own, gp)]
        pairs.append(f"{' : '.join(medians)} on `{name}`")
    return [
        f"better than TPE in {share(ours, tpe, *others)} studies of the first four",
        f"in {share(ours, tpe, knapsack)} of knapsacks",
        f"in {share(other, ours, 'nk-40')} studies of `nk-40`",
        f"in {share(other, ours, 'potts-20')} of `potts-20`",
        f"in {share(other, ours, 'labs-50')} of `labs-50`",
        f"better than `HDBOSampler` in {behind} of {n} studies.",
        f"{', '.join(pairs[:-1])} and {pairs[-1]}",
    ]
