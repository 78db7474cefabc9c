"""What pruned trials would have come to: lines, smoothing, and what must not count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models import curves


DOMAIN = Domain.continuous(3)

N_DONE, N_LATE, N_EARLY = 12, 12, 24
DONE, LATE = slice(N_DONE), slice(N_DONE, N_DONE + N_LATE)
EARLY = slice(N_DONE + N_LATE, None)


def halved(
    seed: int = 0, noise: float = 0.02
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray, FloatArray]:
    """Return points, true final values, and values, pruned and reports as in a study.

    Half of the trials are pruned at the first step, half of the others at the second.
    """
    rng = np.random.default_rng(seed)
    n = N_DONE + N_LATE + N_EARLY
    X = rng.random((n, 3))
    true = -np.sum((X - 0.4) ** 2, axis=1)
    second = 1.2 * true - 3.0 + 1.2 * noise * rng.normal(size=n)
    first = 1.1 * second - 4.0 + 1.3 * noise * rng.normal(size=n)
    order = np.argsort(-first)
    half = order[: n // 2]
    rows = np.concatenate([half[np.argsort(-second[half])], order[n // 2 :]])
    X, true, first, second = X[rows], true[rows], first[rows], second[rows]
    reports = np.column_stack([first, second])
    reports[EARLY, 1] = np.nan
    values = np.concatenate([true[DONE], second[LATE], first[EARLY]])
    return X, true, values, np.arange(n) >= N_DONE, reports


@given(st.integers(0, 1000), st.integers(4, 30))
def test_a_line_is_that_of_least_squares_with_three_more_trials(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    reports = rng.normal(size=n)
    finals = rng.uniform(0.2, 1.2) * reports + 0.1 * rng.normal(size=n)
    gaps = reports - reports.mean()
    more = np.full(3, np.sqrt(gaps @ gaps / n))  # as far from the mean as trials are on average
    A, b = np.append(gaps, more)[:, None], np.append(finals - finals.mean(), more)
    slope = np.linalg.lstsq(A, b, rcond=None)[0][0]
    found, intercept, deviation = curves.line(reports, finals)
    assert found == pytest.approx(np.clip(slope, 0.0, 1.5))
    rest = finals - found * reports
    assert intercept == pytest.approx(np.median(rest))
    assert deviation == pytest.approx(1.4826 * np.median(abs(rest - intercept)))


@pytest.mark.parametrize("unit", [1e-3, 90.0, 1e6])
def test_reports_may_have_another_unit_than_values(unit: float) -> None:
    """The other trials of the line have the ratio of deviations then, and other bounds."""
    reports = np.random.default_rng(3).normal(size=8)
    slope, intercept, deviation = curves.line(reports, 5.0 + unit * reports)
    assert slope == pytest.approx(unit)
    assert intercept == pytest.approx(5.0)
    assert deviation == pytest.approx(0.0, abs=1e-9 * unit)
    opposite = curves.line(reports, -unit * reports)[0]
    assert opposite == 0.0


def test_few_trials_have_a_line_of_slope_1() -> None:
    reports, finals = np.array([1.0, 2.0, 4.0]), np.array([5.0, 5.5, 6.0])
    assert curves.line(reports, finals)[:2] == (1.0, 3.5)


def test_a_single_report_again_and_again_has_a_line_of_slope_1() -> None:
    assert curves.line(np.full(6, 2.0), np.arange(6.0))[:2] == (1.0, 0.5)


def test_smoothing_is_that_of_a_gaussian_process() -> None:
    rng = np.random.default_rng(1)
    X, values, errors = rng.random((30, 3)), rng.normal(size=30), rng.uniform(0.0, 2.0, 30)
    scale = values.std()
    model = GaussianProcessRegressor(
        Matern(curves.LENGTHSCALE * np.sqrt(3.0), nu=2.5),
        alpha=(errors / scale) ** 2 + curves.NOISE,
        optimizer=None,
    )
    centre = np.median(values)
    expected = centre + model.fit(X, values - centre).predict(X)
    assert curves.smoothed(DOMAIN, X, values, errors**2) == pytest.approx(expected)


def test_equal_values_stay() -> None:
    X = np.random.default_rng(2).random((5, 3))
    assert curves.smoothed(DOMAIN, X, np.ones(5), np.ones(5)).tolist() == [1.0] * 5


def test_pruned_trials_count_with_about_what_they_would_have_come_to() -> None:
    X, true, values, pruned, reports = halved()
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert np.array_equal(found[DONE], true[DONE])
    for rows in (LATE, EARLY):
        errors = np.abs(found[rows] - true[rows])
        assert errors.mean() < 0.2 * true.std()


def test_lines_lead_from_step_to_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that were pruned later say how those go on that were pruned before."""
    monkeypatch.setattr(curves, "smoothed", lambda domain, X, values, variances: values)
    X, true, values, pruned, reports = halved()
    values, reports = values.copy(), reports.copy()
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    a, b, _ = curves.line(reports[: EARLY.start, 0], reports[: EARLY.start, 1])
    c, d, _ = curves.line(reports[DONE, 1], values[DONE])
    best = true[DONE].max()
    assert found[LATE] == pytest.approx(np.minimum(c * values[LATE] + d, best))
    assert found[EARLY] == pytest.approx(np.minimum(c * (a * values[EARLY] + b) + d, best))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[FloatArray, FloatArray]]:
    """Return what is to be smoothed, values and variances; it stays as it is."""
    found: list[tuple[FloatArray, FloatArray]] = []

    def recorded(
        domain: Domain, X: FloatArray, values: FloatArray, variances: FloatArray
    ) -> FloatArray:
        found.append((values, variances))
        return values

    monkeypatch.setattr(curves, "smoothed", recorded)
    return found


