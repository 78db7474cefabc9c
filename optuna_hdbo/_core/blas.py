"""Limits OpenBLAS to one thread while a point is computed.

The matrices here are small, but OpenBLAS splits them among threads all the same. When the other
cores are busy, with other workers for example, each of thousands of calls waits for a thread that
does not get to run. Environment variables have no effect on a running process, and the package
does not depend on threadpoolctl, so OpenBLAS's own functions are called.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy


_lock = threading.Lock()

_users = 0

_before: list[int] = []

_owed: dict[int, int] = {}
"""Numbers of threads that could not be given back, by library."""


def _libraries() -> set[str]:
    """Return the files of the OpenBLAS libraries that NumPy and SciPy have loaded."""
    maps = Path("/proc/self/maps")
    if maps.exists():
        lines = maps.read_text(errors="replace").splitlines()
        return {line.split(maxsplit=5)[5] for line in lines if "openblas" in line}
    found: set[str] = set()
    for package in (np, scipy):
        home = Path(package.__path__[0])
        for folder in (home.parent / f"{package.__name__}.libs", home / ".dylibs"):
            found.update(str(path) for path in folder.glob("*openblas*"))
    return found


@functools.cache
def _switches() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """Return the functions that read and set the number of threads, for every library found."""
    switches = []
    for path in sorted(_libraries()):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for prefix in ("openblas", "scipy_openblas"):
            for suffix in ("", "64_"):
                get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if get is not None and put is not None:
                    switches.append((get, put))
    return tuple(switches)


def _after_fork() -> None:
    """Make the lock anew in a child process: another thread may have held it."""
    global _lock, _users
    _lock = threading.Lock()
    _users = 0
    _owed.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


class one_blas_thread:  # noqa: N801, it is used like a function
    """Limit OpenBLAS to one thread in the whole process, until the last user leaves.

    Another limit, such as threadpoolctl's, may begin inside and end later. Then it holds until it
    ends, and what it gives back is our one thread. So the next user gives back what was there
    before both.
    """

    def __enter__(self) -> None:
        global _users, _before
        with _lock:
            if _users == 0:
                now = [get() for get, _ in _switches()]
                _before = [_owed.pop(i, 1) if n == 1 else n for i, n in enumerate(now)]
                _owed.clear()
                for (_, put), n in zip(_switches(), now, strict=True):
                    if n != 1:
                        put(1)
            _users += 1

    def __exit__(self, *error: object) -> None:
        global _users
        with _lock:
            if _users == 0:  # forked since
                return
            _users -= 1
            if _users == 0:
                for i, ((get, put), n) in enumerate(zip(_switches(), _before, strict=True)):
                    if n != 1 and get() == 1:
                        put(n)
                    elif n != 1:  # another limit holds, and gives back our one thread
                        _owed[i] = n
