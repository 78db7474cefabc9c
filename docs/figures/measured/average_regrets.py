"""Average regret of GP-MI as a share of GP-UCB's, from the table of the page on GP-MI."""

from __future__ import annotations

from pathlib import Path

import cells
import numpy as np
import panels
import style


def main(path: Path, *, quick: bool = False) -> Path:
    """Draw a row per problem; ``quick`` makes no difference."""
    del quick
    _, rows = cells.tables("gp-mi", "problem", "GP-MI", "GP-UCB")[0]
    found = {}
    for row in rows:
        (mine, error), (other, others) = (
            [float(number) for number in row[name].split(" ± ")] for name in ("GP-MI", "GP-UCB")
        )
        ratio = mine / other
        error = ratio * float(np.hypot(error / mine, others / other))
        found[row["problem"]] = ratio, ratio - error, ratio + error
    figure, (axis,) = panels.grid(1, 1, height=2.8)
    panels.dots(axis, found, named=True, colours=[style.VERMILION] * len(found))
    axis.axvline(1.0, color=style.GREY, linewidth=1.0)
    axis.set(xlabel="average regret of GP-MI as a share of GP-UCB's, with its standard error")
    figure.tight_layout()
    return style.save(figure, path)
