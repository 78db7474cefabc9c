"""The steps expert: when it takes part or takes over, and what it suggests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import CONDITIONAL
from histories import Ledger
from histories import is_admissible
from histories import make_domain

from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio import steps
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.steps import APART
from optuna_hdbo.portfolio.steps import LEAST_REPEATED
from optuna_hdbo.portfolio.steps import N_BEST
from optuna_hdbo.portfolio.steps import N_NEAR
from optuna_hdbo.portfolio.steps import N_UNIFORM
from optuna_hdbo.portfolio.steps import Stepped
from optuna_hdbo.portfolio.steps import candidates
from optuna_hdbo.portfolio.steps import of_rare_branch
from optuna_hdbo.portfolio.steps import on_known_step
from optuna_hdbo.portfolio.steps import repeated


def smooth(x: np.ndarray) -> float:
    return -float(((x[1:] - 0.3) ** 2).sum())


def stepped(x: np.ndarray) -> float:
    return float(np.floor(10.0 * smooth(x)))


def bowl(x: np.ndarray) -> float:
    return -float(((x - 0.3) ** 2).sum())


def rounded_bowl(x: np.ndarray) -> float:
    return float(np.floor(10.0 * bowl(x)))


def observations(values: list[float], gap: float = 0.1) -> Observations:
    X = gap * np.arange(len(values), dtype=np.float64)[:, None]
    return Observations.from_arrays(np.hstack([X, X]), np.array(values))


def test_repeated_values_among_the_better_half_count() -> None:
    assert repeated(observations([5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0])) == 0.0
    assert repeated(observations([5.0, 1.0, 5.0, 2.0, 3.0, 1.0, 4.0, 1.0])) == 1 / 4
    assert repeated(observations([5.0] * 8)) == 3 / 4
    assert repeated(observations([5.0])) == 0.0
    assert repeated(observations([np.inf] * 8)) == 0.0
    assert repeated(observations([1e308, -1e308, 1e308, -1e308])) == 1 / 2


def test_points_that_are_close_do_not_repeat_a_value() -> None:
    assert repeated(observations([5.0] * 8, gap=0.9 * APART)) == 0.0
    assert repeated(observations([5.0] * 8, gap=1.1 * APART)) > 0.0


def test_only_feasible_points_in_the_domain_count() -> None:
    seen = observations([5.0, 5.0, 5.0, 4.0, 3.0, 2.0])
    constrained = replace(seen, constraints=np.array([[1.0], [1.0], [0.0], [0.0], [0.0], [0.0]]))
    assert repeated(seen) > 0.0
    assert repeated(constrained) == 0.0
    assert repeated(replace(seen, outside=np.array([True, True, *[False] * 4]))) == 0.0
    assert repeated(replace(constrained, constraints=np.ones((6, 1)))) == 0.0


def test_most_candidates_are_near_the_best_points() -> None:
    x = CONDITIONAL.snap(np.full((1, len(CONDITIONAL)), 0.5))
    Z = candidates(CONDITIONAL, x, np.zeros(1), np.random.default_rng(0))
    assert len(Z) == N_NEAR + N_UNIFORM
    assert all(is_admissible(CONDITIONAL, z) for z in Z)
    gaps = np.abs(Z[:, 1] - x[0, 1])  # a column that is always active
    assert np.median(gaps[:N_NEAR]) < 0.15
    assert np.median(gaps[N_NEAR:]) > 0.2
    kept = (Z[:, 0] == x[0, 0])[:N_NEAR].mean()
    assert 0.85 < kept < 1.0


def test_candidates_are_near_the_points_of_the_largest_merit() -> None:
    domain = make_domain(None, None)
    X = np.repeat([[0.1, 0.1], [0.9, 0.9]], 2 * N_BEST, axis=0)
    for merit, there in ((-1.0, 0.1), (1.0, 0.9)):
        merits = merit * X[:, 0]
        Z = candidates(domain, X, merits, np.random.default_rng(0))[:N_NEAR]
        assert (np.abs(Z - there) < 0.4).mean() > 0.95


def test_a_column_moves_by_steps_from_eight_values_on() -> None:
    """From there on a step reaches less than all of its range."""
    kept = {}
    for n in (7, 8):
        domain = make_domain(n)
        x = domain.snap(np.full((1, 1), 0.5))
        kept[n] = (
            candidates(domain, x, np.zeros(1), np.random.default_rng(0))[:N_NEAR] == x
        ).mean()
    assert kept[7] > 0.85
    assert kept[8] < 0.6


def test_columns_of_few_values_change_in_few_candidates_and_places() -> None:
    """A step of .15 never leads from one of two values to the other."""
    domain = make_domain(*[2] * 100, None)
    x = domain.snap(np.zeros((1, 101)))
    Z = candidates(domain, x, np.zeros(1), np.random.default_rng(0))[:N_NEAR]
    n_changed = (x != Z)[:, :100].sum(axis=1)
    assert 0.5 < n_changed.mean() < 1.5  # two are drawn anew, every other one as it was
    assert Z[:, 100].std() > 0.05
    many = candidates(make_domain(50), x[:, :1], np.zeros(1), np.random.default_rng(0))[:N_NEAR]
    assert np.median(np.abs(many - x[0, 0])) < 0.15  # a column of fifty values moves by steps


@pytest.mark.parametrize("constrained", [False, True])
def test_the_best_candidate_improves_on_the_best_feasible_value(
    monkeypatch: pytest.MonkeyPatch, constrained: bool
) -> None:
    seen = Ledger.started(CONDITIONAL, 20, stepped).seen(pending=[CONDITIONAL.absent])
    infeasible = np.zeros((20, 1))
    infeasible[int(np.argmax(seen.y))] = 1.0
    seen = replace(seen, constraints=infeasible) if constrained else seen
    asked: list[Any] = []

    def scored(posterior: Posterior, incumbent: float, Z: np.ndarray, known: Any) -> Any:
        asked.append((posterior.y, incumbent, Z, known))
        return 1e3 * np.sin(np.arange(len(Z)))

    monkeypatch.setattr(steps, "log_jump_improvement", scored)
    monkeypatch.setattr(steps, "EXPLORED", 0.0)
    x = Stepped().suggest(CONDITIONAL, seen, Streams(0)).x
    ((y, incumbent, Z, known),) = asked
    assert incumbent == (y[infeasible[:, 0] == 0.0] if constrained else y).max()
    np.testing.assert_array_equal(x, Z[int(np.argmax(np.sin(np.arange(len(Z)))))])
    np.testing.assert_array_equal(known, seen.known)
    assert len(known) == 21


@pytest.mark.parametrize("explored", [0.0, 1.0])
def test_rare_branches_are_searched(monkeypatch: pytest.MonkeyPatch, explored: float) -> None:
    """The objective's best branch has all trials but two."""
    monkeypatch.setattr(steps, "EXPLORED", explored)
    X = CONDITIONAL.sample(np.random.default_rng(0), 60)
    X = np.concatenate([X[X[:, 0] == 0.0][:14], X[X[:, 0] == 2.0][:2]])
    values = np.where(X[:, 0] == 0.0, 0.0, -9.0) - np.floor(4.0 * X[:, 1])
    seen = Observations.from_arrays(X, values)
    asked: list[np.ndarray] = []

    def scored(posterior: object, incumbent: float, Z: np.ndarray, known: object) -> Any:
        asked.append(Z)
        return np.zeros(len(Z))

    monkeypatch.setattr(steps, "log_jump_improvement", scored)
    Stepped().suggest(CONDITIONAL, seen, Streams(0))
    branches = np.unique(CONDITIONAL.active(asked[0]), axis=0)
    assert len(branches) == 1 if explored else len(branches) > 1


