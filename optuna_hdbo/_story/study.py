"""What the experts of a study achieved, and what they believe."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar
from typing import get_args

from optuna_hdbo._core.acquisition.constraints import FAILURES
from optuna_hdbo._core.models.ensemble import ENSEMBLE
from optuna_hdbo._core.models.evidence import Evidence
from optuna_hdbo._story.opinions import in_words
from optuna_hdbo._story.queries import HONEST
from optuna_hdbo._story.queries import Origin
from optuna_hdbo._story.queries import Query
from optuna_hdbo._story.queries import reported
from optuna_hdbo._story.queries import value_of
from optuna_hdbo._story.words import count
from optuna_hdbo._study.values import has_failed
from optuna_hdbo.methods.gp_ucb import BELIEFS
from optuna_hdbo.methods.gp_ucb import POOLED_BELIEFS
from optuna_hdbo.portfolio import outliers
from optuna_hdbo.portfolio import scales
from optuna_hdbo.portfolio.experts import EXPERTS
from optuna_hdbo.portfolio.hdbo import SIDE
from optuna_hdbo.portfolio.noise import LUCKY
from optuna_hdbo.portfolio.searches.restart import KEY as RESTART


if TYPE_CHECKING:
    from optuna.study import Study


T = TypeVar("T")

RECENT = 20
"""The last so many finished trials tell whether a study still improves."""


def explain_study(study: Study, queries: list[Query]) -> tuple[str, dict[str, Any]]:
    """Return the text and the facts; see :class:`optuna_hdbo.Explanation`."""
    experts = {
        name: {
            "trials": sum(q.expert == name for q in queries),
            "improvements": sum(q.expert == name and q.improves for q in queries),
        }
        for name in EXPERTS
        if any(q.expert == name for q in queries)
    }
    origins = {origin: sum(q.origin == origin for q in queries) for origin in get_args(Origin)}
    improved = [[q.trial.number, q.expert or q.origin] for q in queries if q.improves]
    first = next((q for q in queries if q.improves), None)  # on nothing
    recent = [q for q in queries if q.trial.state.is_finished()][-RECENT:]
    errors = [abs(q.error) for q in queries if q.error is not None]
    # Boxes and searches that began afresh have regions of their own.
    lengths = (
        reported(q.trial, "region_length")
        for q in reversed(queries)
        if reported(q.trial, SIDE) is None and reported(q.trial, RESTART) is None
    )
    facts = {
        "origins": origins,
        "experts": experts,
        "n_valued": sum(value_of(q.trial) is not None for q in queries),
        "last_improvements": improved[-3:],
        "n_recent": len(recent),
        "n_recent_improvements": sum(q.improves for q in recent if q is not first),
        "n_failed": sum(has_failed(q.trial) for q in queries),
        "avoids_failures": any(key.startswith(f"{FAILURES}:") for q in queries for key in q.data),
        "outliers": _latest(queries, outliers.KEY, outliers.parsed) or [],
        "lucky": _latest(queries, LUCKY, outliers.parsed) or [],
        "bends": dict(_latest(queries, scales.KEY, scales.parsed) or {}),
        "n_intervals": len(errors),
        "n_covered": sum(error <= HONEST for error in errors),
        "region_length": next((x for x in lengths if x is not None and x > 0.0), None),
        "beliefs": _beliefs(queries),
    }
    sentences = [
        _told_origins(study, facts, queries),
        _told_experts(experts),
        _told_improvements(facts),
        _told_models(facts),
    ]
    return "\n".join(s for s in sentences if s), facts


def _told_origins(study: Study, facts: Mapping[str, Any], queries: list[Query]) -> str:
    origins = facts["origins"]
    always = ", as the first one always is" if queries[0].origin == "unknown" else ""
    words = {
        "expert": "suggested by experts",
        "random": "drawn at random",
        "repeat": "repeated to see whether values are noisy",
        "enqueued": "enqueued",
        "unknown": f"without a suggestion of HDBOSampler{always}",
    }
    told = ", ".join(f"{n} {words[origin]}" for origin, n in origins.items() if n)
    return f"Study {study.study_name!r} has {count(sum(origins.values()), 'trial')}: {told}."


def _told_experts(experts: Mapping[str, Mapping[str, int]]) -> str:
    if not experts:
        return "No expert has been asked yet; they are once the startup trials are done."
    rows = [f"  {'expert':<10}{'trials':>7}{'improvements':>14}"]
    rows += [f"  {n:<10}{e['trials']:>7}{e['improvements']:>14}" for n, e in experts.items()]
    return "\n".join(rows)


def _told_improvements(facts: Mapping[str, Any]) -> str:
    last, n_recent = facts["last_improvements"], facts["n_recent"]
    if not last:
        some = "with a value is feasible" if facts["n_valued"] else "has a value"
        return f"No trial {some} yet."
    told = ", ".join(f"trial {number} ({_source(source)})" for number, source in reversed(last))
    sentence = f"Last improvements, the latest first: {told}."
    n, of = facts["n_recent_improvements"], count(n_recent, "finished trial")
    if n:
        return (
            f"{sentence}\nThe study still improves: {n} of the last {of} improved on all before."
        )
    if n_recent < RECENT:
        return f"{sentence}\nNone of the last {of} improved on all before."
    return f"{sentence}\nThe study no longer improves: none of the last {of} did."


def _source(source: str) -> str:
    return {"unknown": "no suggestion"}.get(source, source)


def _told_models(facts: Mapping[str, Any]) -> str:
    lines = []
    if facts["n_failed"]:
        avoids = "The models avoid points where that is likely."
        unknown = f"{'Its' if facts['n_failed'] == 1 else 'Their'} parameters do not tell why."
        why = avoids if facts["avoids_failures"] else unknown
        lines.append(f"{count(facts['n_failed'], 'trial')} failed. {why}")
    if facts["outliers"]:
        n, told = len(facts["outliers"]), ", ".join(map(str, facts["outliers"][-10:]))
        lines.append(
            f"Models leave out the values of {count(n, 'trial')}, which are far worse than the "
            f"others suggest: {'..., ' * (n > 10)}{told}."
        )
    if facts["lucky"]:
        n, told = len(facts["lucky"]), ", ".join(map(str, facts["lucky"][-10:]))
        lines.append(
            f"Models leave out the values of {count(n, 'trial')}, which are far better than those "
            f"of all repeats: {'..., ' * (n > 10)}{told}."
        )
    lines += [
        f"The {'low' if bend > 0 else 'high'} end of {name!r} is stretched, as on a log scale."
        for name, bend in facts["bends"].items()
        if bend
    ]
    n, covered = facts["n_intervals"], facts["n_covered"]
    if n:
        lines.append(
            f"{covered} of {count(n, 'value')} ({covered / n:.0%}) lie within {HONEST} standard "
            "deviations of what the expert expected; honest intervals hold 95 %."
        )
    if facts["region_length"] is not None:
        length = f"{length:.3g} times" if (length := facts["region_length"]) < 1.0 else "at least"
        lines.append(f"The trust region is {length} as wide as the ranges now.")
    if any(facts["beliefs"].values()):  # there is evidence once there are enough values
        best = sorted(facts["beliefs"].items(), key=lambda item: -item[1])[:3]
        told = "; ".join(f"{belief} ({nats:+.1f} nats)" for belief, nats in best)
        lines.append(f"Beliefs of the global expert with the most evidence: {told}.")
    return "\n".join(lines)


def _latest(
    queries: list[Query], key: str, parse: Callable[[Any], tuple[int, T] | None]
) -> T | None:
    """Return what the last search under a key has found."""
    found = (parse(q.data.get(key)) for q in reversed(queries))
    return next((what for _, what in filter(None, found)), None)


def _beliefs(queries: list[Query]) -> dict[str, float]:
    """Return the latest evidence for each belief of the global expert, in nats."""
    found = {}
    for belief in dict.fromkeys(BELIEFS + POOLED_BELIEFS):
        key = f"{ENSEMBLE}:{belief.key}:evidence"
        for query in reversed(queries):
            evidence = Evidence.from_json(query.data.get(key))
            if evidence is not None:
                found[in_words(belief)] = evidence.nats
                break
    return found
