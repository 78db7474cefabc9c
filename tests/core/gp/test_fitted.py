"""Fits that travel as JSON, and factors that grow without changing a bit."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import make_domain
from histories import make_kernel
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp import fitted as fitted_module
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.fitted import is_due
from optuna_hdbo._core.gp.fitted import recall_fit
from optuna_hdbo._core.gp.fitted import recall_or_refit
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Record


DOMAIN = make_domain(None, 5, "3", None)


def good() -> dict[str, Any]:
    return {
        "n": 12,
        "cycle": 3,
        "log_likelihood": -17.25,
        "kind": "matern52",
        "groups": [["x0", "x2"], ["x3"]],
        "lengthscales": [0.5, 1.25, 3.0],
        "scales": [0.75, 0.5],
        "noise": 0.001,
    }


def same(a: Kernel, b: Kernel) -> bool:
    return (
        a.kind == b.kind
        and [g.tolist() for g in a.groups] == [g.tolist() for g in b.groups]
        and np.array_equal(a.lengthscales, b.lengthscales)
        and np.array_equal(a.scales, b.scales)
        and a.noise == b.noise
        and np.array_equal(a.categorical, b.categorical)
    )


# what travels ------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(1e-9, 1e9), min_size=7, max_size=7),
    st.integers(0, 10**6),
    st.floats(-1e9, 1e9),
)
def test_what_is_written_is_what_is_read(numbers: list[float], n: int, value: float) -> None:
    kernel = Kernel(
        "se",
        join([[0, 3], [1, 2]]),
        np.array(numbers[:4]),
        np.array(numbers[4:6]),
        numbers[6],
        DOMAIN.categorical,
    )
    fitted = Fitted(kernel, n, 2, value).rounded(DOMAIN)
    text = json.dumps(fitted.to_json(DOMAIN.names), allow_nan=False)
    again = Fitted.from_json(json.loads(text), DOMAIN)
    assert again is not None
    assert same(again.kernel, fitted.kernel)
    assert (again.n, again.cycle, again.log_likelihood) == (n, 2, fitted.log_likelihood)
    assert json.dumps(again.to_json(DOMAIN.names)) == text
    np.testing.assert_allclose(again.kernel.lengthscales, kernel.lengthscales, rtol=1e-5)


def test_columns_are_known_by_name() -> None:
    swapped = Domain(DOMAIN.names[::-1], DOMAIN.grids[::-1], DOMAIN.categorical[::-1])
    fitted = Fitted.from_json(good(), swapped)
    assert fitted is not None
    assert [g.tolist() for g in fitted.kernel.groups] == [[3, 1], [0]]
    assert fitted.kernel.lengthscales.tolist() == [3.0, 1.25, 1.0, 0.5]


def nested(depth: int) -> Any:
    value: Any = 1.0
    for _ in range(depth):
        value = [value]
    return value


HUGE = json.loads("1e400")
WRONG: list[Any] = [
    None,
    True,
    "text",
    "",
    b"bytes",
    -1,
    -1.5,
    math.nan,
    HUGE,
    -HUGE,
    10**400,
    {},
    [],
    [[]],
    [None],
    ["x0"],
    [["x0", "x0"]],
    [["unknown"], ["x3"]],
    [["x0", ["x1"]]],
    [[0, 1]],
    [["x0"], []],
    {"x0": 1},
    [1.0],
    [1.0, 2.0, 3.0, 4.0],
    [1.0, math.nan, 1.0],
    [math.nan, 1.0],
    [1.0, HUGE, 1.0],
    [HUGE, 1.0],
    [1.0, 0.0, 1.0],
    [1.0, 0.0],
    [1.0, -1.0, 1.0],
    [1.0, -1.0],
    [1.0, "1", None],
    [10**400, 1.0],
    [10**400, 1.0, 1.0],
    [{}, 1.0],
    [[1.0], [2.0]],
    nested(900),
]


@pytest.mark.parametrize("field", list(good()))
def test_a_missing_field_is_no_fit(field: str) -> None:
    data = good()
    assert Fitted.from_json(data, DOMAIN) is not None
    del data[field]
    assert Fitted.from_json(data, DOMAIN) is None


@pytest.mark.parametrize("field", list(good()))
@pytest.mark.parametrize("wrong", range(len(WRONG)))
def test_nonsense_is_refused_or_usable(field: str, wrong: int) -> None:
    """A field of the wrong type or range never raises, and never makes an unusable kernel."""
    fitted = Fitted.from_json({**good(), field: WRONG[wrong]}, DOMAIN)
    if fitted is None:
        return
    kernel = fitted.kernel
    X = DOMAIN.sample(np.random.default_rng(0), 5)
    assert np.isfinite(kernel.gram(X)).all()
    assert len(kernel.groups) >= 1
    assert len(kernel.scales) == len(kernel.groups)
    assert fitted.n >= 0
    assert fitted.cycle >= 0
    assert math.isfinite(fitted.log_likelihood)
    json.dumps(fitted.to_json(DOMAIN.names), allow_nan=False)


@pytest.mark.parametrize("field", ["groups", "lengthscales", "scales", "noise", "kind"])
def test_most_nonsense_is_refused(field: str) -> None:
    usable = [
        wrong for wrong in WRONG if Fitted.from_json({**good(), field: wrong}, DOMAIN) is not None
    ]
    assert len(usable) <= 2


@pytest.mark.parametrize("data", WRONG)
def test_what_is_no_object_is_refused(data: Any) -> None:
    assert Fitted.from_json(data, DOMAIN) is None


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.sampled_from([*DOMAIN.names, "se", "matern52", ""]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(list(good())), inner, max_size=8)
        ),
        max_leaves=20,
    ),
    st.sampled_from(list(good())),
)
def test_any_json_is_survived(value: Any, field: str) -> None:
    Fitted.from_json(value, DOMAIN)
    Fitted.from_json({**good(), field: value}, DOMAIN)


def test_the_latest_valid_record_counts() -> None:
    domain = make_domain("3", None, None)
    names = {"groups": [["x0", "x2"], ["x1"]]}
    first, second = {**good(), **names, "n": 5}, {**good(), **names, "n": 9}
    records = [
        Record(0, "complete", {"k": first}),
        Record(1, "failed", {"k": second}),
        Record(2, "complete", {"other": second}),
        Record(3, "complete", {"k": {**first, "noise": -1}}),
        Record(4, "running", {"k": None}),
    ]
    fitted = recall_fit(Memory(records), "k", domain)
    assert fitted is not None
    assert fitted.n == 9
    assert recall_fit(Memory(records[2:]), "k", domain) is None
    assert recall_fit(Memory(), "k", domain) is None


def test_a_fit_of_other_columns_or_groups_does_not_count() -> None:
    """It was made while a parameter was fixed, or with another decomposition."""
    memory = Memory([Record(0, "complete", {"k": good()})])
    assert recall_fit(memory, "k", DOMAIN) is None
    assert recall_fit(memory, "k", DOMAIN, join([[0, 2], [3]])) is not None
    assert recall_fit(memory, "k", DOMAIN, join([[0, 2, 3]])) is None
    assert recall_fit(memory, "k", DOMAIN, join([[0, 1, 2], [3]])) is None


def test_a_recorded_fit_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, groups = Memory([Record(0, "complete", {"k": good()})]), join([[0, 2], [3]])
    first = recall_fit(memory, "k", DOMAIN, groups)
    assert first is not None
    monkeypatch.setattr(Fitted, "from_json", None)
    assert recall_fit(Memory(memory.records), "k", DOMAIN, groups) is first


def test_it_is_read_again_for_another_domain() -> None:
    """The same record may say something else where columns have other names or kinds."""
    memory, groups = Memory([Record(0, "complete", {"k": good()})]), join([[0, 2], [3]])
    assert recall_fit(memory, "k", DOMAIN, groups) is not None
    categorical = replace(DOMAIN, categorical=~DOMAIN.categorical)
    other = recall_fit(memory, "k", categorical, groups)
    assert other is not None
    np.testing.assert_array_equal(other.kernel.categorical, categorical.categorical)
    renamed = replace(DOMAIN, names=tuple(f"{name}_" for name in DOMAIN.names))
    assert recall_fit(memory, "k", renamed, groups) is None


def test_what_was_read_is_not_kept_for_ever() -> None:
    objects = [good() for _ in range(3 * fitted_module._MOST_READ)]
    for data in objects:
        assert recall_fit(
            Memory([Record(0, "complete", {"k": data})]), "k", DOMAIN, join([[0, 2], [3]])
        )
        assert len(fitted_module._READ) <= fitted_module._MOST_READ


# when to fit -------------------------------------------------------------------------------------


def fits(n_cyc: int | None, start: int, stop: int) -> list[int]:
    fitted, at = None, []
    for n in range(start, stop):
        if is_due(fitted, n, n_cyc):
            at.append(n)
            kernel = cold_start(DOMAIN, "se", [[0]], 1.0, 1e-3)
            fitted = Fitted(kernel, n, 0, 0.0)
    return at


def test_fits_come_every_so_many_observations() -> None:
    assert fits(25, 10, 100) == [10, 35, 60, 85]
    assert fits(1, 3, 8) == [3, 4, 5, 6, 7]


def test_by_default_fits_come_less_often_as_observations_accumulate() -> None:
    at = np.array(fits(None, 1, 1000))
    gaps = np.diff(at)
    assert gaps[0] == 2
    assert (np.diff(gaps) >= 0).all()
    assert (gaps <= np.maximum(2, at[:-1] // 20)).all()
    assert len(at) < 120


def test_a_history_that_shrank_calls_for_a_fit() -> None:
    fitted = Fitted(cold_start(DOMAIN, "se", [[0]], 1.0, 1e-3), 20, 0, 0.0)
    assert is_due(fitted, 19, 1000)
    assert not is_due(fitted, 20, 1000)


def refit(n: int) -> Fitted:
    return Fitted(make_kernel(DOMAIN), n, 0, 0.0).rounded(DOMAIN)


def test_a_fit_is_recalled_until_another_is_due() -> None:
    """Within one suggestion, and from the records of earlier ones."""
    groups = make_kernel(DOMAIN).groups
    calls: list[Fitted | None] = []

    def ask(memory: Memory, n: int, **settings: Any) -> Fitted:
        def new(last: Fitted | None) -> Fitted:
            calls.append(last)
            return refit(n)

        return recall_or_refit(memory, "k", DOMAIN, n, new, groups=groups, n_cyc=5, **settings)

    memory = Memory()
    first = ask(memory, 10)
    assert calls == [None]
    assert ask(memory, 10).identity == first.identity
    assert ask(Memory([Record(0, "failed", memory.kept)]), 14).identity == first.identity
    assert calls == [None]
    later = Memory([Record(0, "failed", memory.kept)])
    assert ask(later, 15, renew=False).n == 10
    assert later.kept == {}
    assert ask(later, 15).n == 15
    assert later.kept["k"]["n"] == 15
    assert calls[1] is not None
    assert calls[1].identity == first.identity


# factors -----------------------------------------------------------------------------------------


def assert_identical(a: Posterior, b: Posterior, Z: np.ndarray) -> None:
    assert np.array_equal(a.X, b.X)
    assert np.array_equal(a.alpha, b.alpha)
    for one, other in zip(a.predict(Z), b.predict(Z), strict=True):
        assert np.array_equal(one, other)


Change = tuple[str, int]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "insert", "drop", "pending", "none", "refit", "values"]),
            st.integers(0, 10**6),
        ),
        max_size=12,
    ),
    st.sampled_from(["mixed", "continuous", "discrete"]),
)
def test_a_cached_factor_gives_what_a_new_one_gives(changes: list[Change], name: str) -> None:
    """Bit by bit, whatever happens to the history between two questions."""
    domain = DOMAINS[name]
    rng = np.random.default_rng(0)
    X, P = domain.sample(rng, 5), domain.sample(rng, 0)
    y = rng.standard_normal(5)
    Z = domain.sample(rng, 7)
    cache = FactorCache()
    fitted = Fitted(make_kernel(domain), 5, 0, 0.0)
    for kind, number in [("none", 0), *changes]:
        rng = np.random.default_rng(number)
        at = number % (len(X) + 1)
        if kind == "append":
            m = number % 40  # beyond the room that a factor has to grow in
            X = np.concatenate([X, domain.sample(rng, m)])
            y = np.append(y, rng.standard_normal(m))
        elif kind == "insert":
            X = np.insert(X, at, domain.sample(rng, 1), axis=0)
            y = np.insert(y, at, rng.standard_normal())
        elif kind == "drop" and len(X) > 1:
            X, y = X[: max(at, 1)], y[: max(at, 1)]
        elif kind == "pending":
            P = domain.sample(rng, number % 4)
        elif kind == "refit":
            fitted = Fitted(make_kernel(domain, seed=number % 97), len(X), 0, 0.0)
        elif kind == "values":
            y = rng.standard_normal(len(y))
        cached = cache.posterior(fitted, X, y, P)
        fresh = FactorCache().posterior(fitted, X, y, P)
        assert_identical(cached, fresh, Z)


def test_pending_points_leave_the_mean_alone_and_shrink_the_variance() -> None:
    domain = DOMAINS["mixed"]
    rng = np.random.default_rng(1)
    X, y, P = domain.sample(rng, 12), rng.standard_normal(12), domain.sample(rng, 3)
    Z = np.concatenate([domain.sample(rng, 9), P])
    fitted = Fitted(make_kernel(domain), 12, 0, 0.0)
    cache = FactorCache()
    mean, variance = cache.posterior(fitted, X, y, P[:0]).predict(Z)
    with_pending = cache.posterior(fitted, X, y, P).predict(Z)
    np.testing.assert_allclose(with_pending[0], mean, atol=1e-12)
    assert (with_pending[1] <= variance + 1e-12).all()
    assert (with_pending[1][-3:] < 0.1 * variance[-3:]).all()


def test_what_was_handed_out_stays_usable_until_the_next_question() -> None:
    domain = DOMAINS["continuous"]
    rng = np.random.default_rng(2)
    X, y = domain.sample(rng, 10), rng.standard_normal(10)
    X.flags.writeable = False
    fitted = Fitted(make_kernel(domain), 10, 0, 0.0)
    cache = FactorCache()
    posterior = cache.posterior(fitted, X, y, X[:0])
    mean, variance = posterior.predict(X)
    np.testing.assert_allclose(mean, y, atol=0.1)
    assert (variance < 2e-3 * fitted.kernel.variance * 10).all()


def test_another_domain_of_the_same_size_starts_anew() -> None:
    """The rows tell, even where names and hyperparameters agree."""
    domain = DOMAINS["continuous"]
    fitted = Fitted(make_kernel(domain), 6, 0, 0.0)
    rng = np.random.default_rng(3)
    cache = FactorCache()
    for _ in range(3):
        X, y = domain.sample(rng, 8), rng.standard_normal(8)
        cached = cache.posterior(fitted, X, y, X[:0])
        fresh = FactorCache().posterior(fitted, X, y, X[:0])
        assert_identical(cached, fresh, domain.sample(rng, 4))


def test_a_cold_start_shares_unit_variance() -> None:
    kernel = cold_start(DOMAIN, "se", join([[0, 1], [2], [3]]), 0.7, 1e-3)
    assert kernel.variance == pytest.approx(1.0)
    assert kernel.lengthscales.tolist() == [0.7] * 4
    assert kernel.noise == 1e-3
    assert np.array_equal(kernel.categorical, DOMAIN.categorical)
