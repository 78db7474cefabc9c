"""HDBO, the portfolio, as a sampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optuna_hdbo.samplers.base import MethodSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class HDBOSampler(MethodSampler):
    """The sampler to start with: several methods learn from every trial and take turns.

    No single method wins everywhere, so this sampler has several, its experts. All of them learn
    from every trial, and one suggests the next point. It is drawn in favour of the expert whose
    points have improved on the best value most often lately (Thompson sampling on rates of success
    in which old trials count less). At most a sixth of the last 30 trials may only add digits to
    the best point. After that another expert suggests the point.

    Experts:

    ``"local"``
        a trust region around the best trial (:class:`TuRBOSampler`), up to 2000 parameters;
    ``"global"``
        Gaussian processes over the whole space, with several priors (:class:`GPUCBSampler`), up
        to 2000 parameters;
    ``"tree"``
        a tree of cells beside a Gaussian process (:class:`BaMSOOSampler`), up to 60 parameters;
    ``"subspaces"``
        many random subspaces (:class:`MSUCBSampler`), beyond 200 parameters;
    ``"groups"``
        groups of interacting parameters that are learned (:class:`AddGPUCBSampler`), 3 to 2000
        parameters;
    ``"quadratic"``
        a quadratic model around the best trial, for valleys along any direction, 10 to 40
        numerical parameters, as long as it explains values that it has not seen;
    ``"steps"``
        points spread around the best trials, while values repeat as error rates do, up to 2000
        parameters. It makes all queries then in studies where some trials have parameters that
        others have not;
    ``"selection"``
        the few parameters that matter (:class:`VSBOSampler`); not by default.

    Each trial carries the name of its expert as user attribute ``hdbo:expert``, and as
    ``hdbo:query`` whether the expert searched for a better point (``"search"``), refined the best
    one (``"refine"``), or whether the point is the furthest from all known ones because all
    experts refined (``"elsewhere"``) or asked for points that others evaluate (``"pending"``).
    The best point may also be repeated, to see whether values are noisy (``"repeat"``).

    Once queries hardly improve the best value, a part of the next ones searches a box around the
    best trial, with 7 to 25 parameters. Its trials carry its side as ``hdbo:box_side``. Another
    part belongs to searches that begin afresh, with random points (``"restart"``). Their trials
    carry the number of the first one as ``hdbo:restart``. New options of choices are tried, too.

    Parameters
    ----------
    experts : sequence of str or None
        Names out of the list above; ``None`` for all default ones that suit the search space. With
        several objectives, models of these take their place once a trial is feasible.
    deterministic_objective : bool or None
        Whether equal parameters give equal values. With ``False``, trials are ranked by their
        posterior means instead of their values. With ``None``, this begins once a trial that is
        repeated has other values. The best trial is repeated up to four times while a model takes
        a part of the differences for noise, but not where parameters branch. Unless it is
        ``True``, values that are far too poor beside all others count as failed trials.
    seed : int or None
        Seed of all randomness; ``None`` draws one.
    n_startup_trials : int
        Random trials before the first suggestion of an expert.
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
    splits_ranges = True

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
