"""Predicted against observed values, with intervals."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_hdbo._core.calibration import Z as HALF_WIDTH
from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo._figures.axes import HEIGHT_OF_CARD
from optuna_hdbo._figures.axes import WIDTH_OF_CARD_TITLE
from optuna_hdbo._figures.axes import WIDTH_OF_TITLE
from optuna_hdbo._figures.axes import small_line
from optuna_hdbo._figures.axes import title_at_top
from optuna_hdbo._story.queries import expected
from optuna_hdbo._story.queries import reported
from optuna_hdbo._story.queries import value_of
from optuna_hdbo._story.words import numeral
from optuna_hdbo._study.attributes import known_suggestion
from optuna_hdbo._study.attributes import read_trials
from optuna_hdbo.effects import Effects


if TYPE_CHECKING:
    from optuna.study import Study


INSIDE, OUTSIDE = (31, 78, 140), (213, 94, 0)
"""Colours of values within and outside of their interval, as red, green and blue."""

SEEN = 0.02
"""Share of the lowest and of the highest values that may be outside of the view."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted and observed values of some trials.

    Parameters
    ----------
    how : str
        What the predictions are.
    numbers : tuple of int
        Those of the trials.
    values, predicted, std : FloatArray, shape (n,)
    """

    how: str
    numbers: tuple[int, ...]
    values: FloatArray
    predicted: FloatArray
    std: FloatArray


def recorded(study: Study) -> Predictions | None:
    """Return what the sampler predicted before trials were evaluated; ``None`` without any."""
    rows = []
    if len(study.directions) == 1:
        for trial in read_trials(study):
            value = value_of(trial)
            if value is None or reported(trial, "predicted") is None:
                continue
            suggestion = known_suggestion(trial)
            mean, std = expected(trial, {} if suggestion is None else suggestion.params)
            if mean is not None and std is not None and std > 0.0:
                rows.append((trial.number, value, mean, std))
    if not rows:
        return None
    numbers, *columns = zip(*rows, strict=True)
    values, means, deviations = np.array(columns, np.float64)
    how = "Values against the sampler's predictions"
    return Predictions(how, numbers, values, means, deviations)


def left_out(fitted: Effects) -> Predictions:
    """Return what the model of effects predicts for every value from all the others."""
    components, shift, scale = fitted.components()
    mean, variance = components.left_out()
    return Predictions(
        "Values against predictions from all other trials",
        tuple(trial.number for trial in fitted.trials),
        fitted.values,
        shift + scale * mean,
        scale * np.sqrt(variance),
    )


def calibration_figure(found: Predictions, *, narrow: bool = False) -> dict[str, Any]:
    """Return a figure with a dot and an interval per trial; a narrow one fits the dashboard."""
    half = HALF_WIDTH * found.std
    holds = np.abs(found.values - found.predicted) <= half
    n, share = len(holds), float(holds.mean())
    low, high = _view(found)
    title = (
        f"{found.how}: {int(holds.sum())} of {n} ({share:.0%}) are within intervals that "
        "should hold 95 %."
    )
    lines = textwrap.wrap(title, WIDTH_OF_CARD_TITLE if narrow else WIDTH_OF_TITLE)
    beyond = (found.values < low) | (found.values > high)
    beyond |= (found.predicted < low) | (found.predicted > high)
    if beyond.any():
        n_beyond = int(beyond.sum())
        told_of = "1 trial is" if n_beyond == 1 else f"{n_beyond} trials are"
        lines[-1] += small_line(f"{told_of} outside of the figure.")
    diagonal = {
        "type": "scatter",
        "mode": "lines",
        "x": [low, high],
        "y": [low, high],
        "line": {"color": "#8c8c8c", "width": 1, "dash": "dash"},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    groups = ((holds, INSIDE, "within the interval"), (~holds, OUTSIDE, "outside"))
    axis = {"gridcolor": "#ececec", "zeroline": False, "range": [low, high], "nticks": 8}
    return {
        "data": [
            diagonal,
            *(_dots(found, rows, half, rgb, name) for rows, rgb, name in groups),
        ],
        "layout": {
            "title": {**title_at_top("<br>".join(lines), 24), "font": {"size": 15}},
            "height": HEIGHT_OF_CARD,
            "margin": {"t": 60 + 20 * len(lines)},
            "plot_bgcolor": "white",
            "hovermode": "closest",
            "legend": {"orientation": "h", "x": 0.0, "y": 1.0, "yanchor": "bottom"},
            "xaxis": {**axis, "title": {"text": "Observed"}},
            "yaxis": {**axis, "title": {"text": "Predicted"}, "automargin": True},
        },
    }


def _view(found: Predictions) -> tuple[float, float]:
    """Return the range of both axes, which a few extreme values do not widen."""
    both = (found.values, found.predicted)
    low = min(float(np.quantile(x, SEEN)) for x in both)
    high = max(float(np.quantile(x, 1.0 - SEEN)) for x in both)
    margin = 0.08 * (high - low) or max(0.1 * abs(low), 1e-9)
    return low - margin, high + margin


def _dots(
    found: Predictions, rows: BoolArray, half: FloatArray, rgb: tuple[int, ...], name: str
) -> dict[str, Any]:
    numbers = np.array(found.numbers)[rows].tolist()
    columns = (found.values, found.predicted, half / 20.0)
    shown = zip(numbers, *(column[rows].tolist() for column in columns), strict=True)
    told = [
        f"trial {n}: observed {numeral(value, step)}, predicted {numeral(mean, step)}"
        for n, value, mean, step in shown
    ]
    channels = ", ".join(map(str, rgb))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": found.values[rows].tolist(),
        "y": found.predicted[rows].tolist(),
        "error_y": {
            "type": "data",
            "array": half[rows].tolist(),
            "color": f"rgba({channels}, 0.3)",
            "thickness": 1.2,
            "width": 0,
        },
        "marker": {
            "color": f"rgb({channels})",
            "size": 6,
            "line": {"color": "white", "width": 0.7},
        },
        "customdata": numbers,
        "text": told,
        "hovertemplate": "%{text}<extra></extra>",
    }
