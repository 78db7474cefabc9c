"""MS-UCB against the paper: Z_t, its limits d = 0 and d = D, both schedules."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import Ledger
from histories import affordable
from histories import make_domain
from histories import published

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.confidence import root_beta_of_subspaces
from optuna_hdbo._core.maximise.in_subspaces import SubspaceMaximiser
from optuna_hdbo._core.maximise.subspaces import with_climbs
from optuna_hdbo._core.memory import Memory
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.ms_ucb import MSUCB


def peak(x: np.ndarray) -> float:
    return float(np.exp(-20 * ((x - 0.7) ** 2).sum()))


PUBLISHED = published(MSUCB, n_starts=8)


@pytest.mark.parametrize("d", [0, 1, 3])
@pytest.mark.parametrize("settings", [{"anchors": None}, PUBLISHED])
def test_every_point_lies_on_a_subspace(d: int, settings: dict[str, Any]) -> None:
    for name in ("continuous", "mixed"):
        ledger = Ledger.started(DOMAINS[name], 6)
        method = MSUCB(**{**settings, "d": d})
        for _ in range(affordable(4, 2)):
            seen = ledger.seen()
            suggestion = method.suggest(ledger.domain, seen, Streams(0))
            spaces = MSUCB(**{**settings, "d": d}).subspaces(ledger.domain, seen, Streams(0))
            assert len(spaces) == seen.step + 1
            on = np.all((spaces.anchors == suggestion.x) | spaces.free, axis=1)
            assert on.any()
            assert suggestion.report["n_subspaces"] == len(spaces)
            ledger.keep(suggestion)
            ledger.observe(suggestion.x)


def test_incumbents_add_subspaces_through_where_climbs_from_them_lead() -> None:
    """What is asked leaves all but d columns at a random, a good, or a climbed point."""
    ledger = Ledger.started(make_domain(*[None] * 6), 8)
    seen = ledger.seen()
    method = MSUCB(d=2)
    rng = np.random.default_rng(0)
    posterior = method._models.drawn(ledger.domain, seen, Memory(), rng).posterior
    acquisition = Analytic.ucb(posterior, 0.5)
    spaces = method.subspaces(ledger.domain, seen, Streams(0))
    starts = seen.X[np.argsort(-seen.y)[:3]]
    more = with_climbs(
        spaces, ledger.domain, acquisition, starts, "random", 30, np.random.default_rng(1)
    )
    assert len(more) == len(spaces) + 3
    assert np.array_equal(more.anchors[:-3], spaces.anchors)
    assert np.all(acquisition(more.anchors[-3:]) >= acquisition(starts) - 1e-9)
    x = SubspaceMaximiser(ledger.domain, more)(acquisition, np.random.default_rng(2), seen.X)
    assert acquisition(x[None])[0] >= acquisition(more.anchors[-3:]).max() - 1e-9


def test_fixed_axes_never_move_the_others_as_published() -> None:
    """The first D - d columns take values of Z_t only."""
    ledger = Ledger.started(make_domain(*[None] * 6), 6)
    method = MSUCB(**{**PUBLISHED, "d": 2})
    ledger.run(method, affordable(6, 2))
    spaces = method.subspaces(ledger.domain, ledger.seen(), Streams(0))
    z = {a.tobytes() for a in spaces.anchors[:, :4]}
    assert all(x[:4].tobytes() in z for x in ledger.X[6:])


def test_more_than_there_are_is_all_of_them_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    domain = DOMAINS["continuous"]
    method, exact = MSUCB(d=9), MSUCB(d=5)
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        method.validate(domain)
        method.validate(domain)
        exact.validate(domain)
        MSUCB().validate(make_domain(None))
    assert len(caplog.messages) == 1
    assert "d must be at most the number of parameters, but got 9 for 5" in caplog.messages[0]
    ledger = Ledger.started(domain, 6)
    one, other = (m.suggest(domain, ledger.seen(), Streams(0)) for m in (method, exact))
    assert np.array_equal(one.x, other.x)


@pytest.mark.parametrize(("d", "n_columns"), [(1, 10), (5, 100), (10, 5000)])
def test_the_schedule_of_the_theorem(d: int, n_columns: int) -> None:
    t = 7
    slope = 2 * d * math.sqrt(math.log(6 * n_columns / 0.1)) * t**2
    expected = 2 * math.log(math.pi**2 * t**2 / 0.1) + 2 * d * math.log(slope)
    assert root_beta_of_subspaces("theory", t, d, n_columns) ** 2 == pytest.approx(expected)


def test_other_schedules() -> None:
    points = root_beta_of_subspaces("theory", 7, 0, 10) ** 2
    assert points == pytest.approx(4 * math.log(math.pi**2 * 49 / 0.2))
    assert root_beta_of_subspaces("practical", 7, 5, 10) ** 2 == pytest.approx(math.log(14))
    assert root_beta_of_subspaces("practical", 7, 0, 10) ** 2 == pytest.approx(0.2 * math.log(14))
    assert root_beta_of_subspaces(2.25, 7, 5, 10) == 1.5
    assert root_beta_of_subspaces(lambda t: float(t), 9, 5, 10) == 3.0


def test_the_optimum_of_a_smooth_function_is_found() -> None:
    ledger = Ledger.started(make_domain(*[None] * 3), 6, peak)
    goal = affordable(970, 0) / 1000
    ledger.run(MSUCB(d=2), affordable(40, 4), goal=goal)
    assert max(ledger.values) > goal


@pytest.mark.parametrize(("settings", "expected"), [({}, 0.5), ({"alternate": False}, 0.0)])
def test_a_share_of_the_queries_leaves_the_best_trial_along_one_axis(
    settings: dict[str, Any], expected: float
) -> None:
    ledger = Ledger.started(make_domain(*[None] * 12), 20, peak)
    method, n = MSUCB(**settings), affordable(40, 8)
    ledger.keep(method.suggest(ledger.domain, ledger.seen(), Streams(0)))  # the fit
    seen = ledger.seen()
    best = seen.X[np.argmax(seen.y)]
    asked = [method.suggest(ledger.domain, seen, Streams(seed)).x for seed in range(n)]
    along = np.mean([(x != best).sum() == 1 for x in asked])
    assert abs(along - expected) <= affordable(25, 40) / 100


@pytest.mark.parametrize("settings", [{}, {"alternate": False}, {"d": 2, "ard": False}])
def test_what_constraints_forbid_is_not_asked(settings: dict[str, Any]) -> None:
    """The best point has 0.7 everywhere, and more than 0.4 is forbidden in the first column."""

    def hill(x: np.ndarray) -> float:
        return float(np.exp(-5.0 * ((x - 0.7) ** 2).sum()))

    ledger = Ledger.started(make_domain(*[None] * 3), 20, hill)
    method = MSUCB(**settings)
    for _ in range(affordable(12, 2)):
        seen = ledger.seen()
        seen = replace(seen, constraints=seen.X[:, :1] - 0.4)
        suggestion = method.suggest(ledger.domain, seen, Streams(0))
        assert "constraint0:inverse-square" in (suggestion.record or {}) or len(ledger.X) > 20
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)
    asked = np.array(ledger.X[20:])
    assert np.mean(asked[:, 0] <= affordable(45, 70) / 100) > 0.9
    if not INTERPRETED:
        allowed = [v for x, v in zip(ledger.X, ledger.values, strict=True) if x[0] <= 0.41]
        assert max(allowed) > 0.9 * hill(np.array([0.4, 0.7, 0.7]))


def test_hundreds_of_columns_may_be_constrained() -> None:
    ledger = Ledger.started(make_domain(*[None] * affordable(300, 201)), 8)
    seen = ledger.seen()
    seen = replace(seen, constraints=seen.X[:, :1] - 0.4)
    suggestion = MSUCB().suggest(ledger.domain, seen, Streams(0))
    fits = [key for key in suggestion.record or {} if not key.endswith((":evidence", ":output"))]
    assert set(fits) == {
        "isotropic:dimension-scaled",
        "constraint0:inverse-square",
        "constraint0:inverse-square:warped",
    }


def test_hundreds_of_columns_share_a_lengthscale() -> None:
    ledger = Ledger.started(make_domain(*[None] * affordable(300, 201)), 5)
    suggestions = ledger.run(MSUCB(), affordable(3, 1))
    assert list(suggestions[0].record or {}) == ["isotropic:dimension-scaled"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d", -1),
        ("d", 2.0),
        ("d", True),
        ("n0", 0),
        ("n0", 1.5),
        ("n0", None),
        ("alpha", -0.5),
        ("alpha", 5.0),
        ("alpha", math.nan),
        ("alpha", "1"),
        ("axes", "all"),
        ("anchors", "best"),
        ("beta", "linear"),
        ("beta", -1.0),
        ("kernel", "rbf"),
        ("n_cyc", 0),
        ("n_starts", 0),
    ],
)
def test_wrong_settings_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be .* but got "):
        MSUCB(**{name: value})
