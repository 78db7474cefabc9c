"""Which parameters the finished trials of a study have, always or sometimes."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import takewhile

from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.variables.activity import Activity
from optuna_hdbo._core.variables.activity import Clause
from optuna_hdbo._study.attributes import trial_key


RECENT = 10
"""The present range of a parameter is that of this many of the last trials that have it. A range
that this many trials in a row had is over once the trials after them have a new one."""

STALE = 20
"""A parameter that none of this many last completed trials has, for no known reason, is given
up."""

MOST_RANGES = 4
"""A parameter that has had more ranges than this has the range of all of them."""

MOST_DECIDING_VALUES = 64
"""A parameter with more values than this does not decide about others."""


class Parameters:
    """The parameters of the finished trials of a study.

    Nothing is copied as long as all trials have the same parameters.

    Parameters
    ----------
    include_pruned : bool
        Whether pruned trials count. Failed ones never do.
    """

    def __init__(self, include_pruned: bool) -> None:
        pruned = (TrialState.PRUNED,) if include_pruned else ()
        self._states = (TrialState.COMPLETE, *pruned)
        self._known_by: FrozenTrial | None = None  # a finished trial
        self._n_final = 0  # trials of smaller number are known
        self._taken: set[int] = set()  # larger numbers that are known
        self._trials: list[FrozenTrial] = []  # that count, in the order in which they were seen
        self._common: dict[str, BaseDistribution] | None = None
        self._required: frozenset[str] | None = None
        self._varying: dict[str, BaseDistribution] = {}
        self._branches: _Branches | None = None

    def goes_on_in(self, trials: Sequence[FrozenTrial]) -> bool:
        """Tell whether these trials are those of the last call, further on, and new ones.

        A study that was deleted and made again has the same name and, in some storages, the same
        number.
        """
        old = self._known_by
        if old is None:
            return True
        number = old.number
        if number >= len(trials):
            return False
        return trials[number] is old or trial_key(trials[number]) == trial_key(old)

    def follow(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in the trials that have finished.

        Parameters
        ----------
        trials : sequence of FrozenTrial
            By ascending number: those of the last call, perhaps in a later state, and new ones.
        """
        if self._known_by is None:
            self._known_by = next((trial for trial in trials if trial.state.is_finished()), None)
        n_final, new = None, []
        for trial in reversed(trials):
            number = trial.number
            if number < self._n_final:
                break
            if n_final is None:
                n_final = number + 1
            if trial.state in self._states:
                if number not in self._taken:
                    new.append(trial)
            elif not trial.state.is_finished():
                n_final = number
        for trial in reversed(new):
            self._take_in(trial)
            self._taken.add(trial.number)
        if n_final is not None:
            self._n_final = n_final
            if self._taken:
                self._taken = {number for number in self._taken if number >= n_final}

    def common(self) -> dict[str, BaseDistribution]:
        """Return those that all trials have with one distribution, without single values.

        This is what Optuna's ``IntersectionSearchSpace`` returns.
        """
        return dict(self._varying)

    def modelled(self) -> dict[str, BaseDistribution]:
        """Return those that a model may have as columns, by name, without single values.

        Parameters that only some trials have are among them, and those whose range has changed,
        with their present one. It is :meth:`common` where all trials have the same parameters.
        """
        return dict(self._varying) if self._branches is None else self._branches.modelled()

    def required(self) -> frozenset[str] | None:
        """Return the names of those that all trials have, in whatever range; None without any."""
        if self._branches is None:
            return self._required
        return self._branches.required

    def rules(self) -> Mapping[str, tuple[Clause, ...]]:
        """Return which values of other parameters decide whether one is there; see Activity."""
        return {} if self._branches is None else self._branches.rules()

    def _take_in(self, trial: FrozenTrial) -> None:
        self._trials.append(trial)
        if self._branches is not None:
            self._branches.take_in(trial)
        distributions = trial.distributions
        if self._common is None:
            common = dict(sorted(distributions.items()))
        elif distributions == self._common:
            return
        else:
            common = {n: d for n, d in self._common.items() if distributions.get(n) == d}
            if self._branches is None:
                branches = _Branches()
                for other in self._trials:
                    branches.take_in(other)
                self._branches = branches
        if self._common is None or len(common) < len(self._common):
            # In this order: interrupted in between, the next call does it again.
            self._varying = {n: copy.deepcopy(d) for n, d in common.items() if not d.single()}
            self._required = frozenset(common)
            self._common = common


