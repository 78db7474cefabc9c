"""What each model of the whole space expects of a trial, from the trials known when it began."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_hdbo._core.blas import one_blas_thread
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import Belief
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.ensemble import suited
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.outputs import are_skewed
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._story.queries import Query
from optuna_hdbo._story.queries import known_when
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.values import are_feasible
from optuna_hdbo._study.values import maximised
from optuna_hdbo._study.values import observed
from optuna_hdbo._study.values import signs_of
from optuna_hdbo.methods.gp_ucb import POOLED_BELIEFS


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


LEAST_KNOWN = 3
"""With fewer values known, the models only repeat their priors."""


def opinions(study: Study, queries: list[Query], trial: FrozenTrial) -> dict[str, list[float]]:
    """Return the expected value and its standard deviation under each belief, in words.

    The models are fitted anew to the trials that were completed when the trial began and that have
    all of its parameters. They are those of the expert ``global``. Noise is not included.
    """
    wanted = {n: d for n, d in trial.distributions.items() if not d.single()}
    earlier = [q.trial for q in known_when(queries, trial)]
    completed = [t for t in earlier if t.state == TrialState.COMPLETE]
    try:
        space = SearchSpace(wanted)
    except ValueError:  # an infinite range
        return {}
    x = space.encode(trial.params) if wanted else None
    kept, X, values = observed(completed, space, wanted)
    if x is None or len(values) < LEAST_KNOWN or values.min() == values.max():
        return {}
    values = maximised(study, values, are_feasible(kept))
    skewed = are_skewed(values)
    rows = modelled_rows(standardise(values)[0])
    if rows is not None:
        X, values = X[rows], values[rows]
    n = len(values)
    seen = Observations(
        X=X,
        values=values,
        numbers=np.arange(n),
        pruned=np.zeros(n, np.bool_),
        pending=np.empty((0, X.shape[1])),
        constraints=np.empty((n, 0)),
        sign=signs_of(study)[0],
        skewed=skewed,
    )
    with one_blas_thread():
        return {
            in_words(belief): _opinion(space, seen, belief, x)
            for belief in suited(POOLED_BELIEFS, space.domain)
        }


def _opinion(space: SearchSpace, seen: Observations, belief: Belief, x: np.ndarray) -> list[float]:
    model = Ensemble("matern52", True, (belief,)).believed(space.domain, seen, belief, Memory())
    mean, variance = model.posterior.predict(np.asarray(x)[None])
    y, std = float(mean[0]), math.sqrt(max(float(variance[0]), 0.0))
    return [model.seen.in_units(y), model.seen.std_in_units(y, std)]


def in_words(belief: Belief) -> str:
    """Return what a belief says about the function."""
    if belief.separable:
        words = "no parameters interact"
    elif belief.pooled:
        words = "all parameters matter alike"
    else:
        many = belief.prior == "inverse-square"
        words = "all parameters matter" if many else "few parameters matter"
    return f"{words}, warped values" if belief.warped else words
