"""The evidence that values give for further terms of an ANOVA model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.anova.features import MANY_COLUMNS
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.features import Term
from optuna_hdbo._core.models.anova.marginal import VARIANCES
from optuna_hdbo._core.models.anova.marginal import Marginal
from optuna_hdbo._core.models.anova.model import Fit
from optuna_hdbo._core.models.anova.model import Model
from optuna_hdbo._core.models.anova.model import start


SCREEN_DEGREE = {1: 10, 2: 6, 3: 5}
"""Degrees of the features by which all terms are screened."""

EXTREME = 0.02
"""Share of the values, those furthest from the median, without which evidence has to stand."""

CHUNK = 6000
"""Features of terms that are held in memory at a time, but always those of one term."""


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
        """Return the gains of terms at the noise of a fit, shape (len(terms), len(VARIANCES))."""
        out = np.empty((len(terms), len(VARIANCES)))
        held: dict[int, tuple[list[int], list[FloatArray]]] = {}  # by the number of features
        n_held = 0
        for t, term in enumerate(terms):
            F = self._features.scaled(term, fit.logit_decay, self._screen_degree(term))
            places, made = held.setdefault(F.shape[1], ([], []))
            places.append(t)
            made.append(F)
            n_held += F.shape[1]
            if n_held < CHUNK and t < len(terms) - 1:
                continue
            for places, made in held.values():
                rotated = marginal.rotated(np.hstack(made))
                G = np.swapaxes(rotated.reshape(len(rotated), len(made), -1), 0, 1)
                out[places] = marginal.gains(G, fit.noise)
            held, n_held = {}, 0
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
