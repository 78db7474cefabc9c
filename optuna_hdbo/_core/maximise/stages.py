"""One group of columns after the other: where a sequential search of groups stands.

This is Algorithm 4 of Kandasamy et al. (2015), Seq-Add-GP-UCB. Every group has a stage of its own
with a fixed number of queries. They differ in that group alone, and the other columns stay at
theta. A stage ends with theta moved to its last query. The paper's search is over
after the last group; here it begins again with the first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.observations import Observations


KEY = "stage"
"""Key under which the first query of a stage records it."""


@dataclass(frozen=True, eq=False)
class Stage:
    """The group that is searched now, and where the others are.

    Parameters
    ----------
    group : int
    first : int
        Number of the first trial of the stage.
    theta : FloatArray, shape (D,)
        Values of the columns outside the group, and those that the group began at.
    free : BoolArray, shape (D,)
        Columns of the group.
    """

    group: int
    first: int
    theta: FloatArray
    free: BoolArray

    @classmethod
    def current(
        cls, groups: Sequence[IntArray], seen: Observations, memory: Memory, n_per_group: int
    ) -> Stage:
        """Return the stage that the next query belongs to; keep it in memory if it is new.

        The first stage begins at the first observation, which is a random point in a study with
        startup trials.
        """
        last = memory.recall(KEY, lambda data: _from_json(data, groups, seen.X.shape[1]))
        if last is None:
            stage = cls(0, seen.step, seen.X[0].copy(), _mask(groups[0], seen.X.shape[1]))
        else:
            own = last.rows(seen)
            own = own[seen.numbers[own] >= last.first]
            if len(own) < n_per_group:
                return last
            group = (last.group + 1) % len(groups)
            theta = seen.X[own[-1]].copy()
            stage = cls(group, seen.step, theta, _mask(groups[group], len(theta)))
        memory.keep(
            KEY, {"group": stage.group, "first": stage.first, "theta": stage.theta.tolist()}
        )
        return stage

    def rows(self, seen: Observations) -> IntArray:
        """Return the observations that are at theta outside the group, theta itself among them."""
        same = (self.theta == seen.X)[:, ~self.free].all(axis=1)
        return np.flatnonzero(same).astype(np.int64)

    def observations(self, seen: Observations) -> Observations:
        """Return these observations and pending points, or the best one if there are none."""
        rows = self.rows(seen)
        if not len(rows):  # theta is from a trial that this study does not have
            rows = np.array([int(np.argmax(seen.y))])
        running = (seen.pending == self.theta)[:, ~self.free].all(axis=1)
        return replace(seen.at(rows), pending=np.ascontiguousarray(seen.pending[running]))


def in_domain(domain: Domain, seen: Observations) -> Observations:
    """Return the observations that are in the domain, or all of them moved there if none is."""
    if seen.outside is None or not seen.outside.all():
        return seen.inside
    return replace(seen, X=domain.snap(seen.X), outside=None)


def _mask(group: IntArray, n_columns: int) -> BoolArray:
    free = np.zeros(n_columns, np.bool_)
    free[group] = True
    return free


def _from_json(data: Any, groups: Sequence[IntArray], n_columns: int) -> Stage | None:
    """Return the stage that an object describes, or None if it does not fit these columns."""
    if not isinstance(data, Mapping):
        return None
    group, first, theta = data.get("group"), data.get("first"), data.get("theta")
    if type(group) is not int or type(first) is not int or not isinstance(theta, list):
        return None
    if not 0 <= group < len(groups) or len(theta) != n_columns:
        return None
    if not all(type(v) in (int, float) and abs(v) < 1e9 for v in theta):
        return None
    return Stage(group, first, np.array(theta, np.float64), _mask(groups[group], n_columns))
