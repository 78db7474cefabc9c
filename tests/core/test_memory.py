"""What is recalled: this suggestion's own decisions, then the newest that makes sense."""

from __future__ import annotations

from typing import Any

from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Record


def number(data: Any) -> int | None:
    return data if isinstance(data, int) else None


def test_the_newest_decision_that_makes_sense_is_recalled() -> None:
    records = [
        Record(0, "complete", {"a": 1, "b": 5}),
        Record(1, "failed", {"a": 2}),
        Record(2, "running", {"a": "nonsense", "b": None}),
        Record(3, "complete", {"c": 7}),
    ]
    memory = Memory(records)
    assert memory.recall("a", number) == 2
    assert memory.recall("b", number) == 5
    assert memory.recall("unknown", number) is None
    assert Memory().recall("a", number) is None
    assert memory.kept == {}


def test_what_is_kept_comes_first() -> None:
    memory = Memory([Record(0, "complete", {"a": 1})])
    memory.keep("a", 0)
    assert memory.recall("a", number) == 0
    memory.keep("a", "nonsense")
    assert memory.recall("a", number) == 1
    assert memory.kept == {"a": "nonsense"}


def test_records_are_searched_only_as_far_as_needed() -> None:
    asked = []

    def parse(data: Any) -> int | None:
        asked.append(data)
        return number(data)

    Memory([Record(i, "complete", {"a": i}) for i in range(50)]).recall("a", parse)
    assert asked == [49]
