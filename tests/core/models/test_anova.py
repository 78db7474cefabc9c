"""The terms of the ANOVA model, and its likelihood, against slow and obvious formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.models.anova.components import Components
from optuna_hdbo._core.models.anova.features import MANY_COLUMNS
from optuna_hdbo._core.models.anova.features import MOST_CHOICES
from optuna_hdbo._core.models.anova.features import Conditional
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.features import by_frequency
from optuna_hdbo._core.models.anova.features import classes_of
from optuna_hdbo._core.models.anova.features import features_of_column
from optuna_hdbo._core.models.anova.features import rough_covariances
from optuna_hdbo._core.models.anova.model import CONSTANT
from optuna_hdbo._core.models.anova.model import Fit
from optuna_hdbo._core.models.anova.model import Model
from optuna_hdbo._core.models.anova.model import start


GRID = np.array([0.05, 0.2, 0.3, 0.7, 0.95])
WIDTHS = np.array([0.125, 0.125, 0.25, 0.325, 0.175])
DOMAIN = Domain(
    ("float", "int", "choice"),
    (None, GRID, np.arange(4.0)),
    np.array([False, False, True]),
)
TERMS = ((0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2))


def make_fit() -> Fit:
    rng = np.random.default_rng(1)
    logs = np.log(rng.uniform(0.1, 1.0, 6))
    return Fit(TERMS, rng.normal(size=3), logs, float(np.log(0.05)), float(np.log(0.2)))


def make_model(n: int = 12) -> tuple[Model, NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    X = DOMAIN.sample(rng, n)
    return Model(Features(DOMAIN, X), rng.standard_normal(n), TERMS), X


@pytest.mark.parametrize("column", range(3))
def test_features_are_orthonormal_under_uniform_values(column: int) -> None:
    if column == 0:
        nodes, weights = np.polynomial.legendre.leggauss(30)
        x, w = 0.5 * (nodes + 1.0), 0.5 * weights
    else:
        x = GRID if column == 1 else np.arange(4.0)
        w = WIDTHS if column == 1 else np.full(4, 0.25)
    features, degrees = features_of_column(DOMAIN, column, x)
    assert len(degrees) == features.shape[1] == [10, 4, 3][column]
    np.testing.assert_allclose(w @ features, 0.0, atol=1e-12)
    np.testing.assert_allclose(
        features.T @ (w[:, None] * features), np.eye(len(degrees)), atol=1e-12
    )


def test_the_first_features_of_numbers_are_straight_lines() -> None:
    x = np.linspace(0.0, 1.0, 7)
    np.testing.assert_allclose(
        features_of_column(DOMAIN, 0, x)[0][:, 0], np.sqrt(12.0) * (x - 0.5), atol=1e-12
    )
    line = features_of_column(DOMAIN, 1, GRID)[0][:, 0]
    assert np.ptp(np.diff(line) / np.diff(GRID)) < 1e-9
    assert line[-1] > line[0]


def test_rough_parts_average_to_zero_and_have_variance_one() -> None:
    x = (np.arange(2000) + 0.5) / 2000
    gram = rough_covariances(x, x)
    np.testing.assert_allclose(gram.mean(axis=1), 0.0, atol=1e-5)
    assert np.diag(gram).mean() == pytest.approx(1.0, abs=1e-5)
    assert np.linalg.eigvalsh(gram[::40, ::40]).min() > -1e-9


def test_choices_are_all_alike() -> None:
    """The prior covariance of a categorical column depends on equality alone."""
    features, _ = features_of_column(DOMAIN, 2, np.arange(4.0))
    gram = features @ features.T
    np.testing.assert_allclose(gram, 4.0 * np.eye(4) - 1.0, atol=1e-12)


def test_the_most_frequent_choices_are_told_apart() -> None:
    order = by_frequency(np.array([4.0, 1.0, 4.0, 2.0, 1.0, 4.0]), np.arange(6.0))
    assert order.tolist() == [4, 1, 2, 0, 3, 5]
    assert classes_of(order, 3).tolist() == [2, 1, 2, 2, 0, 2]
    assert classes_of(order, 6).tolist() == [0, 1, 2, 3, 4, 5]


def test_features_of_classes_are_orthonormal_under_uniform_choices() -> None:
    domain, grid = choices(1, 9), np.arange(9.0)
    classes = np.array([3, 0, 3, 1, 3, 3, 2, 3, 3])
    features, degrees = features_of_column(domain, 0, grid, classes=classes)
    assert degrees.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.T @ features / 9.0, np.eye(3), atol=1e-12)
    assert np.ptp(features[classes == 3], axis=0).max() == 0.0
    assert len(np.unique(features.round(9), axis=0)) == 4


def choices(n_columns: int, m: int) -> Domain:
    names = tuple(f"c{i}" for i in range(n_columns))
    return Domain(names, (np.arange(float(m)),) * n_columns, np.ones(n_columns, np.bool_))


@pytest.mark.parametrize("columns", [3, MANY_COLUMNS + 1])
def test_terms_of_a_thousand_choices_have_few_features(columns: int) -> None:
    domain = choices(columns, 1000)
    X = domain.sample(np.random.default_rng(0), 20)
    features = Features(domain, X)
    told = MOST_CHOICES if columns == 3 else {1: 64, 2: 6, 3: 6}
    for term in ((0,), (0, 1), (0, 1, 2)):
        values, places = features.of(term)
        assert len(places) == values.shape[1] == (told[len(term)] - 1) ** len(term)


@pytest.mark.parametrize("m", [8, 9])
def test_few_choices_are_all_told_apart_in_every_term(m: int) -> None:
    domain = choices(3, m)
    X = domain.sample(np.random.default_rng(0), 40)
    features = Features(domain, X)
    gram = features.values[0] @ features.values[0].T
    np.testing.assert_allclose(gram, m * np.equal.outer(X[:, 0], X[:, 0]) - 1.0, atol=1e-11)
    assert features.of((0, 1))[0].shape[1] == (m - 1) ** 2
    assert features.of((0, 1, 2))[0].shape[1] == 7**3


def test_a_term_multiplies_features_up_to_a_degree() -> None:
    X = DOMAIN.sample(np.random.default_rng(2), 5)
    made = Features(DOMAIN, X)
    values, places = made.of((0, 1), 4)
    single = [features_of_column(DOMAIN, i, X[:, i])[0] for i in range(2)]
    expected = [(a, b) for a in range(10) for b in range(4) if a + 1 + b + 1 <= 4]
    assert sorted(map(tuple, places.tolist())) == expected
    for k, (a, b) in enumerate(places.tolist()):
        np.testing.assert_allclose(values[:, k], single[0][:, a] * single[1][:, b])


def test_every_term_has_its_variance_over_the_cube() -> None:
    """The prior covariance of a term with itself averages to its variance."""
    X = DOMAIN.sample(np.random.default_rng(3), 2000)
    F = Features(DOMAIN, X).scaled((0, 1), np.array([0.5, -0.5, 0.0]))
    assert (F**2).sum(axis=1).mean() == pytest.approx(1.0, abs=0.1)


def slow_log_posterior(model: Model, X: NDArray[np.float64], fit: Fit) -> float:
    n = len(X)
    K = np.full((n, n), CONSTANT) + fit.noise * np.eye(n)
    for term, log_variance in zip(fit.terms, fit.log_variance, strict=True):
        features, places = Features(DOMAIN, X).of(term)
        p = np.ones(len(places))
        for k, place in enumerate(places.tolist()):
            for i, position in zip(term, place, strict=True):
                decay = 1.0 / (1.0 + np.exp(-fit.logit_decay[i]))
                p[k] *= decay ** (0 if i == 2 else position)
        K += np.exp(log_variance) * (features * p / p.sum()) @ features.T
        rough = np.exp(log_variance + fit.log_roughness) * np.ones((n, n))
        for i in term:
            for a, b in np.ndindex(n, n):
                u, v = X[a, i], X[b, i]
                motion = 6.0 * (1 / 3 + (u**2 + v**2) / 2 - max(u, v))
                rough[a, b] *= (4.0 * (u == v) - 1.0) / 3.0 if i == 2 else motion
        K += rough
    likelihood = multivariate_normal(np.zeros(n), K).logpdf(model.y)
    return float(likelihood - 0.5 * ((fit.logit_decay / 1.5) ** 2).sum())


def theta_of(fit: Fit) -> NDArray[np.float64]:
    last = [fit.log_noise, fit.log_roughness]
    return np.concatenate([fit.logit_decay, fit.log_variance, last])


def test_the_objective_is_the_log_posterior() -> None:
    model, X = make_model()
    fit = make_fit()
    value = model.objective(theta_of(fit))[0]
    assert -value * len(X) == pytest.approx(slow_log_posterior(model, X, fit), rel=1e-9)


def test_the_gradient_is_that_of_the_objective() -> None:
    model, _ = make_model()
    theta = theta_of(make_fit())
    slow = approx_fprime(theta, lambda t: model.objective(t)[0], 1e-6)
    np.testing.assert_allclose(model.objective(theta)[1], slow, atol=1e-6)


def test_terms_of_variance_zero_are_as_good_as_none() -> None:
    model, X = make_model()
    part = make_fit().without({(1,), (0, 2)})
    assert part.among(TERMS).terms == TERMS
    expected = Model(Features(DOMAIN, X), model.y, part.terms).gram(part)
    np.testing.assert_allclose(model.gram(part.among(TERMS)), expected, atol=1e-12)


def test_a_climb_ends_higher() -> None:
    model, X = make_model()
    fit, value = model.fitted(make_fit(), 20)
    assert value > slow_log_posterior(model, X, make_fit())
    assert value == pytest.approx(slow_log_posterior(model, X, fit), rel=1e-9)


def test_variances_of_terms_are_those_of_bayesian_regression() -> None:
    model, _ = make_model()
    fit = make_fit()
    F = np.column_stack([np.ones(len(model.y)), model.F])
    v = np.concatenate([[CONSTANT], model.variances(fit)])
    smooth = (F * v) @ F.T + fit.noise * np.eye(len(model.y))
    unexplained = model.gram(fit) - smooth + 2.0 * fit.noise * np.eye(len(model.y))
    inverse = np.linalg.inv(unexplained)  # of the rough parts and the noise
    covariance = np.linalg.inv(np.diag(1.0 / v) + F.T @ inverse @ F)
    mean = covariance @ F.T @ inverse @ model.y
    expected = (mean**2 + np.diag(covariance))[1:]
    slow = [expected[part].sum() for part in model.slices]
    np.testing.assert_allclose(model.parts(fit), slow, rtol=1e-8)


def test_terms_come_and_go() -> None:
    fit = start(3).with_terms([(0, 1), (1, 2)], [0.1, 0.2]).without({(0, 1)})
    assert fit.terms == ((0,), (1,), (2,), (1, 2))
    assert np.exp(fit.log_variance[-1]) == pytest.approx(0.2)


def test_many_columns_have_features_of_low_degree() -> None:
    X = np.random.default_rng(0).random((3, 70))
    assert Features(Domain.continuous(70), X).values[0].shape == (3, 5)
    assert Features(Domain.continuous(60), X[:, :60]).values[0].shape == (3, 10)


def beside_of(n: int) -> Conditional:
    rng = np.random.default_rng(4)
    domain = Domain(("float", "choice"), (None, np.arange(3.0)), np.array([False, True]))
    return Conditional(domain, domain.sample(rng, n), rng.random((n, 2)) < [0.6, 0.3])


def test_conditional_columns_covary_where_both_points_have_them() -> None:
    n, rng = 12, np.random.default_rng(5)
    X, beside = DOMAIN.sample(rng, n), beside_of(n)
    features = Features(DOMAIN, X, beside)
    fit = replace(start(5), logit_decay=rng.normal(size=5), log_variance=rng.normal(size=5))
    y = rng.standard_normal(n)
    gram = Model(features, y, fit.terms).gram(fit)
    common = replace(start(3), logit_decay=fit.logit_decay[:3], log_variance=fit.log_variance[:3])
    slow = Model(Features(DOMAIN, X), y, common.terms).gram(common)
    alone = Features(beside.domain, beside.X)
    for c in range(2):
        own = Fit(((c,),), fit.logit_decay[3:], fit.log_variance[[3 + c]], 0.0, fit.log_roughness)
        part = Model(alone, y, own.terms).gram(own) - CONSTANT
        slow += part * np.outer(beside.active[:, c], beside.active[:, c])
    np.testing.assert_allclose(gram, slow, atol=1e-10)
    np.testing.assert_allclose(features.presence, beside.active.mean(axis=0))
    residuals = fit.noise * np.linalg.solve(slow + fit.noise * np.eye(n), y)
    told = Components(DOMAIN, X, y, fit, beside).residuals
    np.testing.assert_allclose(told, residuals, atol=1e-8)


def test_the_gradient_by_conditional_columns_is_that_of_the_objective() -> None:
    X, beside = DOMAIN.sample(np.random.default_rng(5), 12), beside_of(12)
    y = np.random.default_rng(6).standard_normal(12)
    model = Model(Features(DOMAIN, X, beside), y, start(5).terms)
    theta = theta_of(start(5))
    slow = approx_fprime(theta, lambda t: model.objective(t)[0], 1e-6)
    np.testing.assert_allclose(model.objective(theta)[1], slow, atol=1e-6)
