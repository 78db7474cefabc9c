"""The one decorator, and the one place that decides on caching."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import TypeVar

from numba import njit


F = TypeVar("F", bound=Callable[..., Any])

# Numba keys a cached function by its own file only, so that an edited or upgraded callee in
# another file would be served stale. A digest of all compiled sources in the name prevents it.
_DIGEST = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()[:12]


def compiled(function: F) -> F:
    """Compile lazily, with sums in any order (which is what lets them use vector registers).

    NaN and inf keep their meaning, unlike with ``fastmath=True``.
    """
    return _compile(function, fastmath={"reassoc", "contract"})


def compiled_in_order(function: F) -> F:
    """Compile lazily, with every operation exactly as written."""
    return _compile(function, fastmath=False)


def _compile(function: F, **options: Any) -> F:
    function.__qualname__ = f"{function.__qualname__}_{_DIGEST}"
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder for a cache can be written: compile in every process
        return njit(**options)(function)  # type: ignore[no-any-return]
