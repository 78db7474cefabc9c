"""One parameter <-> one column: positions of values on the unit interval, and back."""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Sequence
from typing import Any
from typing import Protocol

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import Steps


MAX_GRID_SIZE = 1024
"""A numerical column with more admissible values than this is searched as if continuous."""

MAX_COUNTED_FLOATS = 2**38
"""The values of a float range with at most this many are counted, as those of an int are."""

_LAST_EXACT_INTEGER = 2**53


class Column(Protocol):
    @property
    def grid(self) -> FloatArray | None:
        """Positions of the admissible values, ``None`` where they are too many to list."""

    @property
    def steps(self) -> Steps | None:
        """Those that are too many to list, ``None`` where they are listed or not counted."""

    def encode(self, value: Any) -> float | None:
        """Return the position of a value, ``None`` where the distribution does not admit it."""

    def extend(self, value: Any) -> float | None:
        """Return where a value would be on the column's scale, maybe outside of [0, 1].

        ``None`` where the scale does not have it. The values of a trial that had another range
        are placed like this.
        """

    def decode(self, x: float) -> Any:
        """Return the admissible value at (or nearest to) a position of the column."""

    def draw(self, u: float) -> Any:
        """Return the admissible value at the quantile ``u`` in [0, 1) of the distribution."""


class _Interval:
    """A float without a step: affine, or affine in its logarithm, on [0, 1]."""

    grid: FloatArray | None = None
    steps: Steps | None = None

    def __init__(self, distribution: FloatDistribution) -> None:
        self._low, self._high = distribution.low, distribution.high
        # On such a narrow range the logarithm is linear, and both ends may have the same one.
        self._log = distribution.log and self._high / self._low > 1 + 1e-6
        # The width of [-1e308, 1e308] overflows; halving is exact.
        self._unit = 1.0 if math.isfinite(self._high - self._low) else 0.5
        self._start, self._end = self._warp(self._low), self._warp(self._high)
        self._width = self._end - self._start

    def _warp(self, value: float) -> float:
        return math.log(value) if self._log else value * self._unit

    def encode(self, value: Any) -> float | None:
        if type(value) is not float and not isinstance(value, int | float):
            return None
        if not self._low <= value <= self._high:
            return None
        if self._width <= 0.0:
            return 0.5
        # Not by _warp: every trial is encoded several times.
        warped = math.log(value) if self._log else value * self._unit
        x: float = (warped - self._start) / self._width
        return x + 0.0 if x < 1.0 else 1.0  # 0.0 and -0.0 are one value

    def extend(self, value: Any) -> float | None:
        if type(value) not in (int, float) or self._width <= 0 or (self._log and value <= 0):
            return None
        return _finite((self._warp(value) - self._start) / self._width)

    def decode(self, x: float) -> float:
        # Reach the ends exactly: optima lie on bounds, and exp(log(high)) may differ from high.
        if x <= 0.0:
            return self._low
        if x >= 1.0:
            return self._high
        warped = self._start + x * self._width
        value = math.exp(min(warped, self._end)) if self._log else warped / self._unit
        return self._low if value < self._low else self._high if value > self._high else value

    draw = decode


class _Floats:
    """A float without a step between whose bounds there are few floats.

    The rounding of a value is a part of such a range that matters: float number k owns the cell
    [k, k + 1) of [0, n], as a step does.
    """

    def __init__(self, distribution: FloatDistribution) -> None:
        self._low, self._high = distribution.low, distribution.high
        self._first = _ordinal(distribution.low)
        self._n = _n_floats(distribution)
        listed = self._n <= MAX_GRID_SIZE
        self.grid = (np.arange(self._n) + 0.5) / self._n if listed else None
        self.steps = None if listed else Steps(self._n)

    def encode(self, value: Any) -> float | None:
        if not isinstance(value, int | float) or not self._low <= value <= self._high:
            return None
        return (2 * (_ordinal(float(value)) - self._first) + 1) / (2 * self._n)

    extend = encode

    def decode(self, x: float) -> float:
        index = math.floor(min(max(x, 0.0), 1.0) * self._n)
        return _float_at(self._first + min(index, self._n - 1))

    draw = decode


def _ordinal(x: float) -> int:
    """Return the place of a float among all of them, 0 for zero."""
    bits: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _float_at(ordinal: int) -> float:
    """Undo :func:`_ordinal`."""
    x: float = struct.unpack("<d", struct.pack("<q", abs(ordinal)))[0]
    return x if ordinal >= 0 else -x


