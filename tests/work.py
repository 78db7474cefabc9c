"""Counts of the work that is handed to compiled code: what tests measure instead of seconds."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest


@dataclass
class Work:
    """What was handed to compiled code.

    Attributes
    ----------
    calls : int
        Calls from Python.
    numbers : int
        Elements of all arrays among the arguments, outputs and work space included.
    largest : int
        Elements of the largest of these arrays.
    """

    calls: int = 0
    numbers: int = 0
    largest: int = 0

    def add(self, arguments: tuple[Any, ...]) -> None:
        for argument in arguments:
            if isinstance(argument, tuple):
                self.add(argument)
            elif isinstance(argument, np.ndarray):
                self.numbers += argument.size
                self.largest = max(self.largest, argument.size)


class _Counted:
    """A module of compiled functions whose calls are counted."""

    def __init__(self, module: ModuleType, work: Work) -> None:
        self._module = module
        self._work = work

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return self._counting(value) if _is_compiled(self._module, value) else value

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any) -> Any:
            self._work.calls += 1
            self._work.add(arguments)
            return function(*arguments)

        return counting


def _is_compiled(module: ModuleType, value: Any) -> bool:
    """Tell functions of a module from its constants, its classes and what it imports."""
    return (
        callable(value)
        and not isinstance(value, type)
        and getattr(value, "__module__", "") == module.__name__
    )


@contextlib.contextmanager
def counted() -> Iterator[Work]:
    """Count what the package hands to its compiled functions.

    Only calls from Python are seen: modules of ``_jit`` are replaced where others refer to them,
    so that compiled functions, which look each other up when they are compiled, see no change.
    """
    work = Work()
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if not name.startswith("optuna_hdbo.") or name.startswith("optuna_hdbo._jit"):
                continue
            imported = [(k, v) for k, v in vars(module).items() if isinstance(v, ModuleType)]
            for attribute, value in imported:
                if isinstance(value, ModuleType) and value.__name__.startswith(
                    "optuna_hdbo._jit."
                ):
                    patch.setattr(module, attribute, _Counted(value, work))
        yield work
