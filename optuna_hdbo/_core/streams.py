"""Seeded randomness without shared state: one generator per (seed, purpose, step)."""

from __future__ import annotations

import zlib

import numpy as np


class Streams:
    """Independent random generators, one for each purpose and step.

    Drawing for one purpose never changes the numbers of another. So threads do not race, a resumed
    study does not repeat points, and workers with the same seed do not collide as long as their
    steps (trial numbers) differ.

    Parameters
    ----------
    seed : int or None
        ``None`` draws a seed from the operating system, once.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed

    def generator(self, purpose: str, step: int) -> np.random.Generator:
        """Return the generator of ``purpose`` (any text) at ``step`` (non-negative)."""
        text = purpose.encode(errors="surrogatepass")  # a parameter's name may be any string
        key = (abs(self.seed), int(self.seed < 0), zlib.crc32(text), step)
        return np.random.default_rng(np.random.SeedSequence(key))