def test_errors_add_up_from_step_to_step(asked: list[tuple[FloatArray, FloatArray]]) -> None:
    X, _, values, pruned, reports = halved(noise=0.2)
    curves.final_values(DOMAIN, X, values, pruned, reports)
    before = reports[: EARLY.start]
    first = curves.line(before[:, 0], before[:, 1])[2]
    slope, _, second = curves.line(reports[DONE, 1], values[DONE])
    assert abs(slope - 1.0) > 0.01
    variances = asked[0][1]
    assert variances[DONE].tolist() == [0.0] * N_DONE  # known final values have no error
    assert variances[LATE] == pytest.approx(second**2)
    assert variances[EARLY] == pytest.approx((slope * first) ** 2 + second**2)


def test_lines_of_few_trials_may_be_off_by_as_much_as_values_differ(
    asked: list[tuple[FloatArray, FloatArray]],
) -> None:
    """Three trials that agree with each other say little."""
    n, n_pairs = 12, curves.FEWEST - 1
    X, values = np.random.default_rng(0).random((n, 3)), np.linspace(1.0, 2.0, n)
    pruned = np.arange(n) == n - 1
    reports = np.full((n, 1), np.nan)
    reports[:n_pairs, 0], reports[-1, 0] = values[:n_pairs] - 0.5, 1.0
    values[-1] = 1.0
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert found[-1] == pytest.approx(1.5)
    assert asked[0][1][-1] == pytest.approx(values[:-1].var())


def test_values_are_smoothed_without_those_far_worse(
    asked: list[tuple[FloatArray, FloatArray]],
) -> None:
    X, _, values, pruned, reports = halved()
    usual = values[DONE].max() - np.quantile(values[DONE], 0.25)
    values[0] = values[DONE].max() - 20.0 * usual  # no penalty yet
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert asked[0][0].min() == pytest.approx(curves.floor(values[DONE]))
    assert asked[0][0].max() <= values[DONE].max()
    assert found[0] == values[0]


