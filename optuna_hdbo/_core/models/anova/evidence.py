"""The evidence that values give for further terms of an ANOVA model, averaged over variances."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.models.anova.features import MANY_COLUMNS
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.features import Term
from optuna_hdbo._core.models.anova.model import Fit
from optuna_hdbo._core.models.anova.model import Model
from optuna_hdbo._core.models.anova.model import start


VARIANCES = np.exp(np.linspace(math.log(1e-4), math.log(2.0), 21))
"""Variances of a term over which its evidence is averaged; those of the values are 1."""

NOISES = np.exp(np.linspace(math.log(1e-5), 0.0, 11))
"""Variances of the noise over which evidence is averaged."""

SCREEN_DEGREE = {1: 10, 2: 6, 3: 5}
"""Degrees of the features by which all terms are screened."""

EXTREME = 0.02
"""Share of the values, those furthest from the median, without which evidence has to stand."""

CHUNK = 6000
"""Features of terms that are held in memory at a time, but always those of one term."""


class Marginal:
    """Marginal likelihoods of values (n,) under covariances K (n, n) and features added to them.

    One eigendecomposition serves every level of the noise. It is made when it is first needed.
    """

    def __init__(self, K: FloatArray, y: FloatArray) -> None:
        self._given = K, y

    @cached_property
    def _decomposed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Eigenvalues (n,) and eigenvectors (n, n) of K, and y in their basis."""
        values, Q = np.linalg.eigh(self._given[0])
        return np.maximum(values, 0.0), Q, Q.T @ self._given[1]

    @cached_property
    def _apart(self) -> FloatArray:
        return np.array([self.value(noise) for noise in NOISES.tolist()])

    def value(self, noise: float) -> float:
        """Return the log likelihood without further features, less a constant."""
        values, _, y = self._decomposed
        d = values + noise
        return float(-0.5 * np.log(d).sum() - 0.5 * (y**2 / d).sum())

    def rotated(self, F: FloatArray) -> FloatArray:
        """Return features (n, m) in the basis of the eigenvectors."""
        return np.asarray(self._decomposed[1].T @ F, np.float64)

    def gains(self, G: FloatArray, noise: float | FloatArray) -> FloatArray:
        """Return what terms add to the log likelihood, for each of :data:`VARIANCES`.

        Parameters
        ----------
        G : FloatArray, shape (t, n, m)
            Rotated features of t terms.
        noise : float or FloatArray, shape (t,)

        Returns
        -------
        FloatArray, shape (t, len(VARIANCES))
        """
        d, _, y = self._decomposed
        root = np.sqrt(d[:, None] + noise).T.reshape(-1, len(y), 1)
        H = G / root
        z, transposed = y[:, None] / root, np.swapaxes(H, 1, 2)
        if G.shape[2] <= len(y):
            values, V = np.linalg.eigh(transposed @ H)
            values = np.maximum(values, 0.0)
            squares = ((np.swapaxes(V, 1, 2) @ (transposed @ z))[:, :, 0]) ** 2
        else:  # the smaller of the two matrices that have the same positive eigenvalues
            values, V = np.linalg.eigh(H @ transposed)
            values = np.maximum(values, 0.0)
            squares = values * (np.swapaxes(V, 1, 2) @ z)[:, :, 0] ** 2
        values, squares, s = values[:, None, :], squares[:, None, :], VARIANCES[None, :, None]
        explained = s * squares / (1.0 + s * values) - np.log1p(s * values)
        return np.asarray(0.5 * explained.sum(axis=2), np.float64)

    def evidence(self, F: FloatArray) -> tuple[float, FloatArray]:
        """Return the log evidence for features (n, m), and the posterior of their variance.

        The posterior has one weight for each of :data:`VARIANCES`; they add up to 1.
        """
        G = np.broadcast_to(self.rotated(F), (len(NOISES), *F.shape))
        gains, apart = self.gains(G, NOISES), self._apart
        joint = log_mean(apart[:, None] + gains, axis=0)
        weights = np.exp(joint - joint.max())
        return float(log_mean(joint, 0) - log_mean(apart, 0)), weights / weights.sum()


