"""Groupings that columns join: the evidence, its derivatives, and whether the truth is found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from histories import DOMAINS
from histories import INTERPRETED
from histories import affordable
from histories import dear
from histories import make_domain
from histories import make_kernel
from histories import some
from scipy.integrate import quad
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.models import additive
from optuna_hdbo._core.models.additive import AdditiveModel
from optuna_hdbo._core.models.groupings import evidence as evidences
from optuna_hdbo._core.models.groupings import merging
from optuna_hdbo._core.models.groupings.evidence import Evidence
from optuna_hdbo._core.models.groupings.evidence import Group
from optuna_hdbo._core.models.groupings.evidence import price_of_join
from optuna_hdbo._core.models.groupings.learning import comparable
from optuna_hdbo._core.models.groupings.merging import Neighbours
from optuna_hdbo._core.models.groupings.merging import merge
from optuna_hdbo._core.observations import Observations


def alone(n: int) -> list[Group]:
    return [(c,) for c in range(n)]


def labels(groups: Sequence[Sequence[int]]) -> list[int]:
    of = {c: j for j, group in enumerate(groups) for c in group}
    return [of[c] for c in sorted(of)]


# the evidence ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mixed", "continuous"])
def test_the_evidence_integrates_the_variance_and_averages_the_noise(name: str) -> None:
    """Differences between groupings are those of a quadrature over the variance."""
    domain, rng = DOMAINS[name], np.random.default_rng(0)
    X, y = domain.sample(rng, 7), rng.standard_normal(7)
    D = len(domain)
    kernel = make_kernel(domain)
    evidence = Evidence(kernel, X, y)
    lengthscales = np.clip(kernel.lengthscales, *evidences.LENGTHSCALES)

    def log_evidence(groups: list[list[int]]) -> float:
        scales = np.array([len(g) / D for g in sorted(groups)])
        level = replace(kernel, lengthscales=lengthscales, groups=join(groups), scales=scales)
        K = level.gram(X)

        def at(t: float, noise: float) -> float:
            density = multivariate_normal(np.zeros(7), t * (K + noise * np.eye(7))).pdf(y)
            return float(density * 0.5 * math.exp(-0.5 / t) / t**2)  # InvGamma(1, 1/2)

        found = [
            quad(lambda u, r=r: at(math.exp(u), r) * math.exp(u), -9, 9)[0]
            for r in evidences.NOISES
        ]
        return math.log(sum(found) / len(found))

    first, second = [[c] for c in range(D)], [[0, 2], *[[c] for c in range(D) if c not in (0, 2)]]
    expected = log_evidence(second) - log_evidence(first)
    found = [
        evidence.of(evidence.covariances([tuple(g) for g in groups])) for groups in (first, second)
    ]
    assert found[1] - found[0] == pytest.approx(expected, abs=1e-6)


def test_a_join_costs_the_odds_of_a_pair() -> None:
    evidence = Evidence(make_kernel(make_domain(*[None] * 6)), np.zeros((2, 6)), np.zeros(2))
    assert evidence.log_prior(alone(6)) == 0.0
    assert evidence.log_prior([(0, 1, 2), (3, 4), (5,)]) == pytest.approx(-3 * math.log(15))


def test_slopes_are_derivatives() -> None:
    domain, rng = make_domain(*[None] * 4), np.random.default_rng(1)
    X, y = domain.sample(rng, 9), rng.standard_normal(9)
    evidence = Evidence(make_kernel(domain), X, y)
    K, direction = evidence.covariances(alone(4)), evidence.covariances([(0, 1), (2, 3)])
    W = evidence.slopes(K)
    assert W is not None
    noise = max(evidences.NOISES, key=lambda r: evidence._at(K, r)[0])
    ahead, behind = (evidence._at(K + h * direction, noise)[0] for h in (1e-5, -1e-5))
    assert 0.5 * np.vdot(W, direction) == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)


def test_what_cannot_be_factorised_has_no_evidence() -> None:
    evidence = Evidence(make_kernel(make_domain(None, None)), np.zeros((3, 2)), np.ones(3))
    K = np.full((3, 3), np.nan)
    assert evidence.of(K) == -np.inf
    assert evidence.slopes(K) is None


# neighbours --------------------------------------------------------------------------------------


def partitions(columns: list[int]) -> list[list[list[int]]]:
    if not columns:
        return [[]]
    first, rest = columns[0], columns[1:]
    out = []
    for groups in partitions(rest):
        out.append([[first], *groups])
        out += [[*groups[:i], [first, *g], *groups[i + 1 :]] for i, g in enumerate(groups)]
    return out


def key(groups: Sequence[Sequence[int]]) -> frozenset[Group]:
    return frozenset(tuple(sorted(group)) for group in groups)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_are_merges_splits_moves_and_exchanges(size: int, seed: int) -> None:
    """Against all partitions: those that one of the four changes makes, by its definition."""
    every = [g for g in partitions(list(range(5))) if max(map(len, g)) <= size]
    groups = [tuple(sorted(g)) for g in every[seed * 7 % len(every)]]
    X, y = np.random.default_rng(seed).random((4, 5)), np.ones(4)
    changes = Neighbours(Evidence(begin(5), X, y), groups, np.eye(4), size)
    found = [key(change.of(groups)) for change in changes]
    assert len(found) == len(set(found)) == len(changes)
    expected = set()
    for other in every:
        gone, new = key(groups) - key(other), key(other) - key(groups)
        merged = len(gone) == 2 and len(new) == 1
        split = len(gone) == 1 and len(new) == 2 and min(map(len, new)) == 1
        moved = len(gone) == 2 == len(new) and any(
            len(a & b) == len(a) - 1 and len(a ^ b) <= 2
            for a in map(set, gone)
            for b in map(set, new)
        )
        if merged or split or moved:
            expected.add(key(other))
    assert set(found) <= {key(g) for g in every}
    assert key(groups) not in found
    assert expected <= set(found)


@pytest.mark.parametrize("kind", ["se", "matern52"])
def test_derivatives_towards_changes(kind: str) -> None:
    """Those of the sum of the groups' kernels; for SE, products of parts are exact."""
    domain, rng = make_domain(*[None] * 5), np.random.default_rng(2)
    X, y = domain.sample(rng, 8), rng.standard_normal(8)
    evidence = Evidence(make_kernel(domain, kind=kind), X, y)
    groups: list[Group] = [(0, 1), (2, 3), (4,)]
    W = evidence.slopes(evidence.covariances(groups))
    assert W is not None
    changes = Neighbours(evidence, groups, W, 4)
    for change, gain, n_joins in zip(changes, changes.gains, changes.n_joins, strict=True):
        way = evidence.covariances(change.new) - evidence.covariances(change.old)
        exact = all(not gained for _, gained in change.made) or kind == "se"
        if exact:
            assert gain == pytest.approx(0.5 * np.vdot(W, way), abs=1e-9)
        assert n_joins == sum(len(g) - 1 for g in change.new) - sum(len(g) - 1 for g in change.old)


