"""What several commands are asked for: problems and seeds."""

from __future__ import annotations

import re

from optuna_hdbo._core.checks import check_integer
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.suites import multi
from optuna_hdbo.benchmarks.rivals import registry


MAX_SEEDS = 10_000
"""One command accepts at most this many seeds. More are taken for a typing error."""

PROBLEMS = "names, or 'report' or 'tune' for all problems of that purpose"


def problem_names(text: str) -> list[str]:
    """Parse names separated by commas; a purpose or a family means all of its problems."""
    sets = {str(purpose): names for purpose, names in catalogue.NAMES.items()}
    sets |= {**catalogue.FAMILIES, **multi.NAMES}
    pieces = _pieces("problems", text)
    return [name for piece in pieces for name in sets.get(piece, (piece,))]


def rival_labels(text: str) -> list[str]:
    """Parse samplers separated by commas, with their settings."""
    _pieces("rivals", text)
    return registry.split(text)


def counts(name: str, text: str) -> list[int]:
    """Parse positive integers separated by commas."""
    numbers = []
    for piece in _pieces(name, text):
        number = int(piece) if piece.isdecimal() else piece
        check_integer(name, number, 1)
        numbers.append(int(number))
    return numbers


def _pieces(name: str, text: str) -> list[str]:
    pieces = [piece for piece in text.split(",") if piece]
    if not pieces:
        raise ValueError(f"{name} must have at least one piece, but got {text!r}.")
    return pieces


def parse_seeds(text: str) -> list[int]:
    """Parse ``0-4`` or ``0,2,5-7``."""
    seeds: list[int] = []
    for piece in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", piece)
        if match is None:
            raise ValueError(f"seeds must be like 0-4 or 0,2,5-7, but got {text}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first >= MAX_SEEDS - len(seeds):
            raise ValueError(f"seeds must be at most {MAX_SEEDS} in number, but got {text}.")
        seeds += range(first, last + 1)
    return seeds
