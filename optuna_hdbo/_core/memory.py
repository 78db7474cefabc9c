"""What earlier suggestions of a study decided, and what the present one decides."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import TypeGuard
from typing import TypeVar

from optuna_hdbo._core.observations import Record


T = TypeVar("T")

TOWARDS = "towards_feasible"
"""Key that marks records of queries for a first feasible point. Their models are of violations."""

MOST_UNREADABLE = 64
"""After so many entries under a key that do not parse, there is nothing to recall."""


MOST_COUNTED = 2**31
"""Counts in records are below this; larger ones are not from this package."""


def is_count(data: Any) -> TypeGuard[int]:
    """Tell whether an entry of a record is how many trials there are, or the number of one."""
    return type(data) is int and 0 <= data < MOST_COUNTED


class Memory:
    """Decisions under keys: those of earlier suggestions, and this suggestion's own.

    One memory serves all models of a suggestion. What they keep becomes the record of the trial,
    which later suggestions read, in any process.

    Parameters
    ----------
    records : sequence of Record
        Decisions of earlier suggestions, by ascending trial number. They are untrusted input: what
        does not parse is skipped.

    Attributes
    ----------
    kept : dict of str to JSON
        This suggestion's decisions.
    """

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self.records = records
        self.kept: dict[str, Any] = {}

    def keep(self, key: str, data: Any) -> None:
        """Keep a decision, as JSON, under a key that no other model uses."""
        self.kept[key] = data

    def recall(self, key: str, parse: Callable[[Any], T | None]) -> T | None:
        """Return the newest decision under a key that ``parse`` does not turn into ``None``."""
        if key in self.kept and (found := parse(self.kept[key])) is not None:
            return found
        n_unreadable = 0
        for record in reversed(self.records):
            data = record.data.get(key)
            if data is None:
                continue
            if (found := parse(data)) is not None:
                return found
            n_unreadable += 1
            if n_unreadable == MOST_UNREADABLE:
                break
        return None
