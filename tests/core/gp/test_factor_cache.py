"""A cached factor is used as far as its points are still those of the study, and no further."""

from __future__ import annotations

import numpy as np
import pytest
from histories import make_domain
from histories import make_kernel

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.posterior import Factor


DOMAIN = make_domain(*[None] * 12)
N_FITTED = 2


def history() -> tuple[Fitted, FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = DOMAIN.sample(rng, 9)
    return Fitted(make_kernel(DOMAIN), N_FITTED, 0, 0.0), X, rng.standard_normal(9)


@pytest.mark.parametrize("row", [0, 3, 5, 8])
@pytest.mark.parametrize("column", [0, 11])
def test_a_point_that_has_changed_in_one_column_is_not_the_same(row: int, column: int) -> None:
    fitted, X, y = history()
    cache = FactorCache()
    cache.posterior(fitted, X, y, X[:0])
    X = X.copy()
    X[row, column] = 1.0 - X[row, column]
    cached = cache.posterior(fitted, X, y, X[:0])
    fresh = FactorCache().posterior(fitted, X, y, X[:0])
    np.testing.assert_array_equal(cached.X, X)
    np.testing.assert_array_equal(cached.alpha, fresh.alpha)


def test_a_factor_that_was_left_halfway_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted, X, y = history()
    cache = FactorCache()
    cache.posterior(fitted, X[:4], y[:4], X[:0])
    append = Factor.append

    def interrupted(self: Factor, more: FloatArray) -> None:
        self.X = np.concatenate([self.X, more])  # its other arrays have not grown yet
        raise KeyboardInterrupt

    monkeypatch.setattr(Factor, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.posterior(fitted, X, y, X[:0])
    monkeypatch.setattr(Factor, "append", append)
    cached = cache.posterior(fitted, X, y, X[:0])
    fresh = FactorCache().posterior(fitted, X, y, X[:0])
    np.testing.assert_array_equal(cached.alpha, fresh.alpha)
