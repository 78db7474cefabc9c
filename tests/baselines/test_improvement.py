"""Improvements, their probability, and both maximisers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import reference_mi
from histories import Ledger
from histories import affordable
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from scipy.stats import norm

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.baselines.improvement import EI
from optuna_hdbo.methods.baselines.improvement import PI


def peak(x: np.ndarray) -> float:
    return -float(((x - np.array([0.3, 0.8])) ** 2).sum())


def test_the_probability_of_improvement_is_that_of_the_posterior() -> None:
    domain = make_domain(None, None)
    posterior, _, _ = make_posterior(domain, make_kernel(domain), n=8)
    Z = domain.sample(np.random.default_rng(0), 6)
    mean, variance = posterior.predict(Z)
    acquisition = Analytic.log_pi(posterior, 0.7)
    expected = norm.logsf(0.7, mean, np.sqrt(variance))
    np.testing.assert_allclose(acquisition(Z), expected, rtol=1e-6, atol=1e-12)
    value, slope = acquisition.slope(Z[5])
    step = np.array([1e-6, 0.0])
    difference = (acquisition((Z[5] + step)[None]) - acquisition((Z[5] - step)[None]))[0] / 2e-6
    assert value == pytest.approx(acquisition(Z[5:])[0])
    assert slope[0] == pytest.approx(difference, rel=1e-4)


@pytest.mark.parametrize("method", [EI, PI])
def test_both_maximisers_find_the_same_point(method: type[EI]) -> None:
    """On a smooth acquisition over two columns: brute force is the third."""
    ledger = Ledger.started(make_domain(None, None), 8, peak)
    points = [
        method(maximiser=maximiser, margin=0.1).suggest(ledger.domain, ledger.seen(), Streams(0)).x  # type: ignore[arg-type]
        for maximiser in ("gradient", "direct")
    ]
    if affordable(1, 0):
        assert np.abs(points[0] - points[1]).max() < 0.02
    assert math.dist(points[0], [0.3, 0.8]) < affordable(30, 100) / 100


def test_a_larger_margin_asks_further_away() -> None:
    ledger = Ledger.started(make_domain(None, None), 8, peak)
    best = ledger.X[int(np.argmax(ledger.values))]
    near, far = (
        PI(margin=margin).suggest(ledger.domain, ledger.seen(), Streams(0)).x
        for margin in (0.0, 2.0)
    )
    assert math.dist(near, best) < math.dist(far, best)


@pytest.mark.parametrize("maximiser", ["gradient", "direct"])
@pytest.mark.parametrize("kind", ["se", "matern3"])
def test_known_hyperparameters_are_used_and_nothing_is_fitted(kind: str, maximiser: str) -> None:
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 8, peak)
    seen = ledger.seen()
    params = {"lengthscale": {"x0": 0.3, "x1": 0.6}, "scale": 1.5, "noise": 1e-3}
    method = EI(kernel=kind, kernel_params=params, maximiser=maximiser)  # type: ignore[arg-type]
    suggestion = method.suggest(domain, seen, Streams(0))
    assert not suggestion.record
    kernel = replace(
        make_kernel(domain, kind=kind),
        lengthscales=np.array([0.3, 0.6]),
        scales=np.array([1.5]),
        noise=1e-3,
    )

    def moments(x: np.ndarray) -> tuple[float, float]:
        return reference_mi.posterior(kernel, seen.X, seen.y, x)

    largest = max(moments(x)[0] for x in seen.X)

    def improvement(x: np.ndarray) -> float:
        mean, variance = moments(x)
        z = (mean - largest) / math.sqrt(variance)
        return float(math.sqrt(variance) * (norm.pdf(z) + z * norm.cdf(z)))

    others = np.random.default_rng(0).random((60, 2))
    assert improvement(suggestion.x) >= max(improvement(x) for x in others) * 0.99
    predicted = seen.in_units(moments(suggestion.x)[0])
    assert suggestion.report["predicted"] == pytest.approx(predicted, abs=1e-8)


@pytest.mark.parametrize("method", [EI, PI])
def test_known_hyperparameters_must_fit_the_parameters(method: type[EI]) -> None:
    with pytest.raises(ValueError, match=r"^kernel must be one of .* without kernel_params"):
        method(kernel="matern3")
    with pytest.raises(ValueError, match="kernel must be one of"):
        method(kernel="cubic")
    with pytest.raises(ValueError, match="must name every parameter of the study"):
        method(kernel_params={"lengthscale": {"x0": 0.3}}).validate(make_domain(None, None))
