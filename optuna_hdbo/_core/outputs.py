"""What models see instead of values: finite ones without penalties, standardised or warped.

A few very poor values, such as those of the first trials on an ill-conditioned function, make all
good values look alike once they are standardised. The power transformation of Yeo & Johnson (2000)
compresses such a tail. Its derivative makes densities of warped and plain values comparable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray


POWERS = (-1.0, 3.0)
"""Range of the power. 1 is linear. 2 is the logarithm of a poor value's distance to the centre."""

QUARTILES_TO_STD = 1.349
"""Distance of the quartiles of a normal distribution, in standard deviations."""

MOST_REDUCED = 1e8
"""Largest distance of a value from the centre, in widths, that warping still tells apart."""

QUARTILES, BEST_FIFTH = (0.25, 0.5, 0.75), (0.8, 0.9, 0.96)
"""Quantiles by which values are reduced: the quartiles of all values, or of the best fifth."""

SKEWED = 30.0
"""Range of the worse half of skewed values, in multiples of that of the better half."""

FAR, VERY_FAR = 30.0, 100.0
"""How far a penalty is from all better values, in multiples of their range."""

SHARES = {FAR: 0.3, VERY_FAR: 0.1}
"""Share of all values that must be better than a penalty that is so far, and of the first ones."""

FEWEST, N_FIRST = 5, 10
"""Least number of values that must be better, and how many are the first ones."""

MOST_UNEQUAL = 0.1
"""Largest share of penalties that differ, where a study is assessed."""

_LARGEST = 1e300

_HUGE = float(np.finfo(np.float64).max) / 4

_TINY = float(np.finfo(np.float64).tiny)
"""Least half width of values that differ. Below it a deviation may be rounded to 0."""


def standardise(values: FloatArray) -> tuple[FloatArray, float, float]:
    """Clip non-finite values to the finite extremes, then scale to mean 0 and deviation 1.

    Returns
    -------
    y : FloatArray, shape (n,)
    shift, scale : float
        ``values == y * scale + shift``; a deviation of 0 counts as 1.
    """
    if len(values) == 0:
        return np.zeros_like(values), 0.0, 1.0
    # Comparisons with NaN are False. Python's numbers are faster here, and overflow silently.
    values = finite(values)
    low, high = float(np.minimum.reduce(values)), float(np.maximum.reduce(values))
    middle = low / 2 + high / 2
    unit = max(high / 2 - low / 2, 0.0)
    if unit <= 1e-14 * abs(middle) or unit < _TINY:
        return np.zeros_like(values), middle, 1.0
    scaled = (values - middle) / unit
    mean = float(np.add.reduce(scaled)) / len(scaled)
    scaled -= mean
    std = math.sqrt(float(np.add.reduce(scaled * scaled)) / len(scaled))
    return scaled / std, middle + mean * unit, std * unit


def finite(values: FloatArray) -> FloatArray:
    """Return values (n,) with non-finite ones moved to the finite extremes; zeros without any."""
    if len(values) == 0:
        return values
    low, high = float(np.minimum.reduce(values)), float(np.maximum.reduce(values))
    if low > -_HUGE and high < _HUGE:
        return values
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return np.zeros_like(values)
    # Halving the range keeps differences of values near the largest float finite.
    low, high = max(float(known.min()), -_HUGE), min(float(known.max()), _HUGE)
    return np.nan_to_num(values, nan=low, posinf=high, neginf=low).clip(low, high)


def without_penalties(values: FloatArray, feasible: BoolArray | None = None) -> FloatArray:
    """Return all values of a study, shape (n,), with penalties raised to the worst other value.

    Objectives return a number such as 1e6 where a simulation fails. Values are penalties if they
    are further below all better ones than :data:`FAR` times the range of these. Enough of all
    values must be better, and of the first ones, unless all penalties are equal: in a study that
    has converged, the first values are far from the rest. The further penalties are, the fewer
    are enough: see :data:`SHARES`.

    Where only some trials are ``feasible (n,)``, these are also compared with each other alone:
    constraints may rule out the best values, and usual ones may be far below these.
    """
    lowest = _lowest_usual(values)
    if lowest == -math.inf:
        return values
    if feasible is not None and feasible.any() != feasible.all():
        kept = values[feasible]
        lowest = min(lowest, max(float(finite(kept).min()), _lowest_usual(kept)))
    return np.maximum(values, lowest)


