"""DIRECT (Jones, Perttunen & Stuckman 1993) on an acquisition function."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._jit import direct as jit


EPSILON = 1e-4
"""Jones's balance of local and global search; the value of the authors' code."""


def direct(acquisition: Analytic, domain: Domain, n_evaluations: int) -> FloatArray:
    """Return the best point found, in the columns of the acquisition's kernel, shape (C,)."""
    kernel = acquisition.kernel
    grids = [domain.grids[c] for c in kernel.columns]
    values = np.concatenate([np.empty(0), *[g for g in grids if g is not None]])
    starts = np.cumsum([0, *[0 if g is None else len(g) for g in grids]]).astype(np.int64)
    best = np.empty(len(kernel.columns))
    jit.direct(
        acquisition.model,
        jit.Grids(values, starts),
        acquisition.code,
        np.array(acquisition.p),
        n_evaluations,
        EPSILON,
        best,
    )
    return best
