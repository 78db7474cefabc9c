"""The flagship as a sampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optuna_hdbo.samplers.base import MethodSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class HDBOSampler(MethodSampler):
    """The sampler to reach for: several methods share every trial, and the best one is asked.

    No single method wins everywhere, and which one will is not known beforehand. This sampler
    holds a portfolio of experts. All of them learn from every trial. For each new trial one is
    drawn, in favour of the one whose points have improved on the best value most often lately
    (Thompson sampling on rates of success that forget). A point that only adds digits to the best
    one is not worth a trial: at most a sixth of the last 30 trials may do so, and then another
    expert is asked.

    Experts:

    ``"local"``
        a trust region around the best trial (:class:`TuRBOSampler`), up to 200 parameters;
    ``"global"``
        Gaussian processes over the whole space under several beliefs (:class:`GPUCBSampler`), up
        to 200 parameters;
    ``"tree"``
        a tree of cells beside a Gaussian process (:class:`BaMSOOSampler`), up to 60 parameters;
    ``"subspaces"``
        many random subspaces (:class:`MSUCBSampler`), beyond 200 parameters;
    ``"groups"``
        groups of interacting parameters that are learned (:class:`AddGPUCBSampler`), 3 to 200
        parameters;
    ``"selection"``
        the few parameters that matter (:class:`VSBOSampler`); not by default.

    Each trial carries the name of its expert as user attribute ``hdbo:expert``, and as
    ``hdbo:query`` whether the expert searched for a better point (``"search"``), refined the best
    one (``"refine"``), or whether the point is the furthest from all known ones because all
    experts refined (``"elsewhere"``).

    Where fewer than 10 parameters matter, a search afresh gets two thirds of the queries once 20
    of them have hardly improved the best value. It begins with random points (``"restart"``). Its
    trials carry the number of the first of them as ``hdbo:restart``.

    Parameters
    ----------
    experts : sequence of str or None
        Names out of the list above; ``None`` for all default ones that suit the search space. In
        a study with several objectives no expert is asked, but one model per objective.
    deterministic_objective : bool or None
        Whether equal parameters give equal values; ``None`` if that is unknown.
    seed : int or None
        Seed of all randomness; ``None`` draws one.
    n_startup_trials : int
        Random trials before an expert is asked.
    independent_sampler : BaseSampler or None
        Samples startup trials and parameters outside of the model; ``None`` draws those of the
        startup uniformly, and later ones by Optuna's ``TPESampler``.
    warn_independent_sampling : bool
        Whether to warn when a parameter is sampled independently after startup.
    consider_pruned_trials : bool
        Whether pruned trials count as observations.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import HDBOSampler
    >>> study = optuna.create_study(sampler=HDBOSampler(seed=0))
    """

    supports_constraints = True
    supports_several_objectives = True

    def __init__(
        self,
        *,
        experts: Sequence[str] | None = None,
        deterministic_objective: bool | None = None,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        from optuna_hdbo.portfolio.hdbo import HDBO

        super().__init__(
            HDBO(experts=experts, deterministic_objective=deterministic_objective),
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
