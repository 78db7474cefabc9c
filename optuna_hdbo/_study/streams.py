"""Random numbers of the studies that one sampler suggests points for."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from optuna_hdbo._core.streams import Streams
from optuna_hdbo._study.attributes import read_study_number
from optuna_hdbo._study.attributes import study_key
from optuna_hdbo._study.attributes import write_study_number


if TYPE_CHECKING:
    from optuna.study import Study


class StudyStreams:
    """Streams of one seed, with other numbers for each study that a sampler begins.

    The studies that a sampler begins are numbered from 0. The number is stored with the study,
    where other workers and later processes read it. So two studies of one sampler have different
    points, and a study that is resumed has the same.

    Two workers that begin a study at the same moment may write different numbers. So a number that
    was written is read again at the next trial, and from then on both have the last one.

    Parameters
    ----------
    seed : int or None
        ``None`` draws a seed from the operating system, once.

    Attributes
    ----------
    present : Streams
        Those of the study that :meth:`of` was last called for.

    Notes
    -----
    Not safe for threads: callers hold a lock.
    """

    def __init__(self, seed: int | None) -> None:
        self.present = Streams(seed)
        self._n_begun = 0
        self._forget()

    def _forget(self) -> None:
        self._key: tuple[object, int, str] | None = None
        self._written_at: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_key"], state["_written_at"]  # the key holds the storage
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def of(self, study: Study, trial_number: int) -> Streams:
        """Return the streams of a study, for the trial of this number."""
        key = study_key(study)
        if key != self._key or self._written_at not in (None, trial_number):
            number, self._written_at = read_study_number(study), None
            if number is None:
                number, self._written_at = self._n_begun, trial_number
                write_study_number(study, number)
            self._n_begun = max(self._n_begun, number + 1)
            self.present = Streams(self.present.seed, number)
            self._key = key  # last: interrupted in between, the next call does it again
        return self.present
