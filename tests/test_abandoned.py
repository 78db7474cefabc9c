"""Trials that killed workers have left running: one line of log says so."""

from __future__ import annotations

import logging
from datetime import datetime
from datetime import timedelta
from datetime import timezone

import optuna
import pytest
from fakes import FakeSampler
from optuna.trial import TrialState

from optuna_hdbo._study.workers import Abandoned


def study_with(n_finished: int, n_running: int, minutes: float) -> optuna.Study:
    """Finished trials took two minutes; the others have run for as long as is said."""
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=1))
    now = datetime.now()
    for i in range(n_finished + n_running):
        trial = optuna.create_trial(
            value=float(i),
            params={"x": i / 100.0},
            distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)},
        )
        trial.datetime_start = now - timedelta(minutes=10)
        trial.datetime_complete = now - timedelta(minutes=8)
        if i >= n_finished:
            trial.state, trial.values = TrialState.RUNNING, None
            trial.datetime_start, trial.datetime_complete = now - timedelta(minutes=minutes), None
        study._storage.create_new_trial(study._study_id, template_trial=trial)
    return study


def told(study: optuna.Study, caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        for _ in range(2):
            trial = study.ask()
            study.tell(trial, trial.suggest_float("x", 0.0, 1.0))
    return [message for message in caplog.messages if "running" in message]


def test_most_trials_are_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    messages = told(study_with(5, 8, minutes=3.0), caplog)
    assert len(messages) == 1
    assert messages[0].startswith("8 trials have been running for longer")
    assert "heartbeats" in messages[0]


@pytest.mark.parametrize(("n_running", "minutes"), [(4, 3.0), (8, 1.5), (0, 0.0)])
def test_few_or_short_ones_are_not_mentioned(
    n_running: int, minutes: float, caplog: pytest.LogCaptureFixture
) -> None:
    assert not told(study_with(5, n_running, minutes), caplog)


def test_many_quick_trials_at_once_are_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=FakeSampler(seed=0, n_startup_trials=1))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    for _ in range(8):
        study.ask().suggest_float("x", 0.0, 1.0)
    assert not told(study, caplog)


NOW = datetime(2026, 1, 1)


@pytest.mark.parametrize("start", [datetime.min, NOW, NOW.astimezone(timezone.utc)])
@pytest.mark.parametrize("end", [datetime.max, NOW, NOW.astimezone(timezone.utc)])
def test_odd_times_are_no_trouble(start: datetime, end: datetime) -> None:
    """With and without a zone, and far from any time that a clock shows."""
    abandoned = Abandoned()
    finished, running = (optuna.create_trial(value=1.0) for _ in range(2))
    finished.datetime_start, finished.datetime_complete = start, end
    running.datetime_start = start
    abandoned.settle(finished)
    assert abandoned.count([running], 1) in (0, 1)


def test_times_with_and_without_a_zone_compare() -> None:
    abandoned = Abandoned()
    running = optuna.create_trial(value=1.0)
    for zone in (None, timezone.utc):
        running.datetime_start = datetime.now(zone) - timedelta(minutes=2)
        assert abandoned.count([running], 1) == 1
        running.datetime_start = datetime.now(zone)
        assert abandoned.count([running], 1) == 0
