"""BaMSOO as a sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.bamsoo import BaMSOO


class BaMSOOSampler(PublishedSampler):
    """SOO with a Gaussian process that rejects some of its points (Wang et al. 2014).

    The tree grows as that of :class:`SOOSampler`, but a cell's centre is evaluated only if its
    upper confidence bound reaches the best value so far. Otherwise the cell gets a bound in place
    of a value, and the sweep goes on. No acquisition function is maximised, so a trial is cheap.

    Trials that the tree did not ask for (random, enqueued, added) inform the process and count
    for the best value, but are not nodes. Running trials are nodes with a bound in place of a
    value, and shrink the variance around them. Failed ones keep the bound.

    Only parameters that every trial has are split. Others are drawn by ``independent_sampler``,
    which is Optuna's ``TPESampler`` by default.

    Each trial carries its node's ``hdbo:depth``, and the numbers of ``hdbo:nodes`` and of
    ``hdbo:rejected_nodes`` as user attributes.

    Parameters
    ----------
    branching, depth_limit
        As for :class:`SOOSampler`.
    depth_exponent : float
        The tree may be ``n ** depth_exponent`` deep after n expansions, in (0, 1].
    width : float or None
        Standard deviations between the mean and the upper bound; ``None`` is the paper's
        B_N = sqrt(2 log(pi^2 N^2 / (6 eta))), N counting the tests.
    explore : int or None
        At every node whose number is a multiple of this, B_N replaces ``width``. After 40 nodes,
        half as often.
    eta : float
        Probability with which B_N may fail, in (0, 1].
    penalty : float or None
        Standard deviations between the mean and the score of a rejected node; ``None`` is the
        upper bound's number: the score is the lower confidence bound.
    renew : bool
        Whether the score of a rejected node follows what the process learns, or stays as it was
        when the node was rejected.
    kernel : {"matern52", "matern32", "se"}
    ard : bool
        A lengthscale per parameter, or one for all.
    deterministic_objective : bool
        Whether equal parameters give equal values, as the paper assumes; else noise is fitted too.
    n_cyc : int or None
        Observations between two fits of the hyperparameters. ``None`` fits when observations have
        grown by a fifth and, from 100 on, when they have doubled. After that, a tenth of all
        configurations of a finite space is enough.
    kernel_params : Mapping or None
        Hyperparameters that are known and stay as they are, instead of fits: ``"lengthscale"``,
        a number or a mapping from parameter names to numbers, and optionally ``"scale"`` (1.0)
        and ``"noise"`` (1e-8), variances. Lengthscales are in shares of a parameter's range, the
        variances in units of that of the values.
    patience : int
        Nodes that may be rejected between two trials; the next one is evaluated in any case.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`SOOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; where ``kernel_params`` names an unknown
        parameter or leaves one out; and in a study with several objectives.
    """

    supports_constraints = True
    models_conditional = False

    @staticmethod
    def _method_class() -> type[BaMSOO]:
        from optuna_hdbo.methods.bamsoo import BaMSOO

        return BaMSOO

    def __init__(
        self,
        *,
        branching: Literal[2, 3] = 3,
        depth_exponent: float = 0.7,
        depth_limit: Literal["growing", "fixed"] = "growing",
        width: float | None = 0.5,
        explore: int | None = 2,
        eta: float = 1.0,
        penalty: float | None = 0.0,
        renew: bool = True,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        ard: bool = True,
        deterministic_objective: bool = True,
        n_cyc: int | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        patience: int = 300,
        seed: int | None = None,
        n_startup_trials: int = 1,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        super().__init__(
            self._method_class()(
                branching=branching,
                depth_exponent=depth_exponent,
                depth_limit=depth_limit,
                width=width,
                explore=explore,
                eta=eta,
                penalty=penalty,
                renew=renew,
                kernel=kernel,
                ard=ard,
                deterministic_objective=deterministic_objective,
                n_cyc=n_cyc,
                kernel_params=kernel_params,
                patience=patience,
            ),
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
