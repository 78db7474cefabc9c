"""One warning where a study is larger than its sampler is meant for."""

from __future__ import annotations

import logging

import optuna
import pytest
from exported import SAMPLERS
from fakes import FakeSampler

from optuna_hdbo.samplers.notices import Extent


class Small(FakeSampler):
    meant_for = Extent(parameters=2, trials=6)


def warnings_of(n_columns: int, n_trials: int, caplog: pytest.LogCaptureFixture) -> list[str]:
    study = optuna.create_study(sampler=Small(seed=0, n_startup_trials=1))
    with caplog.at_level(logging.WARNING, logger="optuna.optuna_hdbo"):
        study.optimize(
            lambda t: sum(t.suggest_float(f"x{i}", 0, 1) for i in range(n_columns)),
            n_trials=n_trials,
        )
    return [message for message in caplog.messages if "is meant for" in message]


@pytest.mark.parametrize(("n_columns", "n_trials"), [(3, 4), (1, 10)])
def test_a_study_that_is_too_large_is_warned_of_once(
    n_columns: int, n_trials: int, caplog: pytest.LogCaptureFixture
) -> None:
    messages = warnings_of(n_columns, n_trials, caplog)
    assert len(messages) == 1
    assert "at most 2 parameters and 6 trials" in messages[0]
    assert f"{n_columns} parameters" in messages[0]


def test_others_are_not(caplog: pytest.LogCaptureFixture) -> None:
    assert not warnings_of(2, 7, caplog)


def test_every_sampler_says_what_it_is_meant_for() -> None:
    for sampler in SAMPLERS.values():
        assert sampler.meant_for.parameters >= 10_000  # type: ignore[attr-defined]
        assert sampler.meant_for.trials >= 10_000  # type: ignore[attr-defined]
