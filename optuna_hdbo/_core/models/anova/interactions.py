"""Which columns interact: a search for the terms of an ANOVA model that the data ask for.

It starts with main effects only. Terms of two columns, and of three where no pair is left, are
added while the evidence for them overcomes the prior odds against them: a priori one of all pairs
(or triples) is expected to interact. So among more pairs each one has to convince more. Evidence
is a ratio of marginal likelihoods in which the variance of the term and that of the noise are
averaged over. The noise has to be, because without a term the noise explains what the term would.
The other hyperparameters are those of the model without the term.

Where many columns interact, each term is noise as long as the others are not in the model. So with
enough observations the search starts from the terms of groups of columns instead, which a search
over groupings has found, if their evidence overcomes the prior odds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from itertools import combinations

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.gp.fitted import cold_start
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.models.anova.components import ColumnFinding
from optuna_hdbo._core.models.anova.components import Components
from optuna_hdbo._core.models.anova.components import Findings
from optuna_hdbo._core.models.anova.components import PairFinding
from optuna_hdbo._core.models.anova.evidence import VARIANCES
from optuna_hdbo._core.models.anova.evidence import Evidence
from optuna_hdbo._core.models.anova.evidence import Marginal
from optuna_hdbo._core.models.anova.evidence import limit
from optuna_hdbo._core.models.anova.evidence import log_mean
from optuna_hdbo._core.models.anova.evidence import log_odds
from optuna_hdbo._core.models.anova.features import MANY_COLUMNS
from optuna_hdbo._core.models.anova.features import Conditional
from optuna_hdbo._core.models.anova.features import Features
from optuna_hdbo._core.models.anova.features import Term
from optuna_hdbo._core.models.anova.model import Fit
from optuna_hdbo._core.models.anova.model import start
from optuna_hdbo._core.models.groupings.learning import likeliest
from optuna_hdbo._core.models.groupings.packed import compared


CONVINCED = 0.95
"""Posterior probability from which on a term is taken in."""

_MARGIN = math.log(CONVINCED / (1.0 - CONVINCED))

TOGETHER = (8, 6, 4, 2)
"""Numbers of weak pairs that are tried together where none is convincing by itself."""

BATCH = 6
"""Most promising terms whose evidence is averaged over the noise, in every round."""

MOST_ROUNDS, MOST_TERMS = 12, 60

MOST_IN_TRIPLES = 24
"""Columns among which all triples are screened."""

FEW_PER_COLUMN = 10
"""With fewer observations per column than this, hyperparameters are also fitted afresh.

