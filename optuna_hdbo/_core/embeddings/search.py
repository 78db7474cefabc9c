"""What methods on embeddings have in common: a Gaussian process over the coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any
from typing import Literal

import numpy as np

from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.acquisition.confidence import check_beta
from optuna_hdbo._core.acquisition.confidence import root_beta
from optuna_hdbo._core.acquisition.constraints import ConstraintModels
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_flags
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.inside import KEY
from optuna_hdbo._core.embeddings.inside import Place
from optuna_hdbo._core.embeddings.inside import embedding_key
from optuna_hdbo._core.embeddings.inside import inside
from optuna_hdbo._core.embeddings.inside import rounded
from optuna_hdbo._core.gp.kernel import KINDS
from optuna_hdbo._core.maximise.queries import EnsembleQueries
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.models.ensemble import FLAT
from optuna_hdbo._core.models.ensemble import Ensemble
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo._core.streams import Streams


EmbeddedAcquisition = Literal["ei", "ucb"]
ACQUISITIONS = ("ei", "ucb")

N_OTHERS = 64
"""Random coordinates that are tried where the point of the chosen ones is already known."""


@dataclass(eq=False)
class EmbeddedSearch:
    """Suggestions from a Gaussian process over the coordinates of an embedding.

    Parameters
    ----------
    name : str
        Name of the method, in its random streams.
    draw : callable
        Returns the embedding of a domain, a number of coordinates and a key.
    d : int
        Coordinates; fewer where the domain has fewer columns.
    n_init : int
        Random points in every embedding before its process suggests points.
    n_embeddings : int
        Independent embeddings that take turns.
    acquisition : {"ei", "ucb"}
    beta : float, callable or str
        Width of the bound.
    kernel, ard, priors, n_cyc
        As for :class:`Ensemble`; without priors, hyperparameters maximise the likelihood.

    Raises
    ------
    ValueError
        For a setting outside of its range, naming it as the samplers do.
    """

    name: str
    draw: Callable[[Domain, int, int], Embedding]
    d: int
    n_init: int
    n_embeddings: int = 1
    acquisition: EmbeddedAcquisition = "ei"
    beta: Beta = "practical"
    kernel: str = "matern52"
    ard: bool = True
    priors: bool = True
    n_cyc: int | None = None
    _queries: dict[int, tuple[EnsembleQueries, ConstraintModels]] = field(
        default_factory=dict, init=False
    )
    _drawn: dict[int, tuple[int, Embedding]] = field(default_factory=dict, init=False)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_queries": {}, "_drawn": {}}  # as in Ensemble

    def __post_init__(self) -> None:
        check_flags(ard=self.ard, priors=self.priors)
        check_integer("d", self.d, 1)
        check_integer("n_embeddings", self.n_embeddings, 1)
        check_integer("n_init", self.n_init, 1)
        check_choice("acquisition", self.acquisition, ACQUISITIONS)
        check_beta(self.beta)
        check_choice("kernel", self.kernel, tuple(KINDS))
        check_integer("n_cyc", self.n_cyc, 1, optional=True)

    def suggest(
        self, domain: Domain, seen: Observations, streams: Streams
    ) -> tuple[FloatArray, dict[str, Any], dict[str, float]]:
        """Return the next point (D,), and what to record and to report with it."""
        key, part = self.key(seen, streams), seen.step % self.n_embeddings
        embedding = self._embedding(domain, key, part)
        return self.ask(embedding, Place(key, part, ()), seen, streams)

    def key(self, seen: Observations, streams: Streams) -> int:
        """Return the key of the study's embeddings."""
        return embedding_key(self.name, seen, streams)

    def ask(
        self, embedding: Embedding, place: Place, seen: Observations, streams: Streams
    ) -> tuple[FloatArray, dict[str, Any], dict[str, float]]:
        """Return the next point of an embedding, whose place has no coordinates yet."""
        rng, memory = streams.generator(self.name, seen.step), Memory(seen.records)
        part = inside(embedding, seen, place.key, place.part)
        report = {"embedding": float(place.part)}
        n = len(part.values)
        if n + len(part.pending) < self.n_init or n == 0:
            u = rng.random(embedding.d)
        else:
            queries, constraints = self._query(place.part % self.n_embeddings)
            width = root_beta(self.beta, n, embedding.d, embedding.d)
            u, model = queries.query(embedding.inner, part, memory, width, rng, constraints)
            report |= prediction(model.seen, model.posterior, u, model.evidence)
        x = settle(embedding, u, place, seen, memory, rng)
        return x, memory.kept, report

    def _embedding(self, domain: Domain, key: int, part: int) -> Embedding:
        drawn = self._drawn.get(part)
        if drawn is None or drawn[0] != key or not drawn[1].domain.is_same_as(domain):
            drawn = key, self.draw(domain, min(self.d, len(domain)), key + part)
            self._drawn[part] = drawn
        return drawn[1]

    def _query(self, number: int) -> tuple[EnsembleQueries, ConstraintModels]:
        if number not in self._queries:
            beliefs = (ALL_MATTER if self.priors else FLAT,)
            name = f"embedded{number}"
            models = Ensemble(self.kernel, self.ard, beliefs, self.n_cyc, name=name)
            acquisition: Literal["log-ei", "ucb"] = "log-ei" if self.acquisition == "ei" else "ucb"
            queries = EnsembleQueries(models, acquisition)
            self._queries[number] = queries, ConstraintModels(self.kernel, f"{name}:")
        return self._queries[number]


def settle(
    embedding: Embedding,
    u: FloatArray,
    place: Place,
    seen: Observations,
    memory: Memory,
    rng: np.random.Generator,
    others: FloatArray | None = None,
) -> FloatArray:
    """Return a point that is not known, at coordinates u (d,) or others, and record its place.

    Many coordinates may have one point: where clipping cuts them off, and where columns are
    discrete. The ``others (m, d)`` are random ones if none are given. Where the embedding has no
    other points, the point is next to it.
    """
    if others is None:
        others = rng.random((N_OTHERS, embedding.d))
    U = rounded(np.concatenate([u[None], others]))
    X = embedding.points(U)
    taken = {row.tobytes() for row in seen.known}
    for row, coordinates in zip(X, U, strict=True):
        if row.tobytes() not in taken:
            memory.keep(KEY, replace(place, u=tuple(coordinates.tolist())).to_json())
            return np.array(row)
    return unknown_near(embedding.domain, X[0], seen.known, rng)
