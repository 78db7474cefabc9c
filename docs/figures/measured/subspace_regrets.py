"""Regret of MS-UCB and of GP-UCB's variants, from the table of the page on MS-UCB."""

from __future__ import annotations

from pathlib import Path

import cells
import panels
import style


ROWS = (
    "default",
    "GP-UCB, published",
    "GP-UCB, β = 0.2 D log 2t",
    "default's model, β = 0.2 D log 2t",
    "default's model, β = 0.25",
    "MS-UCB, published",
)
"""Short names of the table's rows, in its order."""

COLOURS = (style.VERMILION, *(style.BLUE,) * 4, style.PURPLE)


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw a panel per problem; ``quick`` makes no difference."""
    del quick
    (_, rows), *_ = cells.tables("ms-ucb", "sampler")
    problems = list(rows[0])[-2::-1]
    figure, axes = panels.grid(len(problems), 3, height=2.3)
    for i, (axis, problem) in enumerate(zip(axes, problems, strict=True)):
        spreads = (cells.spread(row[problem]) for row in rows)
        found = dict(zip(ROWS, spreads, strict=True))
        panels.dots(axis, found, named=i % 3 == 0, colours=COLOURS)
        axis.set_title(problem)
        if not problem.startswith("ackley"):
            panels.logarithmic(axis, "x")
    for axis in axes[-3:]:
        axis.set_xlabel("regret after 200 trials")
    figure.tight_layout()
    return style.save(figure, path)
