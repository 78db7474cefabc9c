"""GP-UCB with a kernel of all groups as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.base import MethodSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class AllGroupsUCBSampler(MethodSampler):
    """GP-UCB with a sum over all groups of d parameters (Kandasamy et al. 2015, section 4.3).

    The paper names this kernel (Duvenaud, Nickisch & Rasmussen, "Additive Gaussian Processes",
    2011) as an alternative to its disjoint groups. It represents more functions, and no groups are
    learned. But the bound has no groups that could be maximised separately.

    Parameters
    ----------
    d : int
        Parameters in a group; all where there are fewer.
    beta : float, callable or str
        Width of the bound, as for :class:`~optuna_hdbo.AddGPUCBSampler`.
    priors : bool
        Whether hyperparameters have priors, or maximise the marginal likelihood alone.
    n_cyc : int or None
        Observations between two fits; ``None`` is 5 % of the observations, at least 2.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    def __init__(
        self,
        *,
        d: int = 2,
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = "practical",
        priors: bool = True,
        n_cyc: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        from optuna_hdbo.methods.baselines.all_groups import AllGroupsUCB

        super().__init__(
            AllGroupsUCB(d=d, beta=beta, priors=priors, n_cyc=n_cyc),
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
