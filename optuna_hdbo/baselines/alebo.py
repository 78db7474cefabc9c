"""ALEBO as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.alebo import ALEBO


class ALEBOSampler(PublishedSampler):
    """A linear embedding without clipping, and a Mahalanobis kernel (Letham et al. 2020).

    The search space, scaled to [-1, 1] in every parameter, is searched at ``x = B^+ y`` only,
    where that is inside. The columns of ``B`` are uniform on the unit sphere. The squared
    exponential kernel has a full matrix in place of lengthscales. Expected improvements are
    maximised under the linear constraints. Infeasible trials count as the worst. Trials of other
    origin (random, enqueued, added) are not in the embedding, and the process does not use them.

    Parameters
    ----------
    n_cyc : int or None
        Observations between two fits; ``None`` is 5 % of the observations, at least 2.
    n_restarts : int
        Random starts of every fit, beside the last fit and a fixed start.
    n_draws : int
        Kernels that predictions are averaged over: the fitted one, and draws from the Laplace
        approximation of the posterior around it. One is the fitted kernel alone.
    noise : float or None
        Variance of the noise, where the values have the variance 1; ``None`` fits it.
    d, n_init, n_startup_trials
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
    def _method_class() -> type[ALEBO]:
        from optuna_hdbo.methods.baselines.alebo import ALEBO

        return ALEBO

    def __init__(
        self,
        *,
        d: int = 6,
        n_init: int = 5,
        n_cyc: int | None = None,
        n_restarts: int = 2,
        n_draws: int = 1,
        noise: float | None = None,
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            d=d,
            n_init=n_init,
            n_cyc=n_cyc,
            n_restarts=n_restarts,
            n_draws=n_draws,
            noise=noise,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
