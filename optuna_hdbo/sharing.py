"""How probable it is that two parameters share a group of an additive model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.trial import TrialState

from optuna_hdbo._core.blas import one_blas_thread
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.models.groupings.evidence import NOISES
from optuna_hdbo._core.models.groupings.evidence import Evidence
from optuna_hdbo._core.models.groupings.packed import compared
from optuna_hdbo._core.models.groupings.sampling import together
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._study.values import observed
from optuna_hdbo.effects import assessed
from optuna_hdbo.effects import ordinary


if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


MOST_TOGETHER = 5
"""Most parameters in a group, unless the sampler has a larger group."""

LEAST_NOISE = 1e-5
"""A further share of noise, smaller than those by which groups are searched for. Values without
noise that crowd around an optimum are told apart by less."""


def sharing_probabilities(
    trials: Sequence[FrozenTrial], fit: Any, n_sweeps: int
) -> dict[frozenset[str], float]:
    """Return the probabilities of all pairs of parameters, by Gibbs sampling of groupings.

    Parameters
    ----------
    trials : sequence of FrozenTrial
        The completed ones count, with values that are not far outside of all others.
    fit : Any
        JSON object of the sampler's additive model. The chain starts from its groups.
    n_sweeps : int

    Returns
    -------
    dict of frozenset of str to float
        Empty where the completed trials do not have exactly the parameters of the fit, where a
        range has changed, because lengthscales are relative to it, and for fewer than two trials.
    """
    completed = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    space, _ = assessed(completed)
    if any(t.distributions[n] != d for t in completed for n, d in space.distributions.items()):
        return {}
    _, X, values = observed(completed, space, space.distributions)
    kept, names = ordinary(values), space.domain.names
    fitted = Fitted.from_json(fit, space.domain)
    if fitted is None or len(kept) < 2 or len(fitted.kernel.columns) < len(names):
        return {}
    rng = np.random.default_rng(0)
    points = compared(X[kept], standardise(values[kept])[0], 3 * len(names), rng)
    groups = [group.tolist() for group in fitted.kernel.groups]
    size = max(MOST_TOGETHER, *map(len, groups))
    evidence = Evidence(fitted.kernel, *points, noises=(LEAST_NOISE, *NOISES))
    with one_blas_thread():
        found = together(evidence, groups, size, n_sweeps, rng)
    return {
        frozenset((a, b)): float(found[i, j])
        for (i, a), (j, b) in combinations(enumerate(names), 2)
    }
