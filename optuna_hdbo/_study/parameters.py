"""Which parameters the finished trials of a study have, always or sometimes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from collections.abc import Sequence

from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.variables.activity import Activity
from optuna_hdbo._core.variables.activity import Rule
from optuna_hdbo._core.variables.activity import has
from optuna_hdbo._study.attributes import trial_key
from optuna_hdbo._study.ranges import Ranges
from optuna_hdbo._study.ranges import all_joined
from optuna_hdbo._study.splits import Split
from optuna_hdbo._study.values import has_failed
from optuna_hdbo._study.workers import Unsettled


STALE = 20
"""A parameter that none of this many last completed trials has, for no known reason, is given
up."""

FEWEST_WITHOUT, FEWEST_WITH = 3, 5
"""It is given up once so many completed trials lack it if all before had it, at least so many, or
all with the same values of others."""

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
        self._unsettled = Unsettled()
        self._trials: list[FrozenTrial] = []  # that count, in the order in which they were seen
        self._of_all, self._of_complete = _Common(), _Common()
        self._branches: _Branches | None = None
        self._failed: dict[int, frozenset[str]] = {}  # what failed trials asked for, by number

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
        n_failed = 0
        for trial in self._unsettled.among(trials):
            if trial.state in self._states and not has_failed(trial):
                self._take_in(trial)
            elif trial.state.is_finished():
                self._failed[trial.number] = frozenset(trial.distributions)
                n_failed += 1
        if n_failed and self._branches is not None:
            self._branches.forget()

    def common(self) -> dict[str, BaseDistribution]:
        """Return those that all trials have with one distribution, without single values.

        Pruned trials count only while none is complete: they may end before they have asked for
        everything. Otherwise this is what Optuna's ``IntersectionSearchSpace`` returns.
        """
        return dict(self._chosen.varying)

    @property
    def _chosen(self) -> _Common:
        return self._of_all if self._of_complete.required is None else self._of_complete

    def modelled(self, *, with_gone: bool = True) -> dict[str, BaseDistribution]:
        """Return those that a model may have as columns, by name, without single values.

        Parameters that only some trials have are among them, and those whose range has changed,
        with their present one. It is :meth:`common` where all trials have the same parameters.
        """
        branches = self._learned()
        if branches is None:
            return self.common()
        dropped = () if with_gone else branches.gone
        return {name: d for name, d in branches.modelled.items() if name not in dropped}

    def gone(self) -> frozenset[str]:
        """Return those of :meth:`modelled` that the objective does not ask for any more."""
        branches = self._learned()
        return frozenset() if branches is None else branches.gone

    def required(self) -> frozenset[str] | None:
        """Return the names of those that all trials have, in whatever range; None without any."""
        return self._chosen.required

    def rules(self) -> Mapping[str, Rule]:
        """Return which values of other parameters decide whether one is there; see Activity."""
        branches = self._learned()
        return {} if branches is None else branches.rules

    def splits(self) -> tuple[Split, ...]:
        """Return those whose range depends on a choice."""
        branches = self._learned()
        return () if branches is None else branches.splits

    def _learned(self) -> _Branches | None:
        if self._branches is not None:
            self._branches.learn(self._chosen.required or frozenset(), self._failed)
        return self._branches

    def _take_in(self, trial: FrozenTrial) -> None:
        self._trials.append(trial)
        if self._branches is not None:
            self._branches.take_in(trial)
        elif trial.distributions != self._trials[0].distributions:
            branches = _Branches()
            for other in self._trials:
                branches.take_in(other)
            self._branches = branches
        self._of_all.take_in(trial.distributions)
        if trial.state == TrialState.COMPLETE:
            self._of_complete.take_in(trial.distributions)


class _Common:
    """What trials have in common. To take in a trial once more changes nothing."""

    def __init__(self) -> None:
        self.required: frozenset[str] | None = None
        """Those that all trials have, in whatever range; ``None`` without a trial."""
        self.varying: dict[str, BaseDistribution] = {}
        """Those that all trials have with one distribution, without single values."""

    def take_in(self, distributions: Mapping[str, BaseDistribution]) -> None:
        if self.required is None:
            found = sorted(distributions.items())
            self.varying = {n: copy.deepcopy(d) for n, d in found if not d.single()}
            self.required = frozenset(distributions)
        elif not self.required <= distributions.keys():
            self.required = self.required.intersection(distributions)
        if any(distributions.get(n) != d for n, d in self.varying.items()):
            self.varying = {n: d for n, d in self.varying.items() if distributions.get(n) == d}


class _Branches:
    """The parameters of trials that do not all have the same ones."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()
        self._ranges: dict[str, Ranges] = {}
        self._complete: dict[int, frozenset[str]] = {}
        self._activity = Activity()
        self._values: dict[int, Mapping[str, float]] = {}
        self._until: dict[str, tuple[tuple[int, int], Rule | None]] = {}
        self._choices: dict[int, dict[str, int]] = {}  # of categorical parameters, by number
        self._is_learned = False
        self.modelled: dict[str, BaseDistribution] = {}
        self.gone = frozenset[str]()
        self.rules: Mapping[str, Rule] = {}
        self.splits: tuple[Split, ...] = ()

    def take_in(self, trial: FrozenTrial) -> None:
        if trial.number in self._numbers:
            return
        names = frozenset(trial.distributions)
        self._numbers.add(trial.number)
        for name, distribution in trial.distributions.items():
            self._ranges.setdefault(name, Ranges()).take_in(trial.number, distribution)
        complete = trial.state == TrialState.COMPLETE
        if complete:
            self._complete[trial.number] = names
        values = {n: _internal(d, trial.params[n]) for n, d in trial.distributions.items()}
        self._activity.take_in(values, complete=complete)
        self._values[trial.number] = values
        categorical = [n for n, d in trial.distributions.items() if _is_ordered(d) is False]
        self._choices[trial.number] = {name: int(values[name]) for name in categorical}
        self.forget()

    def forget(self) -> None:
        """Forget what was learned: more is known now."""
        self._is_learned = False

    def learn(self, required: frozenset[str], failed: Mapping[int, frozenset[str]]) -> None:
        """Learn the columns, rules and splits, unless nothing is new.

        All trials have the ``required`` ones. The ``failed`` trials, by number, had these.
        """
        if self._is_learned:
            return
        found = {
            name: ranges.present()
            for name, ranges in sorted(self._ranges.items())
            if not (ranges.are_mixed() and ranges.was_refused(name, failed))
        }
        self.splits = tuple(
            split
            for name in found
            if (split := self._ranges[name].split(name, self._choices)) is not None
        )
        found |= {split.name: all_joined([d for d, _ in split.ranges]) for split in self.splits}
        deciders = {n: o for n, d in found.items() if (o := _is_ordered(d)) is not None}
        self.rules = self._activity.rules(deciders)
        varying = {name: d for name, d in found.items() if not d.single()}
        sometimes = varying.keys() - required
        self.gone = self._gone(sometimes, deciders)
        last = sorted(self._complete)[-STALE:]
        recent = frozenset[str]().union(*(self._complete[number] for number in last))
        kept = required | self.rules.keys() | recent | self.gone
        full = len(last) == STALE
        self.modelled = {name: d for name, d in varying.items() if name in kept or not full}
        self._is_learned = True

    def _gone(self, names: set[str], deciders: Mapping[str, bool]) -> frozenset[str]:
        """Return those of some parameters that the objective does not ask for any more."""
        gone = {n for n in names if n not in self.rules and self._is_gone(n, deciders)}
        # What one of them decides about has no reason to come back.
        while more := {
            name
            for name in names & self.rules.keys() - gone
            for clause in self.rules[name]
            if clause.name in gone and self._last(name) <= self._last(clause.name)
        }:
            gone |= more
        return frozenset(gone)

    def _last(self, name: str) -> int:
        """Return the last completed trial that has a parameter, -1 for none."""
        return max((k for k, names in self._complete.items() if name in names), default=-1)

    def _is_gone(self, name: str, deciders: Mapping[str, bool]) -> bool:
        last = self._last(name)
        without = [number for number in self._complete if number > last]
        if last < 0 or len(without) < FEWEST_WITHOUT:
            return False
        rule = self._rule_until(last, name, deciders)
        if rule is None:
            return False
        return sum(has(self._values[k], rule, deciders) for k in without) >= FEWEST_WITHOUT

    def _rule_until(self, last: int, name: str, deciders: Mapping[str, bool]) -> Rule | None:
        """Return the conditions under which trials up to one had a parameter, none for always."""
        before = [number for number in self._values if number <= last]
        key = last, len(before)
        if self._until.get(name, (None, None))[0] != key:
            rule: Rule | None = ()
            had = [name in self._complete[k] for k in sorted(self._complete) if k <= last]
            if not all(had[had.index(True) :]) or sum(had) < FEWEST_WITH:
                activity = Activity()
                for number in before:
                    activity.take_in(self._values[number], complete=number in self._complete)
                rule = activity.rule(name, deciders)
            self._until[name] = key, rule
        return self._until[name][1]


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
