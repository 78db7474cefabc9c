"""What is known about the terms of an ANOVA model: their posterior, and a search's findings.

Each term u has the prior covariance s_u (sum_k p_k phi_k(x) phi_k(z) + rho R_u(x, z)), its smooth
and its rough part (see :mod:`optuna_hdbo._core.models.anova.model`). Given values y with the
covariance matrix C = K + noise, the sum of some terms has the mean c(z)^T C^-1 y and the variance
c(z, z) - c(z)^T C^-1 c(z), where c has the covariances of these terms only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.posterior import factorise
from optuna_hdbo._core.models.anova.features import Conditional
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.features import Term
from optuna_hdbo._core.models.anova.model import Fit
from optuna_hdbo._core.models.anova.model import Model


LEAST_LOG_ROUGHNESS = math.log(1e-3)
"""Rough parts of less than this share are left out of the terms' variances."""

N_POINTS = 256
"""Points over which rough parts are averaged."""


class Components:
    """The posterior of the terms of a fitted ANOVA model.

    Parameters
    ----------
    domain : Domain
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
        Standardised.
    fit : Fit
    beside : Conditional, or None
        The columns that not all points have.
    """

    def __init__(
        self,
        domain: Domain,
        X: FloatArray,
        y: FloatArray,
        fit: Fit,
        beside: Conditional | None = None,
    ) -> None:
        self._domain, self._y, self._fit = domain, y, fit
        self._features = Features(domain, X, beside)
        self._model = Model(self._features, y, fit.terms)
        self._scales = dict(zip(fit.terms, np.exp(fit.log_variance).tolist(), strict=True))
        K = self._model.gram(fit)
        K.flat[:: len(y) + 1] += fit.noise
        self._U = factorise(K)[0]
        inverse = lapack.dpotri(self._U, lower=0)[0]
        self._inverse = inverse + np.triu(inverse, 1).T
        self._alpha = self._inverse @ y

    @property
    def residuals(self) -> FloatArray:
        """What the model takes for noise in the values, shape (n,)."""
        return np.asarray(self._fit.noise * self._alpha, np.float64)

    def of(self, terms: Sequence[Term], Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the sum of some terms at points Z (m, D), each (m,).

        Only the columns of the terms are looked at, none of which is conditional.
        """
        there = Features(self._domain, Z, like=self._features)
        crossed = np.zeros((len(self._y), len(Z)))
        variance = np.zeros(len(Z))
        for term in terms:
            for covariances, own in (self._smooth(term, there), self._rough(term, there)):
                crossed += covariances
                variance += own
        V = lapack.dtrtrs(self._U, crossed, lower=0, trans=1)[0]
        spread = np.maximum(variance - np.einsum("nm,nm->m", V, V), 0.0)
        return np.asarray(crossed.T @ self._alpha, np.float64), spread

    def parts(self) -> dict[Term, float]:
        """Return the variance of every term over the cube, expected under the posterior.

        That of the smooth part is exact. What the rough part adds is averaged over random points,
        except for terms of conditional columns.
        """
        if not self._y.any():  # equal values: what is left is the prior
            return dict.fromkeys(self._fit.terms, 0.0)
        parts = dict(zip(self._fit.terms, self._model.parts(self._fit).tolist(), strict=True))
        if self._fit.log_roughness > LEAST_LOG_ROUGHNESS:
            Z = self._domain.sample(np.random.default_rng(0), N_POINTS)
            there = Features(self._domain, Z, like=self._features)
            for term in parts:
                if max(term) < len(self._domain):
                    parts[term] = max(parts[term] + self._added(term, there), 0.0)
        return parts

    def _added(self, term: Term, there: Features) -> float:
        """Return what a term's rough part adds to its variance, averaged over other points."""
        (smooth, _), (rough, variance) = self._smooth(term, there), self._rough(term, there)
        V, W = (lapack.dtrtrs(self._U, c, lower=0, trans=1)[0] for c in (smooth, rough))
        means, added = smooth.T @ self._alpha, rough.T @ self._alpha
        spread = variance - np.einsum("nm,nm->m", W, W + 2.0 * V)
        return float((added * (added + 2.0 * means) + spread).mean())

    def _smooth(self, term: Term, there: Features) -> tuple[FloatArray, FloatArray]:
        """Return the prior covariances (n, m) of a term's smooth part, and its variances (m,)."""
        here = self._features.scaled(term, self._fit.logit_decay)
        F = there.scaled(term, self._fit.logit_decay)
        scale = self._scales[term]
        return scale * here @ F.T, scale * (F**2).sum(axis=1)

    def _rough(self, term: Term, there: Features) -> tuple[FloatArray, FloatArray]:
        """Return the prior covariances (n, m) of a term's rough part, and its variances (m,)."""
        scale = self._scales[term] * math.exp(self._fit.log_roughness)
        rough = self._features.rough_with(there, term)
        return scale * rough, scale * there.rough_variance(term)

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Return what the model predicts for every value from all the others: mean and variance.

        The variance has the noise in it. Hyperparameters are those of all values, so that errors
        are a little larger than they look.
        """
        variance = 1.0 / np.diag(self._inverse)
        return self._y - self._alpha * variance, variance


Pair = tuple[int, int]


@dataclass(frozen=True)
class PairFinding:
    """What is known about two columns.

    Parameters
    ----------
    log_evidence : float
        Log evidence for all terms that have both columns, against none, in nats.
    variance : float
        Variance of these terms over the cube, expected under the posterior; 0 without any.
    limit : float
        With a probability of 95 %, the variance of the pair's own term is below this.
    """

    log_evidence: float
    variance: float
    limit: float


@dataclass(frozen=True)
class ColumnFinding:
    """What is known about one column.

    Parameters
    ----------
    log_evidence : float
        Log evidence for all terms that have the column, against none, in nats.
    main, joint : float
        Variances of its main effect, and of all terms that it shares with others.
    limit : float
        With a probability of 95 %, the variance of its main effect is below this.
    """

    log_evidence: float
    main: float
    joint: float
    limit: float


@dataclass(frozen=True, eq=False)
class Findings:
    """Terms that the data ask for, and what is known about all pairs and columns.

    ``parts`` are the variances of all terms over the cube, main effects first; that of the values
    is 1. ``beside`` is the variance of the main effects of conditional columns at the points.
    """

    terms: tuple[Term, ...]
    pairs: dict[Pair, PairFinding]
    columns: tuple[ColumnFinding, ...]
    parts: dict[Term, float]
    noise: float
    beside: float = 0.0

    @property
    def variance(self) -> float:
        """Variance of the whole function over the cube, and never 0: shares are divided by it."""
        return max(sum(self.parts.values()), 1e-12)
