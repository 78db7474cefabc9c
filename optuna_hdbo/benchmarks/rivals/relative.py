"""What samplers of other libraries have in common: random trials first, then the library."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.samplers import BaseSampler
from optuna.samplers import RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import TrialState


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


class RelativeSampler(BaseSampler):
    """A sampler of the parameters that every trial has, which begins with random trials.

    Parameters
    ----------
    seed : int
        Seed of everything that is random.
    n_startup_trials : int
        Random trials before the library is asked.
    """

    def __init__(self, *, seed: int, n_startup_trials: int = 10) -> None:
        self._seed = seed
        self._n_startup_trials = n_startup_trials
        self._random = RandomSampler(seed=seed)
        self._space = IntersectionSearchSpace()

    @abstractmethod
    def suggest(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
        trials: list[FrozenTrial],
    ) -> dict[str, Any]:
        """Return a value for each parameter, given the completed trials."""

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that every trial has."""
        return self._space.calculate(study)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Ask the library after the startup trials."""
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if not search_space or len(trials) < self._n_startup_trials:
            return {}
        return self.suggest(study, trial, search_space, trials)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Draw a parameter at random: the startup trials."""
        return self._random.sample_independent(study, trial, param_name, param_distribution)


def numerical(distribution: BaseDistribution) -> FloatDistribution | IntDistribution:
    """Return a distribution of numbers, if a library that knows no steps has it."""
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    if distribution.step not in (None, 1):
        raise ValueError(f"a step other than 1 is not supported, but got {distribution}.")
    return distribution


def told(distribution: BaseDistribution, value: Any) -> Any:
    """Return what a library is told of a parameter's value: for categories their index."""
    categorical = isinstance(distribution, CategoricalDistribution)
    return int(distribution.to_internal_repr(value)) if categorical else value


def suggested(distribution: BaseDistribution, asked: Any) -> Any:
    """Return the value of a parameter for what a library has answered."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(asked)]
    if isinstance(distribution, IntDistribution):
        return int(asked)
    assert isinstance(distribution, FloatDistribution)
    # A number on a logarithmic scale may exceed its range by the last digit.
    return min(max(float(asked), distribution.low), distribution.high)