def without_failures(values: FloatArray, feasible: BoolArray | None = None) -> FloatArray:
    """Return values (n,) with only those penalties raised that must be failures.

    All of them are equal, or they are few. Else they are a part of the function: a choice may
    matter far more than all that is beside it.
    """
    raised = without_penalties(values, feasible)
    far = values[raised > values]
    return raised if len(far) <= MOST_UNEQUAL * len(values) or (far == far[0]).all() else values


def _lowest_usual(values: FloatArray) -> float:
    """Return the worst value that is no penalty; -inf without penalties."""
    known, lowest = finite(values), -math.inf
    first, ordered = np.sort(known[:N_FIRST])[::-1], np.sort(known)[::-1]
    for multiple, share in SHARES.items():
        least = max(FEWEST, math.ceil(share * len(values)))
        if len(values) <= least:
            continue
        better, rest = ordered[least - 1 : -1], ordered[least:]
        far = ((better - rest) / multiple > ordered[0] - better) & (better < ordered[0])
        enough = (better <= first[math.ceil(share * N_FIRST) - 1]) | (rest == ordered[-1])
        if len(ends := np.flatnonzero(far & enough)):
            lowest = max(lowest, float(better[ends[0]]))
    return lowest


def are_skewed(values: FloatArray) -> bool:
    """Tell whether the values of a study, shape (n,), span many orders of magnitude.

    They do if the worse half of the :data:`N_FIRST` first ones has more than :data:`SKEWED` times
    the range of the better half. These are random points, while later ones are near the optimum.
    """
    if len(values) < N_FIRST:
        return False
    first = np.sort(finite(values[:N_FIRST]))
    middle = float(np.median(first))
    return bool((middle - first[0]) / SKEWED > first[-1] - middle > 0.0)


