"""Ensembles: what pooled lengthscales are for, and how beliefs are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from histories import make_domain

from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models import ensemble as module
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import HEAD_START
from optuna_hdbo._core.models.ensemble import LEAST_POOLED
from optuna_hdbo._core.models.ensemble import LEAST_POOLED_OF_PART
from optuna_hdbo._core.models.ensemble import NONE_INTERACT
from optuna_hdbo._core.models.ensemble import Belief
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.ensemble import draw_model
from optuna_hdbo._core.models.evidence import Evidence
from optuna_hdbo._core.models.subsets import restricted
from optuna_hdbo._core.observations import Observations


POOLED = replace(ALL_MATTER, pooled=True)
N_COLUMNS = 8
DOMAIN = make_domain(*[None] * N_COLUMNS)


def function(X: FloatArray, n_important: int) -> FloatArray:
    """A bowl in some columns, which matter alike."""
    return -(np.asarray((X[:, :n_important] - 0.4) ** 2).sum(axis=1) ** 0.7)


def log_density_of_new_values(belief: Belief, n: int, n_important: int) -> float:
    """Return the mean one, under a fit to n random points."""
    rng = np.random.default_rng(n)
    X, Z = rng.random((n, N_COLUMNS)), rng.random((200, N_COLUMNS))
    y = function(X, n_important)
    seen = Observations.from_arrays(X, y)
    ensemble = Ensemble("matern52", True, (belief,))
    posterior = ensemble.believed(DOMAIN, seen, belief, Memory()).posterior
    mean, variance = posterior.predict(Z)
    error = (function(Z, n_important) - seen.values.mean()) / seen.scale - mean
    return float((-0.5 * np.log(variance) - 0.5 * error**2 / variance).mean())


@pytest.mark.parametrize("n", [10, 14, 18])
def test_pooled_lengthscales_predict_better_where_all_columns_matter_alike(n: int) -> None:
    pooled, free = (log_density_of_new_values(b, n, N_COLUMNS) for b in (POOLED, ALL_MATTER))
    assert pooled > free


@pytest.mark.parametrize("n", [30, 40, 50])
def test_free_lengthscales_predict_better_where_one_column_matters(n: int) -> None:
    pooled, free = (log_density_of_new_values(b, n, 1) for b in (POOLED, ALL_MATTER))
    assert free > pooled + 0.1


def test_pooled_lengthscales_are_drawn_until_others_have_predicted_better() -> None:
    seen = Observations.from_arrays(*_some())
    ensemble = Ensemble("matern52", True, (ALL_MATTER, POOLED))
    free, pooled = (
        ensemble.believed(DOMAIN, seen, belief, Memory()) for belief in ensemble.beliefs
    )
    assert (free.head_start, pooled.head_start) == (0.0, HEAD_START)
    for gain, share in ((0.0, 0.881), (HEAD_START, 0.5), (2 * HEAD_START, 0.119)):
        ahead = replace(free, evidence=Evidence(gain))
        rng = np.random.default_rng(0)
        drawn = [draw_model([ahead, pooled], rng) is pooled for _ in range(2000)]
        assert np.mean(drawn) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(("width", "n_starts"), [(0.02, 1), (1.0, 2)])
def test_lengthscales_are_short_beside_the_sides_of_the_cube(
    width: float, n_starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a small trust region short ones are usual, and no reason to begin from a cold start."""
    X, y = _some()
    seen, widths = Observations.from_arrays(width * X, y), np.full(X.shape[1], width)
    ensemble = Ensemble("matern52", True, (ALL_MATTER,))
    first = ensemble.fitted(DOMAIN, seen, ALL_MATTER, widths=widths)
    kernel = replace(first.kernel, lengthscales=np.full(X.shape[1], 0.01))
    given: list[int] = []
    fit = module.fit
    monkeypatch.setattr(
        module, "fit", lambda *args, **kw: given.append(len(kw["starts"])) or fit(*args, **kw)
    )
    ensemble.fitted(DOMAIN, seen, ALL_MATTER, replace(first, kernel=kernel), widths)
    assert given == [n_starts]


def test_sums_have_no_head_start() -> None:
    belief = replace(NONE_INTERACT, pooled=True)
    seen = Observations.from_arrays(*_some())
    model = Ensemble("matern52", True, (belief,)).believed(DOMAIN, seen, belief, Memory())
    assert model.head_start == 0.0


@pytest.mark.parametrize("head_start", [0.0, 2.0])
def test_another_head_start_is_that_of_pooled_lengthscales_alone(head_start: float) -> None:
    seen = Observations.from_arrays(*_some())
    ensemble = Ensemble("matern52", True, (ALL_MATTER, POOLED), head_start=head_start)
    found = [
        ensemble.believed(DOMAIN, seen, belief, Memory()).head_start for belief in ensemble.beliefs
    ]
    assert found == [0.0, head_start]


def _some() -> tuple[FloatArray, FloatArray]:
    X = np.random.default_rng(0).random((12, N_COLUMNS))
    return X, function(X, N_COLUMNS)


@pytest.mark.parametrize("n_columns", [LEAST_POOLED - 1, LEAST_POOLED, LEAST_POOLED_OF_PART])
def test_lengthscales_are_pooled_in_whole_domains_of_fewer_columns(n_columns: int) -> None:
    whole = make_domain(*[None] * n_columns)
    part = restricted(make_domain(*[None] * (n_columns + 1)), np.arange(n_columns))
    branching = make_domain("2", *[None] * (n_columns - 1))
    branching = replace(branching, gates={1: (Condition(0, (1.0,)),)})
    assert POOLED.of(whole).pooled == (n_columns >= LEAST_POOLED)
    for domain in (part, branching):
        assert len(domain) == n_columns
        assert POOLED.of(domain).pooled == (n_columns == LEAST_POOLED_OF_PART)
    assert not ALL_MATTER.of(whole).pooled
