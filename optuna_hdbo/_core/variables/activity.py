"""Which parameters a trial has: rules learned from the trials of a study.

Objectives branch: one parameter says how many layers there are, and only those have a width. Such
a rule is looked for among parameters of few values. It must agree with every trial.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field


MOST_PAIRED = 8
"""At most this many parameters are tried in pairs, where no single one decides."""

Row = tuple[Mapping[str, float], bool]
"""The values of a trial's parameters, and whether a parameter that is not there was not asked
for. A trial that was stopped early may not have come to it."""


@dataclass(frozen=True)
class Clause:
    """A condition on the value of one parameter.

    Parameters
    ----------
    name : str
        The deciding parameter.
    passed, failed : frozenset of float
        Its values in the trials under which the condition held and did not hold.
    """

    name: str
    passed: frozenset[float]
    failed: frozenset[float]

    def holds(self, value: float, *, ordered: bool) -> bool:
        """Tell whether the condition holds for a value, maybe one that no trial has had.

        An unknown number counts as the nearest known one. An unknown choice fails.
        """
        if value in self.passed or not ordered:
            return value in self.passed
        gap = min(abs(value - known) for known in self.passed)
        return all(abs(value - known) >= gap for known in self.failed)

    def bits(self, *, ordered: bool) -> float:
        """Return the length of the rule's description.

        A choice costs one bit, or all of them what it takes to say how many pass and which. An
        interval of numbers costs its two ends.
        """
        n = len(self.passed) + len(self.failed)
        if not ordered:
            return min(n, math.log2(n + 1) + math.log2(math.comb(n, len(self.passed))))
        inside = [value in self.passed for value in sorted(self.passed | self.failed)]
        n_changes = sum(a != b for a, b in itertools.pairwise(inside))
        return 1.0 + n_changes * math.log2(n)


Rule = tuple[Clause, ...]
"""Conditions that must all hold."""


def has(values: Mapping[str, float], rule: Rule, deciders: Mapping[str, bool]) -> bool:
    """Tell whether a trial with these values has a parameter with this rule."""
    return all(
        clause.name in values
        and clause.holds(values[clause.name], ordered=deciders.get(clause.name, False))
        for clause in rule
    )


@dataclass
class _Presence:
    """What is known of one parameter that only some trials have.

    ``beside`` are the parameters that every trial has that has this one. ``alive`` are those of
    them that may decide, with their values with and without it.
    """

    n_with: int = 0
    beside: set[str] = field(default_factory=set)
    alive: dict[str, tuple[set[float], set[float]]] = field(default_factory=dict)
    n_without: dict[str, int] = field(default_factory=dict)
    pairs: dict[tuple[str, str], set[tuple[float, float]]] = field(default_factory=dict)
    paired: tuple[str, ...] = ()


class Activity:
    """Learns under which values of other parameters each parameter is there.

    The rules depend on the set of the trials, not on the order in which they are taken in.
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._n_with: dict[str, int] = {}
        self._known: dict[str, _Presence] = {}
        self._deciders: dict[str, bool] = {}

    def take_in(self, values: Mapping[str, float], *, complete: bool) -> None:
        """Take in one trial.

        Parameters
        ----------
        values : mapping of str to float
            Parameter name -> number, or index of a choice.
        complete : bool
            Whether a parameter that is not there was not asked for.
        """
        for name in values:
            self._n_with[name] = self._n_with.get(name, 0) + 1
        row = values, complete
        self._rows.append(row)
        for name, presence in self._known.items():
            self._count(name, presence, row)

    def rules(self, deciders: Mapping[str, bool]) -> dict[str, Rule]:
        """Return the conditions, by name, of the parameters for which a rule was found.

        ``deciders`` are those that may decide, and whether their values are ordered.
        """
        if deciders != self._deciders:
            self._deciders, self._known = dict(deciders), {}
        found = {}
        for name in sorted(self._n_with):
            if self._n_with[name] == len(self._rows):
                continue
            if name not in self._known:
                self._known[name] = self._presence(name)
            rule = self._rule(name, self._known[name])
            if rule is not None:
                found[name] = rule
        return found | self._alike(found)

    def rule(self, name: str, deciders: Mapping[str, bool]) -> Rule | None:
        """Return the conditions of one parameter if a rule was found."""
        self._deciders, self._known = dict(deciders), {}
        return self._rule(name, self._presence(name))

    def _alike(self, found: Mapping[str, Rule]) -> dict[str, Rule]:
        """Return rules of parameters that too few trials had, by what decides about most others.

        What decides about one model's parameters probably decides about those of a rare one.
        """
        decided = Counter(clause.name for rule in found.values() for clause in rule)
        alike: dict[str, Rule] = {}
        for name in sorted(self._known.keys() - found.keys()):
            able = [c for c in self._single(name, self._known[name]) if decided[c.name]]
            if able:
                alike[name] = (max(able, key=lambda clause: decided[clause.name]),)
        return alike

    def _presence(self, name: str) -> _Presence:
        presence = _Presence()
        beside = set(self._deciders) - {name}
        for values, _ in self._rows:
            if name in values:
                beside &= values.keys()
        presence.beside = beside
        presence.alive = {other: (set(), set()) for other in beside}
        for row in self._rows:
            self._count(name, presence, row)
        return presence

    def _count(self, name: str, presence: _Presence, row: Row) -> None:
        values, complete = row
        here = name in values
        if here:
            presence.n_with += 1
            presence.beside &= values.keys()
        elif not complete:
            return
        else:
            # Without the other one as well: a rule about it explains that, too.
            for other in presence.beside:
                presence.n_without[other] = presence.n_without.get(other, 0) + 1
        for other in list(presence.alive):
            value = values.get(other)
            if value is None:
                if here:
                    del presence.alive[other]
                continue
            passed, failed = presence.alive[other]
            (passed if here else failed).add(value)
            if value in passed and value in failed:
                del presence.alive[other]
        if not here:
            for first, second in presence.pairs:
                if first in values and second in values:
                    presence.pairs[first, second].add((values[first], values[second]))

    def _rule(self, name: str, presence: _Presence) -> Rule | None:
        """Return the shortest rule that agrees with all trials, None for none.

        A rule that is longer than a list of the trials explains nothing.
        """
        best: tuple[float, int, Rule] | None = None
        for clause in self._single(name, presence):
            n_without = presence.n_without.get(clause.name, 0)
            best = self._shorter(best, (clause,), presence, n_without)
        if best is None and not presence.alive:
            for pair, n_without in self._pairs(name, presence):
                best = self._shorter(best, pair, presence, n_without)
        return None if best is None else best[2]

    def _single(self, name: str, presence: _Presence) -> Iterable[Clause]:
        """Yield the conditions on one parameter that agree with all trials."""
        for other in sorted(presence.alive):
            # More trials have what decides: so no two parameters decide about each other.
            if self._n_with[other] <= self._n_with[name]:
                continue
            passed, failed = map(frozenset, presence.alive[other])
            if failed or self._n_with[other] < len(self._rows):
                yield Clause(other, passed, failed)
            # Else only trials that were stopped early lack it.

    def _shorter(
        self,
        best: tuple[float, int, Rule] | None,
        clauses: Rule,
        presence: _Presence,
        n_without: int,
    ) -> tuple[float, int, Rule] | None:
        bits = sum(clause.bits(ordered=self._deciders[clause.name]) for clause in clauses)
        if n_without and bits >= _entropy(presence.n_with, n_without):
            return best
        # Of equally long rules, the one by the parameter that most trials have.
        rarest = -min(self._n_with[clause.name] for clause in clauses)
        if best is None or (bits, rarest) < best[:2]:
            return bits, rarest, clauses
        return best

    def _pairs(self, name: str, presence: _Presence) -> Iterable[tuple[Rule, int]]:
        """Yield the rules by two parameters that agree with all trials, and how many they explain.

        The values of both parameters that were ever seen with this one are what is admitted.
        """
        paired = tuple(sorted(presence.beside, key=lambda other: (self._deciders[other], other)))
        if paired[:MOST_PAIRED] != presence.paired:
            presence.paired = paired[:MOST_PAIRED]
            presence.pairs = {
                (a, b): {
                    (values[a], values[b])
                    for values, complete in self._rows
                    if complete and name not in values and a in values and b in values
                }
                for i, a in enumerate(presence.paired)
                for b in presence.paired[:i]
            }
        seen = {
            other: frozenset(values[other] for values, _ in self._rows if name in values)
            for other in presence.paired
        }
        for (a, b), without in presence.pairs.items():
            if not any(u in seen[a] and v in seen[b] for u, v in without):
                failed_a = frozenset(u for u, _ in without) - seen[a]
                failed_b = frozenset(v for _, v in without) - seen[b]
                n = min(presence.n_without.get(a, 0), presence.n_without.get(b, 0))
                yield (Clause(a, seen[a], failed_a), Clause(b, seen[b], failed_b)), n


def _entropy(n: int, m: int) -> float:
    """Return the bits that it takes to say which n of n + m trials have a parameter."""
    p = n / (n + m)
    return -(n + m) * (p * math.log2(p) + (1.0 - p) * math.log2(1.0 - p))
