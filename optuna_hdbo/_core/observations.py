"""What is known when a point is suggested: arrays and plain data."""

from __future__ import annotations

import math
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from itertools import islice
from typing import Any
from typing import Literal
from typing import overload

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray
from optuna_hdbo._core.lazy import cached_property
from optuna_hdbo._core.outputs import Output
from optuna_hdbo._core.outputs import finite
from optuna_hdbo._core.outputs import standardise
from optuna_hdbo._core.outputs import warped_output
from optuna_hdbo._core.points import Failures


MOST_MODELLED = 400
"""Most observations that a model is fitted to and conditioned on; see :func:`modelled_rows`."""

RENEWAL = 50
"""Observations after which the modelled ones are chosen again."""

State = Literal["complete", "pruned", "failed", "running"]


@dataclass(frozen=True)
class Record:
    """A decision of an earlier suggestion, and the state of its trial.

    Parameters
    ----------
    number : int
        The trial that carries it.
    state : {"complete", "pruned", "failed", "running"}
        The trial's state now.
    data : Mapping
        The JSON object of a suggestion, as read back.
    """

    number: int
    state: State
    data: Mapping[str, Any]


class Records(Sequence[Record]):
    """The records that a list holds now, even if it grows later. No copy per trial."""

    def __init__(self, records: list[Record]) -> None:
        self._records, self._n = records, len(records)

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        found = range(self._n)[index]
        if isinstance(found, int):
            return self._records[found]
        return [self._records[i] for i in found]

    def __iter__(self) -> Iterator[Record]:
        return islice(self._records, self._n)


def meet(constraints: FloatArray) -> BoolArray:
    """Mark the rows of constraint values (n, C), NaN where one is not told, that violate none."""
    return np.asarray((np.nan_to_num(constraints, nan=0.0) <= 0.0).all(axis=1), np.bool_)