# the truth ---------------------------------------------------------------------------------------


def begin(n_columns: int) -> Kernel:
    """Return the kernel that a first search starts from."""
    domain = make_domain(*[None] * n_columns)
    return cold_start(domain, "matern52", join(alone(n_columns)), 0.5, 1e-3)


def draw(
    groups: Sequence[Group],
    n: int,
    n_columns: int,
    seed: int,
    kind: str = "matern52",
    lengthscale: float = 0.5,
) -> tuple[FloatArray, FloatArray]:
    """Return points, and values of a function drawn from an additive prior."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_columns))
    scales = np.full(len(groups), 1.0 / len(groups))
    kernel = Kernel(
        kind,
        join(groups),
        np.full(n_columns, lengthscale),
        scales,
        1e-3,
        np.zeros(n_columns, np.bool_),
    )
    y = np.linalg.cholesky(kernel.gram(X) + 1e-3 * np.eye(n)) @ rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def log_posterior(evidence: Evidence, groups: Sequence[Sequence[int]]) -> float:
    ordered = [tuple(sorted(group)) for group in groups]
    return evidence.of(evidence.covariances(ordered)) + evidence.log_prior(ordered)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("truth", [[(0, 1, 2), (3, 4)], [(0, 1, 2, 3), (4,)], [(1, 4)]])
def test_no_partition_is_likelier_than_what_is_found(truth: list[Group], size: int) -> None:
    """Against all 52 partitions of five columns."""
    X, y = draw(truth, affordable(80, 30), 5, size)
    evidence = Evidence(begin(5), X, y)
    found = merge(evidence, alone(5), size, 200, 4)
    every = [g for g in partitions(list(range(5))) if max(map(len, g)) <= size]
    best = max(log_posterior(evidence, groups) for groups in every)
    assert log_posterior(evidence, found) >= best - 1e-6


@pytest.mark.parametrize("seed", [1, 3][: affordable(2, 1)])
def test_three_columns_are_found_of_which_no_two_interact(seed: int) -> None:
    """Every single merge loses."""
    X = np.random.default_rng(seed).random((80, 5))
    y = np.prod(X[:, 1:4] - 0.5, axis=1)
    evidence = Evidence(begin(5), X, y / y.std())
    assert sorted(merge(evidence, alone(5), 3, 200, 0)) == alone(5)
    assert sorted(merge(evidence, alone(5), 3, 200, 3)) == [(0,), (1, 2, 3), (4,)]


@pytest.mark.parametrize("seed", range(affordable(5, 1)))
def test_columns_without_interactions_stay_alone(seed: int) -> None:
    X, y = draw([(0,), (1,), (2,), (3,)], affordable(100, 20), 8, seed)
    evidence = Evidence(begin(8), X, y)
    assert sorted(merge(evidence, alone(8), 5, 60, 4)) == alone(8)


def test_a_wrong_group_is_taken_apart() -> None:
    X, y = draw([(0, 1), (2, 3)], affordable(80, 30), 4, 0)
    evidence = Evidence(begin(4), X, y)
    assert sorted(merge(evidence, [(0, 2), (1, 3)], 4, 80, 0)) == [(0, 1), (2, 3)]


def test_all_splits_are_scored_before_a_climb_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that the derivatives put behind all others."""
    monkeypatch.setattr(merging, "N_TRIED", 0)
    X, y = draw([(0, 1), (2,), (3,), (4,)], affordable(80, 60), 5, 0)
    for start in ([(0, 1, 2), (3, 4)], [(0, 1), (2, 3), (4,)]):
        evidence = Evidence(begin(5), X, y)
        assert sorted(merge(evidence, start, 3, 80, 0)) == [(0, 1), (2,), (3,), (4,)]