def test_branches_are_drawn_by_how_few_trials_they_have() -> None:
    rng = np.random.default_rng(0)
    Z = CONDITIONAL.sample(rng, 200)
    X = Z[Z[:, 0] == 0.0][:9]
    drawn = [of_rare_branch(CONDITIONAL, X, Z, rng) for _ in range(300)]
    assert all(len(np.unique(CONDITIONAL.active(rows), axis=0)) == 1 for rows in drawn)
    # Four branches: one has nine trials, so that its weight is a tenth of each other one's.
    share = float(np.mean([rows[0, 0] == 0.0 for rows in drawn]))
    assert share == pytest.approx(0.1 / 3.1, abs=0.03)


def test_a_step_reaches_as_far_as_the_nearest_equal_value() -> None:
    X = np.array([[0.2, 0.5], [0.25, 0.5], [0.6, 0.5], [0.9, 0.5]])
    values = np.array([1.0, 1.0, 2.0, 2.0])  # the last two are too far apart
    at = np.array([0.16, 0.14, 0.24, 0.29, 0.31, 0.6, 0.61])
    Z = np.stack([at, np.full(len(at), 0.5)], axis=1)
    real, steps = np.zeros(2, np.bool_), np.array([True, False])
    found = on_known_step(Z, X, values, real)
    assert found.tolist() == [True, False, True, True, False, False, False]
    assert not on_known_step(Z, X, np.arange(4.0), real).any()
    assert not on_known_step(Z, X[:1], values[:1], real).any()
    assert not on_known_step(Z, X, values, steps)[:4].any()  # integers between or beside them


