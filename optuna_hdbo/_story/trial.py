"""Why a trial was suggested, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any

from optuna.distributions import CategoricalDistribution
from optuna.study import StudyDirection
from optuna.trial import TrialState

from optuna_hdbo._story.opinions import opinions
from optuna_hdbo._story.queries import AFRESH
from optuna_hdbo._story.queries import AGAIN
from optuna_hdbo._story.queries import HONEST
from optuna_hdbo._story.queries import Query
from optuna_hdbo._story.queries import best_known_then
from optuna_hdbo._story.queries import reported
from optuna_hdbo._story.queries import value_of
from optuna_hdbo._story.words import count
from optuna_hdbo._story.words import numeral
from optuna_hdbo._story.words import visible
from optuna_hdbo._study.attributes import enqueued_params
from optuna_hdbo._study.space import SearchSpace
from optuna_hdbo.portfolio.hdbo import SIDE
from optuna_hdbo.portfolio.noise import REPEATED
from optuna_hdbo.portfolio.searches.restart import KEY as RESTART


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


MOST_MOVES = 5
"""At most this many parameters are listed with their move."""

LEAST_MOVE = 0.01
"""Smaller moves, in shares of the range, are summed up in one sentence."""

WORDS = {
    "local": "a trust region around the best trial",
    "global": "Gaussian processes over the whole space",
    "tree": "a tree of cells beside a Gaussian process",
    "groups": "groups of interacting parameters",
    "quadratic": "a quadratic model around the best trial",
    "steps": "points spread around the best trials, because values repeat",
    "selection": "the few parameters that matter",
    "subspaces": "many random subspaces",
}
FURTHEST = "so this is the furthest of some random points from all known ones."
KINDS = {
    "search": "It searched for a better point.",
    "refine": "It refined the best point.",
    "elsewhere": "All experts would have refined the best point once more, which they had done "
    f"too often, or asked for points that others evaluated; {FURTHEST}",
    "pending": f"All experts asked for points that others evaluated; {FURTHEST}",
    "restart": "A search began afresh at random points, or a new option of a choice was tried.",
    "repeat": "A model took a part of the differences for noise. Where there is none, points that "
    "are so close together have equal values.",
}
STATES = {
    TrialState.RUNNING: "It is still running.",
    TrialState.WAITING: "It waits to be run.",
    TrialState.FAIL: "It failed, so it has no value.",
}
SURPRISES = (
    (1.0, "a small error"),
    (HONEST, "an ordinary error"),
    (3.0, "a surprise"),
)
"""Largest errors, in standard deviations, and what they are called."""


def explain_trial(study: Study, queries: list[Query], query: Query) -> tuple[str, dict[str, Any]]:
    """Return the text and the facts; see :class:`optuna_hdbo.Explanation`."""
    trial = query.trial
    best = best_known_then(study, queries, trial)
    moves = {} if best is None else _moves(trial, best)
    lines = [f"Trial {trial.number} {_origin(queries, query)}"]
    if query.kind is not None:
        lines.append(KINDS[query.kind])
    began = reported(trial, RESTART)
    if query.expert is not None and began is not None:
        lines.append(f"It did so in a search that began afresh at trial {began:.0f}.")
    side = reported(trial, SIDE)
    if query.expert is not None and side is not None and side > 0.0:
        lines.append(f"It did so in a box around the best trial, {side:.0%} of the ranges wide.")
    step = _step(query, best)
    lines += [_outcome(study, query, step)]
    if best is not None:
        lines.append(_comparison(query, best, moves, step))
    others = opinions(study, queries, trial)
    if others:
        lines.append(_told_opinions(others, value_of(trial)))
    if query.credits:
        ranked = sorted(query.credits.items(), key=lambda item: -item[1])
        rates = ", ".join(f"{name} {rate:.0%}" for name, rate in ranked)
        lines.append(f"Expected rates of success at that time: {rates}.")
    facts = {
        "origin": query.origin,
        "expert": query.expert,
        "query": query.kind,
        "value": value_of(trial),
        "predicted": query.predicted,
        "std": query.std,
        "error": query.error,
        "best_then": None if best is None else best.number,
        "moves": moves,
        "credits": dict(query.credits),
        "opinions": others,
    }
    return "\n".join(lines), facts


def _origin(queries: list[Query], query: Query) -> str:
    """Return the predicate of the sentence that says where a trial's point is from."""
    if query.expert is not None:
        return f"was suggested by the expert '{query.expert}' ({WORDS[query.expert]})."
    if query.origin == "enqueued":
        enqueued = enqueued_params(query.trial)
        fixed = [name for name in query.trial.params if name in enqueued]
        if len(fixed) == len(query.trial.params):
            return "was enqueued: its parameters are the user's, not an expert's."
        named = ", ".join(map(repr, fixed)) or "no parameter that it has"
        return f"was enqueued with {named}. The other values were suggested or sampled."
    if query.origin == "unknown":
        return (
            "was suggested by no expert: it was sampled parameter by parameter, as the first "
            "trial of a study is, or by another sampler, or it was added by hand."
        )
    if query.kind == AFRESH:
        return "comes from no expert."
    if query.kind == AGAIN:
        number = query.data.get(REPEATED)
        known = f"trial {number}" if type(number) is int and number >= 0 else "an earlier trial"
        return f"repeats {known} to see whether values are noisy."
    asked = [q.trial.number for q in queries if q.expert is not None]
    if asked and asked[0] < query.trial.number:
        return (
            "was drawn at random: there were too few values, a constraint told only that it was "
            "never met, or no expert could compute a suggestion, which the log then says."
        )
    return "is a startup trial, drawn at random before any expert was asked."


