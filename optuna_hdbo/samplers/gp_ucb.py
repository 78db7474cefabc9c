"""GP-UCB as a sampler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

from optuna_hdbo.samplers.add_gp_ucb import AddGPUCBSampler
from optuna_hdbo.samplers.base import MethodSampler
from optuna_hdbo.samplers.notices import RENAMED


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class GPUCBSampler(MethodSampler):
    """One Gaussian process over all parameters: Add-GP-UCB with a single group.

    By default most trials maximise the expected improvement. With D parameters, a share of 12 / D
    of the trials (at most a half) are probes: they maximise an upper confidence bound along the
    lines through the best trial that change a single parameter. A parameter with the same wrong
    value in all good trials looks inert to a model, and only probes move it again.

    Three models compete: one expects every parameter to matter (with the prior of Optuna's
    ``GPSampler``), one expects few to matter (with a prior scaled by the dimension, Hvarfner,
    Hellsten & Nardi 2024), and one is a sum over single parameters. Each of them also exists with
    warped values. The model that has predicted new trials best lately is used most often.
    :meth:`as_published` gives the paper's GP-UCB instead.

    In a study with several objectives every objective has such models, and trials maximise the
    expected hypervolume improvement. ``beta`` and ``alternate`` have no effect then.

    Parameters
    ----------
    kernel : {"matern52", "matern32", "se"}
    ard : bool
        A lengthscale per parameter, or one for all.
    n_cyc : int or None
        Observations between two fits; ``None`` is 8 % of the observations, at least 2.
    beta : float, callable or str
        Width of the confidence bound, as for :class:`AddGPUCBSampler`; the default 4, two
        standard deviations, was chosen by benchmark.
    alternate : bool
        Whether trials maximise expected improvements and probes, or only upper confidence bounds
        over the whole space.
    warp : bool
        Whether each model also competes with values that are warped to look normal (Yeo & Johnson
        2000).
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it.
    """

    supports_constraints = True
    supports_several_objectives = True
    splits_ranges = True

    def __init__(
        self,
        *,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        ard: bool = True,
        n_cyc: int | None = None,
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = 4.0,
        alternate: bool = True,
        warp: bool = True,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        from optuna_hdbo.methods.gp_ucb import GPUCB

        super().__init__(
            GPUCB(kernel=kernel, ard=ard, n_cyc=n_cyc, beta=beta, alternate=alternate, warp=warp),
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )

    @classmethod
    def as_published(cls, **overrides: Any) -> AddGPUCBSampler:
        """Return GP-UCB as the paper ran it: Add-GP-UCB with all parameters in one group.

        Parameters
        ----------
        **overrides
            Settings of :class:`AddGPUCBSampler` that take the place of the paper's.
        """
        known = inspect.signature(AddGPUCBSampler).parameters
        for name in overrides.keys() - known.keys() - RENAMED.keys():
            raise TypeError(
                "GPUCBSampler.as_published returns an AddGPUCBSampler, which has no setting "
                f"{name}, but got {name}={overrides[name]!r}. It has {', '.join(known)}."
            )
        return AddGPUCBSampler.as_published(**{"max_group_size": 10**9, **overrides})
