"""What constraints do to rankings, incumbents and acquisitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference
from histories import INTERPRETED
from histories import Ledger
from histories import affordable
from histories import make_domain
from scipy.stats import norm

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.analytic import Sum
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.acquisition.feasibility import Feasibility
from optuna_hdbo._core.acquisition.feasibility import compressed_like
from optuna_hdbo._core.acquisition.feasibility import finite_constraints
from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.acquisition.feasibility import rejecting
from optuna_hdbo._core.acquisition.feasibility import towards_feasible
from optuna_hdbo._core.acquisition.feasibility import violations
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.memory import TOWARDS
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import MOST_MODELLED
from optuna_hdbo._core.observations import RENEWAL
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._core.outputs import warped_output
from optuna_hdbo._core.points import Failures


DOMAIN = make_domain(None, None)


def observed(constraints: np.ndarray, n: int = 14) -> Observations:
    seen = Ledger.started(DOMAIN, n, lambda x: float(x.sum())).seen()
    return replace(seen, constraints=constraints)


def halves(n: int = 14, scale: float = 1.0) -> Observations:
    """Only x0 <= 0.4 is feasible."""
    X = Ledger.started(DOMAIN, n, lambda x: 0.0).seen().X
    return observed(scale * (X[:, :1] - 0.4), n)


def objective(seen: Observations) -> Posterior:
    ensemble = Ensemble("matern52", True, (ALL_MATTER,))
    return ensemble.believed(DOMAIN, seen, ALL_MATTER, Memory()).posterior


def learn(seen: Observations) -> tuple[Feasibility, dict[str, Any]]:
    """Return what is known of the constraints, and what is to be recorded."""
    memory = Memory(seen.records)
    return ConstraintModels().fit(DOMAIN, seen, memory), memory.kept


def fits_in(record: dict[str, Any]) -> list[str]:
    return [key for key in record if not key.endswith((":evidence", ":output"))]


def learn_in_turn(seen: Observations, first: int) -> Feasibility:
    """Return what is known at the end, where a model is asked for after each observation."""
    records: list[Record] = []
    for n in range(first, len(seen.y) + 1):
        feasibility, kept = learn(replace(seen.at(np.arange(n)), records=tuple(records)))
        records.append(Record(n, "complete", kept))
    return feasibility


def test_without_constraints_nothing_changes() -> None:
    seen = observed(np.empty((14, 0)))
    feasibility, record = learn(seen)
    assert record == {}
    assert np.array_equal(feasibility.merit, seen.y)
    posterior = objective(seen)
    assert isinstance(feasibility.improvement(posterior), Analytic)
    assert isinstance(feasibility.optimistic(posterior, 1.0), Analytic)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e12])
def test_feasible_points_come_first_and_small_violations_next(scale: float) -> None:
    seen = halves(scale=scale)
    feasibility, record = learn(seen)
    c = seen.constraints[:, 0]
    order = np.argsort(-feasibility.merit, kind="stable")
    n = int((c <= 0).sum())
    assert 0 < n < len(c)
    assert set(order[:n]) == set(np.flatnonzero(c <= 0))
    assert np.all(np.diff(seen.y[order[:n]]) <= 0)
    assert np.all(np.diff(c[order[n:]]) >= 0)
    posterior = objective(seen)
    expected = posterior.mean(seen.X)[c <= 0].max()
    assert feasibility.incumbent(posterior) == pytest.approx(expected, abs=1e-8)
    assert fits_in(record) == ["constraint0:inverse-square", "constraint0:inverse-square:warped"]


@pytest.mark.parametrize("shift", [-3.0, 0.0, 3.0])
def test_where_posterior_means_rank_the_same_points_are_feasible(shift: float) -> None:
    """Means spread less than values, so the lowest value says nothing about them."""
    seen = halves()
    feasibility, _ = learn(replace(seen, ranks=0.1 * seen.y + shift))
    assert np.array_equal(feasibility.feasible, seen.constraints[:, 0] <= 0.0)


def test_an_infinite_violation_is_no_unit_for_the_others() -> None:
    seen = observed(np.array([[0.5], [1.0], [-0.5], [np.inf], [-np.inf], [np.nan]]), 6)
    expected = [[0.5], [1.0], [-0.5], [2.5], [-2.0], [np.nan]]
    np.testing.assert_allclose(finite_constraints(seen), expected)
    assert violations(seen)[1] == pytest.approx(2.0 * violations(seen)[0])
    everywhere = observed(np.full((3, 1), np.inf), 3)
    assert finite_constraints(everywhere).tolist() == [[1.0]] * 3


def test_constraints_that_failed_trials_told_are_learned() -> None:
    """And such a violation explains the failure."""
    seen = halves(20)
    lost = np.flatnonzero(seen.constraints[:, 0] > 0.0)
    kept = seen.with_failures(DOMAIN, {}, np.isin(np.arange(20), lost))
    assert kept.failures is not None
    told = replace(kept, failures=replace(kept.failures, are_elsewhere=True))
    untold = replace(told, told_by_failed={})
    assert fits_in(learn(untold)[1]) == ["failures:inverse-square"]
    feasibility, record = learn(told)
    assert fits_in(record)[0] == "constraint0:inverse-square"
    assert not any("failures" in key for key in record)
    posterior, most = feasibility.constraints[0]
    Z = np.random.default_rng(0).random((100, 2))
    assert np.mean((posterior.mean(Z) <= most) == (Z[:, 0] <= 0.4)) > 0.95


@pytest.mark.parametrize("step", [40, 41])
def test_failed_trials_may_tell_constraints_while_nothing_is_feasible(step: int) -> None:
    """Every second search for a feasible point goes by the sum of all violations."""
    seen = halves(20)
    lost = np.flatnonzero(seen.constraints[:, 0] <= 0.0)
    kept = seen.with_failures(DOMAIN, {}, np.isin(np.arange(20), lost))
    told = {int(n): seen.constraints[n] + 1.0 for n in lost}
    kept = replace(kept, told_by_failed=told, step=step, objectives=np.ones((len(kept.X), 2)))
    towards, is_towards = towards_feasible(kept)
    assert is_towards
    learn(towards)


def test_models_of_the_same_constraint_may_have_names() -> None:
    seen, memory = halves(), Memory()
    ConstraintModels("matern52", "embedded1:").fit(DOMAIN, seen, memory)
    assert fits_in(memory.kept)[0] == "embedded1:constraint0:inverse-square"


def test_of_equal_violations_the_best_values_come_first() -> None:
    """A constraint may tell only that it does not hold."""
    seen = halves(20)
    c = np.where(seen.constraints > 0.0, 1.0, -1.0)
    merit = merits(observed(c, 20))
    bad = np.flatnonzero(c[:, 0] > 0.0)
    order = bad[np.argsort(-merit[bad], kind="stable")]
    assert np.all(np.diff(seen.y[order]) < 0.0)
    assert merit[bad].max() < merit[c[:, 0] <= 0.0].min() - 0.9
    c[bad[0]] = 1.0 + 1e-3
    assert merits(observed(c, 20)).argmin() == bad[0]


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e150])
def test_constraints_that_span_magnitudes_are_told_apart_near_their_border(unit: float) -> None:
    seen = halves(40)
    g = seen.constraints[:, :1]
    steep = np.sign(g) * np.expm1(60.0 * np.abs(g))
    both = observed(np.hstack([unit * steep, g]), 40)
    told = finite_constraints(both)
    order = np.argsort(g[:, 0])
    assert np.all(np.diff(told[order, 0]) > 0.0)
    assert np.array_equal(told[:, 0] > 0.0, g[:, 0] > 0.0)
    assert np.array_equal(told[:, 1], g[:, 0])  # this one does not
    near = np.abs(g[:, 0]) < 0.2
    assert np.corrcoef(told[near, 0], g[near, 0])[0, 1] > 0.9
    assert np.corrcoef(steep[near, 0], g[near, 0])[0, 1] < 0.8
    np.testing.assert_array_equal(compressed_like(both, both.constraints[:3]), told[:3])


def test_the_incumbent_is_no_lucky_value() -> None:
    """A value that noise explains is not what the next point must improve on."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    values = -((X - 0.5) ** 2).sum(axis=1) + 0.2 * rng.standard_normal(40)
    seen = Observations.from_arrays(X, values)
    kernel = Kernel("matern52", (np.arange(2),), np.ones(2), np.ones(1), 0.5, DOMAIN.categorical)
    posterior = Posterior(Factor(kernel, X), seen.y)
    feasibility, _ = learn(seen)
    incumbent = feasibility.incumbent(posterior)
    assert incumbent == pytest.approx(posterior.mean(X).max(), abs=1e-8)
    assert incumbent < seen.y.max() - 0.5


