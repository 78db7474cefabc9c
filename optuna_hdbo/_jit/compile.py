"""The one decorator, and the one place that decides on caching."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import TypeVar

from numba import njit
from numba.core import event
from numba.core import sigutils
from numba.core.registry import CPUDispatcher


F = TypeVar("F", bound=Callable[..., Any])

# Numba keys a cached function by its own file only, so that an edited or upgraded callee in
# another file would be served stale. A digest of all compiled sources in the name prevents it.
_DIGEST = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()[:12]


_ANY_ORDER = {"reassoc", "contract"}
"""What the compiler may do to sums."""

_logger = logging.getLogger(f"optuna.{__name__}")  # so that Optuna's verbosity holds


class _Announcement(event.Listener):
    """Says once per process that compilation begins, which takes a while."""

    _is_made = False

    def on_start(self, started: event.Event) -> None:
        """Log a line if it is this package's first function that is not in the cache."""
        function = started.data["dispatcher"].py_func
        if self._is_made or not function.__module__.startswith(f"{__package__}."):
            return
        self._is_made = True
        _logger.info(
            "Numba compiles what the first suggestions need. That takes some ten seconds, once "
            "per environment. 'python -m optuna_hdbo warmup' does it in advance."
        )

    def on_end(self, ended: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", _Announcement())


def compiled(function: F) -> F:
    """Compile lazily, with sums in any order (which is what lets them use vector registers).

    NaN and inf keep their meaning, unlike with ``fastmath=True``.
    """
    return _compile(function, fastmath=_ANY_ORDER)


def compiled_in_order(function: F) -> F:
    """Compile lazily, with every operation exactly as written."""
    return _compile(function, fastmath=False)


def internal(function: F) -> F:
    """Compile like :func:`compiled`, for compiled callers alone.

    Numba makes no way in from Python for it. So what a first study needs compiles in a sixth less
    time.
    """
    return _compile(function, internal=True, fastmath=_ANY_ORDER)


def internal_in_order(function: F) -> F:
    """Compile like :func:`compiled_in_order`, for compiled callers alone."""
    return _compile(function, internal=True, fastmath=False)


def inlined(function: F) -> F:
    """Put the body in place of every call, for formulas that stand in many loops.

    It is compiled as a part of each caller, under the caller's rules for sums.
    """
    return _compile(function, fastmath=_ANY_ORDER, inline="always")


def _compile(function: F, *, internal: bool = False, **options: Any) -> F:
    function.__qualname__ = f"{function.__qualname__}_{_DIGEST}"
    options |= {"nogil": True, "error_model": "numpy"}
    if internal:
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    try:
        dispatcher = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for a cache can be written: compile in every process
        dispatcher = njit(**options)(function)
    if isinstance(dispatcher, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        dispatcher._cache = _ForgivingCache(dispatcher._cache, function.__qualname__)
        if internal:
            dispatcher.__class__ = _Internal
    return dispatcher  # type: ignore[no-any-return]


class _Internal(CPUDispatcher):
    """A function that Python must not call: it would jump to where there is no code."""

    def __call__(self, *args: object, **kwargs: object) -> None:
        raise TypeError(f"Only compiled code can call {self.py_func.__name__}.")


class _ForgivingCache:
    """Numba's cache of one function; where it fails, it costs time and not a study.

    A disk may fill up or a folder vanish, a file may be cut off or be that of another function.
    And two processes that compile for different types of arguments at once give their files the
    same name. So the function and the types of what is loaded are checked.
    """

    def __init__(self, cache: Any, qualname: str) -> None:
        self._cache = cache
        self._qualname = qualname

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = self._cache.load_overload(sig, target_context)
            if found is None:
                return None
            wanted, _ = sigutils.normalize_signature(sig)
            right = tuple(found.signature.args) == wanted
            return found if right and found.fndesc.qualname == self._qualname else None
        except Exception:  # anything may be in a file
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._cache.save_overload(sig, data)
        except Exception:
            with contextlib.suppress(Exception):  # on a full disk this fails, too
                self._cache.flush()
                self._cache.save_overload(sig, data)
