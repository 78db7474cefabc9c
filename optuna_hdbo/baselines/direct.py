"""DIRECT as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna_hdbo.samplers.base import MethodSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class DIRECTSampler(MethodSampler):
    """DIRECT on the objective itself (Jones, Perttunen & Stuckman 1993).

    The search space is divided into boxes. In every iteration those are cut into thirds that may
    hold the best point under some Lipschitz constant. Nothing is random and there is no model. The
    points of one iteration can be evaluated at the same time. A failed trial counts as the worst
    value. Infeasible trials count as worse than all others.

    Only parameters that every trial has are divided.

    Parameters
    ----------
    epsilon : float
        What a box must promise above the best value, as a share of it. Larger values search more
        globally.
    n_startup_trials : int
        Random trials before the first box, at least one.
    seed, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True
    models_conditional = False
    multiplies_matrices = False

    def __init__(
        self,
        *,
        epsilon: float = 1e-4,
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        from optuna_hdbo.methods.baselines.direct import DIRECT  # compiled code

        method = DIRECT(epsilon=epsilon)
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
