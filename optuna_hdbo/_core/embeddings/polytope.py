"""The coordinates of an embedding that no side of the cube cuts off: |A y| <= 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog
from scipy.optimize import minimize

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.embedding import normal_rows


N_MIXING = 24
"""Steps of a chain from the centre to a random point."""

N_CLIMBING = 50
"""Most steps of a climb."""


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
    ends = (-1.0 - at) / slope, (1.0 - at) / slope
    low, high = np.minimum(*ends).max(axis=1), np.maximum(*ends).min(axis=1)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def walk(embedding: Embedding, Y: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return points (m, d) after steps of hit-and-run from points of the polytope (m, d)."""
    for _ in range(N_MIXING):
        directions = rng.standard_normal(Y.shape) * embedding.half
        low, high = reach(embedding, Y, directions)
        Y = Y + (low + (high - low) * rng.random(len(Y)))[:, None] * directions
    return Y


def climb(
    embedding: Embedding,
    slope: Callable[[FloatArray], tuple[float, FloatArray]],
    y: FloatArray,
) -> tuple[FloatArray, float]:
    """Return a point (d,) of the polytope that is better than y (d,), and its value.

    ``slope`` returns the value at a point and its gradient (d,). Sequential quadratic programming
    keeps to the sides of the polytope.
    """
    start = slope(y)[0]
    sides = np.concatenate([embedding.matrix, -embedding.matrix])

    def falling(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = slope(point)
        return -value, -gradient

    inside = {"type": "ineq", "fun": lambda point: 1.0 - sides @ point, "jac": lambda _: -sides}
    options = {"maxiter": N_CLIMBING, "ftol": 1e-6}
    end = minimize(falling, y, jac=True, method="SLSQP", constraints=inside, options=options).x
    end = end / max(1.0, float(np.abs(embedding.matrix @ end).max()))  # steps may end just outside
    value = slope(end)[0]
    return (end, value) if value > start else (y, start)
