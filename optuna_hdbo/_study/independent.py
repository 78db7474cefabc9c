"""What one parameter is given that a method has no value for."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.samplers import TPESampler

from optuna_hdbo._study.attributes import known_suggestion
from optuna_hdbo._study.attributes import stored_chunks
from optuna_hdbo._study.space import SearchSpace


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


_logger = logging.getLogger(f"optuna.{__name__}")  # so that Optuna's verbosity holds

_read = threading.local()
"""The suggestion that each thread read last, with its chunks: parsing takes milliseconds."""


def drawn(name: str, distribution: BaseDistribution, rng: np.random.Generator) -> Any:
    """Return a random value, uniform in the parameter's own (log) scale."""
    return SearchSpace({name: distribution}).draw(rng)[name]


def learned(
    study: Study,
    trial: FrozenTrial,
    name: str,
    distribution: BaseDistribution,
    rng: np.random.Generator,
) -> Any:
    """Return the value of Optuna's ``TPESampler``, with a seed for this trial.

    Where that fails, as it does on constraints that are no numbers, the value is random.
    """
    tpe = TPESampler(n_startup_trials=1, seed=int(rng.integers(2**31)))
    try:
        # Extreme ranges overflow. This holds for the thread, unlike a filter of warnings.
        with np.errstate(all="ignore"):
            value = tpe.sample_independent(study, trial, name, distribution)
        if (accepted := _accepted(value, distribution)) is not None:
            return accepted
    except Exception as error:
        _logger.debug(f"TPESampler could not sample parameter '{name}': {error!r}")
    return drawn(name, distribution, rng)


def moved(trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
    """Return the number in the present range that is nearest to the method's, None without any.

    Optuna does not take the method's value where the range has changed and does not have it.
    """
    chunks = stored_chunks(trial)
    known, suggestion = getattr(_read, "last", (None, None))
    if chunks != known:
        suggestion = known_suggestion(trial)
        _read.last = chunks, suggestion
    return None if suggestion is None else _nearest(suggestion.params.get(name), distribution)


def _nearest(value: Any, distribution: BaseDistribution) -> Any:
    """Return the admissible number that is nearest to a value, None where there is none."""
    if type(value) not in (int, float):
        return None
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        return None
    inside = min(max(value, distribution.low), distribution.high)
    if distribution.step is not None:
        k = round((inside - distribution.low) / distribution.step)
        inside = min(distribution.low + k * distribution.step, distribution.high)
    found = int(inside) if isinstance(distribution, IntDistribution) else float(inside)
    return _accepted(found, distribution)


def _accepted(value: Any, distribution: BaseDistribution) -> Any:
    """Return a value that Optuna accepts when trials are copied, None if this one is no value.

    Steps can be so fine that the rounding of a float is more than Optuna tolerates, also in what
    its own samplers return. Then it is the nearest step with less rounding.
    """
    space = SearchSpace({"": distribution})
    row = space.encode({"": value})
    if row is None or not isinstance(distribution, FloatDistribution) or not distribution.step:
        return None if row is None else value
    return space.decode(row)[""]
