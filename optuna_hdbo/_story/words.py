"""Numbers, counts and names as sentences have them."""

from __future__ import annotations

import math


LEAST_DIGITS, MOST_DIGITS = 4, 15
"""Significant digits of a number."""

MOST_WHOLE_DIGITS = 7
"""Whole parts of up to so many digits are written out."""


def count(n: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless it is one."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def numeral(value: float, step: float | None = None) -> str:
    """Return a number with as many digits as it takes to see a difference of ``step``."""
    whole = math.floor(math.log10(abs(value))) + 1 if value else 0
    digits = whole if whole <= MOST_WHOLE_DIGITS else 0
    if step and value and math.isfinite(step):
        digits = max(digits, whole - math.floor(math.log10(abs(step))))
    # Adding zero takes the sign from a zero.
    return f"{value + 0.0:.{min(max(digits, LEAST_DIGITS), MOST_DIGITS)}g}"


def visible(text: str) -> str:
    """Return a text in one line, with characters that cannot be seen as Python writes them."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
