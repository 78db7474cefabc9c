"""What every method owes its caller: admissible, reproducible points whatever the history."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import THOROUGH
from histories import Ledger
from histories import affordable
from histories import bowl
from histories import is_admissible
from histories import make_domain
from histories import method_classes
from histories import published

from optuna_hdbo._core.domain import Domain
from optuna_hdbo.methods.add_gp_ucb import AddGPUCB
from optuna_hdbo.methods.bamsoo import BaMSOO
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.methods.gp_mi import GPMI
from optuna_hdbo.methods.gp_ucb import GPUCB
from optuna_hdbo.methods.ms_ucb import MSUCB
from optuna_hdbo.methods.soo import SOO
from optuna_hdbo.methods.vs_bo import VSBO


DEFAULTS = method_classes()

METHODS: dict[str, Callable[[], Method]] = {
    **DEFAULTS,
    "gp-mi, additive": lambda: GPMI(max_group_size=2, n_decompositions=4),
    "gp-mi, centre": lambda: GPMI(decomposition=[["x0", "x2"]], ungrouped="centre"),
    "gp-mi, published": lambda: GPMI(**published(GPMI)),
    "ms-ucb, more": lambda: MSUCB(d=2, n0=3, alpha=1.0, ard=False),
    "ms-ucb, points": lambda: MSUCB(d=0, anchors=None),
    "ms-ucb, published": lambda: MSUCB(**published(MSUCB, n_starts=8)),
    "gp-ucb, one lengthscale": lambda: GPUCB(ard=False, alternate=False, beta="theory", n_cyc=4),
    "all groups": lambda: AddGPUCB(max_group_size=2, update="all_groups"),
    "one group": lambda: AddGPUCB(max_group_size=2, update="one_group"),
    "sequential": lambda: AddGPUCB(
        decomposition=[["x0"], ["x1"]], ungrouped="single", update="sequential", n_per_group=2
    ),
    "gibbs": lambda: AddGPUCB(
        max_group_size=3, update="all_groups", decomposition_search="gibbs", n_decompositions=4
    ),
    "known": lambda: AddGPUCB(
        decomposition=[["x0", "x2"], ["x1"]], ungrouped="single", update="all_groups"
    ),
    "centre": lambda: AddGPUCB(
        decomposition=[["x0", "x2"]], ungrouped="centre", update="one_group"
    ),
    "published": lambda: AddGPUCB(
        **published(AddGPUCB, n_small_bandwidth=9, n_cyc=5, max_group_size=2)
    ),
    "published, known": lambda: AddGPUCB(
        **published(AddGPUCB, n_small_bandwidth=0, decomposition=[["x0"], ["x1", "x2"]]),
        ungrouped="single",
    ),
}

METHODS |= {
    "vs-bo, often": lambda: VSBO(n_vs=4, n_init=3, n_is=50, whole_every=3),
    "vs-bo, mix": lambda: VSBO(n_vs=5, n_init=0, n_is=20, whole_every=0, unimportant="mix"),
    "vs-bo, incumbent": lambda: VSBO(n_vs=2, n_init=2, n_is=20, unimportant="incumbent"),
    "vs-bo, published": lambda: VSBO(n_init=3, **published(VSBO, n_vs=5, n_is=100)),
    "vs-bo, known": lambda: VSBO(important=["x0", "x2"]),
    "soo in two": lambda: SOO(branching=2, depth_exponent=0.8),
    "bamsoo in two": lambda: BaMSOO(branching=2, n_cyc=3, ard=False, patience=20),
    "bamsoo, published": lambda: BaMSOO(**published(BaMSOO, depth_exponent=0.7, patience=300)),
    "gp-mi, known": lambda: GPMI(kernel_params={"lengthscale": 0.3}, kernel="matern3"),
    "bamsoo, known": lambda: BaMSOO(
        width=None, penalty=None, kernel_params={"lengthscale": 0.3}, kernel="se"
    ),
}

if INTERPRETED:  # other settings take the same loops
    METHODS = dict(DEFAULTS)

every_setting = pytest.mark.parametrize("build", list(METHODS.values()), ids=list(METHODS))
FEWER = METHODS if THOROUGH else DEFAULTS
every_method = pytest.mark.parametrize("build", list(FEWER.values()), ids=list(FEWER))
every_domain = pytest.mark.parametrize("domain", list(DOMAINS.values()), ids=list(DOMAINS))


def written(suggestion: Suggestion) -> str:
    return json.dumps(suggestion.record, allow_nan=False, sort_keys=True)


def ask(method: Method, ledger: Ledger, seed: int = 0, **seen: Any) -> Suggestion:
    return method.suggest(ledger.domain, ledger.seen(**seen), Streams(seed))


def assert_sane(domain: Domain, suggestion: Suggestion) -> None:
    assert is_admissible(domain, suggestion.x)
    numbers = [number for number in suggestion.report.values() if not isinstance(number, str)]
    assert all(math.isfinite(number) for number in numbers)
    fits = [data for data in (suggestion.record or {}).values() if "lengthscales" in str(data)]
    assert len(written(suggestion)) < 200 + (200 + 60 * (len(domain) + 1)) * max(1, len(fits))


@every_setting
@pytest.mark.parametrize("name", ["mixed", "continuous"] if THOROUGH else ["mixed"])
def test_memory_is_only_a_cache(build: Callable[[], Method], name: str) -> None:
    """A fresh instance and a long-lived one agree exactly, with points pending now and then."""
    domain = DOMAINS[name]
    ledger = Ledger.started(domain)
    old = build()
    rng = np.random.default_rng(3)
    for step in range(affordable(6, 4)):
        pending = domain.sample(rng, int(rng.integers(3))) if step % 4 == 1 else []
        suggestion = ask(old, ledger, pending=pending)
        again = ask(build(), ledger, pending=pending)
        assert np.array_equal(suggestion.x, again.x)
        assert written(suggestion) == written(again)
        assert suggestion.report == again.report
        assert_sane(domain, suggestion)
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)


@every_setting
@every_domain
def test_points_are_admissible(build: Callable[[], Method], domain: Domain) -> None:
    method = build()
    ledger = Ledger.started(domain, 3)
    for suggestion in ledger.run(method, affordable(6, 2)):
        assert_sane(domain, suggestion)


@every_setting
def test_an_exhausted_domain_is_searched_completely_first(build: Callable[[], Method]) -> None:
    domain = make_domain(2, "3", 2)
    ledger = Ledger.started(domain, 1)
    method = build()
    ledger.run(method, 14)
    if getattr(method, "ungrouped", None) == "centre" or getattr(method, "important", None):
        asked = {x.tobytes() for x in ledger.X[1:5]}
        assert len(asked) == 4
        assert {x[1] for x in ledger.X[1:]} == {1.0}
    else:
        assert len({x.tobytes() for x in ledger.X[:12]}) == 12
    assert all(is_admissible(domain, x) for x in ledger.X)


@every_method
def test_pending_points_are_not_asked_again(build: Callable[[], Method]) -> None:
    for name in ("mixed", "continuous"):
        ledger = Ledger.started(DOMAINS[name], 8)
        method = build()
        points = []
        for step in range(8, 12):  # the same history, other trial numbers
            points.append(ask(method, ledger, pending=points, step=step).x)
        assert len({x.tobytes() for x in points}) == len(points)


class CountedStreams(Streams):
    """Streams that know whether anybody drew from them."""

    n_generators = 0

    def generator(self, purpose: str, step: int) -> np.random.Generator:
        self.n_generators += 1
        return super().generator(purpose, step)


@pytest.mark.parametrize("name", list(METHODS))
def test_seeds_and_steps_decide(name: str) -> None:
    """They are all that is random, and the defaults of a method that draws differ with each."""
    build = METHODS[name]
    ledger = Ledger.started(DOMAINS["continuous"], 8)
    counted = CountedStreams(1)
    first = build().suggest(ledger.domain, ledger.seen(), counted).x
    assert np.array_equal(first, ask(build(), ledger, seed=1).x)
    draws = counted.n_generators > 0

    def differ(changes: list[dict[str, int]]) -> bool:
        return any(not np.array_equal(first, ask(build(), ledger, **c).x) for c in changes)

    for changes in (
        [{"seed": seed} for seed in range(2, 6)],
        [{"seed": 1, "step": step} for step in range(9, 13)],
    ):
        if name in DEFAULTS:
            assert differ(changes) == draws
        else:
            assert draws or not differ(changes)


@every_setting
def test_values_decide(build: Callable[[], Method]) -> None:
    """Two studies part once a suggestion depends on values of the opposite sign."""
    studies = [
        (build(), Ledger.started(DOMAINS["continuous"], 4, lambda x, sign=sign: sign * bowl(x)))
        for sign in (1.0, -1.0)
    ]
    for _ in range(affordable(8, 4)):
        x, of_opposite = (ledger.run(method, 1)[0].x for method, ledger in studies)
        if not np.array_equal(x, of_opposite):
            break
    else:
        pytest.fail("values make no difference")


VALUES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "constant": lambda y: np.full(len(y), 3.0),
    "outliers": lambda y: np.where(np.arange(len(y)) % 7 == 3, -1e6, y),
    "one good": lambda y: np.where(np.arange(len(y)) == 3, 1e6, y),
    "huge": lambda y: y * 1e300,
    "tiny": lambda y: y * 1e-300,
    "infinite": lambda y: np.where(np.arange(len(y)) % 3 == 1, -np.inf, y),
    "both infinite": lambda y: np.where(np.arange(len(y)) % 3 == 1, np.inf, -np.inf),
    "noise": lambda y: np.random.default_rng(5).standard_normal(len(y)),
}


@every_method
@pytest.mark.parametrize("values", list(VALUES.values()), ids=list(VALUES))
def test_any_values_are_learned_from(
    build: Callable[[], Method], values: Callable[[np.ndarray], np.ndarray]
) -> None:
    domain = DOMAINS["mixed"]
    ledger = Ledger.started(domain, affordable(16, 8))
    ledger.values = list(values(np.array(ledger.values)))
    for _ in range(affordable(2, 1)):
        suggestion = ask(build(), ledger)
        assert_sane(domain, suggestion)
        ledger.keep(suggestion)
        ledger.X.append(suggestion.x)
        ledger.values.append(ledger.values[0])


@every_method
def test_one_observation_is_enough(build: Callable[[], Method]) -> None:
    for domain in DOMAINS.values():
        assert_sane(domain, ask(build(), Ledger.started(domain, 1)))


@every_method
def test_repeated_points_are_legal(build: Callable[[], Method]) -> None:
    domain = DOMAINS["mixed"]
    ledger = Ledger.started(domain, 3)
    for x, noise in itertools.product(list(ledger.X), (0.0, 1e-9, 0.5)):
        ledger.X.append(x)
        ledger.values.append(ledger.f(x) + noise)
    for suggestion in ledger.run(build(), affordable(4, 2)):
        assert_sane(domain, suggestion)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("update", ["alternate", "all_groups", "one_group"])
def test_sixty_columns(size: int, update: Any) -> None:
    domain = make_domain(*[None] * affordable(60, 8))
    method = AddGPUCB(max_group_size=size, update=update, n_decompositions=5)
    ledger = Ledger.started(domain, affordable(30, 6), lambda x: -abs(float(x.sum()) - 9.0))
    for suggestion in ledger.run(method, 3):
        assert_sane(domain, suggestion)
        groups = (suggestion.record or {}).get("additive", {}).get("groups", [])
        assert all(len(group) <= size for group in groups)


def test_sixty_columns_of_the_plain_process() -> None:
    domain = make_domain(*[None] * affordable(60, 8))
    ledger = Ledger.started(domain, affordable(30, 6), lambda x: -abs(float(x.sum()) - 9.0))
    for suggestion in ledger.run(GPUCB(), 4):
        assert_sane(domain, suggestion)


@pytest.mark.parametrize("update", ["alternate", "all_groups", "one_group"])
@pytest.mark.parametrize("ungrouped", ["error", "single", "centre"])
def test_a_domain_that_lacks_columns_of_the_decomposition(update: Any, ungrouped: Any) -> None:
    """Fixed and conditional parameters come and go; the groups are what is left of them."""
    groups = [["x0", "gone"], ["away"], ["x1", "x2"], ["x3", "x4", "x5", "x6"]]
    method = AddGPUCB(decomposition=groups, update=update, ungrouped=ungrouped)
    ledger = Ledger.started(DOMAINS["mixed"], 5)
    for suggestion in ledger.run(method, affordable(6, 2)):
        assert_sane(ledger.domain, suggestion)
    for record in ledger.records:
        if "additive" in record.data:
            expected = [["x0"], ["x1", "x2"], ["x3", "x4", "x5", "x6"]]
            assert record.data["additive"]["groups"] == expected
    nothing_left = Ledger.started(make_domain(None), 3)
    other = AddGPUCB(decomposition=[["gone"]], update=update, ungrouped=ungrouped)
    assert_sane(nothing_left.domain, ask(other, nothing_left))


HOSTILE: list[Any] = [
    None,
    True,
    7,
    -1.5,
    "text",
    [],
    [1],
    [0.5, "2"],
    ["0.5", 2],
    [0.5, None],
    [0.5, math.inf],
    [0.5, -3],
    [math.nan, 1],
    [10**400, 10**400],
    [[], []],
    {},
    {"groups": 5},
    {"groups": [["x0"]], "lengthscales": [-1.0]},
    {
        "groups": [["x0", "nobody"]],
        "lengthscales": [1.0, 1.0],
        "scales": [1.0],
        "noise": 0.1,
        "kind": "se",
        "n": 1,
        "cycle": 0,
        "log_likelihood": 0.0,
    },
]


BELIEFS = ("inverse-square", "inverse-square:separable", "dimension-scaled")
FIT_KEYS = ("additive", "whole", "important", *(f"plain:{belief}" for belief in BELIEFS))
FIT_KEYS += ("whole:inverse-square:separable",)


@every_method
def test_records_of_others_do_no_harm(build: Callable[[], Method]) -> None:
    """What cannot be understood is passed over: the point is that without such records."""
    ledger = Ledger.started(DOMAINS["mixed"], 6)
    clean = ask(build(), ledger)
    keys = (*FIT_KEYS, "cap", "fit", "node", "", "selection")
    for i, nonsense in enumerate(HOSTILE):
        ledger.records.append(Record(i, "complete", dict.fromkeys(keys, nonsense)))
    suggestion = ask(build(), ledger)
    assert np.array_equal(clean.x, suggestion.x)
    assert written(clean) == written(suggestion)


def valid_record(names: list[str], **changes: Any) -> dict[str, Any]:
    return {
        "n": 4,
        "cycle": 0,
        "log_likelihood": 0.0,
        "kind": "se",
        "groups": [[name] for name in names],
        "lengthscales": [0.5] * len(names),
        "scales": [0.5] * len(names),
        "noise": 0.01,
        **changes,
    }


@every_method
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n": 10**6},
        {"noise": 1e-11},
        {"scales": [1e11] * 3},
        {"lengthscales": [1e-11] * 3},
        {"lengthscales": [1e11] * 3},
        {"cycle": 10**9},
    ],
)
def test_records_of_another_version_are_survived(
    build: Callable[[], Method], changes: dict[str, Any]
) -> None:
    """A valid fit of some of the columns, or an extreme one, as another version may leave."""
    ledger = Ledger.started(DOMAINS["mixed"], 6)
    record = valid_record(["x0", "x2", "x3"], **changes)
    ledger.records.append(Record(3, "complete", dict.fromkeys(FIT_KEYS, record)))
    method = build()
    for suggestion in ledger.run(method, 2):  # with the record, and with what came of it
        assert_sane(ledger.domain, suggestion)


@every_method
def test_arrays_that_must_not_change_do_not(build: Callable[[], Method]) -> None:
    ledger = Ledger.started(DOMAINS["mixed"], 8)
    seen = ledger.seen(pending=ledger.X[:2])
    for array in (seen.X, seen.y, seen.pending):
        array.flags.writeable = False
    copy = seen.X.copy()
    suggestion = build().suggest(ledger.domain, seen, Streams(0))
    suggestion.x[:] = 0.0
    assert np.array_equal(seen.X, copy)
