"""Searches for a grouping and fits of the hyperparameters, in turns.

Which grouping a search prefers depends on the lengthscales. With long ones, three columns that
interact over short distances look like noise. A fit does not help, because it gives long
lengthscales to columns that are in no group yet. So a first search is made at a short and at a
longer one, the same for all columns, and the evidence chooses between them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.models.groupings.evidence import LENGTHSCALES
from optuna_hdbo._core.models.groupings.evidence import Evidence
from optuna_hdbo._core.models.groupings.evidence import Group
from optuna_hdbo._core.models.groupings.evidence import listed
from optuna_hdbo._core.models.groupings.evidence import price_of_join
from optuna_hdbo._core.models.groupings.merging import merge


Fit = Callable[[tuple[IntArray, ...], Kernel | None], tuple[Kernel, float]]
"""Groups, and a kernel to begin with, to the fitted kernel and its log posterior."""

FIRST_LENGTHSCALES = (0.3, 0.6)
"""Lengthscales of all columns, as shares of their range, at which a first search is made."""

FIRST_FORCED, LATER_FORCED = 8, 4
"""Merges that a search tries although they seem to lose, of a first fit and of later ones."""

FORCE_EVERY = 3
"""Searches from one that tries such merges to the next, after the first one."""

MOST_ROUNDS = 3
"""Searches of a first fit, each at hyperparameters that are fitted to what the last one found."""

CLOSE, MOST_CLOSE = 12.0, 12
"""Groupings that lose by fewer nats than this to the best one, and so many of them, are also
compared under hyperparameters that are fitted to them."""


def likeliest(kernel: Kernel, X: FloatArray, y: FloatArray, size: int, n: int) -> list[Group]:
    """Return the likeliest grouping of searches at :data:`FIRST_LENGTHSCALES`, without a fit.

    The kernel gives the kind, and the groups where every search starts. The other parameters are
    those of :class:`Learning`.
    """
    best, most = listed(kernel), -np.inf
    for lengthscale in FIRST_LENGTHSCALES:
        at = replace(kernel, lengthscales=np.full(len(kernel.lengthscales), lengthscale))
        evidence = Evidence(at, X, y)
        found = merge(evidence, listed(kernel), size, n, FIRST_FORCED)
        if (value := evidence.log_posterior(found)) > most:
            best, most = found, value
    return best


class Learning:
    """What a search for a grouping needs.

    Parameters
    ----------
    fit : Fit
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
        Standardised. Groupings are scored by these observations.
    size : int
        Largest number of columns in a group.
    n : int
        Groupings that a search may score.
    """

    def __init__(self, fit: Fit, X: FloatArray, y: FloatArray, size: int, n: int) -> None:
        self._fit, self._points, self._size, self._n = fit, (X, y), size, n
        self._price = price_of_join(X.shape[1])

    def first(self, kernel: Kernel) -> tuple[Kernel, float]:
        """Return a fitted kernel with the likeliest grouping that is found, and its log posterior.

        The given one has all columns alone.
        """
        best = likeliest(kernel, *self._points, self._size, self._n)
        kernel, value = self._fit(join(best), None)
        for _ in range(MOST_ROUNDS):
            evidence, found = self._search(kernel, FIRST_FORCED)
            before = kernel
            kernel, value = self._better(kernel, value, found)
            if kernel is before:
                break
        for close in evidence.close(listed(kernel), CLOSE, MOST_CLOSE):
            kernel, value = self._better(kernel, value, close)
        return kernel, value

    def later(
        self, groups: tuple[IntArray, ...], warm: Kernel, cycle: int
    ) -> tuple[Kernel, float]:
        """Return a fitted kernel with ``groups`` or with likelier ones, and its log posterior."""
        kernel, value = self._fit(groups, warm)
        _, found = self._search(kernel, LATER_FORCED if cycle % FORCE_EVERY == 0 else 0)
        return self._better(kernel, value, found)

    def _search(self, kernel: Kernel, n_forced: int) -> tuple[Evidence, list[Group]]:
        evidence = Evidence(kernel, *self._points)
        return evidence, merge(evidence, listed(kernel), self._size, self._n, n_forced)

    def _better(
        self, kernel: Kernel, value: float, groups: Sequence[Group]
    ) -> tuple[Kernel, float]:
        """Return what is likelier, each under hyperparameters that are fitted to it.

        The prior against joining columns is the same as in the search.
        """
        found = join(groups)
        if [g.tolist() for g in found] == [g.tolist() for g in kernel.groups]:
            return kernel, value
        other, other_value = self._fit(found, _regrouped(kernel, found))
        gain = comparable(other, other_value) - comparable(kernel, value)
        n_joins = len(kernel.groups) - len(found)
        return (other, other_value) if gain > self._price * n_joins else (kernel, value)


def _regrouped(kernel: Kernel, groups: tuple[IntArray, ...]) -> Kernel:
    """Return a kernel with other groups, whose columns bring their shares of the variance along.

    Lengthscales are those at which groupings are compared: a column that was in the wrong group
    has a long one.
    """
    share = np.empty(len(kernel.lengthscales))
    for scale, group in zip(kernel.scales.tolist(), kernel.groups, strict=True):
        share[group] = scale / len(group)
    return replace(
        kernel,
        groups=groups,
        scales=np.array([share[group].sum() for group in groups]),
        lengthscales=np.clip(kernel.lengthscales, *LENGTHSCALES),
    )


def comparable(kernel: Kernel, log_posterior: float) -> float:
    """Return a log posterior without the prior of the scales, of which groupings differ in number.

    That prior is not normalised.
    """
    return log_posterior - Prior("inverse-square").of_scales(np.log(kernel.scales))[0]