def _n_floats(distribution: FloatDistribution) -> int:
    return _ordinal(distribution.high) - _ordinal(distribution.low) + 1


def _are_counted(distribution: FloatDistribution) -> bool:
    """Tell whether there are few floats, and none of them has a much larger share than others."""
    n = _n_floats(distribution)
    if not 1 < n <= MAX_COUNTED_FLOATS:
        return False
    # Only floats that differ from zero by a few steps have a logarithm that is not straight.
    straight = not distribution.log or distribution.high / distribution.low < 1 + 1e-4
    return n <= MAX_GRID_SIZE or straight


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
        listed = self._n <= MAX_GRID_SIZE
        self.grid: FloatArray | None = self._make_grid() if listed else None
        self.steps = None if listed else Steps(self._n, self._log_start)

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

    def extend(self, value: Any) -> float | None:
        if type(value) not in (int, float):
            return None
        cell = (value - self._low) / self._step + 0.5
        if self._log_start is None:
            return _finite(cell / self._n)
        if cell <= -self._log_start:
            return None
        return math.log1p(cell / self._log_start) / math.log1p(self._n / self._log_start)

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
        if self._is_storable(float(value)):
            return value
        if abs(value) > _LAST_EXACT_INTEGER:
            down = up = float(value)
            for _ in range(1000):
                for candidate in (down, up):
                    if self._is_storable(candidate):
                        return int(candidate)
                down, up = math.nextafter(down, -math.inf), math.nextafter(up, math.inf)
        # Optuna's test rounds the difference to ``low``, but not that of such steps.
        low, high, step = int(self._low), int(self._high), int(self._step)
        coarse = math.lcm(step, max(int(math.ulp(high - low)), 1))
        near = low + min((value - low + coarse // 2) // coarse, (high - low) // coarse) * coarse
        return near if self._is_storable(float(near)) else value


class Choices:
    """A categorical parameter: the place of its choice among those that differ.

    Choices that compare equal, such as ``True`` and ``1``, are one configuration: Optuna reads
    the first of them back, whichever was suggested.
    """

    steps: Steps | None = None

    def __init__(self, distribution: CategoricalDistribution) -> None:
        self._distribution = distribution
        self._n = len(distribution.choices)
        self._firsts = _first_equals(distribution)
        self._indices = sorted(set(self._firsts))
        self._places = {index: float(place) for place, index in enumerate(self._indices)}
        self.grid: FloatArray | None = np.arange(len(self._indices), dtype=np.float64)

    def index(self, value: Any) -> int:
        """Return the index of the first choice that equals a value; ``ValueError`` for none."""
        return self._firsts[int(self._distribution.to_internal_repr(value))]

    def encode(self, value: Any) -> float | None:
        try:
            return self._places[self.index(value)]
        except (TypeError, ValueError, OverflowError):
            return None

    extend = encode

    def decode(self, x: float) -> Any:
        place = min(max(math.floor(x + 0.5), 0), len(self._indices) - 1)
        return self._distribution.choices[self._indices[place]]

    def draw(self, u: float) -> Any:
        return self._distribution.choices[min(max(math.floor(u * self._n), 0), self._n - 1)]


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _first_equals(distribution: CategoricalDistribution) -> Sequence[int]:
    """Return for every choice the index of the first one that equals it."""
    choices = distribution.choices
    try:
        n_nan = sum(choice != choice for choice in choices)  # all of them are one choice
        if n_nan < 2 and len(set(choices)) == len(choices):
            return range(len(choices))
    except TypeError:  # a choice of the user's own type, without a hash
        pass
    # Not the choice itself where it is NaN: an object equals itself then, and nothing else.
    own = [float("nan") if choice != choice else choice for choice in choices]
    return [int(distribution.to_internal_repr(choice)) for choice in own]


def make_column(name: str, distribution: BaseDistribution) -> Column:
    if isinstance(distribution, CategoricalDistribution):
        return Choices(distribution)
    if isinstance(distribution, IntDistribution):
        return _Steps(distribution)
    if isinstance(distribution, FloatDistribution):
        if not (math.isfinite(distribution.low) and math.isfinite(distribution.high)):
            raise ValueError(
                f"The range of parameter '{name}' must be finite, but got {distribution}."
            )
        if distribution.step is not None:
            return _Steps(distribution)
        return _Floats(distribution) if _are_counted(distribution) else _Interval(distribution)
    raise ValueError(
        f"The distribution of parameter '{name}' must be float, int or categorical, but got "
        f"{distribution}."
    )
