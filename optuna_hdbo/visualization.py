"""Figures of what a study has learned about its parameters, for people and for the dashboard.

They need plotly, which the extra ``[dashboard]`` brings together with optuna-dashboard.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from typing import Any

from optuna.importance import BaseImportanceEvaluator
from optuna.importance import get_param_importances
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_hdbo._figures.axes import bars
from optuna_hdbo._figures.calibration import calibration_figure
from optuna_hdbo._figures.calibration import left_out
from optuna_hdbo._figures.calibration import recorded
from optuna_hdbo._figures.components import components_figure
from optuna_hdbo._figures.experts import experts_figure
from optuna_hdbo._figures.heat_maps import heat_map
from optuna_hdbo._figures.heat_maps import selections_figure
from optuna_hdbo._study.attributes import check_single_objective
from optuna_hdbo._study.attributes import check_study
from optuna_hdbo.effects import fitted_effects
from optuna_hdbo.effects import natural
from optuna_hdbo.importance import GradISImportanceEvaluator
from optuna_hdbo.interactions import get_interactions
from optuna_hdbo.interactions import interactions_of
from optuna_hdbo.structure import get_groups
from optuna_hdbo.structure import get_selections


if TYPE_CHECKING:
    from optuna.study import Study
    from plotly.graph_objects import Figure

    from optuna_hdbo._study.values import Target


FIGURE_IDS = {
    "experts": "hdbo-experts",
    "selections": "hdbo-selections",
    "interactions": "hdbo-interactions",
    "components": "hdbo-components",
    "importances": "hdbo-importances",
    "calibration": "hdbo-calibration",
    "groups": "hdbo-groups",
}
"""Under which :func:`report` saves figures; a later report replaces them."""


def _plotly() -> Any:
    try:
        return importlib.import_module("plotly.graph_objects")
    except ImportError as error:
        raise ImportError(
            "Figures need plotly: pip install plotly, or this package's extra [dashboard]."
        ) from error


def plot_experts(study: Study) -> Figure:
    """Plot which expert suggested which trial, and what the trials brought.

    Parameters
    ----------
    study : optuna.study.Study
        Sampled by :class:`optuna_hdbo.HDBOSampler`.

    Returns
    -------
    plotly.graph_objects.Figure
        Above, the values and the best value over trials; below, on the same axis, a row per
        expert with a dot per trial. Diamonds are improvements on all earlier trials. Values much
        poorer than the others are outside the view.

    Raises
    ------
    ValueError
        Where no expert has suggested a trial of the study, and with several objectives.
    ImportError
        Without plotly.
    """
    return _plotly().Figure(experts_figure(study))


def plot_selections(study: Study) -> Figure:
    """Plot which parameters were selected when, the most often selected on top.

    Parameters
    ----------
    study : optuna.study.Study
        Sampled by :class:`optuna_hdbo.VSBOSampler`.

    Returns
    -------
    plotly.graph_objects.Figure
        A column per selection, a row per parameter that was ever selected; the colour is the
        rank within the selection.

    Raises
    ------
    ValueError
        Where the study carries no selection.
    ImportError
        Without plotly.
    """
    go = _plotly()
    selections = get_selections(study)
    return go.Figure(selections_figure(selections))


def plot_importances(
    study: Study,
    *,
    evaluator: BaseImportanceEvaluator | None = None,
    params: list[str] | None = None,
    target: Callable[[FrozenTrial], float] | None = None,
) -> Figure:
    """Plot how much each parameter matters, as bars, the most important on top.

    Of more than 25 parameters, the least important ones share a bar.

    Parameters
    ----------
    study : optuna.study.Study
        Of any sampler.
    evaluator : BaseImportanceEvaluator or None
        ``None`` is :class:`optuna_hdbo.GradISImportanceEvaluator`.
    params, target
        As for ``optuna.importance.get_param_importances``.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    ImportError
        Without plotly.
    """
    go = _plotly()
    title = "Importance by Grad-IS" if evaluator is None else "Importance"
    evaluator = GradISImportanceEvaluator() if evaluator is None else evaluator
    found = get_param_importances(study, evaluator=evaluator, params=params, target=target)
    ranked = sorted(found.items(), key=lambda item: (-item[1], natural(item[0])))
    shares: dict[tuple[str, ...], float] = {(name,): share for name, share in ranked}
    return go.Figure(bars(shares, title, "Share of the importance"))


def plot_interactions(study: Study, *, target: Target | None = None) -> Figure:
    """Plot which parameters interact, as a heat map that is ordered by groups.

    Parameters
    ----------
    study : optuna.study.Study
        Of any sampler.
    target : callable or None
        As for :func:`optuna_hdbo.get_interactions`.

    Returns
    -------
    plotly.graph_objects.Figure
        A cell per pair, coloured by the verdict; its text has the evidence. The title says it in
        one sentence. Of more than 60 parameters, those with the largest shares are shown.

    Raises
    ------
    ValueError
        Where :func:`optuna_hdbo.get_interactions` raises one, and with less than two parameters.
    ImportError
        Without plotly.
    """
    go = _plotly()
    found = get_interactions(study, target=target)
    if not found.pairs:
        raise ValueError(
            f"study must have two parameters that can be assessed, but {study.study_name!r} has "
            f"{len(found.effects)}."
        )
    return go.Figure(heat_map(found))


def plot_components(study: Study, *, target: Target | None = None) -> Figure:
    """Plot what every group of parameters does to the values.

    Parameters
    ----------
    study : optuna.study.Study
        Of any sampler.
    target : callable or None
        As for :func:`optuna_hdbo.get_interactions`.

    Returns
    -------
    plotly.graph_objects.Figure
        At most twelve panels, the largest share of the variance first: a curve with its band for
        a parameter that interacts with none, a contour for each interacting pair. Axes are in the
        parameters' own units. Dots are trials, less the effects of all other groups.

    Raises
    ------
    ValueError
        Where :func:`optuna_hdbo.get_interactions` raises one.
    ImportError
        Without plotly.
    """
    go = _plotly()
    fitted = fitted_effects(study, target=target)
    return go.Figure(components_figure(fitted, interactions_of(fitted)))


def plot_calibration(study: Study, *, target: Target | None = None) -> Figure:
    """Plot predicted against observed values, with intervals that should hold 95 %.

    Predictions are those that the sampler recorded before trials were evaluated. Without any, and
    with a ``target``, the model of :func:`optuna_hdbo.get_interactions` predicts every value from
    all others.

    Parameters
    ----------
    study : optuna.study.Study
        Of any sampler.
    target : callable or None
        As for :func:`optuna_hdbo.get_interactions`.

    Returns
    -------
    plotly.graph_objects.Figure
        A dot per trial. The title says how many intervals hold their value.

    Raises
    ------
    ValueError
        Without predictions, where :func:`optuna_hdbo.get_interactions` raises one.
    ImportError
        Without plotly.
    """
    check_study(study)
    go = _plotly()
    before = recorded(study) if target is None else None
    return go.Figure(calibration_figure(before or left_out(fitted_effects(study, target=target))))


def plot_groups(study: Study) -> Figure:
    """Plot the groups that the sampler works with by their share of the signal variance.

    Which parameters interact, :func:`plot_interactions` shows.

    Parameters
    ----------
    study : optuna.study.Study
        Sampled by :class:`optuna_hdbo.AddGPUCBSampler`, or by :class:`optuna_hdbo.HDBOSampler`
        with its expert ``groups``.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    ValueError
        Where the study carries no groups.
    ImportError
        Without plotly.
    """
    go = _plotly()
    groups = get_groups(study, source="sampler")
    found = zip(groups.groups, groups.shares, strict=True)
    shares = {tuple(sorted(names, key=natural)): share for names, share in found}
    return go.Figure(bars(shares, "Groups of the additive model", "Share of the signal variance"))


def report(study: Study) -> list[str]:
    """Save figures of what the study has learned where optuna-dashboard shows them.

    Interactions with a summary in one sentence, the effects of all groups, importances, how good
    predictions are, and the experts, selections and groups that there are, are saved as the
    study's Plotly graph objects under the ids of :data:`FIGURE_IDS`. A later report replaces
    them; nothing else of the study is touched, its note in particular.

    Parameters
    ----------
    study : optuna.study.Study
        Of any sampler, with one objective.

    Returns
    -------
    list of str
        The ids of the saved figures; an empty list where no trial is complete or pruned.

    Raises
    ------
    ValueError
        For a study with several objectives.
    ImportError
        Without optuna-dashboard or plotly.

    Examples
    --------
    >>> from optuna_hdbo.visualization import report
    >>> report(study)
    """
    try:
        dashboard = importlib.import_module("optuna_dashboard")
    except ImportError as error:
        raise ImportError(
            "Reports need optuna-dashboard: this package's extra [dashboard] brings it."
        ) from error
    check_study(study)
    remedy = "The figures that take a target can be saved one by one."
    check_single_objective(study, remedy=remedy)
    go = _plotly()
    plots: dict[str, Callable[[], Figure]] = {
        "experts": lambda: go.Figure(experts_figure(study, low=True)),
        "selections": partial(plot_selections, study),
    }
    if study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        plots |= {**_of_effects(go, study), "importances": partial(plot_importances, study)}
    plots["groups"] = partial(plot_groups, study)
    saved = []
    for name, plot in plots.items():
        try:
            figure = plot()
        except ValueError:  # nothing of the kind was learned
            continue
        dashboard.save_plotly_graph_object(study, figure, graph_object_id=FIGURE_IDS[name])
        saved.append(FIGURE_IDS[name])
    return saved


def _of_effects(go: Any, study: Study) -> dict[str, Callable[[], Figure]]:
    """Return the figures of a study's effects, from a single fit."""
    figures: dict[str, Any] = {}
    found = recorded(study)
    try:
        fitted = fitted_effects(study)
    except ValueError:  # there is nothing to fit
        pass
    else:
        told, found = interactions_of(fitted), found or left_out(fitted)
        figures["interactions"] = heat_map(told, low=True) if told.pairs else None
        figures["components"] = components_figure(fitted, told, low=True)
    figures["calibration"] = calibration_figure(found, narrow=True) if found else None
    return {name: partial(go.Figure, drawn) for name, drawn in figures.items() if drawn}
