"""TuRBO as a sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.turbo import TuRBO


class TuRBOSampler(PublishedSampler):
    """A trust region around the best trial (Eriksson et al. 2019).

    Each query maximises the expected improvement within a box around the best trial. The sides of
    the box double after three successes in a row, and are halved after failures. Once the box is
    tiny, another one begins at the best trial elsewhere. From 200 trials on, every second one
    begins at the best trial of all. The sides are weighted by the model's lengthscales. The state
    of the region is read from the trials. So a study can be resumed, and workers share one region.
    For a numerical parameter with steps, the box holds the steps inside it. All choices of a
    categorical parameter are searched.

    Six defaults differ from "Scalable Global Optimization via Local Bayesian Optimization"
    (NeurIPS 2019): the prior of the lengthscales scales with the box (AdaScale, arXiv 2604.22967),
    values are warped so that they look normal (Yeo & Johnson 2000), and two kinds of models
    compete with the model of the box: sums over single parameters, and one with lengthscales along
    learned directions. The sides are halved after a quarter of the failures, and the models are
    not fitted at every trial. :meth:`as_published` has the paper's settings. The paper draws from
    the posterior where this sampler maximises the expected improvement, and it forgets other
    trials when a region begins.

    Each trial carries the side of its region as user attribute ``hdbo:region_length``.

    Parameters
    ----------
    length, min_length, max_length : float
        First side of the box, the side below which it is given up, and its largest side. All are
        shares of a parameter's range.
    n_successes : int
        Successes in a row after which the sides double.
    patience : float
        Failures in a row, per parameter, after which the sides are halved. It takes at least four
        failures.
    kernel : {"matern52", "matern32", "se"}
    warp : bool
        Whether the model sees warped values.
    adaptive_prior : bool
        Whether the prior of the lengthscales scales with the box.
    separable : bool
        Whether models that take the objective for a sum over single parameters compete with the
        model of the box, by how well they predict.
    rotated : bool
        Whether a model with lengthscales along learned directions competes as well. It takes part
        with 5 to 25 parameters that are all numerical, from 40 trials and three per parameter on.
    n_cyc : int or None
        Observations between two fits; ``None`` is 5 % of the observations, at least 2.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import TuRBOSampler
    >>> study = optuna.create_study(sampler=TuRBOSampler(seed=0))
    """

    supports_constraints = True
    splits_ranges = True

    @staticmethod
    def _method_class() -> type[TuRBO]:
        from optuna_hdbo.methods.turbo import TuRBO

        return TuRBO

    def __init__(
        self,
        *,
        length: float = 0.8,
        min_length: float = 2.0**-7,
        max_length: float = 1.6,
        n_successes: int = 3,
        patience: float = 0.25,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        warp: bool = True,
        adaptive_prior: bool = True,
        separable: bool = True,
        rotated: bool = True,
        n_cyc: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            length=length,
            min_length=min_length,
            max_length=max_length,
            n_successes=n_successes,
            patience=patience,
            kernel=kernel,
            warp=warp,
            adaptive_prior=adaptive_prior,
            separable=separable,
            rotated=rotated,
            n_cyc=n_cyc,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
