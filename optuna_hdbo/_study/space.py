"""Distributions to columns and back: the only place that knows the units of a parameter."""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from typing import Any
from typing import Protocol

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray


MAX_GRID_SIZE = 1024
"""A numerical column with more admissible values than this is searched as if continuous."""

_LAST_EXACT_INTEGER = 2**53


class _Column(Protocol):
    @property
    def grid(self) -> FloatArray | None:
        """Positions of the admissible values, ``None`` where they are too many to list."""

    def encode(self, value: Any) -> float | None:
        """Return the position of a value, ``None`` where the distribution does not admit it."""

    def decode(self, x: float) -> Any:
        """Return the admissible value at (or nearest to) a position of the column."""

    def draw(self, u: float) -> Any:
        """Return the admissible value at the quantile ``u`` in [0, 1) of the distribution."""


class _Interval:
    """A float without a step: affine, or affine in its logarithm, on [0, 1]."""

    def __init__(self, distribution: FloatDistribution) -> None:
        self.grid: FloatArray | None = None
        self._low, self._high = distribution.low, distribution.high
        # On such a narrow range the logarithm is linear, and both ends may have the same one.
        self._log = distribution.log and self._high / self._low > 1 + 1e-6
        # The width of [-1e308, 1e308] overflows; halving is exact.
        self._unit = 1.0 if math.isfinite(self._high - self._low) else 0.5
        self._start, self._end = self._warp(self._low), self._warp(self._high)

    def _warp(self, value: float) -> float:
        return math.log(value) if self._log else value * self._unit

    def encode(self, value: Any) -> float | None:
        if type(value) is not float and not isinstance(value, int | float):
            return None
        if not self._low <= value <= self._high:
            return None
        width = self._end - self._start
        return min((self._warp(value) - self._start) / width, 1.0) if width > 0 else 0.5

    def decode(self, x: float) -> float:
        # Reach the ends exactly: optima lie on bounds, and exp(log(high)) may differ from high.
        if x <= 0.0:
            return self._low
        if x >= 1.0:
            return self._high
        warped = min(self._start + x * (self._end - self._start), self._end)
        value = math.exp(warped) if self._log else warped / self._unit
        return min(max(value, self._low), self._high)

    draw = decode


