"""Focused queries: steps around the best trial, where a fit says that few of many columns matter.

The experts' fits begin at earlier ones. So they go on trusting columns that only seemed to matter
when there were few trials, and spend queries on them. A fit from a cold start sees sooner which
columns matter. Once such a fit explains the objective, a part of the queries of the first search
are focused ones: the largest expected improvement under that fit, in a box around the best trial.
Most of them move only the columns that matter. The others move all columns, because one of little
influence may still hide the last digits.

How many queries are focused is decided as between experts, by rates of success.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_hdbo._core.acquisition.feasibility import merits
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.fitted import FactorCache
from optuna_hdbo._core.maximise.queries import prediction
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations
from optuna_hdbo.methods.base import Suggestion
from optuna_hdbo.portfolio import credit
from optuna_hdbo.portfolio.credit import Credit
from optuna_hdbo.portfolio.panel import QUERY
from optuna_hdbo.portfolio.panel import may_refine
from optuna_hdbo.portfolio.panel import refines
from optuna_hdbo.portfolio.searches import few
from optuna_hdbo.portfolio.searches import restart


KEY = "focused"
"""Key under which a query's record keeps that it is focused."""

LEAST_COLUMNS = 30
"""Columns below which no queries are focused."""

LEAST_TRIALS = 30
"""Trials before the first fit that may focus queries."""

SHARE_OF_WHOLE = 0.4
"""Share of the focused queries that move all columns."""

PRIOR = Credit(2.0, 2.0)
"""Pseudo-counts of successes and failures, of focused queries and of all others alike."""


def next_query(
    domain: Domain,
    seen: Observations,
    turn: restart.Turn,
    memory: Memory,
    rng: np.random.Generator,
) -> Suggestion | None:
    """Return a focused query if it is the turn of one, ``None`` if not.

    Parameters
    ----------
    domain : Domain
        Without gates.
    seen : Observations
    turn : Turn
        Nothing is focused where it is the turn of a search afresh.
    memory : Memory
        Keeps the fit that says which columns matter.
    rng : numpy.random.Generator
    """
    if domain.breadth < LEAST_COLUMNS or len(seen.y) < LEAST_TRIALS:
        return None
    if turn.is_later(few.FADING) or not _is_its_turn(seen, turn, rng):
        return None
    step = few.next_step(domain, seen, memory)
    if step is None:
        return None
    row = int(np.argmax(merits(seen)))
    if rng.random() < SHARE_OF_WHOLE:
        step = replace(step, columns=np.arange(len(domain)))
    posterior = FactorCache().posterior(step.fitted, seen.X, seen.y, seen.pending)
    x = step.best(domain, seen, posterior, row, rng)
    near = refines(domain, x, seen.X[row])
    if near and not may_refine(turn.first.seen):
        return None
    said: dict[str, float | str] = {credit.KEY: few.EXPERT, QUERY: "refine" if near else "search"}
    report = {**prediction(seen, posterior, x), **said}
    return Suggestion(x, {**said, KEY: True, **memory.kept}, report)


def _is_its_turn(seen: Observations, turn: restart.Turn, rng: np.random.Generator) -> bool:
    """Draw whether the next query is focused, by the rates of success of both kinds."""
    better = credit.gains(seen, merits(seen))
    ended = (
        (record.data.get(KEY) is True, record.number in better)
        for record in turn.first.seen.records
        if record.state != "running"
    )
    return credit.is_ahead(ended, PRIOR, rng)
