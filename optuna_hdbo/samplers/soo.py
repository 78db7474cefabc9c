"""SOO as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.soo import SOO


class SOOSampler(PublishedSampler):
    """Simultaneous optimistic optimisation: a tree of cells, and no model (Munos 2011).

    Every cell is evaluated at its centre. A sweep from the root downward opens, at every depth,
    the best leaf if it is better than all leaves opened above it. There is nothing to fit and
    nothing random, so a trial costs very little, however many there are.

    A trial is random while the search space is unknown, that is, the first one. Trials that the
    tree did not ask for (random, enqueued, added) are not part of it, unless a cell's centre is
    the same configuration. Running trials are leaves with the worst score until they end, failed
    ones (and pruned ones without a value) keep it. Discrete parameters are split until a cell is
    one configuration, and no configuration is evaluated twice before all have been.

    Only parameters that every trial has are split. Others are drawn by ``independent_sampler``,
    which is Optuna's ``TPESampler`` by default.

    Each trial carries its node's ``hdbo:depth`` and the number of ``hdbo:nodes`` as user
    attributes.

    Parameters
    ----------
    branching : {2, 3}
        Children of a cell. In three, the middle child keeps its parent's centre and value.
    depth_exponent : float or None
        The tree may be ``n ** depth_exponent`` deep after n expansions, in (0, 1]. Small values
        search broadly, large ones deeply. ``None`` is 0.5. It is 1 where every parameter has
        finitely many values: there the cells of one configuration limit the depth.
    depth_limit : {"growing", "fixed"}
        Whether the depth at which a sweep ends grows while the sweep opens leaves, or is fixed
        when the sweep begins. The papers' pseudo-code can be read either way.
    seed : int or None
        Only the first trial, and parameters outside of the relative search space, need it.
    n_startup_trials : int
        Random trials before the tree begins; at least one trial is.
    independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True
    models_conditional = False
    multiplies_matrices = False

    @staticmethod
    def _method_class() -> type[SOO]:
        from optuna_hdbo.methods.soo import SOO

        return SOO

    def __init__(
        self,
        *,
        branching: Literal[2, 3] = 3,
        depth_exponent: float | None = None,
        depth_limit: Literal["growing", "fixed"] = "growing",
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        super().__init__(
            self._method_class()(
                branching=branching, depth_exponent=depth_exponent, depth_limit=depth_limit
            ),
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
