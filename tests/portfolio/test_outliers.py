"""Outliers: values that are far too poor are found, others are not, and models lack them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import optuna
import pytest
from exported import SAMPLERS
from histories import INTERPRETED
from histories import bowl_at
from histories import fit_sizes
from histories import make_domain
from histories import noisy_bowl
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.gaussian_process.kernels import Matern

from optuna_hdbo import explain
from optuna_hdbo._core import outputs
from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.portfolio import outliers as module
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.outliers import KEY
from optuna_hdbo.portfolio.outliers import without_outliers


DOMAIN = make_domain(None, None, None)
WRONG = (12, 30, 44)


def waves(X: np.ndarray) -> np.ndarray:
    return np.asarray(np.cos(25.0 * X).sum(axis=1) - 3.0 * ((X - 0.4) ** 2).sum(axis=1))


def study(
    f: Callable[[np.ndarray], np.ndarray] = bowl_at,
    wrong: tuple[int, ...] = WRONG,
    n: int = 60,
    seed: int = 0,
) -> Observations:
    """Return random points and points near the best one, some with values that are too poor."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    X[::2] = 0.4 + 0.2 * (X[::2] - 0.5)
    values = f(X)
    values[list(wrong)] = values.min() + 0.2 * rng.random(len(wrong))
    return Observations.from_arrays(X, values)


def found(seen: Observations) -> list[int]:
    memory = Memory()
    without_outliers(DOMAIN, seen, memory)
    return list(memory.kept[KEY]["numbers"])


