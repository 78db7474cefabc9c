"""A classifier with the ramp loss, for the one on Gisette of Tran-The et al. (2020).

f(w, b) = |w|^2 / 2 + C sum_l R_s(y_l (w . v_l + b)), with R_s(u) = max(0, 1 - u) - max(0, s - u)
and s = 0. Gisette has 5000 features, of which half are without meaning. Its data are not in a
package. Here 400 examples are drawn: normal features, labels by a hyperplane through half of them,
and every tenth label wrong. The box is that of the paper's experiments, [-1, 1]. The classifier
that knows nothing, w = 0, is in its middle, and an embedding that has the middle starts near it.

The loss is at least 0, and that bound is close: there are more features than examples.
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


N_EXAMPLES = 400
WRONG = 0.1
"""Share of the labels that are wrong."""


def ramp_loss(u: FloatArray, s: float = 0.0) -> FloatArray:
    """Return R_s at margins u: 1 - u between s and 1, constant beyond."""
    return np.asarray(np.maximum(0.0, 1.0 - u) - np.maximum(0.0, s - u), np.float64)


def classifier(dim: int, C: float) -> Build:
    """Build losses of dim - 1 weights and an offset."""

    def build(name: str, seed: int) -> Problem:
        rng = generator(f"ramp-{dim}", seed)  # the same examples for every C
        V = rng.standard_normal((N_EXAMPLES, dim - 1)).astype(np.float32)
        meaning = np.where(np.arange(dim - 1) < dim // 2, rng.standard_normal(dim - 1), 0.0)
        labels = np.sign(V @ rng.permutation(meaning).astype(np.float32)).astype(np.float64)
        labels[rng.random(N_EXAMPLES) < WRONG] *= -1.0

        def loss(x: FloatArray) -> float:
            w, b = x[:-1], float(x[-1])
            margins = labels * (V @ w.astype(np.float32) + b)
            return 0.5 * float(w @ w) + C * float(ramp_loss(margins).sum())

        return Problem(
            name=name,
            seed=seed,
            direction="minimize",
            bounds=np.tile([-1.0, 1.0], (dim, 1)),
            evaluate=loss,
            optimum=0.0,
            argopt=None,
        )

    return build
