"""Prequential evidence: against Gaussian processes conditioned anew at every step."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from histories import make_domain
from histories import make_kernel
from scipy import stats

from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.models.evidence import FORGETTING
from optuna_hdbo._core.models.evidence import MOST_NATS
from optuna_hdbo._core.models.evidence import MOST_SQUARE
from optuna_hdbo._core.models.evidence import Evidence
from optuna_hdbo._core.models.evidence import one_step_ahead
from optuna_hdbo._core.models.evidence import shares
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.outputs import warped_output


DOMAIN = make_domain(None, None, "3")
N, N_FITTED = 14, 9


def observations(scale: float = 1.0) -> Observations:
    rng = np.random.default_rng(3)
    X = DOMAIN.sample(rng, N)
    return Observations.from_arrays(X, scale * np.exp(2.0 * rng.standard_normal(N)))


def posterior_of(seen: Observations, noise: float = 0.1) -> Posterior:
    return Posterior(Factor(make_kernel(DOMAIN, noise=noise), seen.X), seen.y)


@pytest.mark.parametrize("warped", [False, True])
def test_each_value_is_predicted_from_those_before_it(warped: bool) -> None:
    plain = observations(7.0)
    seen = plain.warped(warped_output(plain.values)) if warped else plain
    gains, squares = one_step_ahead(posterior_of(seen), N_FITTED, seen, plain)
    assert len(gains) == len(squares) == N - N_FITTED
    for t, gain, square in zip(range(N_FITTED, N), gains, squares, strict=True):
        before = Posterior(Factor(make_kernel(DOMAIN, noise=0.1), seen.X[:t]), seen.y[:t])
        mean, var = before.predict(seen.X[t : t + 1])
        std = float(np.sqrt(var[0] + 0.1))
        # d y / d value, by differences
        step = 1e-5 * plain.scale
        moved = Observations.from_arrays(plain.X, plain.values)
        if warped:
            assert seen.output is not None
            ends = seen.output(np.array([plain.values[t] - step, plain.values[t] + step]))
            slope = float(ends[1] - ends[0]) / (2.0 * step) / seen.scale
        else:
            slope = 1.0 / moved.scale
        density = stats.norm.logpdf(seen.y[t], float(mean[0]), std) + np.log(slope)
        baseline = stats.norm.logpdf(plain.values[t], plain.shift, plain.scale)
        assert gain == pytest.approx(density - baseline, abs=1e-4)
        assert square == pytest.approx(((seen.y[t] - float(mean[0])) / std) ** 2)


def test_evidence_forgets_and_is_the_same_in_one_go() -> None:
    plain = observations()
    posterior = posterior_of(plain)
    gains, _ = one_step_ahead(posterior, N_FITTED, plain, plain)
    evidence = Evidence().after(posterior, N_FITTED, plain, plain)
    weights = FORGETTING ** np.arange(len(gains))[::-1]
    assert evidence.nats == pytest.approx(float(weights @ np.clip(gains, -MOST_NATS, MOST_NATS)))
    assert evidence.weight == pytest.approx(float(weights.sum()))
    assert Evidence(1.0, 2.0, 3.0).after(posterior, N, plain, plain) == Evidence(1.0, 2.0, 3.0)


def test_a_surprise_counts_only_so_much() -> None:
    plain = observations()
    posterior = posterior_of(plain, noise=1e-4)
    gains, squares = one_step_ahead(posterior, N_FITTED, plain, plain)
    assert gains.min() < -MOST_NATS
    assert squares.max() > MOST_SQUARE
    evidence = Evidence().after(posterior, N_FITTED, plain, plain)
    weights = FORGETTING ** np.arange(len(gains))[::-1]
    assert evidence.nats == pytest.approx(float(weights @ np.clip(gains, -MOST_NATS, MOST_NATS)))
    assert evidence.squares == pytest.approx(float(weights @ np.minimum(squares, MOST_SQUARE)))


def test_of_the_modelled_observations_those_after_the_fit_are_predicted() -> None:
    plain, rows = observations(), np.array([0, 1, 3, 4, 6, 8, 9, 10, 12, 13])
    kernel, X, y = make_kernel(DOMAIN, noise=0.1), plain.X[rows], plain.y[rows]
    posterior = Posterior(Factor(kernel, X), y, rows)
    _, squares = one_step_ahead(posterior, N_FITTED, plain, plain)
    expected = []
    for i in np.flatnonzero(rows >= N_FITTED):
        mean, var = Posterior(Factor(kernel, X[:i]), y[:i]).predict(X[i : i + 1])
        expected.append((y[i] - mean[0]) ** 2 / (var[0] + 0.1))
    assert squares == pytest.approx(np.array(expected))


def test_units_do_not_matter() -> None:
    small, large = observations(1e-6), observations(1e6)
    found = [Evidence().after(posterior_of(s), N_FITTED, s, s).nats for s in (small, large)]
    assert found[0] == pytest.approx(found[1])


def test_overconfident_models_are_widened_and_honest_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    seen = Observations.from_arrays(rng.random((200, 3)), rng.standard_normal(200))
    domain = make_domain(None, None, None)
    inflations = [
        Evidence().after(Posterior(Factor(kernel, seen.X), seen.y), 100, seen, seen).inflation
        for kernel in (make_kernel(domain, noise=noise, kind="matern52") for noise in (1e-6, 1.0))
    ]
    assert inflations[0] > 2.0
    assert inflations[1] == pytest.approx(1.0, abs=0.5)
    assert Evidence().inflation == 1.0


def test_more_evidence_is_asked_more_often() -> None:
    asked = [shares(np.array([gain, 0.0]), 0.5, 0.05)[0] for gain in np.linspace(-30, 30, 21)]
    assert asked == sorted(asked)
    assert asked[10] == pytest.approx(0.5)
    for nats in ([900.0, 0.0, 0.0], [0.0, 8.8, 9.0], [-1e6, 0.0, -1.0]):
        share = shares(np.array(nats), 0.5, 0.05)
        assert share.sum() == pytest.approx(1.0)
        assert share.min() >= 0.04
        assert np.argmax(share) == np.argmax(nats)


def test_records_are_read_as_they_were_written() -> None:
    evidence = Evidence(-1.25, 3.5, 2.0)
    assert Evidence.from_json(json.loads(json.dumps(evidence.to_json()))) == evidence


@pytest.mark.parametrize(
    "data", [None, {}, [], [1.0, 2.0], [1.0, -1.0, 1.0], ["1", 1.0, 1.0], [True, 1.0, 1.0]]
)
def test_foreign_records_are_passed_over(data: Any) -> None:
    assert Evidence.from_json(data) is None
    assert Evidence.from_json([10**400, 1.0, 1.0]) is None
