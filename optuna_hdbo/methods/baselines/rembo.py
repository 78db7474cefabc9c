"""REMBO (Wang, Zoghi, Hutter, Matheson & de Freitas 2013): random Gaussian embeddings.

"Bayesian Optimization in High Dimensions via Random Embeddings", IJCAI 2013. The objective is
modelled and searched over y in [-sqrt(d), sqrt(d)]^d, and evaluated at x = clip(A y) with a matrix
A of standard normal numbers (Algorithm 2 there). Interleaved REMBO runs several of them in turn.
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


class REMBO(Method):
    """Bayesian optimisation in random Gaussian embeddings.

    The parameters are those of :class:`optuna_hdbo.baselines.REMBOSampler`.
    """

    name = "rembo"

    published: ClassVar[Mapping[str, Any]] = {
        "kernel": "se",
        "ard": False,
        "priors": False,
        "n_cyc": 1,
        "n_startup_trials": 1,
    }
    """Settings of the paper: a squared exponential kernel with one lengthscale, on y.

    The paper fits it by a bounded maximum likelihood (its Algorithm 3) and maximises with DIRECT
    and CMA-ES. Here the likelihood and gradients are used.
    """

    def __init__(
        self,
        *,
        d: int = 6,
        n_embeddings: int = 1,
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
            Embedding.gaussian,
            d,
            n_init,
            n_embeddings=n_embeddings,
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
