"""Distributions to columns and back: the only place that knows the units of a parameter."""

from __future__ import annotations

import copy
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import Gates
from optuna_hdbo._core.domain import nearest
from optuna_hdbo._core.variables.activity import Clause
from optuna_hdbo._core.variables.activity import Rule
from optuna_hdbo._study.columns import Choices
from optuna_hdbo._study.columns import Column
from optuna_hdbo._study.columns import make_column
from optuna_hdbo._study.splits import Split
from optuna_hdbo._study.splits import gather
from optuna_hdbo._study.splits import spread


REACH = 2.0
"""A trial informs the model if no number is further outside of its present range than this many
widths of the range. Further away, a model fitted to the range knows nothing about the scale."""

_NUMBERS = frozenset((int, float))


class Held:
    """The column of a parameter that the objective does not ask for any more: it has one value.

    That of a categorical one is a choice of its own, since which one the objective has is unknown.
    """

    steps = None

    def __init__(self, column: Column) -> None:
        self.extend, self.decode, self.draw = column.extend, column.decode, column.draw
        grid = np.array([0.5]) if column.grid is None else column.grid
        is_choice = type(column) is Choices
        self.grid = np.array([len(grid)]) if is_choice else nearest(grid, np.array([0.5]))

    def encode(self, value: Any) -> None:
        """Return None: a trial with a value is outside."""


