"""Honest intervals: they are widened or narrowed until they cover as often as they should.

A point is chosen because its prediction is optimistic, and hyperparameters are uncertain, so that
intervals of a Gaussian process are too narrow where it is asked. Adaptive conformal inference
(Gibbs & Candes 2021, "Adaptive conformal inference under distribution shift") needs no assumption:
every interval that misses its value widens the next ones, and every one that covers narrows them.
In the long run 95 % of them cover.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

from optuna_hdbo._core.observations import Observations


KEY = "expected"
"""Key under which a record keeps the mean and the standard deviation that a model expected."""

LEVEL, Z = 0.95, 1.96
"""Share of the intervals that are to cover, and their half width in standard deviations."""

STEP = 0.15
"""How much one miss widens the next intervals, on a log scale. Of .15 and .25 on twelve tuning
problems, both kept the coverage between .90 and .97; the smaller one is steadier."""

FIRST, LEAST, MOST = 1.5, 0.2, 30.0
"""Factor of the first intervals, and the smallest and the largest one."""

MEMORY = 300
"""Latest records that count; what was before has no influence any more."""

_NUMBER, _LARGE = (int, float), 1e300


def widening(seen: Observations) -> float:
    """Return the factor for the standard deviation of the next prediction."""
    value_of = dict(zip(seen.numbers.tolist(), (seen.sign * seen.values).tolist(), strict=True))
    log_factor, least, most = map(math.log, (FIRST, LEAST, MOST))
    for record in islice(seen.records, max(0, len(seen.records) - MEMORY), None):
        if record.state != "complete":
            continue
        expected, value = _parse(record.data.get(KEY)), value_of.get(record.number)
        if expected is None or value is None:
            continue
        mean, std = expected
        covers = abs(value - mean) < Z * std * math.exp(log_factor)
        log_factor += STEP * ((LEVEL - 1.0) if covers else LEVEL)
        log_factor = min(max(log_factor, least), most)
    return math.exp(log_factor)


def calibrated(
    report: Mapping[str, float | str], seen: Observations
) -> tuple[dict[str, float | str], dict[str, Any]]:
    """Return a report with an honest ``std``, and what the record has to keep for the next one.

    ``predicted`` and ``std`` are in the objective's units. Where a report has none, nothing is
    kept.
    """
    expected = _parse([report.get("predicted"), report.get("std")])
    if expected is None:
        return dict(report), {}
    # Not rounded: a deviation may be a millionth of the mean.
    return {**report, "std": expected[1] * widening(seen)}, {KEY: list(expected)}


def _parse(data: Any) -> tuple[float, float] | None:
    """Return the mean and the standard deviation, None if they are no such numbers."""
    if not isinstance(data, list) or len(data) != 2:
        return None
    mean, std = data
    if not (isinstance(mean, _NUMBER) and isinstance(std, _NUMBER)):
        return None
    # Written out: hundreds of records are read for every suggestion.
    return (float(mean), float(std)) if -_LARGE < mean < _LARGE and 0.0 < std < _LARGE else None
