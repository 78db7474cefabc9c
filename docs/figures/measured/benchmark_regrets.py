"""Regret after 50, 100 and 200 trials, from the tables of the page on benchmarks."""

from __future__ import annotations

from pathlib import Path

import cells
import panels
import style


COLUMNS = ("50 trials", "100 trials", "200 trials")
OURS = {"AddGPUCBSampler": style.PURPLE, "GPUCBSampler": style.VERMILION}


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw a panel per problem; ``quick`` makes no difference."""
    del quick
    tables = cells.tables("benchmarks", "sampler", "seeds", *COLUMNS)
    figure, axes = panels.grid(len(tables), 3)
    for axis, (problem, rows) in zip(axes, tables, strict=True):
        found = {}
        for row in rows:
            label, colour = panels.SAMPLERS.get(
                row["sampler"], (row["sampler"], OURS.get(row["sampler"], style.GREY))
            )
            if ":" in label:  # settings as published: the table has them
                continue
            middle, low, high = zip(*(cells.spread(row[c]) for c in COLUMNS), strict=True)
            found[label] = colour, middle, (low, high)
        panels.lines(axis, (50, 100, 200), found)
        axis.set(title=problem, xticks=(50, 100, 200))
        panels.logarithmic(axis, "y")
    for axis in axes[-3:]:
        axis.set_xlabel("trials")
    for axis in axes[::3]:
        axis.set_ylabel("regret")
    panels.legend(figure, axes, 5)
    return style.save(figure, path)
