"""Loss of SOO, BaMSOO and others after 20 to 200 trials, from the table of their page."""

from __future__ import annotations

from pathlib import Path

import cells
import panels
import style


COLUMNS = ("after 20", "after 50", "after 100", "after 200")
OURS = {
    "BaMSOOSampler": style.VERMILION,
    "BaMSOOSampler:published": style.PURPLE,
    "GPUCBSampler": style.SKY,
    "SOOSampler": style.GREY,
}


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw a panel per function; ``quick`` makes no difference."""
    del quick
    ((_, rows),) = cells.tables("bamsoo", "function", "sampler", "seeds", *COLUMNS)
    problems = dict.fromkeys(row["function"] for row in rows)
    figure, axes = panels.grid(len(problems), 3)
    for axis, problem in zip(axes, problems, strict=True):
        found = {}
        for row in rows:
            known = {**panels.SAMPLERS, **{name: (name, colour) for name, colour in OURS.items()}}
            if row["function"] == problem and row["sampler"] in known:
                label, colour = known[row["sampler"]]
                found[label] = colour, [cells.number(row[c]) for c in COLUMNS], None
        panels.lines(axis, (20, 50, 100, 200), found)
        axis.set(title=problem, xticks=(20, 50, 100, 200))
    for axis in axes[-3:]:
        axis.set_xlabel("trials")
    for axis in axes[::3]:
        axis.set_ylabel("log10 of the loss")
    panels.legend(figure, axes, 4)
    return style.save(figure, path)
