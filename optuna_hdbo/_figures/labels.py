"""Short texts for long names."""

from __future__ import annotations

from collections.abc import Sequence


MOST_CHARACTERS = 26
"""Longer texts are cut."""


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text that is not too long for the margin of a figure; names often differ last."""
    half = most // 2
    return text if len(text) <= most else f"{text[: half - 1]}…{text[-half:]}"


def distinct(names: Sequence[str], most: int = MOST_CHARACTERS) -> list[str]:
    """Return short texts of different names that are different, too.

    Names that would look the same are cut around the place where they begin to differ. They stay
    as they are if that is not enough.
    """
    short = [shortened(name, most) for name in names]
    alike: dict[str, list[str]] = {}
    for name, text in zip(names, short, strict=True):
        alike.setdefault(text, []).append(name)
    for text, group in alike.items():
        if len(group) > 1:
            letters = enumerate(zip(*group, strict=False))
            first = next((i for i, each in letters if len(set(each)) > 1), min(map(len, group)))
            cut = {name: _around(name, first, most) for name in group}
            if len({*cut.values()} - {other for other in short if other != text}) < len(group):
                cut = {name: name for name in group}
            short = [cut.get(name, s) for name, s in zip(names, short, strict=True)]
    return short


def _around(name: str, place: int, most: int) -> str:
    """Return a part of a long name that has a place in it."""
    end = min(len(name), max(place - most // 3, 0) + most - 2)
    begin = max(0, end - (most - 2))
    return "…" * (begin > 0) + name[begin:end] + "…" * (end < len(name))
