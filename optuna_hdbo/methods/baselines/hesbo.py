"""HeSBO (Nayebi, Munteanu & Poloczek 2019): hashing instead of a Gaussian embedding.

"A Framework for Bayesian Optimization in Embedded Subspaces", ICML 2019. Every column is plus or
minus one of d coordinates in [-1, 1], drawn at random (Algorithm 1 there). No point is clipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import ClassVar

from optuna_hdbo._core.acquisition.confidence import Beta
from optuna_hdbo._core.embeddings.embedding import Embedding
from optuna_hdbo._core.embeddings.search import EmbeddedAcquisition
from optuna_hdbo._core.embeddings.search import EmbeddedSearch
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


class HeSBO(Method):
    """Bayesian optimisation in an embedding by a count sketch.

    The parameters are those of :class:`optuna_hdbo.baselines.HeSBOSampler`.
    """

    name = "hesbo"

    published: ClassVar[Mapping[str, Any]] = {
        "priors": False,
        "n_cyc": 5,
        "n_startup_trials": 1,
    }
    """Settings of the authors' code: a Matern-5/2 kernel, fitted at every fifth observation.

    That code maximises the expected improvement over 2000 points. Here gradients are followed.
    """

    def __init__(
        self,
        *,
        d: int = 6,
        n_init: int = 5,
        acquisition: EmbeddedAcquisition = "ei",
        beta: Beta = "practical",
        kernel: str = "matern52",
        ard: bool = True,
        priors: bool = True,
        n_cyc: int | None = None,
    ) -> None:
        self._search = EmbeddedSearch(
            self.name,
            Embedding.hashed,
            d,
            n_init,
            acquisition=acquisition,
            beta=beta,
            kernel=kernel,
            ard=ard,
            priors=priors,
            n_cyc=n_cyc,
        )

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the next point."""
        return Suggestion(*self._search.suggest(domain, seen, streams))
