"""Tables of the pages that show samplers beside what papers report, or as a paper has set them."""

from __future__ import annotations

import numpy as np
from formats import listed
from formats import mean_and_error
from formats import quartiles
from kept import Kept


LETHAM = {
    "HeSBOSampler:d=4,n_init=10": (
        "`HeSBOSampler(d=4, n_init=10)`",
        "0.0328 (0.00721, 0.0708)",
        "1.75 ± 0.71",
    ),
    "REMBOSampler:d=2,n_embeddings=4,n_init=2": (
        "`REMBOSampler(d=2, n_embeddings=4, n_init=2)`",
        "0.594 (0.202, 1.55)",
        "1.03 ± 0.16",
    ),
    "ALEBOSampler:published,d=4": (
        "`ALEBOSampler.as_published(d=4)`",
        "0.00387 (0.00145, 0.00822)",
        "0.351 ± 0.21",
    ),
}
"""Sampler -> its name, and the median with quartiles and the mean with its standard error of the
50 runs of Letham et al. (2020)."""


HARTMANN = {
    "HeSBOSampler:d=6,n_init=10": "`HeSBOSampler(d=6, n_init=10)`",
    "HeSBOSampler:d=12,n_init=10": "`HeSBOSampler(d=12, n_init=10)`",
    "REMBOSampler:d=6,n_embeddings=4,n_init=2": "`REMBOSampler(d=6, n_embeddings=4, n_init=2)`",
    "ALEBOSampler:d=12,n_init=10": "`ALEBOSampler(d=12, n_init=10)`",
}
"""Sampler on Hartmann6, with the numbers of coordinates of Letham et al. (2020) -> its name."""

HARTMANN_RUNS = {
    ("HeSBOSampler:d=6,n_init=10", "hartmann6-1000"): ("0.55 (0.24, 1.8)", "12"),
    ("HeSBOSampler:d=12,n_init=10", "hartmann6-1000"): ("0.427 (0.289, 1.27)", "12"),
    ("REMBOSampler:d=6,n_embeddings=4,n_init=2", "hartmann6-1000"): ("1.52 (0.687, 2.34)", "12"),
    ("ALEBOSampler:d=12,n_init=10", "hartmann6-100"): ("0.0532 (0.0334, 0.227)", "11"),
    ("ALEBOSampler:d=12,n_init=10", "hartmann6-1000"): ("0.195 (0.102, 0.465)", "15"),
}
"""Sampler and problem -> the median with quartiles of some of the authors' runs, and how many."""


def beside_letham() -> list[str]:
    """Return rows of the regrets on Branin, beside the results that the authors publish."""
    kept, lines = Kept("embeddings_50"), []
    for rival, (title, median, mean) in LETHAM.items():
        runs = kept.last("branin-100", rival)
        ours = [quartiles(runs), mean_and_error(runs), str(len(runs))]
        lines.append(listed([title, *ours, median, mean]))
    return lines


def beside_letham_on_hartmann() -> list[str]:
    """Return rows of the regrets on Hartmann6, beside those that were read in theirs."""
    kept, lines = Kept("embeddings"), []
    for rival, title in HARTMANN.items():
        for problem in ("hartmann6-100", "hartmann6-1000"):
            runs = kept.last(problem, rival)
            ours = [quartiles(runs), str(len(runs))] if len(runs) else ["", ""]
            theirs = HARTMANN_RUNS.get((rival, problem), ("", ""))
            lines.append(listed([title, problem, *ours, *theirs]))
    return lines


def known_hyperparameters() -> list[str]:
    """Return rows of average regrets on generated functions, with their own kernel known."""
    kept, lines = Kept("gp_mi"), []
    for problem, lengthscale in (("gp-2", 0.2), ("gp-4", 0.4)):
        params = f"kernel_params={{'lengthscale':{lengthscale},'noise':1e-4}}"
        known = f":published,kernel=matern3,{params}"
        rivals = ("GPMISampler{}", "GPMISampler{},exploration=ucb", "EISampler{}")
        runs = [kept.last(problem, rival.format(known), "average_regret") for rival in rivals]
        cells = [mean_and_error(r) for r in runs] + [f"{np.median(r):.3g}" for r in runs]
        lines.append(listed([problem, *cells]))
    return lines
