"""Which parameters interact and which matter, as a study learned it: from its storage alone."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

import numpy as np
from optuna.trial import TrialState

from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.models.additive import ADDITIVE_FIT
from optuna_hdbo._core.variables import selection as selections
from optuna_hdbo._study.attributes import check_single_objective
from optuna_hdbo._study.attributes import check_study
from optuna_hdbo._study.attributes import known_suggestion
from optuna_hdbo._study.attributes import read_trials
from optuna_hdbo.effects import fitted_effects
from optuna_hdbo.effects import fitted_to
from optuna_hdbo.interactions import interactions_of
from optuna_hdbo.sharing import sharing_probabilities


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


LEAST_TRIALS = 10
"""Fewer trials than this are not asked since when a group has stood."""

_STATES = (TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


@dataclass(frozen=True)
class Groups:
    """Groups of parameters that interact within and add up between, the largest share first.

    Parameters
    ----------
    groups : tuple of tuple of str
        Parameter names.
    shares : tuple of float
        Each group's share of the function's variance; of the sampler's groups, that of the signal
        variance of its fitted prior, and these add up to 1.
    log_likelihood : float or None
        Of the sampler's groups, what the fit of its additive model maximised: log marginal
        likelihood of the standardised values, plus the log prior of the hyperparameters where
        there is one.
    n_trials : int
        Observations that the groups were fitted to.
    probabilities : tuple of float
        How sure each group is: the smaller one of the probability of the weakest interaction that
        holds it together, and of none with parameters of other groups. For the sampler's groups,
        "interaction" means that two parameters share a group; empty without ``n_sweeps``.
    since : tuple of int
        Number of the trial since which each group has stood. Groups that are learned from trials
        are looked at after each quarter of these.
    """

    groups: tuple[tuple[str, ...], ...]
    shares: tuple[float, ...]
    log_likelihood: float | None
    n_trials: int
    probabilities: tuple[float, ...] = ()
    since: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return a table, one line per group."""
        fit = "" if self.log_likelihood is None else f" (log likelihood {self.log_likelihood:.1f})"
        n = len(self.groups)
        head = f"{n} group{'s' * (n != 1)} learned from {self.n_trials} trials{fit}"
        columns = [[" share", *(f"{share:6.1%}" for share in self.shares)]]
        if self.probabilities:
            columns.append(["  sure", *(f"{p:6.1%}" for p in self.probabilities)])
        if self.since:
            columns.append(["since trial", *(f"{number:11d}" for number in self.since)])
        columns.append(["parameters", *(", ".join(names) for names in self.groups)])
        return "\n".join([head, *("  ".join(row) for row in zip(*columns, strict=True))])


def get_groups(
    study: Study, *, source: Literal["trials", "sampler"] = "trials", n_sweeps: int = 0
) -> Groups:
    """Return the groups of parameters that interact.

    Parameters
    ----------
    study : optuna.study.Study
    source : {"trials", "sampler"}
        ``"trials"`` learns them from the completed trials of any sampler. They are those of
        :func:`optuna_hdbo.get_interactions`: strong interactions connect parameters, and inert
        parameters are in no group. ``"sampler"`` reads those that
        :class:`optuna_hdbo.AddGPUCBSampler` works with, or the expert ``groups`` of
        :class:`optuna_hdbo.HDBOSampler`, from any storage. They are learned anew now and then;
        these are the latest.
    n_sweeps : int
        For ``"sampler"``, draw the group of every parameter so many times by Gibbs sampling, given
        the completed trials, for :attr:`Groups.probabilities`. 20 sweeps take less than a second
        with 12 parameters and 200 trials, and some ten seconds with 40 parameters.

    Returns
    -------
    Groups

    Raises
    ------
    ValueError
        For ``"trials"``, as :func:`optuna_hdbo.get_interactions`, also for several objectives,
        and with ``n_sweeps``. For ``"sampler"``, where no trial of the study carries groups.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import get_groups
    >>> study = optuna.load_study(study_name="tuning", storage="sqlite:///tuning.db")
    >>> print(get_groups(study))
    """
    check_choice("source", source, ("trials", "sampler"))
    check_integer("n_sweeps", n_sweeps, 0)
    check_study(study)
    if source == "sampler":
        return _of_sampler(study, n_sweeps)
    if n_sweeps:
        raise ValueError(
            f"n_sweeps must be 0 with source='trials', but got {n_sweeps}. Groups that are "
            "learned from trials have probabilities anyway."
        )
    check_single_objective(
        study,
        remedy="For one of several, ask for the groups of "
        "get_interactions(study, target=lambda t: t.values[0]).",
    )
    return _of_trials(study)


