"""What a sampler tells its user: its settings, and what it writes to the log, most of it once."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import numpy as np

from optuna_hdbo._core.checks import UnknownNamesError
from optuna_hdbo._core.domain import Domain
from optuna_hdbo.methods.base import Method


if TYPE_CHECKING:
    from typing import Self


_logger = logging.getLogger(f"optuna.{__name__}")  # so that Optuna's verbosity holds

NUMERICAL_FAILURES = (ArithmeticError, np.linalg.LinAlgError, MemoryError)
"""What computations may raise on unfavourable data, or where there is too little memory; any other
exception is a bug."""

STRICT = "OPTUNA_HDBO_STRICT"
"""Environment variable; where it is ``1``, an exception in a method ends the study."""

OWN = sys.stdlib_module_names | {"llvmlite", "numba", "numpy", "optuna", "optuna_hdbo", "scipy"}
"""Modules whose exceptions a computation may raise."""

MAX_WARNINGS = 10
"""At most this many parameters are warned about."""

NO_INSTANCE = (
    "sampler must be an instance, but the study got a class: write it with parentheses, such as "
    "HDBOSampler()."
)


RENAMED = {"deterministic": "deterministic_objective", "use_pruned": "consider_pruned_trials"}
"""Settings by old names -> the names that Optuna's samplers have for them."""

NO_CONSTRAINTS_FUNC = (
    "{} has no setting constraints_func, but got {!r}. Call trial.set_constraint(name, value) in "
    "the objective instead, where a value of at most 0 is feasible. That takes Optuna 5."
)


def is_to_be_raised(error: Exception) -> bool:
    """Tell whether an exception in a method must reach the user, as all do with :data:`STRICT`.

    It may have come up during a computation, and not by it: that of a time limit, say. Signals are
    handled wherever the program is.
    """
    root = type(error).__module__.partition(".")[0]
    if os.environ.get(STRICT) == "1" or isinstance(error, TimeoutError) or root not in OWN:
        return True
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(inspect.unwrap(h), "__code__", None) for h in handlers if callable(h)}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


class WithSettings:
    """Keeps what a user has set, and takes old names of settings for one more release."""

    _settings: Mapping[str, Any]
    __signature__: inspect.Signature

    def __new__(cls, *args: Any, **settings: Any) -> Self:
        """Keep the settings, for :meth:`__repr__`."""
        self = super().__new__(cls)
        self._settings = {RENAMED.get(name, name): value for name, value in settings.items()}
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let the constructor of every subclass take old names, and be the one that help shows."""
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _accept_old_names(vars(cls)["__init__"]))  # noqa: B010
        # Before Python 3.11.3, classes that inherit __init__ have the signature of __new__.
        shown = inspect.signature(cls.__init__)
        cls.__signature__ = shown.replace(parameters=list(shown.parameters.values())[1:])

    def __repr__(self) -> str:
        """Return the call that makes this object; settings that were not given are left out."""
        return f"{self}({', '.join(f'{k}={v!r}' for k, v in self._settings.items())})"


def _accept_old_names(build: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that takes old names of settings too, with a warning."""
    known = inspect.signature(build).parameters
    passes_on = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())

    @functools.wraps(build)
    def accepting(self: object, *args: Any, **settings: Any) -> None:
        if "constraints_func" in settings.keys() - known.keys() and not passes_on:
            raise TypeError(NO_CONSTRAINTS_FUNC.format(self, settings["constraints_func"]))
        for old in (RENAMED.keys() - known.keys()) & settings.keys():
            if RENAMED[old] not in known and not passes_on:
                continue
            settings[RENAMED[old]] = settings.pop(old)
            warnings.warn(
                f"{old} is now called {RENAMED[old]}, as in Optuna's samplers. The old name will "
                "be removed in the next release.",
                FutureWarning,
                stacklevel=2,
            )
        build(self, *args, **settings)

    return accepting


