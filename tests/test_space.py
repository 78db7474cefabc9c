"""Encoding and decoding, with the ranges that break floats."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import optuna
import pytest
from histories import N_EXAMPLES
from hypothesis import assume
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import TrialState

from optuna_hdbo._core.variables.activity import Clause
from optuna_hdbo._study.columns import MAX_GRID_SIZE
from optuna_hdbo._study.parameters import Parameters
from optuna_hdbo._study.space import SearchSpace


finite = st.floats(allow_nan=False, allow_infinity=False)


def make(kind: type[BaseDistribution], *args: Any, **kwargs: Any) -> BaseDistribution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a range that its step does not divide
        return kind(*args, **kwargs)


@st.composite
def floats(draw: st.DrawFn) -> BaseDistribution:
    low, high = sorted((draw(finite), draw(finite)))
    return FloatDistribution(low, high)


@st.composite
def log_floats(draw: st.DrawFn) -> BaseDistribution:
    positive = st.floats(min_value=5e-324, allow_infinity=False, exclude_min=False)
    low, high = sorted((draw(positive), draw(positive)))
    return FloatDistribution(low, high, log=True)


@st.composite
def stepped_floats(draw: st.DrawFn) -> BaseDistribution:
    low = draw(st.decimals(-1000, 1000, places=3))
    step = draw(st.decimals("0.001", 100, places=3))
    width = draw(st.decimals("0.001", 1000, places=3))
    return make(FloatDistribution, float(low), float(low + width), step=float(step))


@st.composite
def ints(draw: st.DrawFn) -> BaseDistribution:
    low = draw(st.integers(-(2**62), 2**62))
    width = draw(st.one_of(st.integers(1, 2000), st.integers(1, 2**62)))
    step = draw(st.one_of(st.just(1), st.integers(1, 100)))
    return make(IntDistribution, low, low + width, step=step)


@st.composite
def log_ints(draw: st.DrawFn) -> BaseDistribution:
    low = draw(st.one_of(st.integers(1, 10), st.integers(1, 2**62)))
    width = draw(st.one_of(st.integers(1, 2000), st.integers(1, 2**62)))
    return IntDistribution(low, low + width, log=True)


@st.composite
def categoricals(draw: st.DrawFn) -> BaseDistribution:
    choice = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
    return CategoricalDistribution(draw(st.lists(choice, min_size=2, max_size=20)))


def has_room_in_storage(distribution: BaseDistribution) -> bool:
    """Between 2^60 and 2^60 + 10, say, there is no integer that Optuna could keep."""
    return not isinstance(distribution, IntDistribution) or (
        abs(distribution.low) <= 2**53 and abs(distribution.high) <= 2**53
    )


def admits(distribution: BaseDistribution, value: Any) -> bool:
    return distribution._contains(distribution.to_internal_repr(value))


EVERY_KIND = st.one_of(
    floats(), log_floats(), stepped_floats(), ints(), log_ints(), categoricals()
).filter(lambda distribution: not distribution.single())
positions = st.floats(0, 1)


@settings(max_examples=6 * N_EXAMPLES)
@given(EVERY_KIND, positions)
def test_every_position_decodes_to_an_admissible_python_value(
    distribution: BaseDistribution, position: float
) -> None:
    space = SearchSpace({"p": distribution})
    x = position * (len(distribution.choices) - 1) if space.domain.categorical[0] else position  # type: ignore[attr-defined]
    value = space.decode(np.array([x]))["p"]
    if isinstance(distribution, IntDistribution):
        assert type(value) is int
        assert distribution.low <= value <= distribution.high
        assume(has_room_in_storage(distribution))
    elif isinstance(distribution, FloatDistribution):
        assert type(value) is float
    else:
        assert any(value is choice for choice in distribution.choices)  # type: ignore[attr-defined]
    assert admits(distribution, value)
    # What was decoded is understood again, and stays what it is.
    row = space.encode({"p": value})
    assert row is not None
    assert 0 <= row[0] <= max(1, x + 1)
    if space.domain.discrete[0]:
        assert space.domain.snap(row[None])[0, 0] == row[0]
        again = space.decode(row)["p"]
        assert distribution.to_internal_repr(again) == distribution.to_internal_repr(value)
    elif not isinstance(distribution, IntDistribution):
        encoded_again = space.encode(space.decode(row))
        assert encoded_again is not None
        assert encoded_again[0] == pytest.approx(row[0], abs=1e-9)


@settings(max_examples=3 * N_EXAMPLES)
@given(EVERY_KIND, st.integers(0, 2**32))
def test_draws_are_admissible(distribution: BaseDistribution, seed: int) -> None:
    assume(has_room_in_storage(distribution))
    space = SearchSpace({"p": distribution})
    value = space.draw(np.random.default_rng(seed))["p"]
    assert admits(distribution, value)
    published = space.to_json({"p": value})
    restored = space.from_json(published)["p"]
    assert distribution.to_internal_repr(restored) == distribution.to_internal_repr(value)


@pytest.mark.parametrize(
    "distribution",
    [
        IntDistribution(0, 2**60),
        IntDistribution(-(2**60), 2**60 - 1),
        IntDistribution(0, 2**60 - 4, step=4),
        IntDistribution(3, 3 + 3 * 2**60, step=3),
        IntDistribution(1, 2**60 - 1, log=True),
        FloatDistribution(1e-300, 1e300, log=True),
        FloatDistribution(5e-324, 1.7976931348623157e308, log=True),
        FloatDistribution(-1e308, 1e308),
        FloatDistribution(-1.7976931348623157e308, 1.7976931348623157e308),
        FloatDistribution(0, 5e-324),
        FloatDistribution(1.0, 1.0000000000000002),
        FloatDistribution(1.0, 1.0000000000000002, log=True),
    ],
)
def test_extreme_ranges(distribution: BaseDistribution) -> None:
    space = SearchSpace({"p": distribution})
    with np.errstate(all="raise"):
        for x in [0.0, 5e-324, 1e-17, 0.25, 0.5, 0.75, 1 - 2**-53, 1.0]:
            value = space.decode(np.array([x]))["p"]
            assert admits(distribution, value)
            row = space.encode({"p": value})
            assert row is not None
            assert abs(row[0] - x) <= (0.5 if space.domain.discrete[0] else 0.5 + 1e-9)


@pytest.mark.parametrize("step", [7, 10**6 + 3])
@pytest.mark.parametrize(("low", "high"), [(-(2**62), 2**62 - 8), (-(2**61) + 3, 2**53)])
def test_long_ranges_of_integers_have_values_near_zero(low: int, high: int, step: int) -> None:
    """Optuna rounds the difference to the lower bound, by more than the distance of floats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna says that it has moved the upper bound
        distribution = IntDistribution(low, high, step=step)
    space = SearchSpace({"p": distribution})
    zero = -low / (high - low)
    for shift in [0.0, 1e-17, 1e-14, 1e-11, 1e-8, 1e-5, 0.1]:
        for x in (zero - shift, zero + shift):
            value = space.decode(np.array([x]))["p"]
            assert admits(distribution, value)
            assert (value - low) / (high - low) == pytest.approx(min(x, 1.0), abs=1e-9)


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-1e308, 1e308),
        FloatDistribution(0.1, 0.7),
        FloatDistribution(1e-5, 0.3, log=True),
        FloatDistribution(-10.2, 10.2, step=0.1),
        IntDistribution(-3, 12, step=5),
        IntDistribution(1, 10**6, log=True),
    ],
)
def test_bounds_are_reached_exactly(distribution: FloatDistribution | IntDistribution) -> None:
    space = SearchSpace({"p": distribution})
    assert space.decode(np.array([0.0]))["p"] == distribution.low
    assert space.decode(np.array([1.0]))["p"] == distribution.high
    # A maximiser may overshoot by rounding.
    assert space.decode(np.array([-1e-9]))["p"] == distribution.low
    assert space.decode(np.array([1.000001]))["p"] == distribution.high


