"""Samplers in processes that were forked."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgetful(Protocol):
    """What has caches, and locks that guard them."""

    def _forget(self) -> None: ...


_ALIVE: weakref.WeakSet[Forgetful] = weakref.WeakSet()


def forget_after_fork(owner: Forgetful) -> None:
    """Have an object empty its caches and make its locks anew in every child process.

    When a process is forked, another thread may hold a lock or be writing to a cache. The child
    has no such thread, and would wait for ever.
    """
    _ALIVE.add(owner)


def _after_fork() -> None:
    for owner in list(_ALIVE):
        owner._forget()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
