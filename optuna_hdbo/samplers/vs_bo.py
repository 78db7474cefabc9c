"""VS-BO as a sampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

from optuna_hdbo.samplers.published import PublishedSampler


if TYPE_CHECKING:
    from typing import Self

    from optuna.samplers import BaseSampler

    from optuna_hdbo.methods.vs_bo import VSBO


class VSBOSampler(PublishedSampler):
    """Search in the few parameters that matter, and say which ones they are.

    Every ``n_vs`` observations parameters are ranked by how much they move a Gaussian process over
    all of them, and the leading ones that make the observations likelier are selected (Shen &
    Kingsford, "Computationally Efficient High-Dimensional Bayesian Optimization via Variable
    Selection", AutoML 2023). In between, trials maximise the expected improvement of a process
    over the selected parameters alone, at a cost that depends on their number. The others are
    drawn from a normal distribution that follows the good points, as in CMA-ES.
    :func:`optuna_hdbo.get_selections` reads from a study what was selected, and
    :class:`optuna_hdbo.GradISImportanceEvaluator` ranks the parameters of any study.
    :meth:`as_published` gives the paper's algorithm; the defaults differ from it where benchmarks
    showed a gain.

    Parameters
    ----------
    important : sequence of str, or None
        The parameters that matter, by name, where they are known; ``None`` to select them. With
        names, every trial after startup maximises an upper confidence bound over these parameters
        and those that decide whether they are active. The others stay at the centre of their range
        (VS-GP-UCB, Algorithm 6 of the paper). ``n_vs``, ``criterion``, ``gain``, ``n_is``,
        ``unimportant``, ``n_draws``, ``whole_every`` and ``additive`` must then be left out.
    n_vs : int
        Observations between two selections, at least 2. Selections by ``"gain"`` come no more
        often than observations grow by a tenth.
    criterion : {"gain", "momentum", "forward"}
        How a selection follows from the ranking: parameters that are each worth ``gain``, the
        paper's stepwise selection with momentum (its Algorithms 2 to 5), or without (Algorithm 2).
    gain : float
        Log marginal likelihood that a parameter must add to be selected, positive.
    n_is : int
        Uniform points at which the influence of parameters is averaged.
    unimportant : {"cma", "mix", "incumbent"}
        Where the values of the other parameters come from: the normal distribution; the best trial
        or, every other time, the uniform distribution (Spagnol et al. 2019); the best trial.
    n_draws : int
        Draws from the normal distribution, of which the most promising one is taken.
    whole_every : int
        Trials between two that model all parameters, so that the ones not selected get a chance;
        0 for never. With ``priors``, a sum over single parameters is used where it predicts
        better.
    n_cyc : int or None
        Observations between two fits of the selected parameters' process; ``None`` is 5 % of the
        observations, at least 2.
    priors : bool
        Whether hyperparameters have priors, fits go on from earlier ones and improvements are
        those on the best posterior mean; otherwise marginal likelihoods are maximised from anew
        and improvements are those on the best value (the paper).
    additive : bool
        Whether the selected parameters' process may be a sum over groups of them, which are
        learned with the selection; otherwise all of them interact (the paper).
    kernel : {"matern52", "matern32", "se"}
    seed, n_startup_trials, independent_sampler, warn_independent_sampling, consider_pruned_trials
        As for :class:`HDBOSampler`. The normal distribution starts from the startup trials.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it, when the sampler is built; for ``important``
        names that no parameter has, as soon as the parameters are known; and in a study with
        several objectives.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import VSBOSampler, get_selections
    >>> study = optuna.create_study(sampler=VSBOSampler(seed=0))
    """

    supports_constraints = True

    @staticmethod
    def _method_class() -> type[VSBO]:
        from optuna_hdbo.methods.vs_bo import VSBO

        return VSBO

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """Return the sampler with the settings of its method's paper.

        They are described with the method, and in the table of the method's page. With
        ``important``, the paper's settings of selections are left out.

        Parameters
        ----------
        **overrides
            Settings that take the place of the paper's.
        """
        from optuna_hdbo.methods.vs_bo import OF_SELECTIONS

        if overrides.get("important") is None:
            return super().as_published(**overrides)
        published = cls._method_class().published
        kept = {name: value for name, value in published.items() if name not in OF_SELECTIONS}
        return cls(**{**kept, **overrides})

    def __init__(
        self,
        *,
        important: Sequence[str] | None = None,
        n_vs: int = 20,
        criterion: Literal["gain", "momentum", "forward"] = "gain",
        gain: float = 6.0,
        n_is: int = 2000,
        unimportant: Literal["cma", "mix", "incumbent"] = "cma",
        n_draws: int = 20,
        whole_every: int = 4,
        n_cyc: int | None = None,
        priors: bool = True,
        additive: bool = True,
        kernel: Literal["matern52", "matern32", "se"] = "matern52",
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        consider_pruned_trials: bool = True,
    ) -> None:
        method = self._method_class()(
            important=important,
            n_vs=n_vs,
            criterion=criterion,
            gain=gain,
            n_is=n_is,
            unimportant=unimportant,
            n_draws=n_draws,
            whole_every=whole_every,
            n_cyc=n_cyc,
            priors=priors,
            additive=additive,
            kernel=kernel,
        )
        super().__init__(
            method,
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            consider_pruned_trials=consider_pruned_trials,
        )
        method.n_init = self._n_startup_trials
