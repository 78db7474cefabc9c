"""A function as a sum of main effects and interactions: its ANOVA decomposition.

    y = c + sum_i f_i(x_i) + sum_(i,j) f_ij(x_i, x_j) + sum_(i,j,k) f_ijk(x_i, x_j, x_k) + noise

Every term averages to zero over each of its columns when points are uniform. So a main effect
cannot pass for an interaction, and the variances of the terms add up to that of the function
(compare the orthogonal additive kernel of Lu, Boukouvalas & Hensman 2022). The terms are Gaussian
processes on orthonormal polynomials, and on contrasts for categorical columns:
f_u = sum_k w_k phi_k with w_k ~ N(0, s_u p_k), where the p_k add up to 1. So ``s_u`` is the
variance of the term over the cube. Each term has a small rough part besides, a product of Brownian
motions. Without it, the kinks that trials around an optimum show are taken for interactions.

Symbols: u, a term, is a tuple of columns; T, F, n are numbers of terms, of features, of points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.linalg import blas
from scipy.linalg import lapack

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fit import lowest
from optuna_hdbo._core.gp.likelihood import log_density
from optuna_hdbo._core.gp.posterior import factorise
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.features import Term
from optuna_hdbo._core.models.anova.features import shares_of_column
from optuna_hdbo._core.models.anova.features import shares_of_term


DECAY_BOX, VARIANCE_BOX, NOISE_BOX = (-3.0, 3.0), (1e-5, 30.0), (1e-5, 1.5)

ROUGHNESS_BOX = (1e-7, 1.0)

DECAY_SPREAD = 1.5
"""Standard deviation of the normal prior of logit decays; the mean decay is 1/2."""


CONSTANT = 100.0
"""Prior variance of the mean over the cube; that of the values is 1. Where trials crowd around the
optimum, that mean is many of their deviations away. Main effects took its place with 1."""


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

    def among(self, terms: tuple[Term, ...]) -> Fit:
        """Return the fit with all of these terms, those that it does not have at variance 0."""
        logs = dict(zip(self.terms, self.log_variance.tolist(), strict=True))
        here = np.array([logs.get(term, -math.inf) for term in terms])
        return replace(self, terms=terms, log_variance=here)


def start(n_columns: int) -> Fit:
    """Return the hyperparameters from which main effects are fitted."""
    return Fit(
        tuple((i,) for i in range(n_columns)),
        np.zeros(n_columns),
        np.full(n_columns, math.log(0.5 / n_columns)),
        math.log(0.1),
        math.log(1e-3),
    )


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
        self._rough = np.empty((len(terms), len(features.triangle)))
        for row, term in zip(self._rough, terms, strict=True):
            row[:] = features.rough(term)
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
        lower = blas.dsyrk(1.0, scaled.T, trans=1).T  # half the price of the whole product
        rough = np.exp(fit.log_variance + fit.log_roughness) @ self._rough
        lower.ravel()[self._features.triangle] += rough + CONSTANT
        return np.asarray(lower + np.tril(lower, -1).T, np.float64)

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
        W = np.outer(alpha, alpha) - lapack.dpotri(U, lower=0, overwrite_c=1)[0].T
        by_entry = 2.0 * np.take(W, self._features.triangle)
        by_entry[np.cumsum(np.arange(1, n + 1)) - 1] = np.diag(W)
        by_rough = 0.5 * (self._rough @ by_entry)
        by_rough *= np.exp(fit.log_variance + fit.log_roughness)
        fit_term = (self.F.T @ alpha) ** 2 - np.einsum("nk,nk->k", V, V)
        gradient = np.zeros_like(theta)
        for t, term in enumerate(self.terms):
            g = 0.5 * fit_term[self.slices[t]] * variances[t]
            gradient[D + t] = g.sum() + by_rough[t]
            for i, slope in zip(term, slopes[t], strict=True):
                gradient[i] += g @ slope
        gradient[-2:] = 0.5 * fit.noise * np.trace(W), by_rough.sum()
        value -= 0.5 * float(((fit.logit_decay / DECAY_SPREAD) ** 2).sum())
        gradient[:D] -= fit.logit_decay / DECAY_SPREAD**2
        return -value / n, -gradient / n

    def log_posterior(self, fit: Fit) -> float:
        """Return the log posterior of hyperparameters, less a constant."""
        return -self.objective(_packed(fit))[0] * len(self.y)

    def fitted(self, fit: Fit, n_steps: int) -> tuple[Fit, float]:
        """Return the hyperparameters that a climb from ``fit`` reaches, and the log posterior."""
        variances = [VARIANCE_BOX] * len(self.terms)
        logs = np.log([*variances, NOISE_BOX, ROUGHNESS_BOX])
        box = np.concatenate([[DECAY_BOX] * len(self._features), logs])
        theta, value = lowest(self.objective, [_packed(fit)], box, n_steps, ftol=1e-6)
        return self._unpack(theta), -value * len(self.y)

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


def _packed(fit: Fit) -> FloatArray:
    last = [fit.log_noise, fit.log_roughness]
    return np.concatenate([fit.logit_decay, fit.log_variance, last])
