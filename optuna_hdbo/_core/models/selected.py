"""Gaussian processes over all columns and over those that matter, and the choice of these."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.fitted import recall_or_refit
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.gp.prior import PriorName
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.groupings.packed import compared
from optuna_hdbo._core.models.subsets import Grouping
from optuna_hdbo._core.models.subsets import SubsetFits
from optuna_hdbo._core.models.subsets import fit_columns
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.variables import selection as selections
from optuna_hdbo._core.variables.grad_is import grad_is
from optuna_hdbo._core.variables.selection import Columns
from optuna_hdbo._core.variables.selection import Selection


WHOLE, SELECTED = "whole", "important"
"""Keys of the fits in records: of all columns, and of the selected ones."""

PATIENCE = 2
"""Columns in a row that are not worth it before a selection by gain stops looking."""

WHOLE_PRIOR: PriorName = FEW_MATTER.prior
"""Prior of the lengthscales when all columns are in the model."""


@dataclass(frozen=True, eq=False)
class SelectedModel:
    """A process over all columns, and one over the columns that are selected with its help.

    Parameters
    ----------
    kind : str
        Kernel.
    criterion : {"gain", "momentum", "forward"}
        How a selection follows from the ranking of the columns: see
        :func:`optuna_hdbo._core.variables.selection.significant`, or Algorithms 2 to 5 of Shen &
        Kingsford (2023), or Algorithm 2 alone.
    gain : float
        Log marginal likelihood that a column must add, for ``"gain"``.
    n_is : int
        Uniform points at which the columns' importance is averaged.
    n_cyc : int or None
        See :func:`is_due`.
    priors : bool
        Whether hyperparameters have priors and fits go on from earlier ones.
    additive : bool
        Whether the kernel of the selected columns may be a sum over groups of them.
    """

    kind: str
    criterion: str
    gain: float
    n_is: int
    n_cyc: int | None
    priors: bool
    additive: bool
    _caches: dict[str, FactorCache] = field(
        default_factory=lambda: {WHOLE: FactorCache(), SELECTED: FactorCache()}, init=False
    )

    def whole(
        self, domain: Domain, seen: Observations, memory: Memory, *, renew: bool
    ) -> Posterior:
        """Return the posterior of all columns; its fit is only made anew if it may ``renew``."""
        return self._posterior(WHOLE, domain, seen, memory, renew=renew)

    def selected(self, domain: Domain, seen: Observations, memory: Memory) -> Posterior:
        """Return the posterior of the selected columns, the only ones of these arguments."""
        return self._posterior(SELECTED, domain, seen, memory, renew=True)

    def mean_before(
        self, domain: Domain, seen: Observations, memory: Memory, points: FloatArray
    ) -> FloatArray | None:
        """Return the mean (m,) of all columns at points (m, D) under the fit of earlier trials."""
        before = Memory(memory.records)
        fitted = recall_fit(before, WHOLE, domain, [np.arange(len(domain))])
        if fitted is None:
            return None
        posterior = self._caches[WHOLE].posterior(fitted, seen.X, seen.y, seen.pending)
        return posterior.mean(points)

    def _posterior(
        self, key: str, domain: Domain, seen: Observations, memory: Memory, *, renew: bool
    ) -> Posterior:
        def refit(last: Fitted | None) -> Fitted:
            warm = last if self.priors else None
            prior = self._prior(domain.breadth, WHOLE_PRIOR if key == WHOLE else "inverse-square")
            return fit_columns(domain, seen.X, seen.y, self.kind, prior, warm)

        fitted = recall_or_refit(
            memory,
            key,
            domain,
            len(seen.y),
            refit,
            # Only the trial that selects uses the groups that it has learned.
            groups=None if key in memory.kept else [np.arange(len(domain))],
            n_cyc=self.n_cyc,
            renew=renew,
        )
        return self._caches[key].posterior(fitted, seen.X, seen.y, seen.pending)

    def _prior(self, n_columns: int, name: PriorName = "inverse-square") -> Prior:
        if self.priors:
            return Prior(name, n_columns)
        return Prior("flat", scale=False, noise=False)

    def select(
        self,
        domain: Domain,
        seen: Observations,
        memory: Memory,
        before: Selection | None,
        rng: np.random.Generator,
    ) -> Selection:
        """Choose the columns that matter, and fit a process to them if there are priors.

        The memory keeps the selection and the fits. ``before`` is the last selection.
        """
        posterior = self.whole(domain, seen, memory, renew=True)
        scores = grad_is(posterior, domain, self.n_is, rng)
        ranking = np.argsort(-scores, kind="stable").tolist()
        fits = self._subset_fits(domain, seen, memory, before, posterior.kernel, rng)
        chosen = self._choose(domain, seen, before, ranking, fits, rng)
        chosen = domain.with_deciding(chosen)
        ordered = sorted(chosen, key=ranking.index)
        selection = Selection(len(seen.y), tuple(domain.names[c] for c in ordered))
        memory.keep(selections.SELECTIONS, selection.to_json())
        fits.regroup(chosen)
        if self.priors:
            columns = selection.columns(domain)
            part = restricted(domain, columns)
            fitted = fit_columns(
                part,
                np.ascontiguousarray(seen.X[:, columns]),
                seen.y,
                self.kind,
                self._prior(len(domain)),
                fits.part(columns, part),
            )
            memory.keep(SELECTED, fitted.to_json(part.names))
        return selection

    def _subset_fits(
        self,
        domain: Domain,
        seen: Observations,
        memory: Memory,
        before: Selection | None,
        whole: Kernel,
        rng: np.random.Generator,
    ) -> SubsetFits:
        X, y = compared(seen.X, seen.y, 1, rng)
        first: Grouping = ()
        if before is not None and self.additive:
            columns = before.columns(domain)
            fitted = recall_fit(memory, SELECTED, restricted(domain, columns))
            if fitted is not None:
                first = tuple(tuple(columns[group].tolist()) for group in fitted.kernel.groups)
        return SubsetFits(
            whole,
            X,
            y,
            self._prior(len(domain)),
            warm=self.priors,
            additive=self.additive,
            first=first,
            n_steps=7 if self.priors else 50,
        )

    def _choose(
        self,
        domain: Domain,
        seen: Observations,
        before: Selection | None,
        ranking: list[int],
        fits: SubsetFits,
        rng: np.random.Generator,
    ) -> Columns:
        """Return the selected columns (Algorithms 2 to 5, or those that are worth the gain)."""
        old = [] if before is None else [domain.names.index(name) for name in before.names]
        if self.criterion == "gain":
            return selections.significant(
                ranking,
                old,
                fits.loss,
                gain=self.gain,
                patience=PATIENCE,
                rest=fits.rest if self.additive else None,
            )
        if self.criterion == "forward" or before is None or len(old) == len(domain):
            return selections.forward(ranking, fits.loss)
        if seen.y[before.n :].max(initial=-np.inf) <= seen.y[: before.n].max():
            return selections.after_failure(ranking, old, fits.loss)
        part = Posterior(Factor(fits.kernel(tuple(old)), fits.X), fits.y)
        within = grad_is(part, domain, self.n_is, rng)
        ordered = sorted(old, key=lambda c: -within[c])
        return selections.after_success(ranking, ordered, fits.loss)
