"""Tables of the pages that are not simple grids, made from the kept results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from formats import bold
from formats import counted
from formats import listed
from formats import median_and_largest
from formats import quartiles
from formats import short
from formats import two_digits
from grids import GP_UCB
from kept import FloatArray
from kept import Kept
from kept import read

from optuna_hdbo.benchmarks.report.pages import bamsoo
from optuna_hdbo.benchmarks.report.pages import family
from optuna_hdbo.benchmarks.rivals import registry


def report() -> list[str]:
    """Return rows of regrets on the problems for reporting, problem by problem."""
    kept = Kept("report")
    rows = []
    for problem in kept.problems():
        for rival in kept.rivals():
            seeds, regrets = kept.runs(problem, rival)
            if seeds:
                cells = [quartiles(column) for column in regrets.T]
                rows.append(listed([f"`{rival}`", str(len(seeds)), *cells]))
    return rows


def _curves(kept: Kept, dim: int) -> dict[str, FloatArray]:
    """Return every sampler's regrets on the functions with so many parameters, a row per run."""
    names = [name for name in kept.problems() if name.endswith(f"-{dim}")]
    return {
        rival: np.maximum(
            np.concatenate([kept.runs(name, rival)[1] for name in names]), family.SMALLEST
        )
        for rival in kept.rivals()
    }


BBOB = {
    "HDBOSampler": "`HDBOSampler`",
    "gp": "`GPSampler`",
    "tpe-default": "`TPESampler`",
    "cmaes": "`CmaEsSampler`",
    "GPUCBSampler": "`GPUCBSampler`",
    "MSUCBSampler": "`MSUCBSampler`",
    "AddGPUCBSampler": "`AddGPUCBSampler`",
    "VSBOSampler": "`VSBOSampler`",
    "BaMSOOSampler": "`BaMSOOSampler`",
}
"""The samplers that were run on BBOB, and what the page calls them."""


def bbob() -> list[str]:
    """Return a row of ranks, shares and wins on the BBOB functions for each sampler.

    They are of functions with 10, 20 and 40 parameters, over all instances that were run.
    """
    all_ranks, all_shares, all_wins = [], [], []
    for dim in (10, 20, 40):
        every = _curves(Kept("bbob"), dim)
        curves = {rival: every[rival] for rival in BBOB}
        ranks = family.ranks(curves)
        errors = ranks.std(axis=0) / np.sqrt(len(ranks))
        means = ranks.mean(axis=0)
        shares = np.array([float(p[-1]) for p in shares_reached(curves)])
        last = {rival: regrets[:, -1] for rival, regrets in curves.items()}
        ahead = np.array([(values < last["gp"]).sum() for values in last.values()])
        # Spaces that do not break: browsers would make two lines of each.
        shown = [f"{m:.2f}\u00a0±\u00a0{short(e)}" for m, e in zip(means, errors, strict=True)]
        wins = ["-" if rival == "gp" else str(n) for rival, n in zip(BBOB, ahead, strict=True)]
        all_ranks.append(bold(shown, means == means.min()))
        all_shares.append(bold([short(x) for x in shares], shares == shares.max()))
        all_wins.append(bold(wins, ahead == ahead.max()))
    columns = [*all_ranks, *all_shares, *all_wins]
    return [listed(row) for row in zip(BBOB.values(), *columns, strict=True)]


RIVALS = ("HDBOSampler", "gp", "tpe-default", "cmaes")
"""The samplers that are beside SMAC3 and HEBO in the tables, in this order."""


def beside_smac() -> list[str]:
    """Return the rows of ranks beside SMAC3, on the functions and instances that it has run."""
    kept, others = Kept("smac"), Kept("bbob")
    regrets: dict[str, list[float]] = {rival: [] for rival in (*RIVALS, "smac")}
    for name in kept.problems():
        for seed, regret in zip(*kept.runs(name, "smac"), strict=True):
            regrets["smac"].append(regret[-1])
            for rival in RIVALS:
                seeds, found = others.runs(name, rival)
                regrets[rival].append(found[seeds.index(seed), -1])
    ranks, ahead = _beside(np.array(list(regrets.values())))
    second = f"better than SMAC3 on, of {len(regrets['smac'])}"
    return [listed(["mean rank of five", *ranks]), listed([second, *ahead])]


def beside_hebo() -> list[str]:
    """Return the rows of ranks beside HEBO, which has run fewer trials."""
    curves, rows = _curves(Kept("hebo"), 20), []
    for column, n_trials in enumerate((50, 100)):
        regrets = np.array([curves[rival][:, column] for rival in (*RIVALS, "hebo")])
        ranks, ahead = _beside(regrets)
        rows += [
            listed([f"mean rank of five after {n_trials} trials", *ranks]),
            listed(
                [f"better than HEBO after {n_trials} trials on, of {regrets.shape[1]}", *ahead]
            ),
        ]
    return rows


