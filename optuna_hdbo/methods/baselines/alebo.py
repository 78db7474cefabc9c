"""ALEBO (Letham, Calandra, Rai & Bakshy 2020): a linear embedding without clipping.

"Re-Examining Linear Embeddings for High-Dimensional Bayesian Optimization", NeurIPS 2020. The
objective is searched at x = B^+ y, where the columns of B are uniform on the unit sphere, and only
where that is inside the cube. The kernel is a Mahalanobis kernel: distances along the columns that
matter are a quadratic form of y.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from typing import ClassVar

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import rejecting
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.inside import Place
from optuna_hdbo._core.embeddings.inside import embedding_key
from optuna_hdbo._core.embeddings.inside import inside
from optuna_hdbo._core.embeddings.mahalanobis import Averaged
from optuna_hdbo._core.embeddings.mahalanobis import Mahalanobis
from optuna_hdbo._core.embeddings.mahalanobis import draws
from optuna_hdbo._core.embeddings.mahalanobis import fit
from optuna_hdbo._core.embeddings.polytope import climb
from optuna_hdbo._core.embeddings.polytope import spherical
from optuna_hdbo._core.embeddings.polytope import walk
from optuna_hdbo._core.embeddings.search import N_OTHERS
from optuna_hdbo._core.embeddings.search import settle
from optuna_hdbo._core.memory import Memory
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


FIT = "mahalanobis"
"""Key under which fits are recorded."""

N_CANDIDATES, N_CLIMBS = 600, 2
"""Random points of the polytope, and the best of them and of all points that climbs start from."""

SHARES = (0.3, 0.1, 0.03)
"""How far points next to the best trial are on the way to random ones."""


class ALEBO(Method):
    """Expected improvements in an embedding with linear constraints.

    The parameters are those of :class:`optuna_hdbo.baselines.ALEBOSampler`.
    """

    name = "alebo"

    published: ClassVar[Mapping[str, Any]] = {
        "n_init": 10,
        "n_cyc": 1,
        "n_restarts": 10,
        "n_draws": 25,
        "noise": 1e-7,
    }
    """Ten points at the start, and a fit at every trial, are the paper's. The others are the
    defaults of the authors' code, which their benchmarks use. It fits a constant mean too; here
    the values have mean 0."""

    def __init__(
        self,
        *,
        d: int = 6,
        n_init: int = 5,
        n_cyc: int | None = None,
        n_restarts: int = 2,
        n_draws: int = 1,
        noise: float | None = None,
    ) -> None:
        check_integer("d", d, 1)
        check_integer("n_init", n_init, 1)
        check_integer("n_cyc", n_cyc, 1, optional=True)
        check_integer("n_restarts", n_restarts, 0)
        check_integer("n_draws", n_draws, 1)
        check_number("noise", noise, above=0.0, most=1.0, optional=True)
        self.d = d
        self.n_init = n_init
        self.n_cyc = n_cyc
        self.n_restarts = n_restarts
        self.n_draws = n_draws
        self.noise = noise
        self._drawn: tuple[int, Domain, Embedding] | None = None

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
            fitted = self._fitted(embedding, part, memory, rng)
            Y, pending = embedding.coordinates(part.X), embedding.coordinates(part.pending)
            models = draws(fitted, Y, part.y, self.n_draws, rng)
            model = Averaged(models, Y, part.y, pending)
            y = self._improve(embedding, part, model, rng)
            mean, variance = (float(moment[0]) for moment in model.predict(y[None]))
            std = part.std_in_units(mean, math.sqrt(variance))
            report = {"predicted": part.in_units(mean), "std": std}
        others = walk(embedding, np.zeros((N_OTHERS, embedding.d)), rng)
        u, *more = embedding.units(np.concatenate([y[None], others]))
        x = settle(embedding, u, Place(key, 0, ()), seen, memory, rng, np.array(more))
        return Suggestion(x, memory.kept or None, report)

    def _embedding(self, domain: Domain, key: int) -> Embedding:
        drawn = self._drawn
        if drawn is None or drawn[0] != key or not drawn[1].is_same_as(domain):
            drawn = self._drawn = key, domain, spherical(domain, min(self.d, len(domain)), key)
        return drawn[2]

    def _fitted(
        self, embedding: Embedding, part: Observations, memory: Memory, rng: np.random.Generator
    ) -> Mahalanobis:
        last = memory.recall(FIT, lambda data: Mahalanobis.from_json(data, embedding.d))
        n = len(part.values)
        pause = max(2, n // 20) if self.n_cyc is None else self.n_cyc
        if last is not None and last.n <= n < last.n + pause:
            return last
        starts = [Mahalanobis.random(embedding, rng) for _ in range(self.n_restarts)]
        starts += [Mahalanobis.cold(embedding.half), *([] if last is None else [last])]
        fitted = fit(starts, embedding.coordinates(part.X), part.y, self.noise)
        memory.keep(FIT, fitted.to_json())
        return fitted

    @staticmethod
    def _improve(
        embedding: Embedding, part: Observations, model: Averaged, rng: np.random.Generator
    ) -> FloatArray:
        """Return the coordinates (d,) of the largest expected improvement found."""
        best = embedding.coordinates(part.X[[int(np.argmax(part.y))]])
        drawn = walk(embedding, np.zeros((N_CANDIDATES, embedding.d)), rng)
        near = [best + share * (drawn[::4] - best) for share in SHARES]  # the polytope is convex
        pool = np.concatenate([drawn, *near])
        values = model.log_ei(pool)
        order = np.argsort(-values, kind="stable")
        far = [i for i in order if i < N_CANDIDATES]
        starts = dict.fromkeys([*order[:N_CLIMBS], *far[:N_CLIMBS]])
        climbs = [climb(embedding, model.slope, pool[i]) for i in starts]
        return max(climbs, key=lambda found: found[1])[0]