class SearchSpace:
    """The columns of some distributions: encodes configurations as rows, and decodes rows.

    Parameters
    ----------
    distributions : Mapping of str to BaseDistribution
        In column order.
    required : collection of str, or None
        Parameters without which a configuration has no row; ``None`` for all.
    splits : sequence of Split
        Parameters that have a column for each of several ranges.
    held : collection of str
        Parameters that no configuration has any more. Earlier trials that had them are outside.
    rules : Mapping of str to tuple of Clause
        Which values of other parameters decide whether one is there.

    Attributes
    ----------
    domain : Domain
        The columns as methods see them.
    """

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        required: Collection[str] | None = None,
        splits: Sequence[Split] = (),
        held: Collection[str] = (),
        rules: Mapping[str, Rule] | None = None,
    ) -> None:
        self.distributions = dict(distributions)
        self._asked, self._held = required, frozenset(held)
        names, self._given = self.distributions.keys(), splits
        self._splits = tuple(
            s
            for s in splits
            if {s.name, s.by} <= names - self._held and names.isdisjoint(s.columns)
        )
        self.required = frozenset(self.distributions).intersection(
            self.distributions if required is None else required
        )
        ranges = dict(self.distributions)
        for split in self._splits:
            del ranges[split.name]
            ranges |= {column: d for column, (d, _) in split.columns.items()}
        self._columns: dict[str, Column] = {n: make_column(n, d) for n, d in ranges.items()}
        self._columns |= {n: Held(c) for n, c in self._columns.items() if n in self._held}
        self._choices = {
            name: column.index for name, column in self._columns.items() if type(column) is Choices
        }
        self._categorical = [isinstance(d, CategoricalDistribution) for d in ranges.values()]
        self.rules = dict(rules or {})
        self._remember_nothing()
        self.domain = self._make_domain()

    def _remember_nothing(self) -> None:
        # The last row that was decoded and the last configuration that was encoded, each with
        # what came of it: every trial's point is converted several times.
        self._decoded: tuple[bytes, dict[str, Any]] = b"", {}
        self._encoded: tuple[dict[str, Any], FloatArray | None] = {}, None

    def _make_domain(self) -> Domain:
        return Domain(
            names=tuple(self._columns),
            grids=tuple(column.grid for column in self._columns.values()),
            categorical=np.array(self._categorical, dtype=np.bool_),
            steps={
                i: column.steps
                for i, column in enumerate(self._columns.values())
                if column.steps is not None
            },
            gates=self._make_gates(),
            read_back=self.read_back,
        )

    def _make_gates(self) -> Gates:
        """Return the rules by column. A deciding parameter that is no column is left out."""
        place = {name: i for i, name in enumerate(self._columns)}
        of = {name: {name: d} for name, d in self.distributions.items()}
        of |= {split.name: {c: d for c, (d, _) in split.columns.items()} for split in self._splits}
        found = {
            name: tuple(
                self._condition(clause, of[clause.name], place)
                for clause in clauses
                if clause.name in of
            )
            for name, clauses in self.rules.items()
            if name not in self._held
        }
        gates = {place[name]: own for name, own in found.items() if own and name in place}
        for split in self._splits:
            by, index = self._columns[split.by], self.distributions[split.by].to_internal_repr
            options = [] if by.grid is None else by.grid.tolist()
            for column, (_, choices) in split.columns.items():
                passing = tuple(x for x in options if index(by.decode(x)) in choices)
                chosen = Condition(place[split.by], passing)
                gates[place[column]] = (chosen, *found.get(split.name, ()))
        return gates

    def _condition(
        self, clause: Clause, ranges: Mapping[str, BaseDistribution], place: Mapping[str, int]
    ) -> Condition:
        """Return a clause as a condition on the columns of its parameter, one for each range."""
        first, *others = (
            Condition(place[name], self._passing(clause, name, d)) for name, d in ranges.items()
        )
        return replace(first, others=tuple(others))

    def _passing(
        self, clause: Clause, name: str, distribution: BaseDistribution
    ) -> tuple[float, ...]:
        """Return the positions of a deciding column at which a clause holds."""
        column = self._columns[name]
        ordered = type(column) is not Choices
        return tuple(
            x
            for x in ([] if column.grid is None else column.grid.tolist())
            if clause.holds(
                float(distribution.to_internal_repr(column.decode(x))), ordered=ordered
            )
        )

    def describes(
        self,
        distributions: Mapping[str, BaseDistribution],
        required: Collection[str] | None = None,
        splits: Sequence[Split] = (),
        held: Collection[str] = (),
    ) -> bool:
        """Tell whether these arguments make the same columns in the same order."""
        if list(self.distributions.items()) != list(distributions.items()):
            return False
        if splits != self._given or self._held != frozenset(held):
            return False
        needed = self.distributions if required is None else required
        # The same frozen set, as nearly always, or an equal one.
        return required is self._asked or self.distributions.keys() & needed == self.required

    def with_rules(self, rules: Mapping[str, Rule]) -> SearchSpace:
        """Return the same columns under other rules."""
        if rules == self.rules:
            return self
        other = copy.copy(self)
        other.rules = dict(rules)
        other._remember_nothing()
        other.domain = other._make_domain()
        return other

    def has_columns_of(self, other: SearchSpace | None) -> bool:
        """Tell whether both encode every configuration alike, whatever their rules."""
        return other is not None and other._columns is self._columns

    def encode(self, params: Mapping[str, Any]) -> FloatArray | None:
        """Return a configuration's row, shape (D,).

        Returns
        -------
        FloatArray or None
            ``None`` where a required parameter is missing, or all are, or a value is not
            admissible. A missing parameter that is not required has the domain's value of inactive
            columns. Parameters that the space does not have are ignored.
        """
        params = self._by_column(params)
        last, known = self._encoded
        # Equal numbers have equal positions. Choices may be objects that compare as they like.
        numeric = len(params) == len(self._columns)
        numeric = numeric and _NUMBERS.issuperset(map(type, params.values()))
        if numeric and known is not None and params == last:
            return known.copy()
        row: list[float] = []
        n_missing = 0
        for name, column in self._columns.items():
            if name in params:
                position = column.encode(params[name])
            elif name in self.required:
                return None
            else:
                position, n_missing = self.domain.absent.item(len(row)), n_missing + 1
            if position is None:
                return None
            row.append(position)
        if n_missing and n_missing == len(row):
            return None
        found = np.array(row, np.float64)
        if numeric and not n_missing:
            self._encoded = dict(params), found.copy()
        return found

    def lacking(self, params: Mapping[str, Any]) -> BoolArray:
        """Mark the columns (D,) of which a configuration has no value."""
        params = self._by_column(params)
        return np.array([name not in params for name in self._columns], np.bool_)

    def extend(self, params: Mapping[str, Any]) -> FloatArray | None:
        """Return the row (D,) of a configuration that had other ranges.

        Its positions may be outside of [0, 1]. ``None`` where a number has no place on a column's
        scale, where a required parameter is missing, or all are.
        """
        if not self.required <= params.keys():
            return None
        params = self._by_column(params)
        if params.keys().isdisjoint(self._columns):
            return None
        row = self.domain.absent.copy()
        for i, (name, column) in enumerate(self._columns.items()):
            if name in params:
                position = column.extend(params[name])
                if position is None:
                    return None
                row[i] = position
        return row

    def canonical(self, rows: Sequence[FloatArray]) -> list[FloatArray]:
        """Return rows (D,) without what is not active in them."""
        return [*self.domain.canonical(np.array(rows))] if rows and self.domain.gates else [*rows]

    def is_close(self, row: FloatArray) -> bool:
        """Tell whether no number of a row (D,) is further outside than :data:`REACH`."""
        numbers = row[~self.domain.categorical]
        return bool(((numbers >= -REACH) & (numbers <= 1.0 + REACH)).all())

    def decode(self, row: FloatArray) -> dict[str, Any]:
        """Return the configuration at (or nearest to) a row: Python values, all admissible.

        It has the parameters whose columns are active.
        """
        key = row.tobytes()
        last, known = self._decoded
        if key == last:
            return dict(known)
        params = {
            name: column.decode(x)
            for (name, column), x in zip(self._columns.items(), row.tolist(), strict=True)
        }
        if self.domain.gates:
            active = self.domain.active(self.domain.nearest(row[None]))[0].tolist()
            params = {name: params[name] for name, on in zip(params, active, strict=True) if on}
        params = self._by_name({n: v for n, v in params.items() if n not in self._held})
        self._decoded = key, dict(params)
        return params

    def _by_column(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return spread(self._splits, params, self.distributions) if self._splits else params

    def _by_name(self, found: dict[str, Any]) -> dict[str, Any]:
        return gather(self._splits, found, self.distributions) if self._splits else found

    def read_back(self, row: FloatArray) -> FloatArray:
        """Return the row (D,) of the configuration at (or nearest to) a row."""
        read = self.encode(self.decode(row))
        return row if read is None else read

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return a random configuration, uniform in each parameter's own (log) scale."""
        shares = rng.random(len(self._columns)).tolist()
        found = {
            name: column.draw(u)
            for (name, column), u in zip(self._columns.items(), shares, strict=True)
            if name not in self._held
        }
        return self._by_name(found)

    def to_json(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration as JSON numbers. A choice is stored as its index."""
        return {
            name: params[name] if name not in self._choices else self._choices[name](params[name])
            for name in self.distributions
            if name in params
        }

    def from_json(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Undo :meth:`to_json` for the parameters that are present and that the space has.

        Raises
        ------
        ValueError
            Where a value is not admissible.
        """
        params = {}
        for name, distribution in self.distributions.items():
            if name not in numbers or name in self._held:
                continue
            value = numbers[name]
            if type(value) not in (int, float):
                raise ValueError(f"{value!r} is not a number")
            if isinstance(distribution, CategoricalDistribution):
                if value not in range(len(distribution.choices)):
                    raise ValueError(f"{value!r} is no index of {distribution}")
                value = distribution.choices[int(value)]
            elif name in self._columns and self._columns[name].encode(value) is None:
                raise ValueError(f"{value!r} is outside {distribution}")
            params[name] = value
        return params