def _beside(regrets: FloatArray) -> tuple[list[str], list[str]]:
    """Return the mean ranks of samplers, and on how many functions they beat the last one.

    ``regrets`` have a row for each sampler and a column for each run.
    """
    last = np.maximum(regrets, family.SMALLEST)
    ranks = family.ranks({str(i): x[:, None] for i, x in enumerate(last)})
    means, errors = ranks.mean(axis=0), ranks.std(axis=0) / np.sqrt(len(ranks))
    shown = [f"{m:.2f} ± {short(e)}" for m, e in zip(means, errors, strict=True)]
    ahead = (last < last[-1]).sum(axis=1)[:-1]
    return bold(shown, means == means.min()), [*[str(k) for k in ahead], "-"]


def long_studies() -> list[str]:
    """Return rows of who is better than HDBOSampler in long studies of the BBOB functions."""
    curves = {dim: _curves(Kept("long"), dim) for dim in (10, 20)}
    rows = []
    for rival, title in (("cmaes", "`CmaEsSampler`"), ("tpe-default", "`TPESampler`")):
        for dim, regrets in curves.items():
            gaps = regrets[rival] - regrets["HDBOSampler"]
            rows.append(listed([title, str(dim), *counted(gaps)]))
    return rows


def shares_reached(curves: Mapping[str, FloatArray]) -> list[FloatArray]:
    """Return the profiles, from regrets after the startup and after the last trial alone."""
    long = {
        label: np.repeat(regrets, [registry.N_STARTUP_TRIALS, 1], axis=1)
        for label, regrets in curves.items()
    }
    return list(family.profiles(long).values())


def tree_losses() -> list[str]:
    """Return rows of the losses of trees on the functions of the BaMSOO paper."""
    kept = Kept("bamsoo")
    lines = []
    for problem in bamsoo.PROBLEMS:
        for rival in kept.rivals():
            seeds, regrets = kept.runs(problem, rival)
            losses = np.median(np.log10(np.maximum(regrets, bamsoo.FLOOR)), axis=0)
            cells = [f"{loss:.1f}" for loss in losses] + ["—"] * (4 - len(losses))
            name = "the paper's GP-UCB" if rival == GP_UCB else f"`{rival}`"
            lines.append(listed([problem, name, str(len(seeds)), *cells]))
        public = [f"{x:.1f}" for x in bamsoo.BEST_PUBLIC[problem]]
        lines.append(listed([problem, "best public", "1-2", *public]))
    return lines


SEVERAL = ("HDBOSampler", "tpe-default", "nsga2")
"""Samplers whose runs on several objectives have all seeds."""


def _volumes(kept: Kept, name: str, rival: str) -> FloatArray:
    return kept.last(name, rival, "hypervolume")


def hypervolumes(file: str) -> list[str]:
    """Return rows of the last hypervolumes: medians of all seeds.

    Where ``gp`` was run, those of seed 0 as well, the only one that it was run with.
    """
    kept, lines = Kept(file), []
    with_gp = "gp" in kept.rivals()
    for name in kept.problems():
        medians = [float(np.median(_volumes(kept, name, r))) for r in SEVERAL]
        cells = bold([f"{m:.4g}" for m in medians], [m == max(medians) > 0 for m in medians])
        if not with_gp:
            lines.append(listed([f"`{name}`", *cells]))
            continue
        pair = [_volumes(kept, name, r)[:1] for r in ("HDBOSampler", "gp")]
        firsts = [float(p[0]) if len(p) else np.nan for p in pair]
        of_first = ["" if np.isnan(f) else f"{f:.4g}" for f in firsts]
        of_first = bold(of_first, [f == max(firsts) > 0 and len(pair[1]) > 0 for f in firsts])
        lines.append(listed([f"`{name}`", *cells, *of_first]))
    return lines


BRANCHING = {
    "jenatton": "`jenatton`: four leaves of a tree | 60",
    "pipeline": "`pipeline`: three models with six parameters each, and four for all | 120",
    "network": "`network`: one to six layers, a width for each | 100",
}


def conditional() -> list[str]:
    """Return rows of the regrets on problems that branch."""
    kept = Kept("conditional")
    rivals = ("HDBOSampler", "GPUCBSampler", "tpe-default", "tpe-group", "gp", "random")
    return [
        listed([title, *(median_and_largest(kept.last(name, rival)) for rival in rivals)])
        for name, title in BRANCHING.items()
    ]


N_SAMPLES = 569
"""Of the data set of the problem ``models``."""


def models() -> list[str]:
    """Return the rows of the choice of a scikit-learn model."""
    kept = Kept("conditional")
    rivals = ("HDBOSampler", "tpe-default", "tpe-group", "gp", "random")
    errors = np.array([kept.last("models", rival) for rival in rivals])
    more = N_SAMPLES * (errors - errors.min(axis=0)).mean(axis=1)
    return [
        listed(["median error rate", *(f"{m:.4f}" for m in np.median(errors, axis=1))]),
        listed(
            [
                f"wrong samples (of {N_SAMPLES}) more than in the best run of the seed, mean",
                *(f"{m:.1f}" for m in more),
            ]
        ),
    ]


def _found(name: str, problem: str, rival: str) -> list[bool]:
    """Tell of every seed of a results file whether the global optimum was found."""
    return [bool(regret < 0.01) for regret in Kept(name).last(problem, rival)]


