"""How the pages write numbers and rows."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np
from kept import FloatArray


def listed(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def quartiles(runs: FloatArray) -> str:
    """Return median and quartiles, as the benchmarks' report has them."""
    low, middle, high = np.quantile(runs, [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g}, {high:.3g})"


def only(runs: FloatArray) -> str:
    """Return the number of a single run."""
    (value,) = runs
    return f"{value:.3g}"


def two_digits(value: float) -> str:
    """Return two significant digits, and at most four decimals."""
    if value < 0.001:
        return f"{value:.4f}"
    return f"{value:#.2g}".removesuffix(".") if value < 99.5 else f"{float(f'{value:.2g}'):.0f}"


def median_and_largest(runs: FloatArray) -> str:
    """Return the median and the largest."""
    return f"{two_digits(float(np.median(runs)))}, {two_digits(float(runs.max()))}"


def three_digits(runs: FloatArray) -> str:
    """Return the median and the largest, where values differ by less than a hundredth."""
    return ", ".join(f"{float(f'{v:.3g}'):g}" for v in (np.median(runs), runs.max()))


def mean_and_error(runs: FloatArray) -> str:
    """Return the mean and its standard error."""
    return f"{runs.mean():#.3g} ± {runs.std() / np.sqrt(len(runs)):.2g}"


def short(value: float) -> str:
    """Return two decimals, without a zero in front."""
    return f"{value:.2f}".removeprefix("0")


def counted(gaps: FloatArray) -> list[str]:
    """Return in how many rows gaps (m, k) are negative and positive, column by column."""
    pairs = zip((gaps < 0.0).sum(axis=0), (gaps > 0.0).sum(axis=0), strict=True)
    return [f"{a} : {b}" for a, b in pairs]


def bold(cells: list[str], best: Iterable[bool]) -> list[str]:
    """Return cells, the best ones bold."""
    return [f"**{cell}**" if b else cell for cell, b in zip(cells, best, strict=True)]
