"""A function as a sum of main effects and interactions: its ANOVA decomposition.

    y = c + sum_i f_i(x_i) + sum_(i,j) f_ij(x_i, x_j) + sum_(i,j,k) f_ijk(x_i, x_j, x_k) + noise

Every term averages to zero over each of its columns when points are uniform. So a main effect
cannot pass for an interaction, and the variances of the terms add up to that of the function
(compare the orthogonal additive kernel of Lu, Boukouvalas & Hensman 2022). The terms are Gaussian
processes on orthonormal polynomials, and on contrasts for categorical columns:
f_u = sum_k w_k phi_k with w_k ~ N(0, s_u p_k), where the p_k add up to 1. So ``s_u`` is the
variance of the term over the cube, and not an amplitude that smoothness enters as well. Each term
has a small rough part besides, a product of Brownian motions, for what polynomials cannot follow.
Without it, the kinks that trials around an optimum show in detail are taken for interactions.

Symbols: u, a term, is a tuple of columns; T, F, n are numbers of terms, of features, of points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import blas
from scipy.linalg import lapack
from scipy.optimize import minimize

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.gp.likelihood import log_density
from optuna_hdbo._core.gp.posterior import factorise


Term = tuple[int, ...]
"""Columns, ascending."""

DEGREE = {1: 10, 2: 7, 3: 6}
"""Largest sum of the degrees of a feature's polynomials, by the number of its columns."""

MANY_COLUMNS, DEGREE_OF_MANY = 64, 5
"""With more columns than this, no degree is larger, to bound memory and time."""

DECAY_BOX, VARIANCE_BOX, NOISE_BOX = (-3.0, 3.0), (1e-5, 30.0), (1e-5, 1.5)

ROUGHNESS_BOX = (1e-7, 1.0)

DECAY_SPREAD = 1.5
"""Standard deviation of the normal prior of logit decays; the mean decay is 1/2."""


def features_of_column(
    domain: Domain, column: int, x: FloatArray, most: int = DEGREE[1]
) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal functions of one column at values x (n,), and their degrees.

    They average to zero and have variance 1 under uniform values: in the parameter's own scale,
    which may be logarithmic, and with equal shares for all choices. ``most`` is the largest
    degree.

    Returns
    -------
    features : FloatArray, shape (n, m)
    degrees : FloatArray, shape (m,)
        All 1 for a categorical column, none of whose contrasts is smoother than another.
    """
    grid = domain.grids[column]
    if grid is None:
        degrees = np.arange(1.0, most + 1)
        polynomials = legendre.legvander(2.0 * x - 1.0, most)[:, 1:]
        return np.asarray(polynomials * np.sqrt(2.0 * degrees + 1.0), np.float64), degrees
    m = len(grid)
    if domain.categorical[column]:
        weights = np.full(m, 1.0 / m)
        raw: FloatArray = np.eye(m)
        raw[:, 0] = 1.0
    else:
        weights = np.diff(np.concatenate([[0.0], 0.5 * (grid[1:] + grid[:-1]), [1.0]]))
        raw = np.asarray(legendre.legvander(2.0 * grid - 1.0, min(most, m - 1)), np.float64)
    root = np.sqrt(weights)[:, None]
    Q, R = np.linalg.qr(raw * root)
    values = (Q * np.sign(np.diag(R)) / root)[:, 1:]
    index = np.abs(x[:, None] - grid).argmin(axis=1)
    degrees = np.ones(m - 1) if domain.categorical[column] else np.arange(1.0, values.shape[1] + 1)
    return values[index], degrees


def rough_covariances(x: FloatArray, z: FloatArray) -> FloatArray:
    """Return the covariances of centred Brownian motion of variance 1 at x (n,), z (m,); (n, m).

    It follows kinks that polynomials do not.
    """
    return 2.0 + 6.0 * (np.add.outer(0.5 * x**2, 0.5 * z**2) - np.maximum.outer(x, z))


class Features:
    """Orthonormal features of all columns at points X (n, D), and those of any term."""

    def __init__(self, domain: Domain, X: FloatArray) -> None:
        self._categorical, self._X = domain.categorical, X
        most = DEGREE[1] if len(domain) <= MANY_COLUMNS else DEGREE_OF_MANY
        made = [features_of_column(domain, i, X[:, i], most) for i in range(len(domain))]
        self.values = [values for values, _ in made]
        self.degrees = [degrees for _, degrees in made]
        self._rough: dict[int, FloatArray] = {}

    def __len__(self) -> int:
        return len(self.values)

    def of(self, term: Term, degree: int | None = None) -> tuple[FloatArray, IntArray]:
        """Return the features of a term (n, F) and each one's place in its columns (F, |u|)."""
        degree = DEGREE[len(term)] if degree is None else degree
        sums = self.degrees[term[0]]
        for i in term[1:]:
            sums = np.add.outer(sums, self.degrees[i])
        places = np.argwhere(sums <= max(degree, float(sums.min())))
        values = self.values[term[0]][:, places[:, 0]]
        for a, i in enumerate(term[1:], 1):
            values = values * self.values[i][:, places[:, a]]
        return values, places

    def rough(self, term: Term) -> FloatArray:
        """Return the covariances of the rough part of a term, of variance 1, shape (n, n)."""
        for i in term:
            if i not in self._rough:
                self._rough[i] = self._rough_along(i, self)
        gram = self._rough[term[0]]
        for i in term[1:]:
            gram = gram * self._rough[i]
        return gram

    def rough_with(self, other: Features, term: Term) -> FloatArray:
        """Return :meth:`rough` between these points and others, shape (n, m)."""
        covariances = self._rough_along(term[0], other)
        for i in term[1:]:
            covariances = covariances * self._rough_along(i, other)
        return covariances

    def rough_variance(self, term: Term) -> FloatArray:
        """Return the diagonal of :meth:`rough`, shape (n,)."""
        variance = np.ones(len(self._X))
        for i in term:
            x, values = self._X[:, i], self.values[i]
            square = (values**2).sum(axis=1) / max(values.shape[1], 1)
            variance *= square if self._categorical[i] else 2.0 + 6.0 * (x**2 - x)
        return variance

    def _rough_along(self, i: int, other: Features) -> FloatArray:
        if self._categorical[i]:  # which has nothing that is not smooth
            features = self.values[i]
            return np.asarray(features @ other.values[i].T / features.shape[1], np.float64)
        return rough_covariances(self._X[:, i], other._X[:, i])

    def scaled(self, term: Term, logit_decay: FloatArray, degree: int | None = None) -> FloatArray:
        """Return the features of a term (n, F) times the roots of their shares of its variance."""
        values, places = self.of(term, degree)
        of_columns = {i: shares_of_column(self.degrees[i], float(logit_decay[i])) for i in term}
        return np.asarray(values * np.sqrt(shares_of_term(term, places, of_columns)[0]))


