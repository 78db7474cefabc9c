"""Queries of one process: their turns, their records, and what fits start from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import Ledger
from histories import affordable
from histories import dear
from histories import is_admissible
from histories import make_domain
from histories import make_kernel

from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.maximise.queries import good_points
from optuna_hdbo._core.maximise.queries import is_probe
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import COLD_EVERY
from optuna_hdbo._core.models.ensemble import FEW_MATTER
from optuna_hdbo._core.models.ensemble import NONE_INTERACT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.models.ensemble import starts_of_fit
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record


def queries(**settings: Any) -> EnsembleQueries:
    defaults = {
        "kind": "se",
        "ard": True,
        "beliefs": (ALL_MATTER, FEW_MATTER, NONE_INTERACT),
        "n_cyc": 3,
    }
    acquisition, probes = settings.pop("acquisition", "log-ei"), settings.pop("probes", False)
    return EnsembleQueries(Ensemble(**{**defaults, **settings}), acquisition, probes)


def ask(
    plain: EnsembleQueries, domain: Domain, seen: Observations, width: float = 0.5, seed: int = 0
) -> tuple[np.ndarray, dict[str, Any], Posterior]:
    memory, rng = Memory(seen.records), np.random.default_rng(seed)
    x, model = plain.query(domain, seen, memory, width, rng, ConstraintModels())
    return x, memory.kept, model.posterior


def test_good_points_come_first_to_last() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2)), rng.standard_normal(200)
    good = good_points(X, y)
    assert len(good) == 10
    assert np.array_equal(good[0], X[np.argmax(y)])
    assert len(good_points(X[:7], y[:7])) == 5
    assert len(good_points(X[:1], y[:1])) == 1


@pytest.mark.parametrize(
    "name", ["mixed", "continuous", "discrete", "single"][:: affordable(1, 3)]
)
def test_beliefs_keep_their_own_fits(name: str) -> None:
    ledger = Ledger.started(DOMAINS[name], 6)
    plain = queries()
    for step in range(affordable(8, 4)):
        seen = ledger.seen()
        x, record, _ = ask(plain, ledger.domain, seen, seed=step)
        assert is_admissible(ledger.domain, x)
        keys = {f"plain:{belief.key}" for belief in plain.models.beliefs}
        if len(ledger.domain) == 1:
            keys -= {"plain:inverse-square:separable"}
        due = {*keys, *(f"{key}:evidence" for key in keys)} if step % 3 == 0 else set()
        assert set(record) == due
        for key, fit in record.items():
            if key.endswith(":evidence"):
                continue
            n_groups = len(ledger.domain) if key.endswith("separable") else 1
            assert len(fit["groups"]) == n_groups
            assert len(set(fit["scales"])) == 1
        if record:
            ledger.records.append(Record(seen.step, "complete", record))
        ledger.observe(x)


@dear
@pytest.mark.parametrize("separable", [True, False])
def test_of_a_sum_and_of_a_product_the_right_one_is_asked(separable: bool) -> None:
    X = np.random.default_rng(0).random((70, 2))
    waves = np.sin(7.0 * X + np.arange(2))
    values = waves.sum(axis=1) if separable else waves.prod(axis=1)
    plain = queries(beliefs=(ALL_MATTER, NONE_INTERACT), kind="matern52", n_cyc=100)
    domain = make_domain(None, None)
    # Fitted to the first half; the second half is predicted.
    _, record, _ = ask(plain, domain, Observations.from_arrays(X[:50], values[:50]))
    seen = Observations.from_arrays(X, values, records=(Record(50, "complete", record),))
    asked = [
        len(ask(plain, domain, seen, seed=seed)[2].kernel.groups) == 2
        for seed in range(affordable(30, 8))
    ]
    assert (np.mean(asked) > 0.7) == separable
    assert (np.mean(asked) < 0.3) != separable


@pytest.mark.parametrize("acquisition", ["ucb", "log-ei"])
def test_a_bound_has_a_width_and_an_expected_improvement_has_none(acquisition: str) -> None:
    ledger = Ledger.started(make_domain(None, None), 10)
    plain = queries(beliefs=(ALL_MATTER,), acquisition=acquisition)
    narrow, wide = (ask(plain, ledger.domain, ledger.seen(), width)[0] for width in (0.0, 50.0))
    assert np.array_equal(narrow, wide) == (acquisition == "log-ei")


@dear
def test_probes_move_a_column_that_all_good_trials_have_at_one_value() -> None:
    domain = make_domain(*[None] * 6)
    rng = np.random.default_rng(0)
    n = affordable(60, 30)
    X = rng.random((n, 6))
    X[10:, 2] = 0.0  # it looks idle, and is best at 0.5
    X[10:, [0, 1, 3, 4, 5]] = 0.5 + 0.05 * rng.standard_normal((n - 10, 5))
    value = -((X - 0.5) ** 2).sum(axis=1)
    seen = Observations.from_arrays(X, value)
    best = X[np.argmax(value)]
    plain = queries(beliefs=(ALL_MATTER,), probes=True)
    probes = [
        x
        for x in (ask(plain, domain, seen, 2.0, seed)[0] for seed in range(12))
        if (x != best).sum() == 1
    ]
    assert 2 <= len(probes) <= 10  # a half of the queries, where columns are few
    assert sum(x[2] > 0.2 for x in probes) > len(probes) / 2


def test_probes_are_rare_where_columns_are_many() -> None:
    rng = np.random.default_rng(0)
    for n_columns, expected in ((2, 0.5), (20, 0.5), (48, 0.25), (600, 0.02)):
        drawn = [is_probe(rng, n_columns) for _ in range(4000)]
        assert np.mean(drawn) == pytest.approx(expected, abs=0.03)


def test_one_lengthscale_for_all() -> None:
    ledger = Ledger.started(make_domain(*[None] * 4), affordable(10, 6))
    for ard in (False, True):
        _, record, _ = ask(queries(ard=ard), ledger.domain, ledger.seen())
        for fit in (record[key] for key in record if not key.endswith(":evidence")):
            assert (len(set(fit["lengthscales"])) == 1) == (not ard)


def test_predictions_are_in_the_units_of_the_objective() -> None:
    ledger = Ledger.started(make_domain(None, None), 15, lambda x: 1e4 + 100 * float(x[0]))
    seen = ledger.seen()
    _, _, posterior = ask(queries(), ledger.domain, seen)
    expected = prediction(seen, posterior, np.array([0.5, 0.5]))
    assert expected["predicted"] == pytest.approx(1e4 + 50, abs=3)
    assert 0 < expected["std"] < 10
    turned = prediction(replace(seen, sign=-1.0), posterior, np.array([0.5, 0.5]))
    assert turned["predicted"] == -expected["predicted"]


def kernel_of(domain: Domain, lengthscale: float, noise: float) -> Fitted:
    return Fitted(cold_start(domain, "se", [[0, 1]], lengthscale, noise), 10, 0, 0.0)


def test_a_degenerate_fit_is_not_trusted() -> None:
    domain = make_domain(None, None)
    cold = cold_start(domain, "se", [[0, 1]], 0.5, 1e-3)
    assert starts_of_fit(None, cold) == [cold]
    for lengthscale, noise, n in ((0.5, 0.1, 1), (1e-3, 0.1, 2), (0.5, 2.0, 1)):
        warm = kernel_of(domain, lengthscale, noise)
        starts = starts_of_fit(warm, cold)
        assert starts[0] is warm.kernel
        assert len(starts) == n
    cycles = [replace(kernel_of(domain, 0.5, 0.1), cycle=c) for c in range(4 * COLD_EVERY)]
    assert sum(len(starts_of_fit(warm, cold)) == 2 for warm in cycles) == 4
    noisy = [replace(kernel_of(domain, 0.5, 2.0), cycle=c) for c in range(COLD_EVERY)]
    assert sum(len(starts_of_fit(warm, cold)) == 2 for warm in noisy) == 4


def test_a_fit_recovers_from_a_degenerate_one() -> None:
    """A tiny lengthscale explains everything, and gradients do not lead back from there."""
    ledger = Ledger.started(
        make_domain(None, None), affordable(25, 12), lambda x: float(np.sin(4 * x[0]) + x[1])
    )
    plain = queries(n_cyc=1)
    seen = ledger.seen()
    _, record, _ = ask(plain, ledger.domain, seen)
    key = next(key for key in record if not key.endswith(":evidence"))
    poor = {**record[key], "lengthscales": [0.006, 0.006], "n": len(seen.y) - 5}
    seen = replace(seen, records=(Record(0, "complete", {key: poor}),))
    _, again, _ = ask(plain, ledger.domain, seen)
    assert min(again[key]["lengthscales"]) > 0.1
    assert again[key]["log_likelihood"] >= record[key]["log_likelihood"] - 0.5


@pytest.mark.parametrize(
    ("values", "is_told"),
    [([1.0], False), ([1.0, 2.0], False), ([1.0] * 5, False), ([1, 2, 4], True)],
)
def test_too_few_values_and_equal_ones_tell_no_unit(values: list[float], is_told: bool) -> None:
    domain = make_domain(None, None)
    X = domain.sample(np.random.default_rng(0), len(values))
    seen = Observations.from_arrays(X, np.array(values, np.float64))
    posterior = Posterior(Factor(make_kernel(domain), X), seen.y)
    told = prediction(seen, posterior, np.array([0.2, 0.9]))
    assert set(told) == ({"predicted", "std"} if is_told else set())
