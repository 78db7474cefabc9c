"""A panel of experts: which queries count as refinements of the best point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import make_domain

from optuna_hdbo.methods.base import Observations
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio.panel import REFINED
from optuna_hdbo.portfolio.panel import Panel
from optuna_hdbo.portfolio.panel import refines


class Nearby:
    """An expert whose points are so far from the best one in every column."""

    name = "nearby"

    def __init__(self, step: float) -> None:
        self._step = step

    def validate(self, domain: Any) -> None:
        """Accept every domain."""

    def suggest(self, domain: Any, seen: Observations, streams: Streams) -> Suggestion:
        return Suggestion(seen.X[int(np.argmax(seen.values))] + self._step)


@pytest.mark.parametrize(("far", "kind"), [(0.99, "refine"), (1.01, "search")])
@pytest.mark.parametrize("share", [None, 0.25], ids=["whole", "box"])
def test_queries_refine_the_best_point_within_a_thousandth_of_the_whole_ranges(
    share: float | None, far: float, kind: str
) -> None:
    domain = make_domain(None, None, None)
    seen = Observations.from_arrays(np.full((2, 3), 0.5), np.array([0.0, 1.0]))
    shares = {} if share is None else {"share": share}
    panel = Panel({"local": Nearby(far * REFINED / (share or 1.0))})
    asked = panel.suggest(
        domain, seen, Streams(0), ("local",), kind="few real", may_refine=True, **shares
    )
    assert asked.report["query"] == kind


@pytest.mark.parametrize(
    ("may_refine", "steps", "kind"),
    [
        (True, (0.0, 0.3), "pending"),
        (False, (0.3,), "pending"),
        (False, (0.0, 0.3), "elsewhere"),
        (False, (0.0,), "elsewhere"),
    ],
)
def test_what_nobody_may_ask_for_is_told_from_what_others_evaluate(
    may_refine: bool, steps: tuple[float, ...], kind: str
) -> None:
    domain = make_domain(None, None, None)
    seen = Observations.from_arrays(np.full((2, 3), 0.5), np.array([0.0, 1.0]))
    seen = replace(seen, pending=np.array([np.full(3, 0.5 + step) for step in (0.0, 0.3)]))
    names = ("local", "global")[: len(steps)]
    panel = Panel({name: Nearby(step) for name, step in zip(names, steps, strict=True)})
    asked = panel.suggest(domain, seen, Streams(0), names, kind="few real", may_refine=may_refine)
    assert asked.report["query"] == kind


def test_points_of_which_all_columns_are_discrete_refine_nothing() -> None:
    x = np.full(2, 0.5)
    assert refines(make_domain(5, None), x, x)
    assert not refines(make_domain(5, "3"), x, x)
