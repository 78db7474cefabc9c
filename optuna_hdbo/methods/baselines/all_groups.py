"""GP-UCB with a kernel of all groups of d columns (Kandasamy et al. 2015, section 4.3).

The paper names the sum of all d-th order kernels (Duvenaud et al. 2011) as an alternative to its
disjoint groups: more functions are such sums, and no grouping is to be learned. But the bound has
no groups that could be maximised separately. Here it is maximised over all columns, by gradients.
"""

from __future__ import annotations

from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import OrderBound
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.feasibility import with_failed
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.maximise.multistart import Effort
from optuna_hdbo._core.maximise.multistart import maximise
from optuna_hdbo._core.maximise.queries import centres
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.orders import OrderModel
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


EFFORT = Effort(n_uniform=200, n_perturbed=100, n_starts=6, n_finalists=2, n_steps=40)
"""Smaller than elsewhere, because this bound is not compiled."""


class AllGroupsUCB(Method):
    """The largest upper confidence bound under a sum over all groups of d columns.

    The parameters are those of :class:`optuna_hdbo.baselines.AllGroupsUCBSampler`.
    """

    name = "all-groups-ucb"

    def __init__(
        self,
        *,
        d: int = 2,
        beta: Beta = "practical",
        priors: bool = True,
        n_cyc: int | None = None,
    ) -> None:
        check_flags(priors=priors)
        check_integer("d", d, 1)
        check_beta(beta)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        self.beta = beta
        self._model = OrderModel(d, priors, n_cyc)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        seen = with_failed(seen)
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        posterior = self._model.posterior(domain, seen, memory)
        width = root_beta(self.beta, len(seen.y), domain.breadth, domain.breadth)
        bound, best = OrderBound(posterior, width), centres(domain, seen, seen.y)
        x = maximise(bound, domain, best, seen.known, rng, effort=EFFORT)
        mean, variance = posterior.predict(x[None])
        y, std = float(mean[0]), float(variance[0]) ** 0.5
        report = {"predicted": seen.in_units(y), "std": seen.std_in_units(y, std)}
        return Suggestion(x, memory.kept or None, report)
