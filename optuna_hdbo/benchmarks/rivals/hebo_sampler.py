"""HEBO (Cowen-Rivers et al. 2022) as an Optuna sampler, for the comparison.

Its optimiser as it comes: a Gaussian process of warped inputs and outputs, and a point of the
front of three acquisition functions.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import IntDistribution
from optuna.study import StudyDirection

from optuna_hdbo.benchmarks.rivals.relative import RelativeSampler
from optuna_hdbo.benchmarks.rivals.relative import numerical
from optuna_hdbo.benchmarks.rivals.relative import suggested
from optuna_hdbo.benchmarks.rivals.relative import told


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


class HEBOSampler(RelativeSampler):
    """HEBO by ask and tell. It knows the trials of one study and one process.

    Parameters
    ----------
    seed : int
        Seed of the first trials, and of the global generators that HEBO uses.
    n_startup_trials : int
        Random trials before HEBO is asked.
    """

    def __init__(self, *, seed: int, n_startup_trials: int = 10) -> None:
        super().__init__(seed=seed, n_startup_trials=n_startup_trials)
        self._hebo: HEBO | None = None
        self._n_told = 0

    def suggest(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
        trials: list[FrozenTrial],
    ) -> dict[str, Any]:
        """Tell the new trials, ask for a configuration."""
        if self._hebo is None:
            np.random.seed(self._seed)  # noqa: NPY002
            torch.manual_seed(self._seed)
            space = DesignSpace().parse([_parameter(n, d) for n, d in search_space.items()])
            self._hebo = HEBO(space, rand_sample=self._n_startup_trials)
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        new = trials[self._n_told :]
        columns = {n: [told(d, t.params[n]) for t in new] for n, d in search_space.items()}
        values = [[sign * float(t.value or 0.0)] for t in new]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if new:
                self._hebo.observe(pd.DataFrame(columns), np.array(values))
            asked = self._hebo.suggest(1).iloc[0]
        self._n_told = len(trials)
        return {name: suggested(d, asked[name]) for name, d in search_space.items()}


def _parameter(name: str, distribution: BaseDistribution) -> dict[str, Any]:
    if isinstance(distribution, CategoricalDistribution):
        return {"name": name, "type": "cat", "categories": list(range(len(distribution.choices)))}
    numbers = numerical(distribution)
    kinds = ("int", "pow_int") if isinstance(numbers, IntDistribution) else ("num", "pow")
    return {"name": name, "type": kinds[numbers.log], "lb": numbers.low, "ub": numbers.high}
