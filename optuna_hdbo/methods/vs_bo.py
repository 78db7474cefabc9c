"""VS-BO (Shen & Kingsford 2023): Bayesian optimisation of the few columns that matter.

"Computationally Efficient High-Dimensional Bayesian Optimization via Variable Selection", AutoML
2023. Columns are ranked by how much they move a Gaussian process over all of them, the leading
ones are kept as long as they make the data likelier, and the search goes on in these alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_positive
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import is_due
from optuna_hdbo._core.gp.fitted import latest
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.gp.prior import PriorName
from optuna_hdbo._core.maximise.multistart import Maximiser
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.ensemble import NONE_INTERACT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.ensemble import drawn
from optuna_hdbo._core.models.subsets import SubsetFits
from optuna_hdbo._core.models.subsets import fit_columns
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo._core.variables import cma
from optuna_hdbo._core.variables import selection as search
from optuna_hdbo._core.variables.grad_is import grad_is
from optuna_hdbo._core.variables.selection import Selection
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


Criterion = Literal["gain", "momentum"]
Unimportant = Literal["cma", "mix", "incumbent"]
Source = tuple[Fitted, Mapping[str, Any]]

WHOLE, IMPORTANT = "whole", "important"
"""Where the record of a suggestion keeps fits of all columns, and of the selected ones."""

MAX_POINTS = 300
"""Subsets are compared on so many observations at most."""

WHOLE_PRIOR: PriorName = FEW_MATTER.prior
"""Of lengthscales when all columns are in the model."""

SUM_GROWTH = 0.05
"""Share of new observations that calls for another fit of the sum over columns."""

PATIENCE = 2
"""Columns in a row that are not worth it before a selection by gain stops looking."""


class VSBO:
    """Bayesian optimisation of the columns that matter.

    The parameters are those of :class:`optuna_hdbo.VSBOSampler`, where they are described, and
    ``n_init``: the observations that come before the first selection's count begins.
    """

    name = "vs-bo"

    def __init__(
        self,
        *,
        n_vs: int = 20,
        criterion: Criterion = "gain",
        gain: float = 6.0,
        n_is: int = 2000,
        unimportant: Unimportant = "cma",
        n_draws: int = 20,
        whole_every: int = 4,
        n_cyc: int | None = None,
        priors: bool = True,
        additive: bool = True,
        kernel: str = "matern52",
        n_init: int = 10,
    ) -> None:
        check_integer("n_vs", n_vs, 2)
        check_choice("criterion", criterion, ("gain", "momentum"))
        check_positive("gain", gain)
        check_integer("n_is", n_is, 1)
        check_choice("unimportant", unimportant, ("cma", "mix", "incumbent"))
        check_integer("n_draws", n_draws, 1)
        check_integer("whole_every", whole_every, 0)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_init", n_init, 0)
        self.n_vs = n_vs
        self.criterion = criterion
        self.gain = gain
        self.n_is = n_is
        self.unimportant = unimportant
        self.n_draws = n_draws
        self.whole_every = whole_every
        self.n_cyc = n_cyc
        self.priors = bool(priors)
        self.additive = bool(additive)
        self.kernel = kernel
        self.n_init = n_init
        self._caches = {WHOLE: FactorCache(), IMPORTANT: FactorCache()}
        self._by_column = Ensemble(kernel, True, (NONE_INTERACT,), name=WHOLE)
        self._conditionals = cma.ConditionalCache()
        self._constraints = ConstraintModels(kernel)

    def validate(self, domain: Domain) -> None:
        """Accept every domain."""

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point (Algorithm 1)."""
        rng = streams.generator(self.name, seen.step)
        record: dict[str, Any] = {}
        selection = latest_selection(seen, domain)
        if self._is_selection_due(selection, len(seen.y)):
            selection = self._select(domain, seen, selection, record, streams)
        everything = np.arange(len(domain))
        if selection is None or self._is_turn_of_all(seen.step):
            columns = everything
            source = self._source(WHOLE, domain, seen.X, seen, record, again=selection is None)
            posterior = self._posterior(WHOLE, source, seen.X, seen, seen.pending)
            if self.priors and selection is not None and len(domain) > 1:
                posterior = self._or_by_column(domain, seen, posterior, record, rng)
            known = np.concatenate([seen.X, seen.pending])
            x = self._ask(domain, seen, posterior, known, record, rng)
        else:
            columns = np.sort([domain.names.index(name) for name in selection.names])
            x, posterior = self._ask_important(domain, seen, columns, record, rng)
        known = np.concatenate([seen.X, seen.pending])
        x = unknown_near(domain, x, known, rng, np.ones(len(domain), np.bool_))
        report = prediction(seen, posterior, x[columns])
        if selection is not None:
            report["n_selected"] = len(selection.names)
        return Suggestion(x, record or None, report)

    def _is_selection_due(self, selection: Selection | None, n: int) -> bool:
        if selection is None:
            return n >= self.n_init + self.n_vs
        pause = self.n_vs
        if self.criterion == "gain":
            pause = max(pause, selection.n // 10)
        return n - selection.n >= pause

    def _is_turn_of_all(self, step: int) -> bool:
        return self.whole_every > 0 and step % self.whole_every == self.whole_every - 1

    # Gaussian processes --------------------------------------------------------------------------

    def _source(
        self,
        key: str,
        domain: Domain,
        X: FloatArray,
        seen: Observations,
        record: dict[str, Any],
        *,
        again: bool,
    ) -> Source:
        """Return the fit under a key, made anew if there is none or it is due ``again``."""
        fitted: Fitted | None = None
        source: Mapping[str, Any] | None = record.get(key)
        if source is not None:
            fitted = Fitted.from_json(source, domain)
        else:
            fitted, source = latest(seen.records, key, domain, [np.arange(len(domain))])
        if fitted is None or source is None or (again and is_due(fitted, len(seen.y), self.n_cyc)):
            warm = fitted if self.priors else None
            prior = self._prior(len(domain), WHOLE_PRIOR if key == WHOLE else "inverse-square")
            fitted = fit_columns(domain, X, seen.y, self.kernel, prior, warm)
            source = record[key] = fitted.to_json(domain.names)
        return fitted, source

    def _prior(self, n_columns: int, name: PriorName = "inverse-square") -> Prior:
        if self.priors:
            return Prior(name, n_columns)
        return Prior("flat", scale=False, noise=False)

    def _posterior(
        self,
        key: str,
        source: Source,
        X: FloatArray,
        seen: Observations,
        pending: FloatArray,
    ) -> Posterior:
        return self._caches[key].posterior(*source, X, seen.y, pending)

    def _or_by_column(
        self,
        domain: Domain,
        seen: Observations,
        joint: Posterior,
        record: dict[str, Any],
        rng: np.random.Generator,
    ) -> Posterior:
        """Return the posterior of all columns or that of a sum over them, as they predict.

        What the selection leaves out are weak effects, too weak for any of their interactions to
        be seen, and a sum finds those in the fewest observations.
        """
        belief = NONE_INTERACT
        by_column, _ = self._by_column.posterior(domain, seen, belief, record, SUM_GROWTH)
        both = joint, by_column
        return both[drawn(both, (FEW_MATTER, belief), rng)]

    # queries -------------------------------------------------------------------------------------

    def _ask(
        self,
        domain: Domain,
        seen: Observations,
        posterior: Posterior,
        known: FloatArray,
        record: dict[str, Any],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the point of the largest expected improvement; ``seen`` is in its columns."""
        feasibility, fits = self._constraints.fit(domain, seen)
        record |= fits
        if self.priors and feasibility.incumbent is not None:
            # What columns outside of the model did for the best value is not to be improved on.
            mean = posterior.kernel.cross(posterior.X, seen.X) @ posterior.alpha
            feasible = feasibility.merit >= seen.y.min()
            feasibility = replace(feasibility, incumbent=float(mean[feasible].max()))
        utility = feasibility.improvement(posterior)
        return Maximiser(domain, good_points(seen.X, feasibility.merit))(utility, rng, known)[0]

    def _ask_important(
        self,
        domain: Domain,
        seen: Observations,
        columns: IntArray,
        record: dict[str, Any],
        rng: np.random.Generator,
    ) -> tuple[FloatArray, Posterior]:
        """Return the next point and the posterior of its selected columns."""
        part = restricted(domain, columns)
        X = np.ascontiguousarray(seen.X[:, columns])
        pending = np.ascontiguousarray(seen.pending[:, columns])
        source = self._source(IMPORTANT, part, X, seen, record, again=True)
        posterior = self._posterior(IMPORTANT, source, X, seen, pending)
        rest = np.setdiff1d(np.arange(len(domain)), columns)
        x = seen.X[int(np.argmax(merits(seen)))].copy()
        drawn = self.unimportant == "cma" and len(rest) > 0
        if self.unimportant == "mix" and rng.random() < 0.5:
            x[rest] = domain.sample(rng, 1)[0, rest]
        known = np.concatenate([seen.X, seen.pending])
        same = np.zeros(len(known), np.bool_) if drawn else (known == x)[:, rest].all(axis=1)
        taken = np.ascontiguousarray(known[same][:, columns])
        within = replace(seen, X=X, pending=pending)
        x[columns] = self._ask(part, within, posterior, taken, record, rng)
        if drawn:
            x[rest] = self._draw(domain, seen, x, columns, rng)[rest]
        return x, posterior

    def _draw(
        self,
        domain: Domain,
        seen: Observations,
        x: FloatArray,
        columns: IntArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return x with its other columns drawn from p(x_nipt | x_ipt, D)."""
        U = cma.to_unit(domain, seen.X)
        rows = cma.generations(seen.y, min(self.n_init, len(U)), self.n_vs)
        conditional = self._conditionals.conditional(U, rows, self.n_vs, columns)
        points = np.repeat(cma.to_unit(domain, x[None]), self.n_draws, axis=0)
        points[:, conditional.rest] = conditional.draw(points[0, columns], rng, self.n_draws)
        points = domain.from_unit(np.clip(points, 0.0, 1.0))
        points[:, columns] = x[columns]
        best = 0
        fitted, source = latest(seen.records, WHOLE, domain, [np.arange(len(domain))])
        if self.n_draws > 1 and fitted is not None and source is not None:
            posterior = self._posterior(WHOLE, (fitted, source), seen.X, seen, seen.pending)
            mean = posterior.kernel.cross(posterior.X, points) @ posterior.alpha
            best = int(np.argmax(mean))
        drawn: FloatArray = points[best]
        return drawn

    # selection -----------------------------------------------------------------------------------

    def _select(
        self,
        domain: Domain,
        seen: Observations,
        before: Selection | None,
        record: dict[str, Any],
        streams: Streams,
    ) -> Selection:
        """Choose the columns that matter and fit a process to them (Algorithms 2 to 5)."""
        rng = streams.generator(f"{self.name}:select", seen.step)
        source = self._source(WHOLE, domain, seen.X, seen, record, again=True)
        posterior = self._posterior(WHOLE, source, seen.X, seen, seen.pending)
        scores = grad_is(posterior, domain, self.n_is, rng)
        ranking = np.argsort(-scores, kind="stable").tolist()
        X, y = seen.X, seen.y
        if len(y) > MAX_POINTS:
            rows = np.sort(rng.choice(len(y), MAX_POINTS, replace=False))
            X, y = np.ascontiguousarray(X[rows]), y[rows]
        fits = SubsetFits(
            source[0].kernel,
            X,
            y,
            self._prior(len(domain)),
            warm=self.priors,
            additive=self.additive,
            first=self._groups_before(domain, seen, before),
            n_steps=7 if self.priors else 50,
        )
        old = [] if before is None else [domain.names.index(name) for name in before.names]
        if self.criterion == "gain":
            chosen = search.significant(
                ranking,
                old,
                fits.loss,
                gain=self.gain,
                patience=PATIENCE,
                rest=fits.rest if self.additive else None,
            )
        elif before is None or len(old) == len(domain):
            chosen = search.forward(ranking, fits.loss)
        elif seen.y[before.n :].max(initial=-np.inf) <= seen.y[: before.n].max():
            chosen = search.after_failure(ranking, old, fits.loss)
        else:
            part = Posterior(Factor(fits.kernel(tuple(old)), X), y)
            within = grad_is(part, domain, self.n_is, rng)
            ordered = sorted(old, key=lambda c: -within[c])
            chosen = search.after_success(ranking, ordered, fits.loss)
        selection = Selection(
            len(seen.y), tuple(domain.names[c] for c in sorted(chosen, key=ranking.index))
        )
        record[search.KEY] = selection.to_json()
        fits.regroup(chosen)
        columns = np.sort(np.array(chosen, np.int64))
        if self.priors:
            part_domain = restricted(domain, columns)
            fitted = fit_columns(
                part_domain,
                np.ascontiguousarray(seen.X[:, columns]),
                seen.y,
                self.kernel,
                self._prior(len(domain)),
                fits.part(columns, part_domain),
            )
            record[IMPORTANT] = fitted.to_json(part_domain.names)
        return selection

    def _groups_before(
        self, domain: Domain, seen: Observations, before: Selection | None
    ) -> tuple[tuple[int, ...], ...]:
        """Return the columns of the last selection in the groups of its last fit; () if none."""
        if before is None or not self.additive:
            return ()
        columns = np.sort([domain.names.index(name) for name in before.names])
        fitted, _ = latest(seen.records, IMPORTANT, restricted(domain, columns))
        if fitted is None:
            return ()
        return tuple(tuple(columns[group].tolist()) for group in fitted.kernel.groups)


def latest_selection(seen: Observations, domain: Domain) -> Selection | None:
    """Return the newest selection among the records, less the columns that are not there now."""
    for record in reversed(seen.records):
        selection = Selection.from_json(record.data.get(search.KEY))
        if selection is None or selection.n > len(seen.y):
            continue
        names = tuple(name for name in selection.names if name in domain.names)
        if names:
            return Selection(selection.n, names)
    return None
