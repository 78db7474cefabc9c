"""BAxUS as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.baxus import BAxUS


class BAxUSSampler(PublishedSampler):
    """An embedding that grows, and a trust region in it (Papenmeier et al. 2022).

    Every parameter, scaled to [-1, 1], is plus or minus one of few coordinates, in balanced bins.
    Expected improvements are maximised in a trust region around the best trial. When that has
    shrunk below its least side, every bin is split, and all observations are kept. In the end
    every parameter has a coordinate of its own. Trials of other origin (random, enqueued, added)
    are not in the embedding, and the process does not use them.

    Parameters
    ----------
    n_new_bins : int
        A bin becomes so many and one more.
    budget : int
        Trials after which every parameter should have a coordinate of its own. The patience of the
        trust region follows from it.
    n_init, kernel, n_cyc, n_startup_trials
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
    def _method_class() -> type[BAxUS]:
        from optuna_hdbo.methods.baselines.baxus import BAxUS

        return BAxUS

    def __init__(
        self,
        *,
        n_new_bins: int = 3,
        budget: int = 200,
        n_init: int = 5,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        n_cyc: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            n_new_bins=n_new_bins,
            budget=budget,
            n_init=n_init,
            kernel=kernel,
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
