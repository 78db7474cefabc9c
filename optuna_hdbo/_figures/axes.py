"""Axes of parameters in their own units, and the points at which a figure looks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._core.models.anova.features import by_frequency
from optuna_hdbo._figures.labels import MOST_CHARACTERS
from optuna_hdbo._figures.labels import distinct
from optuna_hdbo._study.space import SearchSpace


FLAT, FEW_CHARACTERS = 4, 12
"""Where more choices than this are side by side, their names are upright, and cut to so many
characters."""

MOST_CHOICES_SHOWN = 16
"""Choices that have room side by side; of more, those that most trials have."""

JITTER = 0.22
"""How far the dots of a choice are spread around its place."""


def small_line(text: str) -> str:
    """Return a line in small letters, to be put below a title."""
    return f'<br><span style="font-size: 75%">{text}</span>'


@dataclass(frozen=True, eq=False)
class ParameterAxis:
    """One parameter along an axis.

    Parameters
    ----------
    name : str
    label : str
        The name, or a short text for it.
    column : int
    choices : tuple of str
        Those of a categorical parameter that are shown, whose places are 0, 1, ...; empty for all
        others.
    n_choices : int
        Those that it has.
    logarithmic : bool
    units : FloatArray, shape (m,)
        Points of the column.
    places : tuple of float
        The same in the parameter's units, or the numbers of the choices.
    """

    name: str
    label: str
    column: int
    choices: tuple[str, ...]
    n_choices: int
    logarithmic: bool
    units: FloatArray
    places: tuple[float, ...]

    @classmethod
    def of(cls, space: SearchSpace, column: int, x: FloatArray, n_points: int) -> ParameterAxis:
        """Return the axis of a column with values x (n,) at the trials.

        It has at most ``n_points`` points, or the choices that are shown.
        """
        name, grid = space.domain.names[column], space.domain.grids[column]
        label = distinct(space.domain.names)[column]
        distribution = space.distributions[name]
        units: FloatArray = np.linspace(0.0, 1.0, n_points)
        if grid is not None:
            units = grid
            if not isinstance(distribution, CategoricalDistribution) and len(grid) > n_points:
                units = grid[np.linspace(0, len(grid) - 1, n_points).astype(np.int64)]
        if isinstance(distribution, CategoricalDistribution):
            shown = np.sort(by_frequency(x, units)[:MOST_CHOICES_SHOWN]).tolist()
            most = MOST_CHARACTERS if len(shown) <= FLAT else FEW_CHARACTERS
            choices = tuple(distinct([str(distribution.choices[i]) for i in shown], most))
            places = tuple(float(place) for place in range(len(shown)))
            return cls(name, label, column, choices, len(units), False, units[shown], places)
        rows = np.zeros((len(units), len(space.domain)))
        rows[:, column] = units
        places = tuple(float(space.decode(row)[name]) for row in rows)
        logarithmic = bool(getattr(distribution, "log", False))
        return cls(name, label, column, (), 0, logarithmic, units, places)

    def of_trials(self, params: list[Any], column: FloatArray) -> list[float | None]:
        """Return the places of trials with these values, which the column encodes.

        ``None`` is the place of a choice that is not shown.
        """
        if not self.choices:
            return [float(value) for value in params]
        place = dict(zip(self.units.tolist(), self.places, strict=True))
        spread = np.random.default_rng(0).uniform(-JITTER, JITTER, len(column))
        return [
            place[x] + moved if x in place else None
            for x, moved in zip(column.tolist(), spread.tolist(), strict=True)
        ]

    def layout(self) -> dict[str, Any]:
        """Return what plotly needs to know of the axis."""
        title = self.label
        if len(self.choices) < self.n_choices:
            title += f" ({len(self.choices)} of {self.n_choices} choices)"
        axis: dict[str, Any] = {
            "title": {"text": title, "standoff": 4},
            "zeroline": False,
            "gridcolor": "#ececec",
            "linecolor": "#bbbbbb",
            "automargin": True,
        }
        if self.choices:
            n = len(self.choices)
            axis |= {"tickvals": list(range(n)), "ticktext": list(self.choices)}
            return {**axis, "range": [-0.5, n - 0.5], "showgrid": False}
        low, high = min(self.places), max(self.places)
        if self.logarithmic:
            ends = np.log10([low, high]).tolist()
            decades = ends[1] - ends[0]
            ticks: dict[str, Any] = {"dtick": round(decades / 4), "exponentformat": "power"}
            if decades < 2.5:
                powers = [10.0**k for k in range(math.floor(ends[0]), math.ceil(ends[1]) + 1)]
                round_ones = [step * power for power in powers for step in (1, 2, 5)]
                ticks = {"tickvals": [x for x in round_ones if low <= x <= high]}
            return {**axis, **ticks, "type": "log", "range": ends}
        return {**axis, "nticks": 6, "range": [low, high]}