A sum of main effects can then interpolate the values, and a climb that has come to this does not
find back: it misses an interaction, or explains main effects that it took for noise by pairs.
"""

SMALL, MOST_AFRESH = 0.05, 3
"""Terms with less than this share of the variance are in doubt where observations are few, and so
many of them, and of pairs that are not taken in, are looked at under a fresh fit."""

LARGEST_GROUP, MOST_SCORED_PER_COLUMN = 5, 12
"""Most columns in a group whose terms the search may start from, and how many groupings are scored
to find it, per column."""


class Search:
    """The search for terms, by evidence under hyperparameters that are fitted in every round.

    Parameters
    ----------
    domain : Domain
    X : FloatArray, shape (n, D)
    y : FloatArray, shape (n,)
        Standardised.
    beside : Conditional, or None
        Columns that not all points have. Their main effects are in the model, so that these do not
        pass for interactions of the others.
    """

    def __init__(
        self, domain: Domain, X: FloatArray, y: FloatArray, beside: Conditional | None = None
    ) -> None:
        self._domain, self._X, self._y, self._D = domain, X, y, len(domain)
        self._features, self._beside = Features(domain, X, beside), beside
        self._n_main = len(self._features)
        self.pairs: list[Term] = list(combinations(range(self._D), 2))
        self._evidence = Evidence(self._features, y)
        self._model = self._evidence.model
        self.fit, self._alone = self._model(cold := start(self._n_main)).fitted(cold, 50)

    def run(self) -> Findings:
        """Return what is found."""
        few, alone = len(self._y) < FEW_PER_COLUMN * self._n_main, self.fit
        if self._D > 1:
            if not few and self._D <= MANY_COLUMNS:
                self._begin_with_groups()
            begun = self._joined()
            self._climb(few)
            gone, kept = begun - self._joined(), begun & self._joined()
            doubted = set(chain(*gone)) & set(chain(*kept))  # columns of groups that were wrong
            if doubted and self._D <= MOST_IN_TRIPLES:  # it takes too long with more
                self._climb_from(alone)
            if few and self._D <= MANY_COLUMNS and self._begin_afresh():
                self._climb(few)
        if few:
            self._drop_afresh()
        return self._findings()

    def _climb(self, few: bool) -> None:
        """Take in terms as long as the data ask for any."""
        for _ in range(MOST_ROUNDS):
            new = self._next_terms()[: self._n_main + MOST_TERMS - len(self.fit.terms)]
            if new:
                fit = self.fit.with_terms(new, [0.1] * len(new))
                self.fit, _ = self._model(fit).fitted(fit, 15)
                self._prune()
            elif not few or not self._add_afresh():
                break

    def _climb_from(self, fit: Fit) -> None:
        """Climb from another fit, and keep what is likelier."""
        found, self.fit = self.fit, fit
        self._climb(few=False)
        self.fit = max(found, self.fit, key=self._score)

    def _score(self, fit: Fit) -> float:
        """Return the log posterior of a fit less the prior odds against its interactions."""
        odds = log_odds(len(self.pairs)) * (len(fit.terms) - self._n_main)
        return self._model(fit).log_posterior(fit) - odds

    def _joined(self) -> set[Term]:
        """Return the pairs of columns that share a term."""
        return {pair for term in self.fit.terms[self._n_main :] for pair in combinations(term, 2)}

    def _begin_with_groups(self) -> None:
        """Take in the terms of groups of columns, if they are convincing together.

        The groups are those of an additive Gaussian process. Terms that no evidence supports are
        dropped again.
        """
        D, points = self._D, compared(self._X, self._y, 3 * self._D, np.random.default_rng(0))
        alone = cold_start(self._domain, "matern52", join([[c] for c in range(D)]), 0.5, 1e-3)
        found = likeliest(alone, *points, LARGEST_GROUP, MOST_SCORED_PER_COLUMN * D)
        groups = [group for group in found if len(group) > 1]
        terms: list[Term] = [t for g in groups for k in (2, 3) for t in combinations(g, k)]
        bar = sum(len(g) - 1 for g in groups) * log_odds(len(self.pairs)) + _MARGIN
        if 0 < len(terms) <= MOST_TERMS:
            fit, joint = self._afresh(terms)
            if joint - self._alone > bar:
                self.fit = fit
                self._prune()

    def _begin_afresh(self) -> bool:
        """Go back to a single pair if a fresh fit of it is likelier than what was found.

        The fit of the main effects may have ended where they interpolate the values, and nothing
        is left for a true interaction to explain. So these pairs are screened before any fit.
        """
        cold = start(self._n_main)
        marginal = self._evidence.marginals(cold)[0]
        _, order = self._screened(marginal, self.pairs, cold)
        found = [self._afresh([self.pairs[o]]) for o in order[:MOST_AFRESH]]
        best = max(found, key=lambda each: each[1])[0]
        if self._score(best) <= self._score(self.fit):
            return False
        self.fit = best
        return True

    def _afresh(self, terms: Sequence[Term]) -> tuple[Fit, float]:
        """Return hyperparameters of these interactions that no earlier fit has influenced."""
        fit = start(self._n_main).with_terms(terms, [0.3 / max(len(terms), 1)] * len(terms))
        fit = replace(fit, log_noise=math.log(0.01))
        return self._model(fit).fitted(fit, 50)

    def _add_afresh(self) -> bool:
        """Take in a promising pair that is convincing under a fresh fit; tell whether one was."""
        marginals, terms = self._evidence.marginals(self.fit), self.fit.terms[self._n_main :]
        rest = [pair for pair in self.pairs if pair not in terms]
        _, order = self._screened(marginals[0], rest, self.fit)
        found = [
            (self._evidence.of([rest[o]], self.fit, marginals)[0], rest[o]) for o in order[:BATCH]
        ]
        promising = [pair for value, pair in sorted(found, reverse=True) if value > 0.0]
        if not promising:
            return False
        apart = max(self._afresh(terms)[1], self._model(self.fit).fitted(self.fit, 10)[1])
        for pair in promising[:MOST_AFRESH]:
            fit, joint = self._afresh((*terms, pair))
            if joint - apart > self._bar([pair]):
                self.fit = fit
                self._prune()
                return pair in self.fit.terms
        return False

    def _drop_afresh(self) -> None:
        """Drop small terms that no evidence supports under a fresh fit without them."""
        supported: set[Term] = set()
        for _ in range(MOST_AFRESH):
            parts = dict(zip(self.fit.terms, self._model(self.fit).parts(self.fit), strict=True))
            least = SMALL * sum(parts.values())
            small = [t for t in self.fit.terms[self._n_main :] if parts[t] < least]
            small = [t for t in small if t not in supported]
            if not small:
                break
            term = min(small, key=lambda t: parts[t])
            fit, _ = self._afresh([t for t in self.fit.terms[self._n_main :] if t != term])
            if self._evidence.of([term], self.fit, self._evidence.marginals(fit))[0] > 0.0:
                supported.add(term)
            else:
                self.fit = fit
                self._prune()

    def _bar(self, block: Sequence[Term]) -> float:
        """Return the log evidence from which on a block of terms is taken in."""
        n = math.comb(self._D, max(len(term) for term in block))
        return log_odds(n) + _MARGIN

    def _screened(
        self, marginal: Marginal, terms: Sequence[Term], fit: Fit
    ) -> tuple[FloatArray, list[int]]:
        """Return the evidence for each term at the noise of a fit, and their places by it."""
        values = log_mean(self._evidence.screen(marginal, terms, fit), axis=1)
        return values, np.argsort(-values, kind="stable").tolist()

    def _next_terms(self) -> list[Term]:
        """Return the terms that the data ask for most: some pairs, or else a triple."""
        marginals, have = self._evidence.marginals(self.fit), set(self.fit.terms)
        rest = [pair for pair in self.pairs if pair not in have]
        if not rest:
            return []
        screened, ranked = self._screened(marginals[0], rest, self.fit)
        order = ranked[:BATCH]
        beyond = [
            self._evidence.of([rest[o]], self.fit, marginals)[0] - self._bar([rest[o]])
            for o in order
        ]
        least = max(0.0, 0.5 * max(beyond))
        new = [rest[o] for o, value in zip(order, beyond, strict=True) if value > least]
        likely = [rest[o] for o in np.argsort(-screened)[: TOGETHER[0]]]
        return (
            new
            or self._next_triple(marginals, dict(zip(rest, screened.tolist(), strict=True)))
            or self._next_together(marginals, likely)
        )

    def _next_triple(
        self, marginals: tuple[Marginal, Marginal], screened: dict[Term, float]
    ) -> list[Term]:
        """Return the likeliest term of three columns, maybe with its pairs; [] without any.

        Pairs that are too weak to be taken in one by one may be convincing with their triple.
        """
        have = set(self.fit.terms)
        size = np.exp(self.fit.log_variance[: self._D])  # main effects, and what pairs promise
        promised = 0.01 * np.array(list(screened.values()))
        np.maximum.at(size, np.array(list(screened)), promised[:, None])
        columns = sorted(np.argsort(-size, kind="stable")[:MOST_IN_TRIPLES].tolist())
        triples: list[Term] = [t for t in combinations(columns, 3) if t not in have]
        if not triples:
            return []
        own = log_mean(self._evidence.screen(marginals[0], triples, self.fit), axis=1)
        with_pairs = own + [
            sum(max(screened.get(pair, 0.0), -1.0) for pair in combinations(t, 2)) for t in triples
        ]
        orders = np.argsort(-own, kind="stable")[:BATCH], np.argsort(-with_pairs)[:BATCH]
        best: list[Term] = []
        best_value = 0.0
        for o in sorted({int(o) for order in orders for o in order}):
            missing = [pair for pair in combinations(triples[o], 2) if pair not in have]
            for block in ([triples[o]], [*missing, triples[o]]):
                value = self._evidence.of(block, self.fit, marginals)[0] - self._bar(block)
                if value > best_value:
                    best, best_value = block, value
        return best

    def _next_together(
        self, marginals: tuple[Marginal, Marginal], promising: list[Term]
    ) -> list[Term]:
        """Return the first pairs among the promising ones that are convincing together, or [].

        Each of many weak interactions is noise as long as the others are not in the model.
        """
        for k in TOGETHER:
            block = promising[:k]
            bar = math.log(math.comb(len(self.pairs), len(block))) + _MARGIN
            if (
                len(block) == k
                and self._evidence.of(block, self.fit, marginals, screening=True)[0] > bar
            ):
                return block
        return []

    def _prune(self) -> None:
        """Drop terms that no evidence supports any more, now that others are there."""
        gone = {term for term in self.fit.terms[self._n_main :] if self._without([term])[0] < 0.0}
        if gone:
            fit = self.fit.without(gone)
            self.fit, _ = self._model(fit).fitted(fit, 10)

    def _without(self, gone: list[Term]) -> tuple[float, FloatArray]:
        """Return the evidence for terms of the fit, against the fit without them."""
        marginals = self._evidence.marginals(self.fit.without(set(gone)))
        return self._evidence.of(gone, self.fit, marginals)

    def _against(self, columns: set[int]) -> tuple[float, FloatArray]:
        """Return the evidence for all terms that have these columns, against none of them."""
        return self._without([term for term in self.fit.terms if columns <= set(term)])

    def _findings(self) -> Findings:
        fit, D, joined = self.fit, self._D, self._joined()
        parts = Components(self._domain, self._X, self._y, fit, self._beside).parts()
        rest = [pair for pair in self.pairs if pair not in joined]
        marginal = self._evidence.marginals(fit)[0]
        gains = self._evidence.screen(marginal, rest, fit)
        weights = np.exp(gains - gains.max(axis=1, keepdims=True))
        pairs = {
            (pair[0], pair[1]): PairFinding(value, 0.0, most)
            for pair, value, most in zip(
                rest, log_mean(gains, 1).tolist(), limit(weights).tolist(), strict=True
            )
        }
        for i, j in sorted(joined):
            value, posterior = self._against({i, j})
            variance = sum(v for term, v in parts.items() if {i, j} <= set(term))
            pairs[i, j] = PairFinding(value, variance, float(limit(posterior)))
        columns, mains = [], self._evidence.screen(marginal, fit.terms[:D], fit)
        for i, gains in enumerate(mains):
            joint = sum(v for term, v in parts.items() if i in term and len(term) > 1)
            if joint == 0.0 and parts[(i,)] < VARIANCES[0]:  # the model is as good as without it
                value, posterior = float(log_mean(gains, axis=0)), np.exp(gains - gains.max())
            else:
                value, posterior = self._against({i})
            columns.append(ColumnFinding(value, parts[(i,)], joint, float(limit(posterior).max())))
        beside = sum(parts.pop((D + c,)) * p for c, p in enumerate(self._features.presence))
        return Findings(fit.terms[self._n_main :], pairs, tuple(columns), parts, fit.noise, beside)
