"""Orthonormal functions of columns and of terms, and the shares that they have of a variance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.polynomial import legendre

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.domain import IntArray


Term = tuple[int, ...]
"""Columns, ascending."""

DEGREE = {1: 10, 2: 7, 3: 6}
"""Largest sum of the degrees of a feature's polynomials, by the number of its columns."""

MOST_CHOICES = {1: 64, 2: 32, 3: 8}
"""Choices of a categorical column that are told apart, by the number of a term's columns. Of more
choices the most frequent ones are, and all others count as one."""

MANY_COLUMNS, DEGREE_OF_MANY, CHOICES_OF_MANY = 64, 5, 6
"""With more columns than this, no degree is larger, and no more choices are told apart where
columns interact, to bound memory and time."""


def features_of_column(
    domain: Domain,
    column: int,
    x: FloatArray,
    most: int = DEGREE[1],
    classes: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal functions of one column at values x (n,), and their degrees.

    They average to zero and have variance 1 under uniform values: in the parameter's own scale,
    which may be logarithmic, and with equal shares for all choices.

    Parameters
    ----------
    domain : Domain
    column : int
    x : FloatArray, shape (n,)
    most : int
        Largest degree.
    classes : IntArray, shape (m,), or None
        Of which class each choice is: functions are the same for all choices of a class. ``None``
        for one class per choice.

    Returns
    -------
    features : FloatArray, shape (n, m)
    degrees : FloatArray, shape (m,)
        All 1 for a categorical column, none of whose contrasts is smoother than another.
    """
    grid = domain.grids[column]
    if grid is None:
        degrees = np.arange(1.0, most + 1)
        polynomials = legendre.legvander(2.0 * x - 1.0, most)[:, 1:]
        return np.asarray(polynomials * np.sqrt(2.0 * degrees + 1.0), np.float64), degrees
    index, m = _nearest(x, grid), len(grid)
    if domain.categorical[column]:
        classes = np.arange(m) if classes is None else classes
        weights = np.bincount(classes) / m
        raw: FloatArray = np.eye(len(weights))
        raw[:, 0] = 1.0
        index = classes[index]
    else:
        weights = np.diff(np.concatenate([[0.0], 0.5 * (grid[1:] + grid[:-1]), [1.0]]))
        raw = np.asarray(legendre.legvander(2.0 * grid - 1.0, min(most, m - 1)), np.float64)
    root = np.sqrt(weights)[:, None]
    Q, R = np.linalg.qr(raw * root)
    values = (Q * np.sign(np.diag(R)) / root)[:, 1:]
    degrees = np.arange(1.0, values.shape[1] + 1)
    return values[index], np.ones_like(degrees) if domain.categorical[column] else degrees


def _nearest(x: FloatArray, grid: FloatArray) -> IntArray:
    return np.asarray(np.abs(x[:, None] - grid).argmin(axis=1), np.int64)


def by_frequency(x: FloatArray, grid: FloatArray) -> IntArray:
    """Return the choices of a grid (m,), those first that occur most often in x (n,)."""
    return np.argsort(-np.bincount(_nearest(x, grid), minlength=len(grid)), kind="stable")


def classes_of(order: IntArray, most: int) -> IntArray:
    """Return the class of each choice, shape (m,); there are at most ``most`` classes.

    Where there are more choices, the first ones of ``order`` (m,) have a class each, and all
    others have one together.
    """
    if len(order) <= most:
        return np.arange(len(order))
    classes = np.full(len(order), most - 1)
    classes[order[: most - 1]] = np.arange(most - 1)
    return classes


def rough_covariances(x: FloatArray, z: FloatArray) -> FloatArray:
    """Return the covariances of centred Brownian motion of variance 1 at x (n,), z (m,); (n, m).

    It follows kinks that polynomials do not.
    """
    return 2.0 + 6.0 * (np.add.outer(0.5 * x**2, 0.5 * z**2) - np.maximum.outer(x, z))


@dataclass(frozen=True, eq=False)
class Conditional:
    """Columns that not all points have.

    Parameters
    ----------
    domain : Domain
    X : FloatArray, shape (n, C)
        Anything where a point does not have the column.
    active : BoolArray, shape (n, C)
        Whether it has it.
    """

    domain: Domain
    X: FloatArray
    active: BoolArray


class Features:
    """Orthonormal features of all columns at points X (n, D), and those of any term.

    Conditional columns come after the others. Their features are 0 at points without them.

    Parameters
    ----------
    domain : Domain
    X : FloatArray, shape (n, D)
    beside : Conditional, or None
    like : Features, or None
        Those of other points, with the same degrees, which tell the same choices apart; ``None``
        for the most frequent choices of these points.
    """

    def __init__(
        self,
        domain: Domain,
        X: FloatArray,
        beside: Conditional | None = None,
        like: Features | None = None,
    ) -> None:
        self._categorical, self._X = domain.categorical, X
        self._active: dict[int, FloatArray] = {}
        self._order: dict[int, IntArray] = {} if like is None else dict(like._order)
        n_columns = len(domain) + (0 if beside is None else len(beside.domain))
        self._many: bool = n_columns > MANY_COLUMNS if like is None else like._many
        self.values: list[FloatArray] = []
        self.degrees: list[FloatArray] = []
        self._joint: dict[tuple[int, int], FloatArray] = {}  # where fewer choices are told apart
        for i in range(len(domain)):
            self._add(domain, i, X[:, i], np.ones(len(X), np.bool_))
        if beside is not None:
            self._categorical = np.concatenate([domain.categorical, beside.domain.categorical])
            self._X = np.hstack([X, beside.X])
            for c in range(len(beside.domain)):
                active = beside.active[:, c]
                self._active[len(self)] = active.astype(np.float64)
                self._add(beside.domain, c, beside.X[:, c], active)
        self._rough: dict[int, FloatArray] = {}
        self._of: dict[Term, tuple[FloatArray, IntArray]] = {}
        self._last: dict[int, tuple[float, FloatArray]] = {}
        self._places: dict[tuple[object, ...], IntArray] = {}
        self.triangle = np.flatnonzero(np.tril(np.ones((len(X), len(X)))))

    def _add(self, domain: Domain, column: int, x: FloatArray, active: BoolArray) -> None:
        """Add a column, with values x (n,) at the points that have it."""
        place, grid, classes = len(self), domain.grids[column], None
        most = DEGREE_OF_MANY if self._many else DEGREE[1]
        if grid is not None and domain.categorical[column]:
            order = self._order.setdefault(place, by_frequency(x[active], grid))
            classes = classes_of(order, MOST_CHOICES[1])
            for size in (2, 3):
                told = min(MOST_CHOICES[size], CHOICES_OF_MANY if self._many else len(order))
                if told < len(order):
                    joint = features_of_column(domain, column, x, most, classes_of(order, told))
                    self._joint[place, size] = joint[0]
        values, degrees = features_of_column(domain, column, x, most, classes)
        self.values.append(values * active[:, None])
        self.degrees.append(degrees)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def presence(self) -> list[float]:
        """The shares of the points that have each conditional column."""
        return [float(active.mean()) for active in self._active.values()]

    def of(self, term: Term, degree: int | None = None) -> tuple[FloatArray, IntArray]:
        """Return the features of a term (n, F) and each one's place in its columns (F, |u|).

        Those up to the default degree are computed once.
        """
        if degree is None:
            if term not in self._of:
                self._of[term] = self.of(term, DEGREE[len(term)])
            return self._of[term]
        made = [self._joint.get((i, len(term)), self.values[i]) for i in term]
        places = self._places_of(term, degree, [values.shape[1] for values in made])
        parts = [values[:, places[:, a]] for a, values in enumerate(made)]
        return reduce(np.multiply, parts), places

    def _places_of(self, term: Term, degree: int, sizes: list[int]) -> IntArray:
        """Return the places of a term's features; they are computed once for columns alike."""
        shapes = tuple((m, bool(self._categorical[i])) for i, m in zip(term, sizes, strict=True))
        if (key := (degree, *shapes)) not in self._places:
            parts = [self.degrees[i][:m] for i, m in zip(term, sizes, strict=True)]
            sums = reduce(np.add.outer, parts)
            self._places[key] = np.argwhere(sums <= max(degree, float(sums.min())))
        return self._places[key]

    def rough(self, term: Term) -> FloatArray:
        """Return the covariances of the rough part of a term, of variance 1.

        Of the symmetric matrix (n, n) only the entries at :attr:`triangle`, in C order, are kept.
        """
        for i in term:
            if i not in self._rough:
                self._rough[i] = np.take(self._rough_along(i, self), self.triangle)
        return reduce(np.multiply, [self._rough[i] for i in term])

    def rough_with(self, other: Features, term: Term) -> FloatArray:
        """Return :meth:`rough` between these points and others, shape (n, m)."""
        return reduce(np.multiply, [self._rough_along(i, other) for i in term])

    def rough_variance(self, term: Term) -> FloatArray:
        """Return the diagonal of :meth:`rough`, shape (n,)."""
        variance = np.ones(len(self._X))
        for i in term:
            x, values = self._X[:, i], self.values[i]
            square = (values**2).sum(axis=1) / max(values.shape[1], 1)
            variance *= square if self._categorical[i] else 2.0 + 6.0 * (x**2 - x)
        return variance

    def _rough_along(self, i: int, other: Features) -> FloatArray:
        if self._categorical[i]:  # which has nothing that is not smooth
            features = self.values[i]
            return np.asarray(features @ other.values[i].T / features.shape[1], np.float64)
        rough = rough_covariances(self._X[:, i], other._X[:, i])
        if i in self._active:
            rough *= np.outer(self._active[i], other._active[i])
        return rough

    def scaled(self, term: Term, logit_decay: FloatArray, degree: int | None = None) -> FloatArray:
        """Return the features of a term (n, F) times the roots of their shares of its variance."""
        values, places = self.of(term, degree)
        shares = [self._shares(i, float(logit_decay[i])) for i in term]
        p = reduce(np.multiply, [share[places[:, a]] for a, share in enumerate(shares)])
        return np.asarray(values * np.sqrt(p / p.sum()))

    def portions(
        self, terms: Sequence[Term], logit_decay: FloatArray, degree: int, most: int
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the places of terms (t,) and their :meth:`scaled` features (t, F, n).

        There are at most so many features at a time, but always those of one term. Terms have
        equally many columns; those of a portion have columns alike.
        """
        columns, logits = np.array(terms), logit_decay.tolist()
        made = [self._joint.get((i, columns.shape[1]), own) for i, own in enumerate(self.values)]
        kinds = np.array([2 * own.shape[1] for own in made]) + self._categorical
        codes = kinds[columns] @ (kinds.max() + 1) ** np.arange(columns.shape[1])
        order = np.argsort(codes, kind="stable")
        for alike in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            places, parts = self.of(terms[alike[0]], degree)[1], []
            for a, place in enumerate(places.T):
                found, at = np.unique(columns[alike, a], return_inverse=True)
                values = np.stack([made[i].T for i in found.tolist()])
                shares = [self._shares(i, logits[i])[place] for i in found.tolist()]
                parts.append((place, at, values, np.stack(shares)))
            step = max(most // len(places), 1)
            for here in (slice(k, k + step) for k in range(0, len(alike), step)):
                p = reduce(np.multiply, [shares[at[here]] for _, at, _, shares in parts])
                F = reduce(np.multiply, [v[at[here, None], place] for place, at, v, _ in parts])
                F *= np.sqrt(p / p.sum(axis=1, keepdims=True))[:, :, None]
                yield alike[here], F

    def _shares(self, i: int, logit: float) -> FloatArray:
        """Return the shares of a column's features; the last ones are kept."""
        if i not in self._last or self._last[i][0] != logit:
            self._last[i] = logit, shares_of_column(self.degrees[i], logit)[0]
        return self._last[i][1]


def shares_of_column(degrees: FloatArray, logit: float) -> tuple[FloatArray, FloatArray]:
    """Return p (m,), which adds up to 1, and the derivative of log p by the logit of the decay."""
    decay = 1.0 / (1.0 + math.exp(-logit))
    p = decay ** (degrees - degrees[0])
    p /= p.sum()
    return p, (degrees - p @ degrees) * (1.0 - decay)


def shares_of_term(
    term: Term, places: IntArray, of_columns: Mapping[int, tuple[FloatArray, FloatArray]]
) -> tuple[FloatArray, list[FloatArray]]:
    """Return p (F,) of a term's features, and the derivatives of log p by its columns' decays."""
    p = reduce(np.multiply, [of_columns[i][0][places[:, a]] for a, i in enumerate(term)])
    p = p / p.sum()
    slopes = [of_columns[i][1][places[:, a]] for a, i in enumerate(term)]
    return p, [slope - p @ slope for slope in slopes]
