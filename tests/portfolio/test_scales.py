"""Scales: columns that matter most near one end are bent, others are not, and experts see that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from histories import INTERPRETED
from histories import bowl_at
from histories import fit_sizes
from histories import make_domain
from histories import noisy_bowl
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_hdbo import HDBOSampler
from optuna_hdbo import explain
from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import Steps
from optuna_hdbo._core.gp.fit import fit as true_fit
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Failures
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio import scales as module
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.scales import FACTORS
from optuna_hdbo.portfolio.scales import KEY
from optuna_hdbo.portfolio.scales import Scales
from optuna_hdbo.portfolio.scales import bent
from optuna_hdbo.portfolio.scales import learned_scales
from optuna_hdbo.portfolio.scales import straightened


DOMAIN = make_domain(None, None, None)
PLANE = make_domain(None, None)
UNIT = st.floats(0.0, 1.0)
BEND = st.sampled_from(range(-2, 3))


def waves(X: np.ndarray) -> np.ndarray:
    return np.asarray(np.cos(9.0 * X).sum(axis=1) - 3.0 * ((X - 0.4) ** 2).sum(axis=1))


def in_logs(X: np.ndarray) -> np.ndarray:
    """Return a bowl in the logarithm of the first column, of the last one's distance to 1."""
    U = np.column_stack(
        [np.log10(X[:, 0] + 1e-3) / 3.0 + 1.0, X[:, 1], -np.log10(1.001 - X[:, 2]) / 3.0]
    )
    return bowl_at(U)


def study(f: Callable[[np.ndarray], np.ndarray], n: int = 60, seed: int = 0) -> Observations:
    """Return random points, half of them near the ends that matter in :func:`in_logs`."""
    X = np.random.default_rng(seed).random((n, 3))
    X[::2] = np.column_stack([X[::2, 0] ** 4, X[::2, 1], 1.0 - X[::2, 2] ** 4])
    return Observations.from_arrays(X, f(X))


def found(seen: Observations, domain: Domain = DOMAIN) -> dict[str, int]:
    memory = Memory(seen.records)
    learned_scales(domain, seen, memory)
    return dict(memory.kept[KEY]["bends"])


def recorded(n: Any, bends: Any) -> list[Record]:
    return [Record(0, "complete", {KEY: {"n": n, "bends": bends}})]


