"""Every method in a domain whose columns are not always active."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from histories import CONDITIONAL
from histories import Ledger
from histories import affordable
from histories import is_admissible
from histories import method_classes

from optuna_hdbo._core.streams import Streams
from optuna_hdbo.methods.base import Method
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.hdbo import HDBO


MODELLING: dict[str, Callable[[], Method]] = {
    **{name: cls for name, cls in method_classes().items() if name not in ("soo", "bamsoo")},
    "hdbo": HDBO,
}


def height(x: np.ndarray) -> float:
    """A value for each choice, less the distance from its best point in its own columns."""
    active = CONDITIONAL.active(x[None])[0] & ~CONDITIONAL.discrete
    return float([0.0, 0.3, 0.1][int(x[0])] - ((x - 0.7)[active] ** 2).sum())


@pytest.mark.parametrize("build", list(MODELLING.values()), ids=list(MODELLING))
def test_points_are_in_a_branch(build: Callable[[], Method]) -> None:
    """Columns of other branches keep their value, and a fresh instance asks for the same."""
    ledger = Ledger.started(CONDITIONAL, 6, height)
    old = build()
    for step in range(affordable(14, 3)):
        pending = CONDITIONAL.sample(np.random.default_rng(step), step % 3)
        seen = ledger.seen(pending=pending)
        suggestion = old.suggest(CONDITIONAL, seen, Streams(0))
        again = build().suggest(CONDITIONAL, seen, Streams(0))
        assert np.array_equal(suggestion.x, again.x)
        assert is_admissible(CONDITIONAL, suggestion.x)
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)


@pytest.mark.parametrize("name", ["gp-ucb", "hdbo", "ms-ucb", "add-gp-ucb"])
def test_the_best_branch_is_found(name: str) -> None:
    ledger = Ledger.started(CONDITIONAL, 6, height)
    ledger.run(MODELLING[name](), affordable(40, 2))
    if affordable(True, False):
        assert max(ledger.values) > 0.29
        assert len({x[0] for x in ledger.X[6:]}) > 1


def test_the_portfolio_does_not_ask_its_tree() -> None:
    hdbo = HDBO()
    assert "tree" in hdbo.experts_for(replace(CONDITIONAL, gates={}))
    assert "tree" not in hdbo.experts_for(CONDITIONAL)
    assert not EXPERTS["tree"].branches


def test_a_tree_that_the_user_insists_on_goes_on() -> None:
    ledger = Ledger.started(CONDITIONAL, 6, height)
    suggestions = ledger.run(HDBO(experts=["tree"]), affordable(12, 3))
    assert all(np.isfinite(s.x).all() for s in suggestions)
