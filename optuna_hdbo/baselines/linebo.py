"""LineBO as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.baselines.linebo import LineBO


class LineBOSampler(PublishedSampler):
    """Upper confidence bounds on one line after another (Kirschner et al. 2019, Algorithm 1).

    The Gaussian process is over all parameters. Its bound is maximised over 300 points of a line
    through the best trial. After some trials, or where no point of the line can be better, a new
    line begins.

    Parameters
    ----------
    directions : {"random", "coordinate", "descent"}
        Directions of the lines: uniform, along single parameters, or the gradient of the posterior
        mean at the best trial. At the border of the search space they point inward.
    n_line : int
        Most trials on a line.
    tolerance : float
        A line ends where the largest upper bound exceeds the largest lower bound by less than
        this, in standard deviations of the values.
    n_cyc : int or None
        Observations between two fits; ``None`` is 2.5 % of the observations, at least 2.
    beta, kernel, ard, priors
        As for :class:`~optuna_hdbo.baselines.DropoutUCBSampler`.
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`~optuna_hdbo.HDBOSampler`.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it; and in a study with several objectives.
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[LineBO]:
        from optuna_hdbo.methods.baselines.linebo import LineBO

        return LineBO

    def __init__(
        self,
        *,
        directions: Literal["random", "coordinate", "descent"] = "random",
        n_line: int = 10,
        tolerance: float = 0.01,
        beta: float | Callable[[int], float] | Literal["practical", "theory"] = 4.0,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        ard: bool = True,
        priors: bool = True,
        n_cyc: int | None = None,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            directions=directions,
            n_line=n_line,
            tolerance=tolerance,
            beta=beta,
            kernel=kernel,
            ard=ard,
            priors=priors,
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