def test_what_pending_points_should_be_is_to_be_improved_on() -> None:
    """Unless they should be infeasible."""
    seen = replace(halves(), pending=np.array([[0.3, 0.99], [0.99, 0.99]]))
    posterior = objective(seen)
    small, large = posterior.mean(seen.pending)
    fitted = posterior.fitted_values()
    assert fitted.max() < large
    without = replace(seen, constraints=np.empty((len(seen.X), 0)))
    assert learn(without)[0].incumbent(posterior) == pytest.approx(large)
    expected = max(small, fitted[seen.feasible].max())
    assert learn(seen)[0].incumbent(posterior) == pytest.approx(expected)
    assert expected < large - 0.1


def test_the_incumbent_of_a_long_study_is_among_the_modelled_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((MOST_MODELLED + 60, 2))
    seen = Observations.from_arrays(X, -((X - 0.5) ** 2).sum(axis=1))
    rows = modelled_rows(seen.y)
    assert rows is not None
    kernel = Kernel("matern52", (np.arange(2),), np.ones(2), np.ones(1), 0.1, DOMAIN.categorical)
    posterior = Posterior(Factor(kernel, X[rows]), seen.y[rows], rows)
    feasibility = Feasibility(seen.y, X[:, 0] > 0.7)
    some = feasibility.feasible[rows]
    expected = posterior.fitted_values()[some].max()
    assert feasibility.incumbent(posterior) == expected
    outside = np.setdiff1d(np.arange(len(X)), rows)[:1]
    none = Feasibility(seen.y, np.isin(np.arange(len(X)), outside))
    assert none.incumbent(posterior) == seen.y[outside[0]]


