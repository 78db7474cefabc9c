"""Regret of VS-BO and others on the paper's functions, from the table of the page on VS-BO."""

from __future__ import annotations

from pathlib import Path

import cells
import panels
import style


COLOURS = (style.GREY, style.BLUE, style.ORANGE, style.PURPLE, style.VERMILION)
"""Of the table's rows, in its order."""


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw a panel per function; ``quick`` makes no difference."""
    del quick
    (_, rows), *_ = cells.tables("vs-bo", "sampler", "fbranin-50")
    problems = list(rows[0])[-2::-1]
    figure, axes = panels.grid(len(problems), 3, height=2.1)
    for i, (axis, problem) in enumerate(zip(axes, problems, strict=True)):
        labels = [panels.SAMPLERS.get(row["sampler"], (row["sampler"], ""))[0] for row in rows]
        found = {
            label: cells.spread(row[problem]) for label, row in zip(labels, rows, strict=True)
        }
        panels.dots(axis, found, named=i == 0, colours=COLOURS)
        axis.set(title=problem, xlabel="regret after 200 trials")
        panels.logarithmic(axis, "x")
    figure.tight_layout()
    return style.save(figure, path)
