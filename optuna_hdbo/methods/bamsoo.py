"""BaMSOO: SOO that skips what a Gaussian process rules out (Wang et al. 2014, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Literal

from optuna_hdbo._core.acquisition.feasibility import rejecting
from optuna_hdbo._core.checks import check_branching
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.gp.known import KernelParams
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.tree.nodes import DEPTH_LIMITS
from optuna_hdbo._core.tree.nodes import DepthLimit
from optuna_hdbo._core.tree.nodes import Rule
from optuna_hdbo._core.tree.replay import Replay
from optuna_hdbo._core.tree.replay import TreeSearch
from optuna_hdbo._core.tree.surrogate import Surrogate
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


LARGEST = 2**31
"""Larger numbers of requests count as this one, which compiled code can hold twice."""


class BaMSOO:
    """BaMSOO: a Gaussian process rejects what SOO proposes.

    The parameters are those of :class:`optuna_hdbo.BaMSOOSampler`, where they are described, and
    ``quiet`` of :class:`TreeSearch`.
    """

    name = "bamsoo"

    published: ClassVar[Mapping[str, Any]] = {
        "branching": 2,
        "depth_exponent": 0.5,
        "width": None,
        "explore": None,
        "eta": 0.05,
        "penalty": None,
        "renew": False,
        "patience": 10_000,
    }
    """Settings of the paper, its Algorithm 3: cells are split in two, both bounds use B_N.

    The paper takes the hyperparameters as known, without telling them. They are fitted here unless
    ``kernel_params`` gives them.
    """

    def __init__(
        self,
        *,
        branching: Literal[2, 3] = 3,
        depth_exponent: float = 0.7,
        depth_limit: DepthLimit = "growing",
        width: float | None = 0.5,
        explore: int | None = 2,
        eta: float = 1.0,
        penalty: float | None = 0.0,
        renew: bool = True,
        kernel: str = "matern52",
        ard: bool = True,
        deterministic_objective: bool = True,
        n_cyc: int | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        patience: int = 300,
        quiet: bool = False,
    ) -> None:
        check_flags(renew=renew, ard=ard, deterministic_objective=deterministic_objective)
        check_branching(branching)
        check_number("depth_exponent", depth_exponent, above=0.0, most=1.0)
        check_choice("depth_limit", depth_limit, DEPTH_LIMITS)
        check_number("eta", eta, above=0.0, most=1.0)
        check_choice("kernel", kernel, tuple(KINDS))
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_number("width", width, above=0.0, optional=True)
        check_number("penalty", penalty, least=0.0, optional=True)
        check_integer("explore", explore, 1, optional=True)
        check_integer("patience", patience, 1)
        rule = Rule(
            branching=int(branching),
            exponent=float(depth_exponent),
            eta=float(eta),
            width=-1.0 if width is None else float(width),
            penalty=-1.0 if penalty is None else float(penalty),
            patience=min(int(patience), LARGEST),
            renew=bool(renew),
            explore=0 if explore is None else min(int(explore), LARGEST),
            fixed_limit=depth_limit == "fixed",
        )
        self._fixed = KernelParams.parse(kernel_params)
        bounds = Bounds(noise=(1e-8, 1e-5 if deterministic_objective else 1.0))
        surrogate = Surrogate(kernel, ard, n_cyc=n_cyc, bounds=bounds, fixed=self._fixed)
        self._search = TreeSearch(self.name, Replay(rule, surrogate), quiet)

    def validate(self, domain: Domain) -> None:
        """Refuse lengthscales that are not those of the parameters."""
        if self._fixed is not None:
            self._fixed.check(domain)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of the next node that the process does not rule out."""
        x, record, report = self._search.next(domain, rejecting(seen), streams)
        return Suggestion(x, record or None, report)
