"""Which parameters matter in a study of any sampler, by the gradients of a Gaussian process."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.importance import BaseImportanceEvaluator
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._core.blas import one_blas_thread
from optuna_hdbo._core.checks import check_flag
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_seed
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.models.subsets import fit_columns
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._core.streams import Streams
from optuna_hdbo._core.variables.grad_is import grad_is
from optuna_hdbo._study.attributes import check_study
from optuna_hdbo._study.ranges import ranges_of
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.values import Target
from optuna_hdbo._study.values import are_feasible
from optuna_hdbo._study.values import check_target
from optuna_hdbo._study.values import maximised
from optuna_hdbo._study.values import observed


if TYPE_CHECKING:
    from optuna.study import Study


class GradISImportanceEvaluator(BaseImportanceEvaluator):
    """Grad-IS: how much a parameter changes a Gaussian process, relative to its uncertainty.

    A Gaussian process is fitted to the completed trials. A parameter's importance is a mean over
    points drawn uniformly from the search space: of the absolute derivative of the posterior mean
    by the parameter, over the posterior standard deviation (section 3.1 of Shen & Kingsford 2023).
    Every parameter's range counts as 1, in the logarithm where its distribution is logarithmic.

    The paper leaves discrete parameters open. Here they score by differences: the mean absolute
    change of the posterior mean between two values drawn at random, over the mean distance of the
    two; different choices of a categorical parameter have the distance 1.

    Parameters
    ----------
    n_points : int
        Points that the mean is taken over, at least 1.
    n_trials : int
        Trials that the process is fitted to, at least 2. From more trials this many are drawn at
        random. The cost grows with the cube of this number.
    conditional : bool
        Whether parameters that only some trials have are assessed too, unless ``params`` names
        any: each in the trials that have it, weighted by the share of these trials.
    seed : int or None
        Seed of the points; ``None`` draws one.

    Raises
    ------
    ValueError
        For a setting outside of its range; from :meth:`evaluate` for a study of several
        objectives without ``target``, for ``params`` that no completed trial has together, and
        where the range of one of them varies.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import GradISImportanceEvaluator
    >>> study = optuna.load_study(study_name="tuning", storage="sqlite:///tuning.db")
    >>> optuna.importance.get_param_importances(study, evaluator=GradISImportanceEvaluator())
    """

    def __init__(
        self,
        *,
        n_points: int = 10000,
        n_trials: int = 500,
        conditional: bool = False,
        seed: int | None = 0,
    ) -> None:
        check_integer("n_points", n_points, 1)
        check_integer("n_trials", n_trials, 2)
        self._n_points = operator.index(n_points)
        self._n_trials = operator.index(n_trials)
        self._conditional = check_flag("conditional", conditional)
        self._streams = Streams(check_seed(seed))

    def evaluate(
        self,
        study: Study,
        params: list[str] | None = None,
        *,
        target: Target | None = None,
    ) -> dict[str, float]:
        """Return importances that add up to 1, the largest first.

        With fewer than two trials that have a value, and where nothing varies, all are 0.

        Parameters
        ----------
        study : optuna.study.Study
        params : list of str or None
            Parameters to assess, in the trials that have all of them; ``None`` for those that all
            completed trials have.
        target : callable or None
            A trial to the value whose dependence on parameters is assessed; ``None`` for the
            objective value, of which a penalty counts as the worst other one.
        """
        check_study(study)
        check_target(study, target)
        completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        space = _space(completed, params)
        common = dict.fromkeys(space, 0.0) | self._scores(study, completed, space, target)
        scores = dict(common)
        if params is None and self._conditional:
            names = {name for trial in completed for name in trial.distributions}
            for name in sorted(names - set(space)):
                found = self._scores(study, completed, _space_with(completed, name), target)
                # The standard deviations of two fits differ: the parameters that both have make
                # their scores comparable.
                here = sum(found.get(other, 0.0) for other in common)
                yardstick = sum(common.values()) / here if here > 0.0 else 1.0
                share = sum(name in trial.params for trial in completed) / len(completed)
                scores[name] = found.get(name, 0.0) * yardstick * share
        total = sum(scores.values())
        if total > 0.0:
            scores = {name: score / total for name, score in scores.items()}
        return dict(sorted(scores.items(), key=lambda item: -item[1]))

    def _scores(
        self,
        study: Study,
        completed: list[FrozenTrial],
        distributions: dict[str, BaseDistribution],
        target: Target | None,
    ) -> dict[str, float]:
        """Return unnormalised scores of the parameters that vary; {} with too few trials."""
        space = SearchSpace({k: d for k, d in distributions.items() if not d.single()})
        kept_trials, X, values = observed(completed, space, distributions, target)
        if len(kept_trials) < 2 or not len(space.domain):
            return {}
        if target is None:
            values = maximised(study, values, are_feasible(kept_trials), assessed=True)
        y = standardise(values)[0]
        rng = self._streams.generator("grad-is", 0)
        if len(y) > self._n_trials:
            kept = np.sort(rng.choice(len(y), self._n_trials, replace=False))
            X, y = X[kept], standardise(y[kept])[0]
        domain = space.domain
        with one_blas_thread():
            scores = grad_is(fitted_posterior(domain, X, y), domain, self._n_points, rng)
        return dict(zip(domain.names, scores.tolist(), strict=True))


def fitted_posterior(domain: Domain, X: FloatArray, y: FloatArray) -> Posterior:
    """Return a Gaussian process over all columns, fitted to standardised values."""
    prior = Prior("inverse-square", len(domain))
    kernel = fit_columns(domain, X, y, "matern52", prior).kernel
    return Posterior(Factor(kernel, X), y)


def _space(completed: list[FrozenTrial], params: object) -> dict[str, BaseDistribution]:
    """Return the distributions of the parameters to assess."""
    if params is None:
        return _with_all(completed)
    if not isinstance(params, list | tuple) or not all(isinstance(p, str) for p in params):
        raise TypeError(f"params must be a list of parameter names, but got {params!r}.")
    having = [t for t in completed if set(params) <= t.distributions.keys()]
    if params and not having:
        raise ValueError(
            f"params must be parameters that some completed trial has together, but got {params}."
        )
    space: dict[str, BaseDistribution] = {}
    for trial in having:
        for name in params:
            if space.setdefault(name, trial.distributions[name]) != trial.distributions[name]:
                raise ValueError(
                    f"params must not have ranges that vary, but that of {name!r} does."
                )
    return space


def _space_with(completed: list[FrozenTrial], name: str) -> dict[str, BaseDistribution]:
    """Return what the trials that have a parameter have in common, {} if its scale varies."""
    space = _with_all([trial for trial in completed if name in trial.distributions])
    return space if name in space else {}


def _with_all(trials: list[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return the parameters that all trials have, each with the range of all of them."""
    found = ranges_of(trials).items()
    return {name: d for name, (count, d) in found if count == len(trials) and d is not None}