class _Branches:
    """The parameters of trials that do not all have the same ones."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()
        self._ranges: dict[str, _Ranges] = {}
        self._complete: dict[int, frozenset[str]] = {}
        self._activity = Activity()
        self.required: frozenset[str] = frozenset()
        self._modelled: dict[str, BaseDistribution] | None = None
        self._rules: Mapping[str, tuple[Clause, ...]] = {}

    def take_in(self, trial: FrozenTrial) -> None:
        if trial.number in self._numbers:
            return
        names = frozenset(trial.distributions)
        self.required = self.required & names if self._numbers else names
        self._numbers.add(trial.number)
        for name, distribution in trial.distributions.items():
            self._ranges.setdefault(name, _Ranges()).take_in(trial.number, distribution)
        complete = trial.state == TrialState.COMPLETE
        if complete:
            self._complete[trial.number] = names
        values = {n: _internal(d, trial.params[n]) for n, d in trial.distributions.items()}
        self._activity.take_in(values, complete=complete)
        self._modelled = None

    def modelled(self) -> dict[str, BaseDistribution]:
        if self._modelled is None:
            self._learn()
        return dict(self._modelled or {})

    def rules(self) -> Mapping[str, tuple[Clause, ...]]:
        if self._modelled is None:
            self._learn()
        return self._rules

    def _learn(self) -> None:
        found = {name: self._ranges[name].present() for name in sorted(self._ranges)}
        deciders = {n: o for n, d in found.items() if (o := _is_ordered(d)) is not None}
        self._rules = self._activity.rules(deciders)
        last = sorted(self._complete)[-STALE:]
        recent = frozenset[str]().union(*(self._complete[number] for number in last))
        full = len(last) == STALE
        self._modelled = {
            name: distribution
            for name, distribution in found.items()
            if not distribution.single()
            and (name in self.required or name in self._rules or name in recent or not full)
        }


class _Ranges:
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
        return _all_joined([d for n in numbers if _are_alike(d := self._by_number[n], last)])

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
        name: (len(own), _all_joined(own) if all(_are_alike(d, own[0]) for d in own) else None)
        for name, own in sorted(had.items())
    }


def _all_joined(alike: Sequence[BaseDistribution]) -> BaseDistribution:
    """Return the smallest distribution with the values of all, which are alike."""
    joined = copy.deepcopy(alike[0])
    for other in alike[1:]:
        joined = _joined(joined, other)
    return joined


def _internal(distribution: BaseDistribution, value: object) -> float:
    return float(distribution.to_internal_repr(value))


def _is_ordered(distribution: BaseDistribution) -> bool | None:
    """Tell whether the values are ordered; None where the parameter does not decide."""
    if isinstance(distribution, CategoricalDistribution):
        return False if 1 < len(distribution.choices) <= MOST_DECIDING_VALUES else None
    if isinstance(distribution, IntDistribution | FloatDistribution) and distribution.step:
        n = (distribution.high - distribution.low) / distribution.step + 1
        return True if 1 < n <= MOST_DECIDING_VALUES else None
    return None


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
    return FloatDistribution(low, high, log=a.log, step=step)


def _are_aligned(a: FloatDistribution, b: FloatDistribution) -> bool:
    if a.step is None:
        return True
    gap = (a.low - b.low) / a.step
    return abs(gap - round(gap)) < 1e-8
