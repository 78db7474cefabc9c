"""Sequential random embeddings (Qian, Hu & Yu 2016).

"Derivative-Free Optimization of High-Dimensional Non-Convex Functions by Sequential Random
Embeddings", IJCAI 2016. Embeddings follow each other. Each goes through the best point x~ of the
trials before it: x = alpha x~ + A y, and (alpha, y) is searched (Algorithm 1 there). So columns of
small effect, which a single embedding neglects, are not lost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.inside import Place
from optuna_hdbo._core.embeddings.inside import places
from optuna_hdbo._core.embeddings.search import EmbeddedSearch
from optuna_hdbo._core.variables.cma import to_unit
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


class SRE(Method):
    """Bayesian optimisation in one embedding after another.

    The parameters are those of :class:`optuna_hdbo.baselines.SRESampler`.
    """

    name = "sre"

    def __init__(
        self,
        *,
        d: int = 6,
        n_stage: int = 40,
        n_init: int = 5,
        kernel: str = "matern52",
        n_cyc: int | None = None,
    ) -> None:
        check_integer("n_stage", n_stage, 2)
        self.d = d
        self.n_stage = n_stage
        self._search = EmbeddedSearch(
            self.name, Embedding.gaussian, d, n_init, kernel=kernel, n_cyc=n_cyc
        )

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        key = self._search.key(seen, streams)
        place = self._stage(seen, key)
        row = int(np.searchsorted(seen.numbers, place.base)) if place.base >= 0 else -1
        x = None if row < 0 else seen.X[row]
        embedding = through(domain, x, min(self.d, len(domain)), key + place.part)
        return Suggestion(*self._search.ask(embedding, place, seen, streams))

    def _stage(self, seen: Observations, key: int) -> Place:
        """Return the place of the next query: its stage, and the trial that it goes through."""
        known = set(seen.numbers.tolist())
        found = [p for _, p in places(seen, key) if p.base < 0 or p.base in known]
        if not found:
            return Place(key, 0, ())
        last = max(found, key=lambda place: place.part)
        same = [p for p in found if (p.part, p.base) == (last.part, last.base)]
        if len(same) < self.n_stage:
            return replace(last, u=())
        best = int(seen.numbers[int(np.argmax(merits(seen)))])
        return Place(key, last.part + 1, (), best)


def through(domain: Domain, x: FloatArray | None, d: int, key: int) -> Embedding:
    """Return the embedding alpha x~ + A y through a point x (D,), alpha in [-1, 1]; A y if None.

    x~ is the point in [-1, 1]^D, and y in [-sqrt(d), sqrt(d)]^d.
    """
    embedding = Embedding.gaussian(domain, d, key)
    if x is None:
        return embedding
    direction = 2.0 * to_unit(domain, x[None])[0] - 1.0
    matrix = np.concatenate([direction[:, None], embedding.matrix], axis=1)
    return Embedding(domain, matrix, np.concatenate([[1.0], embedding.half]))
