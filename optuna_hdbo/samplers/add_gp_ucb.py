"""Add-GP-UCB as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.add_gp_ucb import AddGPUCB


class AddGPUCBSampler(PublishedSampler):
    """Additive Gaussian process whose groups of interacting parameters are learned.

    The objective is modelled as a sum of functions of small disjoint groups of parameters
    (Kandasamy, Schneider & Poczos, "High Dimensional Bayesian Optimisation and Bandits via
    Additive Models", ICML 2015). While a plain Gaussian process makes progress, trials maximise
    its expected improvement. Once it stalls, three kinds of trial alternate: one group explores by
    an upper confidence bound while the other groups stay at the best point, the additive model's
    expected improvement is maximised, and so is the plain model's. :meth:`as_published` gives the
    paper's algorithm instead. :func:`optuna_hdbo.get_groups` reads the learned groups.

    Parameters
    ----------
    max_group_size : int
        Largest number of parameters that interact, at least 1.
    decomposition : sequence of sequences of str, or None
        The groups by parameter name, where they are known; ``None`` to learn them.
    ungrouped : {"error", "single", "centre"}
        Parameters that ``decomposition`` leaves out: refuse, make each a group of its own, or
        leave them at the centre of their range (the authors' code).
    decomposition_search : {"merge", "swap", "random", "gibbs"}
        How groupings are searched: by joining parameters that begin alone where the evidence is
        convincing, by exchanging parameters between groups, by drawing random partitions (the
        paper), or by Gibbs sampling (Wang et al. 2017). All but ``"merge"`` pack the parameters
        into as few groups as possible, and so does ``"merge"`` with more than 64 parameters.
    n_decompositions : int or None
        Groupings scored at each search; ``None`` adapts to the numbers of parameters and trials.
    kernel : {"matern52", "matern32", "se"}
        Kernel of every group.
    shared_hyperparameters : bool
        One lengthscale and one scale for all groups without priors and noise variance fixed at
        1 % of that of the values (the paper and the authors' code), or a lengthscale per
        parameter and a scale per group, with the priors of Optuna's ``GPSampler``.
    n_cyc : int or None
        Observations between two fits; ``None`` is 15 % of the observations for groups that merge,
        8 % for other ones, and 2.5 % for the model without groups, at least 2.
    beta : float, callable or str
        Width of the confidence bound: a number, a function of the number t of observations,
        ``"practical"`` for 0.2 d log(2 t) (the paper) or ``"theory"`` (its Theorem 5). The default
        of 4 was chosen by benchmark.
    update : {"alternate", "all_groups", "one_group", "sequential"}
        The default described above; every group at every query (the paper's Algorithm 1); one
        group in turn (its Algorithm 5); or one group after the other, each for ``n_per_group``
        trials (its Algorithm 4), which needs ``decomposition``.
    n_per_group : int
        Trials for each group under ``update="sequential"``.
    maximiser : {"gradient", "direct", "direct+gradient"}
        How bounds are maximised for the latter three: candidates and gradients, DIRECT (paper), or
        DIRECT and then gradients from the point that it has found.
    n_small_bandwidth : int
        With fewer observations than this, the bandwidth is so small that no point tells anything
        about another (the paper's first 25 iterations).
    shrink_bandwidth : bool
        Whether to lower the largest bandwidth by 10 % each time that five queries in a row had a
        standard deviation under 0.002, and to move queries that repeat an old point (authors'
        code).
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it, when the sampler is built; for a
        decomposition that does not fit the parameters, as soon as these are known; and in a
        study with several objectives.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import AddGPUCBSampler, get_groups
    >>> study = optuna.create_study(sampler=AddGPUCBSampler(seed=0))
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[AddGPUCB]:
        from optuna_hdbo.methods.add_gp_ucb import AddGPUCB

        return AddGPUCB

    def __init__(
        self,
        *,
        max_group_size: int = 5,
        decomposition: Sequence[Sequence[str]] | None = None,
        ungrouped: Literal["error", "single", "centre"] = "error",
        decomposition_search: Literal["merge", "swap", "random", "gibbs"] = "merge",
        n_decompositions: int | None = None,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        shared_hyperparameters: bool = False,
        n_cyc: int | None = None,
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = 4.0,
        update: Literal["alternate", "all_groups", "one_group", "sequential"] = "alternate",
        n_per_group: int = 20,
        maximiser: Literal["gradient", "direct", "direct+gradient"] = "gradient",
        n_small_bandwidth: int = 0,
        shrink_bandwidth: bool = False,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            max_group_size=max_group_size,
            decomposition=decomposition,
            ungrouped=ungrouped,
            decomposition_search=decomposition_search,
            n_decompositions=n_decompositions,
            kernel=kernel,
            shared_hyperparameters=shared_hyperparameters,
            n_cyc=n_cyc,
            beta=beta,
            update=update,
            n_per_group=n_per_group,
            maximiser=maximiser,
            n_small_bandwidth=n_small_bandwidth,
            shrink_bandwidth=shrink_bandwidth,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
        self.supports_constraints = update == "alternate"
