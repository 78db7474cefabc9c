"""Dropout as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.dropout import DropoutUCB


class DropoutUCBSampler(PublishedSampler):
    """GP-UCB on a few parameters that are drawn for every trial (Li et al. 2017, Algorithm 1).

    A Gaussian process over the drawn parameters alone is fitted to all trials, and its upper
    confidence bound is maximised. The other parameters are filled in.

    Parameters
    ----------
    d : int
        Parameters that are drawn; all where there are fewer.
    fill : {"random", "copy", "mix"}
        The other parameters: uniform values, those of the best trial, or one or the other by
        chance.
    p : float
        Probability of uniform values under ``"mix"``.
    beta : float, callable or str
        Width of the bound, as for :class:`~optuna_hdbo.AddGPUCBSampler`.
    kernel : {"matern52", "matern32", "se"}
    ard : bool
        A lengthscale per parameter, or one for all.
    priors : bool
        Whether hyperparameters have priors, or maximise the marginal likelihood alone.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[DropoutUCB]:
        from optuna_hdbo.methods.baselines.dropout import DropoutUCB

        return DropoutUCB

    def __init__(
        self,
        *,
        d: int = 5,
        fill: Literal["random", "copy", "mix"] = "mix",
        p: float = 0.1,
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = "practical",
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        ard: bool = True,
        priors: bool = True,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            d=d,
            fill=fill,
            p=p,
            beta=beta,
            kernel=kernel,
            ard=ard,
            priors=priors,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
