"""The isotropic process against the general one and its fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import Ledger
from histories import make_domain
from scipy.optimize import check_grad

from optuna_hdbo._core.gp.fit import fit
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo._core.gp.prior import Bounds
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.isotropic import IsotropicModel
from optuna_hdbo._core.models.isotropic import fit_isotropic
from optuna_hdbo._core.models.isotropic import log_posterior
from optuna_hdbo._core.models.isotropic import squared_distances
from optuna_hdbo.methods.base import Record


KINDS = ["se", "matern32", "matern52"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["continuous", "mixed"])
def test_the_likelihood_is_that_of_the_general_process(kind: str, name: str) -> None:
    domain = DOMAINS[name]
    seen = Ledger.started(domain, 9).seen()
    theta = np.log([0.8, 1.7, 0.03])
    flat = Prior("flat", scale=False, noise=False)
    r2 = squared_distances(domain, seen.X)
    value, gradient = log_posterior(theta, kind, r2, seen.y, flat)
    kernel = cold_start(domain, kind, [np.arange(len(domain))], 0.8, 0.03)
    kernel.scales[:] = 1.7
    expected, by_lengthscale, by_scale, by_noise = log_likelihood(kernel, seen.X, seen.y)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(
        gradient, [by_lengthscale.sum(), by_scale[0], by_noise], rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", ["inverse-square", "dimension-scaled", "flat"])
def test_the_gradient_of_the_posterior(kind: str, prior: Any) -> None:
    domain = DOMAINS["mixed"]
    seen = Ledger.started(domain, 9).seen()
    r2 = squared_distances(domain, seen.X)
    density = Prior(prior, len(domain))
    error = check_grad(
        lambda t: log_posterior(t, kind, r2, seen.y, density)[0],
        lambda t: log_posterior(t, kind, r2, seen.y, density)[1],
        np.log([0.6, 0.9, 0.05]),
    )
    assert error < 1e-4


def test_the_fit_is_as_good_as_the_general_one() -> None:
    domain = make_domain(*[None] * 4)
    seen = Ledger.started(domain, 20, lambda x: math.sin(4 * x[0]) + x[1] * x[2]).seen()
    prior = Prior("dimension-scaled", 4)
    cold = cold_start(domain, "matern52", [np.arange(4)], 0.5, 1e-3)
    _, expected = fit(
        cold,
        seen.X,
        seen.y,
        prior=prior,
        bounds=Bounds(),
        lengthscales="all",
        starts=[cold],
    )
    r2 = squared_distances(domain, seen.X)
    _, value = fit_isotropic(
        lambda theta: log_posterior(theta, "matern52", r2, seen.y, prior), cold, None, 20
    )
    assert value == pytest.approx(expected, abs=1e-3)


def test_records_are_small_and_read_back() -> None:
    domain = make_domain(*[None] * 300)
    ledger = Ledger.started(domain, 8)
    memory = Memory()
    posterior = IsotropicModel("matern52").posterior(domain, ledger.seen(), memory)
    assert len(str(memory.kept)) < 300
    later = Memory([Record(8, "complete", memory.kept)])
    again = IsotropicModel("matern52").posterior(domain, ledger.seen(), later)
    assert later.kept == {}
    assert np.array_equal(posterior.linv, again.linv)


@pytest.mark.parametrize(
    "change",
    [
        {"groups": 4},
        {"kind": "rbf"},
        {"lengthscales": [-1.0]},
        {"lengthscales": [0.5, 0.5]},
        {"scales": [math.nan]},
        {"noise": "much"},
        {"log_likelihood": math.inf},
        {"n": None},
        {"cycle": -1},
    ],
)
def test_foreign_records_are_passed_over(change: dict[str, Any]) -> None:
    domain = make_domain(*[None] * 5)
    ledger = Ledger.started(domain, 8)
    memory = Memory()
    IsotropicModel("matern52").posterior(domain, ledger.seen(), memory)
    ((key, fit),) = memory.kept.items()
    for data in ({key: {**fit, **change}}, {key: 5}, {key: None}, {key: []}):
        later = Memory([Record(8, "complete", data)])
        IsotropicModel("matern52").posterior(domain, ledger.seen(), later)
        assert key in later.kept