@dataclass(frozen=True, eq=False)
class Observations:
    """Everything known when a point is suggested; larger ``y`` is better.

    Parameters
    ----------
    X : FloatArray, shape (n, D)
        Evaluated points in the columns of a :class:`Domain`.
    values : FloatArray, shape (n,)
        Their values, maximised, in the objective's units but for ``sign``; maybe infinite.
    numbers : IntArray, shape (n,)
        Trial number of each row, ascending.
    pruned : BoolArray, shape (n,)
        Rows whose value is that of a trial that was stopped early.
    pending : FloatArray, shape (m, D)
        Points under evaluation elsewhere.
    constraints : FloatArray, shape (n, C)
        Constraint values, feasible where <= 0; C = 0 without constraints.
    records : sequence of Record
        Decisions of earlier suggestions, by ascending trial number, whatever the trials' states.
    step : int
        Number of the trial that the suggestion is for.
    sign : float
        ``sign * values`` are the objective's values.
    output : Output or None
        The transformation that ``values`` have gone through, see :meth:`warped`.
    objectives : FloatArray, shape (n, k), or None
        All values of a study with several objectives, maximised; ``values`` are the first ones.
    signs : tuple of float
        ``signs * objectives`` are in the objectives' units.
    outside : BoolArray, shape (n,), or None
        Rows outside of the domain, of trials that had other ranges; ``None`` without any. They
        inform models, but there is nothing to improve on: no suggestion can be there.
    ranks : FloatArray, shape (n,), or None
        What observations are ranked by instead of ``y``, where values are noisy.
    skewed : bool
        Whether the study's values span many orders of magnitude.
    in_focus : bool
        Whether the values of a long study are clipped, see :func:`focused`.
    failures : Failures or None
        Points of trials that failed, and so have no value; ``None`` without any.
    told_by_failed : Mapping of int to FloatArray, shape (C,)
        Constraints that some of these told before they failed, by number.

    Attributes
    ----------
    y : FloatArray, shape (n,)
        :attr:`modelled_values` with mean 0 and standard deviation 1.
    shift, scale : float
        ``sign * (y * scale + shift)`` is in the objective's units.
    """

    X: FloatArray
    values: FloatArray
    numbers: IntArray
    pruned: BoolArray
    pending: FloatArray
    constraints: FloatArray
    records: Sequence[Record] = ()
    step: int = 0
    sign: float = 1.0
    output: Output | None = None
    objectives: FloatArray | None = None
    signs: tuple[float, ...] = ()
    outside: BoolArray | None = None
    ranks: FloatArray | None = None
    skewed: bool = False
    in_focus: bool = True
    failures: Failures | None = None
    told_by_failed: Mapping[int, FloatArray] = field(default_factory=dict)

    @cached_property
    def _standardised(self) -> tuple[FloatArray, float, float]:
        # Lazy: methods that only compare values do not need it.
        return standardise(self.modelled_values)

    @cached_property
    def feasible(self) -> BoolArray:
        """Rows in the domain that violate no reported constraint, shape (n,)."""
        feasible = meet(self.constraints)
        return feasible if self.outside is None else feasible & ~self.outside

    @property
    def y(self) -> FloatArray:
        return self._standardised[0]

    @property
    def shift(self) -> float:
        return self._standardised[1]

    @property
    def scale(self) -> float:
        return self._standardised[2]

    @cached_property
    def known(self) -> FloatArray:
        """Evaluated, pending and failed points, shape (n + m + k, D)."""
        failed = () if self.failures is None else (self.failures.X,)
        return np.concatenate([self.X, self.pending, *failed])

    @cached_property
    def row_of(self) -> Mapping[int, int]:
        """The row of each trial, by its number."""
        return {number: row for row, number in enumerate(self.numbers.tolist())}

    @cached_property
    def inside(self) -> Observations:
        """The same without the rows outside of the domain."""
        return self if self.outside is None else self.at(np.flatnonzero(~self.outside))

    def at(self, rows: IntArray) -> Observations:
        """Return the same with these rows only."""
        outside = None if self.outside is None else self.outside[rows]
        return replace(
            self,
            X=self.X[rows],
            values=self.values[rows],
            numbers=self.numbers[rows],
            pruned=self.pruned[rows],
            constraints=self.constraints[rows],
            objectives=None if self.objectives is None else self.objectives[rows],
            outside=outside if outside is not None and outside.any() else None,
            ranks=None if self.ranks is None else self.ranks[rows],
        )

    def without(self, key: str) -> Observations:
        """Return the same without the records that have an entry under a key."""
        records = [record for record in self.records if key not in record.data]
        return self if len(records) == len(self.records) else replace(self, records=records)

    def with_failures(
        self, domain: Domain, failed: Mapping[int, FloatArray], lost: BoolArray | None = None
    ) -> Observations:
        """Return the same with further failed trials: points by number, and ``lost (n,)`` rows."""
        seen, points = self, dict(failed)
        if self.failures is not None:
            points |= zip(self.failures.numbers.tolist(), self.failures.X, strict=True)
        if lost is not None and lost.any():
            numbers, told = self.numbers[lost].tolist(), dict(self.told_by_failed)
            points |= zip(numbers, self.X[lost], strict=True)
            told |= zip(numbers, self.constraints[lost], strict=True)
            seen = replace(self.at(np.flatnonzero(~lost)), told_by_failed=told)
        found = Failures.among(domain, seen.X, points, several=self.objectives is not None)
        return replace(seen, failures=found)

    def shares_rows_with(self, other: Observations) -> bool:
        """Tell whether both look at the same memory, in which rows are only ever appended."""
        X, values, numbers = self.X.base, self.values.base, self.numbers.base
        if X is None or values is None or numbers is None:
            return False
        return X is other.X.base and values is other.values.base and numbers is other.numbers.base

    def in_units(self, y: float) -> float:
        """Return a value of ``y`` in the objective's units."""
        value = y * self.scale + self.shift
        if self.output is not None:
            value = self.output.undone(value, self.values)
        return self.sign * value

    def std_in_units(self, y: float, std: float) -> float:
        """Return half the width, in the objective's units, of y - std to y + std."""
        if self.output is None:
            return std * self.scale
        y = max(y, float(self.y.min()))  # whatever is worse is told as the worst value
        return abs(self.in_units(y + std) - self.in_units(y - std)) / 2.0

    @cached_property
    def modelled_values(self) -> FloatArray:
        """Values made finite, and in long studies clipped, as models see them; shape (n,)."""
        return finite(focused(self.values, self.feasible) if self.in_focus else self.values)

    @cached_property
    def likeliest_output(self) -> Output:
        """The warping under which the values look most normal. Several models share it."""
        return warped_output(self.modelled_values, skewed=self.skewed)

    def warped(self, output: Output) -> Observations:
        """Return the same observations with their values transformed."""
        return replace(self, values=output(self.modelled_values), output=output)

    @property
    def log_slope(self) -> FloatArray:
        """Logarithm of the derivative of ``y`` by the values before any warping, shape (n,).

        With it, densities of ``y`` become densities of values in the objective's units.
        """
        if self.output is None:
            return np.full(len(self.values), -math.log(self.scale))
        before = self.output.inverse(self.values)
        return np.asarray(self.output.log_slope(before) - math.log(self.scale), np.float64)

    @classmethod
    def from_arrays(
        cls,
        X: FloatArray,
        values: FloatArray,
        *,
        pending: FloatArray | None = None,
        records: Sequence[Record] = (),
        step: int | None = None,
    ) -> Observations:
        """Build observations for use without Optuna; ``values`` are raw and maximised."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        n, n_columns = X.shape
        return cls(
            X=X,
            values=np.array(values, dtype=np.float64),
            numbers=np.arange(n),
            pruned=np.zeros(n, dtype=np.bool_),
            pending=np.empty((0, n_columns)) if pending is None else pending,
            constraints=np.empty((n, 0)),
            records=records,
            step=n if step is None else step,
        )


def marked(numbers: IntArray, chosen: Collection[int]) -> BoolArray | None:
    """Mark the rows of some trials, shape (n,); None where there are none."""
    if not chosen:
        return None
    marks = np.isin(numbers, list(chosen))
    return marks if marks.any() else None


def focused(values: FloatArray, feasible: BoolArray) -> FloatArray:
    """Return the values of a long study, clipped from below.

    In long studies the best values differ by less than a thousandth of the standard deviation of
    all values. A model cannot tell them apart then. So values are clipped at the one that ranks
    ``MOST_MODELLED / 2`` among the feasible ones. Short studies are not changed, nor are those in
    which fewer rows are ``feasible (n,)``, because better infeasible values would hide the
    differences between the feasible ones.
    """
    half = MOST_MODELLED // 2
    good = values[feasible]
    if len(values) < MOST_MODELLED + RENEWAL or len(good) < half:
        return values
    worst = np.partition(good, -half)[-half]
    return np.maximum(values, worst) if worst < good.max() else values


def modelled(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows of points X (n, D) and of y (n,) that a model uses."""
    rows = modelled_rows(y)
    return (X, y) if rows is None else (X[rows], y[rows])


def modelled_rows(y: FloatArray) -> IntArray | None:
    """Return the rows that a model uses, ascending; ``None`` for all of them.

    The cost of a model grows with the cube of its points, and after some hundreds of them the next
    suggestion hardly changes. From more than :data:`MOST_MODELLED` observations, the best half and
    as many random others are chosen. The choice depends on the observations only and holds for
    :data:`RENEWAL` further ones, which are all used, so that factors can be appended to.
    """
    n_chosen = len(y) // RENEWAL * RENEWAL
    if n_chosen <= MOST_MODELLED:
        return None
    order = np.argsort(-y[:n_chosen], kind="stable")
    half = MOST_MODELLED // 2
    others = np.random.default_rng(n_chosen).permutation(order[half:])[: MOST_MODELLED - half]
    chosen = np.sort(np.concatenate([order[:half], others]))
    return np.concatenate([chosen, np.arange(n_chosen, len(y))]).astype(np.int64)
