"""The model of a study's effects: its values as a sum of main effects and interactions."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_hdbo._core.blas import one_blas_thread
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.models.anova.components import Components
from optuna_hdbo._core.models.anova.components import Findings
from optuna_hdbo._core.models.anova.features import Conditional
from optuna_hdbo._core.models.anova.interactions import Search
from optuna_hdbo._core.models.anova.model import Fit
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._study.attributes import check_study
from optuna_hdbo._study.ranges import ranges_of
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo._study.values import are_feasible
from optuna_hdbo._study.values import check_target
from optuna_hdbo._study.values import maximised
from optuna_hdbo._study.values import observed
from optuna_hdbo._study.values import signs_of


if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_hdbo._study.values import Target


FENCE = 10.0
"""Values further outside of the middle 90 % than this many times its width are left out."""

LEAST, MOST_CONDITIONAL = 5, 64
"""Trials that must have a parameter which not all trials have, and most such parameters, for their
main effects to be in the model."""

ENOUGH = 8
"""Trials with another value than the most frequent one that are enough to assess a parameter. In
short studies a tenth of them is, but at least :data:`LEAST`."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What was fitted to a study's completed trials.

    Parameters
    ----------
    space : SearchSpace
        The parameters that are assessed, in natural order.
    trials : tuple of FrozenTrial
        Those that the model was fitted to.
    n_completed : int
        How many completed trials they are from.
    X : FloatArray, shape (n, D)
    values : FloatArray, shape (n,)
    left_out : Mapping of str to str
        The other parameters, with the reason.
    beside : Conditional, or None
        The parameters that not all trials have: their main effects are in the model.
    fit : Fit
    findings : Findings
    """

    space: SearchSpace
    trials: tuple[FrozenTrial, ...]
    n_completed: int
    X: FloatArray
    values: FloatArray
    left_out: Mapping[str, str]
    beside: Conditional | None
    fit: Fit
    findings: Findings

    def components(self) -> tuple[Components, float, float]:
        """Return the posterior of the terms, and the mean and the scale of the values."""
        y, shift, scale = standardise(self.values)
        with one_blas_thread():
            return Components(self.space.domain, self.X, y, self.fit, self.beside), shift, scale


def fitted_effects(study: Study, *, target: Target | None = None, n_trials: int = 300) -> Effects:
    """Fit the model; the arguments and errors are those of ``get_interactions``."""
    check_study(study)
    check_integer("n_trials", n_trials, 2)
    check_target(study, target)
    completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return fitted_to(study, completed, target, n_trials)


def fitted_to(
    study: Study,
    completed: Sequence[FrozenTrial],
    target: Target | None = None,
    n_trials: int = 300,
) -> Effects:
    """Fit the model to completed trials; see :func:`fitted_effects`."""
    space, left_out = assessed(completed)
    trials, X, values = observed(completed, space, space.distributions, target)
    kept = ordinary(values)
    if target is None:
        usual = maximised(study, values, are_feasible(trials), assessed=True)
        kept = kept[(usual == signs_of(study)[0] * values)[kept]]
    if len(kept) < 2 or not len(space.domain):
        raise ValueError(
            f"study must have two completed trials with finite values and a common parameter that "
            f"varies, but {study.study_name!r} has {len(kept)} such trials with "
            f"{len(space.domain)} such parameters."
        )
    if len(kept) > (most := operator.index(n_trials)):
        kept = kept[np.sort(np.random.default_rng(0).choice(len(kept), most, replace=False))]
    X, values = X[kept], values[kept]
    modelled = tuple(trials[i] for i in kept.tolist())
    space, X, constant = _without_constant(space, X)
    left_out |= dict.fromkeys(constant, "whose value hardly varies")
    beside = conditional(modelled)
    with one_blas_thread():
        search = Search(space.domain, X, standardise(values)[0], beside)
        findings = search.run()
    n = len(completed)
    return Effects(space, modelled, n, X, values, left_out, beside, search.fit, findings)


def _without_constant(
    space: SearchSpace, X: FloatArray
) -> tuple[SearchSpace, FloatArray, list[str]]:
    """Return the parameters and columns of X (n, D) that vary, and the names of the others.

    Terms of a constant parameter explain what terms without it do. There are no others where all
    are constant.
    """
    names, n = space.domain.names, len(X)
    least = min(max(LEAST, n // 10), ENOUGH, n - 1)
    varies = [n - int(np.unique(x, return_counts=True)[1].max()) >= least for x in X.T]
    if all(varies) or not any(varies):
        return space, X, []
    kept = {
        name: d for (name, d), on in zip(space.distributions.items(), varies, strict=True) if on
    }
    constant = [name for name, on in zip(names, varies, strict=True) if not on]
    return SearchSpace(kept), np.ascontiguousarray(X[:, varies]), sorted(constant, key=natural)


def assessed(completed: Sequence[FrozenTrial]) -> tuple[SearchSpace, dict[str, str]]:
    """Return the parameters that can be assessed, and the others with the reason."""
    space, left_out = {}, {}
    for name, (count, distribution) in sorted(
        ranges_of(completed).items(), key=lambda item: natural(item[0])
    ):
        if count < len(completed):
            left_out[name] = f"which only {count} of {len(completed)} completed trials have"
        elif distribution is None:
            left_out[name] = "whose scale or choices vary between trials"
        elif distribution.single():
            left_out[name] = "which has a single value"
        else:
            space[name] = distribution
    return SearchSpace(space), left_out


def conditional(trials: Sequence[FrozenTrial]) -> Conditional | None:
    """Return the parameters that some trials have, but not all; ``None`` without any.

    Those that fewer than :data:`LEAST` trials have are left out, and those that have not always
    had the same scale and choices.
    """
    counts: dict[str, int] = {}
    ranges: dict[str, BaseDistribution] = {}
    for name, (count, distribution) in ranges_of(trials).items():
        if LEAST <= count < len(trials) and distribution is not None and not distribution.single():
            counts[name], ranges[name] = count, distribution
    names = sorted(counts, key=lambda name: (-counts[name], natural(name)))[:MOST_CONDITIONAL]
    if not names:
        return None
    space = SearchSpace({name: ranges[name] for name in names}, required=())
    rows = [space.encode(trial.params) for trial in trials]
    active = [
        [row is not None and name in t.params for name in names]
        for t, row in zip(trials, rows, strict=True)
    ]
    X = np.array([space.domain.absent if row is None else row for row in rows])
    return Conditional(space.domain, X, np.array(active))


def ordinary(values: FloatArray) -> IntArray:
    """Return the rows of values (n,) that are not far outside of the others.

    A single diverged trial would otherwise be all that there is to explain.
    """
    if not len(values):
        return np.arange(0)
    with np.errstate(over="ignore"):
        low, high = np.quantile(values, [0.05, 0.95])
        reach = FENCE * (high - low)
        inside = (values >= low - reach) & (values <= high + reach)
    return np.flatnonzero(inside | (reach == 0.0))


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts x2 before x10."""
    pieces = [p.lstrip("0") if p.isdecimal() else p for p in re.split(r"(\d+)", name) if p]
    return [(0, len(p), p) if p.isdecimal() or not p else (1, 0, p) for p in pieces]
