"""Parameters whose range depends on a choice: a column for each range, active with its choices.

In one column for all ranges, the model would be asked about values that a choice does not allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution


MOST_SPLIT = 8
"""Ranges that one parameter may have. With more it has one column."""

LEAST_PER_CHOICE = 2
"""More than so many trials per choice have to agree before a range counts as a choice's."""


@dataclass(frozen=True)
class Split:
    """A parameter whose range depends on a choice.

    Parameters
    ----------
    name : str
    by : str
        The categorical parameter that decides.
    ranges : tuple of (BaseDistribution, frozenset of int)
        Each range, and the indices of the choices that have it.
    """

    name: str
    by: str
    ranges: tuple[tuple[BaseDistribution, frozenset[int]], ...]

    @property
    def columns(self) -> dict[str, tuple[BaseDistribution, frozenset[int]]]:
        """The ranges and choices by the names of their columns."""
        return {f"{self.name}[{k}]": found for k, found in enumerate(self.ranges)}

    def column_in(
        self, params: Mapping[str, Any], deciders: Mapping[str, BaseDistribution]
    ) -> str | None:
        """Return the column of a configuration's choice, None for one that no trial has had."""
        if self.by not in params:
            return None
        try:
            choice = deciders[self.by].to_internal_repr(params[self.by])
        except (TypeError, ValueError, OverflowError):  # another choice was enqueued or added
            return None
        return next((c for c, (_, own) in self.columns.items() if choice in own), None)


def learned(
    name: str, had: Mapping[int, BaseDistribution], choices: Mapping[int, Mapping[str, int]]
) -> Split | None:
    """Return how the range of a parameter depends on a choice, None where it does not.

    Parameters
    ----------
    name : str
    had : Mapping of int to BaseDistribution
        The ranges of the trials that have the parameter, by number.
    choices : Mapping of int to Mapping
        The indices of their categorical parameters.
    """
    numbers = sorted(had)
    if isinstance(had[numbers[0]], CategoricalDistribution):
        return None
    for by in sorted(choices[numbers[0]]):
        of_choice: dict[int, BaseDistribution] = {}
        for number in numbers:
            choice = choices[number].get(by)
            if choice is None or of_choice.setdefault(choice, had[number]) != had[number]:
                break
        else:
            ranges: list[BaseDistribution] = []
            for d in of_choice.values():
                ranges += [] if d in ranges else [d]
            enough = len(numbers) > LEAST_PER_CHOICE * len(of_choice)
            if enough and len(ranges) <= MOST_SPLIT and not any(d.single() for d in ranges):
                own = [frozenset(c for c, d in of_choice.items() if d == r) for r in ranges]
                return Split(name, by, tuple(zip(ranges, own, strict=True)))
    return None


def spread(
    splits: Sequence[Split], params: Mapping[str, Any], deciders: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """Return a configuration by the names of columns instead of parameters."""
    found = dict(params)
    for split in splits:
        if split.name in found:
            value, column = found.pop(split.name), split.column_in(params, deciders)
            found |= {} if column is None else {column: value}
    return found


def gather(
    splits: Sequence[Split], found: Mapping[str, Any], deciders: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """Undo :func:`spread`; of several columns of a parameter, that of its choice counts."""
    params = dict(found)
    for split in splits:
        values = {column: params.pop(column) for column in split.columns if column in params}
        column = split.column_in(params, deciders)
        params |= {split.name: values[column]} if column in values else {}
    return params
