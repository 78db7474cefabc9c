"""DIRECT (Jones, Perttunen & Stuckman 1993): on an acquisition function, and on an objective.

The values of an objective come from elsewhere, later. So its boxes are kept between iterations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._jit import direct as jit


EPSILON = 1e-4
"""Jones's balance of local and global search; the value of the authors' code."""

MOST_NUMBERS = 20_000_000
"""Boxes times columns; with more, nothing is divided any more."""


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


@dataclass(eq=False)
class Boxes:
    """The boxes that DIRECT has divided the cube into.

    Parameters
    ----------
    centres : FloatArray, shape (N, D)
    cuts : IntArray, shape (N, D)
        How often every side was cut into thirds.
    most : IntArray, shape (D,)
        How often a side can be cut.
    values, sizes : FloatArray, shape (N,)
    n : int
        Boxes in use.
    n_answered : int
        Those that have a value.
    batch : list of (int, IntArray)
        The boxes that are being divided, and the first of the two points along each column, or -1.
    """

    centres: FloatArray
    cuts: IntArray
    most: IntArray
    values: FloatArray
    sizes: FloatArray
    n: int
    n_answered: int
    batch: list[tuple[int, IntArray]]

    @classmethod
    def whole(cls, domain: Domain) -> Boxes:
        """Return the whole cube, whose centre is not answered yet."""
        n, n_columns = 4 * len(domain) + 64, len(domain)
        grids = [0 if grid is None else len(grid) for grid in domain.grids]
        return cls(
            np.full((n, n_columns), 0.5),
            np.zeros((n, n_columns), np.int64),
            np.array([jit.cuts_of_grid(k) for k in grids], np.int64),
            np.empty(n),
            np.empty(n),
            1,
            0,
            [(0, np.full(n_columns, -1, np.int64))],
        )

    def unanswered(self, domain: Domain) -> FloatArray:
        """Return the points whose values are needed, shape (m, D), in the domain.

        The values of a discrete column have equal shares of the side, each with its lower end.
        """
        U = self.centres[self.n_answered : self.n].copy()
        for c in np.flatnonzero(domain.discrete & ~domain.categorical).tolist():
            n = len(domain.grid(c))
            U[:, c] = (np.minimum(np.floor(U[:, c] * n), n - 1) + 0.5) / n
        return domain.from_unit(U)

    def go_on(self, values: FloatArray, epsilon: float) -> bool:
        """Take the needed values (m,), and begin the next iteration; tell whether there is one."""
        self.values[self.n_answered : self.n] = values
        self.n_answered = n = self.n
        for parent, children in self.batch:
            jit.divide(parent, children, self.values, self.cuts, self.most, self.sizes)
        chosen = np.empty(n, np.int64)
        best = float(self.values[:n].max())
        n_chosen = jit.potentially_optimal(self.values[:n], self.sizes[:n], best, epsilon, chosen)
        n_columns = self.centres.shape[1]
        self._reserve(n + 2 * n_columns * n_chosen)
        self.batch = []
        for parent in chosen[:n_chosen].tolist():
            children = np.full(n_columns, -1, np.int64)
            self.n = jit.add_children(parent, children, self.n, self.cuts, self.most, self.centres)
            self.batch.append((parent, children))
        return self.n > n and self.n * n_columns <= MOST_NUMBERS

    def _reserve(self, n: int) -> None:
        if n <= len(self.values):
            return
        for name in ("centres", "cuts", "values", "sizes"):
            old = getattr(self, name)
            longer = np.zeros((2 * n, *old.shape[1:]), old.dtype)
            longer[: self.n] = old[: self.n]
            setattr(self, name, longer)
