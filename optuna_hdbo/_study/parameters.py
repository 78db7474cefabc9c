"""Which parameters all finished trials of a study have in common."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from collections.abc import Sequence

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._study.attributes import trial_key


class CommonParameters:
    """The parameters that all finished trials of a study have, with the same distribution.

    This does what Optuna's ``IntersectionSearchSpace`` does, but copies nothing as long as trials
    have the same parameters.

    Parameters
    ----------
    include_pruned : bool
        Whether pruned trials count. Failed ones never do.
    """

    def __init__(self, include_pruned: bool) -> None:
        pruned = (TrialState.PRUNED,) if include_pruned else ()
        self._states = (TrialState.COMPLETE, *pruned)
        self._known_by: FrozenTrial | None = None  # a finished trial
        self._n_final = 0  # trials of smaller number are known
        self._common: dict[str, BaseDistribution] | None = None
        self._varying: dict[str, BaseDistribution] = {}

    def goes_on_in(self, trials: Sequence[FrozenTrial]) -> bool:
        """Tell whether these trials are those of the last call, further on, and new ones.

        A study that was deleted and made again has the same name and, in some storages, the same
        number.
        """
        old = self._known_by
        if old is None:
            return True
        return old.number < len(trials) and trial_key(trials[old.number]) == trial_key(old)

    def among(self, trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
        """Return those parameters by name, without the ones of a single value.

        Parameters
        ----------
        trials : sequence of FrozenTrial
            By ascending number: those of the last call, perhaps in a later state, and new ones.
        """
        if self._known_by is None:
            self._known_by = next((trial for trial in trials if trial.state.is_finished()), None)
        n_final = None
        for trial in reversed(trials):
            if trial.number < self._n_final:
                break
            if n_final is None:
                n_final = trial.number + 1
            if trial.state in self._states:
                self._take_in(trial.distributions)
            elif not trial.state.is_finished():
                n_final = trial.number
        self._n_final = self._n_final if n_final is None else n_final
        return dict(self._varying)

    def _take_in(self, distributions: Mapping[str, BaseDistribution]) -> None:
        if self._common is None:
            common = dict(sorted(distributions.items()))
        elif distributions == self._common:
            return
        else:
            common = {n: d for n, d in self._common.items() if distributions.get(n) == d}
        if self._common is None or len(common) < len(self._common):
            # In this order: interrupted in between, the next call does it again.
            self._varying = {n: copy.deepcopy(d) for n, d in common.items() if not d.single()}
            self._common = common
