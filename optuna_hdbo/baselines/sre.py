"""Sequential random embeddings as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.base import MethodSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class SRESampler(MethodSampler):
    """Bayesian optimisation in one random embedding after another (Qian, Hu & Yu 2016).

    Each embedding goes through the best trial so far: ``x = alpha x~ + A y``, clipped, with
    ``alpha`` in [-1, 1], ``y`` in ``[-sqrt(d), sqrt(d)] ** d`` and a matrix ``A`` of standard
    normal numbers, which is drawn anew. ``(alpha, y)`` is searched. The paper has several
    optimisers for that, and here it is a Gaussian process with expected improvements.

    Parameters
    ----------
    d : int
        Coordinates y; all parameters where there are fewer.
    n_stage : int
        Trials in every embedding.
    n_init : int
        Random points of every embedding before its process suggests points.
    n_startup_trials : int
        Random trials of the whole space before the first embedding, at least one.
    kernel, n_cyc
        As for :class:`~optuna_hdbo.baselines.REMBOSampler`.
    seed, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True

    def __init__(
        self,
        *,
        d: int = 6,
        n_stage: int = 40,
        n_init: int = 5,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        n_cyc: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        from optuna_hdbo.methods.baselines.sre import SRE  # compiled code

        method = SRE(d=d, n_stage=n_stage, n_init=n_init, kernel=kernel, n_cyc=n_cyc)
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
