"""Dropout (Li, Gupta, Rana, Nguyen, Venkatesh & Shilton 2017): GP-UCB on a few random columns.

"High Dimensional Bayesian Optimization using Dropout", IJCAI 2017. Every query draws d columns,
maximises the bound of a Gaussian process over them alone, and fills in the others (Algorithm 1
there): at random, with the values of the best trial, or with either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import FLAT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.subsets import observed_in
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


Fill = Literal["random", "copy", "mix"]
FILLS = ("random", "copy", "mix")


class DropoutUCB(Method):
    """GP-UCB on columns that are drawn for every query.

    The parameters are those of :class:`optuna_hdbo.baselines.DropoutUCBSampler`.
    """

    name = "dropout"
    models_constraints = True

    published: ClassVar[Mapping[str, Any]] = {"kernel": "se", "priors": False, "beta": "theory"}
    """Settings of the paper: a squared exponential kernel and the theorem's bound, and values of
    the best trial with a probability of 0.9 for the other columns (Dropout-Mix)."""

    def __init__(
        self,
        *,
        d: int = 5,
        fill: Fill = "mix",
        p: float = 0.1,
        beta: Beta = "practical",
        kernel: str = "matern52",
        ard: bool = True,
        priors: bool = True,
    ) -> None:
        check_flags(ard=ard, priors=priors)
        check_integer("d", d, 1)
        check_choice("fill", fill, FILLS)
        check_number("p", p, least=0.0, most=1.0)
        check_beta(beta)
        check_choice("kernel", kernel, tuple(KINDS))
        self.d = d
        self.p = {"random": 1.0, "copy": 0.0, "mix": float(p)}[fill]
        self.beta = beta
        models = Ensemble(kernel, ard, (ALL_MATTER if priors else FLAT,), 1, name=self.name)
        self._queries = EnsembleQueries(models, "ucb")
        self._constraints = ConstraintModels(kernel)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point (Algorithm 1)."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        drawn = rng.choice(len(domain), min(self.d, len(domain)), replace=False).tolist()
        columns = np.array(domain.with_deciding(drawn), np.int64)
        part = restricted(domain, columns)
        x = self._filled(domain, seen, rng)
        within = observed_in(seen, columns)
        width = root_beta(self.beta, len(seen.y), len(part), len(part))
        u, model = self._queries.query(part, within, memory, width, rng, self._constraints)
        report = prediction(model.seen, model.posterior, u)
        x[columns] = u
        x = domain.canonical(x[None])[0]
        x = unknown_near(domain, x, seen.known, rng)
        return Suggestion(x, memory.kept or None, report)

    def _filled(self, domain: Domain, seen: Observations, rng: np.random.Generator) -> FloatArray:
        """Return a random point with probability p, else the best observed one."""
        if rng.random() < self.p:
            return np.array(domain.sample(rng, 1)[0])
        return np.array(seen.X[int(np.argmax(merits(seen)))])
