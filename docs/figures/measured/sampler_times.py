"""CPU time per trial in large studies, from the table of the page on benchmarks."""

from __future__ import annotations

from pathlib import Path

import cells
import panels
import style


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw a panel per size of the study; ``quick`` makes no difference."""
    del quick
    ((_, rows),) = cells.tables("benchmarks", "parameters", "trials", "sampler")
    sizes = dict.fromkeys((row["parameters"], row["trials"]) for row in rows)
    figure, axes = panels.grid(len(sizes), len(sizes), height=2.9)
    for axis, size in zip(axes, sizes, strict=True):
        here = [row for row in rows if (row["parameters"], row["trials"]) == size]
        for i, row in enumerate(here):
            label, colour = panels.SAMPLERS.get(row["sampler"], (row["sampler"], style.VERMILION))
            ms = cells.number(row["CPU ms, median"])
            axis.barh(i, ms, color=colour, height=0.65)
            axis.text(ms * 1.15, i, f"{ms:.2g}" if ms < 100 else f"{ms:.0f}", va="center")
            here[i]["label"] = label
        axis.set(xscale="log", ylim=(len(here) - 0.5, -0.5), xlim=(0.5, 2500))
        axis.set(title=f"{size[0]} parameters, {size[1]} trials", yticks=range(len(here)))
        axis.set_yticklabels([row["label"] for row in here] if axis is axes[0] else [])
        axis.set_xlabel("CPU ms per trial, median")
        axis.grid(visible=False, axis="y")
        axis.set_axisbelow(True)
    figure.tight_layout()
    return style.save(figure, path)
