"""MS-UCB (Tran-The, Gupta, Rana & Venkatesh 2020).

"Trading Convergence Rate with Computational Budget in High Dimensional Bayesian Optimization",
AAAI 2020. The bound is maximised over a growing set Z_t of random d-dimensional subspaces instead
of over the whole cube.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Acquisition
from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta_of_subspaces
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flag
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.maximise.branches import best_of_branches
from optuna_hdbo._core.maximise.in_subspaces import SubspaceEffort
from optuna_hdbo._core.maximise.in_subspaces import SubspaceMaximiser
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import is_probe
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.maximise.subspaces import Axes
from optuna_hdbo._core.maximise.subspaces import Subspaces
from optuna_hdbo._core.maximise.subspaces import axes_through
from optuna_hdbo._core.maximise.subspaces import draw_subspaces
from optuna_hdbo._core.maximise.subspaces import with_climbs
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.ensemble import FLAT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.isotropic import IsotropicModel
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


_logger = logging.getLogger(f"optuna.{__name__}")  # so that Optuna's verbosity holds

DEFAULT_D = 5
"""The paper's d; fewer if there are fewer parameters."""

MOST_LENGTHSCALES = 200
"""With more parameters, all share one lengthscale by default."""


N_CLIMBS, N_FAR = 3, 5
"""Climbs in all columns whose ends are anchors, too: from the best trials, and from the best of
random points."""

N_RANDOM = 256
"""Random points from which the best are taken."""

MOST_CLIMBED = 150_000
"""Columns times steps of all these climbs together."""


class MSUCB:
    """Upper confidence bounds over many random subspaces.

    The parameters are those of :class:`optuna_hdbo.MSUCBSampler`, where they are described.
    """

    name = "ms-ucb"
    models_constraints = True

    published: ClassVar[Mapping[str, Any]] = {
        "d": 5,
        "axes": "fixed",
        "anchors": None,
        "beta": "theory",
        "alternate": False,
        "ard": False,
        "priors": False,
        "n_starts": 20,
        "n_startup_trials": 20,
    }
    """Settings of the paper, its section on experiments.

    Twenty random points; an isotropic Matern kernel fitted by marginal likelihood; the bound of
    the theorem on subspaces of the last five parameters, one more at every trial, and gradients
    from twenty starts. The paper has ten times D starts.
    """

    def __init__(
        self,
        *,
        d: int | None = None,
        n0: int = 1,
        alpha: float = 0.0,
        axes: Axes = "random",
        anchors: Literal["incumbents"] | None = "incumbents",
        beta: Beta = 4.0,
        alternate: bool = True,
        kernel: str = "matern52",
        ard: bool | None = None,
        priors: bool = True,
        n_cyc: int | None = None,
        n_starts: int = 8,
    ) -> None:
        check_flags(alternate=alternate, priors=priors)
        check_flag("ard", ard, optional=True)
        check_integer("d", d, 0, optional=True)
        check_integer("n0", n0, 1)
        check_number("alpha", alpha, least=0.0, most=4.0)
        check_choice("axes", axes, ("random", "fixed"))
        if anchors is not None:
            check_choice("anchors", anchors, ("incumbents",))
        check_beta(beta)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_integer("n_starts", n_starts, 1)
        self.d = d
        self.n0 = n0
        self.alpha = alpha
        self.axes: Axes = axes
        self.anchors = anchors
        self.beta = beta
        self.ard = ard
        self._effort = SubspaceEffort(n_leaders=n_starts)
        self.alternate = alternate
        beliefs = (ALL_MATTER, FEW_MATTER) if priors else (FLAT,)
        self._models = Ensemble(kernel, True, beliefs, n_cyc)
        self._constraints = ConstraintModels(kernel)
        self._isotropic = IsotropicModel(kernel, beliefs[-1].prior, n_cyc)
        self._warned = False

    def validate(self, domain: Domain) -> None:
        """Warn, once, where there are fewer parameters than ``d``: it is D then."""
        if self.d is not None and self.d > len(domain) and not self._warned:
            self._warned = True
            _logger.warning(
                f"d must be at most the number of parameters, but got {self.d} for "
                f"{len(domain)}: the whole space is searched, which is GP-UCB."
            )

    def subspaces(self, domain: Domain, seen: Observations, streams: Streams) -> Subspaces:
        """Return the subspaces that the suggestion for ``seen.step`` may come from."""
        d = min(DEFAULT_D if self.d is None else self.d, len(domain))
        good = None
        if self.anchors == "incumbents":
            good = good_points(seen.X, merits(seen))
            if domain.gates:  # a subspace does not leave its anchor's branch
                others = best_of_branches(domain, seen.X, merits(seen))
                good = np.concatenate([good, others])
        return draw_subspaces(
            domain, streams, self.name, seen.step, d, self.n0, self.alpha, self.axes, good
        )

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        ard = len(domain) <= MOST_LENGTHSCALES if self.ard is None else self.ard
        if ard:
            posterior = self._models.drawn(domain, seen, memory, rng).posterior
        else:
            posterior = self._isotropic.posterior(domain, seen, memory)
        feasibility = self._constraints.fit(domain, seen, memory)
        anchored = self.anchors == "incumbents" and self.d != 0
        probes = self.alternate and anchored and is_probe(rng, len(domain))
        best = good_points(seen.X, feasibility.merit)
        if probes:
            spaces = axes_through(domain, best[0], rng)
        else:
            spaces = self.subspaces(domain, seen, streams)
        if not probes and self.alternate and (anchored or seen.step % 4 != 3):
            acquisition = feasibility.improvement(posterior)
        else:
            d = spaces.columns.shape[1]
            width = root_beta_of_subspaces(self.beta, len(seen.y), d, len(domain))
            acquisition = feasibility.optimistic(posterior, width)
        if anchored and not probes:
            spaces = self._with_climbs(spaces, domain, acquisition, best[:N_CLIMBS], ard, rng)
        x = SubspaceMaximiser(domain, spaces, self._effort)(acquisition, rng, seen.known)
        report = {**prediction(seen, posterior, x), "n_subspaces": float(len(spaces))}
        return Suggestion(x, memory.kept or None, report)

    def _with_climbs(
        self,
        spaces: Subspaces,
        domain: Domain,
        acquisition: Acquisition,
        starts: FloatArray,
        ard: bool,
        rng: np.random.Generator,
    ) -> Subspaces:
        """Return the subspaces, and those through the ends of climbs in all columns."""
        if ard:
            pool = domain.sample(rng, N_RANDOM)
            far = pool[np.argsort(-acquisition(pool), kind="stable")[:N_FAR]]
            starts = np.concatenate([starts, far])
        affordable = max(4, MOST_CLIMBED // (len(starts) * len(domain)))
        n_steps = min(self._effort.n_steps, affordable)
        return with_climbs(spaces, domain, acquisition, starts, self.axes, n_steps, rng)