def test_a_search_scores_as_many_groupings_as_it_may_and_none_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = draw([(0, 1, 2), (3, 4)], 30, 6, 0)
    scored: list[frozenset[Group]] = []
    plain = Evidence.log_prior

    def recording(self: Evidence, groups: Sequence[Group]) -> float:
        scored.append(frozenset(groups))
        return plain(self, groups)

    monkeypatch.setattr(Evidence, "log_prior", recording)
    for n in (1, 15, 60):
        scored.clear()
        evidence = Evidence(begin(6), X, y)
        merge(evidence, alone(6), 3, n, 20)
        assert min(n, 20) <= evidence.n_scored <= n + merging.N_TRIED + 6  # and the splits
        assert len(scored) == len(set(scored)) == evidence.n_scored


def learned(
    model: AdditiveModel, X: FloatArray, y: FloatArray, warm: Fitted | None = None
) -> Fitted:
    domain = make_domain(*[None] * X.shape[1])
    seen = Observations.from_arrays(X, y)
    return model.learn(domain, seen, warm, np.random.default_rng(0))


@pytest.mark.skipif(INTERPRETED, reason="needs more points than plain Python can pay for")
@pytest.mark.parametrize(
    ("kind", "lengthscale", "groups", "seed"),
    some(
        [
            ("matern52", 0.3, [(0, 4, 7), (1, 9, 2), (3, 8, 5), (6,)], 0),
            ("matern52", 0.5, [(0, 4, 7), (1, 9), (3, 8), (2,), (6,)], 0),
            ("matern52", 0.5, [(0, 4, 7), (1, 9, 2), (3, 8, 5), (6, 10, 11)], 0),
            ("matern52", 0.3, [(0, 4, 9), (1, 5, 10), (2, 6, 8)], 2),
            ("se", 1.0, [(0, 4, 7), (1, 9, 2), (3, 8, 5), (6, 10, 11)], 0),
        ],
        3,
    ),
)
def test_the_truth_is_learned(
    kind: str, lengthscale: float, groups: list[Group], seed: int
) -> None:
    """Also where no pair of a group is convincing; and nothing is missed that is likelier."""
    X, y = draw(groups, 200, 12, seed, kind, lengthscale)
    found = learned(AdditiveModel(kind, 5, search="merge"), X, y)
    inert = [(c,) for c in range(12) if not any(c in group for group in groups)]
    truth = [tuple(sorted(group)) for group in [*groups, *inert]]
    assert adjusted_rand_score(labels(truth), labels(found.kernel.groups)) >= 0.9
    known = tuple(tuple(f"x{c}" for c in group) for group in truth)
    expected = learned(AdditiveModel(kind, 5, known), X, y)
    surplus = len(truth) - len(found.kernel.groups)
    gain = comparable(found.kernel, found.log_likelihood)
    gain -= comparable(expected.kernel, expected.log_likelihood)
    assert gain - surplus * price_of_join(12) >= -1.0


