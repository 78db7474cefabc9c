"""DOO as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.base import MethodSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class DOOSampler(MethodSampler):
    """Deterministic optimistic optimisation with a known Lipschitz constant (Munos 2011).

    The cells are those of :class:`~optuna_hdbo.SOOSampler`. The leaf with the largest upper bound
    is opened: the value at its centre plus ``lipschitz`` times half the cell's diagonal. The bound
    is valid if the constant is, and SOO exists because it seldom is known.

    Only parameters that every trial has are split.

    Parameters
    ----------
    lipschitz : float
        Largest change of the objective over a distance of 1, where every parameter's range has the
        length 1.
    branching : {2, 3}
        Children of a cell. In three, the middle child keeps its parent's centre and value.
    n_startup_trials : int
        Random trials before the tree begins, at least one.
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
        lipschitz: float = 1.0,
        branching: Literal[2, 3] = 3,
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        from optuna_hdbo.methods.baselines.doo import DOO  # compiled code

        method = DOO(lipschitz=lipschitz, branching=branching)
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
