"""Distributions to columns and back: the only place that knows the units of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._study.columns import Choices
from optuna_hdbo._study.columns import make_column


class SearchSpace:
    """The columns of some distributions: encodes configurations as rows, and decodes rows.

    Parameters
    ----------
    distributions : Mapping of str to BaseDistribution
        In column order.

    Attributes
    ----------
    domain : Domain
        The columns as methods see them.
    """

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions = dict(distributions)
        self._columns = {name: make_column(name, d) for name, d in self.distributions.items()}
        self._choices = {
            name: column.index for name, column in self._columns.items() if type(column) is Choices
        }
        self.domain = Domain(
            names=tuple(self._columns),
            grids=tuple(column.grid for column in self._columns.values()),
            categorical=np.array(
                [isinstance(column, Choices) for column in self._columns.values()], dtype=np.bool_
            ),
            steps={
                i: column.steps
                for i, column in enumerate(self._columns.values())
                if column.steps is not None
            },
            read_back=self.read_back,
        )

    def describes(self, distributions: Mapping[str, BaseDistribution]) -> bool:
        """Tell whether these distributions make the same columns in the same order."""
        return list(self.distributions.items()) == list(distributions.items())

    def encode(self, params: Mapping[str, Any]) -> FloatArray | None:
        """Return a configuration's row, shape (D,).

        Returns
        -------
        FloatArray or None
            ``None`` where a parameter is missing or its value is not admissible. Parameters that
            the space does not have are ignored.
        """
        row = np.empty(len(self._columns))
        for i, (name, column) in enumerate(self._columns.items()):
            position = column.encode(params[name]) if name in params else None
            if position is None:
                return None
            row[i] = position
        return row

    def decode(self, row: FloatArray) -> dict[str, Any]:
        """Return the configuration at (or nearest to) a row: Python values, all admissible."""
        return {
            name: column.decode(x)
            for (name, column), x in zip(self._columns.items(), row.tolist(), strict=True)
        }

    def read_back(self, row: FloatArray) -> FloatArray:
        """Return the row (D,) of the configuration at (or nearest to) a row."""
        read = self.encode(self.decode(row))
        return row if read is None else read

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return a random configuration, uniform in each parameter's own (log) scale."""
        shares = rng.random(len(self._columns)).tolist()
        return {
            name: column.draw(u)
            for (name, column), u in zip(self._columns.items(), shares, strict=True)
        }

    def to_json(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration as JSON numbers. A choice is stored as its index."""
        return {
            name: params[name] if name not in self._choices else self._choices[name](params[name])
            for name in self._columns
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
            if name not in numbers:
                continue
            value = numbers[name]
            if type(value) not in (int, float):
                raise ValueError(f"{value!r} is not a number")
            if isinstance(distribution, CategoricalDistribution):
                if value not in range(len(distribution.choices)):
                    raise ValueError(f"{value!r} is no index of {distribution}")
                value = distribution.choices[int(value)]
            elif self._columns[name].encode(value) is None:
                raise ValueError(f"{value!r} is outside {distribution}")
            params[name] = value
        return params
