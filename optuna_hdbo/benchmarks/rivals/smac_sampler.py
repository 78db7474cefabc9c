"""SMAC3 (Lindauer et al. 2022) as an Optuna sampler, for the comparison.

Its facade for hyperparameter optimisation as it comes: a random forest, log expected improvement,
a tenth of the configurations at random.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from ConfigSpace import Categorical
from ConfigSpace import Configuration
from ConfigSpace import ConfigurationSpace
from ConfigSpace import Float
from ConfigSpace import Integer
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import IntDistribution
from optuna.study import StudyDirection
from smac import HyperparameterOptimizationFacade
from smac import Scenario
from smac.runhistory.dataclasses import TrialInfo
from smac.runhistory.dataclasses import TrialValue

from optuna_hdbo.benchmarks.rivals.relative import RelativeSampler
from optuna_hdbo.benchmarks.rivals.relative import numerical
from optuna_hdbo.benchmarks.rivals.relative import suggested
from optuna_hdbo.benchmarks.rivals.relative import told


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


_ONLY_SEED = 0
"""What SMAC gives every trial of a deterministic objective."""


class SMACSampler(RelativeSampler):
    """SMAC3 by ask and tell. It knows the trials of one study and one process.

    Parameters
    ----------
    seed : int
        Seed of the first trials and of SMAC.
    n_startup_trials : int
        Random trials before SMAC is asked.
    n_trials : int
        The budget that SMAC is told, which sets nothing but the size of its initial design.
    """

    def __init__(self, *, seed: int, n_startup_trials: int = 10, n_trials: int = 200) -> None:
        super().__init__(seed=seed, n_startup_trials=n_startup_trials)
        self._n_trials = n_trials
        self._facade: HyperparameterOptimizationFacade | None = None
        self._asked: dict[int, TrialInfo] = {}
        self._n_told = 0

    def suggest(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
        trials: list[FrozenTrial],
    ) -> dict[str, Any]:
        """Tell the new trials, ask for a configuration."""
        if self._facade is None:
            self._facade = self._new_facade(search_space)
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        space = self._facade.scenario.configspace
        for new in trials[self._n_told :]:
            info = self._asked.pop(new.number, None)
            if info is None:
                values = {n: told(d, new.params[n]) for n, d in search_space.items()}
                info = TrialInfo(Configuration(space, values=values), seed=_ONLY_SEED)
            self._facade.tell(info, TrialValue(cost=sign * float(new.value or 0.0)))
        self._n_told = len(trials)
        self._asked[trial.number] = self._facade.ask()
        asked = dict(self._asked[trial.number].config)
        return {name: suggested(d, asked[name]) for name, d in search_space.items()}

    def _new_facade(
        self, search_space: dict[str, BaseDistribution]
    ) -> HyperparameterOptimizationFacade:
        space = ConfigurationSpace(seed=self._seed)
        for name, distribution in search_space.items():
            space.add(_hyperparameter(name, distribution))
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        scenario = Scenario(
            space,
            deterministic=True,
            n_trials=self._n_trials,
            seed=self._seed,
            output_directory=Path(folder),
        )
        design = HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=0)
        return HyperparameterOptimizationFacade(
            scenario,
            _no_target,
            initial_design=design,
            overwrite=True,
            logging_level=logging.ERROR,
        )


def _no_target(config: Any, seed: int = 0) -> float:
    raise AssertionError("SMAC is only asked and told")


def _hyperparameter(name: str, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(name, list(range(len(distribution.choices))))
    numbers = numerical(distribution)
    make = Integer if isinstance(numbers, IntDistribution) else Float
    return make(name, (numbers.low, numbers.high), log=numbers.log)
