"""DIRECT (Jones, Perttunen & Stuckman 1993) on the objective itself.

"Lipschitzian Optimization Without the Lipschitz Constant", JOTA 79. The cube is divided into
boxes, each with its centre's value. In every iteration those are cut into thirds that may hold the
best point under some Lipschitz constant. Nothing is random and nothing is stored: the boxes are
divided anew from the study's trials for every query.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import rejecting
from optuna_hdbo._core.checks import check_number
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.maximise.direct import Boxes
from optuna_hdbo._core.outputs import finite
from optuna_hdbo._core.points import unknown_near
from optuna_hdbo.methods.base import Domain
from optuna_hdbo.methods.base import Method
from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion


KEY = "point"
"""Key under which a query's record has its point, for trials that fail."""


class DIRECT(Method):
    """DIRECT, without any model.

    The parameters are those of :class:`optuna_hdbo.baselines.DIRECTSampler`.
    """

    name = "direct"

    def __init__(self, *, epsilon: float = 1e-4) -> None:
        check_number("epsilon", epsilon, least=0.0)
        self.epsilon = float(epsilon)

    def suggest(self, domain: Domain, seen: Observations, streams: Streams) -> Suggestion:
        """Return the first centre that is not known."""
        boxes, answers = Boxes.whole(domain), _answers(domain, rejecting(seen))
        taken = {row.tobytes() for row in seen.known}
        while True:
            X = boxes.unanswered(domain)
            rows = [answers.get(domain.observed_at(x).tobytes()) for x in X]
            asked = [x for x, value in zip(X, rows, strict=True) if value is None]
            free = [x for x in asked if domain.observed_at(x).tobytes() not in taken]
            if free:
                return Suggestion(free[0], {KEY: free[0].tolist()}, {"boxes": float(boxes.n)})
            if asked or not boxes.go_on(np.array(rows, np.float64), self.epsilon):
                break  # all of them are running, or nothing is left to divide
        rng = streams.generator(self.name, seen.step)
        x = unknown_near(domain, domain.sample(rng, 1)[0], seen.known, rng)
        return Suggestion(x, None, {"boxes": float(boxes.n)})


def _answers(domain: Domain, seen: Observations) -> dict[bytes, float]:
    """Return the value of every finished point; that of a failed one is the worst of all."""
    values = finite(seen.values)
    worst, answers = float(values.min()), {}
    numbers = set(seen.numbers.tolist())
    for record in seen.records:
        if record.state == "running" or record.number in numbers:
            continue
        point = _point(record.data.get(KEY), len(domain))
        if point is not None:
            answers[domain.observed_at(point).tobytes()] = worst
    for x, value in zip(seen.X[::-1], values[::-1].tolist(), strict=True):
        answers[x.tobytes()] = value  # of equal points the first one
    return answers


def _point(data: Any, n_columns: int) -> FloatArray | None:
    try:
        point = np.array(data, np.float64)
    except (TypeError, ValueError):
        return None
    return point if point.shape == (n_columns,) and np.isfinite(point).all() else None