def test_no_incumbent_while_nothing_is_feasible() -> None:
    seen = observed(1.0 + Ledger.started(DOMAIN, 14, lambda x: 0.0).seen().X)
    feasibility, record = learn(seen)
    assert len(fits_in(record)) == 4
    posterior = objective(seen)
    assert feasibility.incumbent(posterior) is None
    near, far = feasibility.improvement(posterior)(np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert near > far


def test_the_models_predict_what_holds_where() -> None:
    seen = halves(30)
    feasibility, _ = learn(seen)
    ((posterior, largest),) = feasibility.constraints
    Z = np.array([[0.1, 0.5], [0.9, 0.5]])
    mean, variance = posterior.predict(Z)
    expected = norm.logcdf((largest - mean) / np.sqrt(variance))
    found = Analytic.log_feasible(posterior, largest)(Z)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found[0] > -0.1
    assert found[1] < -2.0


@pytest.mark.parametrize(("tail", "warped"), [(0.0, False), (12.0, True)])
def test_a_constraint_of_many_magnitudes_is_warped(tail: float, warped: bool) -> None:
    """It is linear, or grows from the border at 0.3 by orders of magnitude."""
    X = Ledger.started(DOMAIN, 40, lambda x: 0.0).seen().X
    away = X[:, 0] + 0.2 * X[:, 1] - 0.4
    seen = observed((np.expm1(tail * away) if tail else away)[:, None], len(X))
    ((posterior, largest),) = learn_in_turn(seen, 8).constraints
    c = seen.constraints[:, 0]
    plain, other = standardise(c)[0], standardise(warped_output(c)(c))[0]
    gaps = [float(np.abs(posterior.y - y).max()) for y in (plain, other)]
    assert (gaps[0] > 0.3, gaps[1] < 0.1) == (warped, warped)  # warped by an earlier fit
    assert np.array_equal(posterior.y <= largest, c <= 0.0)
    inside, outside = np.array([[0.1, 0.5]]), np.array([[0.5, 0.5]])
    assert Analytic.log_feasible(posterior, largest)(inside)[0] > -0.1
    assert Analytic.log_feasible(posterior, largest)(outside)[0] < -2.0


def test_a_constraint_is_warped_alike_whatever_the_objective() -> None:
    X = Ledger.started(DOMAIN, 40, lambda x: 0.0).seen().X
    seen = observed(np.expm1(12.0 * X[:, :1] - 5.0), len(X))
    records = [learn(replace(seen, skewed=skewed))[1] for skewed in (False, True)]
    assert "constraint0:inverse-square:warped:output" in records[0]
    assert records[0] == records[1]


def test_a_constraint_that_nothing_violates_has_no_model() -> None:
    seen = halves()
    both = np.hstack([seen.constraints, seen.constraints - 2.0])
    feasibility, record = learn(replace(seen, constraints=both))
    assert len(feasibility.constraints) == 1
    assert all(key.startswith("constraint0") for key in record)


def test_trials_that_tell_no_constraint_are_passed_over() -> None:
    seen = halves()
    constraints = seen.constraints.copy()
    constraints[[0, 3]] = np.nan
    feasibility, _ = learn(replace(seen, constraints=constraints))
    ((posterior, _),) = feasibility.constraints
    assert len(posterior.y) == len(seen.y) - 2
    assert feasibility.merit[0] == seen.y[0]


@pytest.mark.skipif(INTERPRETED, reason="needs more points than plain Python can pay for")
def test_long_studies_keep_what_is_near_the_border() -> None:
    """The border is at 0.3, and nine of ten points far beyond, where violations are largest."""
    n = 600
    X = DOMAIN.sample(np.random.default_rng(3), n)
    X[:, 0] = np.where(np.arange(n) % 10 == 0, 0.6 * X[:, 0], 0.9 + 0.1 * X[:, 0])
    seen = replace(Observations.from_arrays(X, X.sum(axis=1)), constraints=X[:, :1] ** 3 - 0.027)
    feasibility, record = learn(seen)
    ((posterior, largest),) = feasibility.constraints
    assert len(posterior.y) < MOST_MODELLED + RENEWAL
    Z = np.column_stack([np.linspace(0.125, 0.475, 8), np.full(8, 0.5)])
    mean, variance = posterior.predict(Z)
    assert np.array_equal(mean <= largest, Z[:, 0] <= 0.3)
    assert np.all(np.sqrt(variance) < 0.05)
    later = replace(seen, records=(Record(0, "complete", record),))
    again, nothing = learn(later)
    assert nothing == {}
    assert np.array_equal(again.constraints[0][0].predict(Z)[0], mean)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308, 0.0, np.nan])
