"""Which of many observations a model uses."""

from __future__ import annotations

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import make_kernel

from optuna_hdbo._core.observations import MOST_MODELLED
from optuna_hdbo._core.observations import RENEWAL
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.surrogate import FactorCache
from optuna_hdbo._core.surrogate import Fitted


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
        kept = old.posterior(fitted, {"fit": 1}, X[:m], Y[:m], nothing)
        fresh = FactorCache().posterior(fitted, {"fit": 1}, X[:m], Y[:m], nothing)
        assert len(kept.X) < MOST_MODELLED + RENEWAL
        for one, other in zip(kept.predict(Z), fresh.predict(Z), strict=True):
            assert np.array_equal(one, other)
