"""What is stored with trials and studies; the only file that uses private names of Optuna.

A suggestion is written as one JSON object in system attributes ``hdbo:suggestion:<chunk>``, so
that other workers see the point before the objective has suggested its parameters, and so that
later processes can use a method's decisions. Numbers and short texts for people are user
attributes ``hdbo:<name>``.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from typing import Any

from optuna.storages import InMemoryStorage


if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from optuna.trial import TrialState


VERSION = 1
CHUNK_LENGTH = 2045
"""Some storages truncate longer attributes."""

MAX_LENGTH = 2**22
"""Longer texts are not from this package and are not parsed."""

LENGTH, LENGTH_PER_COLUMN = 2**16, 2**13
"""Longest text that a sampler parses: so many characters, and so many more per parameter."""

_SUGGESTION = "hdbo:suggestion:"
_FIRST = f"{_SUGGESTION}0"
_KEYS, _ATOMS = frozenset((str,)), frozenset((str, int, float, bool, type(None)))
_SECOND = f"{_SUGGESTION}1"
_ENQUEUED = "fixed_params"  # Optuna's
REPORT = "hdbo:"
"""What the names of our user attributes begin with."""

STUDY_NUMBER = "hdbo:study"
"""System attribute of a study: its number among those that its sampler began."""

LONGEST_TEXT = 80
"""Characters of a text in a user attribute: a cell of a table, not a page."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _parse_integer(text: str) -> int:
    # Longer ones are no floats, and Python refuses to write those of more than 4300 digits.
    if len(text) > 310 or not math.isfinite(float(text)):
        raise ValueError("an integer is beyond floats")
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # which could not be written again
        raise ValueError("a number is beyond floats")
    return number


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_parse_integer, parse_float=_parse_float
)
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True)
class StoredSuggestion:
    """A suggestion as read back; only its outer shape has been checked.

    Parameters
    ----------
    params : Mapping
        Parameter name -> JSON number, see :meth:`SearchSpace.to_json`.
    method : str or None
        Name of the method that made it; ``None`` for a random point.
    record : Mapping or None
        The method's record.
    """

    params: Mapping[str, Any]
    method: str | None
    record: Mapping[str, Any] | None

    def to_text(self) -> str:
        """Return the JSON text; ``ValueError`` for NaN, ``TypeError`` for what JSON lacks."""
        fields = {
            "version": VERSION,
            "method": self.method,
            "params": dict(self.params),
            "record": None if self.record is None else dict(self.record),
        }
        return _ENCODER.encode(fields)

    def is_as_read(self) -> bool:
        """Tell whether parsing the text gives equal objects of the same types."""
        return _is_as_read(self.params) and _is_as_read(self.record)


def _is_as_read(value: Any) -> bool:
    kind = type(value)
    if kind in _ATOMS:
        return True
    if kind is dict:
        if not _KEYS.issuperset(map(type, value)):
            return False
        value = value.values()
    elif kind is not list:
        return False
    # Lists of thousands of numbers are common, and types are compared faster than items.
    return _ATOMS.issuperset(map(type, value)) or all(map(_is_as_read, value))


def chunks_of(text: str) -> list[Any]:
    """Return the parts that a text is stored in."""
    return [text[i : i + CHUNK_LENGTH] for i in range(0, len(text), CHUNK_LENGTH)]


def write_suggestion(
    study: Study, trial: FrozenTrial, text: str, *, replaces: bool = False
) -> None:
    """Store the text of a suggestion with its trial, or replace an earlier one."""
    storage, trial_id = study._storage, trial._trial_id
    if len(text) <= CHUNK_LENGTH:  # as nearly all are
        storage.set_trial_system_attr(trial_id, _FIRST, text)
        return
    chunks = chunks_of(text)
    if replaces or _FIRST in trial.system_attrs:
        # No reader may see parts of both.
        storage.set_trial_system_attr(trial_id, _FIRST, None)
    # Backwards: a reader that sees chunk 0 sees all of them.
    for i, chunk in reversed(list(enumerate(chunks))):
        storage.set_trial_system_attr(trial_id, f"{_SUGGESTION}{i}", chunk)


def stored_chunks(trial: FrozenTrial) -> list[Any]:
    """Return the attributes that hold a trial's suggestion, in order."""
    attributes = trial.system_attrs
    if _SECOND not in attributes:
        return [attributes[_FIRST]] if _FIRST in attributes else []
    chunks: list[Any] = []
    while (key := f"{_SUGGESTION}{len(chunks)}") in attributes:
        chunks.append(attributes[key])
    return chunks


def read_suggestion(trial: FrozenTrial, n_columns: int | None = None) -> StoredSuggestion | None:
    """Return what :func:`write_suggestion` stored, ``None`` if there is nothing (yet).

    Parameters
    ----------
    trial : FrozenTrial
    n_columns : int or None
        Parameters of the search space, which limit the length; ``None`` for no such limit.

    Raises
    ------
    ValueError
        Where the attributes are not what this version writes.
    """
    chunks = stored_chunks(trial)
    if not chunks or chunks[0] is None:
        return None
    if not all(isinstance(chunk, str) for chunk in chunks):
        raise ValueError("a chunk is not a string")
    most = MAX_LENGTH
    if n_columns is not None:
        most = min(most, LENGTH + LENGTH_PER_COLUMN * n_columns)
    if sum(map(len, chunks)) > most:
        raise ValueError(f"longer than {most} characters")
    try:
        # A retried trial may carry the tail of a longer, older text: stop where the object ends.
        fields, _ = _DECODER.raw_decode("".join(chunks))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict) or fields.get("version") != VERSION:
        raise ValueError(f"not an object of version {VERSION}")
    params, method, record = fields.get("params"), fields.get("method"), fields.get("record")
    if not (
        isinstance(params, dict)
        and (method is None or isinstance(method, str))
        and (record is None or isinstance(record, dict))
    ):
        raise ValueError("fields of the wrong type")
    return StoredSuggestion(params, method, record)


