"""SOO: simultaneous optimistic optimisation (Munos 2011; Algorithm 2 of Wang et al. 2014).

A tree of cells, each evaluated at its centre. A sweep from the root downward opens the best leaf
of every depth that is better than all leaves opened above it in the same sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Literal

from optuna_hdbo._core.acquisition.feasibility import rejecting
from optuna_hdbo._core.checks import check_branching
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.tree.nodes import DEPTH_LIMITS
from optuna_hdbo._core.tree.nodes import DepthLimit
from optuna_hdbo._core.tree.nodes import Rule
from optuna_hdbo._core.tree.replay import Replay
from optuna_hdbo._core.tree.replay import TreeSearch
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


class SOO(Method):
    """SOO, without any model.

    The parameters are those of :class:`optuna_hdbo.SOOSampler`, where they are described.
    """

    name = "soo"

    published: ClassVar[Mapping[str, Any]] = {
        "branching": 2,
        "depth_exponent": 0.5,
    }
    """Settings of Wang et al. (2014), who split cells in two."""

    def __init__(
        self,
        *,
        branching: Literal[2, 3] = 3,
        depth_exponent: float | None = None,
        depth_limit: DepthLimit = "growing",
    ) -> None:
        check_branching(branching)
        check_choice("depth_limit", depth_limit, DEPTH_LIMITS)
        check_number("depth_exponent", depth_exponent, above=0.0, most=1.0, optional=True)
        exponent = -1.0 if depth_exponent is None else float(depth_exponent)
        fixed = depth_limit == "fixed"
        rule = Rule(branching=int(branching), exponent=exponent, fixed_limit=fixed)
        self._search = TreeSearch(self.name, Replay(rule, None))

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the point of the next node."""
        x, record, report = self._search.next(domain, rejecting(seen), streams)
        return Suggestion(x, record or None, report)
