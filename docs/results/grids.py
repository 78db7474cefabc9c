"""Tables with a row per sampler and a column per problem, or the other way round."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass

from formats import listed
from formats import mean_and_error
from formats import median_and_largest
from formats import only
from formats import quartiles
from formats import three_digits
from kept import FloatArray
from kept import Kept


Cell = Callable[[FloatArray], str]
"""Numbers of the runs, shape (seeds,) -> text."""


@dataclass(frozen=True)
class Grid:
    """A table with a row per sampler and a column per problem, or the other way round.

    Parameters
    ----------
    file : str
        The kept results, see :class:`kept.Kept`.
    page : str
        The page that has the table.
    rivals, problems : mappings of str to str
        Samplers and problems -> what the page calls them, in the order of the table.
    cell : Cell
    by_problem : bool
        Whether the rows are problems.
    measure : str
    n_seeds : int
        At most so many seeds count, the first ones.
    """

    file: str
    page: str
    rivals: Mapping[str, str]
    problems: Mapping[str, str]
    cell: Cell
    by_problem: bool = False
    measure: str = "regret"
    n_seeds: int = 1000

    def rows(self) -> list[str]:
        """Return the rows, without the head."""
        kept = Kept(self.file)
        rows, columns = self.rivals, self.problems
        if self.by_problem:
            rows, columns = columns, rows
        lines = []
        for row, title in rows.items():
            pairs = [(row, c) if self.by_problem else (c, row) for c in columns]
            runs = [kept.last(*pair, self.measure)[: self.n_seeds] for pair in pairs]
            lines.append(listed([title, *(self.cell(r) if len(r) else "" for r in runs)]))
        return lines


def code(*labels: str) -> dict[str, str]:
    """Return samplers under their own names."""
    return {label: f"`{label}`" for label in labels}


def plain(*problems: str) -> dict[str, str]:
    """Return problems under their own names."""
    return {name: name for name in problems}


GP_UCB = "GPUCBSampler:published,maximiser=direct+gradient,kernel=matern52"

ADD_GP = {
    "random": "`RandomSampler`",
    "AddGPUCBSampler:published,decomposition=known,max_group_size=60,ungrouped=centre": (
        "`AddGPUCBSampler.as_published()` with the true groups"
    ),
    "AddGPUCBSampler:published,max_group_size=3": (
        "`AddGPUCBSampler.as_published(max_group_size=3)`"
    ),
}
LARGE = plain("trimodal-40-18-2", "trimodal-96-5-19", "trimodal-96-29-3", "trimodal-120-55-2")

MS_UCB = {
    "MSUCBSampler:published": "MS-UCB as published",
    "MSUCBSampler:published,d=1000,anchors=None": "GP-UCB: the same on the whole cube",
    **code(
        "LineBOSampler",
        "DropoutUCBSampler:published",
        "REMBOSampler:d=5",
        "HeSBOSampler:d=5",
        "SRESampler:d=5",
    ),
}

MS_UCB_ON_DATA = {
    "random": "`RandomSampler`",
    **code("MSUCBSampler:published,d=10,alpha=1", "HeSBOSampler:d=10"),
}

GRIDS = [
    Grid(
        "add_gp",
        "add-gp-ucb",
        {
            "random": ADD_GP["random"],
            "GPUCBSampler:published": "`GPUCBSampler.as_published()`",
            **ADD_GP,
        },
        plain("trimodal-24-11-2", "trimodal-40-35-1"),
        quartiles,
    ),
    *(
        Grid(
            "add_gp_100",
            "add-gp-ucb",
            ADD_GP | {"AddGPUCBSampler": "`AddGPUCBSampler()`"},
            LARGE,
            quartiles,
            measure=measure,
        )
        for measure in ("regret", "average_regret")
    ),
    Grid(
        "add_gp_100",
        "add-gp-ucb",
        {
            "random": "`RandomSampler`",
            "DIRECTSampler": "`DIRECTSampler`",
            "REMBOSampler:d=9": "`REMBOSampler(d=9)`",
            "AddGPUCBSampler:published,max_group_size=5": (
                "`AddGPUCBSampler.as_published(max_group_size=5)`"
            ),
        },
        plain("supernovae-20", "cascade-22"),
        quartiles,
    ),
    Grid(
        "valleys",
        "hdbo-measured",
        {
            "HDBOSampler": "`HDBOSampler`",
            "TuRBOSampler": "`TuRBOSampler`",
            "GPUCBSampler": "`GPUCBSampler`",
            "tpe-default": "`TPESampler`",
            "cmaes": "`CmaEsSampler`",
        },
        plain("trid-10", "powell-12", "trid-20", "powell-20"),
        quartiles,
    ),
    Grid(
        "vs_bo",
        "vs-bo",
        code(
            "random",
            "REMBOSampler:d=4",
            "REMBOSampler:d=6",
            "REMBOSampler:d=6,n_embeddings=4",
            "HeSBOSampler:d=4",
            "HeSBOSampler:d=6",
            "ALEBOSampler:d=4",
            "ALEBOSampler:d=6",
            "EISampler",
            "AddGPUCBSampler:published",
            "BAxUSSampler",
            "VSBOSampler",
        ),
        plain("fbranin-50", "fhm6-50", "fst4-50"),
        quartiles,
    ),
    Grid(
        "vs_bo",
        "vs-bo",
        code("VSBOSampler", "REMBOSampler:d=6", "HeSBOSampler:d=6"),
        plain("rover-60", "vehicle-124"),
        quartiles,
    ),
    Grid(
        "vs_bo_mix",
        "vs-bo",
        code(
            "VSBOSampler:published",
            "VSBOSampler:published,unimportant=mix",
            "VSBOSampler",
            "VSBOSampler:unimportant=mix",
        ),
        plain("fbranin-50", "fhm6-50"),
        quartiles,
    ),
    Grid(
        "embeddings",
        "baselines",
        {
            "random": "`RandomSampler`",
            "HeSBOSampler:d=4": "`HeSBOSampler(d=4)`",
            "HeSBOSampler:d=20": "`HeSBOSampler(d=20)`",
            "REMBOSampler:d=4": "`REMBOSampler(d=4)`",
            "REMBOSampler:d=6,n_embeddings=4": "`REMBOSampler(d=6, n_embeddings=4)`",
            "BAxUSSampler": "`BAxUSSampler()`",
        },
        plain("branin-100", "hartmann6-100", "branin-1000", "hartmann6-1000"),
        quartiles,
    ),
    Grid(
        "ms_ucb",
        "ms-ucb",
        MS_UCB,
        plain("ackley-50", "levy-50", "ellipsoid-50", "camelback-50"),
        quartiles,
    ),
    *(
        Grid(
            "ms_ucb_sizes",
            "ms-ucb",
            MS_UCB,
            plain(*(f"{name}-{dim}" for name in ("ackley", "levy", "ellipsoid", "camelback"))),
            quartiles,
        )
        for dim in (20, 100)
    ),
    Grid(
        "ms_ucb_varied",
        "ms-ucb",
        code(
            "MSUCBSampler:published",
            "MSUCBSampler:published,n0=10",
            "MSUCBSampler:published,d=10",
        ),
        plain("ackley-100", "ellipsoid-100"),
        quartiles,
    ),
    Grid(
        "ms_ucb_data",
        "ms-ucb",
        MS_UCB_ON_DATA | code("REMBOSampler:d=10"),
        plain("digits-500"),
        quartiles,
    ),
    Grid(
        "ms_ucb_data",
        "ms-ucb",
        MS_UCB_ON_DATA,
        plain("ramp1-5000", "ramp2-5000", "ramp5-5000", "ramp10-5000"),
        only,
    ),
    Grid(
        "bamsoo",
        "bamsoo",
        {
            **code("SOOSampler:published", "BaMSOOSampler:published", "BaMSOOSampler"),
            GP_UCB: "the paper's GP-UCB",
        },
        plain("terms-4"),
        quartiles,
    ),
    Grid(
        "gp_mi",
        "gp-mi",
        code("GPMISampler:published", "EISampler:published"),
        plain(
            *("gp-2", "gp-4", "mixture-2", "himmelblau-2"),
            *("branin-2", "goldstein-2", "gp-5", "mackeyglass-6"),
        ),
        mean_and_error,
        by_problem=True,
        measure="average_regret",
    ),
    Grid(
        "mixed",
        "search-spaces",
        {"HDBOSampler": "", "tpe-default": "", "random": ""},
        {
            "ackley-53": "`ackley-53`: 50 binary parameters and three real ones",
            "features-100": "`features-100`: which of 100 columns a classifier sees",
            "mixint-f3-20": "`mixint-f3-20`: 16 integers, four real ones; separable",
            "mixint-f8-20": "`mixint-f8-20`: a valley",
            "mixint-f10-20": "`mixint-f10-20`: ill-conditioned",
            "mixint-f15-20": "`mixint-f15-20`: many local optima",
            "mixint-f21-20": "`mixint-f21-20`: peaks without an order",
        },
        median_and_largest,
        by_problem=True,
    ),
    Grid(
        "combinatorial",
        "search-spaces",
        {"HDBOSampler": "", "GPUCBSampler": "", "tpe-default": ""},
        {
            "maxsat-60": "`maxsat-60`: clauses of three of 60 booleans",
            "labs-50": "`labs-50`: 50 signs with small autocorrelations",
            "nk-40": "`nk-40`: 40 booleans in a chain, every five neighbours count together",
            "potts-20": "`potts-20`: a chain of 20 parameters with eight choices",
            "knapsack-50": "`knapsack-50`: which of 50 things to take",
        },
        median_and_largest,
        by_problem=True,
    ),
    Grid(
        "nevergrad",
        "hdbo-measured",
        {"HDBOSampler": "", "tpe-default": "", "cmaes": "", "gp": ""},
        code(*Kept("nevergrad").problems()),
        three_digits,
        by_problem=True,
    ),
    Grid(
        "hundred",
        "hdbo-measured",
        {"HDBOSampler": "", "tpe-default": "", "cmaes": "", "gp": ""},
        {
            "levy-100": "`levy-100`: local optima on a slope",
            "ackley-100": "`ackley-100`: a narrow funnel",
            "ellipsoid-100": "`ellipsoid-100`: a bowl, steeper in some directions",
            "digits-100": "`digits-100`: weights of a network's output layer",
            "rotatedhm6-100": "`rotatedhm6-100`: a function of six directions",
            "lasso-100": "`lasso-100`: penalties of a regression",
        },
        median_and_largest,
        by_problem=True,
    ),
    Grid(
        "hundreds",
        "hdbo-measured",
        {"HDBOSampler": "", "tpe-default": ""},
        {
            "levy-500": "`levy-500`: local optima on a slope",
            "ackley-500": "`ackley-500`: a narrow funnel",
            "ellipsoid-500": "`ellipsoid-500`: a bowl, steeper in some directions",
            "camelback-500": "`camelback-500`: a function of two of 500 parameters",
            "digits-500": "`digits-500`: weights of a network's output layer",
            "hartmann6-1000": "`hartmann6-1000`: a function of six of 1000 parameters",
        },
        median_and_largest,
        by_problem=True,
    ),
    Grid(
        "errors",
        "hdbo",
        {"HDBOSampler": "", "tpe-default": "", "random": "", "gp": ""},
        {
            "neighbours-65": "`neighbours-65`: weights of 64 columns for nearest neighbours",
            "forest-6": "`forest-6`: hyperparameters of randomised trees",
            "rule-31": "`rule-31`: coefficients of a linear rule",
        },
        median_and_largest,
        by_problem=True,
    ),
]
