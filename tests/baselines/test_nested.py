"""Embeddings that follow each other, embeddings that grow, and the prior of sparse subspaces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from histories import make_domain
from scipy.stats import halfcauchy

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.embeddings.inside import KEY
from optuna_hdbo._core.embeddings.inside import places
from optuna_hdbo._core.gp.prior import Prior
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.baselines.baxus import BAxUS
from optuna_hdbo.methods.baselines.baxus import Plan
from optuna_hdbo.methods.baselines.baxus import binned
from optuna_hdbo.methods.baselines.baxus import follow
from optuna_hdbo.methods.baselines.baxus import lifted
from optuna_hdbo.methods.baselines.saasbo import SAASBO
from optuna_hdbo.methods.baselines.saasbo import taus
from optuna_hdbo.methods.baselines.sre import SRE
from optuna_hdbo.methods.baselines.sre import through


# SAASBO ------------------------------------------------------------------------------------------


def test_taus_share_their_prior_equally() -> None:
    expected = halfcauchy(scale=0.1).ppf([0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(taus(4), expected, rtol=5e-3)


@pytest.mark.parametrize("tau", [0.02, 0.5])
def test_the_prior_is_half_cauchy_in_the_inverse_squares(tau: float) -> None:
    lengthscales = np.array([0.2, 1.0, 30.0])
    expected = halfcauchy(scale=tau).logpdf(lengthscales**-2.0).sum()
    constant = 3 * halfcauchy(scale=tau).logpdf(0.0)
    value, _ = Prior("sparse", tau=tau).of_lengthscales(np.log(lengthscales))
    assert value == pytest.approx(expected - constant)


def test_every_tau_has_a_model_of_its_own() -> None:
    ledger = Ledger.started(make_domain(None, None), 5)
    suggestion = SAASBO(n_models=3).suggest(ledger.domain, ledger.seen(), Streams(0))
    fits = [key for key in suggestion.record or {} if "evidence" not in key]
    assert sorted(fits) == sorted(f"saas:sparse:{tau:g}" for tau in taus(3))


# sequential random embeddings --------------------------------------------------------------------


def test_an_embedding_goes_through_its_point() -> None:
    """x = alpha x~ + A y: alpha = 1 and y = 0 is the point, alpha = -1 its mirror image."""
    domain = Domain.continuous(7)
    x = domain.sample(np.random.default_rng(0), 1)[0]
    embedding = through(domain, x, 2, 5)
    U = np.array([[1.0, 0.5, 0.5], [0.0, 0.5, 0.5], [0.5, 0.8, 0.5]])
    X = embedding.points(U)
    np.testing.assert_allclose(X[0], x, atol=1e-12)
    np.testing.assert_allclose(X[1], 1.0 - x, atol=1e-12)
    y = math.sqrt(2.0) * np.array([0.6, 0.0])
    expected = np.clip(embedding.matrix[:, 1:] @ y, -1.0, 1.0)
    np.testing.assert_allclose(2.0 * X[2] - 1.0, expected, atol=1e-12)


def test_a_stage_begins_at_the_best_trial() -> None:
    ledger = Ledger.started(Domain.continuous(6), 1)
    ledger.run(SRE(d=2, n_stage=4, n_init=2), 10)
    found = [record.data[KEY] for record in ledger.records]
    assert [data["part"] for data in found] == [0] * 4 + [1] * 4 + [2] * 2
    for data, before in ((found[4], 5), (found[8], 9)):
        assert data["base"] == int(np.argmax(ledger.values[:before]))
        assert len(data["u"]) == 3
    assert "base" not in found[0]


# BAxUS -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 2, 3, 7, 20, 100, 1000])
@pytest.mark.parametrize("b", [1, 3])
def test_the_plan_is_that_of_the_paper(n_columns: int, b: int) -> None:
    """The first number of coordinates and the budget of a level, as Algorithm 1 has them."""
    plan = Plan(n_columns, b, 200)
    n_splits = round(math.log(n_columns, b + 1))
    ends = [abs(i * (1 + b) ** n_splits - n_columns) for i in range(1, b + 1)]
    first = min(1 + ends.index(min(ends)), n_columns)
    assert (plan.n_splits, plan.first) == (n_splits, first)
    sizes = [plan.n_coordinates(level) for level in range(n_splits + 3)]
    assert sizes == [min(first * (b + 1) ** level, n_columns) for level in range(n_splits + 3)]
    budget = round(-(b * 200 * sizes[0]) / (first * (1 - (b + 1) ** (n_splits + 1))))
    assert plan.n_failures(0) == max(1, min(sizes[0], budget // 6))


def test_bins_are_balanced_and_nested() -> None:
    domain = Domain.continuous(50)
    plan = Plan(50, 3, 200)
    u = np.random.default_rng(0).random(plan.n_coordinates(0))
    points = []
    for level in range(3):
        d = plan.n_coordinates(level)
        embedding = binned(domain, d, 3)
        sizes = np.abs(embedding.matrix).sum(axis=0)
        assert sizes.max() - sizes.min() <= 1.0
        points.append(embedding.points(u[np.arange(d) % len(u)][None])[0])
    np.testing.assert_array_equal(points[0], points[1])
    np.testing.assert_array_equal(points[0], points[2])


def test_trials_of_earlier_levels_are_kept() -> None:
    ledger = Ledger.started(Domain.continuous(30), 1, lambda x: 0.0)  # nothing ever succeeds
    ledger.run(BAxUS(budget=12, n_init=3), affordable(24, 12))
    parts = [record.data[KEY]["part"] for record in ledger.records]
    if affordable(1, 0):
        assert max(parts) > 0
    assert parts == sorted(parts)
    key = ledger.records[0].data[KEY]["key"]
    d = len(ledger.records[-1].data[KEY]["u"])
    embedding = binned(ledger.domain, d, key)
    inside = lifted(embedding, ledger.seen(), places(ledger.seen(), key))
    assert len(inside.X) == len(ledger.records)
    np.testing.assert_allclose(embedding.points(inside.X), ledger.seen().X[1:], atol=1e-9)


def written(states: str) -> Ledger:
    """Return a history whose embedded trials are better (+) or worse (-) than all before."""
    ledger = Ledger(Domain.continuous(2))
    high = low = 0.0
    for i, state in enumerate(states):
        high, low = (high + 1.0, low) if state == "+" else (high, low - 1.0)
        data = {KEY: {"key": 1, "part": 0, "u": [0.5]}}
        ledger.records.append(Record(i, "complete", data))
        ledger.X.append(np.array([0.1, 0.1]) + 0.01 * i)
        ledger.values.append(high if state == "+" else low)
    return ledger


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("+-", (0, 0.8)),
        ("+-+++", (0, 1.6)),
        ("+-++-++", (0, 0.4)),
        ("+--", (0, 0.4)),
        ("+-" + "-" * 6, (0, 0.8 / 2**6)),
        ("+-" + "-" * 7, (1, 0.8)),
    ],
)
def test_the_region_shrinks_and_bins_are_split(states: str, expected: tuple[int, float]) -> None:
    """One coordinate has the patience of one failure; the first two trials are the start."""
    ledger, plan = written(states), Plan(2, 1, 2)
    assert plan.n_failures(0) == 1
    assert follow(ledger.seen(), places(ledger.seen(), 1), plan, 2) == pytest.approx(expected)


def test_an_optimum_of_few_of_many_columns_is_found() -> None:
    ledger = Ledger.started(
        Domain.continuous(30), 1, lambda x: -float((x[3] - 0.7) ** 2 + (x[11] - 0.4) ** 2)
    )
    ledger.run(BAxUS(budget=30), affordable(50, 10))
    assert max(ledger.values) > affordable(-0.02, -0.5)
