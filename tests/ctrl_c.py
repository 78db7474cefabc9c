"""Ctrl-C, or anything else, at a chosen line of the package."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import optuna_hdbo


HERE = str(Path(optuna_hdbo.__file__).parent)
COMPILED = os.path.join(HERE, "_jit")


@contextmanager
def at_line(
    moment: int, act: Callable[[], None], counted: list[int], inside: str = HERE
) -> Iterator[None]:
    """Call ``act`` before line number ``moment`` that the package runs in this thread."""
    counted[:] = [0]

    def on_line(frame: FrameType, event: str, argument: Any) -> Any:
        # A line of a `with` also begins where its block is left. Nothing can be interrupted there,
        # because no signal is looked at between the block and the release of its lock.
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        if event == "line" and not line.startswith("with "):
            counted[0] += 1
            if counted[0] == moment:
                act()
        return on_line

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        return on_line if file.startswith(inside) and not file.startswith(COMPILED) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def interrupted(moment: int, counted: list[int], inside: str = HERE) -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` before line number ``moment`` that the package runs."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt), at_line(moment, interrupt, counted, inside):
        yield