@pytest.fixture
def n_fitted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of points of every fit."""
    return fit_sizes(monkeypatch, module)


@given(st.integers(0, 10**6), st.sets(st.integers(0, 29), min_size=1, max_size=6))
def test_values_that_are_too_poor_are_found(seed: int, wrong: set[int]) -> None:
    # Even rows are close to the best point.
    rows = tuple(sorted(2 * i for i in wrong))
    assert set(found(study(wrong=rows, seed=seed))) == set(rows)


@pytest.mark.parametrize("f", [bowl_at, waves, noisy_bowl])
def test_in_ordinary_studies_there_are_none(f: Callable[[np.ndarray], np.ndarray]) -> None:
    for seed in range(4 if INTERPRETED else 20):
        assert found(study(f, (), seed=seed)) == []


def test_values_of_many_magnitudes_do_not_hide_them() -> None:
    seen = study(lambda X: -np.exp(-8.0 * bowl_at(X)), ())
    values = seen.values.copy()
    values[list(WRONG)] = np.median(values[1::2])
    assert found(replace(seen, values=values)) == list(WRONG)


def test_at_most_two_fifths_are_left_out(
    monkeypatch: pytest.MonkeyPatch, n_fitted: list[int]
) -> None:
    monkeypatch.setattr(module._Robust, "_below", lambda *args: np.linspace(9.0, 4.0, 60))
    assert found(study()) == []
    # Nearly all values are far below the second fit, and the first fit to all is likelier.
    assert n_fitted == [60, 36, 60]


def test_values_that_are_too_good_are_believed() -> None:
    seen = study(wrong=())
    values = seen.values.copy()
    values[list(WRONG)] += 1.0
    assert found(replace(seen, values=values)) == []


@pytest.mark.parametrize(("gap", "rows"), [(-0.01, list(WRONG)), (0.01, [])])
def test_values_that_are_better_than_the_first_ones_are_believed(
    gap: float, rows: list[int]
) -> None:
    X = study().X
    X[: outputs.N_FIRST] = 1.0 - 0.2 * X[: outputs.N_FIRST]
    X[outputs.N_FIRST :] = 0.4 + 0.1 * (X[outputs.N_FIRST :] - 0.4)
    values = bowl_at(X)
    values[list(WRONG)] = values[: outputs.N_FIRST].max() + gap
    assert found(Observations.from_arrays(X, values)) == rows


def test_values_of_pruned_trials_are_poor_for_another_reason() -> None:
    seen = study()
    pruned = np.zeros(60, np.bool_)
    pruned[30] = True
    assert found(seen) == list(WRONG)
    assert found(replace(seen, pruned=pruned)) == [12, 44]


def test_where_outliers_are_elsewhere_others_are_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    for marks, elsewhere in [(study().X[:, 0] > 0.8, True), (np.arange(60) % 8 == 0, False)]:
        monkeypatch.setattr(module, "outliers", lambda *args, marks=marks: marks)
        kept = without_outliers(DOMAIN, study(), Memory())
        assert kept.failures is not None
        assert kept.failures.numbers.tolist() == np.flatnonzero(marks).tolist()
        assert kept.failures.are_elsewhere == elsewhere


def test_the_likelihood_of_outliers_is_that_of_normal_values_and_of_picking_them() -> None:
    seen = study()
    y = (seen.values - seen.values.mean()) / seen.values.std()
    others = np.zeros(60, np.bool_)
    others[list(WRONG)] = True
    fit = module._Robust(DOMAIN, seen.X, y, ~seen.pruned)
    expected = norm.logpdf(y[others]).sum() + betaln(3 + 1, 57 + 19) - betaln(1, 19)
    assert fit._of_others(others) == pytest.approx(expected)


def test_how_far_a_value_is_below_a_fit_is_as_in_scikit_learn() -> None:
    seen = study()
    fit = module._Robust(DOMAIN, seen.X, seen.values, ~seen.pruned)
    kept = np.ones(60, np.bool_)
    kept[list(WRONG)] = False
    below = fit._below(kept, fit.cold)
    kernel = ConstantKernel(fit.cold.variance, "fixed") * Matern(
        fit.cold.lengthscales, "fixed", nu=2.5
    )
    for row in (3, *WRONG):
        rest = kept & (np.arange(60) != row)
        process = GaussianProcessRegressor(kernel, alpha=fit.cold.noise, optimizer=None)
        process.fit(seen.X[rest], seen.values[rest])
        mean, std = process.predict(seen.X[[row]], return_std=True)
        expected = (mean - seen.values[row]) / np.sqrt(std**2 + fit.cold.noise)
        assert below[row] == pytest.approx(expected[0], rel=1e-6)


def test_where_no_value_is_suspect_there_is_a_single_fit(n_fitted: list[int]) -> None:
    assert found(study(wrong=())) == []
    assert n_fitted == [60]
    assert found(study()) == list(WRONG)
    assert len(n_fitted) > 4
    assert n_fitted[-2:] == [60, 60]  # the likelihood with all values


def test_the_last_observations_are_searched_and_earlier_outliers_stay(n_fitted: list[int]) -> None:
    seen = study(wrong=(100, 160, 300), n=350)
    memory = Memory([Record(299, "complete", {KEY: {"n": 300, "numbers": [20, 340]}})])
    kept = without_outliers(DOMAIN, seen, memory)
    assert memory.kept == {KEY: {"n": 350, "numbers": [20, 160, 300]}}
    assert kept.failures is not None
    assert kept.failures.numbers.tolist() == [20, 160, 300]
    assert max(n_fitted) == module.MOST_SEARCHED


def test_they_are_recorded_and_searched_for_again_after_some_observations() -> None:
    seen = study()
    memory = Memory()
    kept = without_outliers(DOMAIN, seen, memory)
    assert memory.kept == {KEY: {"n": 60, "numbers": list(WRONG)}}
    assert kept.failures is not None
    assert not kept.failures.are_elsewhere
    assert sorted([*kept.numbers.tolist(), *kept.failures.numbers.tolist()]) == list(range(60))
    assert kept.failures.numbers.tolist() == list(WRONG)

    for data in [{"n": 10**6, "numbers": list(WRONG)}, {"n": 0, "numbers": []}]:
        again = Memory([Record(59, "complete", {KEY: data})])
        without_outliers(DOMAIN, seen, again)
        assert again.kept == memory.kept
    for numbers, n, is_due in [
        (WRONG, 61, False),
        (WRONG, 62, True),
        ((), 63, False),
        ((), 64, True),
    ]:
        again = Memory([Record(59, "complete", {KEY: {"n": 60, "numbers": list(numbers)}})])
        later = without_outliers(DOMAIN, study(n=n), again)
        assert (KEY in again.kept) == is_due
        assert (later.failures is None) == (not numbers and not is_due)


@pytest.mark.parametrize(
    "data",
    [
        {"n": 60, "numbers": list(range(60))},
        {"n": 60, "numbers": [7, "8"]},
        {"n": 60, "numbers": [7, 2**40]},
        {"n": 60, "numbers": 7},
        {"n": True, "numbers": [7]},
        {"numbers": [7]},
        [60, [7]],
    ],
)
def test_records_that_cannot_be_believed_leave_nothing_out(data: object) -> None:
    memory = Memory([Record(59, "complete", {KEY: data})])
    seen = study(wrong=())
    assert without_outliers(DOMAIN, seen, memory) is seen


def test_in_domains_with_branches_they_are_found_in_each() -> None:
    domain = replace(
        make_domain("2", None, None, None),
        gates={2: (Condition(0, (0.0,)),), 3: (Condition(0, (1.0,)),)},
    )
    for seed in range(4 if INTERPRETED else 20):
        X = domain.sample(np.random.default_rng(seed), 60)
        active = domain.active(X) & ~domain.discrete
        values = -(((X - 0.4) * active) ** 2).sum(axis=1) - X[:, 0]
        for wrong in ((), WRONG):
            spoilt = values.copy()
            spoilt[list(wrong)] = values.min() - 2.0
            memory = Memory()
            without_outliers(domain, Observations.from_arrays(X, spoilt), memory)
            assert memory.kept[KEY]["numbers"] == list(wrong)


def test_few_values_and_steps_and_very_many_columns_are_not_searched() -> None:
    n = module.LEAST_OBSERVATIONS
    stepped = replace(study(), values=np.round(study().values, 1))
    wide = make_domain(*[None] * 2001)
    many = Observations.from_arrays(np.random.default_rng(0).random((60, 2001)), study().values)
    cases = [(DOMAIN, study(n=n - 1, wrong=())), (DOMAIN, stepped), (wide, many)]
    for domain, seen in cases:
        memory = Memory()
        assert without_outliers(domain, seen, memory) is seen
        assert memory.kept == {}
    memory = Memory()
    without_outliers(DOMAIN, study(wrong=(2,), n=n), memory)
    assert KEY in memory.kept


@pytest.mark.parametrize(
    ("deterministic", "is_searched"), [(None, True), (False, True), (True, False)]
)
def test_an_objective_that_is_said_to_be_deterministic_has_none(
    deterministic: bool | None, is_searched: bool
) -> None:
    asked = HDBO(deterministic_objective=deterministic).suggest(DOMAIN, study(), Streams(0))
    assert ((asked.record or {}).get(KEY) is not None) == is_searched


def objective(trial: optuna.Trial) -> float:
    x = np.array([trial.suggest_float(f"x{i}", 0, 1) for i in range(6)])
    value = float(((x - 0.3) ** 2).sum())
    # Like the value of a random point.
    return value if trial.number % 8 != 5 else max(value, 1.0 + trial.number % 7 / 7)


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
def test_a_study_with_outliers_goes_on_as_if_it_had_not_stopped() -> None:
    kept, resumed = (
        optuna.create_study(study_name="one", sampler=SAMPLERS["HDBOSampler"](seed=0))
        for _ in range(2)
    )
    kept.optimize(objective, 50)
    assert set(explain(kept).facts["outliers"]) <= set(range(5, 50, 8))
    assert len(explain(kept).facts["outliers"]) > 1
    for _ in range(50):
        resumed.sampler = SAMPLERS["HDBOSampler"](seed=0)
        resumed.optimize(objective, 1)
    assert [t.params for t in resumed.trials] == [t.params for t in kept.trials]


@pytest.mark.skipif(INTERPRETED, reason="too many trials for interpreted loops")
def test_a_study_with_outliers_finds_better_points_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def regret(seed: int) -> float:
        study = optuna.create_study(sampler=SAMPLERS["HDBOSampler"](seed=seed))
        study.optimize(objective, n_trials=60)
        return math.log(study.best_value)

    found = [regret(seed) for seed in range(3)]
    monkeypatch.setattr(module, "LEAST_OBSERVATIONS", 1000)
    ignored = [regret(seed) for seed in range(3)]
    assert np.mean(found) < np.mean(ignored) - math.log(2.0)
