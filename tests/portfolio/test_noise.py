"""Noise: how close pairs tell it, and what observations are ranked by under it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import make_domain
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Condition
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import MOST_MODELLED
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.observations import Record
from optuna_hdbo._core.observations import modelled_rows
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.portfolio import noise
from optuna_hdbo.portfolio.hdbo import HDBO
from optuna_hdbo.portfolio.noise import STEP
from optuna_hdbo.portfolio.noise import Ranking
from optuna_hdbo.portfolio.noise import noise_of_close_pairs
from optuna_hdbo.portfolio.searches import branches
from optuna_hdbo.portfolio.searches import restart


DOMAIN = make_domain(None, None)


def fit_of(share: float, n: int = 20) -> dict[str, Any]:
    """Return the global expert's record of a fit that takes a share of the variance for noise."""
    return {
        noise.FIT: {
            "n": n,
            "cycle": 0,
            "log_likelihood": 0.0,
            "kind": "matern52",
            "groups": [list(DOMAIN.names)],
            "lengthscales": [0.5, 0.5],
            "scales": [1.0 - share],
            "noise": share,
        }
    }


def study(noisy: float, *, share: float = 0.5, n: int = 40, close: bool = True) -> Observations:
    """Return values of a slope with this much noise, many of them in a corner if ``close``."""
    rng = np.random.default_rng(1)
    X = rng.random((n, 2))
    if close:
        X[n // 2 :] = 0.4 + 0.01 * X[n // 2 :]
    else:
        X = np.array([[i % 8, i // 8] for i in range(n)]) / max(7, n // 8)
    values = X.sum(axis=1) + noisy * rng.standard_normal(n)
    return Observations.from_arrays(X, values, records=[Record(n - 1, "complete", fit_of(share))])


def by_hand(X: np.ndarray, y: np.ndarray) -> float | None:
    """Return what :func:`noise_of_close_pairs` does, pair by pair."""
    X, y = X[-noise.LATEST :], y[-noise.LATEST :]
    pairs = []
    for j in range(len(X)):
        for i in range(j):
            distance = float(np.sqrt(np.mean((X[i] - X[j]) ** 2)))
            if distance <= noise.NEAR:
                pairs.append((distance, (y[i] - y[j]) ** 2 / 2.0))
    if len(pairs) < noise.FEWEST_PAIRS:
        return None
    return float(np.median([half for _, half in sorted(pairs)[: noise.MOST_PAIRS]])) / 0.4549


@given(st.integers(2, 40), st.integers(1, 4), st.floats(0.003, 0.1), st.integers(0, 99))
def test_close_pairs_are_found_and_averaged_as_by_hand(
    n: int, n_columns: int, width: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, y = width * rng.random((n, n_columns)), rng.standard_normal(n)
    expected = by_hand(X, y)
    found = noise_of_close_pairs(X, y)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(expected, rel=1e-9)


def test_close_pairs_tell_the_variance_of_the_noise() -> None:
    rng = np.random.default_rng(0)
    # Twenty pairs far from each other: the differences of the ten closest ones are independent.
    centres = np.repeat(np.arange(20.0), 2)[:, None]
    found = [
        noise_of_close_pairs(centres + 0.005 * rng.random((40, 1)), 0.3 * rng.standard_normal(40))
        for _ in range(400)
    ]
    assert np.median(np.array(found, np.float64)) == pytest.approx(0.09, rel=0.15)


def test_pairs_that_straddle_a_cliff_are_no_noise() -> None:
    X = np.repeat(np.arange(12.0), 2)[:, None]
    y = np.zeros(24)
    y[[1, 5, 11]] = 7.0
    assert noise_of_close_pairs(X, y) == 0.0


def test_only_the_latest_observations_are_compared() -> None:
    X = np.arange(noise.LATEST + 20.0)[:, None]
    X[:20] = 0.0
    assert noise_of_close_pairs(X, X[:, 0]) is None
    X[-20:] = 0.0
    assert noise_of_close_pairs(X, np.zeros(len(X))) == 0.0


def repeated(values: Sequence[float], *, share: float = 0.5, n: int = 40) -> Observations:
    """Return values of a slope under a fit, and these values of its first point once more."""
    seen = study(0.0, share=share, n=n, close=False)
    X = np.concatenate([seen.X, seen.X[:1] + STEP * np.arange(1, len(values) + 1)[:, None]])
    made = [Record(n + i, "complete", {noise.REPEATED: 0}) for i in range(len(values))]
    told = np.concatenate([seen.values, seen.values[0] + np.array(values)])
    return Observations.from_arrays(X, told, records=[*seen.records, *made])


@pytest.mark.parametrize(
    ("deterministic", "seen", "expected"),
    [
        (False, study(0.3), True),
        (True, study(0.3), False),
        (False, study(0.3, close=False), True),
        (False, study(0.0), False),  # close pairs refute it
        (False, study(0.3, share=0.05), True),
        (False, study(0.3, share=0.5 * noise.LEAST_SHARE), False),
        (False, study(0.3, n=noise.LEAST_OBSERVATIONS - 1), False),
        (None, study(0.3), None),
        (None, study(0.3, share=0.5 * noise.DOUBTFUL_SHARE), False),
        (None, study(0.3, n=noise.LEAST_UNTOLD_OBSERVATIONS - 1), False),
        (None, replace(study(0.3), records=[]), False),  # no fit is in doubt
        (None, repeated([0.3]), None),  # one difference does not tell how large the noise is
        (None, repeated([1e-5]), False),
        (None, repeated([0.3, -0.4]), True),
        (None, repeated([0.3, -0.4], share=0.5 * noise.LEAST_SHARE), False),
        (None, repeated([-2.0, -2.1]), None),  # a third one may refute the value
        (None, repeated([-2.0, -2.5, -2.1]), True),
        (None, repeated([0.02, 0.02]), None),
        (None, repeated([1e-5, 1e-5]), False),
        (True, repeated([0.3, -0.4]), False),
    ],
)
def test_observations_are_ranked_by_a_model_where_noise_is_known(
    deterministic: bool | None, seen: Observations, *, expected: bool | None
) -> None:
    ranked, in_doubt = Ranking(deterministic).of(DOMAIN, seen)
    assert (ranked.ranks is not None) == (expected is True)
    assert in_doubt == (expected is None)
    assert expected or ranked is seen


@pytest.mark.parametrize(("n_columns", "n"), [(1, 30), (15, 30), (20, 40), (50, 100), (99, 100)])
def test_with_more_columns_points_are_repeated_later(n_columns: int, n: int) -> None:
    assert noise.least_untold(n_columns) == n


@given(st.lists(st.floats(-9.0, 9.0), min_size=1, max_size=6), st.integers(0, 6))
def test_the_noise_of_repeats_is_the_variance_of_their_values(
    values: list[float], n_pruned: int
) -> None:
    seen = repeated(values)
    pruned = np.zeros(len(seen.values), np.bool_)
    pruned[len(pruned) - min(n_pruned, len(values)) :] = True
    of_repeats, n_repeats = noise.noise_of_repeats(replace(seen, pruned=pruned))
    told = seen.values[np.r_[0, 40 : 40 + max(0, len(values) - n_pruned)]] / seen.scale
    assert n_repeats == len(told) - 1
    assert of_repeats == pytest.approx(statistics.variance(told) if n_repeats else 0.0)


@pytest.mark.parametrize("number", ["0", None, True, 0.0, 99, -1])
def test_repeats_of_unknown_trials_do_not_count(number: object) -> None:
    seen = repeated([0.3, 0.4])
    records = [replace(r, data={noise.REPEATED: number}) for r in seen.records]
    assert noise.noise_of_repeats(replace(seen, records=records)) == (0.0, 0)


def test_the_best_point_is_repeated_until_noise_is_known() -> None:
    seen, rng = study(0.3, close=False), np.random.default_rng(0)
    best = int(np.argmax(seen.values))
    for n_made in range(noise.MOST_REPEATS):
        again = noise.repeat(DOMAIN, seen, rng)
        assert again is not None
        moved = np.abs(again.x - seen.X[best])
        assert 0.49 * STEP <= moved.min() <= moved.max() <= 1.01 * STEP
        assert again.record == {"query": "repeat", noise.REPEATED: best}
        assert again.report == {"query": "repeat"}
        running = Record(40 + n_made, "running", again.record)
        under_way = replace(seen, records=[*seen.records, running])
        assert noise.repeat(DOMAIN, under_way, rng) is None
        late = replace(under_way, step=running.number + noise.WAITING + 1)
        is_allowed = n_made + 1 < noise.MOST_REPEATS
        assert (noise.repeat(DOMAIN, late, rng) is not None) == is_allowed
        # Its value is better. The same point is repeated nevertheless.
        seen = Observations.from_arrays(
            np.concatenate([seen.X, again.x[None]]),
            np.append(seen.values, 9.0 + n_made),
            records=[*seen.records, replace(running, state="complete")],
        )
    assert noise.repeat(DOMAIN, seen, rng) is None


def test_failed_repeats_count_as_made() -> None:
    seen = study(0.3, close=False)
    failed = [Record(40 + i, "failed", {noise.REPEATED: 3}) for i in range(noise.MOST_REPEATS)]
    assert noise.repeat(DOMAIN, replace(seen, records=failed), np.random.default_rng(0)) is None
    again = noise.repeat(DOMAIN, replace(seen, records=failed[1:]), np.random.default_rng(0))
    assert again is not None
    assert again.record is not None
    assert again.record[noise.REPEATED] == 3


@pytest.mark.parametrize(
    ("again", "refuted"),
    [
        ([-2.0, -2.1, -2.15], True),
        ([-2.0, -2.1, -2.15, -2.1], True),
        ([-2.0, -2.1, -2.5], False),  # noise may do that
        ([-2.0, -2.0], False),
        ([2.0, 2.0, 2.0], False),  # the value is too poor, not too good
        ([0.0, 0.0, 0.0], False),
    ],
)
def test_a_value_far_better_than_repeats_that_agree_is_left_out(
    again: list[float], *, refuted: bool
) -> None:
    seen = repeated(again)
    memory = Memory(seen.records)
    kept = noise.without_refuted(DOMAIN, seen, memory)
    assert (kept is not seen) == refuted
    assert memory.kept == (
        {noise.LUCKY: {"n": 40 + len(again), "numbers": [0]}} if refuted else {}
    )
    if refuted:
        np.testing.assert_array_equal(kept.numbers, seen.numbers[1:])
        np.testing.assert_array_equal(kept.known[-1], seen.X[0])
        noted = [*seen.records, Record(60, "complete", memory.kept)]
        memory = Memory(noted)
        noise.without_refuted(DOMAIN, replace(seen, records=noted), memory)
        assert not memory.kept


def test_after_a_refuted_value_another_one_is_repeated() -> None:
    seen = repeated([-2.0, -2.01, -2.0])
    kept = noise.without_refuted(DOMAIN, seen, Memory([]))
    best = int(kept.numbers[int(np.argmax(kept.values))])
    assert best != 0
    assert Ranking(None).of(DOMAIN, kept)[1] is True
    more = [Record(50 + i, "failed", {noise.REPEATED: best}) for i in range(noise.MOST_REPEATS)]
    for n_made in range(len(more) + 1):  # repeats of the refuted value do not count
        of_best = replace(kept, records=[*kept.records, *more[:n_made]])
        again = noise.repeat(DOMAIN, of_best, np.random.default_rng(0))
        assert (again is not None) == (n_made < noise.MOST_REPEATS)
        assert again is None or (again.record or {})[noise.REPEATED] == best
    values = kept.values.copy()
    values[5] = 9.0  # it stands out, so it is repeated whatever was repeated last
    suspect = replace(kept, values=values, records=[*seen.records, *more, *study(0.0).records])
    assert Ranking(None).of(DOMAIN, suspect)[1] is True
    again = noise.repeat(DOMAIN, suspect, np.random.default_rng(0))
    assert again is not None
    assert (again.record or {})[noise.REPEATED] == int(kept.numbers[5])


def test_a_value_at_the_end_of_a_step_is_not_refuted() -> None:
    domain, rng = make_domain(None, None), np.random.default_rng(0)
    X = np.concatenate([domain.sample(rng, 39), [[0.5, 0.7]]])

    def f(x: np.ndarray) -> np.ndarray:
        return np.where(x[..., 0] < 0.5, -3.0, 0.0) - np.abs(x[..., 1] - 0.7)

    seen = Observations.from_arrays(X, f(X))
    for _ in range(3):
        again = noise.repeat(domain, seen, rng)
        assert again is not None
        seen = Observations.from_arrays(
            np.concatenate([seen.X, again.x[None]]),
            np.append(seen.values, f(again.x)),
            records=[*seen.records, Record(len(seen.X), "complete", again.record)],
        )
    assert np.sign(seen.X[-3:, 0] - 0.5).tolist() == [-1.0, -1.0, 1.0]
    assert noise.without_refuted(domain, seen, Memory([])) is seen


@pytest.mark.parametrize("best", [0.0, 1.0])
def test_a_repeat_is_inside_of_the_ranges_and_moves_continuous_columns_only(best: float) -> None:
    domain, rng = make_domain(None, 5), np.random.default_rng(0)
    X = domain.sample(rng, 40)
    X[7] = domain.snap(np.full((1, 2), best))[0]
    seen = Observations.from_arrays(X, -np.abs(X - X[7]).sum(axis=1))
    for _ in range(8):
        again = noise.repeat(domain, seen, rng)
        assert again is not None
        assert 0.0 < abs(again.x[0] - best) <= STEP
        assert again.x[1] == X[7, 1]
    assert noise.repeat(make_domain(4, 5), seen, rng) is None


@pytest.mark.parametrize("n", [40, MOST_MODELLED + 60])
def test_ranks_are_posterior_means(n: int) -> None:
    seen = study(1.0, n=n)
    ranked, _ = Ranking(False).of(DOMAIN, seen)
    fitted = Fitted.from_json(fit_of(0.5)[noise.FIT], DOMAIN)
    assert fitted is not None
    rows = np.arange(n)
    if n > MOST_MODELLED:
        rows = modelled_rows(seen.y)
    of_noise = fitted.kernel.noise * np.eye(len(rows))
    weights = np.linalg.solve(fitted.kernel.gram(seen.X[rows]) + of_noise, seen.y[rows])
    expected = fitted.kernel.cross(seen.X[rows], seen.X) @ weights
    assert ranked.ranks is not None
    np.testing.assert_allclose(ranked.ranks, expected, atol=1e-6)


def test_a_fit_of_a_later_search_does_not_count() -> None:
    seen = study(0.3)
    later = Record(39, "complete", {**fit_of(0.5), restart.KEY: 30})
    assert Ranking(False).of(DOMAIN, replace(seen, records=[later]))[0].ranks is None


@pytest.mark.parametrize("deterministic", [None, True, False])
def test_in_domains_with_branches_noise_is_ranked_where_it_is_told(
    deterministic: bool | None,
) -> None:
    domain = replace(make_domain("2", None), gates={1: (Condition(0, (1.0,)),)})
    seen = replace(study(0.3), X=domain.snap(study(0.3).X))
    ranked, in_doubt = Ranking(deterministic).of(domain, seen)
    assert not in_doubt
    if deterministic is False:
        assert ranked.ranks is not None
        rows = seen.X[:, 0] == 0.0  # the second column does not exist there, so points are equal
        assert np.ptp(ranked.ranks[rows]) == pytest.approx(0.0, abs=1e-9)
        assert np.ptp(seen.y[rows]) > 1.0
    else:
        assert ranked is seen
    of_branch = Record(39, "complete", {**fit_of(0.5), branches.BRANCH: {"x0": 1.0}})
    alone = replace(seen, records=[of_branch])
    assert Ranking(deterministic).of(domain, alone)[0] is alone


def test_merits_are_the_ranks_and_infeasible_ones_are_below() -> None:
    seen, _ = Ranking(False).of(DOMAIN, study(0.3))
    np.testing.assert_array_equal(merits(seen), seen.ranks)
    np.testing.assert_array_equal(merits(seen.at(np.array([3, 7]))), merits(seen)[[3, 7]])
    best = int(np.argmax(merits(seen)))
    constraints = np.full((40, 1), -1.0)
    constraints[best] = 2.0
    found = merits(replace(seen, constraints=constraints))
    assert found.argmin() == best
    others = np.arange(40) != best
    np.testing.assert_array_equal(found[others], merits(seen)[others])


def test_a_search_is_around_the_point_that_is_believed_best() -> None:
    seen, lucky = study(0.3), 30  # one of many points in a corner
    values = seen.values.copy()
    values[lucky] = 4.0
    seen = replace(seen, values=values)
    rng = np.random.default_rng(0)
    of_values = restart.next_turn(DOMAIN, seen, rng).first.best
    np.testing.assert_array_equal(of_values, seen.X[lucky])
    ranked, _ = Ranking(False).of(DOMAIN, seen)
    believed = restart.next_turn(DOMAIN, ranked, rng).first.best
    assert believed.sum() > seen.X[lucky].sum() + 0.5


@pytest.mark.parametrize("deterministic", [None, False])
def test_without_noise_a_study_is_that_of_a_deterministic_objective(
    deterministic: bool | None,
) -> None:
    seen = study(0.0, share=1e-6)
    asked = [
        HDBO(experts=["global"], deterministic_objective=known).suggest(DOMAIN, seen, Streams(0))
        for known in (True, deterministic)
    ]
    np.testing.assert_array_equal(asked[0].x, asked[1].x)
