"""The observations of a study that lie in an embedding, in its coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import with_failed
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.streams import Streams


KEY = "embedding"
"""Key under which a query's record has its coordinates."""

DIGITS = 9
"""Decimal places of recorded coordinates u in [0, 1]."""

CLOSE = 1e-9
"""A trial is the point of its coordinates if no column differs by more."""

MOST_COORDINATES = 4096


@dataclass(frozen=True)
class Place:
    """Where a trial is in an embedding.

    Parameters
    ----------
    key : int
        The key that the embedding was drawn with.
    part : int
        Which of several embeddings, or which stage of one.
    u : tuple of float
        Its coordinates in [0, 1]^d.
    base : int
        Number of the trial that the embedding goes through, -1 for none.
    """

    key: int
    part: int
    u: tuple[float, ...]
    base: int = -1

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        base = {} if self.base < 0 else {"base": self.base}
        return {"key": self.key, "part": self.part, "u": list(self.u), **base}

    @classmethod
    def from_json(cls, data: Any) -> Place | None:
        """Return the place that an object describes, or None if it describes none."""
        if not isinstance(data, Mapping):
            return None
        key: Any = data.get("key")
        part: Any = data.get("part")
        u = data.get("u")
        base = data.get("base", -1)
        counts = all(type(number) is int and -1 <= number < 2**63 for number in (key, part, base))
        if not counts or min(key, part) < 0:
            return None
        if not isinstance(u, list) or not 0 < len(u) <= MOST_COORDINATES:
            return None
        if not all(type(v) in (int, float) and 0.0 <= v <= 1.0 for v in u):
            return None
        return cls(key, part, tuple(float(v) for v in u), base)


def embedding_key(name: str, seen: Observations, streams: Streams) -> int:
    """Return the key of a study's embeddings: that of the first trial with one, else a drawn one.

    So a study keeps its embeddings when it is resumed with another seed.
    """
    for _, place in _placed(seen):
        return place.key
    return int(streams.generator(f"{name}:embedding", 0).integers(2**31))


def places(seen: Observations, key: int) -> list[tuple[Record, Place]]:
    """Return the records of embedded trials with this key, by ascending number."""
    return [(record, place) for record, place in _placed(seen) if place.key == key]


def _placed(seen: Observations) -> Iterator[tuple[Record, Place]]:
    for record in seen.records:
        place = Place.from_json(record.data.get(KEY))
        if place is not None:
            yield record, place


def inside(embedding: Embedding, seen: Observations, key: int, part: int) -> Observations:
    """Return the observations and pending points of one part of an embedding, in its u.

    A trial counts if the point of its recorded coordinates is where the trial is. So trials of
    other origin do not count, nor those that were moved to a point next to the one asked for.
    """
    chosen = [
        (record, np.array(place.u))
        for record, place in places(seen, key)
        if place.part == part and len(place.u) == embedding.d
    ]
    return observed_at(embedding, seen, chosen)


def observed_at(
    embedding: Embedding, seen: Observations, chosen: list[tuple[Record, FloatArray]]
) -> Observations:
    """Return the chosen trials that are where their coordinates (d,) say, and pending ones.

    Failed trials are among them, with the worst value, where failures depend on the point.
    """
    seen = with_failed(seen)
    known = [(seen.row_of[r.number], u) for r, u in chosen if r.number in seen.row_of]
    rows = np.array([row for row, _ in known], np.int64)
    U = np.array([u for _, u in known], np.float64).reshape(-1, embedding.d)
    if len(rows):
        near = np.abs(embedding.points(U) - seen.X[rows]).max(axis=1) <= CLOSE
        rows, U = rows[near], np.ascontiguousarray(U[near])
    running = [u for r, u in chosen if r.state == "running" and r.number not in seen.row_of]
    pending = np.array(running, np.float64).reshape(-1, embedding.d)
    return replace(seen.at(rows), X=U, pending=pending, failures=None)


def rounded(u: FloatArray) -> FloatArray:
    """Return coordinates as a record keeps them."""
    return np.clip(np.round(u, DIGITS), 0.0, 1.0)