@dataclass(frozen=True)
class Output:
    """A monotone transformation of observed values.

    Parameters
    ----------
    centre, width : float
        Values are first reduced to ``(value - centre) / width``.
    power : float
        Power of the Yeo-Johnson transformation; 1 leaves the reduced values as they are.
    shift, scale : float
        Mean and standard deviation of the transformed values of the fit.
    """

    centre: float
    width: float
    power: float = 1.0
    shift: float = 0.0
    scale: float = 1.0

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the transformed values, shape (n,)."""
        u = _reduced(values, self.centre, self.width)
        return (yeo_johnson(u, self.power) - self.shift) / self.scale

    def log_slope(self, values: FloatArray) -> FloatArray:
        """Return the logarithm of the derivative at values (n,), shape (n,)."""
        u = _reduced(values, self.centre, self.width)
        sign = np.where(u >= 0.0, 1.0, -1.0)
        slope = sign * (self.power - 1.0) * np.log1p(np.abs(u))
        return np.asarray(slope - math.log(self.width) - math.log(self.scale), np.float64)

    def inverse(self, y: FloatArray) -> FloatArray:
        """Return the values that are transformed to y (n,), or to the nearest possible numbers."""
        u = inverse_yeo_johnson(y * self.scale + self.shift, self.power)
        return np.asarray(np.clip(self.centre + self.width * u, -_LARGEST, _LARGEST), np.float64)

    def undone(self, y: float, told: FloatArray) -> float:
        """Return the value that is transformed to y, where transformed values ``told (n,)`` exist.

        The transformation has a bound, near which it is undone to any number. So what is returned
        is at least the worst value, and better than the best by no more than the range of all.
        """
        value, low, high = self.inverse(np.array([y, told.min(), told.max()])).tolist()
        return float(min(max(value, low), high + (high - low)))

    def to_json(self) -> dict[str, float]:
        """Return a JSON object; numbers are kept to six digits.

        The centre has more where values are much closer to each other than to zero.
        """
        rounded = {name: float(f"{getattr(self, name):.6g}") for name in _FIELDS}
        ratio = max(abs(self.centre) / self.width, 1.0)
        n_digits = 4 + math.ceil(math.log10(ratio)) if ratio < math.inf else 17
        return {**rounded, "centre": float(f"{self.centre:.{max(6, n_digits)}g}")}

    @classmethod
    def from_json(cls, data: Any) -> Output | None:
        """Return what an object describes, None if it is no output."""
        if not isinstance(data, Mapping) or set(data) != set(_FIELDS):
            return None
        if not all(type(data[name]) in (int, float) for name in _FIELDS):
            return None
        try:
            numbers = {name: float(data[name]) for name in _FIELDS}
        except OverflowError:
            return None
        valid = all(abs(number) < _LARGEST for number in numbers.values())
        valid = valid and numbers["width"] > 0.0 and numbers["scale"] > 1e-12
        valid = valid and POWERS[0] <= numbers["power"] <= POWERS[1]
        return cls(**numbers) if valid else None


_FIELDS = ("centre", "width", "power", "shift", "scale")


def warped_output(values: FloatArray, *, skewed: bool = False) -> Output:
    """Return the power transformation under which finite values (n,) are likeliest to be normal.

    They are reduced by median and quartiles, which a few very poor values do not move. Beside
    those of ``skewed`` values all good ones are alike, so these are reduced by the quartiles of
    the best fifth. The power maximises the normal likelihood with mean and deviation profiled out
    (Yeo & Johnson 2000).
    """
    for ranks in (BEST_FIFTH, QUARTILES) if skewed else (QUARTILES,):
        low, centre, high = np.quantile(values, ranks)
        width = (high - low) / QUARTILES_TO_STD
        if 1e-12 * max(abs(centre), 1e-300) < width < _LARGEST:
            break
    else:
        return Output(
            float(centre), max(float(values.max() - centre), float(centre - values.min()), 1.0)
        )
    u = _reduced(values, float(centre), float(width))
    log_slopes = float((np.sign(u) * np.log1p(np.abs(u))).sum())
    logs = _logs(u)  # once: the search asks for some twenty powers

    def loss(power: float) -> float:
        spread = float(_powered(u, logs, power).var())
        return 0.5 * len(u) * math.log(max(spread, 1e-300)) - (power - 1.0) * log_slopes

    power = float(
        minimize_scalar(loss, bounds=POWERS, method="bounded", options={"xatol": 1e-2}).x
    )
    w = _powered(u, logs, power)
    return Output(float(centre), float(width), power, float(w.mean()), max(float(w.std()), 1e-9))


def normalised(values: FloatArray, *, skewed: bool) -> FloatArray:
    """Return finite values (n,) after :func:`warped_output`, with mean 0 and deviation 1."""
    return standardise(warped_output(values, skewed=skewed)(values))[0]


def _reduced(values: FloatArray, centre: float, width: float) -> FloatArray:
    halves = values / 2.0 - centre / 2.0  # the difference of the largest floats overflows
    with np.errstate(over="ignore"):  # by a tiny width
        reduced = 2.0 * (halves / width)
    return np.asarray(np.clip(reduced, -MOST_REDUCED, MOST_REDUCED), np.float64)


def yeo_johnson(u: FloatArray, power: float) -> FloatArray:
    """Return ((u + 1)^p - 1) / p for u >= 0 and -((1 - u)^(2 - p) - 1) / (2 - p) below."""
    return _powered(u, _logs(u), power)


def _logs(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(u + 1) where u is positive, and log(1 - u) where it is negative; 0 elsewhere."""
    return np.log1p(np.maximum(u, 0.0)), np.log1p(np.maximum(-u, 0.0))


def _powered(u: FloatArray, logs: tuple[FloatArray, FloatArray], power: float) -> FloatArray:
    above, below = logs
    return np.asarray(np.where(u >= 0.0, _power(above, power), -_power(below, 2.0 - power)))


def inverse_yeo_johnson(w: FloatArray, power: float) -> FloatArray:
    """Return the numbers that :func:`yeo_johnson` maps to w, or to the nearest possible value."""
    above = _log_of_power(np.maximum(w, 0.0), power)
    below = _log_of_power(np.maximum(-w, 0.0), 2.0 - power)
    return np.asarray(np.where(w >= 0.0, np.expm1(above), -np.expm1(below)))


def _power(log: FloatArray, p: float) -> FloatArray:
    return log if abs(p) < 1e-9 else np.expm1(np.minimum(p * log, 690.0)) / p


def _log_of_power(w: FloatArray, p: float) -> FloatArray:
    if abs(p) < 1e-9:
        return np.minimum(w, 690.0)
    return np.minimum(np.log1p(np.maximum(p * w, -1.0 + 1e-12)) / p, 690.0)
