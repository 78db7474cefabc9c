"""SAASBO (Eriksson & Jankowiak 2021): a prior under which few columns matter.

"High-Dimensional Bayesian Optimization with Sparse Axis-Aligned Subspaces", UAI 2021. Inverse
squared lengthscales have half-Cauchy priors around a global scale tau, itself half-Cauchy with
scale 0.1. The paper samples all of them by NUTS. Here every model maximises
the posterior for one tau, and an ensemble of models stands for the distribution of tau.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from typing import ClassVar

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import Belief
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


TAU_SCALE = 0.1
"""Scale of the half-Cauchy prior of tau."""


def taus(n: int) -> tuple[float, ...]:
    """Return n values of tau that share its prior equally: the medians of n equal parts."""
    return tuple(
        float(f"{TAU_SCALE * math.tan(0.5 * math.pi * (i + 0.5) / n):.3g}") for i in range(n)
    )


class SAASBO(Method):
    """Expected improvements of models that expect few columns to matter.

    The parameters are those of :class:`optuna_hdbo.baselines.SAASBOSampler`.
    """

    name = "saasbo"
    models_constraints = True

    published: ClassVar[Mapping[str, Any]] = {"n_startup_trials": 10, "n_cyc": 1}
    """Settings of the paper, except that it samples what is maximised here: a Matern-5/2 kernel
    that is fitted at every trial."""

    def __init__(
        self, *, n_models: int = 4, kernel: str = "matern52", n_cyc: int | None = None
    ) -> None:
        check_integer("n_models", n_models, 1)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_cyc", n_cyc, 1, optional=True)
        beliefs = tuple(Belief("sparse", tau=tau) for tau in taus(n_models))
        models = Ensemble(kernel, True, beliefs, n_cyc, name="saas")
        self._queries = EnsembleQueries(models, "log-ei")
        self._constraints = ConstraintModels(kernel)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of the largest expected improvement of one of the models."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        x, model = self._queries.query(domain, seen, memory, 0.0, rng, self._constraints)
        report = prediction(model.seen, model.posterior, x, model.evidence)
        return Suggestion(x, memory.kept or None, report)