def _outcome(study: Study, query: Query, step: float | None) -> str:
    """Return what was expected and what came of it."""
    trial, value, error = query.trial, value_of(query.trial), query.error
    expected = ""
    if query.predicted is not None:
        expected = f"The expert expected a value of {numeral(query.predicted, step)}"
        if query.std is not None:
            expected += f", with a standard deviation of {query.std:.3g}"
        expected += ". "
    if trial.state == TrialState.PRUNED:
        last = trial.last_step
        after = "" if last is None else f" after step {last}"
        return f"{expected}It was pruned{after}."
    if value is None:
        return expected + STATES.get(trial.state, "Its value is not finite.")
    if error is None:
        return f"{expected}Its value is {numeral(value, step)}."
    better = (error < 0.0) == (study.direction == StudyDirection.MINIMIZE)
    size = abs(error)
    word = next(
        (word for most, word in SURPRISES if size <= most), "far more than chance would explain"
    )
    deviations = f"{size:.1f} standard deviations {'better' if better else 'worse'}"
    return f"{expected}The value is {numeral(value, step)}: {deviations} than expected, {word}."


def _step(query: Query, best: FrozenTrial | None) -> float | None:
    """Return the smallest difference of values that a text about a trial is about."""
    steps = [] if query.std is None else [query.std / 10.0]
    value, before = value_of(query.trial), None if best is None else value_of(best)
    if query.improves and value is not None and before is not None:
        steps.append(abs(value - before))
    return min(steps, default=None)


def _moves(trial: FrozenTrial, best: FrozenTrial) -> dict[str, float]:
    """Return by how much of its range each parameter differs from the best trial's.

    A categorical parameter with another choice has moved by 1.
    """
    moves = {}
    for name, distribution in trial.distributions.items():
        if best.distributions.get(name) != distribution or distribution.single():
            continue
        try:
            space = SearchSpace({name: distribution})
        except ValueError:  # an infinite range
            continue
        here, there = space.encode(trial.params), space.encode(best.params)
        if here is None or there is None:
            continue
        move = float(here[0] - there[0])
        if isinstance(distribution, CategoricalDistribution):
            move = float(move != 0.0)
        moves[name] = move
    return moves


def _comparison(
    query: Query, best: FrozenTrial, moves: Mapping[str, float], step: float | None
) -> str:
    """Return how a trial differs from the best one that was known when it began."""
    trial = query.trial
    ranked = sorted(moves, key=lambda name: -abs(moves[name]))
    shown = [name for name in ranked[:MOST_MOVES] if abs(moves[name]) >= LEAST_MOVE]
    record = numeral(value_of(best) or 0.0, step)
    record = f"The best trial then was {best.number} with {record}"
    lines = [f"{record}; this one is better than all before." if query.improves else f"{record}."]
    if shown:
        lines[0] += " What changed most against it:"
    for name in shown:
        before, after = _shown(best.params[name], trial.params[name])
        share = f" ({moves[name]:+.0%} of its range)"
        if isinstance(trial.distributions[name], CategoricalDistribution):
            share = ""
        lines.append(f"  {visible(name)}: {before} -> {after}{share}")
    n_others = len(moves) - len(shown)
    if n_others:
        least = abs(moves[shown[-1]]) if len(shown) == MOST_MOVES else LEAST_MOVE
        which = "other parameter" if shown else "parameter"
        lines.append(f"  {count(n_others, which)} moved by at most {least:.0%} of the range.")
    return "\n".join(lines)


def _told_opinions(others: Mapping[str, list[float]], value: float | None) -> str:
    """Return what each model of the whole space expects, the closest to the value first."""
    ranked = list(others)
    if value is not None:
        ranked.sort(key=lambda words: abs(others[words][0] - value))
    lines = ["What each model of the whole space expects of it, from the trials known then:"]
    for words in ranked:
        mean, std = others[words]
        lines.append(f"  {numeral(mean, std / 10.0)} +- {std:.2g} ({words})")
    return "\n".join(lines)


def _shown(*values: Any) -> list[str]:
    """Return two values of a parameter, told apart."""
    if all(isinstance(value, float) for value in values):
        step = abs(values[1] - values[0]) / 10.0
        return [numeral(value, step) for value in values]
    return [repr(value) for value in values]
