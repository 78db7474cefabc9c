"""Seeded randomness without shared state: one generator per (seed, purpose, step)."""

from __future__ import annotations

import hashlib

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
    study : int
        Number of the study, which tells the studies of one seed apart.
    """

    def __init__(self, seed: int | None = None, study: int = 0) -> None:
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self.study = study

    def generator(self, purpose: str, step: int) -> np.random.Generator:
        """Return the generator of ``purpose`` (any text) at ``step`` (non-negative)."""
        if step < 0:
            raise ValueError(f"step must be non-negative, but got {step}.")
        # Any string may be the name of a parameter, a lone surrogate too.
        seed = f"{int(self.seed)}/{self.study}" if self.study else f"{int(self.seed)}"
        key = f"{seed} {step} {purpose}".encode(errors="surrogatepass")
        digest = hashlib.blake2b(key, digest_size=16).digest()
        return np.random.default_rng(int.from_bytes(digest, "little"))
