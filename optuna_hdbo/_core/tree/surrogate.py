"""The Gaussian process beside a partition tree: fixed, or fitted now and then."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import is_due
from optuna_hdbo._core.gp.known import KernelParams
from optuna_hdbo._core.gp.posterior import IllConditionedError
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._core.tree.nodes import make_model
from optuna_hdbo._jit.tree import Model


KEY = "fit"
"""The key of a record under which its fit is."""

MANY = 100
"""Observations after which fits are rare: they cost ever more and change ever less."""

GROWTH, LATE_GROWTH = 0.2, 1.0
"""Share of new observations that calls for a fit, and the share that does from then on."""

KNOWN = 0.1
"""Share of a finite space's configurations from which on late fits are not renewed.

They would change little by then, and take longer than all else in a trial.
"""

LEAST = 3
"""Observations before hyperparameters are fitted."""


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Posteriors for the epochs of a study.

    Parameters
    ----------
    kind : str
        Kernel.
    ard : bool
        One lengthscale per column, or one for all.
    n_cyc : int or None
        Observations between two fits. With ``None``, a fit is due when the observations have
        grown by the share :data:`GROWTH`, or by :data:`LATE_GROWTH` from :data:`MANY` on. The
        latter ends where the share :data:`KNOWN` of a finite space is known.
    bounds : Bounds
    fixed : KernelParams or None
        Known hyperparameters. Nothing is fitted then.
    """

    kind: str
    ard: bool = True
    n_cyc: int | None = None
    bounds: Bounds = field(default_factory=lambda: Bounds(noise=(1e-8, 1e-2)))
    fixed: KernelParams | None = None
    _cache: FactorCache = field(default_factory=FactorCache, init=False)

    def unfitted(self, domain: Domain) -> Fitted:
        """Return the kernel that is used before the first fit, or always."""
        if self.fixed is not None:
            return self.fixed.fitted(domain, self.kind)
        columns = [np.arange(len(domain))]
        return Fitted(cold_start(domain, self.kind, columns, 0.5, 1e-6), 0, 0, 0.0)

    def read(self, record: Record, domain: Domain) -> Fitted | None:
        """Return the fit that a record brings for all columns of this domain, if any.

        A tree does not use :class:`Memory`, which returns the newest decision of all records. It
        replays old suggestions, and for each of them it needs the fit of that time.
        """
        if self.fixed is not None or KEY not in record.data:
            return None
        fitted = Fitted.from_json(record.data[KEY], domain)
        if fitted is None or len(fitted.kernel.groups) != 1:
            return None
        return fitted if len(fitted.kernel.columns) == len(domain) else None

    def renewed(
        self, domain: Domain, X: FloatArray, values: FloatArray, current: Fitted | None
    ) -> Fitted | None:
        """Return a new fit to X (n, D) and values (n,), or None while the current one will do."""
        n = len(values)
        if self.fixed is not None or n < LEAST:
            return None
        late = current is not None and current.n >= MANY
        if late and self.n_cyc is None and n >= KNOWN * domain.n_configurations:
            return None
        if not is_due(current, n, self.n_cyc, LATE_GROWTH if late else GROWTH):
            return None
        cold = self.unfitted(domain).kernel
        starts = [cold] if current is None else [current.kernel]
        if current is not None and (n < 20 or current.cycle % 4 == 3):
            starts.append(cold)
        kernel, likelihood = fit(
            cold,
            X,
            standardise(values)[0],
            prior=Prior("inverse-square"),
            bounds=self.bounds,
            lengthscales="column" if self.ard else "all",
            starts=starts,
            n_steps=30 if len(starts) > 1 or current is None else 10,
        )
        cycle = 0 if current is None else current.cycle + 1
        return Fitted(kernel, n, cycle, likelihood).rounded(domain)

    def model(
        self,
        domain: Domain,
        X: FloatArray,
        values: FloatArray,
        pending: FloatArray,
        fitted: Fitted | None,
    ) -> Model:
        """Return the posterior of X (n, D), values (n,), with points pending (m, D)."""
        y, shift, scale = standardise(values)
        try:
            used = self.unfitted(domain) if fitted is None else fitted
            posterior = self._cache.posterior(used, X, y, pending)
        except IllConditionedError:
            posterior = self._cache.posterior(self.unfitted(domain), X, y, pending)
        best = shift + scale * float(y.max()) if len(y) else -np.inf
        return make_model(posterior, shift, scale, best)
