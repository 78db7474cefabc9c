"""Studies that no one would run on purpose: random spaces, outcomes, and orders of events."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import pickle
import signal
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import optuna
from ctrl_c import at_line
from ctrl_c import interrupted
from histories import PATIENCE
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.trial import TrialState

from optuna_hdbo.samplers.base import MethodSampler


@dataclass(frozen=True)
class Parameter:
    """A parameter, the trials that ask for it, and what it turns into halfway."""

    name: str
    distribution: BaseDistribution
    first: int = 0
    last: int = 10**6
    branch: int | None = None
    later: BaseDistribution | None = None

    def at(self, number: int, n_trials: int) -> BaseDistribution:
        return (
            self.later if self.later is not None and 2 * number > n_trials else self.distribution
        )


@dataclass(frozen=True)
class Plan:
    """A study: what is asked for, what comes of it, and what else happens.

    ``constraints`` has the values that each trial tells, by name, and ``moments`` the lines at
    which asks are interrupted.
    """

    parameters: list[Parameter]
    outcomes: list[str]
    constraints: list[dict[str, Any]]
    events: list[str]
    moments: list[int]
    direction: str
    n_branches: int
    settings: dict[str, Any]


@dataclass
class Told:
    """What a sampler said while a plan was run."""

    messages: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    n_compared: int = 0


# spaces ------------------------------------------------------------------------------------------


def _ordered(low: float, high: float) -> tuple[float, float]:
    return (low, high) if low <= high else (high, low)


TINY = math.nextafter(1.0, 2.0)
FLOATS: list[BaseDistribution] = [
    FloatDistribution(0, 1),
    FloatDistribution(-5, 10),
    FloatDistribution(1e-5, 1, log=True),
    FloatDistribution(1e-300, 1e300, log=True),
    FloatDistribution(5e-324, 1e-310, log=True),
    FloatDistribution(-1e308, 1e308),
    FloatDistribution(0, 5e-324),
    FloatDistribution(1.0, TINY),
    FloatDistribution(1.0, TINY, log=True),
    FloatDistribution(1e15, 1e15 + 1),
    FloatDistribution(1.7e9, 1.7e9 + 0.01),
    FloatDistribution(-1e-300, 1e-300),
    FloatDistribution(3, 3),
    FloatDistribution(0, 1, step=0.1),
    FloatDistribution(-10.2, 10.2, step=0.1),
    FloatDistribution(0, 1e6, step=1e-3),
    FloatDistribution(0, 0.3, step=0.7),
]
INTS: list[BaseDistribution] = [
    IntDistribution(0, 1),
    IntDistribution(-3, 7),
    IntDistribution(4, 4),
    IntDistribution(1, 1000, log=True),
    IntDistribution(0, 2**40),
    IntDistribution(1, 2**40, log=True),
    IntDistribution(-(2**40), 2**40, step=3),
    IntDistribution(0, 10**18),
    IntDistribution(0, 100, step=7),
    IntDistribution(1, 1025),
    IntDistribution(1, 5000),
    IntDistribution(1, 100_000, log=True),
    IntDistribution(1, 2**53, log=True),
]
CHOICES: list[BaseDistribution] = [
    CategoricalDistribution(["a", "b"]),
    CategoricalDistribution([None, 2.5, "x" * 300, True]),
    CategoricalDistribution(["only"]),
    CategoricalDistribution(list(range(1000))),
    CategoricalDistribution([f"c{i}" for i in range(40)]),
    CategoricalDistribution([math.inf, -math.inf, 0.0]),
    CategoricalDistribution([True, 1, 1.0, "x"]),
]

finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=1e-300, max_value=1e300)
distributions = st.one_of(
    st.sampled_from(FLOATS + INTS + CHOICES),
    st.builds(lambda a, b: FloatDistribution(*_ordered(a, b)), finite, finite),
    st.builds(lambda a, b: FloatDistribution(*_ordered(a, b), log=True), positive, positive),
    st.builds(
        lambda a, b: IntDistribution(min(a, b), max(a, b)),
        st.integers(-(2**40), 2**40),
        st.integers(-(2**40), 2**40),
    ),
    st.builds(
        lambda n, log: IntDistribution(1, n, log=log), st.integers(1000, 2**53), st.booleans()
    ),
    st.builds(lambda n: CategoricalDistribution(list(range(n))), st.integers(2, 1000)),
)


@st.composite
def parameters(draw: st.DrawFn, n_trials: int, n_branches: int) -> list[Parameter]:
    small = st.integers(1, 8)
    n = draw(st.one_of(small, small, small, st.integers(9, 40)))
    found = []
    for i in range(n):
        plain = Parameter(f"p{i}", draw(distributions))
        change = draw(st.sampled_from(["none"] * 4 + ["branch", "grow", "shrink", "range"]))
        if change == "branch":
            plain = dataclasses.replace(plain, branch=draw(st.integers(0, n_branches - 1)))
        elif change == "grow":
            plain = dataclasses.replace(plain, first=draw(st.integers(1, n_trials)))
        elif change == "shrink":
            plain = dataclasses.replace(plain, last=draw(st.integers(0, n_trials)))
        elif change == "range" and not isinstance(plain.distribution, CategoricalDistribution):
            same = [
                d
                for d in FLOATS + INTS
                if type(d) is type(plain.distribution)
                and getattr(d, "log", None) == getattr(plain.distribution, "log", None)
            ]
            plain = dataclasses.replace(plain, later=draw(st.sampled_from(same)))
        found.append(plain)
    return found


OUTCOMES = ["value"] * 8 + [
    "inf",
    "-inf",
    "huge",
    "-huge",
    "equal",
    "nan",
    "fail",
    "prune",
    "prune at once",
    "prune wildly",
    "hang",
]
EVENTS = ["none"] * 8 + [
    "enqueue",
    "enqueue part",
    "add",
    "add pruned",
    "add failed",
    "interrupt",
    "pickle",
    "new",
]

RECORDS = [
    "?",
    '{"version": 1, "method": null, "params": {}, "record": ' + "[" * 5000,
    '{"version": 1, "method": "soo", "params": {}, "record": {"node": "' + "0" * 2_000_000 + '"}}',
    '{"version": 1, "method": "bamsoo", "params": {}, "record": {"fit": '
    + '{"a": ' * 300
    + "0"
    + "}" * 302,
    '{"version": 1, "method": "gp-ucb", "params": {}, "record": {'
    + ", ".join(f'"k{i}": {i}' for i in range(1000))
    + "}}",
]
"""What others may have written in the place of a suggestion: deep, long or wide."""

CONSTRAINTS: list[Any] = [-1.0, 0.0, 0.3, 2.0, 5e-324, 1e308, -1e308, math.inf, -math.inf]
WILD: list[Any] = [*CONSTRAINTS, math.nan, "?", None, [1.0], {}, True, "1e400"]


@st.composite
def constraints(draw: st.DrawFn, n_trials: int) -> list[dict[str, Any]]:
    """Of every other study, some trials tell of one constraint or two, as they should or not."""
    names = draw(st.sampled_from([[], [], ["a"], ["a", "b"]]))
    values = st.sampled_from(draw(st.sampled_from([CONSTRAINTS, CONSTRAINTS, WILD])))
    told = st.sampled_from([[], names, names, names[:1]])
    return [{name: draw(values) for name in draw(told)} for _ in range(n_trials)]


MOMENTS = st.one_of(st.integers(1, 500), st.integers(1, 5000))
"""Lines of the package, counted from the beginning of an ask; most have fewer than 5000."""


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    n_trials = draw(st.integers(6, 14))
    n_branches = draw(st.integers(2, 4))
    return Plan(
        parameters=draw(parameters(n_trials, n_branches)),
        outcomes=draw(st.lists(st.sampled_from(OUTCOMES), min_size=n_trials, max_size=n_trials)),
        constraints=draw(constraints(n_trials)),
        events=draw(st.lists(st.sampled_from(EVENTS), min_size=n_trials, max_size=n_trials)),
        moments=draw(st.lists(MOMENTS, min_size=n_trials, max_size=n_trials)),
        direction=draw(st.sampled_from(["minimize", "maximize"])),
        n_branches=n_branches,
        settings={
            "seed": draw(st.integers(0, 3)),
            "n_startup_trials": draw(st.integers(0, 4)),
            "consider_pruned_trials": draw(st.sampled_from([True, True, False])),
        },
    )


FEW = [
    IntDistribution(0, 1),
    IntDistribution(-1, 1),
    IntDistribution(1, 4, log=True),
    IntDistribution(0, 12, step=3),
    FloatDistribution(0, 1, step=0.25),
    FloatDistribution(1.0, TINY),
    CategoricalDistribution([False, True]),
    CategoricalDistribution(["a", None, 2.5]),
    CategoricalDistribution(list("abcdefg")),
]
MOST_CONFIGURATIONS = 60


def size(distribution: BaseDistribution) -> int:
    """Return how many values a distribution of :data:`FEW` has."""
    if isinstance(distribution, CategoricalDistribution):
        return len(distribution.choices)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    if distribution.step is None:
        return 2
    return round((distribution.high - distribution.low) / distribution.step) + 1


@st.composite
def finite_plans(draw: st.DrawFn) -> Plan:
    """Some trials more than there are configurations, none of which fails or is forced."""
    found: list[Parameter] = []
    n = 1
    for distribution in draw(st.lists(st.sampled_from(FEW), min_size=1, max_size=5)):
        if n * size(distribution) <= MOST_CONFIGURATIONS:
            found.append(Parameter(f"p{len(found)}", distribution))
            n *= size(distribution)
    outcomes = st.sampled_from(["value", "value", "value", "equal", "inf", "-inf", "huge"])
    n_trials = n + 2
    return Plan(
        parameters=found,
        outcomes=draw(st.lists(outcomes, min_size=n_trials, max_size=n_trials)),
        constraints=[{}] * n_trials,
        events=["none"] * n_trials,
        moments=[1] * n_trials,
        direction=draw(st.sampled_from(["minimize", "maximize"])),
        n_branches=2,
        settings={"seed": draw(st.integers(0, 3)), "n_startup_trials": 1},
    )


# running them ------------------------------------------------------------------------------------


def run(plan: Plan, create: Callable[..., MethodSampler]) -> tuple[optuna.Study, Told]:
    """Run a plan, and check every suggestion where it is made."""
    told = Told()
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told.messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("optuna.optuna_hdbo")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study = _run(plan, create, told)
    finally:
        logger.removeHandler(handler)
    told.warnings = [
        f"{w.message} ({w.filename}:{w.lineno})" for w in caught if not _is_optunas(w)
    ]
    return study, told


def _is_optunas(warning: warnings.WarningMessage) -> bool:
    """Say whether Optuna complains of the plan itself, which is its right."""
    return issubclass(warning.category, UserWarning) and "optuna_hdbo" not in warning.filename


def _run(plan: Plan, create: Callable[..., MethodSampler], told: Told) -> optuna.Study:
    study = optuna.create_study(direction=plan.direction, sampler=create(**plan.settings))
    n = len(plan.outcomes)
    for i, (outcome, event) in enumerate(zip(plan.outcomes, plan.events, strict=True)):
        _happen(study, plan, event, i, n)
        if event == "pickle":
            study.sampler = pickle.loads(pickle.dumps(study.sampler))
        elif event == "new":
            study.sampler = create(**plan.settings)
        trial = study.ask()
        _ = trial.relative_params  # some releases of Optuna ask for them only here
        n_messages = len(told.messages)
        compare(study, trial, create(**plan.settings))
        del told.messages[n_messages:]  # the other sampler says everything again
        told.n_compared += 1
        value = _suggest_all(plan, trial, i, n)
        _constrain(trial, plan.constraints[i])
        if outcome == "hang":
            continue
        if outcome.startswith("prune"):
            _report(trial, value, outcome)
            study.tell(trial, state=TrialState.PRUNED)
        elif outcome == "fail":
            study.tell(trial, state=TrialState.FAIL)
        else:
            numbers = {
                "inf": math.inf,
                "-inf": -math.inf,
                "huge": 1e308,
                "-huge": -1e308,
                "equal": 1.0,
                "nan": math.nan,
            }
            study.tell(trial, numbers.get(outcome, value), skip_if_finished=True)
    return study


def compare(study: optuna.Study, trial: optuna.Trial, fresh: MethodSampler) -> None:
    """Raise where a sampler that comes anew asks for anything else in the same trial."""
    kept = trial.relative_params
    before = study._storage.get_trial(trial._trial_id)
    space = fresh.infer_relative_search_space(study, before)
    params = fresh.sample_relative(study, before, space) if space else {}
    after = study._storage.get_trial(trial._trial_id)
    assert repr(params) == repr(kept), (trial.number, params, kept)
    assert after.system_attrs == before.system_attrs, trial.number
    assert after.user_attrs == before.user_attrs, trial.number


def fork(study: optuna.Study, moment: int, fresh: Callable[[], MethodSampler]) -> int:
    """Fork while a thread is at a line of the package; return the status of the child.

    The thread asks for a trial of the study. The child has its own study of the same trials, and
    asks with the sampler that the thread is using. Its status is 0 if that gives the same points
    as a fresh sampler.
    """
    reached, forked = threading.Event(), threading.Event()

    def wait() -> None:
        reached.set()
        forked.wait()

    def ask() -> None:
        with at_line(moment, wait, [0]):
            _ = study.ask().relative_params
        reached.set()

    trials = [trial for trial in study.trials if trial.state.is_finished()]
    thread = threading.Thread(target=ask)
    thread.start()
    reached.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        try:
            _ask_anew(study, trials, fresh)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    forked.set()
    thread.join()
    return status


def _ask_anew(
    study: optuna.Study, trials: list[optuna.trial.FrozenTrial], fresh: Callable[[], MethodSampler]
) -> None:
    other = optuna.create_study(direction=study.direction, sampler=study.sampler)
    other.add_trials(trials)
    for _ in range(2):
        trial = other.ask()
        _ = trial.relative_params
        compare(other, trial, fresh())
        other.tell(trial, state=TrialState.FAIL)


def _active(plan: Plan, i: int, branch: int | None) -> list[Parameter]:
    return [p for p in plan.parameters if p.first <= i <= p.last and p.branch in (None, branch)]


def _suggest_all(plan: Plan, trial: optuna.Trial, i: int, n: int) -> float:
    branch = None
    if any(p.branch is not None for p in plan.parameters):
        branch = trial.suggest_categorical("branch", list(range(plan.n_branches)))
        assert branch in range(plan.n_branches)
    total = 0.0
    for p in _active(plan, i, branch):
        distribution = p.at(i, n)
        value = trial._suggest(p.name, distribution)
        check(distribution, value)
        expected = trial.relative_params.get(p.name, value)
        space = trial.relative_search_space or {}
        if space.get(p.name) == distribution and p.name not in trial._fixed_params:
            assert expected is value or expected == value, (p, expected, value)
        total += score(distribution, value)
    return total


def check(distribution: BaseDistribution, value: Any) -> None:
    """Raise where a value is not one that the distribution may have, or not of its type."""
    assert distribution._contains(distribution.to_internal_repr(value)), (distribution, value)
    if isinstance(distribution, FloatDistribution):
        assert type(value) is float, (distribution, type(value))
    elif isinstance(distribution, IntDistribution):
        assert type(value) is int, (distribution, type(value))
    elif isinstance(distribution, CategoricalDistribution):
        assert any(value is c or value == c for c in distribution.choices)


def score(distribution: BaseDistribution, value: Any) -> float:
    """Return something to learn: the square of a share of the range."""
    if isinstance(distribution, CategoricalDistribution):
        return float(distribution.to_internal_repr(value) % 5)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    width = distribution.high / 2 - distribution.low / 2
    share = 0.0 if width <= 0 else (value / 2 - distribution.low / 2) / width
    return (share - 0.3) ** 2


def _constrain(trial: optuna.Trial, values: dict[str, Any]) -> None:
    """Tell constraints past Optuna's own checks, as a stranger may who shares the storage."""
    if hasattr(trial, "set_constraint"):
        for name, value in values.items():
            trial.storage.set_trial_system_attr(trial._trial_id, f"constraints:{name}", value)
    elif values:
        told = list(values.values())
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", told)