def test_any_constraint_values_are_survived(value: float) -> None:
    seen = halves()
    constraints = seen.constraints.copy()
    constraints[::2] = value
    for given in (constraints, np.full_like(constraints, value)):
        feasibility, _ = learn(replace(seen, constraints=given))
        assert np.isfinite(feasibility.merit).all()
        posterior = objective(seen)
        for utility in (feasibility.improvement(posterior), feasibility.optimistic(posterior, 1)):
            assert np.isfinite(utility(seen.X)).all()


def test_a_sum_has_the_gradient_of_its_values_and_climbs() -> None:
    seen = halves()
    feasibility, _ = learn(seen)
    posterior = objective(seen)
    for utility in (feasibility.improvement(posterior), feasibility.optimistic(posterior, 0.5)):
        assert isinstance(utility, Sum)
        x = np.array([0.62, 0.31])
        (value,), (slope,) = utility.slopes(x[None])
        assert value == pytest.approx(float(utility(x[None])[0]))
        numeric = reference.gradient(lambda z, u=utility: float(u(z[None])[0]), x, 1e-4)
        np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-6)
        starts = np.random.default_rng(0).random((4, 2))
        climbed, values = utility.ascend(starts, np.array([True, False]))
        np.testing.assert_allclose(utility(climbed), values, rtol=1e-9)
        assert np.all(values >= utility(starts))
        assert np.array_equal(climbed[:, 1], starts[:, 1])
        assert np.all((climbed >= 0) & (climbed <= 1))


