"""The best trial of a noisy study: by a Gaussian process, not by the luckiest value."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_hdbo._core.blas import one_blas_thread
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.outputs import are_skewed
from optuna_hdbo._core.outputs import finite
from optuna_hdbo._core.outputs import normalised
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._study.attributes import check_single_objective
from optuna_hdbo._study.attributes import check_study
from optuna_hdbo._study.parameters import Parameters
from optuna_hdbo._study.ranges import ranges_of
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.values import are_feasible
from optuna_hdbo._study.values import maximised
from optuna_hdbo._study.values import observed
from optuna_hdbo.importance import fitted_posterior
from optuna_hdbo.portfolio.outliers import without_outliers


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


def get_believed_best(study: Study) -> FrozenTrial:
    """Return the completed trial with the best posterior mean under a Gaussian process.

    Where the objective is noisy, ``study.best_trial`` is often the trial with the luckiest value.
    This one is the trial that a model of all values takes for the best. Without noise both are
    nearly always the same.

    The process is fitted to the parameters that all completed trials have, or that others decide
    about, in whatever range but on one scale; the rest counts as noise. It does not see values
    that are far too poor beside all others. Trials that violate a constraint inform it but are not
    returned.

    Parameters
    ----------
    study : optuna.study.Study
        Of any sampler, with one objective.

    Returns
    -------
    optuna.trial.FrozenTrial
        A copy. Its ``value`` is the observed one.

    Raises
    ------
    ValueError
        For a study with several objectives, and where no completed trial is feasible and has a
        finite value.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import get_believed_best
    >>> study = optuna.load_study(study_name="tuning", storage="sqlite:///tuning.db")
    >>> get_believed_best(study).params
    """
    check_study(study)
    check_single_objective(study)
    completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    known = Parameters(include_pruned=False)
    known.follow(completed)
    rules = known.rules()
    ranges = {
        name: range_
        for name, (count, range_) in ranges_of(completed).items()
        if (count == len(completed) or name in rules) and range_ and not range_.single()
    }
    space = SearchSpace(ranges, known.required(), rules=rules)
    trials, X, values = observed(completed, space, space.required, beyond=True)
    feasible = are_feasible(trials)
    if not feasible.any():
        raise ValueError(
            f"study must have a completed, feasible trial with a finite value, but "
            f"{study.study_name!r} has none among its {len(completed)} completed trials."
        )
    merit = finite(maximised(study, values, feasible))
    # Where values span magnitudes, all good ones would look alike beside the others.
    merit = normalised(merit, skewed=True) if are_skewed(merit) else standardise(merit)[0]
    if len(trials) > 1 and len(space.domain):
        seen = Observations.from_arrays(X, merit)
        with one_blas_thread():
            kept = without_outliers(space.domain, seen, Memory()).numbers
            rows = modelled_rows(merit[kept])
            rows = kept if rows is None else kept[rows]
            y, shift, scale = standardise(merit[rows])
            posterior = fitted_posterior(space.domain, X[rows], y)
            merit = posterior.mean(X) * scale + shift
        told = np.isin(seen.numbers, kept)  # the model does not know the others
        feasible = feasible & told if (feasible & told).any() else feasible
    best = int(np.argmax(np.where(feasible, merit, -np.inf)))
    return copy.deepcopy(trials[best])
