"""Scores of points in many low-dimensional subspaces of one Gaussian process with one group.

A subspace has d free columns and leaves the others at those of an anchor. Squared distances add
up over columns, so the share of the columns that stay is computed once per subspace, and every
candidate in it costs d columns instead of all.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._jit.acquisition import Model
from optuna_hdbo._jit.acquisition import evaluate
from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.kernels import Covariance


@compiled
def outside_distances(F, hamming, G, free, out):
    """Write to ``out (S, n)`` the squared distances of G (C, S) to F (C, n) outside of ``free``.

    ``free (S, C)`` marks what is left out. The columns are the outer loop: all of F is read once.
    """
    n_columns, n = F.shape
    n_subspaces = G.shape[1]
    for i in range(n_subspaces):
        for b in range(n):
            out[i, b] = 0.0
    for c in range(n_columns):
        row = F[c]
        w = hamming[c]
        for i in range(n_subspaces):
            if free[i, c]:
                continue
            x = G[c, i]
            r2 = out[i]
            if w > 0.0:
                for b in range(n):
                    r2[b] += w if row[b] != x else 0.0
            else:
                for b in range(n):
                    r2[b] += (row[b] - x) ** 2


@compiled
def gather(F, hamming, columns, outside, F_free, hamming_free):
    """Write the rows of a subspace's own small kernel: its d columns, and one for the others.

    ``F_free (d + 1, n)``: the last row is the root of ``outside (n,)``, so that a point whose last
    feature is 0 has the right distance to every observation.
    """
    d = len(columns)
    n = F.shape[1]
    for a in range(d):
        hamming_free[a] = hamming[columns[a]]
        row = F[columns[a]]
        for b in range(n):
            F_free[a, b] = row[b]
    hamming_free[d] = 0.0
    for b in range(n):
        F_free[d, b] = np.sqrt(outside[b])


@compiled
def score(model, outside, columns, candidates, code, p, out):
    """Write to ``out (S, m)`` the acquisition of m candidates in each of S subspaces.

    Parameters: a model of a kernel with one group; ``outside (S, n)`` from
    :func:`outside_distances`; ``columns (S, d)``; ``candidates (S, m, d)``, the features of the
    free columns.
    """
    kernel = model.kernel
    n_subspaces, m, d = candidates.shape
    n = model.F.shape[1]
    F, hamming = np.empty((d + 1, n)), np.empty(d + 1)
    starts = np.array([0, d + 1])
    small = Model(
        Covariance(kernel.kind, hamming, starts, kernel.scales, kernel.inverse),
        F,
        model.linv,
        model.alpha,
    )
    work, f, grad = np.empty((4, n)), np.empty(d + 1), np.empty(d + 1)
    full = np.bool_(False)  # a literal argument would compile the callee once more
    for i in range(n_subspaces):
        gather(model.F, kernel.hamming, columns[i], outside[i], F, hamming)
        for j in range(m):
            for a in range(d):
                f[a] = candidates[i, j, a]
            f[d] = 0.0
            out[i, j] = evaluate(small, f, code, p, work, full, grad)
