"""Checks of users' settings: every message names the argument, the rule and the value."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_integer(name: str, value: Any, least: int, *, optional: bool = False) -> None:
    """Raise ``ValueError`` unless ``value`` is an integer of at least ``least``."""
    if optional and value is None:
        return
    integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not integer or value < least:
        instead = " or None" if optional else ""
        raise ValueError(
            f"{name} must be an integer of at least {least}{instead}, but got {value!r}."
        )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, but got {value!r}.")
