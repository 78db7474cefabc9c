"""REMBO as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.rembo import REMBO


class REMBOSampler(PublishedSampler):
    """Bayesian optimisation in random Gaussian embeddings (Wang et al. 2013, Algorithm 2).

    The search space, scaled to [-1, 1] in every parameter, is searched at ``x = clip(A y)`` only,
    with ``y`` in ``[-sqrt(d), sqrt(d)] ** d`` and a matrix ``A`` of standard normal numbers. The
    Gaussian process is over ``y``. Trials of other origin (random, enqueued, added) are not in the
    embedding, and the process does not use them. The matrix belongs to the study: later samplers
    use that of the first trial, whatever their seed.

    Parameters
    ----------
    d : int
        Coordinates of the embedding; all parameters where there are fewer.
    n_embeddings : int
        Independent embeddings that take turns, each with a process of its own (interleaved REMBO).
    n_init : int
        Random points of every embedding before its process suggests points.
    acquisition : {"ei", "ucb"}
        Expected improvement, or the upper confidence bound.
    beta : float, callable or str
        Width of the bound of ``"ucb"``, as for :class:`~optuna_hdbo.AddGPUCBSampler`.
    kernel : {"matern52", "matern32", "se"}
    ard : bool
        A lengthscale per coordinate, or one for all.
    priors : bool
        Whether hyperparameters have priors, or maximise the marginal likelihood alone.
    n_cyc : int or None
        Observations between two fits; ``None`` is 2.5 % of the observations, at least 2.
    n_startup_trials : int
        Random trials of the whole space before the embedding is searched, at least one.
    seed, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[REMBO]:
        from optuna_hdbo.methods.baselines.rembo import REMBO

        return REMBO

    def __init__(
        self,
        *,
        d: int = 6,
        n_embeddings: int = 1,
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
            n_embeddings=n_embeddings,
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
