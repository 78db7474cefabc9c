"""Tables of the pages, made from the kept results.

    python docs/results/tables.py vs-bo

prints the rows of the tables of ``docs/vs-bo.md``, and figures that its sentences have. Without a
name, those of all pages are printed. A test compares them with the pages. ``kept.py`` writes the
files that they are made from.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import papers
import special
import structure
import wins
from grids import GRIDS


TABLES: list[tuple[str, Callable[[], list[str]]]] = [
    *((grid.page, grid.rows) for grid in GRIDS),
    ("add-gp-ucb", structure.first_groupings),
    ("bamsoo", special.tree_losses),
    ("baselines", papers.beside_letham),
    ("baselines", papers.beside_letham_on_hartmann),
    ("benchmarks", special.report),
    ("gp-mi", papers.known_hyperparameters),
    ("hdbo-measured", special.bbob),
    ("hdbo-measured", special.beside_smac),
    ("hdbo-measured", special.beside_hebo),
    ("hdbo-measured", special.long_studies),
    ("hdbo-measured", functools.partial(wins.studies, "simulators")),
    ("hdbo-measured", functools.partial(wins.studies, "nevergrad")),
    ("interactions", structure.structures),
    ("interactions", structure.readme_example),
    ("search-spaces", special.conditional),
    ("search-spaces", special.models),
    ("search-spaces", wins.branching),
    ("several-objectives", functools.partial(special.hypervolumes, "multi")),
    ("several-objectives", functools.partial(special.hypervolumes, "multi_constrained")),
    ("several-objectives", functools.partial(special.hypervolumes, "multi_many")),
]
"""Page, and a function that returns rows of one of its tables."""

SENTENCES: list[tuple[str, Callable[[], list[str]]]] = [
    ("../README", wins.in_readme),
    ("bamsoo", special.depth_limits),
    ("hdbo-measured", special.found_optima),
    ("which-sampler", special.beside_bamsoo),
    ("hdbo-measured", special.coverage),
    ("search-spaces", special.beside_gp_on_mixed),
    ("search-spaces", wins.on_combinatorial),
    ("several-objectives", functools.partial(special.ahead_in_hypervolume, "multi")),
    ("several-objectives", functools.partial(special.ahead_in_hypervolume, "multi_constrained")),
    ("several-objectives", functools.partial(special.ahead_in_hypervolume, "multi_many")),
]
"""Page, and a function that returns parts of its sentences."""


def main(names: list[str]) -> None:
    """Print rows, a blank line after each table."""
    for page, rows in [*TABLES, *SENTENCES]:
        if not names or page in names:
            print("\n".join([f"{page}.md", *rows()]), end="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
