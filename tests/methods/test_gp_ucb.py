"""GP-UCB: what its settings do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import Ledger
from histories import affordable
from histories import make_domain

from optuna_hdbo._core.models.ensemble import LEAST_POOLED
from optuna_hdbo._core.outputs import warped_output
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.gp_ucb import BELIEFS
from optuna_hdbo.methods.gp_ucb import GPUCB
from optuna_hdbo.methods.gp_ucb import POOLED_BELIEFS


def peak(x: np.ndarray) -> float:
    return float(np.exp(-20 * ((x - 0.7) ** 2).sum()))


@pytest.mark.parametrize(
    ("pooled", "n_columns"),
    [(False, LEAST_POOLED), (True, LEAST_POOLED - 1), (True, LEAST_POOLED)],
)
def test_all_beliefs_are_fitted_and_kept(pooled: bool, n_columns: int) -> None:
    ledger = Ledger.started(make_domain(*[None] * n_columns), 8, peak)
    first, *others = ledger.run(GPUCB(n_cyc=100, pooled=pooled), affordable(4, 2))
    are_pooled = pooled and n_columns == LEAST_POOLED
    fits = {f"plain:{belief.key}" for belief in (POOLED_BELIEFS if are_pooled else BELIEFS)}
    assert sum(":pooled" in key for key in fits) == (4 if are_pooled else 0)
    warped = {f"{key}:output" for key in fits if key.endswith(":warped")}
    assert len(fits) == 6
    assert set(first.record or {}) == fits | warped | {f"{key}:evidence" for key in fits}
    assert not any(suggestion.record for suggestion in others)


def test_without_warping_pooled_beliefs_are_not_warped_either() -> None:
    ledger = Ledger.started(make_domain(*[None] * LEAST_POOLED), 8, peak)
    method = GPUCB(warp=False, pooled=True)
    record = method.suggest(ledger.domain, ledger.seen(), Streams(0)).record or {}
    assert sum(key.endswith(":pooled") for key in record) == 2
    assert not any("warped" in key for key in record)


@pytest.mark.parametrize("n_columns", [LEAST_POOLED - 1, LEAST_POOLED])
@pytest.mark.parametrize("warp", [False, True])
def test_models_of_several_objectives_have_pooled_lengthscales(warp: bool, n_columns: int) -> None:
    seen = Ledger.started(make_domain(*[None] * n_columns), 8, peak).seen()
    several = replace(seen, objectives=np.stack([seen.y, -seen.X[:, 0]], 1), signs=(-1.0, 1.0))
    record = GPUCB(warp=warp).suggest(make_domain(*[None] * n_columns), several, Streams(0)).record
    pooled = [key for key in record or {} if "pooled" in key and key.endswith(":evidence")]
    n_pooled = (4 if warp else 2) if n_columns == LEAST_POOLED else 0
    assert len(pooled) == 2 * n_pooled
    assert {key.split(":")[0] for key in record or {}} == {"objective0", "objective1"}


@pytest.mark.parametrize("skewed", [False, True])
def test_skewed_values_are_reduced_by_the_best_fifth(skewed: bool) -> None:
    ledger = Ledger.started(make_domain(None, None), 40, lambda x: -np.exp(9.0 * x[0] - x[1]))
    seen = replace(ledger.seen(), skewed=skewed)
    record = GPUCB().suggest(ledger.domain, seen, Streams(0)).record or {}
    expected = warped_output(seen.values, skewed=skewed).to_json()
    assert record["plain:inverse-square:warped:output"] == expected
    assert expected["centre"] == pytest.approx(
        np.quantile(seen.values, 0.9 if skewed else 0.5), rel=1e-5
    )


def test_a_wider_bound_explores_more() -> None:
    ledger = Ledger.started(make_domain(None, None), 12, peak)
    ledger.keep(GPUCB(alternate=False).suggest(ledger.domain, ledger.seen(), Streams(0)))  # fits
    deviations = np.empty((9, 2))
    for seed in range(len(deviations)):
        for i, beta in enumerate((0.0, 100.0)):
            method = GPUCB(beta=beta, alternate=False, warp=False)
            suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(seed))
            deviations[seed, i] = suggestion.report["std"]
    assert (deviations[:, 1] >= deviations[:, 0]).all()
    assert deviations[:, 1].mean() > 2 * deviations[:, 0].mean()


def test_beta_sees_the_number_of_observations() -> None:
    asked: list[int] = []

    def beta(t: int) -> float:
        asked.append(t)
        return 1.0

    ledger = Ledger.started(make_domain(None, None), 5, peak)
    ledger.run(GPUCB(beta=beta), 3)
    assert asked == [5, 6, 7]


@pytest.mark.parametrize("kernel", ["se", "matern32", "matern52"])
@pytest.mark.parametrize("ard", [True, False])
def test_the_optimum_of_a_smooth_function_is_found(kernel: Any, ard: bool) -> None:
    ledger = Ledger.started(make_domain(None, None), 6, peak)
    goal = affordable(990, 0) / 1000
    ledger.run(GPUCB(kernel=kernel, ard=ard), affordable(24, 8), goal=goal)
    assert max(ledger.values) > goal


@pytest.mark.parametrize(
    ("name", "value"), [("kernel", "x"), ("n_cyc", 0), ("beta", -1.0), ("beta", "linear")]
)
def test_wrong_settings_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be .* but got "):
        GPUCB(**{name: value})
