"""GP-MI as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.gp_mi import GPMI


class GPMISampler(PublishedSampler):
    """Exploration that shrinks as information accumulates.

    GP-MI (Contal, Perchet & Vayatis, "Gaussian Process Optimization with Mutual Information",
    ICML 2014) maximises the posterior mean plus
    ``phi(x) = sqrt(alpha) (sqrt(var(x) + gamma) - sqrt(gamma))`` with ``alpha = log(2 / delta)``,
    where ``gamma`` adds up the variances that the chosen points had before they were observed.
    GP-UCB, in contrast, explores more and more. By default every other query maximises the
    expected improvement instead. Two models with different priors of the lengthscales compete, and
    one is drawn for each query by the evidence for it. :meth:`as_published` gives the paper's
    algorithm.

    Erratum, by the authors themselves: the proof of the regret bound is wrong (its Lemma 1 takes
    the maximiser for a fixed point), and no bound is known. GP-MI can be over-confident, stop
    exploring and miss the optimum. ``min_exploration`` and ``alternate`` reduce that risk.

    Parameters
    ----------
    exploration : {"mi", "ucb", "variance"}
        phi of the paper's generic scheme (its Algorithm 2): that of GP-MI, that of GP-UCB,
        ``sqrt(beta) std``, or that of its Corollary 1, ``sqrt(alpha) / 2 var``.
    delta : float
        Failure probability, in (0, 1). Smaller values explore more; the effect is logarithmic.
    beta : float, callable or str
        Width of the bound for ``exploration="ucb"``, as for :class:`AddGPUCBSampler`. The
        failure probability of ``"theory"`` is ``delta``.
    min_exploration : float
        Smallest phi of ``"mi"`` and ``"ucb"``, in standard deviations. The paper has 0.
    alternate : bool
        Whether half of the queries maximise the expected improvement instead.
    kernel : {"matern52", "matern32", "se", "matern3"}
        ``"matern3"`` has the smoothness 3, and needs ``kernel_params``: it cannot be fitted.
    ard : bool
        A lengthscale per parameter, or one for all; additive models have one per parameter.
    priors : bool
        Whether there are two models with different priors of the hyperparameters, of which one is
        drawn for each query by the evidence for it; or one without priors.
    noise : float or None
        Standard deviation of the noise as a share of that of the values, at most 1; ``None``
        learns it. Less than 1e-5 counts as 1e-5. Additive models learn it.
    n_cyc : int or None
        Observations between two fits; ``None`` is 8 % of the observations (2.5 % for a single
        model without groups), at least 2.
    kernel_params : Mapping or None
        Known hyperparameters, which are not fitted: ``{"lengthscale": 0.2, "noise": 1e-4}``, where
        a range of every parameter has the length 1, and the values have the standard deviation 1.
        The lengthscale is a number, or a mapping of parameter names to numbers. ``"scale"`` is the
        variance of the signal, by default 1. Not for models with groups.
    max_group_size : int or None
        A number makes the model additive, with learned groups of at most this many parameters and
        a gamma for each group. ``None`` is one group of all, unless ``decomposition`` is given.
    decomposition, ungrouped, decomposition_search, n_decompositions
        The groups and how they are searched, as for :class:`AddGPUCBSampler`, but without
        ``"merge"``.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; for a decomposition that does not fit the
        parameters, as soon as these are known; and in a study with several objectives.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import GPMISampler
    >>> study = optuna.create_study(sampler=GPMISampler(seed=0))
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[GPMI]:
        from optuna_hdbo.methods.gp_mi import GPMI

        return GPMI

    def __init__(
        self,
        *,
        exploration: Literal["mi", "ucb", "variance"] = "mi",
        delta: float = 1e-6,
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = "practical",
        min_exploration: float = 0.0,
        alternate: bool = True,
        kernel: Literal["matern52", "matern32", "se", "matern3"] = "matern52",
        ard: bool = True,
        priors: bool = True,
        noise: float | None = None,
        n_cyc: int | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        max_group_size: int | None = None,
        decomposition: Sequence[Sequence[str]] | None = None,
        ungrouped: Literal["error", "single", "centre"] = "error",
        decomposition_search: Literal["swap", "random", "gibbs"] = "swap",
        n_decompositions: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            exploration=exploration,
            delta=delta,
            beta=beta,
            min_exploration=min_exploration,
            alternate=alternate,
            kernel=kernel,
            ard=ard,
            priors=priors,
            noise=noise,
            n_cyc=n_cyc,
            kernel_params=kernel_params,
            max_group_size=max_group_size,
            decomposition=decomposition,
            ungrouped=ungrouped,
            decomposition_search=decomposition_search,
            n_decompositions=n_decompositions,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
