"""The quadratic expert: when it is asked, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from histories import Ledger
from histories import is_admissible
from histories import make_domain
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from optuna_hdbo._core.gp.fitted import n_settled
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.gp_ucb import GPUCB
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.panel import CREDITS
from optuna_hdbo.portfolio.quadratic import Quadratic
from optuna_hdbo.portfolio.quadratic import expansion
from optuna_hdbo.portfolio.quadratic import n_coefficients
from optuna_hdbo.portfolio.quadratic import radius


D = 5
FLOATS = make_domain(*[None] * D)


def valley(seed: int = 0) -> Callable[[np.ndarray], float]:
    """Return a quadratic function whose valleys are along no axis; its maximum is 0 at .4."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(D, D)))[0]
    weights = 10.0 ** np.linspace(0.0, 4.0, D)
    return lambda x: -float((weights * (Q @ (x - 0.4)) ** 2).sum())


def test_it_follows_a_valley_that_is_along_no_axis() -> None:
    ledger = Ledger.started(FLOATS, 40, f=valley())
    before = max(ledger.values)
    ledger.run(Quadratic(), 10)
    assert before < -10.0  # from the points it began with
    assert max(ledger.values) > -1e-3


def test_it_is_ready_where_it_explains_what_it_has_not_seen() -> None:
    rng = np.random.default_rng(0)
    smooth = Ledger.started(FLOATS, 40, f=valley())
    rugged = Ledger.started(FLOATS, 40, f=lambda x: float(rng.normal()))
    assert Quadratic().is_ready(FLOATS, smooth.seen())
    assert not Quadratic().is_ready(FLOATS, rugged.seen())


@pytest.mark.parametrize("case", ["few", "categories", "constraints", "equal values"])
def test_without_a_model_gp_ucb_stands_in(case: str) -> None:
    domain = make_domain(None, None, "3") if case == "categories" else FLOATS
    f = (lambda x: 1.0) if case == "equal values" else (lambda x: -float((x**2).sum()))
    ledger = Ledger.started(domain, 2 * len(domain) - 1 if case == "few" else 30, f=f)
    seen = ledger.seen()
    if case == "constraints":
        seen = replace(seen, constraints=np.full((len(seen.values), 1), 1.0))
        held = replace(seen, constraints=-seen.constraints)
        assert Quadratic().is_ready(domain, held)  # one that always holds changes nothing
    assert not Quadratic().is_ready(domain, seen)
    found, expected = (m.suggest(domain, seen, Streams(0)) for m in (Quadratic(), GPUCB()))
    np.testing.assert_array_equal(found.x, expected.x)


def test_a_fresh_expert_asks_for_the_same_points_as_a_kept_one() -> None:
    ledger, kept = Ledger.started(FLOATS, 20, f=valley()), Quadratic()
    for _ in range(12):
        seen = ledger.seen()
        found, expected = (q.suggest(FLOATS, seen, Streams(0)) for q in (kept, Quadratic()))
        np.testing.assert_array_equal(found.x, expected.x)
        ledger.observe(found.x)


def test_units_of_the_objective_do_not_matter() -> None:
    ledger = Ledger.started(FLOATS, 30, f=valley())
    other = Ledger.started(FLOATS, 30, f=lambda x: 3.0 + 1e-5 * valley()(x))
    x, z = (Quadratic().suggest(FLOATS, at.seen(), Streams(0)).x for at in (ledger, other))
    np.testing.assert_allclose(x, z, atol=1e-3)


def test_the_report_predicts_the_value() -> None:
    ledger = Ledger.started(FLOATS, 40, f=valley())
    suggestion = Quadratic().suggest(FLOATS, ledger.seen(), Streams(0))
    predicted, std = (float(suggestion.report[key]) for key in ("predicted", "std"))
    assert std > 0.0
    sign = ledger.seen().sign
    assert sign * predicted == pytest.approx(valley()(suggestion.x), abs=6.0 * std + 1e-6)