def test_bounds_of_a_continuous_column_are_encoded_exactly() -> None:
    for d in (FloatDistribution(0.1, 0.7), FloatDistribution(1e-5, 0.3, log=True)):
        space = SearchSpace({"p": d})
        assert space.encode({"p": d.low}) == 0.0
        assert space.encode({"p": d.high}) == 1.0


def test_step_that_does_not_divide_the_range() -> None:
    space = SearchSpace(
        {
            "f": make(FloatDistribution, 0.0, 1.0, step=0.3),
            "i": make(IntDistribution, 0, 10, step=4),
        }
    )
    values = [space.decode(np.full(2, x)) for x in np.linspace(0, 1, 101)]
    assert {v["f"] for v in values} == {0.0, 0.3, 0.6, min(3 * 0.3, 0.9)}
    assert {v["i"] for v in values} == {0, 4, 8}


def test_every_discrete_value_has_an_equal_share() -> None:
    distributions: dict[str, BaseDistribution] = {
        "c": CategoricalDistribution(["a", "b", "c", "d"]),
        "f": FloatDistribution(-1, 1, step=0.5),
        "i": IntDistribution(5, 8),
    }
    space = SearchSpace(distributions)

    class Even(np.random.Generator):
        def __init__(self, u: float) -> None:
            self.u = u

        def random(self, size: int) -> np.ndarray:  # type: ignore[override]
            return np.full(size, self.u)

    drawn = [space.draw(Even((i + 0.5) / 120)) for i in range(120)]
    for name in distributions:
        values, counts = np.unique([str(d[name]) for d in drawn], return_counts=True)
        assert counts.tolist() == [120 // len(values)] * len(values)


def test_log_int_shares_follow_the_logarithm() -> None:
    space = SearchSpace({"p": IntDistribution(1, 1000, log=True)})
    values = [space.decode(np.array([u]))["p"] for u in (np.arange(10000) + 0.5) / 10000]
    width = math.log(1000.5 / 0.5)
    for value in (1, 2, 10, 1000):
        share = math.log((value + 0.5) / (value - 0.5)) / width
        assert values.count(value) == pytest.approx(10000 * share, abs=1)


def test_grids() -> None:
    space = SearchSpace(
        {
            "float": FloatDistribution(0, 1),
            "few": IntDistribution(1, MAX_GRID_SIZE),
            "many": IntDistribution(0, MAX_GRID_SIZE),
            "narrow": IntDistribution(10**15, 10**15 + 500, log=True),
            "kind": CategoricalDistribution(list(range(1000))),
        }
    )
    few, narrow, kind = (space.domain.grids[i] for i in (1, 3, 4))
    assert space.domain.names == ("float", "few", "many", "narrow", "kind")
    assert space.domain.discrete.tolist() == [False, True, False, True, True]
    assert space.domain.categorical.tolist() == [False] * 4 + [True]
    assert few is not None
    assert narrow is not None
    assert few[0] == 0.5 / MAX_GRID_SIZE
    assert np.all(np.diff(narrow) > 0)
    assert kind is not None
    assert kind.tolist() == list(range(1000))
    for i in range(1, 1001, 111):
        params = {"float": 0.5, "few": i, "many": i, "narrow": 10**15 + i // 2, "kind": i - 1}
        row = space.encode(params)
        assert row is not None
        assert np.array_equal(space.domain.snap(row[None])[0], row)
        assert space.decode(row) == params


@pytest.mark.parametrize(
    "params",
    [
        {"x": 1.0},
        {"x": 1.0, "k": 11, "c": "a"},
        {"x": 1.0, "k": 4, "c": "a"},
        {"x": 1.5, "k": 3, "c": "a"},
        {"x": math.nextafter(1, 2), "k": 3, "c": "a"},
        {"x": math.nan, "k": 3, "c": "a"},
        {"x": "1", "k": 3, "c": "a"},
        {"x": None, "k": 3, "c": "a"},
        {"x": 1.0, "k": 3, "c": "z"},
        {"x": 1.0, "k": 3, "c": []},
        {"x": 1.0, "k": 10**400, "c": "a"},
    ],
)
def test_inadmissible_configurations_have_no_row(params: dict[str, Any]) -> None:
    space = SearchSpace(
        {
            "x": FloatDistribution(0, 1),
            "k": IntDistribution(1, 9, step=2),
            "c": CategoricalDistribution(["a", "b"]),
        }
    )
    assert space.encode(params) is None
    assert space.encode({"x": 1.0, "k": 3, "c": "a", "else": 0}) is not None


def test_a_value_between_steps_is_not_admissible() -> None:
    space = SearchSpace({"x": FloatDistribution(0, 1, step=0.25)})
    assert space.encode({"x": 0.3}) is None
    assert space.encode({"x": 0.5 + 1e-12}) == space.encode({"x": 0.5})


def test_fine_steps_are_taken_by_optuna() -> None:
    """Its tolerance is absolute: a relative value that fails its test is silently redrawn."""
    distribution = FloatDistribution(0, 1e6, step=1e-3)
    space = SearchSpace({"x": distribution})
    rng = np.random.default_rng(0)
    for x in rng.random(500):
        value = space.decode(np.array([x]))["x"]
        assert distribution._contains(value)
        assert abs(value - 1e6 * x) < 0.1


def test_fine_steps_are_understood_despite_rounding() -> None:
    space = SearchSpace({"x": FloatDistribution(0, 1000, step=1e-7)})
    for x in np.linspace(0, 1, 50):
        assert space.encode(space.decode(np.array([x]))) == pytest.approx(x, abs=1e-9)


@pytest.mark.parametrize("high", [math.inf, -math.inf])
def test_infinite_ranges_are_refused(high: float) -> None:
    low, high = sorted((0.0, high))
    with pytest.raises(ValueError, match="range of parameter 'x' must be finite"):
        SearchSpace({"x": FloatDistribution(low, high)})


def test_unknown_distributions_are_refused() -> None:
    class Spiral(FloatDistribution):
        pass

    assert SearchSpace({"x": Spiral(0, 1)}).domain.names == ("x",)
    with pytest.raises(ValueError, match="must be float, int or categorical"):
        SearchSpace({"x": object()})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "numbers",
    [{"k": 0}, {"k": 2.5}, {"k": "1"}, {"k": True}, {"k": 1e400}, {"c": 2}, {"c": 0.5}, {"c": -1}],
)
def test_hostile_numbers_are_refused(numbers: dict[str, Any]) -> None:
    space = SearchSpace({"k": IntDistribution(1, 9), "c": CategoricalDistribution(["a", "b"])})
    with pytest.raises(ValueError, match="is "):
        space.from_json(numbers)
    assert space.from_json({"c": 1, "unknown": "?"}) == {"c": "b"}


@pytest.mark.parametrize(
    ("choices", "distinct"),
    [
        ([True, 1, 1.0, "x"], [0, 3]),
        (["x", 0, False, None, -0.0], [0, 1, 3]),
        ([math.nan, 1.0, float("nan")], [0, 1]),
        ([1, 1.0], [0]),
        ([[1], [1], [2]], [0, 2]),
    ],
)
@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_equal_choices_are_one_configuration(choices: list[Any], distinct: list[int]) -> None:
    """Optuna itself reads back the first of them."""
    distribution = CategoricalDistribution(choices)
    space = SearchSpace({"c": distribution})
    assert space.domain.grid(0).tolist() == list(range(len(distinct)))
    for place, index in enumerate(distinct):
        assert space.decode(np.array([float(place)]))["c"] is choices[index]
    for choice in choices:
        row = space.encode({"c": choice})
        assert row is not None
        first = choices[distinct[int(row[0])]]
        assert first == choice or (first != first and choice != choice)
        assert np.array_equal(space.read_back(row), row)
        assert space.from_json(space.to_json({"c": choice}))["c"] is choices[distinct[int(row[0])]]
    drawn = {id(space.draw(np.random.default_rng(i))["c"]) for i in range(200)}
    assert drawn == set(map(id, choices))


def test_choices_may_be_anything() -> None:
    choices = [None, float("nan"), "a", 1.5]
    space = SearchSpace({"c": CategoricalDistribution(choices)})
    for i, choice in enumerate(choices):
        assert space.encode({"c": choice}) == i
        assert space.decode(np.array([float(i)]))["c"] is choice
        assert space.to_json({"c": choice}) == {"c": i}


def test_what_is_converted_again_is_as_it_was() -> None:
    """The last conversions are remembered, and nobody else can change what is remembered."""
    space = SearchSpace({"x": FloatDistribution(0, 1), "n": IntDistribution(0, 9)})
    row = np.array([0.25, 0.35])
    first = space.decode(row)
    first["x"] = 0.75
    assert space.decode(row) == {"x": 0.25, "n": 3}
    params = {"x": 0.25, "n": 3}
    once = space.encode(params)
    assert once is not None
    once[0] = params["x"] = 0.5
    assert space.encode({"x": 0.25, "n": 3}).tolist() == [0.25, 0.35]  # type: ignore[union-attr]
    assert space.encode(params).tolist() == [0.5, 0.35]  # type: ignore[union-attr]
    assert space.encode({"x": np.zeros(2), "n": 3}) is None  # arrays cannot be compared


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)])
def test_equal_zeros_are_one_configuration(zeros: tuple[float, float]) -> None:
    space = SearchSpace({"x": FloatDistribution(0, 1)})
    rows = [space.encode({"x": zero}) for zero in (*zeros, *reversed(zeros))]
    assert len({row.tobytes() for row in rows if row is not None}) == 1
    assert None not in rows


