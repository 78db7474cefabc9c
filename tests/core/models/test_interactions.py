"""Evidence for interactions against brute force, and what the search finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from histories import INTERPRETED
from histories import dear
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.models.anova import interactions
from optuna_hdbo._core.models.anova.components import Findings
from optuna_hdbo._core.models.anova.evidence import NOISES
from optuna_hdbo._core.models.anova.evidence import SCREEN_DEGREE
from optuna_hdbo._core.models.anova.evidence import VARIANCES
from optuna_hdbo._core.models.anova.evidence import Evidence
from optuna_hdbo._core.models.anova.evidence import Marginal
from optuna_hdbo._core.models.anova.evidence import limit
from optuna_hdbo._core.models.anova.features import MANY_COLUMNS
from optuna_hdbo._core.models.anova.features import Conditional
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.interactions import Search
from optuna_hdbo._core.models.anova.model import start
from optuna_hdbo._core.outputs import standardise


Floats = NDArray[np.float64]


def make_case(n_features: int = 4) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 5))
    return A @ A.T, rng.standard_normal(9), rng.standard_normal((9, n_features))


def log_density(K: Floats, y: Floats) -> float:
    return float(multivariate_normal(np.zeros(len(y)), K).logpdf(y))


@pytest.mark.parametrize("n_features", [4, 9, 13])
def test_gains_are_differences_of_log_likelihoods(n_features: int) -> None:
    K, y, F = make_case(n_features)
    marginal = Marginal(K, y)
    K = K + 0.3 * np.eye(len(y))
    gains = marginal.gains(np.stack([marginal.rotated(F), marginal.rotated(2.0 * F)]), 0.3)
    for row, features in zip(gains, (F, 2.0 * F), strict=True):
        slow = [log_density(K + s * features @ features.T, y) for s in VARIANCES]
        np.testing.assert_allclose(row, np.array(slow) - log_density(K, y), atol=1e-8)
    assert marginal.value(0.3) - marginal.value(0.1) == pytest.approx(
        log_density(K, y) - log_density(K - 0.2 * np.eye(len(y)), y)
    )


def test_evidence_averages_over_the_noise_and_the_variance() -> None:
    K, y, F = make_case()
    eye = np.eye(len(y))
    apart = [np.exp(log_density(K + noise * eye, y)) for noise in NOISES[4:]]
    together = [
        [np.exp(log_density(K + noise * eye + s * F @ F.T, y)) for s in VARIANCES]
        for noise in NOISES[4:]
    ]
    value, weights = Marginal(K, y).evidence(F)
    # Four dimensions of nine have no covariance: less noise than these is out of the question.
    assert value == pytest.approx(np.log(np.mean(together) / np.mean(apart)), abs=1e-3)
    slow = np.sum(together, axis=0)
    np.testing.assert_allclose(weights, slow / slow.sum(), atol=1e-3)


@pytest.mark.parametrize("chunk", [1, 50])
def test_terms_are_screened_the_same_in_whatever_portions(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    domain = Domain(
        tuple("abcd"), (None, None, np.arange(3.0), None), np.array([False, False, True, False])
    )
    rng = np.random.default_rng(0)
    X, y = domain.sample(rng, 15), rng.standard_normal(15)
    evidence, fit = Evidence(Features(domain, X), y), start(4)
    terms = list(combinations(range(4), 2))
    marginal = evidence.marginals(fit)[0]
    whole = evidence.screen(marginal, terms, fit)
    monkeypatch.setattr("optuna_hdbo._core.models.anova.evidence.CHUNK", chunk)
    held = []
    gains = Marginal.gains
    monkeypatch.setattr(
        Marginal, "gains", lambda self, G, noise: held.append(G.size) or gains(self, G, noise)
    )
    again = Evidence(Features(domain, X), y)
    np.testing.assert_allclose(again.screen(marginal, terms, fit), whole, atol=1e-10)
    assert len(held) == {1: 6, 50: 3}[chunk]
    one_by_one = [evidence.screen(marginal, [term], fit)[0] for term in terms]
    np.testing.assert_allclose(one_by_one, whole, atol=1e-10)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("n_columns", [6, MANY_COLUMNS + 6])
def test_terms_are_screened_by_their_scaled_features(n_columns: int, size: int) -> None:
    """In whatever order they come: they are screened together where their columns are alike."""
    rng, n = np.random.default_rng(size), 20
    kinds = (None, np.linspace(0.0, 1.0, 4), np.arange(3.0), np.arange(40.0), np.arange(9.0), None)
    grids = (kinds * n_columns)[:n_columns]
    names = tuple(f"x{i}" for i in range(n_columns))
    domain = Domain(names, grids, np.array([g is not None and g[-1] > 1.0 for g in grids]))
    X, y = domain.sample(rng, n), rng.standard_normal(n)
    beside = Conditional(Domain.continuous(1), rng.random((n, 1)), rng.random((n, 1)) < 0.5)
    features = Features(domain, X, beside)
    fit = replace(start(n_columns + 1), logit_decay=rng.standard_normal(n_columns + 1))
    terms = [t for t in combinations(range(n_columns + 1), size) if sum(t) % 7 == 0 or t[-1] < 6]
    terms = [terms[t] for t in rng.permutation(len(terms))[:60]]
    evidence = Evidence(features, y)
    marginal = evidence.marginals(fit)[0]
    degree = SCREEN_DEGREE[size] if n_columns <= MANY_COLUMNS else size + 1
    expected = [
        marginal.gains(
            marginal.rotated(features.scaled(t, fit.logit_decay, degree))[None], fit.noise
        )
        for t in terms
    ]
    found = evidence.screen(marginal, terms, fit)
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-9, atol=1e-9)


def test_no_pair_by_itself_is_screened_nor_any_twice_under_a_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, gained, of, gains = [], [], Features.of, Marginal.gains
    monkeypatch.setattr(
        Features, "of", lambda self, term, *given: asked.append(term) or of(self, term, *given)
    )
    monkeypatch.setattr(
        Marginal, "gains", lambda self, G, noise: gained.append(len(G)) or gains(self, G, noise)
    )
    rng, n_columns = np.random.default_rng(0), MANY_COLUMNS + 1
    X, y = rng.random((12, n_columns)), rng.standard_normal(12)
    evidence, fit = Evidence(Features(Domain.continuous(n_columns), X), y), start(n_columns)
    marginal, pairs = evidence.marginals(fit)[0], list(combinations(range(n_columns), 2))
    asked.clear()
    whole = evidence.screen(marginal, pairs, fit)
    assert asked == [(0, 1)]  # all are alike
    assert sum(gained) == len(pairs)
    evidence.screen(marginal, [(0, 1, 2)], fit)  # triples do not take their place
    gained.clear()
    assert evidence.screen(marginal, list(pairs), fit) is whole
    assert gained == []
    evidence.screen(marginal, pairs[1:], fit)
    evidence.screen(marginal, pairs[1:], replace(fit, log_noise=0.0))
    assert sum(gained) == 2 * len(pairs) - 2


def test_nothing_is_screened_where_no_term_is_left() -> None:
    evidence, fit = (
        Evidence(Features(Domain.continuous(1), np.ones((3, 1))), np.arange(3.0)),
        start(1),
    )
    assert evidence.screen(evidence.marginals(fit)[0], [], fit).shape == (0, len(VARIANCES))


def test_the_limit_holds_95_percent() -> None:
    weights = np.zeros((2, len(VARIANCES)))
    weights[0, 3], weights[0, 7] = 0.94, 0.06
    weights[1, 3], weights[1, 7] = 0.96, 0.04
    assert limit(weights).tolist() == VARIANCES[[7, 3]].tolist()


def found(f: Callable[[Floats], Floats], dim: int, n: int, seed: int = 0) -> Findings:
    X = np.random.default_rng(seed).random((n, dim))
    return Search(Domain.continuous(dim), X, standardise(f(X))[0]).run()


def test_a_pair_is_found_beside_main_effects() -> None:
    result = found(lambda X: X[:, 0] * X[:, 3] + X[:, 1] ** 2, 6, 60)
    assert result.terms == ((0, 3),)
    assert max(result.pairs, key=lambda pair: result.pairs[pair].log_evidence) == (0, 3)
    # The variance of (u - 1/2) (v - 1/2) is 1/144, that of u v is 7/144, of w^2 4/45.
    share = result.pairs[0, 3].variance / result.variance
    assert share == pytest.approx((1 / 144) / (7 / 144 + 4 / 45), rel=0.1)
    main = [column.main / result.variance for column in result.columns]
    np.testing.assert_allclose(main[1], (4 / 45) / (7 / 144 + 4 / 45), rtol=0.1)
    assert max(main[2], main[4], main[5]) < 1e-3


@dear
def test_a_pair_without_main_effects_is_found() -> None:
    result = found(lambda X: (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + 0.2 * X[:, 2], 5, 60)
    assert result.terms == ((0, 1),)
    assert result.columns[0].log_evidence > 10.0
    assert result.columns[0].joint > 10.0 * result.columns[0].main


@dear
def test_three_columns_without_pairs_are_found() -> None:
    result = found(lambda X: np.prod(X[:, :3] - 0.5, axis=1) + 0.1 * X[:, 3], 5, 80)
    assert (0, 1, 2) in result.terms
    evidence = {pair: finding.log_evidence for pair, finding in result.pairs.items()}
    together = {(0, 1), (0, 2), (1, 2)}
    assert min(evidence[pair] for pair in together) > 20.0
    assert max(value for pair, value in evidence.items() if pair not in together) < 5.0


@pytest.mark.skipif(INTERPRETED, reason="needs more points than plain Python can pay for")
def test_rough_functions_of_three_columns_are_found_together() -> None:
    """No term is convincing by itself: the search has to start from groups."""
    groups = [(0, 4, 7), (1, 2, 9), (3, 5, 8), (6, 10, 11)]
    rng = np.random.default_rng(1)
    X = rng.random((200, 12))
    lengthscales, scales, categorical = np.full(12, 0.5), np.full(4, 0.25), np.zeros(12, np.bool_)
    kernel = Kernel("matern52", join(groups), lengthscales, scales, 1e-3, categorical)
    y = np.linalg.cholesky(kernel.gram(X) + 1e-3 * np.eye(200)) @ rng.standard_normal(200)
    told = Search(Domain.continuous(12), X, standardise(y)[0]).run()
    joined = {pair for term in told.terms for pair in combinations(term, 2)}
    assert joined <= {pair for group in groups for pair in combinations(group, 2)}
    assert all(len({pair for pair in joined if set(pair) <= set(g)}) > 1 for g in groups)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=dear) for seed in (1, 2))])
def test_a_sum_has_no_interactions(seed: int) -> None:
    result = found(
        lambda X: np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + np.abs(X[:, 2] - 0.4), 6, 60, seed
    )
    assert result.terms == ()


@dear
def test_many_weak_interactions_are_found_together() -> None:
    """Each has half a percent of the variance, and the other five are noise to it."""
    result = found(lambda X: X.sum(axis=1) ** 2, 4, 60)
    assert set(result.terms) == set(result.pairs)


@dear
def test_an_interaction_is_found_where_main_effects_interpolate_the_values() -> None:
    """Most trials are near an optimum, as those of a sampler are."""
    rng, n, dim = np.random.default_rng(0), 60, 12
    best = np.r_[2.0, 2.0, np.zeros(dim - 2)]
    x = best + np.geomspace(1.5, 0.05, n)[:, None] * rng.standard_normal((n, dim))
    x[:20] = rng.uniform(-5.0, 5.0, (20, dim))
    x = np.clip(x, -5.0, 5.0)
    y = (x[:, 0] * x[:, 1] - 4.0) ** 2 + (x[:, 2:] ** 2).sum(axis=1)
    search = Search(Domain.continuous(dim), (x + 5.0) / 10.0, standardise(y)[0])
    assert search.fit.noise < 1e-3  # without the interaction, which has most of the variance
    assert search.run().terms == ((0, 1),)


def test_choices_interact_too() -> None:
    rng = np.random.default_rng(0)
    domain = Domain(("a", "b", "c"), (None, np.arange(3.0), None), np.array([False, True, False]))
    X = domain.sample(rng, 60)
    y = np.where(X[:, 1] == 1.0, X[:, 0], -X[:, 0]) + X[:, 2]
    assert Search(domain, X, standardise(y)[0]).run().terms == ((0, 1),)


@pytest.mark.parametrize(
    ("n", "dim", "value"), [(2, 3, 1.0), (5, 1, 1.0), (8, 2, 0.0), (30, 2, 0.0)]
)
def test_poor_data_say_nothing(n: int, dim: int, value: float) -> None:
    result = found(lambda X: value * X[:, 0], dim, n)
    assert result.terms == ()
    assert np.isfinite([pair.log_evidence for pair in result.pairs.values()]).all()
    assert np.isfinite([column.log_evidence for column in result.columns]).all()


def test_equal_points_do_not_stop_the_search() -> None:
    X = np.full((20, 3), 0.25)
    result = Search(Domain.continuous(3), X, np.resize([1.0, -1.0], 20)).run()
    assert result.terms == ()


def test_the_number_of_terms_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactions, "MOST_TERMS", 2)
    result = found(lambda X: (X - 0.5).sum(axis=1) ** 2, 4, 60)
    assert 0 < len(result.terms) <= 2


def test_terms_that_others_explain_are_dropped() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 4))
    y = standardise(X[:, 0] * X[:, 1])[0]
    search = Search(Domain.continuous(4), X, y)
    search.fit = search.fit.with_terms([(0, 1), (2, 3)], [0.1, 0.1])
    search._prune()
    assert search.fit.terms[4:] == ((0, 1),)


def test_what_is_left_of_a_wrong_group_is_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is repeated, and what is likelier counts, whether it was found first or last."""
    X = np.random.default_rng(0).random((40, 4))
    y = standardise((X[:, 0] - 0.5) * (X[:, 1] - 0.5) + 0.1 * X[:, 2])[0]
    search = Search(Domain.continuous(4), X, y)
    true, left, other = ((0, 1),), ((1, 2),), ((0, 3),)
    group = ((0, 2), (1, 2))
    fits = {t: search._afresh(t)[0] for t in (true, left, other, group, true + left)}
    ends: list[tuple[tuple[int, ...], ...]] = []
    monkeypatch.setattr(search, "_climb", lambda few: setattr(search, "fit", fits[ends.pop(0)]))
    monkeypatch.setattr(search, "_begin_with_groups", lambda: setattr(search, "fit", fits[group]))
    for ends[:], expected in (
        ([left, true], true),
        ([true + left, left], true + left),
        ([other], other),  # nothing is left of the group
        ([group], group),  # nothing of it is dropped
    ):
        assert search.run().terms == expected
        assert ends == []
    monkeypatch.setattr(interactions, "MOST_IN_TRIPLES", 3)
    ends[:] = [left, true]  # with more columns than that, one climb is all
    assert search.run().terms == left
    assert ends == [true]


def test_what_conditional_columns_do_does_not_hide_or_feign_interactions() -> None:
    rng = np.random.default_rng(0)
    X, own = rng.random((120, 3)), rng.random((120, 2))
    active = np.column_stack([X[:, 0] < 0.5, X[:, 0] >= 0.5])
    y = X[:, 1] * X[:, 2] + 2.0 * (active * np.sin(6.0 * own)).sum(axis=1)
    y = standardise(y)[0]
    told = Search(Domain.continuous(3), X, y, Conditional(Domain.continuous(2), own, active)).run()
    assert told.terms == ((1, 2),)
    assert set(told.parts) == {(0,), (1,), (2,), (1, 2)}
    assert set(told.pairs) == set(combinations(range(3), 2))
    assert told.beside > 5.0 * told.variance > 100.0 * told.noise
    assert Search(Domain.continuous(3), X, y).run().terms != told.terms
    elsewhere = np.where(active, own, 0.3)  # nothing is read where a point has not the column
    again = Conditional(Domain.continuous(2), elsewhere, active)
    assert Search(Domain.continuous(3), X, y, again).run().parts == told.parts
