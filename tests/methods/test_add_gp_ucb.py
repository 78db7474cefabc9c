"""Add-GP-UCB against the paper: Algorithms 1, 2 and 5, eq. (5), and the authors' devices."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import THOROUGH
from histories import Ledger
from histories import affordable
from histories import is_admissible
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from histories import published
from scipy.special import ndtr

from optuna_hdbo._core.checks import check_decomposition
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo._core.maximise.queries import has_stalled
from optuna_hdbo._core.models.additive import ADDITIVE_FIT
from optuna_hdbo.methods.add_gp_ucb import FIRST_BANDWIDTH
from optuna_hdbo.methods.add_gp_ucb import AddGPUCB
from optuna_hdbo.methods.base import Record
from optuna_hdbo.methods.base import Streams


PUBLISHED = published(AddGPUCB, n_small_bandwidth=0)

GROUPS = [["x0", "x3"], ["x1", "x2"]]


def additive(x: np.ndarray) -> float:
    return float(math.sin(5 * x[0]) * x[3] + math.cos(4 * x[1] + x[2]))


def fitted_of(ledger: Ledger) -> tuple[Fitted, dict[str, Any]]:
    data = next(r.data for r in reversed(ledger.records) if ADDITIVE_FIT in r.data)
    fitted = Fitted.from_json(data[ADDITIVE_FIT], ledger.domain)
    assert fitted is not None
    return fitted, data[ADDITIVE_FIT]


def se(A: np.ndarray, B: np.ndarray, columns: list[int], kernel: Kernel, j: int) -> np.ndarray:
    out = np.zeros((len(A), len(B)))
    for a, b in itertools.product(range(len(A)), range(len(B))):
        gap = (A[a, columns] - B[b, columns]) / kernel.lengthscales[columns]
        out[a, b] = kernel.scales[j] * math.exp(-0.5 * float(gap @ gap))
    return out


def algorithm_1(
    kernel: Kernel, X: np.ndarray, y: np.ndarray, root_betas: list[float], axis: np.ndarray
) -> list[tuple[list[int], np.ndarray, np.ndarray, np.ndarray]]:
    """Return, per group: columns, grid points, mean and bound (eqs. (5) and (6)), as printed."""
    groups = [g.tolist() for g in kernel.groups]
    delta = sum(se(X, X, g, kernel, j) for j, g in enumerate(groups))
    inverse = np.linalg.inv(delta + kernel.noise * np.eye(len(X)))
    out = []
    for j, group in enumerate(groups):
        Z = np.zeros((len(axis) ** len(group), X.shape[1]))
        Z[:, group] = np.array(list(itertools.product(axis, repeat=len(group))))
        k = se(Z, X, group, kernel, j)
        mean = k @ inverse @ y
        variance = kernel.scales[j] - np.einsum("ij,jk,ik->i", k, inverse, k)
        bound = mean + root_betas[j] * np.sqrt(np.maximum(variance, 0.0))
        out.append((group, Z, mean, bound))
    return out


def bound_at(
    kernel: Kernel, X: np.ndarray, y: np.ndarray, root_beta: float, j: int, x: np.ndarray
) -> float:
    groups = [g.tolist() for g in kernel.groups]
    delta = sum(se(X, X, g, kernel, i) for i, g in enumerate(groups))
    inverse = np.linalg.inv(delta + kernel.noise * np.eye(len(X)))
    k = se(x[None], X, groups[j], kernel, j)
    variance = kernel.scales[j] - (k @ inverse @ k.T)[0, 0]
    return float((k @ inverse @ y)[0] + root_beta * math.sqrt(max(variance, 0.0)))


@pytest.mark.parametrize("maximiser", ["direct", "gradient"])
@pytest.mark.parametrize("seed", range(3 if THOROUGH else 1))
def test_every_query_is_that_of_algorithm_1(maximiser: Any, seed: int) -> None:
    domain = make_domain(*[None] * 4)
    ledger = Ledger.started(domain, 10, additive, seed)
    method = AddGPUCB(
        **{**PUBLISHED, "shrink_bandwidth": False, "maximiser": maximiser, "n_cyc": 1000},
        decomposition=GROUPS,
    )
    record = {
        "n": 10,
        "cycle": 0,
        "log_likelihood": 0.0,
        "kind": "se",
        "groups": GROUPS,
        "lengthscales": [0.2, 0.35, 0.25, 0.5],
        "scales": [0.6, 0.4],
        "noise": 0.01,
    }
    ledger.records.append(Record(0, "complete", {ADDITIVE_FIT: record}))
    for _ in range(affordable(4, 2)):
        seen = ledger.seen()
        (suggestion,) = ledger.run(method, 1, seed)
        kernel = fitted_of(ledger)[0].kernel
        assert [g.tolist() for g in kernel.groups] == [[0, 3], [1, 2]]
        t = len(seen.y)
        width = math.sqrt(0.2 * 2 * math.log(2 * t))
        axis = np.linspace(0, 1, affordable(31, 15))
        parts = algorithm_1(kernel, seen.X, seen.y, [width] * 2, axis)
        for j, (_, _, _, bound) in enumerate(parts):
            found = bound_at(kernel, seen.X, seen.y, width, j, suggestion.x)
            assert found >= bound.max() - affordable(1, 20) * 1e-3


@pytest.mark.parametrize("kind", ["se", "matern32", "matern52"])
def test_the_means_of_the_groups_sum_to_the_joint_mean(kind: str) -> None:
    domain = DOMAINS["mixed"]
    kernel = make_kernel(domain, [[0, 3], [1, 2, 6], [4], [5]], kind)
    posterior, _, _ = make_posterior(domain, kernel, 30)
    Z = domain.sample(np.random.default_rng(1), 50)
    mean, variance = posterior.predict(Z)
    parts = [posterior.predict(Z, kernel.only(j)) for j in range(4)]
    np.testing.assert_allclose(sum(m for m, _ in parts), mean, atol=1e-10)
    # Standard deviations add up to no less: what the groups share is known better than each.
    assert (sum(np.sqrt(v) for _, v in parts) >= np.sqrt(variance) - 1e-9).all()


def expected_improvement(posterior: Posterior, Z: np.ndarray, best: float) -> np.ndarray:
    mean, variance = posterior.predict(Z)
    std = np.sqrt(variance)
    z = (mean - best) / std
    return np.asarray((mean - best) * ndtr(z) + std * np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))


@pytest.mark.parametrize("maximiser", ["direct", "gradient"])
def test_one_group_moves_in_rotation(maximiser: Any) -> None:
    """Algorithm 5."""
    domain = make_domain(*[None] * 5)
    groups = [["x0", "x3"], ["x1", "x2"], ["x4"]]
    method = AddGPUCB(
        **{**PUBLISHED, "update": "one_group", "maximiser": maximiser}, decomposition=groups
    )
    ledger = Ledger.started(domain, 6)
    ledger.run(method, 9)
    columns = [{0, 3}, {1, 2}, {4}]
    turns = []
    for before, after in itertools.pairwise(ledger.X[5:]):
        moved = set(np.flatnonzero(before != after).tolist())
        assert any(moved <= group for group in columns)
        turns.append(next(j for j, group in enumerate(columns) if moved <= group))
    assert turns == [(turns[0] + i) % 3 for i in range(9)]


@pytest.mark.parametrize("outstanding", [False, True])
def test_kinds_of_query_take_turns_by_default(outstanding: bool) -> None:
    """Explore, ask the additive model for an improvement, explore, ask the plain model for one."""
    domain = make_domain(*[None] * 6)
    groups = [[0, 3], [1, 2], [4], [5]]
    ledger = Ledger.started(domain, 16, additive)
    if outstanding:
        ledger.values[3] = 9.0  # bounds are highest near this point, from which queries keep away
    names = [[f"x{i}" for i in group] for group in groups]
    record = {"n": 16, "cycle": 0, "log_likelihood": 0.0, "kind": "matern52", "noise": 0.01}
    record |= {"groups": names, "lengthscales": [0.5] * 6, "scales": [0.4, 0.3, 0.2, 0.1]}
    ledger.records.append(Record(15, "complete", {ADDITIVE_FIT: record}))  # learned after a stall
    method, seen = AddGPUCB(decomposition=names), ledger.seen()
    posterior = Posterior(Factor(fitted_of(ledger)[0].kernel, seen.X), seen.y)
    rng, best = np.random.default_rng(0), seen.X[np.argmax(seen.y)]
    n_moved = []
    for step in range(16, affordable(40, 24)):
        suggestion = method.suggest(domain, ledger.seen(step=step), Streams(0))
        assert ADDITIVE_FIT not in (suggestion.record or {})
        pool = rng.random((affordable(500, 100), 6))
        if step % 4 == 3:
            assert any(key.startswith("plain:") for key in suggestion.record or {})
            continue
        if step % 4 == 1:
            fitted = posterior.mean(seen.X).max()
            gains = expected_improvement(posterior, np.vstack([suggestion.x, pool]), fitted)
            assert gains[0] == gains.max()
            continue
        changed = {int(c) for c in np.flatnonzero(suggestion.x != best)}
        moved = [group for group in groups if changed & set(group)]
        columns = sorted(c for group in moved for c in group)
        n_moved.append(len(moved))
        pool[:, np.setdiff1d(np.arange(6), columns)] = best[np.setdiff1d(np.arange(6), columns)]
        pool = np.vstack([suggestion.x, pool])
        away = np.sqrt(((pool - best)[:, columns] ** 2).mean(axis=1)) >= 0.2
        assert away[0]
        mean, variance = posterior.predict(pool)
        bounds = mean + 2.0 * np.sqrt(variance)  # beta is 4
        assert outstanding or bounds[0] == bounds[away].max()
    assert set(n_moved) == {1, 2}


@pytest.mark.parametrize("search", ["merge", "swap"])
def test_a_quarter_of_the_exploring_queries_moves_random_columns(search: Any) -> None:
    """Where groups merge, because groups that were learned from data mislead."""
    domain, rng = make_domain(*[None] * 9), np.random.default_rng(0)
    groups = [[0, 4], [1], [2, 3, 6], [5], [7, 8]]
    method = AddGPUCB(max_group_size=3, decomposition_search=search)
    moved = [method._moved(domain, make_kernel(domain, groups), rng) for _ in range(1000)]
    assert all(0 < len(set(columns)) == len(columns) for columns in map(np.ndarray.tolist, moved))
    torn = [any(0 < len(set(g) & set(m)) < len(g) for g in groups) for m in map(list, moved)]
    # Of 84 triples, 5 are groups or sums of groups.
    assert np.mean(torn) == pytest.approx(0.25 * 79 / 84 if search == "merge" else 0.0, abs=0.04)


def test_the_bandwidth_is_small_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[int, float]] = []
    plain = FactorCache.posterior

    def posterior(self: Any, fitted: Fitted, X: Any, y: Any, P: Any) -> Any:
        used.append((len(y), float(fitted.kernel.lengthscales.max())))
        return plain(self, fitted, X, y, P)

    monkeypatch.setattr(FactorCache, "posterior", posterior)
    settings = {**PUBLISHED, "n_small_bandwidth": 12, "max_group_size": 2, "n_cyc": 4}
    ledger = Ledger.started(make_domain(*[None] * 4), 8)
    ledger.run(AddGPUCB(**settings), 8)
    assert [n for n, _ in used] == list(range(8, 16))
    assert all((bandwidth <= FIRST_BANDWIDTH) == (n < 12) for n, bandwidth in used)
    assert FIRST_BANDWIDTH < 1e-5


def cap_record(cap: float, small: int) -> Record:
    return Record(0, "complete", {"cap": [cap, small]})


@pytest.mark.parametrize(
    ("small", "known", "expected"),
    [
        (0, True, [1.0, 1]),
        (3, True, [1.0, 4]),
        (4, True, [0.9, 0]),
        (3, False, [1.0, 0]),
        (4, False, [1.0, 0]),
    ],
)
def test_the_bandwidth_shrinks_after_five_small_deviations(
    small: int, known: bool, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 8)
    ledger.records.append(cap_record(1.0, small))
    std = 0.001 if known else 0.5
    monkeypatch.setattr(
        "optuna_hdbo.methods.add_gp_ucb.Posterior.predict",
        lambda self, Z, kernel=None: (np.zeros(len(Z)), np.full(len(Z), std**2)),
    )
    method = AddGPUCB(**{**PUBLISHED, "max_group_size": 1, "n_decompositions": 0})
    suggestion = method.suggest(domain, ledger.seen(), Streams(0))
    assert suggestion.record is not None
    assert suggestion.record["cap"] == pytest.approx(expected)


def test_the_cap_limits_the_bandwidth() -> None:
    ledger = Ledger.started(make_domain(None, None), 8, lambda x: float(x.sum()))
    method = AddGPUCB(**PUBLISHED)
    free = method.suggest(ledger.domain, ledger.seen(), Streams(0)).record
    ledger.records.append(cap_record(0.125, 0))
    capped = method.suggest(ledger.domain, ledger.seen(), Streams(0)).record
    assert free is not None
    assert capped is not None
    assert max(free[ADDITIVE_FIT]["lengthscales"]) > 0.5
    assert max(capped[ADDITIVE_FIT]["lengthscales"]) <= 0.125 + 1e-6


def test_a_proposal_on_an_old_point_is_moved_by_a_tenth_of_the_bandwidth() -> None:
    ledger = Ledger.started(make_domain(None, None), 8, lambda x: -float(((x - 0.5) ** 2).sum()))
    method = AddGPUCB(**{**PUBLISHED, "beta": 0.0})
    proposed = method.suggest(ledger.domain, ledger.seen(), Streams(0)).x
    first = ledger.seen()
    again = method.suggest(
        ledger.domain, ledger.seen(pending=[proposed], step=first.step), Streams(0)
    ).x
    record = method.suggest(ledger.domain, first, Streams(0)).record
    assert record is not None
    gap = np.abs(again - proposed)
    assert gap.max() > 0.0
    assert gap.max() < 0.1 * max(record[ADDITIVE_FIT]["lengthscales"]) * 5.0


def test_hyperparameters_are_shared_as_published() -> None:
    ledger = Ledger.started(make_domain(*[None] * 5), 12, additive)
    ledger.run(AddGPUCB(**PUBLISHED, max_group_size=2), 3)
    fitted, data = fitted_of(ledger)
    assert len(set(data["lengthscales"])) == 1
    assert len(set(data["scales"])) == 1
    assert data["noise"] == pytest.approx(0.01)
    assert data["kind"] == "se"
    assert 5e-6 <= data["lengthscales"][0] <= 2.5
    assert 0.03 <= data["scales"][0] <= 30.0
    assert sorted(len(g) for g in fitted.kernel.groups) == [1, 2, 2]


def test_hyperparameters_are_learned_every_so_many_observations() -> None:
    ledger = Ledger.started(make_domain(*[None] * 3), 10)
    settings = {**PUBLISHED, "n_cyc": 4, "max_group_size": 2, "n_decompositions": 1}
    suggestions = ledger.run(AddGPUCB(**settings), 9)
    assert [ADDITIVE_FIT in (s.record or {}) for s in suggestions] == [True, *[False] * 3] * 2 + [
        True
    ]


@pytest.mark.parametrize("size", [1, 2, 5, 10**9])
def test_groups_are_no_larger_than_they_may(size: int) -> None:
    ledger = Ledger.started(make_domain(*[None] * 5), 12, additive)
    for search in ("random", "swap", "gibbs", "merge"):
        settings = {**PUBLISHED, "decomposition_search": search, "max_group_size": size}
        ledger.run(AddGPUCB(**settings, n_decompositions=6), 1)
        groups = fitted_of(ledger)[1]["groups"]
        assert max(len(g) for g in groups) <= size
        assert sorted(name for g in groups for name in g) == list(ledger.domain.names)


@pytest.mark.parametrize("update", ["alternate", "all_groups", "one_group"])
@pytest.mark.parametrize("maximiser", ["direct", "gradient"])
@pytest.mark.parametrize("name", ["mixed", "discrete"])
def test_ungrouped_columns_stay_at_their_centre(name: str, update: Any, maximiser: Any) -> None:
    domain = DOMAINS[name]
    centre = domain.from_unit(np.full((1, len(domain)), 0.5))[0]
    ledger = Ledger.started(domain, 6)
    method = AddGPUCB(
        decomposition=[["x0", "x4"], ["x2"]],
        ungrouped="centre",
        update=update,
        maximiser=maximiser,
    )
    for suggestion in ledger.run(method, affordable(8, 3)):
        assert is_admissible(domain, suggestion.x)
        for c in (1, 3, 5):
            assert suggestion.x[c] == centre[c]


def test_what_is_left_out_becomes_single_groups_if_asked_to() -> None:
    ledger = Ledger.started(DOMAINS["mixed"], 6)
    settings = {**PUBLISHED, "decomposition": [["x6", "x1"]], "ungrouped": "single"}
    ledger.run(AddGPUCB(**settings), 2)
    assert fitted_of(ledger)[1]["groups"] == [["x0"], ["x1", "x6"], ["x2"], ["x3"], ["x4"], ["x5"]]


@pytest.mark.parametrize("name", ["mixed", "discrete"])
def test_direct_on_mixed_spaces(name: str) -> None:
    ledger = Ledger.started(DOMAINS[name], 8)
    settings = {**PUBLISHED, "max_group_size": 3, "n_decompositions": 2}
    for suggestion in ledger.run(AddGPUCB(**settings), affordable(10, 3)):
        assert is_admissible(ledger.domain, suggestion.x)


def test_validate() -> None:
    domain = Domain(("a", "b", "c"), (None,) * 3, np.zeros(3, np.bool_))
    AddGPUCB().validate(domain)
    AddGPUCB(decomposition=[["a", "c"], ["b"]]).validate(domain)
    AddGPUCB(decomposition=[["c"]], ungrouped="single").validate(domain)
    AddGPUCB(decomposition=[["c"]], ungrouped="centre").validate(domain)
    with pytest.raises(ValueError, match=r"decomposition .* leaves out \['a', 'b'\].*ungrouped"):
        AddGPUCB(decomposition=[["c"]]).validate(domain)
    with pytest.raises(ValueError, match=r"leaves out \['a', 'b'\] and names \['z'\], which"):
        AddGPUCB(decomposition=[["c", "z"]]).validate(domain)
    for ungrouped in ("error", "single", "centre"):
        decomposition = [["c", "z"], ["a", "b"]]
        method = AddGPUCB(decomposition=decomposition, ungrouped=ungrouped)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"decomposition .* \['z'\]; the study has"):
            method.validate(domain)


def test_check_decomposition() -> None:
    assert check_decomposition(None) is None
    assert check_decomposition([["a", "b"], ("c",)]) == (("a", "b"), ("c",))


def test_has_stalled() -> None:
    rising = np.linspace(-1, 1, 60)
    assert not has_stalled(rising, 10)
    assert not has_stalled(np.zeros(5), 10)
    flat = np.concatenate([np.linspace(-1, 1, 30), np.ones(30)])
    assert has_stalled(flat, 10)
    assert has_stalled(np.concatenate([flat, [5.0, 6.0, 7.0]]), 10)


@pytest.mark.skipif(INTERPRETED, reason="needs more points than plain Python can pay for")
def test_a_long_study_that_never_stalled_has_no_groups() -> None:
    """Only the best values of long studies are told apart, which is not to pass for a stall."""
    n = 470
    ledger = Ledger.started(make_domain(None, None), n, lambda x: float(x.sum()))
    ledger.values = list(np.arange(n) / 2.0)
    suggestion = AddGPUCB().suggest(ledger.domain, ledger.seen(), Streams(0))
    assert "additive" not in (suggestion.record or {})
    ledger.values = [*ledger.values[:60], *np.full(n - 60, 30.0)]
    suggestion = AddGPUCB().suggest(ledger.domain, ledger.seen(), Streams(0))
    assert "additive" in (suggestion.record or {})


SEQUENTIAL = {
    "decomposition": GROUPS,
    "update": "sequential",
    "n_per_group": 3,
    "kernel": "se",
    "beta": 4.0,
}


@pytest.mark.parametrize("maximiser", ["gradient", "direct", "direct+gradient"])
def test_groups_are_searched_one_after_the_other(maximiser: Any) -> None:
    """Algorithm 4: a stage of T / M queries for every group, theta moved to the last of each."""
    ledger = Ledger.started(make_domain(*[None] * 4), 4, additive)
    method = AddGPUCB(**SEQUENTIAL, maximiser=maximiser)  # type: ignore[arg-type]
    ledger.run(method, 9)
    theta = ledger.X[0].copy()
    for stage, columns in enumerate(([0, 3], [1, 2], [0, 3])):
        rows = np.array(ledger.X[4 + 3 * stage : 7 + 3 * stage])
        others = [i for i in range(4) if i not in columns]
        for x in rows:
            assert np.array_equal(x[others], theta[others])
        assert len(np.unique(rows[:, columns], axis=0)) == 3
        theta = rows[-1]
    starts = [r.data["stage"]["group"] for r in ledger.records if "stage" in r.data]
    assert starts == [0, 1, 0]


def test_a_stage_maximises_the_bound_of_its_own_group_and_data() -> None:
    """mu^(j) + sqrt(beta) sigma^(j) of the observations at theta, on a grid by plain inversion."""
    ledger = Ledger.started(make_domain(*[None] * 4), 4, additive)
    method = AddGPUCB(**SEQUENTIAL, maximiser="direct+gradient")  # type: ignore[arg-type]
    ledger.run(method, 2)
    seen = ledger.seen()
    suggestion = method.suggest(ledger.domain, seen, Streams(0))
    ledger.keep(suggestion)
    kernel = fitted_of(ledger)[0].kernel
    assert [g.tolist() for g in kernel.groups] == [[0, 3]]
    own = [0, 4, 5]
    X = np.array(ledger.X)[own]
    values = np.array(ledger.values)[own]
    y = (values - values.mean()) / values.std()
    K = se(X, X, [0, 3], kernel, 0) + kernel.noise * np.eye(3)
    axis = np.linspace(0.0, 1.0, 21)
    Z = np.zeros((441, 4))
    Z[:, [0, 3]] = list(itertools.product(axis, axis))
    Z = np.concatenate([Z, suggestion.x[None]])
    k = se(Z, X, [0, 3], kernel, 0)
    variance = kernel.scales[0] - np.diag(k @ np.linalg.solve(K, k.T))
    bound = k @ np.linalg.solve(K, y) + 2.0 * np.sqrt(np.maximum(variance, 0.0))
    assert bound[-1] >= bound[:-1].max() - 1e-6


def test_gradients_after_direct_end_higher_than_direct() -> None:
    ledger = Ledger.started(make_domain(*[None] * 4), 8, additive)
    bounds = []
    for maximiser in ("direct", "direct+gradient"):
        changes = {"maximiser": maximiser, "shrink_bandwidth": False, "decomposition": GROUPS}
        method = AddGPUCB(**{**PUBLISHED, **changes, "beta": 4.0})  # type: ignore[arg-type]
        suggestion = method.suggest(ledger.domain, ledger.seen(), Streams(0))
        assert suggestion.record is not None
        fitted = Fitted.from_json(suggestion.record[ADDITIVE_FIT], ledger.domain)
        assert fitted is not None
        posterior = FactorCache().posterior(
            fitted, ledger.seen().X, ledger.seen().y, ledger.seen().pending
        )
        total = 0.0
        for j in range(2):
            mean, variance = posterior.predict(suggestion.x[None], posterior.kernel.only(j))
            total += float(mean[0] + 2.0 * np.sqrt(variance[0]))
        bounds.append(total)
    assert bounds[1] > bounds[0]


def test_a_sequential_search_needs_its_groups() -> None:
    with pytest.raises(ValueError, match=r'update="sequential" needs the groups'):
        AddGPUCB(update="sequential")
    with pytest.raises(ValueError, match="n_per_group must be an integer of at least 1"):
        AddGPUCB(n_per_group=0)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"group": 5, "first": 0, "theta": [0.5] * 4},
        {"group": 0, "first": "0", "theta": [0.5] * 4},
        {"group": 0, "first": 0, "theta": [0.5] * 3},
        {"group": 0, "first": 0, "theta": ["a"] * 4},
        {"group": 0, "first": 0, "theta": [math.nan] * 4},
        {"group": 1, "first": 0, "theta": [0.25] * 4},
    ],
)
def test_records_of_stages_are_untrusted(data: Any) -> None:
    """What does not parse is ignored; a stage at a point without trials still gives a query."""
    ledger = Ledger.started(make_domain(*[None] * 4), 4, additive)
    ledger.records.append(Record(3, "complete", {"stage": data}))
    method = AddGPUCB(**SEQUENTIAL)  # type: ignore[arg-type]
    x = method.suggest(ledger.domain, ledger.seen(), Streams(0)).x
    assert is_admissible(ledger.domain, x)
    if data and data.get("group") == 1:
        assert x[[0, 3]].tolist() == [0.25, 0.25]
    else:
        assert np.array_equal(x[[1, 2]], ledger.X[0][[1, 2]])
