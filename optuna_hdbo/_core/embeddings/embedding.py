"""A linear map from a box of few coordinates into the cube of a search space."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.lazy import cached_property


@dataclass(frozen=True, eq=False)
class Embedding:
    """The points x = clip(A y) for y in a box around 0.

    Users of the map see u in [0, 1]^d instead of y, and the columns of the domain, in [0, 1],
    instead of x in [-1, 1]^D.

    Parameters
    ----------
    domain : Domain
        The whole search space, of D columns.
    matrix : FloatArray, shape (D, d)
        A.
    half : FloatArray, shape (d,)
        Half of each side of the box: |y_j| <= half_j.
    """

    domain: Domain
    matrix: FloatArray
    half: FloatArray

    @classmethod
    def gaussian(cls, domain: Domain, d: int, key: int) -> Embedding:
        """Return REMBO's map: A is normal, and y in [-sqrt(d), sqrt(d)]^d (Wang et al. 2013)."""
        return cls(domain, normal_rows(domain, d, key), np.full(d, math.sqrt(d)))

    @classmethod
    def hashed(cls, domain: Domain, d: int, key: int) -> Embedding:
        """Return HeSBO's map: every column is plus or minus one of the y (Nayebi et al. 2019).

        Coordinate and sign are drawn independently for every column, and y in [-1, 1]^d. So no
        point is clipped.
        """
        drawn = uniform_rows(domain, 2, key)
        places = np.minimum((drawn[:, 0] * d).astype(np.int64), d - 1)
        return cls.assigned(domain, d, places, np.where(drawn[:, 1] < 0.5, -1.0, 1.0))

    @classmethod
    def assigned(cls, domain: Domain, d: int, places: IntArray, signs: FloatArray) -> Embedding:
        """Return the map in which column i is ``signs[i] * y[places[i]]``."""
        matrix = np.zeros((len(domain), d))
        matrix[np.arange(len(domain)), places] = signs
        return cls(domain, matrix, np.ones(d))

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return len(self.half)

    @cached_property
    def inner(self) -> Domain:
        """The box of coordinates as a domain."""
        return Domain.continuous(self.d)

    def coordinates(self, U: FloatArray) -> FloatArray:
        """Return y (m, d) for points u (m, d)."""
        return np.asarray((2.0 * U - 1.0) * self.half, np.float64)

    def units(self, Y: FloatArray) -> FloatArray:
        """Return u (m, d) for coordinates y (m, d)."""
        return np.asarray(0.5 + 0.5 * Y / self.half, np.float64)

    def unclipped(self, U: FloatArray) -> FloatArray:
        """Return A y (m, D) for points u (m, d), in [-1, 1]^D where nothing is cut."""
        return self.coordinates(U) @ self.matrix.T

    def points(self, U: FloatArray) -> FloatArray:
        """Return the points (m, D) of the domain for points u (m, d)."""
        return self.domain.from_unit(np.clip(0.5 + 0.5 * self.unclipped(U), 0.0, 1.0))


def uniform_rows(domain: Domain, n: int, key: int) -> FloatArray:
    """Return n uniform numbers for every column, shape (D, n).

    They depend on the key and on the column's name, not on the other columns. So the row of a
    parameter stays the same when others come and go.
    """
    return np.array([_generator(name, key).random(n) for name in domain.names])


def normal_rows(domain: Domain, n: int, key: int) -> FloatArray:
    """Return n standard normal numbers for every column, shape (D, n); as uniform_rows."""
    return np.array([_generator(name, key).standard_normal(n) for name in domain.names])


def _generator(name: str, key: int) -> np.random.Generator:
    text = f"{key} {name}".encode(errors="surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
