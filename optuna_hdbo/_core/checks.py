"""Checks of users' settings. Every message names the argument, the rule and the value."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Collection
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_integer(name: str, value: Any, least: int, *, optional: bool = False) -> None:
    """Raise ``ValueError`` unless ``value`` is an integer of at least ``least``."""
    if optional and value is None:
        return
    if not is_integer(value) or value < least:
        instead = " or None" if optional else ""
        raise ValueError(
            f"{name} must be an integer of at least {least}{instead}, but got {value!r}."
        )


def check_flag(name: str, value: Any, *, optional: bool = False) -> bool:
    """Return whether ``value`` is true; ``ValueError`` unless it is True or False."""
    if not (isinstance(value, (bool, np.bool_)) or (optional and value is None)):
        instead = " or None" if optional else ""
        raise ValueError(f"{name} must be True or False{instead}, but got {value!r}.")
    return bool(value)


def check_flags(**flags: Any) -> None:
    """Raise ``ValueError`` unless every argument is True or False."""
    for name, value in flags.items():
        check_flag(name, value)


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    optional: bool = False,
) -> None:
    """Raise ``ValueError`` unless ``value`` is a finite number in the range."""
    if optional and value is None:
        return
    valid = is_number(value)
    valid = valid and (least is None or value >= least) and (above is None or value > above)
    valid = valid and (most is None or value <= most) and (below is None or value < below)
    if valid:
        return
    rules = [("at least", least), ("above", above), ("at most", most), ("below", below)]
    text = " and ".join(f"{rule} {limit:g}" for rule, limit in rules if limit is not None)
    instead = " or None" if optional else ""
    raise ValueError(f"{name} must be a number {text}{instead}, but got {value!r}.")


def check_seed(seed: Any) -> int | None:
    """Return a seed as a Python number; ``ValueError`` unless it is an integer or None."""
    if seed is None:
        return None
    if not is_integer(seed):
        raise ValueError(f"seed must be an integer or None, but got {seed!r}.")
    return operator.index(seed)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, but got {value!r}.")


def check_decomposition(
    decomposition: Sequence[Sequence[str]] | None,
) -> tuple[tuple[str, ...], ...] | None:
    """Return the groups as tuples; ``ValueError`` for an empty group or a repeated name."""
    if decomposition is None:
        return None
    if not _is_lists_of_names(decomposition):
        raise ValueError(
            'decomposition must be lists of parameter names, such as [["lr", "depth"], ["l2"]], '
            f"but got {decomposition!r}."
        )
    groups = tuple(tuple(group) for group in decomposition)
    if not groups or not all(groups):
        raise ValueError(f"decomposition must not have empty groups, but got {decomposition!r}.")
    names = [name for group in groups for name in group]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"decomposition must hold every parameter once, but it repeats {repeated}."
        )
    return groups


def check_names(name: str, names: Any) -> tuple[str, ...]:
    """Return parameter names as a tuple; ``ValueError`` unless they are some, none repeated."""
    if not _is_list(names) or not all(isinstance(item, str) for item in names):
        raise ValueError(
            f'{name} must be a list of parameter names, such as ["lr", "depth"], '
            f"but got {names!r}."
        )
    if not len(names):
        raise ValueError(
            f"{name} must have at least one parameter name, but got {names!r}. Add one, or pass "
            "None."
        )
    found = tuple(names)
    if repeated := sorted({item for item in found if found.count(item) > 1}):
        raise ValueError(
            f"{name} must have every parameter name once, but got {repeated} more than once in "
            f"{names!r}. Leave out the repetitions."
        )
    return found


class UnknownNamesError(ValueError):
    """A setting names parameters that the study does not have, at least so far."""


def check_names_known(name: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise :class:`UnknownNamesError` unless the study has all these parameters."""
    if unknown := sorted(set(names) - set(known)):
        raise UnknownNamesError(
            f"{name} must name parameters of the study, but got {unknown}; "
            f"the study has {sorted(known)}."
        )


def check_group_sizes(
    decomposition: Sequence[Sequence[str]] | None, max_group_size: int | None
) -> None:
    """Raise ``ValueError`` where a group of the decomposition has more names than allowed."""
    if decomposition is None or max_group_size is None:
        return
    largest = max(decomposition, key=len)
    if len(largest) > max_group_size:
        raise ValueError(
            f"decomposition must have groups of at most max_group_size={max_group_size} "
            f"parameters, but got one of {len(largest)}: {list(largest)}. Split it, or pass "
            f"max_group_size={len(largest)}."
        )


def is_integer(value: Any) -> bool:
    """Tell whether ``value`` is an integer of Python or NumPy."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether ``value`` is a finite number that a float can hold."""
    number = is_integer(value) or isinstance(value, (float, np.floating))
    finite = number and -math.inf < value < math.inf
    return finite and abs(int(value)) <= sys.float_info.max


def _is_list(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str)


def _is_lists_of_names(value: object) -> bool:
    return _is_list(value) and all(
        _is_list(group) and all(isinstance(name, str) for name in group)
        for group in value  # type: ignore[attr-defined]
    )


def check_branching(branching: Any) -> None:
    """Raise ``ValueError`` unless ``branching`` is 2 or 3."""
    if not is_number(branching) or branching not in (2, 3):
        raise ValueError(f"branching must be 2 or 3, but got {branching!r}.")


def check_point(x: Any, n_columns: int) -> NDArray[np.float64]:
    """Return a suggested point as an array (D,).

    Raises
    ------
    ValueError
        Where its shape is another one.
    ArithmeticError
        Where it is not finite.
    """
    point = np.asarray(x, dtype=np.float64)
    if point.shape != (n_columns,):
        raise ValueError(f"x must have shape ({n_columns},), but has {point.shape}.")
    if not all(map(math.isfinite, point.tolist())):
        raise ArithmeticError(f"x must be finite, but is {point}.")
    return point
