"""What SOO and BaMSOO have in common: suggestions from a partition tree."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.observations import Observations
from optuna_hdbo._core.streams import Streams
from optuna_hdbo._core.tree.replay import Replay


_logger = logging.getLogger(f"optuna.{__name__}")  # so that Optuna's verbosity holds


@dataclass(eq=False)
class TreeSearch:
    """Asks a replayed tree for its next node, and does without one where nothing is left.

    Parameters
    ----------
    name : str
        Name of the method, in its random stream and in the log.
    replay : Replay
    """

    name: str
    replay: Replay
    _warned: bool = field(default=False, init=False)

    def next(
        self, domain: Domain, seen: Observations, streams: Streams
    ) -> tuple[FloatArray, dict[str, Any], dict[str, float]]:
        """Return the next point (D,), and what to record and to report with it."""
        grown = self.replay.grow(domain, seen)
        tree = grown.tree
        report = {"nodes": float(len(tree)), "rejected_nodes": float(tree.n_rejected)}
        if grown.node is not None:
            report["depth"] = float(grown.depth)
            return grown.x.copy(), grown.record, report
        if grown.idle and not self._warned:
            self._warned = True
            _logger.warning(
                f"The tree of {self.name} has no cell left to split: every configuration of the "
                f"search space is known. From trial {seen.step} on, known ones are repeated."
            )
        rng = streams.generator(self.name, seen.step)
        return _unlike(domain.sample(rng, 64), seen.pending), grown.record, report


def _unlike(X: FloatArray, taken: FloatArray) -> FloatArray:
    """Return the first row of X that is not among ``taken``, or the first one."""
    free = ~(X[:, None, :] == taken[None, :, :]).all(axis=2).any(axis=1)
    return np.array(X[int(np.argmax(free))])
