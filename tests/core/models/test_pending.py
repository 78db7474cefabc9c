"""Points that others evaluate are known to every model: in its variances, not in its means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from histories import make_domain

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.additive import AdditiveModel
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import ALL_MATTER_WARPED
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.isotropic import IsotropicModel
from optuna_hdbo._core.models.selected import SelectedModel
from optuna_hdbo._core.observations import Observations


DOMAIN = make_domain(None, None, None)

Model = Callable[[Observations, Memory], Posterior]


def plain(seen: Observations, memory: Memory) -> Posterior:
    models = Ensemble("matern52", True, (ALL_MATTER,))
    return models.believed(DOMAIN, seen, ALL_MATTER, memory).posterior


def warped(seen: Observations, memory: Memory) -> Posterior:
    models = Ensemble("matern52", True, (ALL_MATTER_WARPED,))
    return models.believed(DOMAIN, seen, ALL_MATTER_WARPED, memory).posterior


def isotropic(seen: Observations, memory: Memory) -> Posterior:
    return IsotropicModel("matern52").posterior(DOMAIN, seen, memory)


def additive(seen: Observations, memory: Memory) -> Posterior:
    model = AdditiveModel("matern52", 2, (("x0", "x2"), ("x1",)))
    fitted: Fitted = model.fitted(DOMAIN, seen, memory, np.random.default_rng(0))
    return model.posterior(fitted, seen)


def whole(seen: Observations, memory: Memory) -> Posterior:
    model = SelectedModel("matern52", "loss", 0.0, 10, None, True, False)
    return model.whole(DOMAIN, seen, memory, renew=True)


@pytest.mark.parametrize("model", [plain, warped, isotropic, additive, whole])
def test_pending_points_are_known_to_every_model(model: Model) -> None:
    rng = np.random.default_rng(0)
    X, pending = DOMAIN.sample(rng, 10), DOMAIN.sample(rng, 2)
    seen = Observations.from_arrays(X, np.sin(5.0 * X).sum(axis=1))
    alone, beside = (model(s, Memory()) for s in (seen, replace(seen, pending=pending)))
    np.testing.assert_array_equal(beside.X, np.concatenate([X, pending]))
    means: list[FloatArray] = []
    variances: list[FloatArray] = []
    for posterior in (alone, beside):
        mean, variance = posterior.predict(pending)
        means.append(mean)
        variances.append(variance)
    assert means[1] == pytest.approx(means[0])
    assert (variances[1] < 0.9 * variances[0]).all()