def _of_trials(study: Study) -> Groups:
    """Return the groups that strong interactions connect, and since when they have stood."""
    effects = fitted_effects(study)
    told = interactions_of(effects)
    parts = {
        frozenset(effects.space.domain.names[i] for i in term): variance
        for term, variance in effects.findings.parts.items()
    }
    total = effects.findings.variance
    probability = {frozenset(pair.parameters): pair.probability for pair in told.pairs}
    since = dict.fromkeys(told.groups, effects.trials[-1].number)
    standing = set(told.groups)
    for quarters in (3, 2, 1):
        trials = effects.trials[: len(effects.trials) * quarters // 4]
        if not standing or len(trials) < LEAST_TRIALS:
            break
        try:
            earlier = fitted_to(study, trials)
        except ValueError:  # no parameter varied yet
            break
        standing &= set(interactions_of(earlier).groups)
        since |= dict.fromkeys(standing, trials[-1].number)
    return Groups(
        told.groups,
        tuple(
            sum(v for term, v in parts.items() if term <= set(group)) / total
            for group in told.groups
        ),
        None,
        told.n_trials,
        tuple(_sureness(group, probability) for group in told.groups),
        tuple(since[group] for group in told.groups),
    )


def _sureness(group: tuple[str, ...], probability: Mapping[frozenset[str], float]) -> float:
    """Return how sure it is that parameters interact, and with no others."""
    inside, weakest = {group[0]}, 1.0
    while len(inside) < len(group):  # along the strongest links
        link, name = max(
            (probability[frozenset((a, b))], b) for a in inside for b in group if b not in inside
        )
        weakest = min(weakest, link)
        inside.add(name)
    out = [p for pair, p in probability.items() if len(pair & inside) == 1]
    return min(weakest, 1.0 - max(out, default=0.0))


def _of_sampler(study: Study, n_sweeps: int) -> Groups:
    trials = read_trials(study, _STATES)
    known = {name for trial in trials for name in trial.distributions}
    latest: Groups | None = None
    fit: Any = None
    since: dict[frozenset[str], int] = {}
    for number, record in _records(trials):
        if (groups := _parse(record.get(ADDITIVE_FIT), known)) is not None:
            latest, fit = groups, record[ADDITIVE_FIT]
            since = {g: since.get(g, number) for g in map(frozenset, groups.groups)}
    if latest is not None:
        shared = sharing_probabilities(trials, fit, n_sweeps) if n_sweeps else {}
        return replace(
            latest,
            probabilities=tuple(_sureness(g, shared) for g in latest.groups) if shared else (),
            since=tuple(since[frozenset(g)] for g in latest.groups),
        )
    raise ValueError(
        f"study must have been sampled by AddGPUCBSampler or HDBOSampler until it learned groups, "
        f"but none of the {len(trials)} trials of {study.study_name!r} carries any. "
        "AddGPUCBSampler learns them once its plain model stops making progress, or with "
        "update='all_groups' from the first model-based trial on. HDBOSampler learns them where "
        "its expert 'groups' is asked and that one's plain model has stopped making progress."
    )


@dataclass(frozen=True)
class Selection:
    """The parameters that a trial found to matter, the most important first.

    Parameters
    ----------
    trial : int
        Number of the trial.
    parameters : tuple of str
    n_trials : int
        Observations that it looked at.
    """

    trial: int
    parameters: tuple[str, ...]
    n_trials: int

    def __str__(self) -> str:
        """Return one line."""
        names = ", ".join(self.parameters)
        return f"trial {self.trial}, from {self.n_trials} observations: {names}"


def get_selections(study: Study) -> list[Selection]:
    """Return which parameters a study found to matter, selection by selection.

    They are read from the study's trials, in any process and from any storage, while the study
    runs or afterwards. :class:`optuna_hdbo.VSBOSampler` selects anew now and then.

    Parameters
    ----------
    study : optuna.study.Study

    Returns
    -------
    list of Selection
        In the order of the trials that made them; the last one is what the sampler works with.

    Raises
    ------
    ValueError
        Where no trial of the study carries a selection.

    Examples
    --------
    >>> import optuna
    >>> from optuna_hdbo import get_selections
    >>> study = optuna.load_study(study_name="tuning", storage="sqlite:///tuning.db")
    >>> print(get_selections(study)[-1])
    """
    check_study(study)
    trials = read_trials(study, _STATES)
    known = {name for trial in trials for name in trial.distributions}
    found = []
    for number, record in _records(trials):
        selection = selections.Selection.from_json(record.get(selections.SELECTIONS))
        if selection is not None and known.issuperset(selection.names):
            found.append(Selection(number, selection.names, selection.n))
    if not found:
        raise ValueError(
            "study must have been sampled by VSBOSampler until it selected parameters, but none "
            f"of the {len(trials)} trials of {study.study_name!r} carries a selection. The first "
            "one is made once n_startup_trials + n_vs observations are there, and none where "
            "the sampler's setting important names the parameters."
        )
    return found


def _records(trials: list[FrozenTrial]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the numbers of the trials that carry a record, and the records."""
    for trial in trials:
        suggestion = known_suggestion(trial)
        if suggestion is not None and suggestion.record is not None:
            yield trial.number, suggestion.record


def _parse(data: Any, known: set[str]) -> Groups | None:
    """Return the groups of a fit's JSON object, ``None`` unless it is one of known parameters."""
    names = _names(data)
    if names is None or not names or not known.issuperset(names):
        return None
    nowhere = (None,) * len(names)
    domain = Domain(names, nowhere, np.zeros(len(names), np.bool_))
    try:
        fitted = Fitted.from_json(data, domain)
    except OverflowError:  # an integer or exponent beyond floats
        return None
    if fitted is None or not np.isfinite(fitted.log_likelihood):
        return None
    kernel = fitted.kernel
    shares = kernel.scales / kernel.variance
    order = np.argsort(-shares, kind="stable").tolist()
    return Groups(
        groups=tuple(tuple(names[i] for i in kernel.groups[j]) for j in order),
        shares=tuple(float(shares[j]) for j in order),
        log_likelihood=fitted.log_likelihood,
        n_trials=fitted.n,
    )


def _names(data: Any) -> tuple[str, ...] | None:
    """Return the parameters of all groups, ``None`` where these are not lists of strings."""
    groups = data.get("groups") if isinstance(data, dict) else None
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        return None
    names = [name for group in groups for name in group]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    return tuple(names)