class Evidence:
    """What values say about terms, under hyperparameters that are given.

    Parameters
    ----------
    features : Features
        Those of the points.
    y : FloatArray, shape (n,)
        Standardised.
    """

    def __init__(self, features: Features, y: FloatArray) -> None:
        self._features, self._y = features, y
        order = np.argsort(np.abs(y - np.median(y)), kind="stable")
        self._ordinary = np.sort(order[: len(y) - math.ceil(EXTREME * len(y))])
        self._model = Model(features, y, start(len(features)).terms)
        self._screened: dict[int, tuple[Fit | None, Sequence[Term], FloatArray]] = {}  # by size

    def model(self, fit: Fit) -> Model:
        """Return the model that has the terms of a fit; the last one is kept."""
        if self._model.terms != fit.terms:
            self._model = Model(self._features, self._y, fit.terms)
        return self._model

    def marginals(self, fit: Fit) -> tuple[Marginal, Marginal]:
        """Return the likelihoods of all values, and of those without the most extreme ones."""
        if set(fit.terms) <= set(self._model.terms):  # less work than another model
            fit = fit.among(self._model.terms)
        K, kept = self.model(fit).gram(fit), self._ordinary
        return Marginal(K, self._y), Marginal(K[np.ix_(kept, kept)], self._y[kept])

    def _screen_degree(self, term: Term) -> int:
        many = len(self._features) > MANY_COLUMNS
        return len(term) + 1 if many else SCREEN_DEGREE[len(term)]

    def screen(self, marginal: Marginal, terms: Sequence[Term], fit: Fit) -> FloatArray:
        """Return the gains of terms at the noise of a fit, shape (len(terms), len(VARIANCES)).

        All terms have equally many columns. The marginal is that of the fit.
        """
        out = np.empty((len(terms), len(VARIANCES)))
        if not terms:
            return out
        # Several steps of a search ask about the pairs of one fit.
        known, same, gains = self._screened.get(len(terms[0]), (None, terms, out))
        if known is fit and same == terms:
            return gains
        degree = self._screen_degree(terms[0])
        for places, F in self._features.portions(terms, fit.logit_decay, degree, CHUNK):
            G = marginal.rotated(F.reshape(-1, F.shape[2]).T).T.reshape(F.shape)
            out[places] = marginal.gains(np.swapaxes(G, 1, 2), fit.noise)
        self._screened[len(terms[0])] = fit, terms, out
        return out

    def of(
        self,
        block: Sequence[Term],
        fit: Fit,
        marginals: tuple[Marginal, Marginal],
        *,
        screening: bool = False,
    ) -> tuple[float, FloatArray]:
        """Return the log evidence for some terms together, and the posterior of their variance.

        It is that of all values. If that is positive, the log evidence without the most extreme
        values is computed too, and the smaller one counts: a single trial that went wrong is no
        evidence for an interaction.
        """
        scaled = []
        for term in block:
            degree = self._screen_degree(term) if screening else None
            scaled.append(self._features.scaled(term, fit.logit_decay, degree))
        F = np.hstack(scaled) / math.sqrt(len(block))
        value, weights = marginals[0].evidence(F)
        if value > 0.0:
            value = min(value, marginals[1].evidence(F[self._ordinary])[0])
        return value, weights


def log_odds(n: int) -> float:
    """Return the log of the prior odds against each of n terms, of which one is expected."""
    return math.log(max(n - 1, 1))


def log_mean(values: FloatArray, axis: int) -> FloatArray:
    """Return the logarithm of the mean of exponentials along an axis."""
    most = values.max(axis=axis, keepdims=True)
    return np.asarray(
        most.squeeze(axis) + np.log(np.exp(values - most).mean(axis=axis)), np.float64
    )


def limit(weights: FloatArray) -> FloatArray:
    """Return the variance that is not exceeded with 95 % under weights (..., len(VARIANCES))."""
    cumulative = np.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
    return np.asarray(VARIANCES[np.minimum((cumulative < 0.95).sum(axis=-1), len(VARIANCES) - 1)])
