"""Slow, obvious twins of the compiled functions, under the same names, and random inputs.

They take the same arguments less the work space, and return what the others write.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfcx
from scipy.stats import norm

from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join


SE, MATERN32, MATERN52 = 0, 1, 2
UCB, LOG_EI, MI, VARIANCE, LOG_FEASIBLE, EXCESS = 0, 1, 2, 3, 4, 5


# kernels -----------------------------------------------------------------------------------------


def exp(x: float) -> float:
    return math.exp(x)


def distances(F: np.ndarray, f: np.ndarray, hamming: np.ndarray, lo: int, hi: int) -> np.ndarray:
    r2 = np.zeros(F.shape[1])
    for b in range(F.shape[1]):
        for c in range(lo, hi):
            if hamming[c] > 0:
                r2[b] += hamming[c] * (F[c, b] != f[c])
            else:
                r2[b] += (F[c, b] - f[c]) ** 2
    return r2


def radial(kind: int, r2: np.ndarray) -> np.ndarray:
    """Textbook forms in the distance r (Rasmussen & Williams 2006, chapter 4)."""
    r = np.sqrt(r2)
    if kind == SE:
        return np.exp(-(r**2) / 2)
    if kind == MATERN32:
        return (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r)
    return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r)


def covariances(
    kind: int,
    F: np.ndarray,
    f: np.ndarray,
    hamming: np.ndarray,
    starts: np.ndarray,
    scales: np.ndarray,
) -> np.ndarray:
    return sum(
        scales[j] * radial(kind, distances(F, f, hamming, starts[j], starts[j + 1]))
        for j in range(len(scales))
    )


def slopes(kind: int, r2: np.ndarray) -> np.ndarray:
    """-2 dk/d(r^2) by a central difference, one-sided at 0."""
    h = np.minimum(1e-6, np.maximum(r2 / 2, 1e-12))
    below = np.maximum(r2 - h, 0.0)
    return -2 * (radial(kind, r2 + h) - radial(kind, below)) / (r2 + h - below)


def cross(
    kind: int,
    F: np.ndarray,
    G: np.ndarray,
    hamming: np.ndarray,
    starts: np.ndarray,
    scales: np.ndarray,
) -> np.ndarray:
    return np.array([covariances(kind, F, g, hamming, starts, scales) for g in G.T])


def gram(
    kind: int, F: np.ndarray, hamming: np.ndarray, starts: np.ndarray, scales: np.ndarray
) -> np.ndarray:
    return cross(kind, F, F, hamming, starts, scales)


def gram_gradient(
    kind: int,
    F: np.ndarray,
    hamming: np.ndarray,
    starts: np.ndarray,
    scales: np.ndarray,
    W: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """tr(W dK/dtheta) / 2, every derivative a central difference of whole matrices."""
    h = 1e-5

    def stretched(c: int, by: float) -> np.ndarray:
        G, weights = F.copy(), hamming.copy()
        G[c] *= math.exp(-by)
        weights[c] *= math.exp(-2 * by)
        return gram(kind, G, weights, starts, scales)

    def scaled(j: int, by: float) -> np.ndarray:
        new = scales.copy()
        new[j] *= math.exp(by)
        return gram(kind, F, hamming, starts, new)

    by_lengthscale = [
        np.trace(W @ (stretched(c, h) - stretched(c, -h))) / (4 * h) for c in range(len(F))
    ]
    by_scale = [np.trace(W @ (scaled(j, h) - scaled(j, -h))) / (4 * h) for j in range(len(scales))]
    return np.array(by_lengthscale), np.array(by_scale)


def append_rows(K: np.ndarray) -> np.ndarray:
    """The inverse Cholesky factor of a whole covariance matrix, at once."""
    return np.linalg.inv(np.linalg.cholesky(K))


# acquisition -------------------------------------------------------------------------------------


def log_h(z: float) -> tuple[float, float, float]:
    """log h, cdf / h and pdf / h of h(z) = pdf(z) + z cdf(z), to full precision for every z.

    With x = -z > 0, the Mills ratio is R = cdf(z) / pdf(z) = 1 / (x + T) by its continued fraction
    T = 1 / (x + 2 / (x + 3 / (x + ...))), so h / pdf = 1 - x R = T / (x + T): no cancellation.
    """
    if z > -3.0:
        h = norm.pdf(z) + z * norm.cdf(z)
        return math.log(h), norm.cdf(z) / h, norm.pdf(z) / h
    x, tail = -z, 0.0
    for i in range(500, 0, -1):
        tail = i / (x + tail)
    assert abs(math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2)) * (x + tail) - 1) < 1e-12
    return norm.logpdf(z) + math.log(tail / (x + tail)), 1 / tail, (x + tail) / tail


def utility(code: int, p: Sequence[float], mean: float, var: float) -> tuple[float, float, float]:
    std = math.sqrt(var)
    if code == UCB:
        return mean + p[0] * std, 1.0, p[0] / (2 * std)
    if code == MI:
        root = math.sqrt(var + p[1])
        return mean + p[0] * (root - math.sqrt(p[1])), 1.0, p[0] / (2 * root)
    if code == VARIANCE:
        return mean + p[0] * var, 1.0, p[0]
    if code == LOG_FEASIBLE:
        z = (p[0] - mean) / std
        ratio = math.exp(norm.logpdf(z) - norm.logcdf(z))
        return norm.logcdf(z), -ratio / std, -ratio * z / (2 * var)
    if code == EXCESS:
        excess = mean - p[0] * std - p[1]
        if excess <= 0.0:
            return 0.0, 0.0, 0.0
        return -100 * excess**2, -200 * excess, 100 * excess * p[0] / std
    value, cdf, pdf = log_h((mean - p[0]) / std)
    return value + math.log(std), cdf / std, pdf / (2 * var)


def evaluate(
    kind: int,
    F: np.ndarray,
    hamming: np.ndarray,
    starts: np.ndarray,
    scales: np.ndarray,
    linv: np.ndarray,
    alpha: np.ndarray,
    f: np.ndarray,
    code: int,
    p: Sequence[float],
) -> float:
    n = len(alpha)
    k = covariances(kind, F, f, hamming, starts, scales)
    v = linv[:n, :n] @ k
    prior = scales.sum()
    return utility(code, p, float(k @ alpha), max(float(prior - v @ v), 1e-10 * prior))[0]


def gradient(
    function: Callable[[np.ndarray], float], x: np.ndarray, h: float = 1e-5
) -> np.ndarray:
    """Central differences of fourth order."""
    steps = np.eye(len(x)) * h
    return np.array(
        [
            (8 * (function(x + e) - function(x - e)) - (function(x + 2 * e) - function(x - 2 * e)))
            / (12 * h)
            for e in steps
        ]
    )


def two_loop(pairs: Sequence[tuple[np.ndarray, np.ndarray]], gradient: np.ndarray) -> np.ndarray:
    """The L-BFGS direction by its inverse Hessian, spelled out as a matrix."""
    s, y = pairs[-1]
    identity = np.eye(len(s))
    H = identity * (s @ y) / (y @ y)
    for s, y in pairs:
        rho = 1 / (s @ y)
        V = identity - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    return H @ gradient


# DIRECT ------------------------------------------------------------------------------------------


@dataclass
class Rectangle:
    centre: list[float]
    cuts: list[int]
    value: float


def sides(rectangle: Rectangle, most: Sequence[int]) -> list[float]:
    """Lengths, 0 where no cut is left."""
    return [3.0**-cut if cut < m else 0.0 for cut, m in zip(rectangle.cuts, most, strict=True)]


def half_diagonal(cuts: Sequence[int], most: Sequence[int]) -> float:
    lengths = sorted(sides(Rectangle([], list(cuts), 0.0), most))
    return 0.5 * math.sqrt(sum(side**2 for side in lengths))


def potentially_optimal(
    values: Sequence[float], sizes: Sequence[float], best: float, epsilon: float
) -> list[int]:
    """The definition of Jones et al. (1993), for a maximum: some rate K > 0 makes it the best."""
    chosen = []
    points = list(zip(sizes, values, strict=True))
    for j, (d, g) in enumerate(points):
        others = [point for point in points if point[0] > 0]
        if d == 0 or points.index((d, g)) < j or any(e == d and h > g for e, h in others):
            continue
        least = max([(h - g) / (d - e) for e, h in others if e < d], default=-math.inf)
        most = min([(g - h) / (e - d) for e, h in others if e > d], default=math.inf)
        if most > 0 and least <= most and g + most * d >= best + epsilon * abs(best):
            chosen.append(j)
    return sorted(chosen, key=lambda j: -sizes[j])


def direct(
    function: Callable[[list[float]], float],
    grids: Sequence[np.ndarray | None],
    n_evaluations: int,
    epsilon: float,
) -> list[tuple[list[float], float]]:
    """Return the points sampled, in columns, and their values, in order."""
    most = [20 if g is None else math.ceil(math.log(len(g), 3) - 1e-9) for g in grids]
    visited: list[tuple[list[float], float]] = []

    def sample(u: list[float]) -> float:
        x = [
            v if g is None else float(g[min(int(v * len(g)), len(g) - 1)])
            for v, g in zip(u, grids, strict=True)
        ]
        visited.append((x, function(x)))
        return visited[-1][1]

    def size(rectangle: Rectangle) -> float:
        return half_diagonal(rectangle.cuts, most)

    centre = [0.5] * len(grids)
    rectangles = [Rectangle(centre, [0] * len(grids), sample(centre))]
    while True:
        best = max(value for _, value in visited)
        # Rounded: lengths that are equal on paper differ in the last bits.
        chosen = potentially_optimal(
            [r.value for r in rectangles],
            [float(f"{size(r):.12e}") for r in rectangles],
            best,
            epsilon,
        )
        if not chosen:
            return visited
        for parent in [rectangles[j] for j in chosen]:
            lengths = sides(parent, most)
            third = max(lengths) / 3
            children = {}
            for c, length in enumerate(lengths):
                if length < max(lengths):
                    continue
                for sign in (1, -1):
                    if len(visited) == n_evaluations:
                        return visited
                    u = parent.centre.copy()
                    u[c] += sign * third
                    child = Rectangle(u, [], sample(u))
                    children.setdefault(c, []).append(child)
                    rectangles.append(child)
            for c in sorted(children, key=lambda c: -max(child.value for child in children[c])):
                parent.cuts[c] += 1
                for child in children[c]:
                    child.cuts = parent.cuts.copy()


# random inputs -----------------------------------------------------------------------------------


def random_kernel(
    rng: np.random.Generator,
    kind: str = "matern52",
    sizes: Sequence[int] = (2, 1),
    n_columns: int | None = None,
    n_categorical: int = 0,
    noise: float = 1e-2,
) -> Kernel:
    """A kernel over groups of the given sizes, in shuffled columns; the first are categorical."""
    n_columns = sum(sizes) if n_columns is None else n_columns
    order = rng.permutation(n_columns)
    ends = np.cumsum(sizes)
    return Kernel(
        kind=kind,
        groups=join([order[e - s : e].tolist() for s, e in zip(sizes, ends, strict=True)]),
        lengthscales=rng.uniform(0.3, 1.5, n_columns),
        scales=rng.uniform(0.5, 2.0, len(sizes)),
        noise=noise,
        categorical=np.arange(n_columns) < n_categorical,
    )


def random_points(rng: np.random.Generator, kernel: Kernel, n: int) -> np.ndarray:
    """Points in the unit cube, (n, D), with three choices in categorical columns."""
    X = rng.random((n, len(kernel.categorical)))
    X[:, kernel.categorical] = rng.integers(3, size=(n, int(kernel.categorical.sum())))
    return X


def loops(kernel: Kernel, X: np.ndarray) -> tuple[Any, ...]:
    """What the compiled kernel functions take first: kind, F, hamming, starts, scales."""
    return KINDS[kernel.kind], kernel.features(X), kernel.hamming, kernel.starts, kernel.scales
