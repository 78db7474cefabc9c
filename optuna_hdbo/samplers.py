"""The samplers, one thin class per method: typed keywords and a docstring."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from optuna_hdbo._sampler import HDBOSampler


if TYPE_CHECKING:
    from typing import Self

    from optuna.samplers import BaseSampler


class AddGPUCBSampler(HDBOSampler):
    """Additive Gaussian process, one small upper confidence bound per group of parameters.

    Parameters
    ----------
    max_group_size : int
        Largest number of parameters that interact.
    n_cyc : int
        Observations between two searches for the grouping.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, use_pruned
        See :class:`HDBOSampler`.
    """

    def __init__(
        self,
        *,
        max_group_size: int = 4,
        n_cyc: int = 10,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        use_pruned: bool = True,
    ) -> None:
        from optuna_hdbo.methods.add_gp_ucb import AddGPUCB

        super().__init__(
            AddGPUCB(max_group_size=max_group_size, n_cyc=n_cyc),
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            use_pruned=use_pruned,
        )

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """Return the sampler with the settings of Kandasamy et al. (2015)."""
        settings: dict[str, Any] = {"n_cyc": 25, "n_startup_trials": 10}
        return cls(**{**settings, **overrides})


class GPUCBSampler(HDBOSampler):
    """One Gaussian process over all parameters and its upper confidence bound.

    Parameters
    ----------
    n_cyc : int
        Observations between two fits of the hyperparameters.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, use_pruned
        See :class:`HDBOSampler`.
    """

    def __init__(
        self,
        *,
        n_cyc: int = 10,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        use_pruned: bool = True,
    ) -> None:
        from optuna_hdbo.methods.add_gp_ucb import GPUCB

        super().__init__(
            GPUCB(n_cyc=n_cyc),
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            use_pruned=use_pruned,
        )

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """Return the sampler with the settings of Kandasamy et al. (2015), d = D."""
        settings: dict[str, Any] = {"n_cyc": 25, "n_startup_trials": 10}
        return cls(**{**settings, **overrides})
