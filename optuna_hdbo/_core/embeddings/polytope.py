"""The coordinates of an embedding that no side of the cube cuts off: |A y| <= 1."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.embedding import normal_rows


N_MIXING = 24
"""Steps of a chain from the centre to a random point."""

N_ON_RAY = 12
"""Points that are compared on a ray."""


def spherical(domain: Domain, d: int, key: int) -> Embedding:
    """Return ALEBO's map, x = B^+ y (Letham et al. 2020).

    Each column of B (d, D) is uniform on the unit sphere. The box is the smallest one around the
    coordinates that are not cut off.
    """
    rows = normal_rows(domain, d, key)
    B = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T
    A = np.linalg.pinv(B)
    sides = np.concatenate([A, -A])
    half = np.empty(d)
    for j in range(d):
        found = linprog(-np.eye(d)[j], A_ub=sides, b_ub=np.ones(len(sides)), bounds=(None, None))
        # A map of rank less than d has directions without an end.
        half[j] = found.x[j] if found.status == 0 else np.abs(B[j]).sum()
    return Embedding(domain, A, half)


def reach(embedding: Embedding, Y: FloatArray, directions: FloatArray) -> tuple[FloatArray, ...]:
    """Return how far one can go from y (m, d) backward and forward, shapes (m,)."""
    at, slope = Y @ embedding.matrix.T, directions @ embedding.matrix.T
    slope = np.where(np.abs(slope) < 1e-12, 1e-12, slope)
    ends = np.sort(np.stack([(-1.0 - at) / slope, (1.0 - at) / slope]), axis=0)
    low, high = ends[0].max(axis=1), ends[1].min(axis=1)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def walk(
    embedding: Embedding, Y: FloatArray, rng: np.random.Generator, n_steps: int = N_MIXING
) -> FloatArray:
    """Return points (m, d) after steps of hit-and-run from points of the polytope (m, d)."""
    for _ in range(n_steps):
        directions = rng.standard_normal(Y.shape) * embedding.half
        low, high = reach(embedding, Y, directions)
        Y = Y + (low + (high - low) * rng.random(len(Y)))[:, None] * directions
    return Y


def climb(
    embedding: Embedding,
    acquisition: Analytic,
    root: FloatArray,
    y: FloatArray,
    rng: np.random.Generator,
    n_steps: int = 30,
) -> tuple[FloatArray, float]:
    """Return a better point (d,) of the polytope, and its acquisition value at z = U y.

    Each step compares points of the ray along the gradient and of two random lines.

    Parameters
    ----------
    root : FloatArray, shape (d, d)
        U, with Gamma = U^T U.
    """
    best = float(acquisition((root @ y)[None])[0])
    shares = 0.5 ** np.arange(N_ON_RAY)
    for _ in range(n_steps):
        _, by_z = acquisition.slope(root @ y)
        directions = np.concatenate(
            [(by_z @ root)[None], rng.standard_normal((2, len(y))) * embedding.half]
        )
        low, high = reach(embedding, np.repeat(y[None], 3, axis=0), directions)
        tries = [
            y + (end * share)[:, None] * directions for end in (low, high) for share in shares
        ]
        Y = np.concatenate(tries)
        values = acquisition(Y @ root.T)
        top = int(np.argmax(values))
        if not values[top] > best:
            break
        y, best = Y[top], float(values[top])
    return y, best