@pytest.mark.parametrize("n_known", [curves.FEWEST - 1, N_DONE], ids=["few", "smoothed"])
def test_no_pruned_trial_is_better_than_the_best_completed_one(
    monkeypatch: pytest.MonkeyPatch, n_known: int
) -> None:
    monkeypatch.setattr(curves, "smoothed", lambda domain, X, values, variances: values + 9.0)
    n = n_known + 2
    X, values = np.random.default_rng(0).random((n, 3)), np.linspace(1.0, 2.0, n)
    pruned = np.arange(n) >= n_known
    reports = values[:, None] - 0.5
    values[pruned] = reports[pruned, 0] = [1.8, 0.6]
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    best = values[:n_known].max()
    assert found[:n_known].tolist() == values[:n_known].tolist()
    assert found[n_known] == best
    assert found[-1] <= best


def test_a_line_leads_to_the_first_step_that_enough_trials_have_reported() -> None:
    told = np.full((6, 4), np.nan)
    told[:, 0] = np.arange(6.0)
    told[:2, 1], told[: curves.FEWEST, 2], told[:, 3] = 1.0, 2.0, 3.0
    pairs, to = curves._pairs(told.T, ~np.isnan(told.T), 0)
    assert to == 2
    assert pairs.tolist() == [[float(i), 2.0] for i in range(curves.FEWEST)]
    told[:, 3] = np.nan
    told[:2, 2:] = np.nan
    assert (
        curves._pairs(told.T, ~np.isnan(told.T), 0)[1] == 1
    )  # two of them have reported at each of both
    told[2, 2], told[3, 1] = np.nan, 1.0
    assert curves._pairs(told.T, ~np.isnan(told.T), 0)[1] == 1


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinite_reports_are_none(infinite: float) -> None:
    X, _, values, pruned, reports = halved()
    without, spoilt = reports.copy(), reports.copy()
    without[[0, 1], [0, 1]] = np.nan
    spoilt[[0, 1], [0, 1]] = infinite
    expected = curves.final_values(DOMAIN, X, values, pruned, without)
    found = curves.final_values(DOMAIN, X, values, pruned, spoilt)
    assert found.tolist() == expected.tolist()


def test_smoothing_takes_out_errors_of_reports() -> None:
    X, true, values, pruned, reports = halved(seed=3, noise=0.2)
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "smoothed", lambda domain, X, values, variances: values)
        by_lines = curves.final_values(DOMAIN, X, values, pruned, reports)
    errors, before = (np.abs(y[pruned] - true[pruned]).mean() for y in (found, by_lines))
    assert errors < 0.8 * before


@given(st.integers(0, 50), st.sampled_from([1e-6, 0.1, 1e9]), st.sampled_from([-1e3, 0.0, 7.0]))
def test_units_do_not_count(seed: int, scale: float, shift: float) -> None:
    X, _, values, pruned, reports = halved(seed)
    shift *= scale
    found = curves.final_values(DOMAIN, X, scale * values + shift, pruned, scale * reports + shift)
    expected = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert found == pytest.approx(scale * expected + shift, rel=1e-6, abs=1e-6 * scale)


def test_none_is_better_than_the_best_completed_one() -> None:
    X, true, values, pruned, reports = halved()
    values[-1] = reports[-1, 0] = 100.0
    values[-2] = reports[-2, 0] = np.inf
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert found.max() == true[DONE].max()
    assert np.isfinite(found).all()


@pytest.mark.parametrize("penalty", [-1e6, -1e300, -np.inf])
def test_penalties_do_not_count(penalty: float) -> None:
    X, _, values, pruned, reports = halved()
    expected = curves.final_values(DOMAIN, X, values, pruned, reports)
    # Two more trials fail, one of them after ordinary reports.
    X = np.vstack([X, [[0.9, 0.9, 0.1], [0.2, 0.8, 0.9]]])
    values, pruned = np.append(values, [penalty, penalty]), np.append(pruned, [False, False])
    reports = np.vstack([reports, [[penalty, penalty], reports[0]]])
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert found[-2:].tolist() == [penalty, penalty]
    assert np.isfinite(found[:-2]).all()
    gaps = np.abs(found[:-2] - expected)
    assert gaps[pruned[:-2]].mean() < 0.1 * expected[pruned[:-2]].std()


