"""VS-BO (Shen & Kingsford 2023): Bayesian optimisation of the few columns that matter.

"Computationally Efficient High-Dimensional Bayesian Optimization via Variable Selection", AutoML
2023. Columns are ranked by how much they move a Gaussian process over all of them, the leading
ones are kept as long as they make the data likelier, and the search goes on in these alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core import cma
from optuna_hdbo._core import selection as search
from optuna_hdbo._core.acquisition import Acquisition
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.fit import Bounds
from optuna_hdbo._core.fit import Prior
from optuna_hdbo._core.fit import PriorName
from optuna_hdbo._core.fit import fit
from optuna_hdbo._core.gp import KINDS
from optuna_hdbo._core.gp import Kernel
from optuna_hdbo._core.gp import Posterior
from optuna_hdbo._core.importance import grad_is
from optuna_hdbo._core.maximise import Effort
from optuna_hdbo._core.maximise import Maximiser
from optuna_hdbo._core.maximise import unknown_near
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.plain import good_points
from optuna_hdbo._core.plain import n_fit_steps
from optuna_hdbo._core.plain import prediction
from optuna_hdbo._core.plain import starts_of_fit
from optuna_hdbo._core.settings import check_choice
from optuna_hdbo._core.settings import check_integer
from optuna_hdbo._core.subsets import SubsetFits
from optuna_hdbo._core.subsets import restricted
from optuna_hdbo._core.surrogate import FactorCache
from optuna_hdbo._core.surrogate import Fitted
from optuna_hdbo._core.surrogate import cold_start
from optuna_hdbo._core.surrogate import is_due
from optuna_hdbo._core.surrogate import latest
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


Unimportant = Literal["cma", "mix", "incumbent"]

KEY = "selection"
"""Where the record of a suggestion keeps a selection."""

WHOLE, IMPORTANT = "whole", "important"
"""Where it keeps fits of all columns, and of the selected ones."""

MAX_POINTS = 300
"""Subsets are compared on so many observations at most."""


@dataclass(frozen=True)
class Selection:
    """The columns that matter, as one trial chose them.

    Parameters
    ----------
    n : int
        Observations that it was made from.
    names : tuple of str
        The most important first.
    """

    n: int
    names: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"n": self.n, "names": list(self.names)}

    @classmethod
    def from_json(cls, data: Any) -> Selection | None:
        """Return what an object describes, None if it is no selection."""
        if not isinstance(data, dict):
            return None
        n, names = data.get("n"), data.get("names")
        if isinstance(n, bool) or not isinstance(n, int) or n < 0 or not isinstance(names, list):
            return None
        if not names or not all(isinstance(name, str) for name in names):
            return None
        return cls(n, tuple(names)) if len(set(names)) == len(names) else None


class VSBO:
    """Bayesian optimisation of the columns that matter.

    The parameters are those of :class:`optuna_hdbo.VSBOSampler`, where they are described.
    """

    name = "vs-bo"

    def __init__(
        self,
        *,
        n_vs: int = 20,
        kernel: str = "matern52",
        n_is: int = 2000,
        criterion: Literal["gain", "momentum"] = "gain",
        gain: float = 6.0,
        unimportant: Unimportant = "cma",
        n_draws: int = 20,
        whole_every: int = 4,
        n_cyc: int | None = None,
        priors: bool = True,
        n_init: int = 10,
        **tuned: Any,
    ) -> None:
        check_integer("n_vs", n_vs, 2)
        check_integer("n_is", n_is, 1)
        check_integer("n_draws", n_draws, 1)
        check_integer("whole_every", whole_every, 0)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_integer("n_init", n_init, 0)
        check_choice("kernel", kernel, tuple(KINDS))
        check_choice("criterion", criterion, ("gain", "momentum"))
        check_choice("unimportant", unimportant, ("cma", "mix", "incumbent"))
        self.n_vs = n_vs
        self.kernel = kernel
        self.n_is = n_is
        self.criterion = criterion
        self.gain = gain
        self.unimportant = unimportant
        self.n_draws = n_draws
        self.whole_every = whole_every
        self.n_cyc = n_cyc
        self.priors = priors
        self.n_init = n_init
        self.tuned = tuned
        self._whole_cache = FactorCache()
        self._important_cache = FactorCache()

    def validate(self, domain: Domain) -> None:
        """Accept every domain."""

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        rng = streams.generator(self.name, seen.step)
        record: dict[str, Any] = {}
        selection = latest_selection(seen, domain)
        whole: tuple[Fitted, Mapping[str, Any]] | None = None
        if self._is_due(selection, len(seen.y)):
            whole = self._whole(domain, seen, record, again=True)
            selection = self._select(domain, seen, selection, whole, record, streams)
        if selection is None or (
            self.whole_every and seen.step % self.whole_every == self.whole_every - 1
        ):
            whole = whole or self._whole(domain, seen, record, again=selection is None)
            posterior = self._whole_cache.posterior(*whole, seen.X, seen.y, seen.pending)
            x = self._ask(domain, seen.X, seen.pending, seen.y, posterior, rng)
        else:
            columns = np.sort([domain.names.index(name) for name in selection.names])
            x, posterior = self._ask_important(domain, seen, columns, record, rng)
        known = np.concatenate([seen.X, seen.pending])
        x = unknown_near(domain, x, known, rng, np.ones(len(domain), np.bool_))
        width = len(posterior.X[0])
        report = prediction(seen, posterior, x if width == len(domain) else x[columns])
        if selection is not None:
            report["n_selected"] = len(selection.names)
        return Suggestion(x, record or None, report)

    def _is_due(self, selection: Selection | None, n: int) -> bool:
        if selection is None:
            return n >= self.n_init + self.n_vs
        pause = self.n_vs
        if self.criterion == "gain":
            pause = max(pause, selection.n // 10)
        return n - selection.n >= pause

    def _ask(
        self,
        domain: Domain,
        X: FloatArray,
        pending: FloatArray,
        y: FloatArray,
        posterior: Posterior,
        rng: np.random.Generator,
    ) -> FloatArray:
        best = float(y.max())
        if self.priors:
            best = float((posterior.kernel.cross(posterior.X, X) @ posterior.alpha).max())
        acquisition = Acquisition.log_ei(posterior, best)
        maximiser = Maximiser(domain, good_points(X, y), effort=self.tuned.get("effort", Effort()))
        return maximiser(acquisition, rng, np.concatenate([X, pending]))[0]

    def _ask_important(
        self,
        domain: Domain,
        seen: Observations,
        columns: IntArray,
        record: dict[str, Any],
        rng: np.random.Generator,
    ) -> tuple[FloatArray, Posterior]:
        part = restricted(domain, columns)
        X = np.ascontiguousarray(seen.X[:, columns])
        pending = np.ascontiguousarray(seen.pending[:, columns])
        data = record.get(IMPORTANT)
        fitted = None if data is None else Fitted.from_json(data, part)
        source: Mapping[str, Any] | None = data
        if fitted is None:
            fitted, source = latest(seen.records, IMPORTANT, part)
        if fitted is None or source is None or is_due(fitted, len(seen.y), self.n_cyc):
            fitted = self._fit(part, X, seen.y, fitted, "inverse-square")
            source = record[IMPORTANT] = fitted.to_json(part.names)
        posterior = self._important_cache.posterior(fitted, source, X, seen.y, pending)
        x = seen.X[int(np.argmax(seen.y))].copy()
        if len(columns) == len(domain):
            return self._ask(part, X, pending, seen.y, posterior, rng), posterior
        x[columns] = self._ask(part, X[:0], pending[:0], seen.y, posterior, rng) if False else (
            self._ask(part, X, pending, seen.y, posterior, rng)
        )
        rest = np.setdiff1d(np.arange(len(domain)), columns)
        if self.unimportant == "mix" and rng.random() < 0.5:
            x[rest] = domain.sample(rng, 1)[0, rest]
        elif self.unimportant == "cma":
            x[rest] = self._draw(domain, seen, x, columns, rng)
        return x, posterior

    def _draw(
        self,
        domain: Domain,
        seen: Observations,
        x: FloatArray,
        columns: IntArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        U = cma.to_unit(domain, seen.X)
        gaussian = cma.follow(U, seen.y, min(self.n_init, len(U)), self.n_vs)
        conditional = gaussian.given(columns)
        known = cma.to_unit(domain, x[None])[0, columns]
        points = np.tile(cma.to_unit(domain, x[None]), (self.n_draws, 1))
        points[:, conditional.rest] = conditional.draw(known, rng, self.n_draws)
        points = domain.from_unit(np.clip(points, 0.0, 1.0))
        points[:, columns] = x[columns]
        best = 0
        if self.n_draws > 1:
            fitted, source = latest(seen.records, WHOLE, domain)
            if fitted is not None and source is not None:
                posterior = self._whole_cache.posterior(
                    fitted, source, seen.X, seen.y, seen.pending
                )
                mean = posterior.kernel.cross(posterior.X, points) @ posterior.alpha
                best = int(np.argmax(mean))
        return points[best, conditional.rest]

    def _whole(
        self, domain: Domain, seen: Observations, record: dict[str, Any], *, again: bool
    ) -> tuple[Fitted, Mapping[str, Any]]:
        fitted, source = latest(seen.records, WHOLE, domain)
        stale = again and is_due(fitted, len(seen.y), self.n_cyc)
        if fitted is None or source is None or stale:
            prior: PriorName = self.tuned.get("whole_prior", "inverse-square")
            fitted = self._fit(domain, seen.X, seen.y, fitted, prior)
            source = record[WHOLE] = fitted.to_json(domain.names)
        return fitted, source

    def _fit(
        self,
        domain: Domain,
        X: FloatArray,
        y: FloatArray,
        warm: Fitted | None,
        prior: PriorName,
    ) -> Fitted:
        n_columns = len(domain)
        lengthscale = max(0.5, n_columns**0.5 / 7.0)
        cold = cold_start(domain, self.kernel, [np.arange(n_columns)], lengthscale, 1e-2)
        starts = starts_of_fit(warm, cold) if self.priors else [cold]
        kernel, likelihood = fit(
            cold,
            X,
            y,
            prior=self._prior(prior, n_columns),
            bounds=Bounds(),
            starts=starts,
            n_steps=n_fit_steps(warm, starts),
        )
        cycle = 0 if warm is None else warm.cycle + 1
        return Fitted(kernel, len(y), cycle, likelihood).rounded(domain)

    def _prior(self, name: PriorName, n_columns: int) -> Prior:
        if self.priors:
            return Prior(name, n_columns)
        return Prior("flat", scale=False, noise=False)

    def _select(
        self,
        domain: Domain,
        seen: Observations,
        before: Selection | None,
        whole: tuple[Fitted, Mapping[str, Any]],
        record: dict[str, Any],
        streams: Streams,
    ) -> Selection:
        rng = streams.generator(f"{self.name}:select", seen.step)
        posterior = self._whole_cache.posterior(*whole, seen.X, seen.y, seen.pending)
        scores = grad_is(posterior, domain, self.n_is, rng)
        ranking = np.argsort(-scores, kind="stable").tolist()
        X, y = seen.X, seen.y
        if len(y) > MAX_POINTS:
            rows = np.sort(rng.choice(len(y), MAX_POINTS, replace=False))
            X, y = np.ascontiguousarray(X[rows]), y[rows]
        n_steps = 10 if self.priors else 50
        fits = SubsetFits(
            whole[0].kernel,
            X,
            y,
            self._prior("inverse-square", len(domain)),
            warm=self.priors,
            n_steps=n_steps,
        )
        old = [] if before is None else [domain.names.index(name) for name in before.names]
        if self.criterion == "gain":
            chosen = search.significant(
                ranking, old, fits.loss, gain=self.gain, patience=self.tuned.get("patience", 3)
            )
        elif before is None or len(old) == len(domain):
            chosen = search.forward(ranking, fits.loss)
        elif seen.y[before.n :].max(initial=-np.inf) <= seen.y[: before.n].max():
            chosen = search.after_failure(ranking, old, fits.loss)
        else:
            fitted = fits.kernel(tuple(old))
            part = posterior_of(fitted, X, y)
            within = grad_is(part, domain, self.n_is, rng)
            ordered = sorted(old, key=lambda c: -within[c])
            chosen = search.after_success(ranking, ordered, fits.loss)
        chosen = tuple(sorted(chosen, key=ranking.index))
        selection = Selection(len(seen.y), tuple(domain.names[c] for c in chosen))
        record[KEY] = selection.to_json()
        if len(chosen) < len(domain):
            columns = np.sort(np.array(chosen, np.int64))
            part_domain = restricted(domain, columns)
            kernel = fits.kernel(chosen)
            start = Fitted(
                Kernel(
                    kernel.kind,
                    (np.arange(len(columns)),),
                    kernel.lengthscales[columns],
                    kernel.scales,
                    kernel.noise,
                    part_domain.categorical,
                ),
                len(seen.y),
                1,
                0.0,
            )
            fitted_part = self._fit(
                part_domain,
                np.ascontiguousarray(seen.X[:, columns]),
                seen.y,
                start,
                "inverse-square",
            )
            record[IMPORTANT] = fitted_part.to_json(part_domain.names)
        return selection


def posterior_of(kernel: Kernel, X: FloatArray, y: FloatArray) -> Posterior:
    from optuna_hdbo._core.gp import Factor

    return Posterior(Factor(kernel, X), y)


def latest_selection(seen: Observations, domain: Domain) -> Selection | None:
    """Return the newest selection among the records, less the columns that are not there now."""
    for record in reversed(seen.records):
        selection = Selection.from_json(record.data.get(KEY))
        if selection is None or selection.n > len(seen.y):
            continue
        names = tuple(name for name in selection.names if name in domain.names)
        if names:
            return Selection(selection.n, names)
    return None
