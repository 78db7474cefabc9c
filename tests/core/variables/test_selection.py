"""Searches of subsets, on scripted losses: the paper's pseudocode is the oracle."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import reference_selection as paper
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.variables import selection
from optuna_hdbo._core.variables.selection import Selection


def scripted(seed: int, slope: float) -> Callable[[frozenset[int]], float]:
    """Return a loss that falls with every further column, more or less, and ties now and then."""

    def loss(columns: frozenset[int]) -> float:
        rng = np.random.default_rng([seed, *sorted(columns)])
        value = -sum(slope**c for c in columns) + 0.3 * rng.standard_normal()
        return float(np.round(value, 1))

    return loss


def tupled(loss: Callable[[frozenset[int]], float]) -> Callable[[tuple[int, ...]], float]:
    def of(columns: tuple[int, ...]) -> float:
        assert len(set(columns)) == len(columns) > 0
        return loss(frozenset(columns))

    return of


rankings = st.integers(1, 9).flatmap(lambda n: st.permutations(range(n)))
losses = st.builds(scripted, st.integers(0, 10**6), st.sampled_from([0.3, 0.7, 1.0]))


@given(rankings, losses)
def test_the_first_selection_is_algorithm_2(ranking: list[int], loss: paper.Loss) -> None:
    found = selection.forward(ranking, tupled(loss))
    assert set(found) == paper.algorithm_2(ranking, loss)
    assert list(found) == ranking[: len(found)]


@given(rankings, losses, st.data())
def test_a_selection_without_success_is_algorithm_4(
    ranking: list[int], loss: paper.Loss, data: st.DataObject
) -> None:
    old = data.draw(st.sets(st.sampled_from(ranking), min_size=1))
    found = selection.after_failure(ranking, sorted(old), tupled(loss))
    assert set(found) == paper.algorithm_4(ranking, old, loss)


@given(rankings, losses, st.data())
def test_a_selection_with_success_is_algorithm_5(
    ranking: list[int], loss: paper.Loss, data: st.DataObject
) -> None:
    within = data.draw(st.permutations(ranking))
    old = within[: data.draw(st.integers(1, len(within)))]
    found = selection.after_success(ranking, old, tupled(loss))
    assert set(found) == paper.algorithm_5(ranking, old, loss)
    assert len(set(found)) == len(found)


def table(values: dict[str, float]) -> Callable[[tuple[int, ...]], float]:
    return lambda columns: values["".join(str(c) for c in sorted(columns))]


def test_forward_by_hand() -> None:
    """The third gain, 1, is under a tenth of the second, 11."""
    loss = table({"3": 40.0, "13": 20.0, "013": 9.0, "0123": 8.0})
    assert selection.forward([3, 1, 0, 2], loss) == (3, 1, 0)


def test_forward_keeps_two_at_least() -> None:
    loss = table({"0": 1.0, "01": 2.0, "012": 3.0})
    assert selection.forward([0, 1, 2], loss) == (0, 1)


def test_elimination_by_hand() -> None:
    """Column 2 is not missed, 1 is; of the new ones 0 leads and is taken on trust, 3 is not."""
    loss = table({"012": 5.0, "01": 5.0, "0": 9.0, "013": 6.0})
    assert selection.after_success([0, 1, 2, 3], [0, 1, 2], table_or(loss, 7.0)) == (0, 1)


def table_or(
    loss: Callable[[tuple[int, ...]], float], otherwise: float
) -> Callable[[tuple[int, ...]], float]:
    def of(columns: tuple[int, ...]) -> float:
        try:
            return loss(columns)
        except KeyError:
            return otherwise

    return of


# selection by gain -------------------------------------------------------------------------------


def additive(worth: dict[int, float]) -> Callable[[tuple[int, ...]], float]:
    return lambda columns: -sum(worth.get(c, 0.0) for c in columns)


@given(
    st.permutations(range(7)),
    st.lists(st.integers(0, 12), min_size=7, max_size=7),
    st.sets(st.integers(0, 6)),
)
def test_with_enough_patience_exactly_the_worthy_columns_are_kept(
    ranking: list[int], worth: list[int], old: set[int]
) -> None:
    loss = additive({c: float(w) for c, w in enumerate(worth)})
    found = selection.significant(ranking, sorted(old), loss, gain=6.0, patience=7)
    worthy = [c for c in ranking if worth[c] >= 6.0]
    if worthy:
        assert list(found) == worthy  # the most important first
    else:
        assert len(found) == 1


def test_patience_runs_out_at_columns_that_are_not_worth_it() -> None:
    loss = additive({0: 9.0, 4: 9.0})
    ranking = [0, 1, 2, 3, 4]
    assert selection.significant(ranking, [], loss, gain=6.0, patience=3) == (0,)
    assert selection.significant(ranking, [], loss, gain=6.0, patience=4) == (0, 4)


def test_an_old_column_stays_as_long_as_it_is_worth_it_whatever_its_rank() -> None:
    loss = additive({0: 9.0, 5: 7.0})
    ranking = [0, 1, 2, 3, 4, 5]
    assert selection.significant(ranking, [5], loss, gain=6.0, patience=1) == (0, 5)
    assert selection.significant(ranking, [5], loss, gain=8.0, patience=1) == (0,)


def test_columns_that_stand_in_for_each_other_are_not_both_dropped() -> None:
    def loss(columns: tuple[int, ...]) -> float:
        return 0.0 if {0, 1} & set(columns) else 50.0

    for old in ([0, 1], [1, 0], [2, 1, 0]):
        found = selection.significant([2, 1, 0], old, loss, gain=6.0, patience=3)
        assert len({0, 1} & set(found)) == 1


def test_every_subset_is_fitted_once_or_twice_not_in_all_combinations() -> None:
    calls: list[tuple[int, ...]] = []

    def loss(columns: tuple[int, ...]) -> float:
        calls.append(columns)
        return -10.0 * len(set(columns) & {0, 1, 2})

    selection.significant(list(range(100)), [], loss, gain=6.0, patience=3)
    assert len(calls) <= 2 * 3 + 3 + 1


# records -----------------------------------------------------------------------------------------


def test_a_selection_survives_json() -> None:
    chosen = Selection(30, ("b", "a"))
    assert Selection.from_json(chosen.to_json()) == chosen


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"n": 3},
        {"names": ["a"]},
        {"n": 3, "names": []},
        {"n": 0, "names": ["a"]},
        {"n": -1, "names": ["a"]},
        {"n": 2.5, "names": ["a"]},
        {"n": True, "names": ["a"]},
        {"n": math.nan, "names": ["a"]},
        {"n": 3, "names": "a"},
        {"n": 3, "names": ["a", 1]},
        {"n": 3, "names": [["a"]]},
        {"n": 3, "names": ["a", "a"]},
    ],
)
def test_what_is_no_selection_is_none(data: object) -> None:
    assert Selection.from_json(data) is None


def test_what_is_left_to_explain_is_ranked_anew_after_each_find() -> None:
    """Columns 7, then 8 lead what is left; each is found although the ranking has them last."""
    asked = []

    def rest(columns: tuple[int, ...]) -> list[int]:
        asked.append(columns)
        return [7, 1, 2, 3, 8] if 7 not in columns else [8, 1, 2, 3]

    loss = additive({0: 9.0, 7: 9.0, 8: 9.0})
    found = selection.significant(list(range(10)), [], loss, gain=6.0, patience=3, rest=rest)
    assert found == (0, 7, 8)
    assert asked == [(0,), (0, 7), (0, 7, 8)]