class _Steps:
    """An int, or a float with a step: value number k has the cell [k, k + 1) of [0, n].

    The column is u = cell / n, or the logarithm of the cell's values between ``low - 1/2`` and
    ``high + 1/2``, so that each value has its fair share including the first and the last.
    """

    def __init__(self, distribution: IntDistribution | FloatDistribution) -> None:
        assert distribution.step is not None
        self._low: float = distribution.low
        self._high: float = distribution.high
        self._step: float = distribution.step
        self._integer = isinstance(distribution, IntDistribution)
        if isinstance(distribution, IntDistribution):
            self._n = (distribution.high - distribution.low) // distribution.step + 1
        else:
            # Not a difference of floats: (10.2 - -10.2) / 0.1 is not 204.
            low, high, step = (
                decimal.Decimal(str(v)) for v in (self._low, self._high, self._step)
            )
            self._n = int(((high - low) / step).to_integral_value()) + 1
        self._log_start = self._low - 0.5 if distribution.log else None
        self.grid: FloatArray | None = self._make_grid() if self._n <= MAX_GRID_SIZE else None

    def _make_grid(self) -> FloatArray:
        centres = np.arange(self._n, dtype=np.float64) + 0.5
        if self._log_start is None:
            return centres / self._n
        return np.log1p(centres / self._log_start) / math.log1p(self._n / self._log_start)

    def encode(self, value: Any) -> float | None:
        index = self._index(value)
        if index is None:
            return None
        if self.grid is not None:
            return float(self.grid[index])
        if self._log_start is None:
            return (2 * index + 1) / (2 * self._n)  # Python divides integers of any size exactly.
        width = math.log1p(self._n / self._log_start)
        return math.log1p((index + 0.5) / self._log_start) / width

    def _index(self, value: Any) -> int | None:
        if not isinstance(value, int | float) or not self._low <= value <= self._high:
            return None
        if self._integer:
            if not self._is_storable(float(value)):
                return None
            index = int((int(value) - self._low) // self._step)
            return min(index, self._n - 1)
        position: float = (value - self._low) / self._step
        # Optuna's tolerance, and the rounding of the value itself where steps are very fine.
        rounding = 4 * math.ulp(max(abs(value), abs(self._low))) / self._step
        if abs(position - round(position)) > 1e-8 + rounding:
            return None
        return min(round(position), self._n - 1)

    def decode(self, x: float) -> float:
        x = min(max(x, 0.0), 1.0)
        if self._log_start is None:
            cell = x * self._n
        else:
            cell = self._log_start * math.expm1(x * math.log1p(self._n / self._log_start))
        index = min(max(math.floor(cell), 0), self._n - 1)
        if self._integer:
            return self._storable(int(self._low + index * self._step))
        return self._near_step(index)

    draw = decode

    def _is_storable(self, value: float) -> bool:
        # Optuna keeps every number as a float and tests that.
        return self._low <= value <= self._high and (value - self._low) % self._step == 0

    def _near_step(self, index: int) -> float:
        """Return a float that Optuna accepts as a step: number ``index`` or the nearest such one.

        With very fine steps, the rounding in Optuna's test exceeds its tolerance.
        """
        for distance in range(100):
            for k in (index + distance, index - distance):
                value = min(max(self._low + k * self._step, self._low), self._high)
                position = (value - self._low) / self._step
                if abs(position - round(position)) < 1e-8:
                    return value
        return min(max(self._low + index * self._step, self._low), self._high)

    def _storable(self, value: int) -> int:
        """Return an admissible integer near ``value`` that is also a float."""
        if abs(value) <= _LAST_EXACT_INTEGER or self._is_storable(float(value)):
            return value
        down = up = float(value)
        for _ in range(1000):
            for candidate in (down, up):
                if self._is_storable(candidate):
                    return int(candidate)
            down, up = math.nextafter(down, -math.inf), math.nextafter(up, math.inf)
        return value


class _Choices:
    """A categorical parameter: the index of its choice."""

    def __init__(self, distribution: CategoricalDistribution) -> None:
        self._distribution = distribution
        self._n = len(distribution.choices)
        self.grid: FloatArray | None = np.arange(self._n, dtype=np.float64)

    def index(self, value: Any) -> int:
        """Return the index of a choice; ``ValueError`` for anything else."""
        return int(self._distribution.to_internal_repr(value))

    def encode(self, value: Any) -> float | None:
        try:
            return float(self._distribution.to_internal_repr(value))
        except (TypeError, ValueError):
            return None

    def decode(self, x: float) -> Any:
        return self._distribution.choices[min(max(math.floor(x + 0.5), 0), self._n - 1)]

    def draw(self, u: float) -> Any:
        return self.decode(math.floor(u * self._n))


def _make_column(name: str, distribution: BaseDistribution) -> _Column:
    if isinstance(distribution, CategoricalDistribution):
        return _Choices(distribution)
    if isinstance(distribution, IntDistribution):
        return _Steps(distribution)
    if isinstance(distribution, FloatDistribution):
        if not (math.isfinite(distribution.low) and math.isfinite(distribution.high)):
            raise ValueError(
                f"The range of parameter '{name}' must be finite, but got {distribution}."
            )
        return _Interval(distribution) if distribution.step is None else _Steps(distribution)
    raise ValueError(
        f"The distribution of parameter '{name}' must be float, int or categorical, but got "
        f"{distribution}."
    )


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
        self._columns = {name: _make_column(name, d) for name, d in self.distributions.items()}
        self._choices = {
            name: column.index
            for name, column in self._columns.items()
            if type(column) is _Choices
        }
        self.domain = Domain(
            names=tuple(self._columns),
            grids=tuple(column.grid for column in self._columns.values()),
            categorical=np.array(
                [isinstance(column, _Choices) for column in self._columns.values()], dtype=np.bool_
            ),
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
