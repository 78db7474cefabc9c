"""SAASBO as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.saasbo import SAASBO


class SAASBOSampler(PublishedSampler):
    """A prior under which few parameters matter (Eriksson & Jankowiak 2021).

    The inverse squared lengthscales have half-Cauchy priors around a global scale tau. The paper
    samples all hyperparameters by NUTS. Here several models, each with another tau, maximise the
    posterior. The model that has predicted new trials best lately is used most often, for the
    largest expected improvement.

    Parameters
    ----------
    n_models : int
        Values of tau, which share its half-Cauchy prior equally.
    kernel : {"matern52", "matern32", "se"}
    n_cyc : int or None
        Observations between two fits; ``None`` is 8 % of the observations, at least 2.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[SAASBO]:
        from optuna_hdbo.methods.baselines.saasbo import SAASBO

        return SAASBO

    def __init__(
        self,
        *,
        n_models: int = 4,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        n_cyc: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(n_models=n_models, kernel=kernel, n_cyc=n_cyc)
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
