"""The range that a parameter has now, where trials have had several."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import takewhile

from optuna.distributions import BaseDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial

from optuna_hdbo._study.splits import Split
from optuna_hdbo._study.splits import learned


RECENT = 10
"""The present range of a parameter is that of this many of the last trials that have it. A range
that this many trials in a row had is over once the trials after them have a new one."""

MOST_RANGES = 4
"""A parameter that has had more ranges than this has the range of all of them."""


class Ranges:
    """The ranges that one parameter has had."""

    def __init__(self) -> None:
        self._by_number: dict[int, BaseDistribution] = {}
        self._distinct: list[BaseDistribution] = []
        self._first: BaseDistribution | None = None

    def take_in(self, number: int, distribution: BaseDistribution) -> None:
        if not self._distinct:
            self._first = copy.deepcopy(distribution)
        self._by_number[number] = distribution
        if len(self._distinct) <= MOST_RANGES and distribution not in self._distinct:
            self._distinct.append(distribution)

    def present(self) -> BaseDistribution:
        """Return the present range: that of the last trials, of the kind that the last one has."""
        if self._first is not None and len(self._distinct) == 1:
            return self._first
        numbers = sorted(self._by_number)
        if len(self._distinct) <= MOST_RANGES:
            numbers = self._in_force(numbers)
        # The last trial says of which kind it is now, and whether on a logarithmic scale.
        last = self._by_number[numbers[-1]]
        return all_joined([d for n in numbers if _are_alike(d := self._by_number[n], last)])

    def split(self, name: str, choices: Mapping[int, Mapping[str, int]]) -> Split | None:
        """Return how the range depends on a choice, None where it does not; see ``learned``."""
        first, every = self._distinct[0], self._by_number.values()
        if len(self._distinct) == 1 or not all(_are_alike(d, first) for d in every):
            return None
        return learned(name, self._by_number, choices)

    def are_mixed(self) -> bool:
        """Tell whether the last trials have had the parameter on different scales or choices."""
        if len(self._distinct) == 1:
            return False
        recent = [self._by_number[number] for number in sorted(self._by_number)[-RECENT:]]
        return not all(_are_alike(d, recent[-1]) for d in recent)

    def was_refused(self, name: str, failed: Mapping[int, frozenset[str]]) -> bool:
        """Tell whether a later trial failed without the parameter; ``failed`` have had these.

        Where a trial was added with another scale or other choices, Optuna lets those fail that
        ask for the old ones.
        """
        last = max(self._by_number)
        return any(number > last and name not in names for number, names in failed.items())

    def _in_force(self, numbers: list[int]) -> list[int]:
        """Return the trials, of these by ascending number, whose ranges make the present one.

        Ranges that come back, as those that depend on a choice, all hold.
        """
        recent, last = numbers[-RECENT:], self._by_number[numbers[-1]]
        n_new = sum(1 for _ in takewhile(lambda n: self._by_number[n] == last, reversed(recent)))
        if n_new == len(recent):
            return recent
        before = [self._by_number[number] for number in numbers[:-n_new]]
        lasted = len(before) >= RECENT and all(d == before[-1] for d in before[-RECENT:])
        return numbers[-n_new:] if lasted and last not in before else recent


def ranges_of(trials: Sequence[FrozenTrial]) -> dict[str, tuple[int, BaseDistribution | None]]:
    """Return how many trials have each parameter, and the range of all of them, by name.

    There is ``None`` instead of a range where the scale or the choices have not always been the
    same.
    """
    had: dict[str, list[BaseDistribution]] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            had.setdefault(name, []).append(distribution)
    return {
        name: (len(own), all_joined(own) if all(_are_alike(d, own[0]) for d in own) else None)
        for name, own in sorted(had.items())
    }


def all_joined(alike: Sequence[BaseDistribution]) -> BaseDistribution:
    """Return the smallest distribution with the values of all, which are alike."""
    joined = copy.deepcopy(alike[0])
    for other in alike[1:]:
        joined = _joined(joined, other)
    return joined


def _are_alike(a: BaseDistribution, b: BaseDistribution) -> bool:
    """Tell whether both are the same, or ranges of the same numbers on the same scale."""
    if isinstance(a, IntDistribution) and isinstance(b, IntDistribution):
        return a.log == b.log
    if isinstance(a, FloatDistribution) and isinstance(b, FloatDistribution):
        return a.log == b.log
    return a == b


def _joined(a: BaseDistribution, b: BaseDistribution) -> BaseDistribution:
    """Return the smallest distribution with the values of both, which are alike."""
    if a == b:
        return a
    if isinstance(a, IntDistribution) and isinstance(b, IntDistribution):
        gap = math.gcd(a.step, b.step, a.low - b.low)
        return IntDistribution(min(a.low, b.low), max(a.high, b.high), log=a.log, step=gap)
    assert isinstance(a, FloatDistribution)
    assert isinstance(b, FloatDistribution)
    low, high = min(a.low, b.low), max(a.high, b.high)
    step = a.step if a.step == b.step and _are_aligned(a, b) else None
    if step is not None:  # 0.6000000000000001 would be no multiple of 0.1
        digits = 8 - math.floor(math.log10(step))
        low, high = round(low, digits), round(high, digits)
    return FloatDistribution(low, high, log=a.log, step=step)


def _are_aligned(a: FloatDistribution, b: FloatDistribution) -> bool:
    if a.step is None:
        return True
    gap = (a.low - b.low) / a.step
    return abs(gap - round(gap)) < 1e-8
