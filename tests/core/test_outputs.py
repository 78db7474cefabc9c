"""Outputs: against SciPy's Yeo-Johnson, derivatives by differences, and there and back."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from optuna_hdbo._core.outputs import FAR
from optuna_hdbo._core.outputs import N_FIRST
from optuna_hdbo._core.outputs import POWERS
from optuna_hdbo._core.outputs import SKEWED
from optuna_hdbo._core.outputs import VERY_FAR
from optuna_hdbo._core.outputs import Output
from optuna_hdbo._core.outputs import are_skewed
from optuna_hdbo._core.outputs import finite
from optuna_hdbo._core.outputs import inverse_yeo_johnson
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._core.outputs import warped_output
from optuna_hdbo._core.outputs import without_failures
from optuna_hdbo._core.outputs import without_penalties
from optuna_hdbo._core.outputs import yeo_johnson


powers = st.sampled_from([-1.0, -0.3, 0.0, 0.5, 1.0, 1.7, 2.0, 2.4, 3.0])


@given(powers, st.integers(0, 99))
def test_the_transformation_is_scipys(power: float, seed: int) -> None:
    u = 3.0 * np.random.default_rng(seed).standard_normal(50)
    np.testing.assert_allclose(yeo_johnson(u, power), stats.yeojohnson(u, power), rtol=1e-10)


@given(powers, st.integers(0, 99))
def test_the_inverse_leads_back(power: float, seed: int) -> None:
    u = 2.0 * np.random.default_rng(seed).standard_normal(50)
    back = inverse_yeo_johnson(yeo_johnson(u, power), power)
    np.testing.assert_allclose(back, u, rtol=1e-7, atol=1e-9)


def test_the_power_is_the_likeliest() -> None:
    values = -np.exp(2.0 * np.random.default_rng(0).standard_normal(400))
    output = warped_output(values)
    u = (values - output.centre) / output.width
    grid = np.linspace(*POWERS, 401)
    best = grid[int(np.argmax([stats.yeojohnson_llf(p, u) for p in grid]))]
    assert output.power == pytest.approx(best, abs=0.03)
    assert abs(stats.skew(output(values))) < 0.2 * abs(stats.skew(values))


@given(powers, st.floats(1e-3, 1e3), st.integers(0, 99))
def test_slopes_are_derivatives(power: float, width: float, seed: int) -> None:
    output = Output(0.7, width, power, 0.3, 2.0)
    values = width * np.random.default_rng(seed).standard_normal(20)
    step = 1e-6 * width
    slope = (output(values + step) - output(values - step)) / (2.0 * step)
    np.testing.assert_allclose(np.exp(output.log_slope(values)), slope, rtol=1e-4)


def test_warped_values_have_mean_zero_and_deviation_one() -> None:
    values = 5.0 + 3.0 * np.random.default_rng(0).standard_normal(30)
    output = warped_output(values)
    assert output(values).mean() == pytest.approx(0.0, abs=1e-9)
    assert output(values).std() == pytest.approx(1.0)
    np.testing.assert_allclose(output.inverse(output(values)), values)


@pytest.mark.parametrize(
    "values", [[1.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0, 7.0], [-1e307, 1e307, 0.0]]
)
def test_hardly_any_values_are_no_trouble(values: list[float]) -> None:
    v = np.array(values)
    output = warped_output(v)
    assert np.isfinite(output(v)).all()
    assert np.isfinite(output.log_slope(v)).all()
    assert np.all(np.diff(output(np.sort(v))) >= 0.0)


@pytest.mark.parametrize("power", [-1.0, 0.5, 3.0])
def test_what_is_undone_is_close_to_what_is_known(power: float) -> None:
    output = Output(centre=-100.0, width=50.0, power=power)
    values = np.array([-500.0, -120.0, -90.0, 0.0])
    told = output(values)
    for y, value in zip(told, values, strict=True):
        assert output.undone(float(y), told) == pytest.approx(value)
    assert output.undone(-1e3, told) == pytest.approx(-500.0)
    assert output.undone(1e3, told) == pytest.approx(500.0)


@pytest.mark.parametrize("difference", [5e-324, 1e-310, 1e-306, 1e-300])
def test_a_deviation_is_never_rounded_to_zero(difference: float) -> None:
    values = np.zeros(300)
    values[7] = difference
    y, shift, scale = standardise(values)
    assert scale > 0.0
    np.testing.assert_allclose(y * scale + shift, values, rtol=0.01, atol=1e-307)


def test_records_are_read_as_they_were_written() -> None:
    fitted = warped_output(np.random.default_rng(1).standard_normal(40) ** 3)
    output = Output(**fitted.to_json())
    assert Output.from_json(json.loads(json.dumps(output.to_json()))) == output


@pytest.mark.parametrize("offset", [2.0**8, -(2.0**30)])
def test_records_tell_values_apart_however_far_they_are_from_zero(offset: float) -> None:
    values = np.random.default_rng(1).standard_normal(40) ** 3
    far = values + offset
    fitted = Output.from_json(warped_output(far).to_json())
    assert fitted is not None
    np.testing.assert_allclose(fitted(far), warped_output(values)(values), atol=0.01)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {**Output(0.0, 1.0).to_json(), "width": 0.0},
        {**Output(0.0, 1.0).to_json(), "power": 9.0},
        {**Output(0.0, 1.0).to_json(), "shift": "0"},
        {**Output(0.0, 1.0).to_json(), "centre": 10**400},
        {**Output(0.0, 1.0).to_json(), "scale": True},
        {**Output(0.0, 1.0).to_json(), "more": 1.0},
    ],
)
def test_foreign_records_are_passed_over(data: object) -> None:
    assert Output.from_json(data) is None


# Penalties: what an objective returns where a simulation fails.


def penalised(share: float, penalty: float, n: int = 40) -> np.ndarray:
    """Values in [-50, 0], of which the first and a share of the others are penalties."""
    rng = np.random.default_rng(5)
    values = -50.0 * rng.random(n)
    values[rng.random(n) < share] = penalty
    values[0] = penalty
    return values


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("penalty", [-1e4, -1e6, -1e300])
def test_a_penalty_counts_as_infinite(share: float, penalty: float) -> None:
    values = penalised(share, penalty)
    expected = finite(np.where(values == penalty, -np.inf, values))
    assert np.array_equal(without_penalties(values), expected)
    assert expected.min() >= -50.0


def test_penalties_may_differ_and_units_do_not_matter() -> None:
    values = penalised(0.3, np.nan)
    failed = np.isnan(values)
    rng = np.random.default_rng(6)
    several = np.where(failed, -1e5 * (1.0 + 99.0 * rng.random(len(values))), values)
    raised = without_penalties(several)
    assert np.array_equal(raised[~failed], values[~failed])
    assert np.all(raised[failed] == values[~failed].min())
    np.testing.assert_allclose(without_penalties(1e-6 * several + 7.0), 1e-6 * raised + 7.0)


@pytest.mark.parametrize(("multiple", "is_one"), [(0.9 * FAR, False), (1.1 * FAR, True)])
def test_a_penalty_is_far_from_all_better_values(multiple: float, *, is_one: bool) -> None:
    values = np.array([0.0, -1.0, -0.5, -0.2, -0.7, -0.1, -1.0 - multiple])
    assert (without_penalties(values)[-1] == -1.0) == is_one


@given(st.integers(0, 99), st.integers(1, 200))
def test_values_without_penalties_stay_as_they_are(seed: int, n: int) -> None:
    values = np.random.default_rng(seed).standard_normal(n)
    assert without_penalties(values) is values


def test_all_of_the_first_values_may_be_the_same_penalty() -> None:
    values = np.array([-1e6] * 10 + [-1.0, -3.0, -2.0, -5.0, -4.0])
    assert np.array_equal(without_penalties(values), np.maximum(values, -5.0))


def test_the_startup_of_a_study_that_has_converged_is_no_penalty() -> None:
    rng = np.random.default_rng(7)
    values = np.concatenate([-1.0 - 99.0 * rng.random(10), -1e-6 * rng.random(90)])
    assert without_penalties(values) is values
    values[3] = -1e7  # but this is one
    raised = without_penalties(values)
    assert raised[3] == values[:10][np.arange(10) != 3].min()
    assert np.array_equal(np.delete(raised, 3), np.delete(values, 3))


@pytest.mark.parametrize(
    "values",
    [
        [0.0] * 9 + [-1e6],  # nothing tells how large other differences are
        [-1e6, -2e6] * 5 + [-1.0, -2.0] * 3,  # none of the first ones are better
        [-1.0, -2.0, -3.0, -1e6, -1e6],  # too few values at all
    ],
)
def test_what_may_be_no_penalty_stays(values: list[float]) -> None:
    v = np.array(values)
    assert np.array_equal(without_penalties(v), v)


@pytest.mark.parametrize("n_first", [0, 1, 2, 3])
@pytest.mark.parametrize("multiple", [0.9 * VERY_FAR, 1.1 * VERY_FAR])
def test_the_further_penalties_are_the_fewer_values_are_enough(
    n_first: int, multiple: float
) -> None:
    """Where most of the space diverges, few of the first values are no penalties."""
    good = [-1.0, -0.2, -0.5, 0.0, -0.4, -0.1]
    far = (-1.0 - multiple * np.arange(1, 31)).tolist()
    values = np.array(far[: N_FIRST - n_first] + good + far[N_FIRST - n_first :])
    raised = without_penalties(values)
    if n_first == 0 or multiple < VERY_FAR:
        assert raised is values
    else:
        assert np.array_equal(raised, np.maximum(values, -1.0))


# Skewed values: those that span many orders of magnitude.


@pytest.mark.parametrize(("multiple", "skewed"), [(0.9 * SKEWED, False), (1.1 * SKEWED, True)])
def test_the_worse_half_of_skewed_values_has_a_wide_range(
    multiple: float, *, skewed: bool
) -> None:
    values = np.array([0.0, -0.2, -0.4, -0.6, -0.9, -1.1, -1.5, -2.0, -3.0, -1.0 - multiple])
    for order in range(5):
        mixed = np.random.default_rng(order).permutation(values)
        assert are_skewed(mixed) == skewed
        assert are_skewed(1e-200 * mixed) == skewed
        assert are_skewed(3e7 * mixed + 1e6) == skewed


@given(st.integers(0, 99), st.integers(0, 60))
def test_only_the_first_values_count(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    first, later = rng.standard_normal(N_FIRST), -np.exp(9.0 * rng.standard_normal(n))
    assert not are_skewed(np.concatenate([first, later]))
    assert are_skewed(np.concatenate([-np.exp(50.0 * np.arange(N_FIRST)), later]))


@pytest.mark.parametrize(
    "values",
    [
        [],
        [-1.0, -1e9, -1.5, -1e6] * 2,  # too few
        [0.0] * 6 + [-1e6] * 4,  # the better half is equal
        [3.0] * 10,
        [np.nan, np.inf, -np.inf] * 4,
    ],
)
def test_what_may_not_be_skewed(values: list[float]) -> None:
    assert not are_skewed(np.array(values))


def test_the_largest_floats_are_skewed_without_a_warning() -> None:
    assert are_skewed(np.array([-1.7e308, -1e300, -np.inf, -1e200, -1e100, *np.arange(5.0)]))


def test_skewed_values_are_told_apart_near_the_best() -> None:
    values = -np.exp(6.0 * np.random.default_rng(0).standard_normal(60))
    best = np.sort(values)[-12:]
    assert are_skewed(values)
    ranges = [float(np.ptp(warped_output(values, skewed=s)(best))) for s in (False, True)]
    assert ranges[1] > max(0.2, 20.0 * ranges[0])
    output = warped_output(values, skewed=True)
    assert output.centre == np.quantile(values, 0.9)
    assert output(values).std() == pytest.approx(1.0)
    np.testing.assert_allclose(output.inverse(output(best)), best)


def test_where_the_best_fifth_is_equal_the_quartiles_of_all_are_used() -> None:
    values = np.minimum(-np.exp(6.0 * np.random.default_rng(1).standard_normal(60)), -0.1)
    assert warped_output(values, skewed=True) == warped_output(values)


def test_usual_values_of_feasible_trials_are_no_penalties() -> None:
    """Constraints may rule out the best values; the others are far below them."""
    rng = np.random.default_rng(8)
    values = np.concatenate([-rng.random(12), -100.0 - 50.0 * rng.random(8), [-1e9, -1e9]])
    feasible = np.arange(22) >= 12
    feasible[-1] = False
    assert without_penalties(values)[12:].max() == values[:12].min()
    raised = without_penalties(values, feasible)
    assert np.array_equal(raised[:20], values[:20])
    assert np.all(raised[20:] == values[12:20].min())


@pytest.mark.parametrize("n_feasible", [0, 1, 4])
def test_few_feasible_values_stay(n_feasible: int) -> None:
    values = np.concatenate([-np.arange(1.0, 11.0), [-1e6] * n_feasible, [-1e9]])
    raised = without_penalties(values, (values <= -1e6) & (values > -1e9))
    assert np.array_equal(raised[:-1], values[:-1])
    assert raised[-1] == values[-2]


@pytest.mark.parametrize(("share", "is_raised"), [(0.05, True), (0.3, False)])
def test_many_penalties_that_differ_are_a_part_of_the_function(
    share: float, *, is_raised: bool
) -> None:
    rng = np.random.default_rng(9)
    values = -rng.random(40)
    poor = np.arange(40) >= 40 * (1.0 - share)
    alike = np.where(poor, -1e3, values)
    assert np.array_equal(without_failures(alike), np.maximum(alike, values[~poor].min()))
    differing = np.where(poor, -1e3 + values, values)
    expected = np.maximum(differing, values[~poor].min()) if is_raised else differing
    assert np.array_equal(without_failures(differing), expected)