def test_a_score_near_another_grouping_is_the_same() -> None:
    X, y = draw([(0, 1, 2)], 20, 5, 3)
    near, far = Evidence(begin(5), X, y), Evidence(begin(5), X, y)
    groups, other = [(0, 1), (2, 3), (4,)], [(0, 1, 4), (3,), (2,)]
    assert near.log_posterior(groups, other) == pytest.approx(far.log_posterior(groups), abs=1e-9)


def test_close_groupings_are_those_that_lose_little() -> None:
    X, y = draw([(0, 1)], 20, 3, 3)
    evidence = Evidence(begin(3), X, y)
    every = [[tuple(g) for g in groups] for groups in partitions([0, 1, 2])]
    values = sorted((evidence.log_posterior(groups) for groups in every), reverse=True)
    best = max(every, key=evidence.log_posterior)
    for nats, most in ((1e9, 9), (1e9, 2), (values[0] - values[2] + 1e-9, 9), (0.0, 9)):
        found = [evidence.log_posterior(g) for g in evidence.close(best, nats, most)]
        assert found == [v for v in values[1:] if v > values[0] - nats][:most]


@pytest.mark.parametrize("size", [1, pytest.param(2, marks=dear), 3])
def test_a_model_joins_columns_up_to_the_largest_size(size: int) -> None:
    X, y = draw([(0, 1, 2), (3,)], affordable(100, 22), 5, 1)
    model = AdditiveModel("matern52", size, search="merge")
    first = learned(model, X[:-10], y[:-10])
    for fitted in (first, learned(model, X, y, first)):
        groups = [g.tolist() for g in fitted.kernel.groups]
        assert sorted(c for g in groups for c in g) == list(range(5))
        assert max(map(len, groups)) <= size
        assert INTERPRETED or max(map(len, groups)) == size
        assert INTERPRETED or {3} in map(set, groups)
    smaller = AdditiveModel("matern52", 1, search="merge")
    assert len(learned(smaller, X, y, first).kernel.groups) == 5


def test_many_columns_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the exchanges of columns that are the other default."""
    monkeypatch.setattr(additive, "MOST_MERGED", 4)
    X, y = draw([(0, 1), (2, 3)], affordable(20, 10), 5, 1)
    packed, other = (
        learned(AdditiveModel("matern52", 2, search=search), X, y) for search in ("merge", "swap")
    )
    assert sorted(len(g) for g in packed.kernel.groups) == [1, 2, 2]
    assert packed.identity == other.identity