@dataclass(frozen=True, eq=False)
class Fit:
    """Hyperparameters of an ANOVA model.

    Parameters
    ----------
    terms : tuple of Term
        The main effects of all columns first, in their order.
    logit_decay : FloatArray, shape (D,)
        Each degree of a column's polynomials has this decay times the variance of the last one.
    log_variance : FloatArray, shape (T,)
    log_noise : float
    log_roughness : float
        Variance of every term's rough part, as a share of that of its smooth part.
    """

    terms: tuple[Term, ...]
    logit_decay: FloatArray
    log_variance: FloatArray
    log_noise: float
    log_roughness: float

    @property
    def noise(self) -> float:
        """Variance of the noise."""
        return math.exp(self.log_noise)

    def with_terms(self, new: Sequence[Term], variances: Sequence[float]) -> Fit:
        """Return the fit with terms added."""
        logs = np.concatenate([self.log_variance, np.log(np.asarray(variances, np.float64))])
        return replace(self, terms=(*self.terms, *new), log_variance=logs)

    def without(self, gone: set[Term]) -> Fit:
        """Return the fit with terms left out."""
        kept = [t for t, term in enumerate(self.terms) if term not in gone]
        terms = tuple(self.terms[t] for t in kept)
        return replace(self, terms=terms, log_variance=self.log_variance[kept])


def start(n_columns: int) -> Fit:
    """Return the hyperparameters from which main effects are fitted."""
    return Fit(
        tuple((i,) for i in range(n_columns)),
        np.zeros(n_columns),
        np.full(n_columns, math.log(0.5 / n_columns)),
        math.log(0.1),
        math.log(1e-3),
    )


def shares_of_column(degrees: FloatArray, logit: float) -> tuple[FloatArray, FloatArray]:
    """Return p (m,), which adds up to 1, and the derivative of log p by the logit of the decay."""
    decay = 1.0 / (1.0 + math.exp(-logit))
    p = decay ** (degrees - degrees[0])
    p /= p.sum()
    return p, (degrees - p @ degrees) * (1.0 - decay)


def shares_of_term(
    term: Term, places: IntArray, of_columns: Mapping[int, tuple[FloatArray, FloatArray]]
) -> tuple[FloatArray, list[FloatArray]]:
    """Return p (F,) of a term's features, and the derivatives of log p by its columns' decays."""
    p = np.ones(len(places))
    for a, i in enumerate(term):
        p = p * of_columns[i][0][places[:, a]]
    p = p / p.sum()
    slopes = [of_columns[i][1][places[:, a]] for a, i in enumerate(term)]
    return p, [slope - p @ slope for slope in slopes]