def test_rules_apply_to_what_was_decoded_before() -> None:
    kind, x = CategoricalDistribution(["a", "b"]), FloatDistribution(0, 1)
    free = SearchSpace({"kind": kind, "x": x}, {"kind"})
    row = np.array([1.0, 0.25])
    assert free.decode(row) == {"kind": "b", "x": 0.25}
    rule = Clause("kind", frozenset([0.0]), frozenset([1.0]))
    bound = free.with_rules({"x": (rule,)})
    assert bound.decode(row) == {"kind": "b"}
    assert free.decode(row) == {"kind": "b", "x": 0.25}


def test_describes_compares_order_and_ranges() -> None:
    x, y = FloatDistribution(0, 1), FloatDistribution(0, 2)
    space = SearchSpace({"x": x, "y": y})
    assert space.describes({"x": FloatDistribution(0, 1), "y": y})
    assert not space.describes({"y": y, "x": x})
    assert not space.describes({"x": x, "y": x})


STATES = [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING]
distributions = st.sampled_from(
    [
        FloatDistribution(0, 1),
        FloatDistribution(0, 2),
        FloatDistribution(0.5, 0.5),
        CategoricalDistribution([1, 2]),
    ]
)


@given(
    st.lists(
        st.tuples(st.sampled_from(STATES), st.dictionaries(st.sampled_from("zyx"), distributions)),
        max_size=8,
    ),
    st.booleans(),
    st.data(),
)
def test_common_parameters_are_those_that_optuna_finds(
    given_trials: list[tuple[TrialState, dict[str, BaseDistribution]]],
    include_pruned: bool,
    data: st.DataObject,
) -> None:
    """However many trials are new at a time, and in whatever order running ones end.

    Pruned trials count only while none is complete, and only with a report.
    """
    study = optuna.create_study()
    ours = Parameters(include_pruned)

    def compare() -> None:
        ours.follow(study.get_trials(deepcopy=False))
        found = ours.common()
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        theirs = IntersectionSearchSpace(include_pruned and not complete)
        expected = {n: d for n, d in theirs.calculate(study).items() if not d.single()}
        assert list(found.items()) == list(expected.items())

    for state, params in given_trials:
        trial = optuna.create_trial(
            state=state,
            value=0.0 if state == TrialState.COMPLETE else None,
            intermediate_values={0: 1.0} if state == TrialState.PRUNED else None,
            params={
                name: d.to_external_repr(0.5 if isinstance(d, FloatDistribution) else 0)
                for name, d in params.items()
            },
            distributions=params,
        )
        study.add_trial(trial)
        if data.draw(st.booleans()):
            compare()
    running = [t.number for t in study.trials if t.state == TrialState.RUNNING]
    for number in data.draw(st.permutations(running)):
        study.tell(number, 1.0)
        compare()