def test_with_branches_it_makes_all_queries_where_values_repeat_and_none_elsewhere() -> None:
    for f, expected in ((stepped, {"steps"}), (smooth, {"local", "global", "groups"})):
        ledger = Ledger.started(CONDITIONAL, 20, f)
        assert (repeated(ledger.seen()) >= LEAST_REPEATED) == (f is stepped)
        for suggestion in ledger.run(HDBO(), 4):
            assert suggestion.record is not None
            assert suggestion.record[credit.KEY] in expected
            assert is_admissible(CONDITIONAL, suggestion.x)


def test_it_is_never_ready_where_equal_points_may_differ() -> None:
    seen = Ledger.started(CONDITIONAL, 20, stepped).seen()
    assert Stepped().is_ready(CONDITIONAL, seen)
    assert not Stepped(deterministic_objective=False).is_ready(CONDITIONAL, seen)
    for deterministic, expected in ((None, True), (False, False)):
        method = HDBO(experts=["steps", "global"], deterministic_objective=deterministic)
        record = method.suggest(CONDITIONAL, seen, Streams(0)).record or {}
        assert (record[credit.KEY] == "steps") == expected


def test_without_branches_it_is_one_of_the_experts_where_values_repeat() -> None:
    domain = make_domain(None, None, None)
    assert "steps" in HDBO().experts_for(domain)
    for f, repeats in ((rounded_bowl, True), (bowl, False)):
        ledger = Ledger.started(domain, 20, f)
        assert (repeated(ledger.seen()) >= LEAST_REPEATED) == repeats
        records = [suggestion.record or {} for suggestion in ledger.run(HDBO(), 12)]
        of_steps = sum(record.get(credit.KEY) == "steps" for record in records)
        assert 0 < of_steps < len(records) if repeats else of_steps == 0


def test_where_no_values_repeat_the_choice_is_as_if_it_did_not_exist() -> None:
    """An expert that takes no part has no say in the random numbers of the choice either."""
    domain = make_domain(None, None, None)
    others = [name for name in HDBO().experts_for(domain) if name != "steps"]
    points = [
        np.array([suggestion.x for suggestion in Ledger.started(domain, 20, bowl).run(method, 8)])
        for method in (HDBO(), HDBO(experts=others))
    ]
    np.testing.assert_array_equal(*points)


@pytest.mark.parametrize("violation", [1.0, -1.0])
def test_constraints_are_weighed(violation: float) -> None:
    """Half of the points violate the constraint, or all of them."""
    ledger = Ledger.started(CONDITIONAL, 30, stepped)
    seen = ledger.seen()
    low = seen.X[:, 1] < 0.5
    seen = replace(seen, constraints=np.where(low, 1.0, violation)[:, None])
    chosen = [Stepped().suggest(CONDITIONAL, seen, Streams(s)).x for s in range(3)]
    assert all(is_admissible(CONDITIONAL, x) for x in chosen)
    if violation < 0.0:
        assert sum(x[1] >= 0.5 for x in chosen) >= 2