def _report(trial: optuna.Trial, value: float, outcome: str) -> None:
    if outcome == "prune at once":
        return
    trial.report(math.nan if outcome == "prune wildly" else value, 0)
    trial.report(value + 1.0, 3)
    if outcome == "prune wildly":
        trial.report(math.inf if trial.number % 2 else 1e308, 7)


def _middle(distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[-1]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return distribution.low


def _happen(study: optuna.Study, plan: Plan, event: str, i: int, n: int) -> None:
    """Put trials into the study that the sampler has not made."""
    active = _active(plan, i, 0)
    params = {p.name: _middle(p.at(i, n)) for p in active}
    if event == "interrupt":
        with interrupted(plan.moments[i], [0]):
            _ = study.ask().relative_params
    elif event == "enqueue":
        study.enqueue_trial(params)
    elif event == "enqueue part":
        study.enqueue_trial({name: params[name] for name in list(params)[::2]})
    elif event.startswith("add"):
        state = {"add": TrialState.COMPLETE, "add pruned": TrialState.PRUNED}.get(
            event, TrialState.FAIL
        )
        study.add_trial(
            optuna.create_trial(
                state=state,
                value=float(i) if state == TrialState.COMPLETE else None,
                params=params,
                distributions={p.name: p.at(i, n) for p in active},
                intermediate_values={0: 1.0} if i % 2 else {},
                system_attrs={"hdbo:suggestion:0": RECORDS[i % len(RECORDS)]},
            )
        )