def test_the_bound_is_optimistic_about_constraints() -> None:
    """Where a constraint is unknown its lower bound holds, and nothing is taken off."""
    seen = halves()
    feasibility, _ = learn(seen)
    posterior = objective(seen)
    wide, narrow = feasibility.optimistic(posterior, 1e7), feasibility.optimistic(posterior, 0.0)
    Z = np.random.default_rng(1).random((50, 2))
    np.testing.assert_allclose(wide(Z), Analytic.ucb(posterior, 1e7)(Z))
    penalty = narrow(Z) - Analytic.ucb(posterior, 0.0)(Z)
    assert np.all(penalty[Z[:, 0] < 0.2] == 0.0)
    assert np.all(penalty[Z[:, 0] > 0.7] < 0.0)


def test_fits_are_read_back() -> None:
    seen = halves()
    _, record = learn(seen)
    later = replace(seen, records=(Record(0, "complete", record),))
    first, nothing = learn(later)
    assert nothing == {}
    again, _ = learn(seen)
    Z = np.random.default_rng(0).random((affordable(20, 3), 2))
    for one, other in zip(first.constraints, again.constraints, strict=True):
        assert np.array_equal(one[0].predict(Z), other[0].predict(Z))


def test_feasibility_without_models_is_the_plain_case() -> None:
    y = np.array([0.0, 1.0])
    assert Feasibility(y, y > 0.0).constraints == ()


def failed_right(n: int = 30, *, are_elsewhere: bool = True) -> Observations:
    """Trials with x0 > 0.6 have failed."""
    seen = observed(np.empty((n, 0)), n)
    rows = np.flatnonzero(seen.X[:, 0] <= 0.6)
    right = np.flatnonzero(seen.X[:, 0] > 0.6)
    failures = Failures(seen.X[right], seen.numbers[right], are_elsewhere)
    return replace(seen.at(rows), failures=failures)


def test_a_failure_is_a_constraint_where_failures_depend_on_the_point() -> None:
    feasibility, record = learn(failed_right())
    assert fits_in(record) == ["failures:inverse-square"]
    ((constraint, largest),) = feasibility.constraints
    X = np.array([[0.1, 0.5], [0.4, 0.3], [0.8, 0.3], [0.95, 0.8]])
    holds = np.exp(Analytic.log_feasible(constraint, largest)(X))
    assert (holds[:2] > 0.9).all()
    assert (holds[2:] < 0.15).all()
    assert feasibility.feasible.all()  # what has a value has not failed


def test_failures_by_chance_or_outside_of_a_box_are_no_constraint() -> None:
    elsewhere = failed_right()
    assert elsewhere.failures is not None
    none_here = replace(elsewhere, failures=elsewhere.failures.at(np.arange(0)))
    for seen in (failed_right(are_elsewhere=False), none_here):
        feasibility, record = learn(seen)
        assert record == {}
        assert not feasibility.constraints


def test_failures_stand_beside_constraints_that_are_told() -> None:
    seen = failed_right()
    seen = replace(seen, constraints=seen.X[:, 1:] - 0.7)
    feasibility, record = learn(seen)
    fits = fits_in(record)
    assert fits[0] == "failures:inverse-square"
    assert [key.partition(":")[0] for key in fits[1:]] == ["constraint0", "constraint0"]
    assert len(feasibility.constraints) == 2


@pytest.mark.skipif(INTERPRETED, reason="needs more points than plain Python can pay for")
def test_the_model_of_failures_knows_the_best_points_and_the_last_failures() -> None:
    rng = np.random.default_rng(0)
    n = MOST_MODELLED + RENEWAL
    X, numbers = rng.random((2 * n, 2)), rng.permutation(2 * n)
    failures = Failures(X[n:], np.sort(numbers[n:]), are_elsewhere=True)
    seen = Observations.from_arrays(X[:n], -X[:n].sum(axis=1))
    seen = replace(seen, numbers=np.sort(numbers[:n]), failures=failures)
    feasibility, _ = learn(seen)
    ((constraint, _),) = feasibility.constraints
    rows = modelled_rows(seen.y)
    assert rows is not None
    n_failed = MOST_MODELLED // 2
    known = np.concatenate([X[rows], X[n:][-n_failed:]])
    order = np.argsort(np.concatenate([seen.numbers[rows], failures.numbers[-n_failed:]]))
    modelled = constraint.X if constraint.rows is None else known[order][constraint.rows]
    assert len(constraint.y) <= MOST_MODELLED + RENEWAL
    np.testing.assert_array_equal(constraint.X, modelled)