class Extent(NamedTuple):
    """How large a study may be for a sampler, by what its trials cost.

    Parameters
    ----------
    parameters, trials : int
        The documentation has a table of costs: "What to rely on", "Very many parameters".
    """

    parameters: int
    trials: int


class Notices:
    """Warnings of one sampler, and what it has warned about already.

    Parameters
    ----------
    name : str
        The sampler's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._has_logged_bug = False
        self._has_named_constraints = False
        self._has_named_abandoned = False
        self._has_named_extent = False
        self._has_named_unknown = False
        self._parameters: set[str] = set()

    def settings(self, method: Method, domain: Domain) -> None:
        """Let a method check its settings, and warn of parameters that no trial has had so far.

        Where a parameter is discrete, they may be those of a branch that was not taken yet. In
        other spaces they are refused.
        """
        try:
            method.validate(domain)
        except UnknownNamesError as error:
            if not domain.discrete.any():
                raise
            if not self._has_named_unknown:
                _logger.warning(
                    f"{error} They are taken for parameters of a branch that no trial has had "
                    "so far. Correct them if they are typing errors."
                )
            self._has_named_unknown = True

    def failure(self, number: int, error: Exception) -> None:
        """Say why a trial is drawn at random; to be called while the error is being handled."""
        what = f"{type(error).__name__}: {error}"
        if isinstance(error, NUMERICAL_FAILURES):
            _logger.warning(
                f"Trial {number} is drawn at random because {self._name} could not compute a "
                f"suggestion: {what}"
            )
            return
        first, self._has_logged_bug = not self._has_logged_bug, True
        advice = (
            "Please report it with this traceback, which is logged once."
            if first
            else "The traceback of the first such error is in the log."
        )
        _logger.error(
            f"Trial {number} is drawn at random because of an unexpected error in {self._name}: "
            f"{what}. {advice}",
            exc_info=first,
        )

    def independent(self, number: int, param_name: str, by: str, models_conditional: bool) -> None:
        """Warn, once per parameter, that one of a trial is sampled independently."""
        if param_name in self._parameters or len(self._parameters) >= MAX_WARNINGS:
            return
        self._parameters.add(param_name)
        what = (
            f"Parameter '{param_name}' of trial {number} is sampled by {by}, independently of the "
            f"model of {self._name}"
        )
        if len(self._parameters) > 1:  # the reason and the advice have been given
            last = " Further ones are not named." * (len(self._parameters) == MAX_WARNINGS)
            _logger.warning(f"{what}, too.{last}")
            return
        if models_conditional:
            why = "no earlier trial with the same choices had it in this range"
        else:
            why = (
                "not every finished trial has it with the same range. HDBOSampler and the other "
                "samplers with a Gaussian process model such parameters"
            )
        _logger.warning(
            f"{what}, because {why}. "
            "If that is intended, pass warn_independent_sampling=False. Each parameter is warned "
            f"about once, and at most {MAX_WARNINGS} parameters are."
        )

    def constraints(self) -> None:
        """Warn that the sampler does not use constraints."""
        if not self._has_named_constraints:
            _logger.warning(f"{self._name} does not use the constraints of the trials.")
        self._has_named_constraints = True

    def beyond(self, meant: Extent, n_columns: int, n: int) -> None:
        """Warn of a study that is larger than the sampler is meant for."""
        if (n_columns > meant.parameters or n > meant.trials) and not self._has_named_extent:
            self._has_named_extent = True
            _logger.warning(
                f"{self._name} is meant for at most {meant.parameters} parameters and "
                f"{meant.trials} trials, but the study has {n_columns} parameters and {n} trials. "
                "A trial may take long. 'Very many parameters' in the documentation has a table "
                "of costs."
            )

    def abandoned(self, n: int) -> None:
        """Warn that ``n`` trials are running whose workers seem to be gone."""
        if n and not self._has_named_abandoned:
            self._has_named_abandoned = True
            _logger.warning(
                f"{n} trials have been running for longer than any finished trial took. If their "
                "workers were killed, use heartbeats, or run the script in 'Workers that die' of "
                "the documentation, so that other workers evaluate their points."
            )
