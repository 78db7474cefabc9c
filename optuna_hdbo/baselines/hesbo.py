"""HeSBO as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.hesbo import HeSBO


class HeSBOSampler(PublishedSampler):
    """Bayesian optimisation in an embedding by hashing (Nayebi et al. 2019, Algorithm 1).

    Every parameter, scaled to [-1, 1], is plus or minus one of ``d`` coordinates in [-1, 1]. Which
    one, and the sign, are drawn at random. The Gaussian process is over the coordinates. Trials of
    other origin (random, enqueued, added) are not in the embedding, and the process does not use
    them. The embedding belongs to the study: later samplers use that of the first trial, whatever
    their seed.

    Parameters
    ----------
    d, n_init, acquisition, beta, kernel, ard, priors, n_cyc, n_startup_trials
        As for :class:`~optuna_hdbo.baselines.REMBOSampler`.
    seed, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[HeSBO]:
        from optuna_hdbo.methods.baselines.hesbo import HeSBO

        return HeSBO

    def __init__(
        self,
        *,
        d: int = 6,
        n_init: int = 5,
        acquisition: Literal["ei", "ucb"] = "ei",
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = "practical",
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        ard: bool = True,
        priors: bool = True,
        n_cyc: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            d=d,
            n_init=n_init,
            acquisition=acquisition,
            beta=beta,
            kernel=kernel,
            ard=ard,
            priors=priors,
            n_cyc=n_cyc,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
