"""GP-UCB (Srinivas et al. 2010): one Gaussian process over all columns.

It is Add-GP-UCB with a single group; ``as_published`` runs it that way. The defaults alternate
between expected improvements over all columns and bounds along one, and between three beliefs:
that all columns matter, that few do, and that none interact.
"""

from __future__ import annotations

from dataclasses import replace

from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import towards_feasible
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.several import SeveralQueries
from optuna_hdbo._core.maximise.several import predictions
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import ALL_MATTER_WARPED
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.ensemble import FEW_MATTER_WARPED
from optuna_hdbo._core.models.ensemble import NONE_INTERACT
from optuna_hdbo._core.models.ensemble import NONE_INTERACT_WARPED
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.base import for_feasible


BELIEFS = (
    ALL_MATTER,
    FEW_MATTER,
    NONE_INTERACT,
    ALL_MATTER_WARPED,
    FEW_MATTER_WARPED,
    NONE_INTERACT_WARPED,
)
"""The beliefs of the default ensemble."""

POOLED_BELIEFS = tuple(replace(b, pooled=b.prior == "inverse-square") for b in BELIEFS)
"""The same where columns that all matter do so alike."""


class GPUCB(Method):
    """GP-UCB: one Gaussian process over all columns.

    The parameters are those of :class:`optuna_hdbo.GPUCBSampler`, where they are described, and
    ``frugal`` of :class:`Ensemble`. With ``pooled``, and for several objectives, the beliefs are
    :data:`POOLED_BELIEFS`.
    """

    name = "gp-ucb"
    models_constraints = True
    looks_outside = True

    def __init__(
        self,
        *,
        kernel: str = "matern52",
        ard: bool = True,
        n_cyc: int | None = None,
        beta: Beta = 4.0,
        alternate: bool = True,
        warp: bool = True,
        pooled: bool = False,
        frugal: bool = False,
    ) -> None:
        check_flags(ard=ard, alternate=alternate, warp=warp)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_beta(beta)
        self.beta = beta
        free, alike = (b if warp else b[:3] for b in (BELIEFS, POOLED_BELIEFS))
        beliefs = alike if pooled else free
        models = Ensemble(kernel, ard, beliefs, n_cyc, frugal=frugal)
        self._several = SeveralQueries(kernel, ard, alike, n_cyc)
        self._queries = EnsembleQueries(models, "log-ei" if alternate else "ucb", probes=alternate)
        self._constraints = ConstraintModels(kernel)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        if seen.objectives is not None:
            seen, towards = towards_feasible(seen)
            if towards:
                return for_feasible(self.suggest(domain, seen, streams))
        rng = streams.generator(self.name, seen.step)
        memory = Memory(seen.records)
        if seen.objectives is not None:
            x, models = self._several.query(domain, seen, memory, rng, self._constraints)
            return Suggestion(x, memory.kept or None, predictions(models, x))
        width = root_beta(self.beta, len(seen.y), domain.breadth, domain.breadth)
        x, model = self._queries.query(domain, seen, memory, width, rng, self._constraints)
        report = prediction(model.seen, model.posterior, x, model.evidence)
        return Suggestion(x, memory.kept or None, report)
