"""Every compiled function of the package, and a way into those that have none from Python."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any
from typing import TypeVar

from numba import njit

import optuna_hdbo._jit


F = TypeVar("F", bound=Callable[..., Any])


def entry(function: F) -> F:
    """Return a compiled function that calls one which only compiled code can call."""
    if not hasattr(function, "py_func"):  # NUMBA_DISABLE_JIT is set
        return function

    @njit  # type: ignore[untyped-decorator]
    def call(*args: Any) -> Any:
        return function(*args)

    return call  # type: ignore[no-any-return]


def compiled_functions() -> Iterator[tuple[str, Any]]:
    """Yield the name and the dispatcher of each; none where NUMBA_DISABLE_JIT is set.

    Inlined functions are left out: they are compiled with their callers, never by themselves.
    """
    for info in pkgutil.iter_modules(optuna_hdbo._jit.__path__):
        module = importlib.import_module(f"optuna_hdbo._jit.{info.name}")
        for name, value in vars(module).items():
            if getattr(value, "__module__", "") != module.__name__ or not hasattr(
                value, "py_func"
            ):
                continue
            if value.targetoptions.get("inline") != "always":
                yield f"{info.name}.{name}", value