def known_suggestion(trial: FrozenTrial) -> StoredSuggestion | None:
    """Return what :func:`write_suggestion` stored, None also where it is of another version."""
    try:
        return read_suggestion(trial)
    except ValueError:
        return None


def write_report(study: Study, trial: FrozenTrial, report: Mapping[str, float | str]) -> None:
    """Store the texts and finite numbers of a report as user attributes, for dashboards.

    Texts are cut to :data:`LONGEST_TEXT` characters.
    """
    for name, said in report.items():
        if isinstance(said, str):
            value: float | str = said[:LONGEST_TEXT]
        elif math.isfinite(said):
            value = float(said)
        else:
            continue
        study._storage.set_trial_user_attr(trial._trial_id, f"{REPORT}{name}", value)


def read_trials(
    study: Study, states: tuple[TrialState, ...] | None = None, *, cached: bool = False
) -> list[FrozenTrial]:
    """Return the study's trials by ascending number. They are not copied: do not write to them.

    Under Hyperband these are the trials of all brackets. Without ``states`` the list is complete,
    and its cost does not depend on its length: it may be the storage's own list, in which other
    threads replace and append trials. ``cached`` accepts the state at the beginning of the trial.
    """
    if states is None and not cached:
        live = _live_trials(study._storage, study._study_id)
        if live is not None:
            return live
    trials = study._get_trials(deepcopy=False, states=states, use_cache=cached)
    is_whole = states is not None or cached or not trials or trials[-1].number < len(trials)
    return trials if is_whole else _without_gaps(study, trials)


def _without_gaps(study: Study, trials: list[FrozenTrial]) -> list[FrozenTrial]:
    """Return the trials with those that the storage has left out of its list.

    Optuna's gRPC proxy asks for trials that are newer than the last finished one. One that was
    created at the same moment may be missed, for good. It is there if it is asked for by number.
    Where it is not, the list ends before it.
    """
    storage, study_id = study._storage, study._study_id
    listed, whole = {trial.number: trial for trial in trials}, []
    for number in range(trials[-1].number + 1):
        if number not in listed:
            try:
                trial_id = storage.get_trial_id_from_study_id_trial_number(study_id, number)
                listed[number] = storage.get_trial(trial_id)
            except KeyError:
                break
        whole.append(listed[number])
    return whole


def _live_trials(storage: BaseStorage, study_id: int) -> list[FrozenTrial] | None:
    """Return the list of trials inside a storage in memory, or None for other storages.

    Copying the list would cost time in proportion to the study's length at every trial. The
    storage replaces trials and never changes them.
    """
    if type(storage) is not InMemoryStorage:
        return None
    try:
        live = storage._studies[study_id].trials
    except (AttributeError, KeyError):  # another version of Optuna, or a study that was deleted
        return None
    return live if type(live) is list else None


def check_study(study: object) -> None:
    """Raise ``ValueError`` unless this is a study: the address of a storage is none."""
    if not (hasattr(study, "_storage") and hasattr(study, "_study_id")):
        raise ValueError(
            f"study must be an optuna.Study, but got {reprlib.repr(study)}. Load it "
            "with optuna.load_study(study_name=..., storage=...)."
        )


def check_single_objective(study: Study, *, because: str = "", remedy: str = "") -> None:
    """Raise ``ValueError`` for a study with several objectives."""
    if len(study.directions) > 1:
        reason, told = because and f", because {because}", remedy and f" {remedy}"
        raise ValueError(
            f"study must have a single objective{reason}, but {study.study_name!r} has "
            f"{len(study.directions)}.{told}"
        )


def study_key(study: Study) -> tuple[object, int, str]:
    """Return what identifies a study; numbers and names repeat between storages."""
    return study._storage, study._study_id, study.study_name


def read_study_number(study: Study) -> int | None:
    """Return the number that was stored with a study, ``None`` without a valid one."""
    number = study._storage.get_study_system_attrs(study._study_id).get(STUDY_NUMBER)
    return number if type(number) is int and 0 <= number < 2**31 else None


def write_study_number(study: Study, number: int) -> None:
    """Store a study's number among those that its sampler began."""
    study._storage.set_study_system_attr(study._study_id, STUDY_NUMBER, number)


def trial_key(trial: FrozenTrial) -> tuple[int, datetime | None]:
    """Return what tells a finished trial from one of equal number in another study."""
    return trial._trial_id, trial.datetime_complete


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Return a trial's constraint values by name, however this version of Optuna keeps them."""
    try:
        constraints = getattr(trial, "constraints", None)
        if constraints is None:
            values = trial.system_attrs.get("constraints") or ()
            constraints = {str(i): value for i, value in enumerate(values)}
        return {name: _constraint(value) for name, value in constraints.items()}
    except (TypeError, ValueError):
        return {}


def _constraint(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond floats
        return math.inf if value > 0 else -math.inf


def is_enqueued(trial: FrozenTrial) -> bool:
    """Tell whether the user chose parameters of a trial, by ``study.enqueue_trial``."""
    return bool(trial.system_attrs.get(_ENQUEUED))


def enqueued_params(trial: FrozenTrial) -> Mapping[str, Any]:
    """Return the parameters that the user chose for a trial, {} without any."""
    found = trial.system_attrs.get(_ENQUEUED)
    return found if isinstance(found, dict) else {}
