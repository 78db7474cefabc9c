"""DOO: deterministic optimistic optimisation (Munos 2011).

"Optimistic Optimization of a Deterministic Function without the Knowledge of its Smoothness", NIPS
2011, section 3. A tree of cells as that of SOO, for a function whose smoothness is known: the leaf
with the largest upper bound is opened, f at its centre plus a multiple of half its diagonal.
"""

from __future__ import annotations

from typing import Literal

from optuna_hdbo._core.acquisition.feasibility import rejecting
from optuna_hdbo._core.checks import check_branching
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.tree.nodes import Rule
from optuna_hdbo._core.tree.replay import Replay
from optuna_hdbo._core.tree.replay import TreeSearch
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


class DOO(Method):
    """DOO with the semi-metric of a Lipschitz constant.

    The parameters are those of :class:`optuna_hdbo.baselines.DOOSampler`.
    """

    name = "doo"

    def __init__(self, *, lipschitz: float = 1.0, branching: Literal[2, 3] = 3) -> None:
        check_number("lipschitz", lipschitz, above=0.0)
        check_branching(branching)
        rule = Rule(branching=int(branching), exponent=1.0, slope=float(lipschitz))
        self._search = TreeSearch(self.name, Replay(rule, None))

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the centre of the next cell."""
        x, record, report = self._search.next(domain, rejecting(seen), streams)
        return Suggestion(x, record or None, report)
