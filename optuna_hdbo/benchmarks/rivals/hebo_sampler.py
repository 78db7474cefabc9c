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
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.study import StudyDirection

from optuna_hdbo.benchmarks.rivals.relative import RelativeSampler


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
        told = trials[self._n_told :]
        columns = {n: [_told(d, t.params[n]) for t in told] for n, d in search_space.items()}
        values = [[sign * float(t.value or 0.0)] for t in told]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if told:
                self._hebo.observe(pd.DataFrame(columns), np.array(values))
            asked = self._hebo.suggest(1).iloc[0]
        self._n_told = len(trials)
        return {name: _value(search_space[name], asked[name]) for name in search_space}


def _parameter(name: str, distribution: BaseDistribution) -> dict[str, Any]:
    if isinstance(distribution, CategoricalDistribution):
        return {"name": name, "type": "cat", "categories": list(range(len(distribution.choices)))}
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    if distribution.step not in (None, 1):
        raise ValueError(f"a step other than 1 is not supported, but got {distribution}.")
    if isinstance(distribution, IntDistribution):
        kind = "pow_int" if distribution.log else "int"
    else:
        kind = "pow" if distribution.log else "num"
    return {"name": name, "type": kind, "lb": distribution.low, "ub": distribution.high}


def _told(distribution: BaseDistribution, value: Any) -> Any:
    categorical = isinstance(distribution, CategoricalDistribution)
    return int(distribution.to_internal_repr(value)) if categorical else value


def _value(distribution: BaseDistribution, asked: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(asked)]
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    if isinstance(distribution, IntDistribution):
        return int(asked)
    # A power of ten may exceed its range by the last digit.
    return min(max(float(asked), distribution.low), distribution.high)