def with_objectives(constraints: np.ndarray, step: int) -> Observations:
    seen = observed(constraints, len(constraints))
    records = [Record(0, "complete", {"a": 1}), Record(1, "complete", {TOWARDS: True})]
    Y = np.stack([seen.values, -seen.values], axis=1)
    return replace(seen, objectives=Y, signs=(-1.0, -1.0), step=step, records=records)


UNMET = np.array([[1.0, 3e6], [5.0, -1e6], [np.nan, 2e6], [np.nan, np.nan], [-2.0, 1e6]])
"""Constraints that no trial meets, and of which one trial has told nothing."""


def test_violations_are_summed_in_standard_deviations() -> None:
    of_first, of_second = np.std([1.0, 5.0, -2.0]), 1e6 * np.std([3.0, -1.0, 2.0, 1.0])
    expected = [
        1.0 / of_first + 3e6 / of_second,
        5.0 / of_first,
        2e6 / of_second,
        0.0,
        1e6 / of_second,
    ]
    np.testing.assert_allclose(violations(observed(UNMET, 5)), expected)


@pytest.mark.parametrize("step", [6, 7])
def test_while_nothing_is_feasible_violations_are_the_only_objective(step: int) -> None:
    seen = with_objectives(UNMET, step)
    found, towards = towards_feasible(seen)
    assert towards
    assert found.objectives is None
    told = np.array([0, 1, 2, 4])
    np.testing.assert_array_equal(found.X, seen.X[told])
    np.testing.assert_array_equal(found.values, -violations(seen)[told])
    np.testing.assert_array_equal(found.pending[-1:], seen.X[3:4])
    assert found.in_units(found.y[0]) == pytest.approx(violations(seen)[0])
    if step % 2:
        assert found.constraints.shape == (4, 0)
    else:
        np.testing.assert_array_equal(found.constraints, UNMET[told])
    assert [record.number for record in found.records] == [1]


@pytest.mark.parametrize("value", [-3.0, 0.0])
def test_once_a_point_is_feasible_the_objectives_count(value: float) -> None:
    constraints = UNMET.copy()
    constraints[1] = value
    seen = with_objectives(constraints, 6)
    found, towards = towards_feasible(seen)
    assert not towards
    assert found.objectives is seen.objectives
    assert [record.number for record in found.records] == [0]
    outside = np.arange(5) == 1
    assert towards_feasible(replace(seen, outside=outside))[1]


@pytest.mark.parametrize("n_constraints", [0, 2])
def test_constraints_that_nobody_has_told_are_met(n_constraints: int) -> None:
    seen = with_objectives(np.full((5, n_constraints), np.nan), 6)
    found, towards = towards_feasible(seen)
    assert not towards
    np.testing.assert_array_equal(found.values, seen.values)


@pytest.mark.parametrize("constrained", [False, True])
def test_failed_points_are_rejected_where_failures_depend_on_the_point(constrained: bool) -> None:
    seen = halves() if constrained else observed(np.empty((14, 0)))
    failures = Failures(np.array([[0.9, 0.1], [0.9, 0.2]]), np.array([5, 20]), are_elsewhere=True)
    seen = replace(seen, numbers=np.arange(10, 24), failures=failures)
    seen = replace(seen, numbers=np.where(seen.numbers >= 20, seen.numbers + 1, seen.numbers))
    found = rejecting(seen)
    known = rejecting(replace(seen, failures=None))
    assert found.numbers.tolist() == [5, *range(10, 25)]
    failed = np.isin(found.numbers, [5, 20])
    assert (found.values[failed] == -np.inf).all()
    assert np.array_equal(found.X[failed], failures.X)
    assert np.array_equal(found.values[~failed], known.values)
    assert len(found.constraints) == len(found.pruned) == 16
    by_chance = replace(failures, are_elsewhere=False)
    assert rejecting(replace(seen, failures=by_chance)).numbers is seen.numbers
