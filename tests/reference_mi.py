"""Slow, obvious twins of what GP-MI and MS-UCB compute."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import kv

from optuna_hdbo._core.gp.kernel import Kernel


def correlation(kind: str, r2: float) -> float:
    if kind == "se":
        return math.exp(-0.5 * r2)
    if kind == "matern3":
        t = math.sqrt(6.0 * r2)
        return t**3 * float(kv(3, t)) / 8.0 if t > 0.0 else 1.0
    r = math.sqrt({"matern32": 3.0, "matern52": 5.0}[kind] * r2)
    return (1.0 + r + (r * r / 3.0 if kind == "matern52" else 0.0)) * math.exp(-r)


def covariance(kernel: Kernel, x: np.ndarray, z: np.ndarray) -> float:
    """Covariance of two points, group by group, column by column."""
    total = 0.0
    for group, scale in zip(kernel.groups, kernel.scales, strict=True):
        r2 = 0.0
        for c in group:
            gap = float(x[c] != z[c]) if kernel.categorical[c] else x[c] - z[c]
            r2 += (gap / kernel.lengthscales[c]) ** 2
        total += scale * correlation(kernel.kind, r2)
    return total


def posterior(
    kernel: Kernel, X: np.ndarray, y: np.ndarray, x: np.ndarray, prior: Kernel | None = None
) -> tuple[float, float]:
    """Mean and variance at x, of the component with the kernel ``prior`` if it is given."""
    prior = kernel if prior is None else prior
    n = len(X)
    K = np.array([[covariance(kernel, a, b) for b in X] for a in X]).reshape(n, n)
    K += kernel.noise * np.eye(n)
    k = np.array([covariance(prior, x, b) for b in X])
    weights = np.linalg.solve(K, k) if n else np.empty(0)
    return float(weights @ y), covariance(prior, x, x) - float(weights @ k)


def gamma(kernel: Kernel, X: np.ndarray, prior: Kernel | None = None) -> float:
    """Algorithm 1, line 5: add up the variances of the chosen points before each is observed."""
    prior = kernel if prior is None else prior
    total = 0.0
    for t in range(len(X)):
        total += posterior(kernel, X[:t], np.zeros(t), X[t], prior)[1]
    return total / prior.variance


def phi(root_alpha: float, variance: float, gamma: float) -> float:
    """Algorithm 1, line 3; variances in units of the signal variance."""
    return root_alpha * (math.sqrt(variance + gamma) - math.sqrt(gamma))


def outside_distances(F: np.ndarray, hamming: np.ndarray, G: np.ndarray, free: np.ndarray):
    out = np.zeros((G.shape[1], F.shape[1]))
    for i in range(G.shape[1]):
        for b in range(F.shape[1]):
            for c in range(F.shape[0]):
                if free[i, c]:
                    continue
                if hamming[c] > 0.0:
                    out[i, b] += hamming[c] if F[c, b] != G[c, i] else 0.0
                else:
                    out[i, b] += (F[c, b] - G[c, i]) ** 2
    return out
