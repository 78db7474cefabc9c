"""Expected improvement and its probability as samplers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.improvement import EI
    from optuna_hdbo.methods.baselines.improvement import PI


class _ImprovementSampler(PublishedSampler):
    """Base of both samplers."""

    supports_constraints = True

    @staticmethod
    @abstractmethod
    def _method_class() -> type[EI]:
        """Import the method."""

    def __init__(
        self,
        *,
        margin: float | None = None,
        maximiser: Literal["gradient", "direct"] = "gradient",
        kernel: Literal["matern52", "matern32", "se", "matern3"] = "matern52",
        ard: bool = True,
        priors: bool = True,
        n_cyc: int | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            margin=margin,
            maximiser=maximiser,
            kernel=kernel,
            ard=ard,
            priors=priors,
            n_cyc=n_cyc,
            kernel_params=kernel_params,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )


class EISampler(_ImprovementSampler):
    """Expected improvement under one Gaussian process (Mockus 1978; Jones et al. 1998).

    The improvement is on the largest posterior mean at an observed point, plus a margin.
    Constraints weight it with the probability of feasibility.

    Parameters
    ----------
    margin : float or None
        What counts as an improvement, in standard deviations of the values; ``None`` is 0.
    maximiser : {"gradient", "direct"}
        Gradients from many starts, or DIRECT with min(5000, 100 D) evaluations. Under constraints,
        in conditional spaces, and with ``"matern3"``, gradients.
    kernel : {"matern52", "matern32", "se", "matern3"}
        ``"matern3"`` needs ``kernel_params``, because it cannot be fitted.
    ard : bool
        A lengthscale per parameter, or one for all.
    priors : bool
        Whether hyperparameters have priors, or maximise the marginal likelihood alone.
    n_cyc : int or None
        Observations between two fits; ``None`` is 2.5 % of the observations, at least 2.
    kernel_params : mapping or None
        Known hyperparameters, which are not fitted, as for :class:`~optuna_hdbo.GPMISampler`.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    @staticmethod
    def _method_class() -> type[EI]:
        from optuna_hdbo.methods.baselines.improvement import EI

        return EI


class PISampler(_ImprovementSampler):
    """Probability of improvement under one Gaussian process (Kushner 1964).

    It is the probability of a value above the largest posterior mean at an observed point, plus a
    margin. Without a margin it asks for points next to the best one.

    Parameters
    ----------
    margin : float or None
        What counts as an improvement, in standard deviations of the values; ``None`` is 0.01.
    maximiser, kernel, ard, priors, n_cyc, kernel_params
        As for :class:`~optuna_hdbo.baselines.EISampler`.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    @staticmethod
    def _method_class() -> type[PI]:
        from optuna_hdbo.methods.baselines.improvement import PI

        return PI
