"""Which of many observations a model uses, and how it sees their values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import make_kernel

from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.observations import MOST_MODELLED
from optuna_hdbo._core.observations import RENEWAL
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.outputs import standardise


Y = np.random.default_rng(0).standard_normal(3000)


@pytest.mark.parametrize("n", [1, 10, MOST_MODELLED, MOST_MODELLED + RENEWAL - 1])
def test_few_are_all_used(n: int) -> None:
    assert modelled_rows(Y[:n]) is None


@pytest.mark.parametrize("n", [450, 451, 777, 2999])
def test_of_many_the_best_and_the_latest_are_used(n: int) -> None:
    rows = modelled_rows(Y[:n])
    assert rows is not None
    first = n // RENEWAL * RENEWAL
    assert len(rows) == MOST_MODELLED + n - first
    assert np.all(np.diff(rows) > 0)
    best = np.argsort(-Y[:first])[: MOST_MODELLED // 2]
    assert set(best) <= set(rows.tolist())
    assert set(range(first, n)) <= set(rows.tolist())
    others = np.setdiff1d(rows[rows < first], best)
    assert len(others) == MOST_MODELLED - MOST_MODELLED // 2


def test_a_choice_holds_until_it_is_renewed() -> None:
    start, later = modelled_rows(Y[:500]), modelled_rows(Y[:549])
    assert start is not None
    assert later is not None
    assert np.array_equal(later[: len(start)], start)
    assert not np.array_equal(modelled_rows(Y[:550]), later)


@pytest.mark.skipif(INTERPRETED, reason="needs more points than plain Python can pay for")
def test_a_long_lived_factor_and_a_fresh_one_agree() -> None:
    domain = DOMAINS["continuous"]
    kernel = make_kernel(domain)
    n = 560
    X = domain.sample(np.random.default_rng(1), n)
    fitted = Fitted(kernel, 440, 0, 0.0)
    old, nothing = FactorCache(), np.empty((0, 5))
    Z = domain.sample(np.random.default_rng(2), 5)
    for m in (*range(448, 453), n - 1, n):
        kept = old.posterior(fitted, X[:m], Y[:m], nothing)
        fresh = FactorCache().posterior(fitted, X[:m], Y[:m], nothing)
        assert len(kept.X) < MOST_MODELLED + RENEWAL
        for one, other in zip(kept.predict(Z), fresh.predict(Z), strict=True):
            assert np.array_equal(one, other)


def observed(values: np.ndarray) -> Observations:
    return Observations.from_arrays(np.zeros((len(values), 1)), values)


def test_values_of_short_studies_are_only_standardised() -> None:
    values = 7.0 - 3.0 * Y[: MOST_MODELLED + RENEWAL - 1]
    assert np.array_equal(observed(values).y, standardise(values)[0])


VALUES: dict[str, np.ndarray] = {
    "normal": Y[:700],
    "a startup, then small steps": np.concatenate([-1e6 * np.abs(Y[:50]), 1e-3 * Y[50:700]]),
    "one outlier": np.where(np.arange(700) == 3, -1e300, Y[:700]),
    "huge": 1e308 * np.sign(Y[:700]),
    "equal": np.full(700, 3.0),
    "two values": np.where(Y[:700] > 2.0, 1.0, 0.0),
    "many best": np.minimum(Y[:700], 0.0),
    "infinite": np.where(Y[:700] > 0.0, Y[:700], -np.inf),
    "nothing finite": np.where(Y[:700] > 0.0, np.inf, -np.inf),
}


@pytest.mark.parametrize("name", list(VALUES))
def test_values_of_long_studies_keep_their_order(name: str) -> None:
    values = VALUES[name]
    y = observed(values).y
    assert np.isfinite(y).all()
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(y[order]) >= 0.0)
    if name != "equal" and "finite" not in name:
        assert abs(y.mean()) < 1e-9
        assert y.std() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["normal", "a startup, then small steps"])
def test_the_best_values_of_long_studies_are_told_apart_and_have_units(name: str) -> None:
    values = 1e4 + 50.0 * VALUES[name]
    seen = observed(values)
    best = values >= np.sort(values)[-MOST_MODELLED // 2]
    assert best.sum() == MOST_MODELLED // 2
    assert seen.y[best].std() > 0.1
    np.testing.assert_allclose([seen.in_units(y) for y in seen.y[best]], values[best], rtol=1e-9)
    assert len(set(seen.y[~best])) == 1
    apart = replace(seen, in_focus=False)
    assert np.array_equal(apart.y, standardise(values)[0])
    assert np.array_equal(apart.at(np.arange(len(values))).modelled_values, values)


def test_what_is_feasible_decides_which_values_are_told_apart() -> None:
    """Three hundred better ones are forbidden."""
    n = 700
    values = np.where(np.arange(n) % 7 < 3, 10.0 + Y[:n], 1e-3 * Y[:n])
    allowed = values < 5.0
    told = np.where(allowed, np.where(np.arange(n) % 2, -1.0, np.nan), 1e300)
    seen = replace(observed(values), constraints=told[:, None])
    assert np.array_equal(seen.feasible, allowed)
    best = np.argsort(np.where(allowed, -values, np.inf))[: MOST_MODELLED // 2]
    assert np.all(np.diff(seen.y[best]) < 0.0)
    none = replace(seen, constraints=np.ones((n, 1)))
    assert np.array_equal(none.y, standardise(values)[0])


def test_observations_share_rows_only_where_memory_is_the_same() -> None:
    X, values = np.random.default_rng(0).random((9, 2)), np.arange(9.0)
    numbers = np.arange(9)

    def of(n: int, X: np.ndarray, values: np.ndarray) -> Observations:
        seen = Observations.from_arrays(X[:n], values[:n])
        return replace(seen, values=values[:n], numbers=numbers[:n])

    assert of(3, X, values).shares_rows_with(of(7, X, values))
    assert not of(3, X, values).shares_rows_with(of(7, X, values.copy()))
    assert not of(3, X, values).shares_rows_with(of(7, X.copy(), values))
    own = replace(of(3, X, values), values=values[:3].copy())
    assert not own.shares_rows_with(own)


def test_what_is_expected_beyond_the_worst_value_is_not_sure() -> None:
    seen = observed(np.exp(Y[:40]))
    warped = seen.warped(seen.likeliest_output)
    for beyond in (0.1, 3.0, 30.0):
        assert warped.std_in_units(float(warped.y.min()) - beyond, 0.05) > 0.0