def test_a_report_that_is_infinite_stays() -> None:
    X, _, values, pruned, reports = halved()
    values[-1] = reports[-1, 0] = -np.inf
    found = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert found[-1] == -np.inf
    assert np.isfinite(found[:-1]).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-158, 1.0, 1e150, 1e200, 1e307])
@pytest.mark.parametrize("of_reports", [1e-300, 1e-170, 1.0, 1e150, 1e200, 1e307])
def test_huge_and_tiny_values_do_no_harm(scale: float, of_reports: float) -> None:
    X, _, values, pruned, reports = halved()
    values = np.where(pruned, of_reports, scale) * values
    found = curves.final_values(DOMAIN, X, values, pruned, of_reports * reports)
    assert np.isfinite(found).all()


def test_only_the_latest_trials_are_smoothed(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def smoothed(
        domain: Domain, X: FloatArray, values: FloatArray, variances: FloatArray
    ) -> FloatArray:
        sizes.append(len(X))
        return values - 1.0

    X, _, values, pruned, reports = halved()
    monkeypatch.setattr(curves, "smoothed", smoothed)
    every = curves.final_values(DOMAIN, X, values, pruned, reports)
    monkeypatch.setattr(curves, "MOST", 6)
    latest = curves.final_values(DOMAIN, X, values, pruned, reports)
    assert sizes == [48, 46, 6, 6]  # all trials, and those before the last tenth
    assert np.array_equal(every[-6:], latest[-6:])
    assert (every[N_DONE:-6] <= latest[N_DONE:-6]).all()
    assert (every[N_DONE:-6] < latest[N_DONE:-6]).any()


def test_steps_that_nobody_else_reported_at_are_left_out() -> None:
    X, true, values, pruned, reports = halved()
    expected = curves.final_values(DOMAIN, X, values, pruned, reports)
    alone = np.full((len(X), 1), np.nan)
    reports = np.hstack([reports[:, :1], alone, reports[:, 1:], alone])
    assert curves.final_values(DOMAIN, X, values, pruned, reports).tolist() == expected.tolist()
    # A trial that was pruned at such a step counts with its last report.
    reports[-1, 3], values[-1] = values[-1], -0.123
    reports[-1, 0], reports[-1, 3] = np.nan, -0.123
    assert curves.final_values(DOMAIN, X, values, pruned, reports)[-1] == pytest.approx(
        -0.123, abs=true[DONE].std()
    )


def test_values_stay_until_there_are_a_tenth_more() -> None:
    """So that what is fitted to them need not be fitted again at every trial."""
    X, _, values, pruned, reports = halved()
    order = np.random.default_rng(7).permutation(len(X))
    X, values, pruned, reports = X[order], values[order], pruned[order], reports[order]
    found = [
        curves.final_values(DOMAIN, X[:n], values[:n], pruned[:n], reports[:n])
        for n in range(42, 47)
    ]
    for later in found[1:4]:
        assert np.array_equal(later[:42], found[0][:42])
    assert not np.array_equal(found[4][:42], found[0][:42])


def test_lines_are_those_of_the_latest_trials(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[FloatArray, FloatArray]]
) -> None:
    """Those that reported at both steps count, however few of all trials they are."""
    X, _, values, pruned, reports = halved(noise=0.2)
    monkeypatch.setattr(curves, "MOST_OF_LINE", 6)
    curves.final_values(DOMAIN, X, values, pruned, reports)
    first = curves.line(*reports[EARLY.start - 6 : EARLY.start].T)[2]
    slope, _, second = curves.line(reports[DONE, 1][-6:], values[DONE][-6:])
    assert asked[0][1][LATE] == pytest.approx(second**2)
    assert asked[0][1][EARLY] == pytest.approx((slope * first) ** 2 + second**2)