@pytest.fixture
def n_fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of points of every fit."""
    return fit_sizes(monkeypatch, module)


@given(UNIT, BEND)
def test_a_bend_is_a_logarithm_towards_one_end(x: float, bend: int) -> None:
    k = {0: 0.0, 1: 30.0, 2: 1000.0}[abs(bend)]
    low = math.log1p(k * x) / math.log1p(k) if bend else x
    high = 1.0 - math.log1p(k * (1.0 - x)) / math.log1p(k) if bend else x
    u = bent(np.array([[x]]), np.array([FACTORS[bend]]))
    assert u[0, 0] == pytest.approx(high if bend < 0 else low, abs=1e-12)


@given(st.lists(st.floats(-0.5, 1.5), min_size=3, max_size=3), st.tuples(BEND, BEND, BEND))
def test_bends_can_be_undone_and_leave_what_is_outside(
    x: list[float], bends: tuple[int, ...]
) -> None:
    X, factors = np.array([x]), np.array([FACTORS[bend] for bend in bends])
    U = bent(X, factors)
    np.testing.assert_allclose(straightened(U, factors), X, atol=1e-9)
    same = (factors == 0.0) | (X <= 0.0) | (X >= 1.0)
    assert (U[same] == X[same]).all()


def test_columns_that_matter_near_one_end_are_found() -> None:
    for seed in range(3 if INTERPRETED else 12):
        seen = study(in_logs, n=100, seed=seed)
        assert found(seen).keys() >= {"x0", "x2"}
        bends = found(replace(seen, records=recorded(1, found(seen))))  # the next search
        assert bends.keys() == {"x0", "x2"}
        assert bends["x0"] > 0
        assert bends["x2"] < 0


@pytest.mark.parametrize("f", [bowl_at, waves, noisy_bowl])
def test_in_ordinary_studies_none_is_bent(f: Callable[[np.ndarray], np.ndarray]) -> None:
    for seed in range(4 if INTERPRETED else 20):
        assert found(study(f, seed=seed)) == {}
        assert learned_scales(DOMAIN, study(f, seed=seed), Memory()) is None


def test_a_bend_of_no_use_is_taken_back() -> None:
    memory = Memory(recorded(1, {"x1": 2, "x0": 1}))
    learned_scales(DOMAIN, study(in_logs, n=100), memory)
    assert memory.kept[KEY]["bends"].keys() == {"x0", "x2"}


def test_bends_are_recalled_between_searches(n_fits: list[int]) -> None:
    seen = study(bowl_at)
    for n, is_due in [(47, False), (46, True), (61, True)]:  # 46 and .3 times as many are 59
        n_fits.clear()
        memory = Memory(recorded(n, {"x1": -1, "z": 2}))
        found = learned_scales(DOMAIN, seen, memory)
        assert bool(n_fits) == is_due
        assert memory.kept == ({KEY: {"n": 60, "bends": {}}} if is_due else {})
        if not is_due:
            assert found is not None
            assert found.factors.tolist() == [0.0, FACTORS[-1], 0.0]


@pytest.mark.parametrize(("n", "is_due"), [(99, True), (100, False), (350, False), (351, True)])
def test_a_search_with_all_that_it_uses_is_the_last(
    n: int, is_due: bool, n_fits: list[int]
) -> None:
    memory = Memory(recorded(n, {"x1": 1}))
    learned_scales(DOMAIN, study(bowl_at, n=350), memory)
    assert bool(n_fits) == is_due


def test_a_search_has_some_of_many_observations(n_fits: list[int]) -> None:
    assert found(study(in_logs, n=350)).keys() == {"x0", "x2"}
    assert set(n_fits) == {module.MOST_SEARCHED}


@pytest.mark.parametrize(
    "data",
    [
        {"n": 60, "bends": {"x0": 3}},
        {"n": 60, "bends": {"x0": True}},
        {"n": 60, "bends": {"x0": 1.0}},
        {"n": 60, "bends": [1]},
        {"n": -1, "bends": {"x0": 1}},
        {"n": True, "bends": {"x0": 1}},
        {"bends": {"x0": 1}},
        [60, {"x0": 1}],
    ],
)
def test_records_that_cannot_be_believed_bend_nothing(data: object) -> None:
    memory = Memory([Record(59, "complete", {KEY: data})])
    assert learned_scales(DOMAIN, study(bowl_at), memory) is None
    assert memory.kept[KEY] == {"n": 60, "bends": {}}


def test_few_values_and_many_columns_and_choices_are_not_searched(n_fits: list[int]) -> None:
    n = module.LEAST_OBSERVATIONS
    assert learned_scales(DOMAIN, study(in_logs, n=n - 1), Memory()) is None
    wide = make_domain(*[None] * (module.MOST_COLUMNS + 1))
    X = np.random.default_rng(0).random((n, len(wide)))
    assert learned_scales(wide, Observations.from_arrays(X, X[:, 0]), Memory()) is None
    short = make_domain("3", module.LEAST_VALUES - 1)
    X = short.sample(np.random.default_rng(0), n)
    assert learned_scales(short, Observations.from_arrays(X, X[:, 0]), Memory()) is None
    assert n_fits == []
    learned_scales(DOMAIN, study(in_logs, n=n), Memory())
    assert n_fits != []


def test_integers_keep_their_values() -> None:
    domain = make_domain(64, None)
    scales = Scales(domain, np.array([FACTORS[2], FACTORS[-1]]))
    X = domain.sample(np.random.default_rng(0), 200)
    U = scales.inward(X)
    assert np.isin(U[:, 0], scales.inner.grid(0)).all()
    assert (np.diff(scales.inner.grid(0)) > 0.0).all()
    for x, u in zip(X, U, strict=True):
        np.testing.assert_allclose(scales.outward(u), x, atol=1e-12)
    assert scales.outward(np.array([0.7, 0.5]))[0] in domain.grid(0)


def test_bent_columns_are_not_counted_in_equal_steps() -> None:
    domain = replace(make_domain(None, None), steps={0: Steps(900), 1: Steps(700)})
    inner = Scales(domain, np.array([FACTORS[1], 0.0])).inner
    assert inner.steps == {1: Steps(700)}


def test_columns_of_branches_may_be_bent_but_not_what_decides() -> None:
    domain = make_domain(9, None, None)
    gates = {1: (Condition(0, tuple(domain.grid(0)[:5].tolist())),)}
    domain = replace(domain, gates=gates)
    X = domain.sample(np.random.default_rng(0), 80)
    active = domain.active(X)[:, 1]
    values = np.where(active, in_logs(np.column_stack([X[:, 1], X[:, 2], X[:, 2] * 0.0])), -0.3)
    values = values + in_logs(np.column_stack([X[:, 0], X[:, 2], X[:, 2] * 0.0]))
    bends = found(Observations.from_arrays(X, values), domain)
    assert "x0" not in bends
    scales = Scales(domain, np.array([0.0, FACTORS[2], 0.0]))
    U = scales.inward(X)
    assert (U[~active, 1] == scales.inner.absent[1]).all()
    assert (scales.inner.active(U)[:, 1] == active).all()
    assert all(
        (scales.outward(u)[1] == domain.absent[1]) == (not on)
        for u, on in zip(U, active, strict=True)
    )


def test_everything_that_is_seen_is_bent_and_rows_outside_stay() -> None:
    seen = study(in_logs)
    X = seen.X.copy()
    X[5, 0] = 1.2
    failures = Failures.among(DOMAIN, X, {70: np.array([0.01, 0.5, 0.5])})
    seen = replace(seen, X=X, pending=X[:2], failures=failures, outside=np.arange(60) == 5)
    scales = Scales(DOMAIN, np.array([FACTORS[2], 0.0, 0.0]))
    shown = scales.view(seen)
    np.testing.assert_array_equal(shown.X, bent(X, scales.factors))
    np.testing.assert_array_equal(shown.pending, shown.X[:2])
    assert shown.failures is not None
    assert shown.failures.X[0, 0] == pytest.approx(math.log1p(10.0) / math.log1p(1000.0))
    assert shown.X[5, 0] == 1.2
    assert scales.view(replace(seen, failures=None)).failures is None


def test_rows_that_are_asked_for_are_those_that_are_observed() -> None:
    space = SearchSpace(
        {"x": FloatDistribution(1e-4, 1.0), "n": IntDistribution(1, 5000)}, ("n", "x"), {}
    )
    factors = np.array([FACTORS[1], FACTORS[2]])
    first, second = (Scales(space.domain, factors).inner for _ in range(2))
    assert first.is_same_as(second)
    assert not first.is_same_as(space.domain)
    assert not first.is_same_as(Scales(space.domain, np.array([FACTORS[1], 0.0])).inner)
    scales = Scales(space.domain, factors)
    for u in np.random.default_rng(0).random((20, 2)):
        seen = space.encode(space.decode(scales.outward(u)))
        assert seen is not None
        assert first.observed_at(u).tobytes() == scales.inward(seen[None])[0].tobytes()


def test_experts_are_asked_in_bent_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Domain, Observations]] = []

    def suggest(self: HDBO, domain: Domain, seen: Observations, *args: Any) -> Suggestion:
        asked.append((domain, seen))
        return Suggestion(np.array([0.5, 0.25, 0.5]))

    monkeypatch.setattr(HDBO, "_suggest_for_one", suggest)
    seen = replace(study(bowl_at), records=recorded(60, {"x0": 2}))
    x = HDBO().suggest(DOMAIN, seen, Streams(0)).x
    np.testing.assert_allclose(x, [(math.sqrt(1001.0) - 1.0) / 1000.0, 0.25, 0.5])
    (domain, shown), *_ = asked
    assert domain.is_same_as(DOMAIN)
    np.testing.assert_array_equal(shown.X, bent(seen.X, np.array([1000.0, 0.0, 0.0])))
    HDBO().suggest(DOMAIN, replace(seen, records=recorded(60, {})), Streams(0))
    assert asked[-1][1].X is seen.X


def test_digits_of_smooth_functions_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the least noise, most studies of such a function with a constraint have a bend."""
    kernels = []

    def fit(*args: Any, **settings: Any) -> Any:
        kernels.append((fitted := true_fit(*args, **settings))[0])
        return fitted

    monkeypatch.setattr(module, "fit", fit)
    X = np.random.default_rng(0).random((40, 2))
    assert found(Observations.from_arrays(X, np.sin(6.0 * X[:, 0]) + X[:, 1]), PLANE) == {}
    assert min(kernel.noise for kernel in kernels) == pytest.approx(module.LEAST_NOISE)


@pytest.mark.skipif(INTERPRETED, reason="takes minutes")
def test_a_study_in_which_log_was_forgotten_is_told_so() -> None:
    study = optuna.create_study(sampler=HDBOSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        x = math.log10(trial.suggest_float("x", 1e-4, 1.0)) + 3.0
        n = math.log(trial.suggest_int("n", 1, 2000)) - 2.0
        return x**2 + n**2 + trial.suggest_float("y", -1.0, 1.0) ** 2

    study.optimize(objective, n_trials=60)
    told = explain(study)
    assert "The low end of 'x' is stretched" in str(told)
    assert told.facts["bends"].keys() == {"x", "n"}
    assert all(bend > 0 for bend in told.facts["bends"].values())