class Model:
    """The likelihood of an ANOVA model with given terms, as a function of its hyperparameters.

    Parameters
    ----------
    features : Features
    y : FloatArray, shape (n,)
        Standardised values.
    terms : tuple of Term
    """

    def __init__(self, features: Features, y: FloatArray, terms: tuple[Term, ...]) -> None:
        self._features, self.y, self.terms = features, y, terms
        made = [features.of(term) for term in terms]
        self.F = np.hstack([np.empty((len(y), 0)), *[values for values, _ in made]])
        self._places = [places for _, places in made]
        ends = np.cumsum([0, *[len(p) for p in self._places]]).tolist()
        self._rough = [features.rough(term) for term in terms]
        self.slices = [slice(a, b) for a, b in pairwise(ends)]

    def _prior(self, fit: Fit) -> tuple[list[FloatArray], list[list[FloatArray]]]:
        of_columns = {
            i: shares_of_column(self._features.degrees[i], logit)
            for i, logit in enumerate(fit.logit_decay.tolist())
        }
        found = [
            shares_of_term(term, places, of_columns)
            for term, places in zip(self.terms, self._places, strict=True)
        ]
        scales = np.exp(fit.log_variance).tolist()
        return [s * p for s, (p, _) in zip(scales, found, strict=True)], [d for _, d in found]

    def variances(self, fit: Fit) -> FloatArray:
        """Return the prior variance of every feature's weight, shape (F,)."""
        return np.concatenate([np.empty(0), *self._prior(fit)[0]])

    def gram(self, fit: Fit) -> FloatArray:
        """Return the covariances of the values at the points without noise, shape (n, n)."""
        return self._gram(fit, self.variances(fit))

    def _gram(self, fit: Fit, variances: FloatArray) -> FloatArray:
        scaled = self.F * np.sqrt(variances)
        upper = blas.dsyrk(1.0, scaled.T, trans=1)  # half the price of the whole product
        K = np.ascontiguousarray(upper + np.triu(upper, 1).T + 1.0)
        of_terms = np.exp(fit.log_variance + fit.log_roughness).tolist()
        for s, gram in zip(of_terms, self._rough, strict=True):
            blas.daxpy(gram.ravel(), K.ravel(), a=s)  # in place
        return K

    def _unpack(self, theta: FloatArray) -> Fit:
        D = len(self._features)
        return Fit(
            self.terms, theta[:D].copy(), theta[D:-2].copy(), float(theta[-2]), float(theta[-1])
        )

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log posterior per observation and its gradient."""
        fit, D, n = self._unpack(theta), len(self._features), len(self.y)
        variances, slopes = self._prior(fit)
        K = self._gram(fit, np.concatenate([np.empty(0), *variances]))
        K.flat[:: n + 1] += fit.noise
        found = log_density(K, self.y)
        if found is None:
            return 1e10, np.zeros_like(theta)
        value, alpha, U = found
        V = lapack.dtrtrs(U, self.F, lower=0, trans=1)[0]
        inverse = lapack.dpotri(U, lower=0, overwrite_c=1)[0]
        W = np.outer(alpha, alpha) - inverse - np.triu(inverse, 1).T
        fit_term = (self.F.T @ alpha) ** 2 - np.einsum("nk,nk->k", V, V)
        gradient = np.zeros_like(theta)
        for t, term in enumerate(self.terms):
            g = 0.5 * fit_term[self.slices[t]] * variances[t]
            rough = self._rough[t]
            by_rough = 0.5 * float(np.vdot(W, rough))
            by_rough *= math.exp(fit.log_variance[t] + fit.log_roughness)
            gradient[D + t] = g.sum() + by_rough
            gradient[-1] += by_rough
            for i, slope in zip(term, slopes[t], strict=True):
                gradient[i] += g @ slope
        gradient[-2] = 0.5 * fit.noise * np.trace(W)
        value -= 0.5 * float(((fit.logit_decay / DECAY_SPREAD) ** 2).sum())
        gradient[:D] -= fit.logit_decay / DECAY_SPREAD**2
        return -value / n, -gradient / n

    def fitted(self, fit: Fit, n_steps: int) -> tuple[Fit, float]:
        """Return the hyperparameters that a climb from ``fit`` reaches, and the log posterior."""
        low, high = np.log(VARIANCE_BOX)
        box = [DECAY_BOX] * len(self._features) + [(low, high)] * len(self.terms)
        box += [tuple(np.log(range_).tolist()) for range_ in (NOISE_BOX, ROUGHNESS_BOX)]
        last = [fit.log_noise, fit.log_roughness]
        theta = np.concatenate([fit.logit_decay, fit.log_variance, last])
        found = minimize(
            self.objective,
            np.clip(theta, *np.array(box).T),
            jac=True,
            method="L-BFGS-B",
            bounds=box,
            options={"maxiter": n_steps, "maxfun": int(1.5 * n_steps), "ftol": 1e-6, "gtol": 1e-4},
        )
        return self._unpack(found.x), -float(found.fun) * len(self.y)

    def parts(self, fit: Fit) -> FloatArray:
        """Return the variance of every term over the cube, expected under the posterior, (T,)."""
        v, n = self.variances(fit), len(self.y)
        K = self.gram(fit)
        K.flat[:: n + 1] += fit.noise
        U = factorise(K)[0]
        V = lapack.dtrtrs(U, self.F * v, lower=0, trans=1)[0]
        mean = V.T @ lapack.dtrtrs(U, self.y, lower=0, trans=1)[0]
        squares = mean**2 + np.maximum(v - np.einsum("nk,nk->k", V, V), 0.0)
        return np.array([squares[part].sum() for part in self.slices])