def test_a_point_under_evaluation_is_not_asked_for_again() -> None:
    ledger = Ledger.started(FLOATS, 30, f=valley())
    first = Quadratic().suggest(FLOATS, ledger.seen(), Streams(0)).x
    again = Quadratic().suggest(FLOATS, ledger.seen(pending=[first]), Streams(0)).x
    assert np.abs(again - first).max() > 1e-4


def test_points_have_values_of_the_steps() -> None:
    domain = make_domain(None, None, 9, 5)
    ledger = Ledger.started(domain, 20, f=lambda x: -float(((x - 0.4) ** 2).sum()))
    for suggestion in ledger.run(Quadratic(), 6):
        assert is_admissible(domain, suggestion.x)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from([0.0, 1.0, -1e308, 1e308, np.inf, -np.inf, 1e-300]),
        min_size=20,
        max_size=20,
    ),
    st.booleans(),
)
def test_no_values_make_it_fail(values: list[float], twice: bool) -> None:
    X = np.random.default_rng(0).random((20, D))
    if twice:
        X[10:] = X[:10]
    seen = Observations.from_arrays(X, np.array(values))
    assert is_admissible(FLOATS, Quadratic().suggest(FLOATS, seen, Streams(0)).x)


def test_the_expansion_is_about_the_best_point() -> None:
    rng = np.random.default_rng(0)
    X, values = rng.random((12, 3)), rng.normal(size=12)
    X[7] = X[int(np.argmax(values))]  # a point twice has no displacement
    U, changes, unit, best = expansion(X, values)
    assert best == int(np.argmax(values))
    assert len(U) == 10
    assert np.all(np.diff(np.linalg.norm(U, axis=1)) >= 0.0)
    for u, change in zip(U, changes, strict=True):
        row = int(np.argmin(np.abs(X - (X[best] + radius(3) * u)).sum(axis=1)))
        assert change * unit == pytest.approx(values[row] - values[best])
    assert float((changes**2).mean()) == pytest.approx(1.0)


def test_fits_become_rarer() -> None:
    counts = [n_settled(n) for n in range(10, 400)]
    assert all(n_settled(n) <= n for n in range(10, 400))
    assert len(set(counts)) < 45
    assert all(n - n_settled(n) < max(2, 0.1 * n) for n in range(10, 400))


class Never:
    """An expert that is never ready."""

    name = "never"

    def validate(self, domain: object) -> None:
        """Accept every domain."""

    def is_ready(self, domain: object, seen: Observations) -> bool:
        return False

    def suggest(self, domain: object, seen: Observations, streams: Streams) -> Suggestion:
        return Suggestion(np.full(seen.X.shape[1], 0.123), {})


def test_it_takes_part_once_the_trials_determine_a_quadratic_function() -> None:
    domain = make_domain(*[None] * 10)
    n = n_coefficients(10)
    assert n == 1 + 10 + 10 * 11 // 2
    shares = []
    for m in (n - 1, n):
        seen = Ledger.started(domain, m).seen()
        record = HDBO().suggest(domain, seen, Streams(0)).record or {}
        shares.append("quadratic" in record[CREDITS])
    assert shares == [False, True]


def test_an_expert_that_is_not_ready_is_not_asked() -> None:
    ledger = Ledger.started(make_domain(*[None] * 10), n_coefficients(10))
    method = HDBO(experts=["local", "quadratic"])
    method._everywhere.experts = method._in_box.experts = {
        **method._everywhere.experts,
        "quadratic": Never(),
    }
    for suggestion in ledger.run(method, 8):
        assert suggestion.record is not None
        assert suggestion.record[credit.KEY] == "local"
    alone = HDBO(experts=["quadratic"])
    alone._everywhere.experts = alone._in_box.experts = {"quadratic": Never()}
    asked = alone.suggest(ledger.domain, ledger.seen(), Streams(0))
    np.testing.assert_array_equal(asked.x, 0.123)  # somebody has to suggest a point


def test_it_takes_part_where_all_columns_are_numerical() -> None:
    expert = EXPERTS["quadratic"]
    assert expert.suits(make_domain(*[None] * 12))
    assert not expert.suits(make_domain(*[None] * 12, "3"))
    assert not expert.suits(make_domain(*[None] * 9))
    assert not expert.suits(make_domain(*[None] * 41))
