"""ALEBO (Letham, Calandra, Rai & Bakshy 2020): a linear embedding without clipping.

"Re-Examining Linear Embeddings for High-Dimensional Bayesian Optimization", NeurIPS 2020. The
objective is searched at x = B^+ y, where the columns of B are uniform on the unit sphere, and only
where that is inside the cube. The kernel is a Mahalanobis kernel: distances along the columns that
matter are a quadratic form of y.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import ClassVar

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.feasibility import rejecting
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.inside import Place
from optuna_hdbo._core.embeddings.inside import embedding_key
from optuna_hdbo._core.embeddings.inside import inside
from optuna_hdbo._core.embeddings.mahalanobis import Mahalanobis
from optuna_hdbo._core.embeddings.mahalanobis import fit
from optuna_hdbo._core.embeddings.polytope import climb
from optuna_hdbo._core.embeddings.polytope import spherical
from optuna_hdbo._core.embeddings.polytope import walk
from optuna_hdbo._core.embeddings.search import settle
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


FIT = "mahalanobis"
"""Key under which fits are recorded."""

N_CANDIDATES, N_CLIMBS = 300, 3
"""Random points of the polytope, and those from which climbs start."""


class ALEBO:
    """Expected improvements in an embedding with linear constraints.

    The parameters are those of :class:`optuna_hdbo.baselines.ALEBOSampler`.
    """

    name = "alebo"

    published: ClassVar[Mapping[str, Any]] = {"n_init": 10, "n_cyc": 1}
    """Settings of the paper: ten points at the start, and a fit at every trial. It averages over
    the Laplace approximation of the kernel's posterior; here its mode is used."""

    def __init__(self, *, d: int = 6, n_init: int = 5, n_cyc: int | None = None) -> None:
        check_integer("d", d, 1)
        check_integer("n_init", n_init, 1)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        self.d = d
        self.n_init = n_init
        self.n_cyc = n_cyc
        self._drawn: tuple[int, Domain, Embedding] | None = None

    def validate(self, domain: Domain) -> None:
        """Accept every domain."""

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        key = embedding_key(self.name, seen, streams)
        embedding = self._embedding(domain, key)
        part = inside(embedding, rejecting(seen), key, 0)
        n, report = len(part.values), {}
        if n == 0 or n + len(part.pending) < self.n_init:
            y = walk(embedding, np.zeros((1, embedding.d)), rng)[0]
        else:
            fitted = self._fitted(embedding, part, memory)
            Y, pending = embedding.coordinates(part.X), embedding.coordinates(part.pending)
            posterior = fitted.posterior(Y, part.y, pending)
            largest = float(posterior.fitted_values().max())
            improvement = Analytic.log_ei(posterior, largest)
            y = self._improve(embedding, fitted, part, improvement, rng)
            report = prediction(part, posterior, fitted.root @ y)
        u = embedding.units(y[None])[0]
        x = settle(embedding, u, Place(key, 0, ()), seen, memory, rng)
        return Suggestion(x, memory.kept or None, report)

    def _embedding(self, domain: Domain, key: int) -> Embedding:
        drawn = self._drawn
        if drawn is None or drawn[0] != key or not drawn[1].is_same_as(domain):
            drawn = self._drawn = key, domain, spherical(domain, min(self.d, len(domain)), key)
        return drawn[2]

    def _fitted(self, embedding: Embedding, part: Observations, memory: Memory) -> Mahalanobis:
        last = memory.recall(FIT, lambda data: Mahalanobis.from_json(data, embedding.d))
        n = len(part.values)
        pause = max(2, n // 20) if self.n_cyc is None else self.n_cyc
        if last is not None and last.n <= n < last.n + pause:
            return last
        starts = [Mahalanobis.cold(embedding.half), *([] if last is None else [last])]
        fitted = fit(starts, embedding.coordinates(part.X), part.y)
        memory.keep(FIT, fitted.to_json())
        return fitted

    @staticmethod
    def _improve(
        embedding: Embedding,
        fitted: Mahalanobis,
        part: Observations,
        improvement: Analytic,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the coordinates (d,) of the largest expected improvement found."""
        best = embedding.coordinates(part.X[[int(np.argmax(part.y))]])
        drawn = walk(embedding, np.zeros((N_CANDIDATES, embedding.d)), rng)
        near = best + 0.1 * (drawn[: N_CANDIDATES // 3] - best)  # the polytope is convex
        pool = np.concatenate([drawn, near])
        order = np.argsort(-improvement(pool @ fitted.root.T), kind="stable")[:N_CLIMBS]
        climbs = [climb(embedding, improvement, fitted.root, pool[i], rng) for i in order]
        return max(climbs, key=lambda found: found[1])[0]
