"""Trials that repeat others, since the objective never comes to what differs."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray


class Repeats:
    """Finds points whose trial would be one that is known: it never comes to what differs.

    A trial decides what it asks for next by what it has. So one that has all the values of an
    earlier trial asks for the same, whatever it would have for parameters that this one lacks.
    """

    def __init__(self) -> None:
        self._had: BoolArray | None = None
        self._rows: dict[bytes, set[bytes]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: FloatArray, lacks: BoolArray) -> None:
        """Take in a trial that lacks some columns (D,), and has one value in these.

        Columns that no trial before had are not counted: the objective may not have had them.
        """
        had = self._had if self._had is not None else np.zeros_like(lacks)
        if (marks := lacks & had).any():
            self._rows.setdefault(marks.tobytes(), set()).add(row.tobytes())
        self._had = had | ~lacks

    def idle(self, x: FloatArray, absent: FloatArray) -> BoolArray | None:
        """Mark the columns (D,) in which x differs from a trial that lacks them, if in no other.

        ``absent (D,)`` are the values of what a trial lacks.
        """
        for key, rows in self._rows.items():
            idle = np.frombuffer(key, np.bool_) & (x != absent)
            if idle.any() and np.where(idle, absent, x).tobytes() in rows:
                return np.asarray(idle, np.bool_)
        return None