def test_nobody_can_change_what_is_common() -> None:
    common = Parameters(False)
    study = optuna.create_study()
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    common.follow(study.trials)
    common.common().clear()
    common.modelled().clear()
    assert list(common.common()) == list(common.modelled()) == ["x"]


def test_a_trial_that_runs_for_ever_does_not_have_later_ones_looked_at_again() -> None:
    """Workers that are killed leave such trials. Each later trial took time for all of them."""

    class Watched(list[optuna.trial.FrozenTrial]):
        looked_at = 0

        def __getitem__(self, index: Any) -> Any:
            found = super().__getitem__(index)
            self.looked_at += len(found) if isinstance(index, slice) else 1
            return found

        def __reversed__(self) -> Any:
            self.looked_at += len(self)
            return super().__reversed__()

    study, common = optuna.create_study(), Parameters(False)
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    abandoned = study.ask()
    for i in range(2, 30):
        study.optimize(lambda t: t.suggest_float("x", 0, 1 + t.number // 20), n_trials=1)
        trials = Watched(study.get_trials(deepcopy=False))
        common.follow(trials)
        assert trials.looked_at <= (3 if i == 2 else 2)
    assert list(common.common()) == []  # its range has changed
    assert list(common.modelled()) == ["x"]
    study.tell(abandoned, 1.0)
    common.follow(study.get_trials(deepcopy=False))
    assert common.required() == frozenset()


# what trees rest on ------------------------------------------------------------------------------


@settings(max_examples=3 * N_EXAMPLES)
@given(EVERY_KIND, positions)
def test_the_row_of_a_trial_is_known_before_it_runs(
    distribution: BaseDistribution, position: float
) -> None:
    """To the last bit, though positions and values are rounded on their ways."""
    assume(has_room_in_storage(distribution))
    space = SearchSpace({"p": distribution})
    x = position * (len(distribution.choices) - 1) if space.domain.categorical[0] else position  # type: ignore[attr-defined]
    params = space.decode(np.array([x]))
    assert np.array_equal(space.domain.observed_at(np.array([x])), space.encode(params))


def test_values_that_are_too_many_to_list_are_counted() -> None:
    distributions: dict[str, BaseDistribution] = {
        "few": IntDistribution(1, MAX_GRID_SIZE),
        "many": IntDistribution(0, MAX_GRID_SIZE),
        "log": IntDistribution(3, 10**6, log=True),
        "float": FloatDistribution(0, 1),
        "step": FloatDistribution(0, 10, step=0.001),
        "kind": CategoricalDistribution(list(range(2000))),
    }
    steps = SearchSpace(distributions).domain.steps
    assert {i: (s.n, s.log_start) for i, s in steps.items()} == {
        1: (MAX_GRID_SIZE + 1, None),
        2: (10**6 - 2, 2.5),
        4: (10_001, None),
    }


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, math.nextafter(1.0, 2.0)),
        (-5e-324, 5e-324),
        (0.0, 5e-324),
        (1e15, 1e15 + 1),
        (math.nextafter(2.0, 1.0), math.nextafter(2.0, 3.0)),
        (-1.0, math.nextafter(-1.0, 0.0)),
    ],
)
@pytest.mark.parametrize("log", [False, True])
def test_floats_of_a_narrow_range_are_values_of_a_grid(low: float, high: float, log: bool) -> None:
    if log and low <= 0:
        return
    space = SearchSpace({"p": FloatDistribution(low, high, log=log)})
    grid = space.domain.grids[0]
    assert grid is not None
    values = [space.decode(np.array([x]))["p"] for x in grid]
    assert values[0] == low
    assert values[-1] == high
    for value, following in itertools.pairwise(values):
        assert math.nextafter(value, math.inf) == following
    assert [space.encode({"p": value})[0] for value in values] == grid.tolist()  # type: ignore[index]


def test_wider_ranges_are_intervals() -> None:
    domain = SearchSpace(
        {
            "narrow": FloatDistribution(1.7e9, 1.7e9 + 0.01),
            "time": FloatDistribution(1.6e9, 1.7e9),
            "log": FloatDistribution(1e-310, 2e-310, log=True),
        }
    ).domain
    assert domain.grids == (None,) * 3
    assert list(domain.steps) == [0]
    assert domain.steps[0].n == round(0.01 / math.ulp(1.7e9)) + 1
