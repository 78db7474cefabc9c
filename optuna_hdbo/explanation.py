"""Why a trial was suggested, and what a study's experts achieved: in words, from its storage."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

from optuna_hdbo._story.queries import read_queries
from optuna_hdbo._story.study import explain_study
from optuna_hdbo._story.trial import explain_trial


if TYPE_CHECKING:
    from optuna.study import Study


@dataclass(frozen=True)
class Explanation:
    """What :func:`explain` found; ``str()`` is the text.

    Parameters
    ----------
    trial : int or None
        Number of the trial, None for the whole study.
    text : str
        A few sentences for people.
    facts : Mapping of str to JSON
        What the text says, for programs. Of a trial: ``origin``, ``expert``, ``query``, ``value``,
        ``predicted``, ``std``, ``error`` (in standard deviations), ``best_then`` (a trial's
        number), ``moves`` (parameter -> share of its range), ``credits`` and ``opinions`` (belief
        -> expected value and standard deviation). Of a study:
        ``origins``, ``experts``, ``n_valued``, ``last_improvements``, ``n_recent``,
        ``n_recent_improvements``, ``n_failed``, ``avoids_failures``, ``outliers`` and
        ``lucky`` (numbers of trials), ``bends`` (parameter -> 1, 2, or less than 0 for the high
        end), ``n_intervals``, ``n_covered``, ``region_length`` and ``beliefs`` (in nats).
    """

    trial: int | None
    text: str
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def explain(study: Study, trial_number: int | None = None) -> Explanation:
    """Say in words why a trial was suggested, or what the experts of a study achieved.

    Everything is read from the study's trials, so that any process can ask, whatever the storage
    and whether or not the study goes on.

    Parameters
    ----------
    study : optuna.study.Study
        Sampled by :class:`optuna_hdbo.HDBOSampler`.
    trial_number : int or None
        The trial to explain: which expert suggested it, what it expected and how wrong it was,
        which parameters moved most against the best trial known then, what each model of the
        whole space expects of the point, fitted anew to the trials known then, and the credit of
        all experts at that time. ``None`` for the study: trials and improvements of every expert,
        whether it still improves, how honest the recorded intervals are, and what is believed.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        For a study of another sampler or with several objectives, and for a trial that the study
        does not have.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import explain
    >>> study = optuna.load_study(study_name="tuning", storage="sqlite:///tuning.db")
    >>> print(explain(study))
    >>> print(explain(study, study.best_trial.number))
    """
    queries = read_queries(study)
    if trial_number is None:
        return Explanation(None, *explain_study(study, queries))
    try:
        wanted = -1 if isinstance(trial_number, bool) else operator.index(trial_number)
    except TypeError:
        wanted = -1
    for query in queries:
        if query.trial.number == wanted:
            return Explanation(wanted, *explain_trial(study, queries, query))
    raise ValueError(
        f"trial_number must be the number of one of the {len(queries)} trials of "
        f"{study.study_name!r}, counted from 0, or None, but got {trial_number!r}."
    )
