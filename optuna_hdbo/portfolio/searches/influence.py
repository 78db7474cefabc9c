"""Which of many columns matter: those that focused queries and searches afresh move."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.fitted import refit_if_due
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Observations
from optuna_hdbo.portfolio.credit import FEW_COLUMNS


FIT = "restart:fit"
"""Key under which a query's record keeps the fit that says which columns matter."""

EXPLAINED = "restart:explained"
"""Key under which a query's record keeps what that fit explains: the share of the variance of the
better half of the values, each predicted by all others."""

GROWTH, RARE_GROWTH = 0.1, 0.3
"""Share of new observations after which that fit is made again, and where it is of no use: where
it says that many columns matter, or explains little."""

LEAST_EXPLAINED = 0.5
"""Least share of the variance of the better half of the values that the fit has to explain. Where
all of 30 columns matter, such fits often say that a few of them do. They explain why poor values
are poor, and nothing of the others."""

INFLUENCE = 0.1
"""Smallest inverse lengthscale of a column that matters, divided by the largest one."""

LEAST_COLUMNS = 20
"""With fewer columns, but too many to move them all, there is no search afresh until the first one
has settled. A third of them is three to six, and in a valley so few may seem to matter."""

MOST_COLUMNS = 200
"""With more columns nothing asks which of them matter."""

FEW = 1.0 / 3.0
"""At most this share of the columns counts as few. With more of them the others matter a little
too, and a search that does not move them finds nothing better."""


def columns(
    domain: Domain, seen: Observations, memory: Memory, least: int = LEAST_COLUMNS
) -> IntArray | None:
    """Return the columns that a search afresh moves: all, or the few that matter.

    ``None`` if many matter, or if none of them is continuous. Below ``least`` columns nothing asks
    which of them matter.
    """
    found: IntArray | None = np.arange(len(domain))
    if domain.breadth >= FEW_COLUMNS:
        if domain.breadth < least or len(domain) > MOST_COLUMNS:
            return None
        found = _few(_fitted(domain, seen, memory))
    return None if found is None or domain.discrete[found].all() else found


def explains(memory: Memory) -> bool:
    """Tell whether the last fit explains the objective."""
    share = memory.recall(EXPLAINED, lambda data: data if type(data) is float else None)
    return share is not None and share >= LEAST_EXPLAINED


def correlations(fitted: Fitted, moved: IntArray, x: FloatArray, X: FloatArray) -> FloatArray:
    """Return the correlations of a point (D,) with points (n, D) in some columns, shape (n,)."""
    others = np.ones(len(x), np.bool_)
    others[moved] = False
    covariance = fitted.kernel.cross(np.where(others, x, X), x[None])[0]
    return np.asarray(covariance / fitted.kernel.variance, np.float64)


def _few(fitted: Fitted) -> IntArray | None:
    """Return the columns that matter by a fit, ``None`` if they are many."""
    inverse = fitted.kernel.inverse
    found = np.flatnonzero(inverse >= INFLUENCE * inverse.max())
    return found if len(found) < FEW_COLUMNS and len(found) <= FEW * len(inverse) else None


def _fitted(domain: Domain, seen: Observations, memory: Memory) -> Fitted:
    """Return a fit under the belief that few columns matter."""

    def refit(_: Fitted | None) -> Fitted:
        # A warm start would keep the lengthscales of the time when other columns seemed to matter.
        fitted = Ensemble("matern52", True, (FEW_MATTER,)).fitted(domain, seen, FEW_MATTER)
        posterior = FactorCache().posterior(fitted, seen.X, seen.y, seen.pending[:0])
        better = posterior.y >= np.median(posterior.y)
        memory.keep(EXPLAINED, round(posterior.explained(better), 4))
        return fitted

    last = recall_fit(memory, FIT, domain)
    is_of_use = last is not None and _few(last) is not None and explains(memory)
    growth = GROWTH if is_of_use else RARE_GROWTH
    return refit_if_due(last, memory, FIT, domain, len(seen.y), refit, growth=growth)
