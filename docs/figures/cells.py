"""Tables of the documentation's pages, so that a plot beside a table has the table's figures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np


DOCS = Path(__file__).resolve().parent.parent

Row = dict[str, str]


def tables(page: str, *first: str) -> list[tuple[str, list[Row]]]:
    """Return (heading above, rows) of each table of a page whose first columns are these.

    Marks of code, of emphasis and of formulas are removed from the cells.
    """
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    found: list[tuple[str, list[Row]]] = []
    heading = ""
    for block in re.split(r"\n\s*\n", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("#"):
            heading = lines.pop(0).lstrip("# ")
        if lines and lines[0].startswith("<!--"):
            lines.pop(0)
        if len(lines) < 3 or not re.match(r"\|[\s:|-]+\|$", lines[1]):
            continue
        columns, *rows = (
            [re.sub(r"[`*$]", "", cell).strip() for cell in line.strip("|").split("|")]
            for line in (lines[0], *lines[2:])
        )
        if tuple(columns[: len(first)]) == first:
            # Of columns with one name, the first counts.
            pairs = [list(zip(columns, row, strict=True))[::-1] for row in rows]
            found.append((heading, [dict(row) for row in pairs]))
    if not found:
        raise ValueError(f"{page}.md has no table with the columns {', '.join(first)}.")
    return found


def spread(cell: str) -> tuple[float, float, float]:
    """Return the median and the quartiles of a cell, such as ``1.2 (0.9, 1.4), 10 seeds``."""
    numbers = [float(n) for n in re.findall(r"[\d.]+(?:e[+-]?\d+)?", cell.split(" seeds")[0])]
    if "(" not in cell:
        return numbers[0], numbers[0], numbers[0]
    return numbers[0], numbers[1], numbers[2]


def number(cell: str) -> float:
    """Return the number of a cell, NaN for a dash."""
    return float(cell) if re.match(r"-?\d", cell) else np.nan