def found_optima() -> list[str]:
    """Return what is said of HDBOSampler on Hartmann's and Shekel's functions."""
    few, wells, many = (
        _found("optima", problem, "HDBOSampler")
        for problem in ("hartmann6-6", "shekel-4", "hartmann6-50")
    )
    gp = _found("optima", "hartmann6-50", "gp")
    return [
        f"{sum(few)} of {len(few)} studies on Hartmann's function of 6 parameters, in "
        f"{sum(wells)} of {len(wells)} on Shekel's of 4 parameters, and in {sum(many)} of "
        f"{len(many)} where 44 parameters without effect",
        f"first {len(gp)} of the latter, `HDBOSampler` found it in {sum(many[: len(gp)])} and "
        f"`GPSampler` in {sum(gp)}",
    ]


def beside_bamsoo() -> list[str]:
    """Return what is said of BaMSOOSampler and HDBOSampler on the same functions."""
    tree, tree_wells, portfolio, wells = (
        sum(_found(name, problem, rival)[:40])
        for name, rival in (("bamsoo", "BaMSOOSampler"), ("optima", "HDBOSampler"))
        for problem in ("hartmann6-6", "shekel-4")
    )
    return [
        f"within 200 trials in {tree} of 40 studies, and that of Shekel's in {tree_wells}.",
        f"`HDBOSampler` found them in [{portfolio} and {wells}]",
    ]


def coverage() -> list[str]:
    """Return what is said of the intervals of HDBOSampler."""
    shares = [line["coverage"] for line in read("calibration")]
    low, high = (f"{share:.2f}".removeprefix("0") for share in (min(shares), max(shares)))
    return [f"On {len(shares)} tuning problems, 95 % intervals held {low} to {high} of the values"]


def beside_gp_on_mixed() -> list[str]:
    """Return what is said of GPSampler on mixed spaces."""
    kept = Kept("mixed")
    pairs = {}
    for name in kept.problems():
        # One seed where GPSampler has one; the medians where it has all.
        ours, gp = (
            two_digits(float(np.median(kept.last(name, rival)[: len(kept.last(name, "gp"))])))
            for rival in ("HDBOSampler", "gp")
        )
        pairs[name.removeprefix("mixint-").removesuffix("-20")] = f"{ours} : {gp}"
    ahead = [f"{pairs[name]} on `{name}`" for name in ("ackley-53", "features-100")]
    ahead += [f"{pairs[name]} on {name}" for name in ("f3", "f8", "f10")]
    return [
        f"{', '.join(ahead[:-1])} and {ahead[-1]}",
        f"{pairs['f15']} on f15 and {pairs['f21']} on f21",
    ]


def ahead_in_hypervolume(file: str) -> list[str]:
    """Return what is said of HDBOSampler beside its rivals on several objectives."""
    kept = Kept(file)
    names = kept.problems()
    both = sum(
        float(np.median(_volumes(kept, name, "HDBOSampler")))
        > max(float(np.median(_volumes(kept, name, rival))) for rival in SEVERAL[1:])
        for name in names
    )
    said = [f"is ahead of TPE and NSGA-II on {both} of {len(names)} problems"]
    with_gp = [name for name in names if len(_volumes(kept, name, "gp"))]
    if not with_gp:
        return said
    ahead = sum(
        _volumes(kept, name, "HDBOSampler")[0] > _volumes(kept, name, "gp")[0] for name in with_gp
    )
    ratios = [
        kept.last(name, "gp", "cpu")[0] / kept.last(name, "HDBOSampler", "cpu")[0]
        for name in with_gp
    ]
    return [
        *said,
        f"is ahead of `GPSampler` on {ahead} of {len(with_gp)}",
        f"{min(ratios):.0f} to {max(ratios):.0f} times that of `HDBOSampler`, "
        f"{np.median(ratios):.0f} times at the median",
    ]


def depth_limits() -> list[str]:
    """Return what is said of the two readings of the limit of depth."""
    kept = Kept("depth_limit")
    counts = {}
    for rival in ("SOOSampler", "BaMSOOSampler"):
        for settings in ("", "published"):
            pair = [f"{rival}:{settings}".rstrip(":"), f"{rival}:{settings},depth_limit=fixed"]
            growing, fixed = (
                np.concatenate(
                    [kept.last(name, label.replace(":,", ":")) for name in kept.problems()]
                )
                for label in pair
            )
            counts[rival, settings] = (
                int((fixed < growing).sum()),
                int((fixed > growing).sum()),
                len(fixed),
            )
    (a, b, n), (c, d, m) = counts["SOOSampler", ""], counts["BaMSOOSampler", ""]
    (e, f, p), (g, h, q) = counts["SOOSampler", "published"], counts["BaMSOOSampler", "published"]
    return [
        f'`"fixed"` was better in {a} of {n} runs of SOO and worse in {b}, and better in {c} of '
        f"{m} runs of BaMSOO and worse in {d}",
        f"As published the counts are {e} and {f} of {p}, and {g} and {h} of {q}.",
    ]
