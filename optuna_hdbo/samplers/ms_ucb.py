"""MS-UCB as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.ms_ucb import MSUCB


class MSUCBSampler(PublishedSampler):
    """Points from a growing set of random subspaces, for up to thousands of parameters.

    MS-UCB (Tran-The, Gupta, Rana & Venkatesh, "Trading Convergence Rate with Computational Budget
    in High Dimensional Bayesian Optimization", AAAI 2020) searches its upper confidence bound only
    on d-dimensional subspaces. The other D - d parameters have random values in each of them, and
    every trial adds subspaces. The defaults differ from the paper: each subspace draws its own
    free parameters, half of the subspaces go through good points, most trials maximise the
    expected improvement, and two priors of the lengthscales compete. :meth:`as_published` gives
    the paper's algorithm.

    Parameters
    ----------
    d : int or None
        Free parameters of a subspace. 0 gives random points; the number of parameters gives
        GP-UCB, and so do larger numbers, with a warning. ``None`` is 5, or fewer if there are
        fewer parameters.
    n0 : int
        New subspaces at the first trial, at least 1.
    alpha : float
        Trial t adds ``n0 * t**alpha`` subspaces; in [0, 4]. Each trial searches at most 1024 of
        them, drawn at random, and fewer with more than 2000 parameters.
    axes : {"random", "fixed"}
        Whether each subspace draws its own free parameters, or the last d are free in all.
    anchors : {"incumbents"} or None
        Whether half of the subspaces are anchored at one of the best trials, or all at random.
    beta : float, callable or str
        Width of the confidence bound, as for :class:`AddGPUCBSampler`, with the d of a subspace.
        ``"theory"`` is the schedule of the MS-UCB paper.
    alternate : bool
        Whether trials maximise expected improvements, and a share of 12 / D of them (at most a
        half) bounds along the lines through the best trial that change a single parameter.
    kernel : {"matern52", "matern32", "se"}
    ard : bool or None
        A lengthscale per parameter, or one for all. ``None`` has one per parameter up to 200
        parameters.
    priors : bool
        Whether there are two models with different priors of the hyperparameters, of which one is
        drawn for each query by the evidence for it; or one without priors. A model with one
        lengthscale for all parameters is always alone.
    n_cyc : int or None
        Observations between two fits; ``None`` is 8 % of the observations with two models, 2.5 %
        with one, 5 % with one lengthscale for all parameters, and at least 2.
    n_starts : int
        Candidates from which gradients are followed.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import MSUCBSampler
    >>> study = optuna.create_study(sampler=MSUCBSampler(seed=0))
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[MSUCB]:
        from optuna_hdbo.methods.ms_ucb import MSUCB

        return MSUCB

    def __init__(
        self,
        *,
        d: int | None = None,
        n0: int = 1,
        alpha: float = 0.0,
        axes: Literal["random", "fixed"] = "random",
        anchors: Literal["incumbents"] | None = "incumbents",
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = 4.0,
        alternate: bool = True,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        ard: bool | None = None,
        priors: bool = True,
        n_cyc: int | None = None,
        n_starts: int = 8,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            d=d,
            n0=n0,
            alpha=alpha,
            axes=axes,
            anchors=anchors,
            beta=beta,
            alternate=alternate,
            kernel=kernel,
            ard=ard,
            priors=priors,
            n_cyc=n_cyc,
            n_starts=n_starts,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
